"""A state on its constraints with its acceleration, multipliers, derivatives and tangent space.

At a state (q, v) that meets φ = 0 and ψ = 0, a neighbor is (q ⊕ ξ, v + δv) with

    Φ ξ = 0,    ψ_q ξ + A δv = 0:    ξ = Y y,    δv = W w − A⊕ ψ_q Y y,

where Y is a basis of the kernel of the position rows Φ and W a basis of the kernel of all velocity
rows A, with Yᵀ M Y = I and Wᵀ M W = I. The columns of W are the first columns of Y, so that the
first entries of y are the positions that correspond to w; without nonholonomic rows Y = W.
"""

from __future__ import annotations

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
import scipy.linalg

from zwang.algebra.decomposition import nearest_rotation, pivots, solve_square
from zwang.algebra.mass_matrix import dense_mass
from zwang.algebra.metric import Metric, Rows, dense_metric, is_singular
from zwang.algebra.pseudoinverse import Proximal
from zwang.algebra.reaction import MOST_STEPS
from zwang.analysis.local_equations import (
    Generator,
    Local,
    Variation,
    depends_on_constraint_force,
    local,
    variation,
)
from zwang.dynamics.equation_of_motion import Dynamics, Scales
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.model import Model
from zwang.dynamics.placement import place
from zwang.equations.state import State, host_state
from zwang.errors import ModelError
from zwang.objects.record import replace
from zwang.thresholds import ROUND_OFF


def metric_at(M: np.ndarray, A: np.ndarray) -> Metric:
    """The metric of M, or of M + AᵀDA if M is singular, which is the same on the kernel of A."""
    return dense_metric(M, A if is_singular(M) else None)


def kernel(rows: Rows) -> np.ndarray:
    """A basis of the kernel of A, orthonormal in the metric, shape (nv, nv − rank). It depends only
    on the space.
    """
    return rows.metric.W @ aligned(rows.split.kernel)


