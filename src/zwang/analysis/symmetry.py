"""Symmetries of a model: flows of `q̇ = c + B q` that map solutions to solutions.

Such fields include translations, rotations of the whole model about an axis, and the spin of a body
about an axis of symmetry, in joint angles as well as in quaternions. A steady motion (relative
equilibrium) is a motion along one of them: a rolling disk, a rotating governor, a bicycle at
constant speed. Linear algebra on random samples finds all fields (c, B) that

1. keep the mass matrix (isometries): `∂M·Ξ + Gᵀ M + M G = 0`, where G is the rate of v along Ξ;
2. keep the constraint manifold, and the accelerations on it.

The deviation of a state from a steady motion is measured after the state is moved back by the flow
of −Ξ, and then along the symmetries as near as possible to the steady state:

    q′ = g⁻¹ q,    Pᵀ T⁺ (q′ ⊖ q₀, v′ − v₀) = 0,    P: directions of the symmetries

so that the position and the heading of a wheel, for example, do not count as deviations.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.spectrum import exponential
from zwang.analysis.constrained_state import ConstrainedState, on_constraints, solve
from zwang.analysis.local_equations import Generator, along_field, frames, travelled, turning
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.functions import as_velocity, velocity_map
from zwang.equations.state import State
from zwang.objects.record import Record
from zwang.thresholds import AGREEMENT, DERIVED, RESOLVED, SOLUTION_ERROR

if TYPE_CHECKING:
    from zwang.analysis.linearize import Linearization

MOST_TRIED_STATES = 60
"""Largest number of random configurations or states at which fields are tested. Each sample reduces
the number of fields by its number of conditions, about ten.
"""


@dataclasses.dataclass(frozen=True)
class Symmetries:
    """The symmetries of a model near a state.

    Attributes:
        base: the generator with unit rate of time, zero if the model does not depend on time; None
            if no field compensates for the dependence on time.
        fields: the generators without a rate of time, with a leading axis of k.
    """

    base: Generator | None
    fields: Generator

    @property
    def k(self) -> int:
        return len(self.fields.c)

    def combined(self, rates: np.ndarray) -> Generator:
        """`base + Σ rates · fields`."""
        assert self.base is not None
        return self.base.plus(self.fields, rates)

    def rates(self, dynamics: Dynamics, s: State, w) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of the generator that moves a state like the motion, and the remainder of
        (v, w), shape (2 nv,).

        If several generators give v, the one that fits w best is chosen; this distinguishes a
        rotation of the whole model from a translation along v. If several agree in both, such as
        the rotation of a sleeping top about its own axis and about the vertical, the one that
        rotates velocities least is chosen, so that deviations refer to the axes in which v is
        expressed.
        """
        assert self.base is not None
        directions, nv = self.directions(dynamics, s, w), dynamics.system.nv
        own = np.concatenate([np.asarray(s.v), np.asarray(w)])
        left = own - direction(dynamics, s, w, self.base)
        size, found, same = float(np.linalg.norm(directions)), np.zeros(self.k), np.eye(self.k)
        for part in (slice(nv), slice(nv, None)):
            rest = (left - directions @ found)[part]
            step, free = _solution(directions[part] @ same, rest, size)
            found, same = found + same @ step, same @ free
        if same.shape[1]:
            turns = [turning(dynamics, s, member(self.fields, i)) for i in range(self.k)]
            own_turn = np.asarray(turning(dynamics, s, self.combined(found))).ravel()
            turned = np.array(turns).reshape(self.k, -1).T @ same
            found = found - same @ _solution(turned, own_turn, float(np.linalg.norm(turns)))[0]
        return found, left - directions @ found

    def directions(self, dynamics: Dynamics, s: State, w) -> np.ndarray:
        """Direction of (ξ, v) under each field, shape (2 nv, k)."""
        each = [direction(dynamics, s, w, member(self.fields, i)) for i in range(self.k)]
        return np.array(each).reshape(self.k, 2 * dynamics.system.nv).T


def member(fields: Generator, i: int) -> Generator:
    """One of several fields."""
    return Generator(fields.c[i], fields.B[i])


def direction(dynamics: Dynamics, s: State, w, field: Generator) -> np.ndarray:
    """Direction of (ξ, v) under a field, shape (2 nv,)."""
    xi, turned, _ = along_field(dynamics, s, jnp.asarray(w), field)
    return np.concatenate([xi, turned])


