"""The verdict `stable` for random equilibria and steady motions, compared with simulated
deviations.

Each family has its motion in two forms: as a model, mostly in redundant coordinates, for the
verdict, and in minimal coordinates by hand, in which small deviations along each coordinate are
integrated for a long time, so that they cover all directions. An undecided verdict is no
contradiction, but must be rare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang import native

DURATION, STEP = 1000.0, 0.05
GROWN = 1000.0
"""A deviation that grows by this has left; oscillations of these families, slow ones and such that
exchange their energy, grow by forty times at most."""
STILL_GROWING = 1.5
"""A deviation that is larger in the second half of the time than in the first by this has left: one
that drifts is twice as large, one that oscillates as large, however much that is."""
OPEN = 0.03
"""Largest share of verdicts that may be open."""
UNDECIDED = (1e-4, 0.02)
"""Growth [1/s] between these takes longer to be seen than is integrated; below them it is round-off
of differences, the root of which an eigenvalue of two is off by."""


class Case(NamedTuple):
    """A random state and its deviations.

    Attributes:
        stable: the verdict.
        params: of the motion in minimal coordinates.
        state: there; deviations: what is added to it at the start, one in each row.
    """

    stable: bool | None
    params: np.ndarray
    state: np.ndarray
    deviations: np.ndarray


class Family(NamedTuple):
    """A family of models.

    Attributes:
        draw: random generator → Case.
        rate: (state, params) → its rate.
        grown: growth from which a deviation has left.
    """

    draw: Callable[[Any], Case]
    rate: Callable[[jax.Array, jax.Array], jax.Array]
    grown: float = GROWN


def sizes(rate: Callable, grown: float) -> Callable:
    """A function of a still state, a deviation and params: the largest size that the deviation has
    in either half of the time, as a multiple of its first, by the method of Runge and Kutta.
    """
    steps = int(DURATION / STEP)

    def step(k, now, still, away, p):
        x, most = now
        a = rate(x, p)
        b = rate(x + 0.5 * STEP * a, p)
        c = rate(x + 0.5 * STEP * b, p)
        d = rate(x + STEP * c, p)
        gone = jnp.max(most) > grown  # it stays where it is, as it may leave for infinity
        x = jnp.where(gone, x, x + STEP / 6 * (a + 2 * b + 2 * c + d))
        size = jnp.linalg.norm(x - still) / jnp.linalg.norm(away)
        half = jnp.arange(2) == 2 * k // steps
        return x, jnp.where(half, jnp.maximum(most, size), most)

    def followed(still, away, p):
        once = lambda k, now: step(k, now, still, away, p)
        return jax.lax.fori_loop(0, steps, once, (still + away, jnp.zeros(2)))[1]

    return followed


def leaves(family: Family, cases: list[Case]) -> np.ndarray:
    """Which cases have a deviation that leaves."""
    first = cases[0]
    of_one = native.function(
        sizes(family.rate, family.grown), first.state, first.deviations[0], first.params
    )
    most = [np.array([of_one(x.state, away, x.params) for away in x.deviations]) for x in cases]
    return np.array(
        [np.any((x > family.grown) | (x[:, 1:] > STILL_GROWING * x[:, :1])) for x in most]
    )


def growth(rate: Callable, case: Case) -> float:
    """The largest real part of the eigenvalues, by differences.

    Args:
        rate: of the family, as native code.
    """
    n, h = len(case.state), 1e-5
    ends = case.state + np.concatenate([h * np.eye(n), -h * np.eye(n)])
    rates = np.array([rate(x, case.params) for x in ends])
    return float(np.max(np.linalg.eigvals((rates[:n] - rates[n:]).T / (2 * h)).real))


def along(*coordinates: int, of: int, size: float = 1e-5) -> np.ndarray:
    """A deviation along each of these coordinates."""
    return size * np.eye(of)[list(coordinates)]


# --- two coordinates with every kind of force


def _forces(q, v, p):
    """p: k₀ k₁ (stiffness), coupling, follower, gyroscopic, brake₀, brake₁, hardening."""
    k0, k1, c, f, g, d0, d1, h = p
    return [
        -k0 * q[0] - (c + f) * q[1] + g * v[1] - d0 * v[0] - h * q[0] ** 3,
        -k1 * q[1] - (c - f) * q[0] - g * v[0] - d1 * v[1] - h * q[1] ** 3,
    ]


PLANE = zw.Model(
    zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.stack(_forces(q, v, tuple(p["c"]))),
    ),
    params={"c": np.zeros(8)},
    name="two coordinates",
)


def draw_plane(random) -> Case:
    k = random.choice([0.0, 1.0, 1.0, 1.0], 2) * random.uniform(-1.5, 3.0, 2)
    one = lambda chance, low, high: random.uniform(low, high) * (random.random() < chance)
    d = random.uniform(-0.2, 0.5, 2) * (random.random() < 0.5)
    hardening = one(0.5, 0.0, 1.0) * k.all()  # a fourth power lets a push go far before it returns
    c = np.array([*k, one(0.5, -1, 1), one(0.3, -1, 1), one(0.5, -4, 4), *d, hardening])
    rest = zw.analysis.equilibrium(PLANE, [0.0, 0.0], params={"c": c}, find="nearest")
    return Case(rest.stable, c, np.zeros(4), along(0, 1, 2, 3, of=4))


def rate_plane(x, p):
    return jnp.stack([x[2], x[3], *_forces(x[:2], x[2:], p)])


# --- a potential without stiffness


FLAT = zw.Model(
    zw.System(
        1,
        lambda q, t, p: jnp.ones(1),
        lambda q, v, t, p: p["c"][0] * q**2 + p["c"][1] * q**3 - p["c"][2] * v,
    ),
    params={"c": np.zeros(3)},
    name="flat",
)


def draw_flat(random) -> Case:
    square = random.choice([0.0, 0.0, 1.0]) * random.uniform(-1, 1)
    cube = random.uniform(0.5, 2.0) * random.choice([-1, 1])
    # beside a square it is small, so that what falls does not soon come to rest again
    c = np.array([square, cube if square == 0 else 0.1 * square * np.sign(cube), 0.0])
    c[2] = random.choice([0.0, 0.2])
    rest = zw.analysis.equilibrium(FLAT, [0.0], params={"c": c}, find="nearest")
    # towards the side that falls, if one does, and far enough to see it in time
    side = 1.0 if square == 0 else np.sign(square)
    return Case(rest.stable, c, np.zeros(2), along(0, of=2, size=side * 0.08))


def rate_flat(x, p):
    q, v = x
    q = jnp.clip(q, -50, 50)  # it leaves faster than exponentially
    return jnp.stack([v, p[0] * q**2 + p[1] * q**3 - p[2] * v])


# --- a bob on a rod, in Cartesian coordinates


def _bob(q, v, p):
    """p: weight, spring, its end (2), brake, swirl."""
    return [
        p[1] * (p[2] - q[0]) - p[4] * v[0] - p[5] * q[1],
        -p[0] + p[1] * (p[3] - q[1]) - p[4] * v[1] + p[5] * q[0],
    ]


BOB = zw.Model(
    zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.stack(_bob(q, v, tuple(p["c"]))),
    ),
    [zw.Holonomic(lambda q, t, p: q @ q - 1.0, name=name) for name in ("rod", "rod again")],
    {"c": np.zeros(6)},
    name="bob",
)


def draw_bob(random) -> Case:
    brake = random.choice([0.0, 1.0, -1.0]) * random.uniform(0.03, 0.5)
    c = np.array(
        [random.uniform(0.3, 4), random.uniform(0, 4), *random.uniform(-2, 2, 2), brake, 0]
    )
    pull = np.array([c[1] * c[2], c[1] * c[3] - c[0]])
    up = random.choice([1.0, -1.0])
    angle = np.arctan2(*(up * pull)[::-1]) + random.uniform(-0.2, 0.2)
    rest = zw.analysis.equilibrium(
        BOB, [np.cos(angle), np.sin(angle)], params={"c": c}, find="nearest"
    )
    at = np.arctan2(rest.q[1], rest.q[0])
    return Case(rest.stable, c, np.array([at, 0.0]), along(0, 1, of=2))


def rate_bob(x, p):
    q = jnp.stack([jnp.cos(x[0]), jnp.sin(x[0])])
    along = jnp.stack([-q[1], q[0]])
    return jnp.stack([x[1], along @ jnp.stack(_bob(q, along * x[1], p))])


# --- a bead at rest on the axis of a curve that turns


def _curve(q, t, p):
    """z = a r² + b r⁴."""
    r = q[0] ** 2 + q[1] ** 2
    return q[2] - p["c"][1] * r - p["c"][2] * r**2


def _side(q, t, p):
    return jnp.sin(p["c"][0] * t) * q[0] - jnp.cos(p["c"][0] * t) * q[1]


FALLING = zw.System(3, lambda q, t, p: jnp.ones(3), lambda q, v, t, p: jnp.array([0.0, 0.0, -1.0]))
WIRE = zw.Model(
    FALLING,
    [zw.Holonomic(_curve, name="wire"), zw.Holonomic(_side, name="turns")],
    {"c": np.ones(3)},
    name="turning wire",
)


def draw_wire(random) -> Case:
    c = np.array([random.uniform(0.3, 2.5), random.uniform(-0.5, 2.5), random.uniform(-0.3, 1.0)])
    rest = zw.analysis.equilibrium(WIRE, np.zeros(3), params={"c": c}, find="nearest")
    return Case(rest.stable, c, np.zeros(2), along(0, 1, of=2))


def rate_wire(x, p):
    (r, v), (turn, a, b) = x, p
    slope, bend = 2 * a * r + 4 * b * r**3, 2 * a + 12 * b * r**2
    return jnp.stack([v, (turn**2 * r - slope - slope * bend * v**2) / (1 + slope**2)])


# --- circles on a surface of revolution: steady motions that turn, in Cartesian coordinates

SURFACE = zw.Model(
    FALLING, [zw.Holonomic(_curve, name="surface")], {"c": np.ones(3)}, name="surface"
)


def draw_circle(random) -> Case:
    a, b = random.uniform(0.2, 1.5), random.uniform(-0.5, 1.0)
    r, at = random.uniform(0.3, 1.2), random.uniform(0, 2 * np.pi)
    if 2 * a + 4 * b * r**2 < 0.05 or random.random() < 0.5:
        # a circle needs a slope, a + 2 b r² > 0, and is stable where a + 3 b r² > 0
        b = -a / (r**2 * random.uniform(2.1, 4.0))
    turn = np.sqrt(2 * a + 4 * b * r**2)
    c = np.array([turn * r**2, a, b])
    place = r * np.array([np.cos(at), np.sin(at)])
    q = [*place, a * r**2 + b * r**4]
    linear = zw.analysis.linearize(
        SURFACE, q, [-turn * place[1], turn * place[0], 0.0], params={"c": c}
    )
    assert linear.kind == "steady motion"
    return Case(linear.stable, c, np.array([r, 0.0]), along(0, 1, of=2))


def rate_circle(x, p):
    (r, v), (momentum, a, b) = x, p
    r = jnp.maximum(r, 0.05)
    slope, bend = 2 * a * r + 4 * b * r**3, 2 * a + 12 * b * r**2
    push = momentum**2 / r**3 - slope - slope * bend * v**2
    return jnp.stack([v, push / (1 + slope**2)])


# --- a sleeping top, by a quaternion and velocities in axes fixed in space


def _rotation(q):
    w, x, y, z = q
    return jnp.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _top_map(q, t, p):
    w, x, y, z = q
    return 0.5 * jnp.array([[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]])


def _top_mass(q, t, p):
    R, (across, along) = _rotation(q), p["c"][1:3]
    return R @ jnp.diag(jnp.stack([across, across, along])) @ R.T


def _top_force(q, v, t, p):
    pull = jnp.cross(_rotation(q)[:, 2], jnp.stack([0.0, 0.0, -p["c"][3]]))
    return pull - jnp.cross(v, _top_mass(q, t, p) @ v)


TOP = zw.Model(
    zw.System(4, _top_mass, _top_force, nv=3, velocity_map=_top_map),
    params={"c": np.ones(4)},
    name="top",
)


def draw_top(random) -> Case:
    across = random.uniform(0.5, 1.5)
    c = np.array([random.uniform(0.5, 5), across, across * random.uniform(0.3, 1.7), 0.0])
    c[3] = random.uniform(0.2, 2.0)
    linear = zw.analysis.linearize(TOP, [1.0, 0, 0, 0], [0.0, 0.0, c[0]], params={"c": c})
    assert linear.kind == "steady motion"
    state = np.array([0.0, 0, 1, 0, 0, c[2] * c[0]])
    return Case(linear.stable, c, state, along(0, 1, 3, 4, of=6))  # its spin stays


def rate_top(x, p):
    """The axis e and the angular momentum L: ė = L × e / I, L̇ = e × weight."""
    e, momentum = x[:3], x[3:]
    pull = jnp.stack([0.0, 0.0, -p[3]])
    return jnp.concatenate([jnp.cross(momentum, e) / p[1], jnp.cross(e, pull)])


FAMILIES = {
    "two coordinates": Family(draw_plane, rate_plane),
    # its deviations are no small ones, and its motions no larger than they are
    "without stiffness": Family(draw_flat, rate_flat, 5.0),
    "bob on a rod": Family(draw_bob, rate_bob),
    "turning wire": Family(draw_wire, rate_wire),
    "circle on a surface": Family(draw_circle, rate_circle),
    "sleeping top": Family(draw_top, rate_top),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("count", [6, pytest.param(170, marks=pytest.mark.slow)])
def test_no_verdict_contradicts_a_simulated_deviation(name, count):
    family, random = FAMILIES[name], np.random.default_rng(1743)
    cases, rate = [], None
    while len(cases) < count:
        case = family.draw(random)
        rate = rate or native.function(family.rate, case.state, case.params)
        if not UNDECIDED[0] < growth(rate, case) < UNDECIDED[1]:
            cases.append(case)
    left = leaves(family, cases)
    wrong = [
        (x.stable, x.params)
        for x, gone in zip(cases, left, strict=True)
        if x.stable is not None and x.stable == gone
    ]
    assert not wrong
    assert sum(x.stable is None for x in cases) <= OPEN * count
    assert 0 < np.sum(left) < count  # both verdicts are put to the test
