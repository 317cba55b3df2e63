"""Gains of a regulator as functions of parameters that JAX differentiates.

The linear equations at an equilibrium or a steady motion are written with a basis of the tangent
space that moves smoothly with the parameters, in a steady motion of its part across the symmetries;
gains on the full coordinates do not depend on which basis. With the gains K of the result held, the
cost S of

    (A − B K)ᵀ S + S (A − B K) + Cᵀ Q C + Kᵀ R K = 0,    K(p) = R⁻¹ Bᵀ S

is one step of Newton's iteration on the Riccati equation, which has the exact value and first
derivatives at the parameters of the result.

Reference: Kleinman (1968), On an iterative technique for Riccati equation computations, IEEE Trans.
Autom. Control 13, 114-115.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import PyTree

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.gauss import Gauss
from zwang.algebra.lapack import LU
from zwang.algebra.mass_matrix import factor_mass
from zwang.algebra.metric import is_singular
from zwang.algebra.pseudoinverse import SVD
from zwang.algebra.rank import DEPENDENT_ROWS
from zwang.analysis.constrained_state import dynamics_of
from zwang.analysis.inputs import Selected, chosen_outputs
from zwang.analysis.local_equations import (
    Generator,
    constraint_rate,
    dynamic_residual,
    lifted,
    mass,
)
from zwang.analysis.moving_mechanism import with_parameters
from zwang.analysis.moving_state import MovingState, moving_state, varied
from zwang.dynamics.functions import as_velocity, velocity_map
from zwang.errors import ModelError
from zwang.inputs.arrays import AnyArray

if TYPE_CHECKING:
    from zwang.analysis.linearize import Linearization
    from zwang.analysis.lqr import Regulator


class Gains(NamedTuple, Generic[AnyArray]):
    """Gains on the full coordinates and velocities, shapes (nu, nq) and (nu, nv)."""

    K_q: AnyArray
    K_v: AnyArray


def gains(regulator: Regulator, params: PyTree, v: ArrayLike | None) -> Gains:
    """See `Regulator.gains`."""
    at = regulator.linearization
    model = at.acting.model
    by_name = at.outputs[:1] != ("y0",)
    if not by_name or is_singular(at.here.local.M) or np.any(at.here.local.pull):
        raise ModelError(
            f"{model.name}: gains(params) need outputs by name, a mass matrix that is positive, "
            "and no friction that slides."
        )
    function, _ = chosen_outputs(model, at.outputs)
    assert isinstance(function, Selected)
    moved = moving_state(at, dynamics_of(model, params), v)
    A, B, T, back = _linear(moved, at)
    K = regulator.K @ (at.project @ jax.lax.stop_gradient(T))
    nv = moved.dynamics.system.nv
    N = velocity_map(moved.dynamics.system, moved.state.q, moved.state.t, moved.dynamics.p)
    C = jax.scipy.linalg.block_diag(N, jnp.eye(nv))[np.array(function.entries, int)] @ T
    output, effort = regulator.weights
    K, n = jax.lax.stop_gradient(K), T.shape[1]
    closed, eye = A - B @ K, jnp.eye(n)
    right = C.T @ output @ C + K.T @ effort @ K
    lyapunov = LU(jnp.kron(eye, closed.T) + jnp.kron(closed.T, eye))
    S = lyapunov.solve(-right.reshape(-1)).reshape(n, n)
    full = LU(jnp.asarray(effort)).solve(B.T @ S) @ back
    p = moved.dynamics.p
    as_rates = lambda rate: as_velocity(
        moved.dynamics.system, moved.state.q, moved.state.t, p, rate
    )
    return Gains(full[:, :nv] @ jax.vmap(as_rates, 1, 1)(jnp.eye(len(N))), full[:, nv:])


def _linear(moved: MovingState, at: Linearization) -> tuple[Any, Any, Any, Any]:
    """A, B, a basis T of the tangent space across the symmetries and its left inverse."""
    dynamics, s, acting = moved.dynamics, moved.state, at.acting
    system, rows, p = dynamics.system, dynamics.constraints, dynamics.p
    nv, still, M = system.nv, jnp.zeros(2 * system.nv), mass(system, s.q, s.t, p)
    metric = factor_mass(M)
    problem = lambda A: Gauss(metric, A, SVD(DEPENDENT_ROWS))
    every = problem(rows.matrix(s.q, s.v, s.t, p))

    free = lambda forces: jax.vmap(every.mobility, 1, 1)(forces)

    def turned(dynamic, rate):
        return -every.columns(rate).T - free(dynamic)

    slopes = jax.jacfwd(varied(moved))(still)
    phi, psi, dynamic, rate, kinematic, generator = slopes
    pushed = jnp.zeros((nv, 0))
    if acting.directions is not None:
        along = lambda dp: jax.jvp(lambda p: _forces(moved, p), (p,), (dp,))[1]
        pushed = turned(*(x.T for x in jax.vmap(along)(acting.directions)))
    if acting.actuation is not None:
        B = acting.actuation(s.q, s.t, p) if callable(acting.actuation) else acting.actuation
        pushed = jnp.hstack([pushed, free(jnp.asarray(B))])
    L = jnp.vstack([kinematic, turned(dynamic, rate) - generator])
    # the basis of the result, put into the tangent space where it is now
    velocities, positions = problem(psi[:, nv:]), problem(phi[:, :nv])
    basis, ny = jnp.asarray(at.basis), at.basis.shape[1] - at.here.tangent.W.shape[1]
    each = lambda tangent, x: jax.vmap(tangent, 1, 1)(x)
    Y, W = each(positions.tangent, basis[:nv, :ny]), each(velocities.tangent, basis[nv:, ny:])
    lean = -velocities.columns(psi[:, :nv] @ Y).T
    T = jnp.block([[Y, jnp.zeros((nv, W.shape[1]))], [lean, W]])
    inverse = lambda X: LU(X.T @ M @ X).solve(X.T @ M)
    back = jax.scipy.linalg.block_diag(inverse(Y), inverse(W))
    A, B = back @ L @ T, back[:, nv:] @ pushed
    if at.kind != "steady motion" or not at.neutral.shape[1]:
        return A, B, T, back
    R, across = _across(moved, at, back, jax.scipy.linalg.block_diag(Y.T @ M @ Y, W.T @ M @ W))
    return across @ A @ R, across @ B, T @ R, across @ back


def _forces(moved: MovingState, p) -> tuple[Any, Any]:
    """Residual of the equations of motion at parameters p, with q, v, w and λ held fixed."""
    there = with_parameters(moved.dynamics, p)
    return (
        dynamic_residual(there, moved.state, moved.w, moved.multipliers),
        constraint_rate(there, moved.state, moved.w),
    )


def _across(moved: MovingState, at: Linearization, back, metric) -> tuple[Any, Any]:
    """A basis R of what is orthogonal to the symmetries in a metric of z, and its left inverse."""
    assert at.found is not None
    s, system, p = moved.state, moved.dynamics.system, moved.dynamics.p

    def direction(field: Generator):
        xi = as_velocity(system, s.q, s.t, p, field.c + field.B @ s.q)
        return back @ jnp.concatenate([xi, lifted(system, field, s.q, s.v, s.t, p)])

    directions = jax.vmap(direction)(at.found.fields).T
    # of as many combinations of the symmetries as are independent, the same ones all along
    n = directions @ Decomposition(at.symmetric_directions).row_space
    R = jnp.asarray(at.across)
    R = R - n @ LU(n.T @ metric @ n).solve(n.T @ metric @ R)
    return R, LU(R.T @ metric @ R).solve(R.T @ metric)
