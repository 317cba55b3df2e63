"""Random initial states without load, at which all terms of `A v̇ = b` may be round-off.

Each kind is one model with its numbers as parameters, so that it compiles once; the initial
acceleration is known by hand.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

import zwang as zw

G = 9.81
SPAN = 0.05
"""Length of the runs [s]."""
ERROR = 1e-9
"""Largest error of an acceleration, beside what it may be the difference of [m/s²]."""


@dataclasses.dataclass(frozen=True)
class Start:
    """One start and what is known of it.

    Attributes:
        q, v, params: the start.
        acceleration: v̇ there.
        size: of what the acceleration is the sum of [m/s² …].
    """

    q: np.ndarray
    v: np.ndarray
    params: dict
    acceleration: np.ndarray
    size: float


@dataclasses.dataclass(frozen=True)
class Kind:
    """A model, and how its starts are drawn."""

    model: Callable[[], zw.Model]
    draw: Callable[[np.random.Generator], Start]


# --- rods -----------------------------------------------------------------------------------------


@functools.cache
def two_rods() -> zw.Model:
    """Three points on two rods in the plane, under gravity; masses and lengths are parameters."""
    weight = jnp.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    system = zw.System(
        6,
        mass_matrix=lambda q, t, p: jnp.repeat(p["m"], 2),
        force=lambda q, v, t, p: -G * jnp.repeat(p["m"], 2) * weight,
    )

    def lengths(q, t, p):
        ends = jnp.stack([q[2:4] - q[:2], q[4:] - q[2:4]])
        return jnp.sum(ends**2, axis=1) - p["L"] ** 2

    return zw.Model(
        system, [zw.Holonomic(lengths, name="rods")], {"m": np.ones(3), "L": np.ones(2)}
    )


def random_rods(random: np.random.Generator):
    """Coordinates and parameters of `two_rods`."""
    length, mass = random.uniform(0.3, 2.0, 2), random.uniform(0.2, 5.0, 3)
    angle = random.uniform(-np.pi, np.pi, 2)
    points = np.cumsum(
        [random.normal(size=2), *(length * [np.cos(angle), np.sin(angle)]).T], axis=0
    )
    return points.ravel(), {"m": mass, "L": length}


def falling_rods(random: np.random.Generator) -> Start:
    q, params = random_rods(random)
    v = np.tile(random.normal(size=2) * (random.random() < 0.5), 3)
    return Start(q, v, params, np.tile([0.0, -G], 3), G)


# --- links ----------------------------------------------------------------------------------------

LINKS = 3


@functools.cache
def links() -> zw.Model:
    """Bars in the plane, pinned to each other, under gravity; the last pin may be there twice."""
    inertia = lambda p: jnp.stack([p["m"], p["m"], p["J"]], axis=1).ravel()
    weight = jnp.tile(jnp.array([0.0, -G, 0.0]), LINKS)
    system = zw.System(
        3 * LINKS, lambda q, t, p: inertia(p), lambda q, v, t, p: inertia(p) * weight
    )

    def pins(q, t, p):
        body = q.reshape(-1, 3)
        arm = 0.5 * p["L"][:, None] * jnp.stack([jnp.cos(body[:, 2]), jnp.sin(body[:, 2])], axis=1)
        gap = (body[1:, :2] - arm[1:]) - (body[:-1, :2] + arm[:-1])
        return jnp.concatenate([gap.ravel(), 2 * gap[-1]])

    ones = np.ones(LINKS)
    return zw.Model(system, [zw.Holonomic(pins, name="pins")], {"m": ones, "J": ones, "L": ones})


def falling_links(random: np.random.Generator) -> Start:
    length, angle = random.uniform(0.2, 3.0, LINKS), random.uniform(-np.pi, np.pi, LINKS)
    arm = 0.5 * length[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    place = random.normal(size=2) + np.concatenate(
        [np.zeros((1, 2)), np.cumsum(arm[:-1] + arm[1:], axis=0)]
    )
    q = np.column_stack([place, angle]).ravel()
    v = np.tile([*random.normal(size=2) * (random.random() < 0.5), 0.0], LINKS)
    params = {
        "m": random.uniform(0.1, 9.0, LINKS),
        "J": 10.0 ** random.uniform(-3, 1, LINKS),
        "L": length,
    }
    return Start(q, v, params, np.tile([0.0, -G, 0.0], LINKS), G)


# --- springs --------------------------------------------------------------------------------------


@functools.cache
def springs() -> zw.Model:
    """Three points on a line with springs between them, the outer ones on a rod."""

    def force(q, v, t, p):
        pull = p["k"] * (jnp.diff(q) - p["L"])
        return jnp.stack([pull[0], pull[1] - pull[0], -pull[1]])

    system = zw.System(3, lambda q, t, p: p["m"], force)
    rod = zw.Holonomic(lambda q, t, p: q[2] - q[0] - jnp.sum(p["L"]), name="rod")
    return zw.Model(system, [rod], {"m": np.ones(3), "k": np.ones(2), "L": np.ones(2)})


def relaxed_springs(random: np.random.Generator) -> Start:
    """Springs without tension but for the round-off of their stiffness."""
    length, stiffness = random.uniform(0.1, 2.0, 2), 10.0 ** random.uniform(0, 5, 2)
    q = random.normal() + np.concatenate([[0.0], np.cumsum(length)])
    mass = random.uniform(0.2, 5.0, 3)
    v = np.full(3, random.normal() * (random.random() < 0.5))
    size = np.max(stiffness) * np.max(np.abs(q)) / np.min(mass) * 1e-6
    return Start(q, v, {"m": mass, "k": stiffness, "L": length}, np.zeros(3), size)


# --- shafts ---------------------------------------------------------------------------------------


def rotation(e):
    """The rotation matrix of quaternion components."""
    w, x, y, z = e
    return jnp.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def spin_matrix(xp, e):
    """E with ω = 2 E ė, in the body's axes."""
    w, x, y, z = e
    return xp.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])


