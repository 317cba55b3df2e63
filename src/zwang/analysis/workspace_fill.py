"""Filling of a grid of inputs with configurations of one branch, from its start outward."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from zwang.algebra.decomposition import (
    conditioning,
    determinant,
    orientation,
    pivots,
    singular_values,
)
from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.analysis.moving_mechanism import newton, rows_at, unweighted
from zwang.analysis.sensitivity import fold, last_direction, root, with_slope
from zwang.analysis.subject import Quantity
from zwang.compile import program
from zwang.compile.compatibility import outside_of_programs
from zwang.compile.hints import over_rows
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.errors import ModelError
from zwang.inputs.arrays import AnyArray
from zwang.mechanism.relative_pose import wrapped
from zwang.objects.reporting import report
from zwang.remedy import Remedy, advice
from zwang.thresholds import AGREEMENT, RESOLVED

PARTS = 4
"""Number of parts into which a grid step is divided after it has failed."""
BISECTIONS = 30
"""Number of bisections on an edge of the grid that crosses a boundary."""
PLACES_AT_ONCE = 256
"""Number of grid points in one batch."""


@dataclasses.dataclass(frozen=True)
class Held:
    """x(q) − u, where u is a parameter that only this constraint reads."""

    quantity: Quantity
    index: int

    def __call__(self, q, t, p):
        error = self.quantity.value(q, t, p[0]) - p[1][self.index]
        return wrapped(error) if self.quantity.turning else error


@dataclasses.dataclass(frozen=True, eq=False)
class Grid:
    """The equations on a grid of inputs. Each grid has its own programs, in which its parameters
    are constants.

    Attributes:
        dynamics: the model without its inputs.
        held: one function `(q, t, (p, u))` for each input, which is zero if the input has its
            value.
        point: `(q, t, p)` → position.
        t: time [s].
    """

    dynamics: Dynamics
    held: tuple[Held, ...]
    point: Callable
    t: float


class Solved(NamedTuple, Generic[AnyArray]):
    """Configurations at given inputs, and derived quantities.

    Attributes:
        q, residual: coordinates and largest residual of rows of unit length.
        A: rows of unit length, including those of the inputs.
        place: position of the point; slope: its derivative by the inputs, shape (…, d, inputs).
    """

    q: AnyArray
    residual: AnyArray
    A: AnyArray
    place: AnyArray
    slope: AnyArray


@program
def _solved(grid: Grid, q, u) -> Solved:
    """Newton's iteration at many inputs at once."""
    return over_rows(lambda q, u: _one(grid, q, u))(q, u)


def _one(grid: Grid, q, u, steps: int = 10) -> Solved:
    dynamics, t = grid.dynamics, jnp.asarray(grid.t)
    p, system = dynamics.p, dynamics.system
    still = jnp.zeros(system.nv)
    rows = rows_at(dynamics, t, lambda q: jnp.stack([f(q, t, (p, u)) for f in grid.held]))
    # steps of Newton's iteration are at most 0.7 long
    q = newton(dynamics, rows, q, t, steps, longest=0.7)
    A, r = rows(q)
    gauss, k = unweighted(A), len(grid.held)
    # velocities per unit of each input: A v = the unit vectors of the last rows
    v = gauss.columns(jnp.eye(len(A), k, k - len(A))).T
    place = lambda s: jnp.atleast_1d(grid.point(system.move(q, s, t, p), t, p))
    slope = jax.jacfwd(place)(still) @ v
    residual = jnp.where(jnp.all(jnp.isfinite(q)), jnp.max(jnp.abs(gauss.scale * r)), jnp.inf)
    rows = gauss.rows
    assert not isinstance(rows, SparseMatrix)
    return Solved(q, residual, rows, place(still), slope)


def nearby(grid: Grid, q, u) -> Solved:
    """`Solved` near known configurations, by one step, which carries first derivatives."""
    return jax.vmap(lambda q, u: _one(grid, q, u, 1))(jnp.asarray(q), jnp.asarray(u))


