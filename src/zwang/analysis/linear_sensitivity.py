"""Eigenvalues and gains of a regulator as differentiable functions of parameters. The equilibrium
or the steady motion changes with the parameters.

With deviations x = (ξ, δv, δλ) in moving axes and the eigenvalue σ, the descriptor equations
(`Linearization.descriptor`) are

    L(σ) x = 0,    L = σ E − A:    σ ξ = δ N⁺ (q̇ − Ξ),    δφ = 0,    δψ = 0,
                                   σ M δv = −δ(M w − F − Aᵀλ) − M δ(rate of v along Ξ) + Aᵀδλ

For a simple eigenvalue, σ and x (up to its length) are a root of these equations
(`sensitivity.py`): the row of J⁺ that belongs to σ is yᴴ / (yᴴ E x), where y is a left null vector
of L.

For gains, the linear equations are written in a basis of the tangent space that depends smoothly on
the parameters; in a steady motion this is a basis of its part across the symmetries. Gains on the
full coordinates do not depend on the choice of basis. With the gains K of the result held constant,
the cost S of

    (A − B K)ᵀ S + S (A − B K) + Cᵀ Q C + Kᵀ R K = 0,    K(p) = R⁻¹ Bᵀ S

is one step of Newton's iteration on the Riccati equation. Its value and first derivatives are exact
at the parameters of the result.

References: Lancaster (1964), On eigenvalues of matrices dependent on a parameter, Numer. Math. 6,
377-387; Kleinman (1968), On an iterative technique for Riccati equation computations, IEEE Trans.
Autom. Control 13, 114-115.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
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
    by_parameters,
    constraint_rate,
    dynamic_residual,
    lifted,
    mass,
)
from zwang.analysis.moving_state import MovingState, moving_state, varied
from zwang.analysis.sensitivity import held
from zwang.compile.compatibility import outside_of_programs
from zwang.dynamics.functions import as_velocity, velocity_map
from zwang.errors import ModelError
from zwang.inputs.arrays import AnyArray
from zwang.objects.record import replace

if TYPE_CHECKING:
    from zwang.analysis.linearize import Linearization
    from zwang.analysis.lqr import Regulator
    from zwang.analysis.modes import Mode


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
    pushed = turned(*by_parameters(lambda p: _forces(moved, p), p, acting.directions))
    pushed = jnp.hstack([pushed, free(jnp.asarray(acting.matrix(s.q, s.t, p)))])
    L = jnp.vstack([kinematic, turned(dynamic, rate) - generator])
    # the basis of the result, projected onto the present tangent space
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
    """Residual of the equations of motion at parameters p, with q, v, w and λ constant."""
    there = replace(moved.dynamics, p=p)
    return (
        dynamic_residual(there, moved.state, moved.w, moved.multipliers),
        constraint_rate(there, moved.state, moved.w),
    )


def _across(moved: MovingState, at: Linearization, back, metric) -> tuple[Any, Any]:
    """A basis R of the orthogonal complement of the symmetries in a metric of z, and its left
    inverse.
    """
    assert at.found is not None
    s, system, p = moved.state, moved.dynamics.system, moved.dynamics.p

    def direction(field: Generator):
        xi = field.velocity(system, s.q, s.t, p)
        return back @ jnp.concatenate([xi, lifted(system, field, s.q, s.v, s.t, p)])

    directions = jax.vmap(direction)(at.found.fields).T
    # independent combinations of the symmetries, the same for all parameters
    n = directions @ Decomposition(at.symmetric_directions).row_space
    R = jnp.asarray(at.across)
    R = R - n @ LU(n.T @ metric @ n).solve(n.T @ metric @ R)
    return R, LU(R.T @ metric @ R).solve(R.T @ metric)


def eigenvalues_at(
    linear: Linearization, modes: tuple[Mode, ...], params: PyTree, v: ArrayLike | None
):
    """Eigenvalues near those of modes at other parameters, shape (n,), complex.

    Args:
        linear: at an equilibrium or a steady motion.
        modes: the modes of these eigenvalues; an eigenvalue of zero stays zero.
        params: as in `zw.analysis.linearize`.
        v: velocities of the steady motion, shape (nv,), or None for those with the same rates.

    Raises:
        ModelError: for a moving state, a constraint on accelerations, or a multiple eigenvalue.
    """
    model = linear.model
    if any(not c.level.has_psi for c in linear.here.dynamics.constraints.members):
        raise ModelError(
            f"{model.name}: a constraint is given at the level of accelerations, whose eigenvalues "
            "have no derivatives here; state it by φ or ψ."
        )
    at = moving_state(linear, dynamics_of(model, params), v)
    found: list[Any] = []
    for mode in modes:
        value = mode.eigenvalue
        if value == 0:
            found.append(jnp.zeros((), complex))
            continue
        s, p = linear.here.state, linear.here.dynamics.p
        with outside_of_programs():
            xi = np.asarray(as_velocity(linear.model.system, s.q, s.t, p, mode.shape))
        row, x = _eigenpair(linear, value, np.concatenate([xi, mode.shape_v]))
        found.append(value - row @ _applied(at, value, x))
    return jnp.stack(found) if found else jnp.zeros(0, complex)


def _eigenpair(linear: Linearization, value: complex, moved: np.ndarray) -> tuple[Any, Any]:
    """A row of J⁺, the change of −σ per unit of L(σ) x, and x for a mode with given (ξ, δv)."""
    n, here = len(moved), linear.here
    E, A, _ = linear.descriptor
    L = value * E - A
    nv = n // 2
    pushed = here.pushing.multipliers(L[nv:n, :n] @ moved)
    x = np.concatenate([moved, pushed])
    unit = _one_over(np.linalg.norm(L, axis=1))
    J = np.column_stack([E @ x, L])  # by σ and x
    length = _one_over(np.linalg.norm(unit[:, None] * J, axis=0))
    found = held(x, J * length, unit, DEPENDENT_ROWS)
    redundant = here.dynamics.constraints.m - here.all_rows.rank
    if not found.determines(0) or len(found.free) > redundant + 1:
        raise ModelError(
            f"{linear.model.name}: eigenvalue {value:.6g} is a multiple one, which has no "
            "derivative."
        )
    return length[0] * found.inverse[0], x


def _one_over(length: np.ndarray) -> np.ndarray:
    return 1 / np.where(length > 0, length, 1.0)


def _applied(at: MovingState, value: complex, x: np.ndarray) -> Array:
    """L(σ) x at the present state, shape (2 nv + m,), complex."""
    dynamics, s = at.dynamics, at.state
    rows, nv = dynamics.constraints, dynamics.system.nv
    still = jnp.zeros(2 * nv)
    left = lambda y: dynamic_residual(dynamics, s, at.w, y)
    pushed = lambda y: -jax.jvp(left, (jnp.asarray(at.multipliers),), (jnp.asarray(y),))[1]
    M, function = mass(dynamics.system, s.q, s.t, dynamics.p), varied(at)

    def turned(x):
        phi, psi, dynamic, _, kinematic, generator = jax.jvp(function, (still,), (x[: 2 * nv],))[1]
        lower = jnp.zeros(rows.m).at[rows.position_rows].set(phi)
        own = np.isin(rows.velocity_rows, rows.nonholonomic_rows)
        lower = lower.at[rows.nonholonomic_rows].set(psi[own])
        upper = -dynamic - M @ generator + pushed(x[2 * nv :])
        return jnp.concatenate([kinematic, upper, lower])

    A = turned(jnp.real(x)) + 1j * turned(jnp.imag(x))
    E = jnp.concatenate([x[:nv], M @ x[nv : 2 * nv], jnp.zeros(rows.m)])
    return value * E - A
