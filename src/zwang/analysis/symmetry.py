"""Symmetries of a model: motions `q̇ = c + B q` that carry solutions into solutions.

Such fields cover translations, rotations of everything about an axis, and the spin of a body about
an axis of symmetry, in joint angles as well as with quaternions. A steady motion (relative
equilibrium) is a motion along one of them: a disk that rolls, a governor that turns, a bicycle at
constant speed. Among all fields (c, B) those are found, by linear algebra on random samples, that

1. keep the mass matrix (isometries): `∂M·Ξ + Gᵀ M + M G = 0`, G being the rate of v along Ξ;
2. keep the constraint manifold, and the accelerations on it.

Beside a steady motion a state is carried back by the flow of −Ξ, and then along the symmetries
until it is as near to the steady state as they can bring it:

    q′ = g⁻¹ q,    Pᵀ T⁺ (q′ ⊖ q₀, v′ − v₀) = 0,    P: directions of the symmetries

so that where a wheel is, and which way it heads, does not count as a deviation.
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
"""Most random configurations or states that fields are tried at; a sample leaves as many fewer
fields as it has conditions, some ten."""


@dataclasses.dataclass(frozen=True)
class Symmetries:
    """The symmetries of a model near a state.

    Attributes:
        base: the generator with unit rate of time, zero where the model does not depend on time;
            None where time cannot be made up for.
        fields: those that leave time alone, with a leading axis of k.
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
        """Coefficients of the generator that moves a state as the motion does, and what is left of
        (v, w), shape (2 nv,).

        Several generators may give v: the one is taken that gives w best, as a rotation of
        everything is no shift along v. Of those that agree in both, such as the turn of a sleeping
        top about its own axis and about the vertical, it is the one that turns velocities least,
        so that deviations are seen in the axes that v is written in.
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
        """How each field moves (ξ, v), shape (2 nv, k)."""
        each = [direction(dynamics, s, w, member(self.fields, i)) for i in range(self.k)]
        return np.array(each).reshape(self.k, 2 * dynamics.system.nv).T


def member(fields: Generator, i: int) -> Generator:
    """One of several fields."""
    return Generator(fields.c[i], fields.B[i])


def direction(dynamics: Dynamics, s: State, w, field: Generator) -> np.ndarray:
    """How a field moves (ξ, v), shape (2 nv,)."""
    xi, turned, _ = along_field(dynamics, s, jnp.asarray(w), field)
    return np.concatenate([xi, turned])


def symmetries(dynamics: Dynamics, here: ConstrainedState) -> Symmetries:
    """The symmetries that all samples near a state agree on."""
    isometric = _isometries(dynamics, here.state)
    samples = itertools.chain([here], _nearby(dynamics, here))
    kept = _agreed(_changes(dynamics, sample, isometric) for sample in samples)
    # the last coefficient is the rate of time; one combination has it, if any, all others none
    time = kept[-1]
    still = kept @ _null(time[None]) if kept.shape[1] else kept
    flat = isometric @ still[:-1]
    base = None
    # largest rate of change, relative to that of a general field, that counts as none
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
    """Which entries of B are tried, shape (nq, nq): all, or those inside each body where names say
    which coordinates belong to one ("wheel.x").
    """
    nq, names = dynamics.system.nq, dynamics.system.coordinates
    bodies = [name.rpartition(".")[0] for name in names]
    if all(bodies):
        return np.array([[a == b for b in bodies] for a in bodies])
    # most entries of (c, B) that are tried
    allowed = nq * (nq + 1) <= 2500
    return np.full((nq, nq), allowed)


def _unpacked(dynamics: Dynamics, flat: np.ndarray) -> Generator:
    """(c, B) from the entries that are tried."""
    nq, tried = dynamics.system.nq, _candidates(dynamics)
    B = np.zeros((nq, nq))
    B[tried] = flat[nq:]
    return Generator(jnp.asarray(flat[:nq]), jnp.asarray(B))


def _agreed(samples: Iterator[np.ndarray]) -> np.ndarray:
    """Orthonormal columns that rows of all samples take to zero, until further samples agree; none
    if the samples end before. One sample after the other decides how many they are, and all of
    them together give them.
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
        # four samples at least, of which the last two have left all fields that earlier ones left
        if agreeing >= 2 and i >= 3:
            # what one sample nearly keeps, and others do not, has turned the columns of the first
            return Decomposition(np.vstack(every)).right[:, len(kept) - kept.shape[1] :]
    return np.zeros((first.shape[1], 0))