@functools.cache
def shaft() -> zw.Model:
    """A rigid shaft by its place and four quaternion components, in two bearings, which hold it
    along its axis twice; a singular mass matrix.
    """

    def mass(q, t, p):
        E = spin_matrix(jnp, q[3:])
        M = jnp.zeros((7, 7)).at[:3, :3].set(p["m"] * jnp.eye(3))
        return M.at[3:, 3:].set(4 * E.T @ (p["J"][:, None] * E))

    def force(q, v, t, p):
        # of ½ vᵀMv = 2 (E ė)ᵀ J (E ė), which is bilinear in e and ė: −8 Ė'ᵀ J E ė, E' = E(ė)
        rate = spin_matrix(jnp, v[3:])
        pull = -8 * rate.T @ (p["J"] * (spin_matrix(jnp, q[3:]) @ v[3:]))
        return jnp.concatenate([jnp.zeros(3), pull])

    def bearings(q, t, p):
        axis = rotation(q[3:])[:, 2]
        ends = [q[:3] + arm * axis - at for arm, at in zip(p["arms"], p["bearings"], strict=True)]
        return jnp.concatenate(ends)

    unit = zw.Holonomic(lambda q, t, p: q[3:] @ q[3:] - 1.0, name="unit")
    params = {
        "m": 1.0,
        "J": np.ones(3),
        "arms": np.array([-1.0, 1.0]),
        "bearings": np.array([[0.0, 0, -1], [0, 0, 1]]),
    }
    held = zw.Holonomic(bearings, name="bearings")
    return zw.Model(zw.System(7, mass, force), [unit, held], params)


def spinning_shaft(random: np.random.Generator) -> Start:
    """A balanced shaft that spins evenly: ë = −(½ω)² e."""
    e = random.normal(size=4)
    e = np.eye(4)[random.integers(4)] if random.random() < 0.25 else e / np.linalg.norm(e)
    place, arms = random.normal(size=3), random.uniform(0.2, 1.0, 2) * [-1.0, 1.0]
    spin = random.choice([0.0, 1.0, 10.0, 100.0]) * random.uniform(0.5, 2.0)
    around, along = 10.0 ** random.uniform(-2, 1, 2)
    axis = np.asarray(rotation(e))[:, 2]
    rate = 0.5 * spin_matrix(np, e).T @ np.array([0.0, 0.0, spin])
    params = {
        "m": random.uniform(0.2, 5.0),
        "J": np.array([around, around, along]),
        "arms": arms,
        "bearings": place + arms[:, None] * axis,
    }
    acceleration = np.concatenate([np.zeros(3), -((0.5 * spin) ** 2) * e])
    v = np.concatenate([np.zeros(3), rate])
    return Start(np.concatenate([place, e]), v, params, acceleration, 1.0 + spin**2)


