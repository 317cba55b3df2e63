"""Symmetries of a model: motions `q̇ = c + B q` that carry solutions into solutions.

Such fields cover translations, rotations of everything about an axis, and the spin of a body about
an axis of symmetry, in joint angles as well as with quaternions. A steady motion (relative
equilibrium) is a motion along one of them: a disk that rolls, a governor that turns, a bicycle at
constant speed. Among all fields (c, B) those are found, by linear algebra on random samples, that

1. keep the mass matrix (isometries): `∂M·Ξ + Gᵀ M + M G = 0`, G being the rate of v along Ξ;
2. keep the constraint manifold, and the accelerations on it.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np

from zwang.analysis.constrained_state import ConstrainedState, on_constraints, solve
from zwang.analysis.local_equations import Generator, along_field, frames, moved
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State

SYMMETRY_KEPT = 1e-7
"""Largest rate of change, relative to that of a general field, that counts as none."""
MOST_SYMMETRY_UNKNOWNS = 2500
"""Most entries of (c, B) that are tried."""


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
        along = jnp.asarray(rates)
        c = self.base.c + jnp.tensordot(along, self.fields.c, 1)
        return Generator(c, self.base.B + jnp.tensordot(along, self.fields.B, 1))

    def rates(self, dynamics: Dynamics, s: State, w) -> tuple[np.ndarray, float]:
        """Coefficients of the generator that moves a state as the motion does, and the relative
        error that is left.
        """
        directions = self.directions(dynamics, s, w)
        own = np.concatenate([np.asarray(s.v), np.asarray(w)])
        assert self.base is not None
        left = own - direction(dynamics, s, w, self.base)
        found = np.linalg.lstsq(directions, left, rcond=1e-10)[0]
        size = np.linalg.norm(own)
        return found, float(np.linalg.norm(directions @ found - left) / size if size else 0.0)

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
    samples = (here, *_nearby(dynamics, here))
    kept = _null(np.vstack([_changes(dynamics, sample, isometric) for sample in samples]))
    # the last coefficient is the rate of time; one combination has it, if any, all others none
    time = kept[-1]
    still = kept @ _null(time[None]) if kept.shape[1] else kept
    flat = isometric @ still[:-1]
    base = None
    if np.linalg.norm(time) > SYMMETRY_KEPT:
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
    allowed = nq * (nq + 1) <= MOST_SYMMETRY_UNKNOWNS
    return np.full((nq, nq), allowed)


def _unpacked(dynamics: Dynamics, flat: np.ndarray) -> Generator:
    """(c, B) from the entries that are tried."""
    nq, tried = dynamics.system.nq, _candidates(dynamics)
    B = np.zeros((nq, nq))
    B[tried] = flat[nq:]
    return Generator(jnp.asarray(flat[:nq]), jnp.asarray(B))


def _isometries(dynamics: Dynamics, s: State) -> np.ndarray:
    """Fields that keep M and the manifold of coordinates, as columns (c, tried entries of B)."""
    random, nv, nq = np.random.default_rng(1736), dynamics.system.nv, dynamics.system.nq
    i, j = np.nonzero(_candidates(dynamics))
    upper = np.triu_indices(nv)
    blocks = []
    for _ in range(4):
        q = np.asarray(moved(dynamics, s.q, jnp.asarray(random.standard_normal(nv)), s.t))
        N, dN, M, dM = (np.asarray(x) for x in frames(dynamics, jnp.asarray(q), s.t))
        back = np.linalg.pinv(N)
        # each column of Ξ: the unit vectors for c, and q_j in place i for the entries of B
        unit = np.eye(nq)
        Xi = np.hstack([unit, unit[:, i] * q[j]])
        G = -np.einsum("ai,ibk,kx->abx", back, dN, Xi, optimize=True)
        G[:, :, nq:] += back[:, None, i] * N[j].T[None]
        change = np.einsum("abk,kx->abx", dM, Xi) + np.einsum("cax,cb->abx", G, M)
        change += np.einsum("ac,cbx->abx", M, G)
        scale = np.sqrt(np.diag(M)) if np.all(np.diag(M) > 0) else np.ones(nv)
        blocks += [(change / np.outer(scale, scale)[:, :, None])[upper], Xi - N @ (back @ Xi)]
    return _null(np.vstack(blocks))


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
    free = at.all_rows.basis
    steps = np.array([step for step, _ in columns]).T
    extra = np.array([extra for _, extra in columns]).T
    # each kind of row in its own units; rows of a kind that are all round-off stay that small
    kinds = (
        (d.phi @ steps, d.phi),
        (d.psi @ steps, d.psi),
        (free.T @ (d.dynamic @ steps + extra), free.T @ d.dynamic),
    )
    return np.vstack([rows / max(np.max(np.abs(size), initial=0.0), 1.0) for rows, size in kinds])


def _nearby(dynamics: Dynamics, here: ConstrainedState) -> list[ConstrainedState]:
    """Two random states on the constraints near one."""
    random, found = np.random.default_rng(1744), []
    Y, W = here.tangent.Y, here.tangent.W
    size = 0.3 * (1 + np.max(np.abs(here.state.q), initial=0.0))
    for _ in range(2):
        along = Y @ random.standard_normal(Y.shape[1])
        along *= size / max(np.max(np.abs(here.local.N @ along), initial=0.0), 1e-300)
        turn = W @ random.standard_normal(W.shape[1])
        turn *= (1 + np.max(np.abs(here.state.v))) / max(np.max(np.abs(turn), initial=0), 1e-300)
        for _ in range(8):  # a long way may end where the constraints cannot be met
            q = np.asarray(moved(dynamics, here.state.q, jnp.asarray(along), here.state.t))
            s = on_constraints(dynamics, q, here.state.v + turn, here.state.t)
            if s is not None:
                found.append(solve(dynamics, s))
                break
            along, turn = 0.4 * along, 0.7 * turn
    return found


def _null(rows: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span the kernel by `SYMMETRY_KEPT`."""
    _, sigma, Vt = np.linalg.svd(rows, full_matrices=True)
    rank = int(np.sum(sigma > SYMMETRY_KEPT * np.max(sigma, initial=0.0)))
    return Vt[rank:].T
