"""Random constrained models: points and rigid bodies in the plane, from a seed.

A `Family` is a structure: the number of points and bodies, and their connections. Every number
(masses, positions, stiffnesses, lengths, factors of rows, units of coordinates) is a parameter, so
that the models of a family share their compiled programs. Bodies are placed first and lengths are
measured afterwards, which closes every loop by construction; velocities are drawn from the null
space of the constraints.

`oracle` evaluates the same functions without the library: mass, force, rows and rates of change.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw

GROUND = -1
LEAST_SINGULAR, MOST_ROUND_OFF = 2e-2, 1e-9
"""A start is drawn again if a singular value of its unit rows lies between the two."""


@dataclasses.dataclass(frozen=True)
class Family:
    """A shape of models; owners are points first, then bodies, and `GROUND`.

    Attributes:
        springs, rods, pins: pairs of owners that a spring with a damper, a rigid rod or a pin
            joins; varying rods change their length with time.
        knives: bodies with an edge that does not move sideways.
        wheels: bodies that touch a straight line and roll on it without slip.
        drives: owners that are moved along a direction as a function of time.
        combined: number of rows that repeat or combine the other position rows.
    """

    name: str
    points: int = 0
    bodies: int = 0
    springs: tuple[tuple[int, int], ...] = ()
    rods: tuple[tuple[int, int], ...] = ()
    varying: bool = False
    pins: tuple[tuple[int, int], ...] = ()
    knives: tuple[int, ...] = ()
    wheels: tuple[int, ...] = ()
    drives: tuple[int, ...] = ()
    combined: int = 0

    @property
    def nq(self) -> int:
        return 2 * self.points + 3 * self.bodies

    @property
    def scleronomic(self) -> bool:
        return not (self.varying or self.drives)

    @property
    def floating(self) -> bool:
        """Whether nothing joins the system to the ground."""
        pairs = [*self.springs, *self.rods, *self.pins]
        return self.scleronomic and not (
            self.wheels or self.knives or any(GROUND in pair for pair in pairs)
        )


FAMILIES = {
    family.name: family
    for family in (
        Family("springs", points=3, springs=((0, 1), (1, 2), (2, GROUND))),
        Family("tree", points=4, rods=((0, GROUND), (0, 1), (1, 2), (1, 3)), springs=((2, 3),)),
        Family("truss", points=4, rods=((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))),
        Family(
            "floating", points=2, bodies=2, rods=((0, 2),), pins=((2, 3),), springs=((0, 1), (1, 3))
        ),
        Family("chain", bodies=3, pins=((GROUND, 0), (0, 1), (1, 2)), springs=((2, GROUND),)),
        Family("loop", bodies=3, pins=((GROUND, 0), (0, 1), (1, 2), (2, GROUND))),
        Family("redundant", bodies=3, pins=((GROUND, 0), (0, 1), (1, 2)), combined=4),
        Family("sleigh", points=1, bodies=1, knives=(1,), rods=((0, 1),)),
        Family("train", bodies=3, knives=(0, 1), pins=((0, 1), (1, 2)), springs=((2, 0),)),
        Family("wheel", bodies=2, wheels=(0,), pins=((0, 1),), springs=((1, GROUND),)),
        Family("driven", points=3, rods=((0, 1), (1, 2)), drives=(0,), combined=2),
        Family("hoist", points=3, rods=((0, GROUND), (0, 1), (1, 2)), varying=True),
        Family("rope", points=8, rods=((0, GROUND), *((i, i + 1) for i in range(7)))),
        Family("doubled", bodies=1, pins=((GROUND, 0),), combined=2),
    )
}


@dataclasses.dataclass(frozen=True)
class Case:
    """One random model at a consistent start."""

    family: Family
    seed: int
    q: np.ndarray
    v: np.ndarray
    params: dict

    @property
    def model(self) -> zw.Model:
        return model(self.family)

    def facts(self, vdot=None) -> dict:
        """What `oracle` says of the start, in NumPy."""
        vdot = np.zeros_like(self.v) if vdot is None else np.asarray(vdot)
        facts = oracle(self.family)(self.q, self.v, vdot, 0.0, self.params)
        return {name: np.asarray(value) for name, value in facts.items()}


def split(family: Family, x):
    """Places of all owners, the ground last, and their angles: shapes (n + 1, 2), (n + 1,)."""
    points, bodies = x[: 2 * family.points].reshape(-1, 2), x[2 * family.points :].reshape(-1, 3)
    places = jnp.concatenate([points, bodies[:, :2], jnp.zeros((1, 2))])
    return places, jnp.concatenate([jnp.zeros(family.points), bodies[:, 2], jnp.zeros(1)])


def turned(angle, offset):
    """Offsets of shape (n, 2), turned by angles of shape (n,)."""
    c, s = jnp.cos(angle), jnp.sin(angle)
    x, y = offset[..., 0], offset[..., 1]
    return jnp.stack([c * x - s * y, s * x + c * y], -1)


def nodes(family: Family, owners, offsets, x):
    """Where material points of owners are, shape (n, 2)."""
    places, angles = split(family, x)
    at = np.asarray(owners, int)
    return places[at] + turned(angles[at], offsets)


def spans(family: Family, pairs, offsets, x):
    """Vectors from the first to the second node of each pair, shape (n, 2)."""
    first, second = zip(*pairs, strict=True)
    return nodes(family, second, offsets[:, 1], x) - nodes(family, first, offsets[:, 0], x)


def centres(family: Family, x, p):
    """Centres of mass, shape (n, 2), and angles, shape (n,), without the ground."""
    places, angles = split(family, x)
    return places[:-1] + turned(angles[:-1], p["centre"]), angles[:-1]


def kinetic(family: Family, x, w, p):
    """Kinetic energy [J] at metres and metres per second."""
    rate, spin = jax.jvp(lambda x: centres(family, x, p), (x,), (w,))[1]
    return 0.5 * jnp.sum(p["mass"] * jnp.sum(rate**2, -1)) + 0.5 * jnp.sum(p["inertia"] * spin**2)


def potential(family: Family, q, p):
    """Potential energy of gravity and springs [J]."""
    x = q / p["unit"]
    height = -jnp.sum(p["mass"] * (centres(family, x, p)[0] @ p["gravity"]))
    if not family.springs:
        return height
    length = jnp.linalg.norm(spans(family, family.springs, p["springs"], x), axis=-1)
    return height + 0.5 * jnp.sum(p["stiffness"] * (length - p["relaxed"]) ** 2)


def dissipation(family: Family, q, v, p):
    """Rayleigh's function of the dampers beside the springs: half the power lost [W]."""
    if not family.springs:
        return 0.0
    length = lambda x: jnp.linalg.norm(spans(family, family.springs, p["springs"], x), axis=-1)
    rate = jax.jvp(length, (q / p["unit"],), (v / p["unit"],))[1]
    return 0.5 * jnp.sum(p["damping"] * rate**2)