# --- without mass ---------------------------------------------------------------------------------


@functools.cache
def node() -> zw.Model:
    """Two points and a node without mass between two springs, which a row holds in the middle."""
    system = zw.System(
        3,
        mass_matrix=lambda q, t, p: jnp.array([1.0, 0.0, 1.0]),
        force=lambda q, v, t, p: p["k"] * jnp.array([q[1] - q[0] - 1.0, 0.0, q[1] - q[2] + 1.0]),
    )
    held = zw.Holonomic(lambda q, t, p: q[1] - 0.5 * (q[0] + q[2]), name="node")
    return zw.Model(system, [held], {"k": 1.0})


def relaxed_node(random: np.random.Generator) -> Start:
    where, stiffness = random.normal(), 10.0 ** random.uniform(0, 4)
    q = np.array([where, where + 1.0, where + 2.0])
    return Start(q, np.zeros(3), {"k": stiffness}, np.zeros(3), 1.0 + 1e-6 * stiffness)


@functools.cache
def wheel() -> zw.Model:
    """A wheel whose turning has no mass, rolling without slip, pulled by a spring."""
    system = zw.System(
        2,
        mass_matrix=lambda q, t, p: p["m"] * jnp.array([1.0, 0.0]),
        force=lambda q, v, t, p: -p["k"] * jnp.stack([q[0] - p["x"], 0 * q[1]]),
    )
    rolling = zw.Nonholonomic(lambda q, v, t, p: v[0] - p["r"] * v[1], name="rolling")
    return zw.Model(system, [rolling], {"m": 1.0, "k": 1.0, "r": 1.0, "x": 0.0})


def resting_wheel(random: np.random.Generator) -> Start:
    x, r = random.normal(), 10.0 ** random.uniform(-2, 1)
    stiffness, mass = 10.0 ** random.uniform(0, 4), random.uniform(0.2, 5.0)
    # at the spring's end but for one unit in the last place
    q = np.array([np.nextafter(x, random.choice([-9.0, 9.0])), random.normal()])
    v = random.normal() * (random.random() < 0.5) * np.array([r, 1.0])
    params = {"m": mass, "k": stiffness, "r": r, "x": x}
    return Start(q, v, params, np.zeros(2), (1.0 + 1e-6 * stiffness / mass) * max(1.0, 1 / r))


KINDS = {
    "rods": Kind(two_rods, falling_rods),
    "links": Kind(links, falling_links),
    "springs": Kind(springs, relaxed_springs),
    "shaft": Kind(shaft, spinning_shaft),
    "node": Kind(node, relaxed_node),
    "wheel": Kind(wheel, resting_wheel),
}


def case_of(*names: str, motion: bool = True):
    """A fuzz case that draws from kinds by name, all unless given."""
    kinds = list(names or KINDS)

    def case(random: np.random.Generator) -> None:
        assert_taken(kinds[int(random.integers(len(kinds)))], random, motion)

    return case


case = case_of()


def assert_taken(name: str, random: np.random.Generator, motion: bool = True) -> None:
    """A start is taken by a run and by `zw.motion`, with the acceleration that is known."""
    kind = KINDS[name]
    model, start = kind.model(), kind.draw(random)
    given = {"params": start.params}
    run = zw.simulate(model, start.q, start.v, duration=SPAN, samples=2, **given)
    assert run.result is zw.Result.SUCCESS, f"{name}: {run.result.sentence}"
    if not motion:
        return
    found = np.asarray(zw.motion(model, start.q, start.v, **given).acceleration)
    error = float(np.max(np.abs(found - start.acceleration))) / start.size
    assert error < ERROR, f"{name}: the acceleration is off by {error:.1e}"