def symmetries(dynamics: Dynamics, here: ConstrainedState) -> Symmetries:
    """The symmetries common to all samples near a state."""
    isometric = _isometries(dynamics, here.state)
    samples = itertools.chain([here], _nearby(dynamics, here))
    kept = _agreed(_changes(dynamics, sample, isometric) for sample in samples)
    # the last coefficient is the rate of time; at most one combination has such a rate
    time = kept[-1]
    still = kept @ _null(time[None]) if kept.shape[1] else kept
    flat = isometric @ still[:-1]
    base = None
    # DERIVED: largest rate of time that counts as zero
    if np.linalg.norm(time) > DERIVED:
        base = _unpacked(dynamics, isometric @ (kept @ time / (time @ time))[:-1])
    made = [_unpacked(dynamics, flat[:, i]) for i in range(flat.shape[1])]
    nq = dynamics.system.nq
    fields = Generator(
        jnp.asarray(np.array([x.c for x in made]).reshape(-1, nq)),
        jnp.asarray(np.array([x.B for x in made]).reshape(-1, nq, nq)),
    )
    return Symmetries(base, fields)


def _candidates(dynamics: Dynamics) -> np.ndarray:
    """Mask of the entries of B that are tested, shape (nq, nq): all, or those within each body if
    the names of coordinates contain the body ("wheel.x").
    """
    nq, names = dynamics.system.nq, dynamics.system.coordinates
    bodies = [name.rpartition(".")[0] for name in names]
    if all(bodies):
        return np.array([[a == b for b in bodies] for a in bodies])
    # at most 2500 entries of (c, B) are tested
    allowed = nq * (nq + 1) <= 2500
    return np.full((nq, nq), allowed)


def _unpacked(dynamics: Dynamics, flat: np.ndarray) -> Generator:
    """(c, B) from the tested entries."""
    nq, tried = dynamics.system.nq, _candidates(dynamics)
    B = np.zeros((nq, nq))
    B[tried] = flat[nq:]
    return Generator(jnp.asarray(flat[:nq]), jnp.asarray(B))


def _agreed(samples: Iterator[np.ndarray]) -> np.ndarray:
    """An orthonormal basis of the null space of the rows of all samples, in columns; empty if the
    samples end before they agree. The samples one by one determine its dimension, and all samples
    together the basis.
    """
    first = next(samples)
    kept, agreeing, every = _null(first), 0, [first]
    for i, rows in enumerate(itertools.islice(samples, MOST_TRIED_STATES), 1):
        if not kept.shape[1]:
            return kept
        left = _null(rows @ kept)
        agreeing = agreeing + 1 if left.shape[1] == kept.shape[1] else 0
        kept = kept @ left
        every.append(rows)
        # at least four samples, of which the last two have not reduced the fields further
        if agreeing >= 2 and i >= 3:
            # recompute the basis from all samples, because fields that a single sample nearly keeps
            # perturb it
            return Decomposition(np.vstack(every)).right[:, len(kept) - kept.shape[1] :]
    return np.zeros((first.shape[1], 0))


def _isometries(dynamics: Dynamics, s: State) -> np.ndarray:
    """Fields that keep M and the manifold of coordinates, as columns (c, tested entries of B)."""
    random, nv = np.random.default_rng(1736), dynamics.system.nv

    def samples():
        while True:
            away = jnp.asarray(random.standard_normal(nv))
            yield _mass_changes(dynamics, travelled(dynamics, s.q, away, s.t), s.t)

    return _agreed(samples())


def _mass_changes(dynamics: Dynamics, q, t) -> np.ndarray:
    """The change of M by each unit entry of (c, B), and the part outside the manifold of
    coordinates, at one configuration.
    """
    nv, nq = dynamics.system.nv, dynamics.system.nq
    i, j = np.nonzero(_candidates(dynamics))
    q = np.asarray(q)
    N, dN, M, dM = (np.asarray(x) for x in frames(dynamics, jnp.asarray(q), t))
    back = Decomposition(N).inverse
    # columns of Ξ: the unit vectors for c, and q_j in entry i for the entries of B
    unit = np.eye(nq)
    Xi = np.hstack([unit, unit[:, i] * q[j]])
    G = -np.einsum("ai,ibk,kx->abx", back, dN, Xi, optimize=True)
    G[:, :, nq:] += back[:, None, i] * N[j].T[None]
    change = np.einsum("abk,kx->abx", dM, Xi) + np.einsum("cax,cb->abx", G, M)
    change += np.einsum("ac,cbx->abx", M, G)
    scale = np.sqrt(np.diag(M)) if np.all(np.diag(M) > 0) else np.ones(nv)
    kept = (change / np.outer(scale, scale)[:, :, None])[np.triu_indices(nv)]
    return np.vstack([kept, Xi - N @ (back @ Xi)])