def mass_matrix(family: Family, q, p):
    """M, diagonal for points alone, in blocks for bodies alone, dense for both."""
    unit, points, mass = p["unit"], family.points, p["mass"]
    diagonal = jnp.repeat(mass[:points], 2)
    if not family.bodies:
        return diagonal / unit**2
    bodies = slice(points, points + family.bodies)
    c = turned(split(family, q / unit)[1][bodies], p["centre"][bodies])
    m, zero = mass[bodies], jnp.zeros(family.bodies)
    J = p["inertia"][bodies] + m * jnp.sum(c**2, -1)
    rows = [[m, zero, -m * c[:, 1]], [zero, m, m * c[:, 0]], [-m * c[:, 1], m * c[:, 0], J]]
    blocks = jnp.moveaxis(jnp.array(rows), 2, 0)
    if not points:
        by_body = unit.reshape(-1, 3)
        return blocks / (by_body[:, :, None] * by_body[:, None, :])
    whole = jax.scipy.linalg.block_diag(jnp.diag(diagonal), *blocks)
    return whole / jnp.outer(unit, unit)


def force(family: Family, q, v, p):
    """F: weight, springs, dampers, and the centripetal terms of bodies with an offset centre."""
    F = -jax.grad(lambda q: potential(family, q, p))(q)
    if family.springs:
        F = F - jax.grad(lambda v: dissipation(family, q, v, p))(v)
    if not family.bodies:
        return F
    unit = p["unit"]
    w = (v / unit)[2 * family.points :].reshape(-1, 3)[:, 2]
    bodies = slice(family.points, family.points + family.bodies)
    c = turned(split(family, q / unit)[1][bodies], p["centre"][bodies])
    pull = (p["mass"][bodies] * w**2)[:, None] * c
    turning = jnp.concatenate([pull, jnp.zeros((family.bodies, 1))], 1).ravel()
    return F + jnp.concatenate([jnp.zeros(2 * family.points), turning]) / unit


