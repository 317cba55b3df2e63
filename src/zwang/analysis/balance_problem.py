"""The equations of an equilibrium or of a steady motion on the constraint manifold, for Newton
steps.

The unknowns are y (q moves along Y y), the rates γ of symmetries in a steady motion, and values μ
of parameters. The residuals are

    Wᵀ (M w − F),    ψ (of nonholonomic rows, in a steady motion),    held entries − their values,

where v and w = v̇ follow from the generator `base + Σ γ fields`; both are zero at an equilibrium.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from zwang.algebra.metric import Metric
from zwang.analysis.constrained_state import kernel, metric_at, on_constraints, unpushed
from zwang.analysis.inputs import Inputs
from zwang.analysis.local_equations import Local, local, moved
from zwang.analysis.moving_state import Balance, Motion, balance
from zwang.analysis.symmetry import Symmetries
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State


@dataclasses.dataclass(frozen=True, eq=False)
class Point:
    """Trial values of the unknowns, with the equations evaluated there.

    Attributes:
        q: on the constraints; gamma, mu: rates of symmetries, values of parameters.
        values: residuals there; slopes: their derivatives with respect to (ξ, γ, μ).
        local: the model's functions at (q, v).
        multipliers: λ, which balances the normal component of the forces.
        Y, W: bases of the kernels of position rows and of all velocity rows.
        Z: basis of the directions in which multipliers exert no force; equal to W without sliding
            friction.
    """

    q: np.ndarray
    gamma: np.ndarray
    mu: np.ndarray
    values: Balance
    slopes: Balance
    local: Local
    mass: Metric
    multipliers: np.ndarray
    Y: np.ndarray
    W: np.ndarray
    Z: np.ndarray

    @property
    def v(self) -> np.ndarray:
        return self.values.v

    @property
    def metric(self) -> np.ndarray:
        """M, or M + AᵀDA if M is singular."""
        return self.mass.M

    @property
    def gradient(self) -> np.ndarray:
        """`Zᵀ (M w − F)` [N/√kg …]: at an equilibrium the gradient of the potential."""
        return self.Z.T @ self.values.dynamic

    @property
    def stiffness(self) -> np.ndarray:
        """The derivative of the gradient along the manifold: the reduced Hessian of the
        potential.
        """
        return self.Z.T @ self.slopes.dynamic[:, : len(self.metric)] @ self.Y

    @property
    def force_size(self) -> float:
        """Size of the forces that balance, in the metric of M⁻¹: F, constraint forces, and the
        stiffness times a tenth of the size of the coordinates.
        """
        forces = (self.local.F, self.local.A.T @ self.multipliers)
        size = sum(self.mass.size(f) for f in forces)
        extent = 0.1 * np.sqrt(np.max(np.diag(self.metric))) * (1 + np.max(np.abs(self.q)))
        return float(size + np.linalg.norm(self.stiffness) * extent)


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """The equations of one model.

    Attributes:
        dynamics, t: the equations and the time.
        symmetric: the symmetries of a steady motion; None at rest.
        acting: the unknown parameters.
        held_q, held_v: entries of q and of v with prescribed values.
        scale: size of forces to which residuals are relative.
        driven: index of a velocity whose value is the last entry of μ, in place of a parameter;
            None if there is none.
    """

    dynamics: Dynamics
    t: float
    symmetric: Symmetries | None
    acting: Inputs
    held_q: dict[int, float] = dataclasses.field(default_factory=dict)
    held_v: dict[int, float] = dataclasses.field(default_factory=dict)
    scale: float = 1.0
    driven: int | None = None

    def scaled(self, start: Point) -> Problem:
        """The problem with residuals relative to the forces at a start, or near it, because all
        forces and their derivatives may vanish where branches cross.
        """
        aside = np.concatenate([np.ones(start.Y.shape[1]), 0 * start.gamma, 0 * start.mu])
        beside = self.moved(start, 0.5 * self.longest(start, 1e3 * aside) * 1e3 * aside)
        sizes = [x.force_size for x in (start, beside) if x is not None]
        return dataclasses.replace(self, scale=max(*sizes, 1e-300))

    def at(self, q, gamma, mu, multipliers=None) -> Point | None:
        """A trial with q projected onto the constraints; None if the projection fails."""
        system, t = self.dynamics.system, jnp.asarray(self.t, float)
        dynamics = self.with_parameters(mu)
        state = on_constraints(dynamics, q, np.zeros(system.nv), self.t)
        if state is None:
            return None
        found = self.symmetric
        about = Motion.of(state.q, self.t, found and found.base, found and found.fields)
        given = (dynamics, state.q, t, about.base, about.fields)
        rest = (self.acting.directions, jnp.asarray(gamma, float))
        first = np.zeros(dynamics.constraints.m) if multipliers is None else multipliers
        for _ in range(2):  # λ is computed at the point and kept for the derivatives
            values, slopes = (
                Balance(*(np.asarray(x) for x in found))
                for found in balance(*given, jnp.asarray(first), *rest)
            )
            here = local(dynamics, State(state.q, jnp.asarray(values.v), t), jnp.asarray(first))
            here = Local(*(np.asarray(x) for x in here))
            metric = metric_at(here.M, here.A)
            pushing = here.A + here.pull.T
            first = first + metric.rows(pushing).multipliers(values.dynamic)
        if not all(np.all(np.isfinite(x)) for x in (*values, *here)):
            return None
        constraints = dynamics.constraints
        W = kernel(metric.rows(here.A[constraints.velocity_rows]))
        Y = kernel(metric.rows(here.A[constraints.position_rows]))
        Y = W if Y.shape[1] == W.shape[1] else Y
        return Point(
            np.asarray(state.q),
            np.asarray(gamma, float),
            np.asarray(mu, float),
            values,
            slopes,
            here,
            metric,
            first,
            Y,
            W,
            unpushed(metric.rows(pushing[constraints.velocity_rows]), here.pull, W),
        )

    def with_parameters(self, mu) -> Dynamics:
        """The dynamics with the unknown parameters at given values."""
        if self.acting.directions is None:
            return self.dynamics
        change = jnp.asarray(np.asarray(mu, float) - self.acting.nominal)
        p = jax.tree_util.tree_map(
            lambda x, d: x + jnp.tensordot(change, d, 1), self.dynamics.p, self.acting.directions
        )
        return dataclasses.replace(self.dynamics, p=p)

    def residual(self, at: Point) -> np.ndarray:
        """The dimensionless residual."""
        kept = [x / (1 + abs(x)) for x in (*self.held_q.values(), *self.held_v.values())]
        kept += [] if self.driven is None else [at.mu[-1]]
        found = self._measured(at, at.values)
        found[len(found) - len(kept) :] -= kept
        return found

    def jacobian(self, at: Point) -> np.ndarray:
        """The derivative of the residual with respect to (y, γ, μ)."""
        nv, found = len(at.metric), self._measured(at, at.slopes)
        rest = np.zeros((len(found), 0 if self.driven is None else 1))
        rest[-1:] = -1.0
        return np.hstack([found[:, :nv] @ at.Y, found[:, nv:], rest])

    def _measured(self, at: Point, x: Balance) -> np.ndarray:
        """The rows of residuals, or of their derivatives, that are to vanish or to keep a value,
        each scaled by its own size.
        """
        rows = [at.Z.T @ x.dynamic / self.scale]
        if self.symmetric is not None:
            unit, scale = self._row_units(at)
            rows.append((unit * x.psi[self._nonholonomic].T / scale).T)
        for part, held in ((x.q, self.held_q), (x.v, self.held_v)):
            rows += [part[[i]] / (1 + abs(value)) for i, value in held.items()]
        rows += [] if self.driven is None else [x.v[[self.driven]]]
        return np.concatenate(rows)

    @property
    def _nonholonomic(self) -> np.ndarray:
        rows = self.dynamics.constraints
        return np.isin(rows.velocity_rows, rows.nonholonomic_rows)

    def _row_units(self, at: Point) -> tuple[np.ndarray, float]:
        """The inverse length of each nonholonomic row, and the size of the velocities."""
        rows = self.dynamics.constraints
        A = at.local.A[rows.velocity_rows][self._nonholonomic]
        length = at.mass.lengths(A)
        size = np.sqrt(abs(at.v @ at.metric @ at.v))
        return 1 / np.where(length > 0, length, np.inf), max(float(size), 1e-12)

    def moved(self, at: Point, step: np.ndarray) -> Point | None:
        """The trial after a step of (y, γ, μ)."""
        ny, k = at.Y.shape[1], len(at.gamma)
        along = at.Y @ step[:ny]
        q = np.asarray(moved(self.dynamics, at.q, along, np.float64(self.t)))
        return self.at(q, at.gamma + step[ny : ny + k], at.mu + step[ny + k :], at.multipliers)

    def longest(self, at: Point, step: np.ndarray) -> float:
        """The fraction of a step that moves no coordinate by more than 0.3 (1 + max |q|)."""
        change = np.max(np.abs(at.local.N @ (at.Y @ step[: at.Y.shape[1]])), initial=0.0)
        return min(1.0, 0.3 * (1 + np.max(np.abs(at.q), initial=0.0)) / max(change, 1e-300))
