"""Cases in the plane: pendulums, and linkages with redundant rows and singular configurations."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import zwang as zw
from verification.gradients.case import Case, single_freedom
from zwang import gallery
from zwang.bodies import Body, PlanarBodies

G = 9.81


def cases() -> list[Case]:
    return [
        pendulum(),
        double_pendulum(),
        parallelograms(1, 1),
        parallelograms(1, 3),
        parallelograms(2, 1),
        parallelograms(1, 1, unequal=True),
        five_bar(),
        slider_crank(),
        crank_rocker(),
        sleigh(),
        cart_and_pole(),
    ]


def _down(gravity):
    return jnp.stack([0.0, -gravity])


def pendulum() -> Case:
    """θ̈ = −g/l sin θ."""
    angle = np.radians(90.0)
    along = np.array([np.sin(angle), -np.cos(angle)])
    return Case(
        "pendulum",
        "a constraint that depends on the parameter",
        gallery.load("pendulum").model,
        {"length": 1.0, "gravity": G},
        lambda x: x,
        lambda x: (x["length"] * along, jnp.zeros(2)),
        3.0,
        lambda q, v: jnp.concatenate([q, v]),
        lambda t, y, x: [y[1], -x["gravity"] / x["length"] * np.sin(y[0])],
        lambda x: [angle, 0.0],
        lambda y, x: (
            x["length"]
            * np.array([np.sin(y[0]), -np.cos(y[0]), y[1] * np.cos(y[0]), y[1] * np.sin(y[0])])
        ),
    )


def double_pendulum() -> Case:
    """Two rods by their angles from hanging down."""
    model = gallery.load("double-pendulum").model
    a, b = np.radians([120.0, 90.0])
    along = [np.array([np.sin(z), -np.cos(z)]) for z in (a, b)]

    def start(x):
        middle = x["length"] * along[0]
        q = [middle / 2, a - np.pi / 2, middle + along[1] / 2, b - np.pi / 2]
        return jnp.concatenate([jnp.atleast_1d(z) for z in q]), jnp.zeros(6)

    def rate(t, y, x):
        a, b, da, db = y
        l, m1, m2, J = x["length"], x["upper mass"], x["lower mass"], 1.0 / 12
        M = np.array(
            [
                [J + m1 * l * l / 4 + m2 * l * l, m2 * l / 2 * np.cos(a - b)],
                [m2 * l / 2 * np.cos(a - b), J + m2 / 4],
            ]
        )
        turned = m2 * l / 2 * np.sin(a - b)
        F = [
            -turned * db**2 - (m1 / 2 + m2) * G * l * np.sin(a),
            turned * da**2 - m2 * G / 2 * np.sin(b),
        ]
        return np.concatenate([[da, db], np.linalg.solve(M, F)])

    return Case(
        "double pendulum",
        "a motion that depends sharply on its start",
        model,
        {"length": 1.0, "upper mass": 1.0, "lower mass": 1.0},
        lambda x: {
            "length": jnp.stack([x["length"], 1.0]),
            "mass": jnp.stack([x["upper mass"], x["lower mass"]]),
        },
        start,
        2.0,
        lambda q, v: jnp.stack([q[2], q[5], v[2], v[5]]),
        rate,
        lambda x: [a, b, 0.0, 0.0],
        lambda y, x: y,
    )


def parallelograms(N: int, repeat: int, unequal: bool = False) -> Case:
    """(Σ (J + m l²/4) + Σ m l²) θ̈ = −(Σ m/2 + Σ m) g l cos θ, over cranks and over couplers.

    Args:
        N: number of loops.
        repeat: how often each row is written down.
        unequal: whether the mass of one crank is varied in place of that of a coupler. Then a
            coupler has to carry a torque to the other cranks, and its force grows as 1/sin θ
            towards the singular configuration.
    """
    example = gallery.load("n-four-bar", N=N, repeat=repeat)
    bodies = 2 * N + 1
    body, varied = (0, "crank mass") if unequal else (N + 1, "coupler mass")

    def start(x):
        q = example.q0.reshape(bodies, 3) * jnp.stack([x["length"], x["length"], 1.0])
        v = example.v0.reshape(bodies, 3) * jnp.stack([x["length"], x["length"], 1.0])
        return q.ravel(), v.ravel()

    def rate(t, y, x):
        l, other = x["length"], x[varied]
        crank, coupler = (other, 1.0) if unequal else (1.0, other)
        inertia = (N + 1) / 12 + (crank + N) * l * l / 4 + (coupler + N - 1) * l * l
        pull = (crank + N) / 2 + coupler + N - 1
        return [y[1], -pull * x["gravity"] * l * np.cos(y[0]) / inertia]

    return Case(
        f"{N} four-bar loop{'s' * (N > 1)}"
        + f", every row {repeat} times" * (repeat > 1)
        + ", by the mass of one crank" * unequal,
        "redundant rows through a singular configuration"
        if repeat > 1
        else "through a singular configuration",
        example.model,
        {"length": 1.0, "gravity": G, varied: 1.0},
        lambda x: {
            "length": x["length"],
            "gravity": _down(x["gravity"]),
            "mass": jnp.ones(bodies).at[body].set(x[varied]),
        },
        start,
        2.0,
        lambda q, v: jnp.stack([q[2], v[2]]),
        rate,
        lambda x: [np.pi / 2, -1.0],
        lambda y, x: y,
    )


def five_bar() -> Case:
    """(Σ (J + m l²/4) + m₂ l²) θ̈ = −(Σ m/2 + m₂) g l cos θ, l = 1 m."""
    angle = np.radians(45.0)

    def rate(t, y, x):
        inertia = 0.2 + x["crank inertia"] + (2 + x["crank mass"]) / 4 + x["coupler mass"]
        pull = ((2 + x["crank mass"]) / 2 + x["coupler mass"]) * G
        return [y[1], -pull * np.cos(y[0]) / inertia]

    example = gallery.load("five-bar")
    return Case(
        "five-bar",
        "12 rows of rank 11, and 10 at crossings",
        example.model,
        {"crank mass": 1.0, "crank inertia": 0.1, "coupler mass": 2.0},
        lambda x: {
            "mass": jnp.stack([x["crank mass"], 1.0, 1.0, x["coupler mass"]]),
            "inertia": jnp.stack([0.1, x["crank inertia"], 0.1, 0.2]),
        },
        lambda x: (jnp.asarray(example.q0), jnp.zeros(12)),
        1.0,
        lambda q, v: jnp.stack([q[2], v[2]]),
        rate,
        lambda x: [angle, 0.0],
        lambda y, x: y,
    )


def _bars(masses, inertias, pins) -> zw.Model:
    """Bars in the plane under gravity with constraints `pins(bars)`."""
    names = ("crank", "coupler", "last")
    bars = PlanarBodies([Body(*x) for x in zip(names, masses, inertias, strict=True)])
    return zw.Model(bars.system, pins(bars), {**bars.params, **LENGTHS}, name="linkage")


def _half(p, name: str):
    """From the middle of a bar to its far end, in its own axes."""
    return jnp.stack([p[f"{name} length"] / 2, 0.0])


def _crank_pins(bars) -> list[zw.Holonomic]:
    """The crank on its shaft at the origin, and the coupler on its tip."""

    def pin(q, t, p):
        return bars.point(q, 0, _half(p, "crank")) - bars.point(q, 1, -_half(p, "coupler"))

    shaft = zw.Holonomic(lambda q, t, p: bars.point(q, 0, -_half(p, "crank")), name="shaft")
    return [shaft, zw.Holonomic(pin, name="pin")]


LENGTHS = {"crank length": 0.4, "coupler length": 1.0}


def _along(length, angle):
    """A vector by length and angle."""
    return length * np.array([np.cos(angle), np.sin(angle)])


def _crank(x, y):
    """The crank's part in `single_freedom`, and its tip with first and second derivative."""
    r, angle = x["crank length"], y[0]
    tip = [_along(r, angle), _along(r, angle + np.pi / 2), _along(r, angle + np.pi)]
    return (x["crank mass"], 0.05, tip[1] / 2, tip[2] / 2, 1.0, 0.0), tip