def position_rows(family: Family, q, t, p) -> dict:
    """φ by kind of joint, each shape (n,), without factors."""
    x, rows = q / p["unit"], {}
    wave = jnp.sin(p["frequency"] * t)
    if family.rods:
        length = p["length"] + (p["swing"] * wave if family.varying else 0.0)
        rows["rods"] = jnp.sum(spans(family, family.rods, p["rods"], x) ** 2, -1) - length**2
    if family.pins:
        rows["pins"] = spans(family, family.pins, p["pins"], x).ravel()
    if family.drives:
        moved = nodes(family, family.drives, p["drives"], x) @ p["along"]
        rows["drives"] = moved - p["from"] - p["swing"] * wave
    if family.wheels:
        place = split(family, x)[0][np.asarray(family.wheels)]
        rows["contact"] = place @ turned(jnp.pi / 2, p["along"]) - p["height"]
    if family.combined:
        rows["combined"] = p["combine"] @ jnp.concatenate(list(rows.values()))
    return rows


def velocity_rows(family: Family, q, v, p) -> dict:
    """ψ of the nonholonomic joints, each shape (n,), without factors."""
    x, w, rows = q / p["unit"], v / p["unit"], {}
    if family.knives:
        at = np.asarray(family.knives)
        rate = jax.jvp(lambda x: nodes(family, at, p["knives"], x), (x,), (w,))[1]
        across = turned(split(family, x)[1][at], p["edge"])
        rows["knives"] = jnp.sum(rate * across, -1)
    if family.wheels:
        at = np.asarray(family.wheels)
        (rate, spin) = split(family, w)
        rows["rolling"] = rate[at] @ p["along"] + p["radius"] * spin[at]
    return rows


@functools.cache
def model(family: Family) -> zw.Model:
    """The library's model of a family, with the parameters of its first seed."""
    params = _numbers(family, np.random.default_rng(0))[1]
    system = zw.System(
        family.nq,
        lambda q, t, p: mass_matrix(family, q, p),
        lambda q, v, t, p: force(family, q, v, p),
        potential=lambda q, t, p: potential(family, q, p),
    )
    q, v = np.zeros(family.nq), np.zeros(family.nq)
    holonomic = [
        zw.Holonomic(
            lambda q, t, p, k=kind: p["factor_" + k] * position_rows(family, q, t, p)[k], name=kind
        )
        for kind in position_rows(family, q, 0.0, params)
    ]
    nonholonomic = [
        zw.Nonholonomic(
            lambda q, v, t, p, k=kind: p["factor_" + k] * velocity_rows(family, q, v, p)[k],
            name=kind,
        )
        for kind in velocity_rows(family, q, v, params)
    ]
    return zw.Model(system, [*holonomic, *nonholonomic], params, name=family.name)