def aligned(V: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the same space, rotated so that its columns are as near as possible
    to the entries that describe the space best. The result depends only on the space.
    """
    chosen = V[pivots(V.T)]
    if not V.shape[1]:
        return V
    return V @ nearest_rotation(chosen).T


@dataclasses.dataclass(frozen=True)
class TangentSpace:
    """Bases at one state.

    Attributes:
        metric: M, shape (nv, nv), or M + AᵀDA if M is singular.
        Y, W: see the module, shapes (nv, ny) and (nv, nw).
        lean: −A⊕ ψ_q Y, shape (nv, ny), the change of v that y causes.
    """

    metric: np.ndarray
    Y: np.ndarray
    W: np.ndarray
    lean: np.ndarray

    @property
    def n(self) -> int:
        """Number of states."""
        return self.Y.shape[1] + self.W.shape[1]

    @property
    def basis(self) -> np.ndarray:
        """T: (ξ, δv) = T (y, w), shape (2 nv, n)."""
        nv = len(self.metric)
        return np.block([[self.Y, np.zeros((nv, self.W.shape[1]))], [self.lean, self.W]])

    @property
    def project(self) -> np.ndarray:
        """T⁺: the (y, w) of a tangent vector, shape (n, 2 nv)."""
        return np.asarray(scipy.linalg.block_diag(self.Y.T @ self.metric, self.W.T @ self.metric))


def tangent_space(metric: Metric, phi_q, psi_q, psi_v) -> TangentSpace:
    """The bases, computed from the derivatives of φ with respect to ξ and of ψ with respect to ξ
    and v.
    """
    velocities, positions, M = metric.rows(psi_v), metric.rows(phi_q), metric.M
    W = kernel(velocities)
    # free directions of the position rows outside W: the kernel of these rows and of Wᵀ M
    rest = kernel(metric.rows(np.vstack([phi_q, W.T @ M])))
    if W.shape[1] + rest.shape[1] != len(M) - positions.rank:
        rest = rest[:, : len(M) - positions.rank - W.shape[1]]
    Y = np.hstack([W, rest])
    return TangentSpace(M, Y, W, -velocities.correct(psi_q @ Y))


def turned_like(tangent: TangentSpace, before: TangentSpace) -> TangentSpace:
    """A tangent space with bases rotated to be nearest to those of another state."""
    turn = lambda V, old: nearest_rotation(V.T @ (tangent.metric @ old))
    nw = tangent.W.shape[1]
    by = turn(tangent.W, before.W)
    rest = tangent.Y[:, nw:]
    along = scipy.linalg.block_diag(by, turn(rest, before.Y[:, nw:]))
    return TangentSpace(tangent.metric, tangent.Y @ along, tangent.W @ by, tangent.lean @ along)


def dynamics_of(model: Model, params, on: np.ndarray | None = None) -> Dynamics:
    """The dynamics of a model with dense A, from which all tangent spaces here are computed.

    Args:
        model, params: the model, and parameters that differ from its own.
        on: mask of the active rows for a model with inequalities or dry friction, shape (m,).
    """
    if model.system.offset is not None:
        raise ModelError(
            f"{model.name} has q̇ ≠ 0 at v = 0 (offset=, as zw.HigherOrder makes it), which "
            "equilibria and linearizations do not cover; expected a model of second order."
        )
    dynamics = model.dynamics(params, Proximal(), lets_go=on is not None)
    return dynamics if on is None else dynamics.with_rows(on)


def refuse_friction(model: Model, dynamics: Dynamics, s: State) -> None:
    """Raise if a nonideal force, such as Coulomb friction, depends on the constraint force."""
    members = dynamics.constraints.members
    if not any(c.nonideal is not None for c in members):
        return
    # at rest friction is zero for every constraint force, so a state in motion is tested
    along = 1 + np.random.default_rng(1785).random(dynamics.system.nv)
    if float(depends_on_constraint_force(dynamics, State(s.q, s.v + jnp.asarray(along), s.t))):
        raise ModelError(
            f"{model.name}: a nonideal force depends on the constraint force (Coulomb friction), "
            "which has no linearization at rest; leave friction out, or make it viscous."
        )


@dataclasses.dataclass(frozen=True, eq=False)
class ConstrainedState:
    """A state with its acceleration, multipliers and derivatives.

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
        """M, or M + AᵀDA if M is singular."""
        return self.mass.M

    @functools.cached_property
    def all_rows(self) -> Rows:
        """All rows of A, including those at acceleration level."""
        return self.mass.rows(self.local.A)

    @functools.cached_property
    def free(self) -> np.ndarray:
        """A basis W of the accelerations in the kernel of all rows."""
        return kernel(self.all_rows)

    @functools.cached_property
    def pushing(self) -> Rows:
        """`A + ∂c/∂λᵀ`: the directions of the forces of multipliers, including sliding friction."""
        return self.mass.rows(self.local.A + self.local.pull.T)

    @functools.cached_property
    def unpushed(self) -> np.ndarray:
        """A basis Z of the directions in which multipliers exert no force, see `unpushed`."""
        return unpushed(self.pushing, self.local.pull, self.free)

    def turned(self, rate, dynamic) -> np.ndarray:
        """δv̇ of neighbors with these values of `A w − b` and `M w − F − Aᵀλ`, at constant w and
        λ.
        """
        held = -self.all_rows.correct(rate)
        if np.any(self.local.pull):
            dynamic = dynamic + self.local.M @ held
        return held - self.free @ (self.unpushed.T @ dynamic)

    @functools.cached_property
    def variation(self) -> Variation:
        """Derivatives without a generator."""
        return self.varied()

    def varied(self, field: Generator | None = None, directions=None) -> Variation:
        """Derivatives, see `local_equations.variation`, as NumPy arrays."""
        found = variation(
            self.dynamics,
            self.state,
            jnp.asarray(self.w),
            jnp.asarray(self.multipliers),
            Generator.still(self.dynamics.system.nq) if field is None else field,
            directions,
        )
        return Variation(*(np.asarray(x) for x in found))

    def reach(self, along: np.ndarray, distance: float) -> float:
        """Factor by which a direction moves coordinates by a given fraction of their size."""
        size = distance * (1 + np.max(np.abs(self.state.q), initial=0.0))
        return size / max(np.max(np.abs(self.local.N @ along), initial=0.0), 1e-300)

    @functools.cached_property
    def tangent(self) -> TangentSpace:
        return self.tangent_by(self.variation)

    def tangent_by(self, d: Variation) -> TangentSpace:
        nv = self.dynamics.system.nv
        return tangent_space(self.mass, d.phi[:, :nv], d.psi[:, :nv], d.psi[:, nv : 2 * nv])


def unpushed(pushing: Rows, pull: np.ndarray, free: np.ndarray) -> np.ndarray:
    """A basis Z of the directions in which multipliers exert no force, `Zᵀ (Aᵀ + ∂c/∂λ) = 0` and
    `Zᵀ M W = I`, where W is a basis of the kernel of the rows. Z = W without sliding friction.

    Raises:
        ModelError: if friction admits no constraint force, or several.
    """
    if not np.any(pull):
        return free
    Z = kernel(pushing)
    if Z.shape != free.shape:
        raise ModelError(
            "with sliding friction here the constraint force does not exist or is not unique."
        )
    return solve_square(free.T @ pushing.metric.M @ Z, Z.T).T if Z.size else Z


def solve(dynamics: Dynamics, s: State) -> ConstrainedState:
    """v̇ = a + A⊕ (b − A a) and multipliers at a state, from singular values; with sliding
    friction, from Newton's iteration for the multipliers that load it.
    """
    multipliers = np.zeros(dynamics.constraints.m)
    for _ in range(MOST_STEPS):
        here = Local(*(np.asarray(x) for x in local(dynamics, s, jnp.asarray(multipliers))))
        found = ConstrainedState(dynamics, s, here, np.zeros(len(here.M)), multipliers)
        # the first part is orthogonal to the kernel of A, on which M and M + AᵀDA are the same
        w = found.turned(-here.b, -here.F - here.A.T @ multipliers)
        further = found.pushing.multipliers(here.M @ w - here.F - here.A.T @ multipliers)
        found = dataclasses.replace(found, w=w, multipliers=multipliers + further)
        size = np.max(np.abs(found.multipliers), initial=0.0)
        if dynamics.constraints.sliding is None or np.max(np.abs(further)) <= ROUND_OFF * size:
            return found
        multipliers = found.multipliers
    raise ModelError(
        "with sliding friction here the constraint force does not exist or is not unique."
    )


def on_constraints(dynamics: Dynamics, q, v, t) -> State | None:
    """The guess projected onto the constraints in the mass metric; None if this fails.

    Raises:
        numpy.linalg.LinAlgError: if the mass matrix is singular in a direction that constraints
            leave free.
    """
    guess = host_state(np.asarray(q, float), np.asarray(v, float), t)
    at = evaluate(dynamics.standing, guess)
    M, A = dense_mass(np.asarray(at.M)), np.asarray(at.A)
    if not all(np.all(np.isfinite(x)) for x in (at.phi, at.psi, A, M)):
        return None
    dynamics = replace(dynamics.standing, singular_mass=dynamics.singular_mass or is_singular(M))
    metric = dense_metric(M, A if dynamics.singular_mass else None)
    # distances are relative to the size of the coordinates, at least one
    extent = metric.typical * (1 + np.max(np.abs(guess.q), initial=0.0))
    small = metric.lengths(A), np.float64(0.0), np.float64(1 / extent)
    if not metric.is_positive:
        raise np.linalg.LinAlgError("the mass matrix is not positive definite")
    found = place(dynamics, guess, Scales(*map(jnp.asarray, small)))
    return found.state if found.converged else None


def placed(model: Model, dynamics: Dynamics, q, v, t, what: str) -> State:
    """`on_constraints` that raises an error if the projection fails."""
    given = model.state(q, np.zeros(model.system.nv) if v is None else v, t)
    try:
        s = on_constraints(dynamics, given.q, given.v, float(given.t))
    except np.linalg.LinAlgError:
        raise ModelError(
            f"{what}: the mass matrix of {model.name} is singular in a direction that constraints "
            "leave free, or has entries that are NaN or infinite; zw.check names it."
        ) from None
    if s is None:
        raise ModelError(
            f"{what}: no state on the constraints of {model.name} was found from the given q and "
            "v; start closer, or see zw.check(model, q, v)."
        )
    return s