def _at(grid: Grid, q: np.ndarray, u: np.ndarray) -> Solved:
    """`_solved` in batches of one size, so that it compiles once."""
    made = []
    for i in range(0, len(q), PLACES_AT_ONCE):
        own = np.resize(np.arange(i, min(i + PLACES_AT_ONCE, len(q))), PLACES_AT_ONCE)
        found = _solved(grid, q[own], u[own])
        made.append([np.asarray(x)[: min(PLACES_AT_ONCE, len(q) - i)] for x in found])
    return Solved(*(np.concatenate(x) for x in zip(*made, strict=True)))


def filled(grid: Grid, axes: tuple[np.ndarray, ...], q: np.ndarray, name: str):
    """The attributes of a `Workspace`: reached, q, places, conditioning, orientation, smallest,
    edges.

    Raises:
        ModelError: if the start is outside of the grid, or the number of inputs does not fit.
    """
    shape, system = tuple(len(x) for x in axes), grid.dynamics.system
    u0, start = _start(grid, axes, q, name)
    first = _at(grid, start[None], u0[None])
    rows = pivots(first.A[0].T)
    if len(rows) != system.nv:
        raise ModelError(
            f"workspace: {system.nv - len(rows)} degrees of freedom of {name} are left with the "
            "inputs given; a mechanism needs as many inputs as degrees of freedom."
        )
    sign = orientation(first.A[0][rows])
    branch = lambda x: (x.residual < RESOLVED) & (orientation(x.A[:, rows]) == sign)
    inputs = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    state = _outwards(grid, inputs, u0, start, branch)
    reached = state["reached"]
    if not np.any(reached):
        raise ModelError(
            f"workspace: no place of the grid next to the start of {name} is reached; take more "
            "samples, or a start farther from its singular configurations."
        )
    flat = _at(grid, state["q"][reached], inputs[reached])
    nan = lambda *more: np.full((*shape, *more), np.nan)
    places, conditions, signs, smallest = nan(flat.place.shape[1]), nan(), nan(), nan()
    places[reached] = flat.place
    conditions[reached] = conditioning(flat.slope)
    if flat.slope.shape[1] == flat.slope.shape[2]:
        signs[reached] = orientation(flat.slope)
    smallest[reached] = singular_values(flat.A)[:, system.nv - 1]
    qs = np.where(reached[..., None], state["q"], np.nan)
    known, turned = (inputs, qs, places), lambda x: orientation(x.slope) > 0
    edges = (
        _bisected(grid, *known, _edges(reached, ~reached), branch),
        _bisected(grid, *known, _edges(signs > 0, signs < 0), turned),
    )
    return reached, qs, places, conditions, signs, smallest, edges