def _moved(tip, length, angle, first, second):
    """First and second derivative of the middle and of the far end of a bar that begins at
    `tip`.
    """
    across, back = _along(length, angle + np.pi / 2), _along(length, angle + np.pi)
    once, twice = across * first, across * second + back * first**2
    return (tip[1] + once / 2, tip[2] + twice / 2), (tip[1] + once, tip[2] + twice)


def slider_crank() -> Case:
    """A crank, a rod and a piston on the x axis: φ = −asin(r/l sin θ) of the rod."""

    def pins(bars):
        return [
            *_crank_pins(bars),
            zw.Holonomic(
                lambda q, t, p: bars.point(q, 1, _half(p, "coupler")) - bars.point(q, 2),
                name="wrist",
            ),
            zw.Holonomic(lambda q, t, p: q[7:9], name="guide"),
        ]

    def start(x):
        r, l = x["crank length"], x["coupler length"]
        angle = -jnp.arcsin(r / l * jnp.sin(1.0))
        tip = r * jnp.stack([jnp.cos(1.0), jnp.sin(1.0)])
        end = tip + l * jnp.stack([jnp.cos(angle), jnp.sin(angle)])
        parts = [tip / 2, jnp.ones(1), (tip + end) / 2, angle[None], end, jnp.zeros(1)]
        return jnp.concatenate(parts), jnp.zeros(9)

    def rate(t, y, x):
        r, l, angle = x["crank length"], x["coupler length"], y[0]
        crank, tip = _crank(x, y)
        rod = -np.arcsin(r / l * np.sin(angle))
        first = -r * np.cos(angle) / (l * np.cos(rod))
        second = (r * np.sin(angle) + l * np.sin(rod) * first**2) / (l * np.cos(rod))
        middle, end = _moved(tip, l, rod, first, second)
        parts = [crank, (0.5, 0.04, *middle, first, second), (0.3, 0.01, *end, 0.0, 0.0)]
        slope = G * (x["crank mass"] * tip[1][1] / 2 + 0.5 * middle[0][1])
        return [y[1], single_freedom(parts, slope, y[1])]

    return Case(
        "slider-crank",
        "nine coordinates, eight rows",
        _bars((1.0, 0.5, 0.3), (0.05, 0.04, 0.01), pins),
        {**LENGTHS, "crank mass": 1.0},
        _linkage_params((0.5, 0.3)),
        start,
        2.0,
        lambda q, v: jnp.stack([q[2], v[2]]),
        rate,
        lambda x: [1.0, 0.0],
        lambda y, x: y,
    )