def _isometries(dynamics: Dynamics, s: State) -> np.ndarray:
    """Fields that keep M and the manifold of coordinates, as columns (c, tried entries of B)."""
    random, nv = np.random.default_rng(1736), dynamics.system.nv

    def samples():
        while True:
            away = jnp.asarray(random.standard_normal(nv))
            yield _mass_changes(dynamics, travelled(dynamics, s.q, away, s.t), s.t)

    return _agreed(samples())


def _mass_changes(dynamics: Dynamics, q, t) -> np.ndarray:
    """What each unit entry of (c, B) changes of M, and how it leaves the manifold of coordinates,
    at one configuration.
    """
    nv, nq = dynamics.system.nv, dynamics.system.nq
    i, j = np.nonzero(_candidates(dynamics))
    q = np.asarray(q)
    N, dN, M, dM = (np.asarray(x) for x in frames(dynamics, jnp.asarray(q), t))
    back = Decomposition(N).inverse
    # each column of Ξ: the unit vectors for c, and q_j in place i for the entries of B
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
    """What each isometry, and time, changes of the constraints and of the acceleration, shape
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
    # each kind of row in its own units; derivatives of constant forces are all round-off
    # largest derivative of φ and ψ that is taken for the round-off of rows that vanish, as those
    # that only repeat what the velocity map keeps
    # derivatives of forces below this times the forces are round-off of forces that are constant
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
    """Random states on the constraints near one."""
    random = np.random.default_rng(1744)
    Y, W = here.tangent.Y, here.tangent.W
    for _ in range(MOST_TRIED_STATES):
        along = Y @ random.standard_normal(Y.shape[1])
        along *= here.reach(along, 0.3)
        turn = W @ random.standard_normal(W.shape[1])
        turn *= (1 + np.max(np.abs(here.state.v))) / max(np.max(np.abs(turn), initial=0), 1e-300)
        # latest time [s] after the state's own at which fields are tried: what changes with time
        # may stand still at one instant
        t, wait = here.state.t, 0.7 * random.random()
        for _ in range(8):  # a long way may end where the constraints cannot be met
            q = np.asarray(travelled(dynamics, here.state.q, jnp.asarray(along), t))
            s = on_constraints(dynamics, q, here.state.v + turn, float(t) + wait)
            if s is not None:
                yield solve(dynamics, s)
                break
            along, turn, wait = 0.4 * along, 0.7 * turn, 0.4 * wait


def _solution(matrix: np.ndarray, right: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """The least-squares solution of least norm, and a basis of what it leaves open; what is small
    beside a size counts as zero.
    """
    split = Decomposition(matrix, RESOLVED, beside=size)
    return split.solve(right), split.kernel


def _null(rows: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span the kernel by `DERIVED`, in the units of the rows."""
    return Decomposition(rows, DERIVED, beside=1.0).kernel


class MovingAxes(Record):
    """Axes of one steady motion.

    Attributes:
        dynamics: the model.
        q, v, t: the steady state.
        along: the symmetry that it moves along; fields: all symmetries, a leading axis over them.
        nearest: shape (k, 2 nv): how far along each symmetry a deviation (ξ, δv) lies.
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
        # steps towards the nearest place along the symmetries; deviations are small, and one step
        # is exact for translations
        for _ in range(4 if len(self.fields.c) else 0):
            step = self.nearest @ jnp.concatenate(self._apart(q, v))
            field = Generator.still(len(self.q)).plus(self.fields, step)
            q, v = self._back(field, 1.0, q, v, t)
        return self._apart(q, v)

    def _apart(self, q, v):
        system, p = self.dynamics.system, self.dynamics.p
        return as_velocity(system, self.q, self.t, p, q - self.q), v - self.v

    def _back(self, field: Generator, amount, q, v, t):
        """A state carried back along the flow of a symmetry."""
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