def _changes(dynamics: Dynamics, at: ConstrainedState, isometric: np.ndarray) -> np.ndarray:
    """The change of the constraints and of the acceleration by each isometry, and by time, shape
    (…, fields + 1).
    """
    nv, d = dynamics.system.nv, at.variation
    columns = []
    for x in isometric.T:
        field = _unpacked(dynamics, x)
        xi, turned, change = along_field(dynamics, at.state, jnp.asarray(at.w), field)
        step = np.concatenate([xi, turned, [0.0]])
        columns.append((step, at.local.M @ np.asarray(change)))
    columns.append((np.eye(2 * nv + 1)[-1], np.zeros(nv)))
    free = at.unpushed
    steps = np.array([step for step, _ in columns]).T
    extra = np.array([extra for _, extra in columns]).T
    largest = lambda x: np.max(np.abs(x), initial=0.0)
    # each kind of row is scaled by its own size. Derivatives of φ and ψ below SOLUTION_ERROR are
    # the round-off of vanishing rows, such as rows that repeat an invariant of the velocity map.
    # Derivatives of forces below AGREEMENT times the forces are the round-off of constant forces.
    kinds = (
        (d.phi @ steps, max(largest(d.phi), SOLUTION_ERROR)),
        (d.psi @ steps, max(largest(d.psi), SOLUTION_ERROR)),
        (
            free.T @ (d.dynamic @ steps + extra),
            max(largest(free.T @ d.dynamic), AGREEMENT * largest(free.T @ at.local.F)),
        ),
    )
    return np.vstack([rows / max(size, 1e-300) for rows, size in kinds])


def _nearby(dynamics: Dynamics, here: ConstrainedState) -> Iterator[ConstrainedState]:
    """Random states on the constraints near a given one."""
    random = np.random.default_rng(1744)
    Y, W = here.tangent.Y, here.tangent.W
    for _ in range(MOST_TRIED_STATES):
        along = Y @ random.standard_normal(Y.shape[1])
        along *= here.reach(along, 0.3)
        turn = W @ random.standard_normal(W.shape[1])
        turn *= (1 + np.max(np.abs(here.state.v))) / max(np.max(np.abs(turn), initial=0), 1e-300)
        # fields are tested up to 0.7 s later, because a quantity that depends on time may be
        # stationary at one instant
        t, wait = here.state.t, 0.7 * random.random()
        for _ in range(8):  # after a long displacement the constraints may not be satisfiable
            q = np.asarray(travelled(dynamics, here.state.q, jnp.asarray(along), t))
            s = on_constraints(dynamics, q, here.state.v + turn, float(t) + wait)
            if s is not None:
                yield solve(dynamics, s)
                break
            along, turn, wait = 0.4 * along, 0.7 * turn, 0.4 * wait


def _solution(matrix: np.ndarray, right: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """The least-squares solution of least norm, and a basis of the null space. Values that are
    small relative to `size` count as zero.
    """
    split = Decomposition(matrix, RESOLVED, beside=size)
    return split.solve(right), split.kernel


def _null(rows: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the kernel by the threshold `DERIVED`, in the units of the rows."""
    return Decomposition(rows, DERIVED, beside=1.0).kernel


class MovingAxes(Record):
    """Moving axes of a steady motion.

    Attributes:
        dynamics: the model.
        q, v, t: the steady state.
        along: the symmetry of its motion.
        fields: all symmetries, with a leading axis.
        nearest: maps a deviation (ξ, δv) to its components along the symmetries, shape (k, 2 nv).
    """

    dynamics: Dynamics
    q: jax.Array
    v: jax.Array
    t: jax.Array
    along: Generator
    fields: Generator
    nearest: jax.Array

    def deviation(self, q, v, t) -> tuple[jax.Array, jax.Array]:
        """(ξ, δv) of a state in these axes, shapes (nv,) twice."""
        q, v = self._back(self.along, t - self.t, q, v, t)
        # four steps toward the nearest point along the symmetries; deviations are small, and one
        # step is exact for translations
        for _ in range(4 if len(self.fields.c) else 0):
            step = self.nearest @ jnp.concatenate(self._apart(q, v))
            field = Generator.still(len(self.q)).plus(self.fields, step)
            q, v = self._back(field, 1.0, q, v, t)
        return self._apart(q, v)

    def _apart(self, q, v):
        system, p = self.dynamics.system, self.dynamics.p
        return as_velocity(system, self.q, self.t, p, q - self.q), v - self.v

    def _back(self, field: Generator, amount, q, v, t):
        """A state moved back along the flow of a symmetry."""
        n, system, p = len(self.q), self.dynamics.system, self.dynamics.p
        matrix = jnp.zeros((n + 1, n + 1)).at[:n, :n].set(field.B).at[:n, n].set(field.c)
        flow = exponential(-amount * matrix)
        there = flow[:n, :n] @ q + flow[:n, n]
        rate = flow[:n, :n] @ (velocity_map(system, q, t, p) @ v)
        return there, as_velocity(system, there, t, p, rate)


def axes_of(at: Linearization) -> MovingAxes:
    """The axes of a linearization about a steady motion."""
    here, found = at.here, at.found
    assert found is not None and at.along is not None
    P = at.neutral
    nearest = Decomposition(P.T @ at.symmetric_directions).solve(P.T @ at.project)
    q, v, t = (jnp.asarray(x, float) for x in (here.state.q, here.state.v, here.state.t))
    return MovingAxes(
        here.dynamics,
        q,
        v,
        t,
        at.along,
        found.fields,
        jnp.asarray(nearest),
    )