def _start(grid: Grid, axes, q: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs at the start; angles are shifted into the ranges of the grid by whole turns."""
    p, zero = grid.dynamics.p, np.zeros(len(axes))
    u = np.array([float(f(jnp.asarray(q), grid.t, (p, zero))) for f in grid.held])
    for i, axis in enumerate(axes):
        turn, own = 2 * np.pi, grid.held[i].quantity
        if own.unit == "rad" and not axis[0] <= u[i] <= axis[-1]:
            u[i] += turn * np.round((0.5 * (axis[0] + axis[-1]) - u[i]) / turn)
        if not axis[0] - AGREEMENT <= u[i] <= axis[-1] + AGREEMENT:
            way = advice(
                Remedy("give a q inside", options=()), Remedy("give a range that holds it")
            )
            raise ModelError(
                f"workspace: the start of {name} has {own.name!r} at {u[i]:.6g}, outside of its "
                f"range {axis[0]:g} to {axis[-1]:g}; {way}."
            )
    return u, np.asarray(q, float)


def _stepped(grid: Grid, q, a, b, branch) -> tuple[np.ndarray, np.ndarray]:
    """Configurations followed from inputs a to b, and a mask of those that stay on the branch."""
    found = _at(grid, q, b)
    good, new = branch(found), found.q.copy()
    again = np.flatnonzero(~good)
    if len(again):
        at, alive = q[again], np.ones(len(again), bool)
        for i in range(1, PARTS + 1):
            part = _at(grid, at, a[again] + i / PARTS * (b[again] - a[again]))
            alive &= branch(part)
            at = part.q
        good[again], new[again] = alive, at
    return new, good


def _outwards(grid: Grid, inputs: np.ndarray, u0, start, branch) -> dict[str, np.ndarray]:
    """Fill the grid, starting with the neighbors of the start."""
    shape = inputs.shape[:-1]
    qs, reached = np.zeros((*shape, len(start))), np.zeros(shape, bool)
    tried = np.zeros((*shape, 2 * len(shape)), bool)
    near = np.argsort(np.sum(((inputs - u0) / _steps(inputs)) ** 2, axis=-1), axis=None)[:4]
    places = [np.unravel_index(i, shape) for i in near]
    ends = np.array([inputs[x] for x in places])
    many = np.repeat(start[None], len(ends), axis=0)
    new, good = _stepped(grid, many, np.repeat(u0[None], len(ends), axis=0), ends, branch)
    front = []
    for place, q, fine in zip(places, new, good, strict=True):
        if fine:
            qs[place], reached[place] = q, True
            front.append(place)
    while front:
        ways: list[tuple[tuple, tuple]] = []
        claimed: set[tuple] = set()
        for place in front:
            for axis, sign in itertools.product(range(len(shape)), (-1, 1)):
                way = 2 * axis + (sign > 0)
                other = tuple(x + sign * (i == axis) for i, x in enumerate(place))
                inside = all(0 <= x < n for x, n in zip(other, shape, strict=True))
                if not inside or reached[other] or other in claimed or tried[(*place, way)]:
                    continue
                tried[(*place, way)] = True
                claimed.add(other)
                ways.append((place, other))
        if not ways:
            break
        report(f"{int(reached.sum())} of {reached.size} places", float(reached.mean()))
        begin, end = (tuple(np.array(x).T) for x in zip(*ways, strict=True))
        new, good = _stepped(grid, qs[begin], inputs[begin], inputs[end], branch)
        kept = [other for (_, other), fine in zip(ways, good, strict=True) if fine]
        for (_, other), q, fine in zip(ways, new, good, strict=True):
            if fine:
                qs[other], reached[other] = q, True
        # a point that was rejected from one neighbor may be reached from another
        refused = [place for (place, _), fine in zip(ways, good, strict=True) if not fine]
        front = list(dict.fromkeys([*kept, *refused]))
    return {"q": qs, "reached": reached}


def _steps(inputs: np.ndarray) -> np.ndarray:
    """Distance of neighbors along each input."""
    k = inputs.shape[-1]
    flat = inputs.reshape(-1, k)
    return np.maximum(np.ptp(flat, axis=0) / np.array(inputs.shape[:-1]), 1e-12)


def _edges(inside: np.ndarray, outside: np.ndarray):
    """Pairs of neighbors, the first inside and the second outside."""
    pairs = []
    for axis in range(inside.ndim):
        low = [slice(None)] * inside.ndim
        high = list(low)
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        for a, b in ((low, high), (high, low)):
            found = np.argwhere(inside[tuple(a)] & outside[tuple(b)])
            shift = np.zeros(inside.ndim, int)
            shift[axis] = 1
            first = found + (shift if a is high else 0)
            second = found + (shift if b is high else 0)
            pairs.append((first, second))
    begin, end = (np.concatenate([x[i] for x in pairs]) for i in range(2))
    return tuple(begin.T), tuple(end.T)


class Edges(NamedTuple):
    """Boundary points on edges of the grid.

    Attributes:
        u, place: inputs and positions there, shapes (k, inputs) and (k, d).
        q: configurations there, shape (k, nq).
        along: direction of each edge in the inputs, shape (k, inputs).
    """

    u: np.ndarray
    place: np.ndarray
    q: np.ndarray
    along: np.ndarray


def _bisected(grid: Grid, inputs, qs, places, edges, keep: Callable) -> Edges:
    """The last inputs on edges at which `keep` is true, by bisection from its true to its false
    end.
    """
    begin, end = edges
    q, place, a, b = qs[begin], places[begin], inputs[begin], inputs[end]
    low, high = np.zeros(len(a)), np.ones(len(a))
    for i in range(BISECTIONS if len(a) else 0):
        report(f"boundary at {len(a)} places", i / BISECTIONS)
        middle = 0.5 * (low + high)
        found = _at(grid, q, a + middle[:, None] * (b - a))
        good = keep(found)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
        # a point that satisfies `keep` is stored unchanged, because Newton's iteration from it,
        # near a singular configuration, may lead away again
        q, place = (np.where(good[:, None], *x) for x in ((found.q, q), (found.place, place)))
    return Edges(a + low[:, None] * (b - a), place, q, b - a)


def along_edge(grid: Grid, dynamics: Dynamics) -> Callable:
    """Rows including those of the inputs u + s `along`, as a function of (ξ, s). At a `fold` of it
    the mechanism can move with its inputs locked.
    """
    system, c, p, t = dynamics.system, dynamics.constraints, dynamics.p, jnp.asarray(grid.t)

    def rows(xi, s, q, u, along):
        there = system.move(q, xi, t, p)
        held = jnp.stack([f(there, t, (p, u + s * along)) for f in grid.held])
        return jnp.concatenate([c.position_residual(there, t, p), held])

    return rows


def lost_direction(grid: Grid, dynamics: Dynamics) -> Callable:
    """As `along_edge`, with det ∂point/∂u as a function of z = (s, ξ), which vanishes if the point
    loses a direction.
    """
    system, p, t, k = dynamics.system, dynamics.p, jnp.asarray(grid.t), len(grid.held)
    rows = along_edge(grid, dynamics)

    def residual(z, _, q, u, along):
        s, xi = z[0], z[1:]
        own = lambda xi: rows(xi, s, q, u, along)
        A = jax.jacfwd(own)(xi)
        v = unweighted(A).columns(jnp.eye(len(A), k, k - len(A))).T
        point = lambda xi: jnp.atleast_1d(grid.point(system.move(q, xi, t, p), t, p))
        return jnp.append(own(xi), determinant(jax.jacfwd(point)(xi) @ v))

    return residual


def edge_inputs(grid: Grid, edges: Edges, second: bool, there: Dynamics) -> Array:
    """The inputs of `edges` for other dynamics, shape (k, inputs), at which the mechanism can move
    with locked inputs (`second`), or at which the point loses a direction.
    """
    if not len(edges.q):
        return jnp.zeros((0, len(grid.held)))
    equations = lambda d: fold(along_edge(grid, d)) if second else lost_direction(grid, d)
    with outside_of_programs():
        nv, both = grid.dynamics.system.nv, with_slope(equations(grid.dynamics))
        nulls = np.zeros((len(edges.q), 0))
        if second:
            rows = _at(grid, edges.q, edges.u).A
            nulls = np.array([last_direction(A) for A in rows])
        given = [jnp.asarray(x) for x in (nulls, edges.q, edges.u, edges.along)]
        start = [np.append(np.zeros(nv + 1), n) for n in nulls]
        solved = [
            root(both, z, *at, steps=4)
            for z, *at in zip(start, *map(np.asarray, given), strict=True)
        ]
    x, inverse = (jnp.asarray(np.array([getattr(r, a) for r in solved])) for a in ("x", "inverse"))
    left = jax.vmap(equations(there))(x, *given)
    s = x[:, 0] - jnp.einsum("ij,ij->i", inverse[:, 0], left)
    return jnp.asarray(edges.u) + s[:, None] * jnp.asarray(edges.along)
