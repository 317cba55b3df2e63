"""Eigenvalues as functions of parameters that JAX differentiates.

With deviations x = (ξ, δv, δλ) in axes that move along and the eigenvalue σ, the equations before
the constraints are solved (`Linearization.descriptor`) say

    L(σ) x = 0,    L = σ E − A:    σ ξ = δ N⁺ (q̇ − Ξ),    δφ = 0,    δψ = 0,
                                   σ M δv = −δ(M w − F − Aᵀλ) − M δ(rate of v along Ξ) + Aᵀδλ

and σ and x are a root of them (`sensitivity.py`), x up to its length, where the eigenvalue is
simple: the row of J⁺ that belongs to σ is yᴴ / (yᴴ E x), y a left vector of L. The state moves
along with the parameters.

Reference: Lancaster (1964), On eigenvalues of matrices dependent on a parameter, Numer. Math. 6,
377-387.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import PyTree

from zwang.algebra.rank import DEPENDENT_ROWS
from zwang.analysis.constrained_state import dynamics_of
from zwang.analysis.local_equations import dynamic_residual, mass
from zwang.analysis.moving_state import MovingState, moving_state, varied
from zwang.analysis.sensitivity import held
from zwang.dynamics.functions import as_velocity
from zwang.errors import ModelError

if TYPE_CHECKING:
    from zwang.analysis.linearize import Linearization
    from zwang.analysis.modes import Mode


def eigenvalues_at(
    linear: Linearization, modes: tuple[Mode, ...], params: PyTree, v: ArrayLike | None
):
    """Eigenvalues near those of modes at other parameters, shape (n,), complex.

    Args:
        linear: at an equilibrium or a steady motion.
        modes: whose eigenvalues; one that is zero stays.
        params: as in `zw.analysis.linearize`.
        v: velocities of the steady motion, shape (nv,), or None for those of its own rates.

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
        with jax.ensure_compile_time_eval():  # it may be asked for inside a program
            xi = np.asarray(as_velocity(linear.model.system, s.q, s.t, p, mode.shape))
        row, x = _eigenpair(linear, value, np.concatenate([xi, mode.shape_v]))
        found.append(value - row @ _applied(at, value, x))
    return jnp.stack(found) if found else jnp.zeros(0, complex)


def _eigenpair(linear: Linearization, value: complex, moved: np.ndarray) -> tuple[Any, Any]:
    """What σ loses per unit of L(σ) x, a row of J⁺, and x of a mode that moves (ξ, δv) so."""
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
    """L(σ) x at the state where it is now, shape (2 nv + m,), complex."""
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