def _linkage_params(others):
    """Values → parameters of `_bars`, whose first mass is varied."""
    return lambda x: {
        **{name: x[name] for name in LENGTHS},
        "mass": jnp.stack([x["crank mass"], *others]),
    }


BASE, ROCKER = 1.2, 0.9
"""Distance of the pivots and length of the rocker [m]."""


def _closed(r, l, angle, xp):
    """Angles of coupler and rocker of the open four-bar, by intersecting two circles."""
    d = xp.stack([BASE - r * xp.cos(angle), -r * xp.sin(angle)])
    far = xp.sqrt(d @ d)
    along = (far**2 + l**2 - ROCKER**2) / (2 * far)
    up = xp.sqrt(l**2 - along**2)
    joint = (along * d + up * xp.stack([-d[1], d[0]])) / far
    end = joint - d
    angle_of = lambda z, w: 2 * xp.arctan(z[1] / (w + z[0]))
    return angle_of(joint, l), angle_of(end, ROCKER)


def crank_rocker() -> Case:
    """A four-bar whose crank swings; coupler and rocker by intersecting circles."""

    def pins(bars):
        rocker, pivot = np.array([ROCKER / 2, 0.0]), np.array([BASE, 0.0])
        return [
            *_crank_pins(bars),
            zw.Holonomic(
                lambda q, t, p: bars.point(q, 1, _half(p, "coupler")) - bars.point(q, 2, rocker),
                name="joint",
            ),
            zw.Holonomic(lambda q, t, p: bars.point(q, 2, -rocker) - pivot, name="pivot"),
        ]

    def start(x):
        r, l = x["crank length"], x["coupler length"]
        coupler, rocker = _closed(r, l, jnp.asarray(1.0), jnp)
        tip = r * jnp.stack([jnp.cos(1.0), jnp.sin(1.0)])
        middle = tip + l / 2 * jnp.stack([jnp.cos(coupler), jnp.sin(coupler)])
        last = ROCKER / 2 * jnp.stack([jnp.cos(rocker), jnp.sin(rocker)])
        last = last + jnp.array([BASE, 0.0])
        parts = [tip / 2, jnp.ones(1), middle, coupler[None], last, rocker[None]]
        return jnp.concatenate(parts), jnp.zeros(9)

    def rate(t, y, x):
        r, l = x["crank length"], x["coupler length"]
        crank, tip = _crank(x, y)
        coupler, rocker = _closed(r, l, y[0], np)
        # tip + l e(β) = base + c e(γ), once and twice by θ
        J = np.stack([_along(l, coupler + np.pi / 2), -_along(ROCKER, rocker + np.pi / 2)], axis=1)
        one = np.linalg.solve(J, -tip[1])
        bent = (
            _along(l, coupler + np.pi) * one[0] ** 2 - _along(ROCKER, rocker + np.pi) * one[1] ** 2
        )
        two = np.linalg.solve(J, -tip[2] - bent)
        middle, _ = _moved(tip, l, coupler, one[0], two[0])
        still = np.zeros((3, 2))
        last, _ = _moved(still, ROCKER, rocker, one[1], two[1])
        parts = [crank, (0.5, 0.04, *middle, one[0], two[0]), (0.3, 0.01, *last, one[1], two[1])]
        heights = x["crank mass"] * tip[1][1] / 2 + 0.5 * middle[0][1] + 0.3 * last[0][1]
        return [y[1], single_freedom(parts, G * heights, y[1])]

    return Case(
        "four-bar of four lengths",
        "nine coordinates, eight rows",
        _bars((1.0, 0.5, 0.3), (0.05, 0.04, 0.01), pins),
        {**LENGTHS, "crank mass": 1.0},
        _linkage_params((0.5, 0.3)),
        start,
        1.5,
        lambda q, v: jnp.stack([q[2], v[2]]),
        rate,
        lambda x: [1.0, 0.0],
        lambda y, x: y,
    )