@functools.cache
def oracle(family: Family):
    """(q, v, v̇, t, p) → the quantities of mechanics, from the functions above alone."""

    def speeds(q, v, t, p):
        still = position_rows(family, q, t, p)
        rates = jax.jvp(lambda q, t: position_rows(family, q, t, p), (q, t), (v, 1.0))[1]
        rows = [p["factor_" + k] * rates[k] for k in still]
        rows += [p["factor_" + k] * row for k, row in velocity_rows(family, q, v, p).items()]
        return jnp.concatenate(rows) if rows else jnp.zeros(0)

    def momenta(q, v, p):
        place = lambda q: centres(family, q / p["unit"], p)
        (r, _), (rate, spin) = jax.jvp(place, (q,), (v,))
        m = p["mass"]
        turning = m * (r[:, 0] * rate[:, 1] - r[:, 1] * rate[:, 0]) + p["inertia"] * spin
        return jnp.append(m @ rate, jnp.sum(turning))

    @jax.jit
    def facts(q, v, vdot, t, p):
        A = jax.jacfwd(speeds, 1)(q, v, t, p)
        rate = lambda f: jax.jvp(f, (q, v), (v, vdot))[1]
        r = centres(family, q / p["unit"], p)[0]
        weight = p["mass"][:, None] * p["gravity"]
        energy = lambda q, v: (
            kinetic(family, q / p["unit"], v / p["unit"], p) + potential(family, q, p)
        )
        return {
            "A": A,
            "speed": speeds(q, v, t, p),
            "drift": speeds(q, 0 * v, t, p),
            "b": -jax.jvp(lambda q, t: speeds(q, v, t, p), (q, t), (v, 1.0))[1],
            "mass": jax.hessian(lambda w: kinetic(family, q / p["unit"], w / p["unit"], p))(v),
            "force": force(family, q, v, p),
            "energy": energy(q, v),
            "energy_rate": rate(energy),
            "loss": 2 * dissipation(family, q, v, p),
            "momentum_rate": rate(lambda q, v: momenta(q, v, p)),
            "load": jnp.append(
                weight.sum(0), jnp.sum(r[:, 0] * weight[:, 1] - r[:, 1] * weight[:, 0])
            ),
        }

    return facts


def unit_rows(facts: dict):
    """Rows of `A M^(-1/2)` at unit length, the same right-hand sides, and L with M = L Lᵀ."""
    L = np.linalg.cholesky(facts["mass"])
    C = np.linalg.solve(L, facts["A"].T).T
    size = np.linalg.norm(C, axis=1)
    size[size == 0] = 1.0
    return C / size[:, None], size, L


@functools.lru_cache(4096)
def draw(family: Family, seed: int, unit: float | None = None) -> Case:
    """The model of a seed, at a start on its constraints and away from singular configurations.

    Args:
        unit: number of length units in a metre; 1, 1000 or 1/1000 at random unless given.
    """
    random = np.random.default_rng([seed, len(family.name), *family.name.encode()])
    for _ in range(200):
        q, params = _numbers(family, random, unit)
        case = Case(family, seed, q, np.zeros(family.nq), params)
        facts = case.facts()
        C, size, L = unit_rows(facts)
        sigma = np.linalg.svd(C, compute_uv=False) if len(C) else np.ones(1)
        if np.any((sigma < LEAST_SINGULAR) & (sigma > MOST_ROUND_OFF)):
            continue
        wish = random.standard_normal(family.nq) * (random.random() > 0.3)
        inverse = np.linalg.pinv(C, rcond=1e-7)
        free = wish - inverse @ (C @ wish + facts["drift"] / size)
        return dataclasses.replace(case, v=np.linalg.solve(L.T, free))
    raise AssertionError(f"no regular start of {family.name} from seed {seed}")


def _numbers(family: Family, random: np.random.Generator, unit: float | None = None):
    """Coordinates and parameters; lengths are measured where the bodies are placed."""
    count, places = family.points + family.bodies, family.points
    x = random.uniform(-1, 1, family.nq)
    x[2 * family.points + 2 :: 3] *= np.pi
    body = (np.arange(count) >= places)[:, None]
    p = {
        "mass": np.exp(random.uniform(-1.5, 1.5, count)),
        "inertia": np.exp(random.uniform(-2, 1, count)) * body[:, 0],
        "centre": random.uniform(-0.4, 0.4, (count, 2)) * body,
        "gravity": random.uniform(-10, 10, 2) * (random.random() > 0.2),
        "frequency": random.uniform(0.5, 4),
        "swing": random.uniform(0.02, 0.2),
        "along": np.array([np.cos(a := random.uniform(0, 2 * np.pi)), np.sin(a)]),
    }
    drawn = float(random.choice([1.0, 1000.0, 1e-3]))
    p["unit"] = np.full(family.nq, drawn if unit is None else unit)
    p["unit"][2 * family.points + 2 :: 3] = 1.0
    _join(family, x, p, random)
    q, v = x * p["unit"], np.zeros(family.nq)
    rows = {**position_rows(family, q, 0.0, p), **velocity_rows(family, q, v, p)}
    for kind, row in rows.items():
        p["factor_" + kind] = 10.0 ** random.uniform(-6, 6, row.shape)
    return q, p


