"""A state on its constraints with its acceleration, multipliers, derivatives and tangent space."""

from __future__ import annotations

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np

from zwang.algebra.metric import Metric, Rows
from zwang.algebra.pseudoinverse import Proximal
from zwang.analysis.local_equations import (
    Generator,
    Local,
    Variation,
    depends_on_constraint_force,
    local,
    moved,
    variation,
)
from zwang.analysis.tangent_space import TangentSpace, kernel, metric_at, tangent_space
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.equations.state import State, host_state
from zwang.errors import ModelError
from zwang.thresholds import AGREEMENT, DERIVED

PLACING_ITERATIONS = 40
"""Most Newton steps towards the constraints; a start nearby takes three or four."""


def dynamics_of(model: Model, params) -> Dynamics:
    """The dynamics of a model with dense A, which all tangent spaces here are found from."""
    if model.system.offset is not None:
        raise ModelError(
            f"{model.name} has rates that no velocity moves (offset=, as zw.HigherOrder makes "
            "them), which equilibria and linearizations do not cover; expected a model of second "
            "order."
        )
    return model.dynamics(params, Proximal())


def refuse_friction(model: Model, dynamics: Dynamics, s: State) -> None:
    """Raise if a nonideal force depends on the constraint force, as of Coulomb friction."""
    members = dynamics.constraints.members
    if not any(c.nonideal is not None for c in members):
        return
    # at rest friction is zero whatever the constraint force, in motion it is not
    along = 1 + np.random.default_rng(1785).random(dynamics.system.nv)
    if float(depends_on_constraint_force(dynamics, State(s.q, s.v + jnp.asarray(along), s.t))):
        raise ModelError(
            f"{model.name}: a nonideal force depends on the constraint force (Coulomb friction), "
            "which has no linearization at rest; leave friction out, or make it viscous."
        )


@dataclasses.dataclass(frozen=True, eq=False)
class ConstrainedState:
    """One state and what follows from it.

    Attributes:
        dynamics, state: the equations and the state.
        local: M, F, A … there, as NumPy arrays.
        w: v̇, shape (nv,); multipliers: λ, shape (m,).
    """

    dynamics: Dynamics
    state: State
    local: Local
    w: np.ndarray
    multipliers: np.ndarray

    @functools.cached_property
    def mass(self) -> Metric:
        """The metric of the mass."""
        return metric_at(self.local.M, self.local.A)

    @property
    def metric(self) -> np.ndarray:
        """M, or M + AᵀDA where it is singular."""
        return self.mass.M

    @functools.cached_property
    def all_rows(self) -> Rows:
        """All rows of A, those at acceleration level included."""
        return self.mass.rows(self.local.A)

    @functools.cached_property
    def free(self) -> np.ndarray:
        """A basis of the accelerations that all rows leave free."""
        return kernel(self.all_rows)

    @functools.cached_property
    def variation(self) -> Variation:
        """Derivatives relative to no generator."""
        return self.varied()

    def varied(self, field: Generator | None = None, directions=None) -> Variation:
        """Derivatives, see `local_equations.variation`, as NumPy arrays."""
        nq = self.dynamics.system.nq
        field = Generator(jnp.zeros(nq), jnp.zeros((nq, nq))) if field is None else field
        found = variation(
            self.dynamics,
            self.state,
            jnp.asarray(self.w),
            jnp.asarray(self.multipliers),
            Generator(jnp.asarray(field.c), jnp.asarray(field.B)),
            directions,
        )
        return Variation(*(np.asarray(x) for x in found))

    @functools.cached_property
    def tangent(self) -> TangentSpace:
        return self.tangent_by(self.variation)

    def tangent_by(self, d: Variation) -> TangentSpace:
        nv = self.dynamics.system.nv
        return tangent_space(self.mass, d.phi[:, :nv], d.psi[:, :nv], d.psi[:, nv : 2 * nv])


def solve(dynamics: Dynamics, s: State) -> ConstrainedState:
    """v̇ = a + A⊕ (b − A a) and multipliers at a state, by singular values."""
    here = Local(*(np.asarray(x) for x in local(dynamics, s)))
    rows = metric_at(here.M, here.A).rows(here.A)
    free = rows.kernel
    # the first part is orthogonal to the kernel of A, on which M and M + AᵀDA are the same
    w = rows.correct(here.b) + free @ (free.T @ here.F)
    return ConstrainedState(dynamics, s, here, w, rows.multipliers(here.M @ w - here.F))


def on_constraints(dynamics: Dynamics, q, v, t) -> State | None:
    """The state on the constraints near a guess, least moved in the mass metric; None if none is
    found.
    """
    q, v, t = np.asarray(q, float), np.asarray(v, float), np.float64(t)
    rows, best, lengths = dynamics.constraints, np.inf, np.zeros(dynamics.constraints.m)
    positions, speeds = rows.position_rows, rows.velocity_rows
    for _ in range(PLACING_ITERATIONS):
        here = Local(*(np.asarray(x) for x in local(dynamics, host_state(q, v, t))))
        if not all(np.all(np.isfinite(x)) for x in here):
            return None
        metric = metric_at(here.M, here.A)
        M = metric.M
        lengths = np.maximum(lengths, np.linalg.norm(here.A, axis=1))
        step = -metric.rows(here.A[positions]).correct(here.phi)
        turn = -metric.rows(here.A[speeds]).correct(here.psi)
        size = _size(step, q, M) + _size(turn, v, M)
        # largest distance from the constraints, in the mass metric relative to the coordinates' own
        # size, that is taken for a state on them
        if size < 1e-13 or (size < AGREEMENT and size > 0.5 * best):
            # rows that vanish or contradict each other ask for no step and are not met
            away = np.abs(here.phi) / (1 + np.max(np.abs(q), initial=0.0))
            slip = np.abs(here.psi) / (1 + np.max(np.abs(v), initial=0.0))
            # largest residual of a row, relative to its length and to the size of the state, that
            # is taken for none
            met = np.all(away <= DERIVED * lengths[positions])
            if not (met and np.all(slip <= DERIVED * lengths[speeds])):
                return None
            return host_state(moved(dynamics, q, step, t), v + turn, t)
        best = min(best, size)
        q, v = np.asarray(moved(dynamics, q, step, t)), v + turn
    return None


def _size(step: np.ndarray, x: np.ndarray, M: np.ndarray) -> float:
    """A step in the mass metric, relative to x of size one and above."""
    return float(np.sqrt(max(step @ M @ step, 0.0) / np.max(np.diag(M))) / (1 + np.abs(x).max()))


def placed(model: Model, dynamics: Dynamics, q, v, t, what: str) -> State:
    """`on_constraints`, with a sentence where none is found."""
    given = model.state(q, np.zeros(model.system.nv) if v is None else v, t)
    try:
        s = on_constraints(dynamics, given.q, given.v, float(given.t))
    except np.linalg.LinAlgError:
        raise ModelError(
            f"{what}: the mass matrix of {model.name} is singular along a direction that no "
            "constraint holds, or has entries that are no numbers; zw.check names it."
        ) from None
    if s is None:
        raise ModelError(
            f"{what}: no state on the constraints of {model.name} was found from the given q and "
            "v; start closer, or see zw.check(model, q, v)."
        )
    return s