def sleigh() -> Case:
    """Chaplygin's sleigh: u̇ = a ω², (J + m a²) ω̇ = −m a u ω of the edge's speed u."""
    heading = np.radians(30.0)
    ahead = np.array([np.cos(heading), np.sin(heading)])
    left = np.array([-np.sin(heading), np.cos(heading)])

    def start(x):
        a = x["offset"]
        return jnp.append(a * ahead, heading), jnp.append(-ahead + 1.5 * a * left, 1.5)

    def rate(t, y, x):
        a, m = x["offset"], x["mass"]
        _, _, angle, u, turning = y
        slowed = -m * a * u * turning / (x["inertia"] + m * a**2)
        return [u * np.cos(angle), u * np.sin(angle), turning, a * turning**2, slowed]

    return Case(
        "knife-edge",
        "a row in the velocities",
        gallery.load("knife-edge").model,
        {"offset": 0.3, "mass": 1.0, "inertia": 0.1},
        lambda x: {
            "offset": x["offset"],
            "mass": x["mass"][None],
            "inertia": x["inertia"][None],
        },
        start,
        4.0,
        lambda q, v: jnp.append(q, v[2]),
        rate,
        lambda x: [0.0, 0.0, heading, -1.0, 1.5],
        lambda y, x: np.array([*(y[:2] + _along(x["offset"], y[2])), y[2], y[4]]),
    )


def cart_and_pole() -> Case:
    """A cart whose motor follows s = a sin ω t, with a pole: I φ̈ = m c (s̈ sin φ − g cos φ)."""
    example = gallery.load("cart-pole-track", task="cart", pose="hanging")

    def start(x):
        half = x["length"] / 2
        q = [0.0, 0.0, 0.0, 0.0, -half, -np.pi / 2]
        v = x["travel"] * x["frequency"]
        return jnp.stack([jnp.asarray(z) for z in q]), jnp.stack([v, 0.0, 0.0, v, 0.0, 0.0])

    def rate(t, y, x):
        c, m = x["length"] / 2, 0.3
        J = m / 12 + m * c**2
        pushed = -x["travel"] * x["frequency"] ** 2 * np.sin(x["frequency"] * t)
        return [y[1], m * c * (pushed * np.sin(y[0]) - G * np.cos(y[0])) / J]

    return Case(
        "cart with a pole",
        "a servo constraint with gains",
        example.model,
        {"length": 1.0, "travel": 0.5, "frequency": 3.0},
        lambda x: {"length": x["length"], "swing": x["travel"], "frequency": x["frequency"]},
        start,
        3.0,
        lambda q, v: jnp.stack([q[5], v[5]]),
        rate,
        lambda x: [-np.pi / 2, 0.0],
        lambda y, x: y,
    )