def _join(family: Family, x, p: dict, random: np.random.Generator) -> None:
    """Add the numbers of springs, rods, pins, edges, wheels and drives to the parameters."""
    p0, angles = (np.asarray(a) for a in split(family, x))

    def offsets(pairs):
        """Random material points; a point has no other one than itself."""
        owners = np.asarray(pairs, int)
        reach = np.where(owners == GROUND, 2.0, np.where(owners >= family.points, 0.6, 0.0))
        return random.uniform(-1, 1, (*owners.shape, 2)) * reach[..., None]

    if family.springs:
        n = len(family.springs)
        p["springs"] = offsets(family.springs)
        p["stiffness"], p["damping"] = random.uniform(1, 60, n), random.uniform(0, 1, n)
        p["damping"] *= random.random() > 0.5
        p["relaxed"] = random.uniform(0.2, 1.5, n)
    if family.rods:
        p["rods"] = offsets(family.rods)
        span = np.asarray(spans(family, family.rods, p["rods"], x))
        p["length"] = np.linalg.norm(span, axis=-1)
    if family.pins:
        owners = np.asarray(family.pins, int)
        pin = p0[owners].mean(1, keepdims=True) + random.uniform(-0.5, 0.5, (len(owners), 1, 2))
        p["pins"] = np.asarray(turned(-angles[owners], pin - p0[owners]))
    if family.drives:
        p["drives"] = offsets(family.drives)
        p["from"] = np.asarray(nodes(family, family.drives, p["drives"], x)) @ p["along"]
    if family.knives:
        p["knives"] = offsets(family.knives)
        edge = random.uniform(0, 2 * np.pi, len(family.knives))
        p["edge"] = np.stack([np.cos(edge), np.sin(edge)], -1)
    if family.wheels:
        p["radius"] = random.uniform(0.2, 1.0, len(family.wheels))
        normal = np.array([-p["along"][1], p["along"][0]])
        p["height"] = p0[np.asarray(family.wheels)] @ normal
    if family.combined:
        p["combine"] = np.zeros((family.combined, 1))  # the shape follows from the other rows
        others = dataclasses.replace(family, combined=0)
        m = sum(len(r) for r in position_rows(others, x * p["unit"], 0.0, p).values())
        p["combine"] = random.standard_normal((family.combined, m))
        p["combine"][0] = np.eye(m)[random.integers(m)]


def rotated(case: Case, angle: float, shift) -> Case:
    """The same model seen from a turned and shifted frame; v turns with it."""
    family, p, unit = case.family, dict(case.params), case.params["unit"]
    turn = lambda offset: np.asarray(turned(np.full(offset.shape[:-1], angle), offset))

    def state(z, moved, turned_by):
        z = np.array(z / unit)
        points = z[: 2 * family.points].reshape(-1, 2)
        bodies = z[2 * family.points :].reshape(-1, 3)
        points[:], bodies[:, :2] = turn(points) + moved, turn(bodies[:, :2]) + moved
        bodies[:, 2] += turned_by
        return z * unit

    for kind in ("springs", "rods", "pins"):
        if kind in p:
            ground = (np.asarray(getattr(family, kind)) == GROUND)[..., None]
            p[kind] = np.where(ground, turn(p[kind]) + shift, p[kind])
    p["gravity"], p["along"] = turn(p["gravity"]), turn(p["along"])
    if "from" in p:
        p["from"] = p["from"] + np.asarray(shift) @ p["along"]
    if "height" in p:
        p["height"] = p["height"] + np.asarray(shift) @ np.array([-p["along"][1], p["along"][0]])
    q = state(case.q, np.asarray(shift), angle)
    return dataclasses.replace(case, q=q, v=state(case.v, 0.0, 0.0), params=p)
