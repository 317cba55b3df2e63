"""Gains of a regulator as functions of parameters that JAX differentiates.

The linear equations at an equilibrium are written with a basis of the tangent space that moves
smoothly with the parameters; gains on the full coordinates do not depend on which basis. With the
gains K of the result held, the cost S of

    (A − B K)ᵀ S + S (A − B K) + Cᵀ Q C + Kᵀ R K = 0,    K(p) = R⁻¹ Bᵀ S

is one step of Newton's iteration on the Riccati equation, which has the exact value and first
derivatives at the parameters of the result.

Reference: Kleinman (1968), On an iterative technique for Riccati equation computations, IEEE Trans.
Autom. Control 13, 114-115.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.analysis.constrained_state import dynamics_of
from zwang.analysis.inputs import Inputs, Selected, chosen_outputs
from zwang.analysis.local_equations import (
    constraint_rate,
    dynamic_residual,
    mass,
    velocity_map,
)
from zwang.analysis.moving_mechanism import balanced, with_parameters
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.errors import ModelError

if TYPE_CHECKING:
    from zwang.analysis.lqr import Regulator

ROWS_RANK = 1e-9
"""Singular values of rows of length one, relative to the largest, that count as zero."""


class Gains(NamedTuple):
    """Gains on the full coordinates and velocities, shapes (nu, nq) and (nu, nv)."""

    K_q: Any
    K_v: Any


class _Rows:
    """A⊕ and the projection on the kernel of rows, in the metric of M."""

    def __init__(self, A, M):
        W = jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(M), jnp.eye(len(M)), lower=True).T
        length = jnp.linalg.norm(A @ W, axis=1)
        self.unit = 1 / jnp.where(length > 0, length, jnp.inf)
        inverse = jnp.linalg.pinv(self.unit[:, None] * (A @ W), rtol=ROWS_RANK)
        self.A, self.correct = A, lambda r: W @ (inverse @ (self.unit[:, None] * r))

    def free(self, x):
        """The part of columns that the rows leave free."""
        return x - self.correct(self.A @ x)


def gains(regulator: Regulator, params: PyTree) -> Gains:
    """See `Regulator.gains`."""
    at = regulator.linearization
    acting, here = at.acting, at.here
    model = acting.model
    if at.kind != "equilibrium":
        raise ModelError(
            f"{model.name}: gains(params) are those about an equilibrium at rest; this is a "
            f"{at.kind}."
        )
    by_name = at.outputs[:1] != ("y0",)
    if not by_name or np.any(np.linalg.eigvalsh(here.local.M) <= 0):
        raise ModelError(
            f"{model.name}: gains(params) need outputs by name and a mass matrix that is positive."
        )
    function, _ = chosen_outputs(model, at.outputs)
    assert isinstance(function, Selected)
    dynamics = dynamics_of(model, params)
    q, multipliers = balanced(dynamics, *map(jnp.asarray, (at.q, at.multipliers, at.t)))
    A, B, T, back = _linear(dynamics, acting, q, multipliers, at)
    nv = dynamics.system.nv
    N = velocity_map(dynamics.system, q, jnp.asarray(at.t), dynamics.p)
    slopes = jax.scipy.linalg.block_diag(N, jnp.eye(nv))[np.array(function.entries, int)]
    output, effort = regulator.weights
    K = regulator.K @ (at.project @ jax.lax.stop_gradient(T))
    K = jax.lax.stop_gradient(K)
    C, closed, n = slopes @ T, A - B @ K, T.shape[1]
    eye = jnp.eye(n)
    right = C.T @ output @ C + K.T @ effort @ K
    S = jnp.linalg.solve(
        jnp.kron(eye, closed.T) + jnp.kron(closed.T, eye), -right.reshape(-1)
    ).reshape(n, n)
    full = jnp.linalg.solve(jnp.asarray(effort), B.T @ S) @ back
    return Gains(full[:, :nv] @ jnp.linalg.pinv(N), full[:, nv:])


def _linear(dynamics: Dynamics, acting: Inputs, q, multipliers, at) -> tuple[Any, Any, Any, Any]:
    """A, B, a basis T of the tangent space and its left inverse, at an equilibrium nearby."""
    system, rows, t = dynamics.system, dynamics.constraints, jnp.asarray(at.t)
    nv, p, k = system.nv, dynamics.p, len(acting.parameters)

    def residuals(step):
        moved = p
        if k:
            along = lambda x, d: x + jnp.tensordot(step[2 * nv :], d, 1)
            moved = jax.tree_util.tree_map(along, p, acting.directions)
        there = with_parameters(dynamics, moved)
        state = State(system.move(q, step[:nv], t, p), step[nv : 2 * nv], t)
        still = jnp.zeros(nv)
        return (
            dynamic_residual(there, state, still, multipliers),
            constraint_rate(there, state, still),
            rows.velocity_residual(state.q, state.v, t, p),
        )

    dynamic, rate, psi = jax.jacfwd(residuals)(jnp.zeros(2 * nv + k))
    M = mass(system, q, t, p)
    every = _Rows(rows.matrix(q, jnp.zeros(nv), t, p), M)
    turned = -every.correct(rate) - every.free(jnp.linalg.solve(M, dynamic))
    pushed = turned[:, 2 * nv :]
    if acting.actuation is not None:
        B = acting.actuation(q, t, p) if callable(acting.actuation) else acting.actuation
        pushed = jnp.hstack([pushed, every.free(jnp.linalg.solve(M, jnp.asarray(B)))])
    L = jnp.vstack([jnp.eye(nv, 2 * nv, nv), turned[:, : 2 * nv]])
    # the basis of the result, put into the tangent space where it is now
    velocities = _Rows(psi[:, nv : 2 * nv], M)
    positions = _Rows(rows.matrix(q, jnp.zeros(nv), t, p)[rows.position_rows], M)
    basis, ny = jnp.asarray(at.basis), at.basis.shape[1] - at.here.tangent.W.shape[1]
    Y, W = positions.free(basis[:nv, :ny]), velocities.free(basis[nv:, ny:])
    lean = -velocities.correct(psi[:, :nv] @ Y)
    T = jnp.block([[Y, jnp.zeros((nv, W.shape[1]))], [lean, W]])
    inverse = lambda X: jnp.linalg.solve(X.T @ M @ X, X.T @ M)
    back = jax.scipy.linalg.block_diag(inverse(Y), inverse(W))
    return back @ L @ T, back[:, nv:] @ pushed, T, back
