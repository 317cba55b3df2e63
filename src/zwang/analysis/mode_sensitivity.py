"""Eigenvalues of an equilibrium as functions of parameters that JAX differentiates.

With deviations ξ of the coordinates, δλ of the multipliers and the eigenvalue σ,

    L(σ) (ξ, δλ) = 0,    L = | σ² M + σ D + K   −Aᵀ |        K, D: derivatives of M v̇ − F − Aᵀλ
                             | ∂φ                 0 |
                             | ∂ψ/∂q + σ ∂ψ/∂v    0 |

and with a left vector y of L at the parameters of the result, one step of Newton's iteration on
yᴴ L(σ) (ξ, δλ) = 0 has the exact value and first derivatives, where the eigenvalue is simple; ξ and
δλ are held. The equilibrium moves along with the parameters.

Reference: Lancaster (1964), On eigenvalues of matrices dependent on a parameter, Numer. Math. 6,
377-387.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.analysis.constrained_state import ConstrainedState, dynamics_of
from zwang.analysis.local_equations import constraint_force, dynamic_residual, mass
from zwang.analysis.moving_mechanism import balanced
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.errors import ModelError

if TYPE_CHECKING:
    from zwang.analysis.linearize import Linearization

LEFT_NULL = 1e-8
"""Singular values of L below this times the largest count as zero."""
SIMPLE_SLOPE = 1e-6
"""Least |yᴴ L′ x| of a simple eigenvalue, for vectors of length one and L′ of size one."""


def eigenvalues_at(linear: Linearization, shapes: np.ndarray, values: np.ndarray, params: PyTree):
    """Eigenvalues near those of a linearization at other parameters, shape (n,), complex.

    Args:
        linear: at an equilibrium at rest.
        shapes: velocities of the modes, shape (n, nv), complex.
        values: their eigenvalues; one that is zero stays.
        params: as in `zw.linearize`.

    Raises:
        ModelError: for a steady motion, a constraint on accelerations, or a multiple eigenvalue.
    """
    model, here = linear.model, linear.here
    if linear.kind != "equilibrium":
        raise ModelError(
            f"{model.name}: eigenvalues(params) are those of an equilibrium at rest; this is a "
            f"{linear.kind}."
        )
    if any(c.level == "acceleration" for c in here.dynamics.constraints.members):
        raise ModelError(
            f"{model.name}: a constraint is given at the level of accelerations, whose eigenvalues "
            "have no derivatives here; state it by φ or ψ."
        )
    dynamics = dynamics_of(model, params)
    q, multipliers = balanced(
        dynamics, jnp.asarray(linear.q), jnp.asarray(linear.multipliers), jnp.asarray(linear.t)
    )
    found: list[Any] = []
    for value, v in zip(values, shapes, strict=True):
        if value == 0:
            found.append(jnp.zeros((), complex))
            continue
        xi = v / value
        left, slope, pushed = _left(model.name, here, value, xi)
        row = _applied(dynamics, q, multipliers, linear.t, value, xi, pushed)
        found.append(value - (left.conj() @ row) / slope)
    return jnp.stack(found) if found else jnp.zeros(0, complex)


def _left(name: str, here: ConstrainedState, value: complex, xi: np.ndarray):
    """Left vector y, yᴴ L′(σ) x, and the multipliers δλ of a mode."""
    d, nv, m = here.variation, len(xi), here.dynamics.constraints.m
    K, D, M = d.dynamic[:, :nv], d.dynamic[:, nv : 2 * nv], here.local.M
    lower = np.vstack([d.phi[:, :nv], _nonholonomic(here.dynamics, d.psi[:, :nv])])
    turned = _nonholonomic(here.dynamics, d.psi[:, nv : 2 * nv])
    lower = lower.astype(complex)
    lower[len(d.phi) :] += value * turned
    upper = value**2 * M + value * D + K
    pushed = np.linalg.lstsq(here.local.A.T.astype(complex), upper @ xi, rcond=1e-10)[0]
    L = np.block([[upper, -here.local.A.T], [lower, np.zeros((len(lower), m))]])
    U, sigma, _ = np.linalg.svd(L)
    null = U[:, int(np.sum(sigma > LEFT_NULL * sigma[0])) :]
    moved = np.concatenate([(2 * value * M + D) @ xi, np.zeros(len(d.phi)), turned @ xi])
    # rows that depend on each other have left vectors of their own, which see no change of σ
    y = null @ (null.conj().T @ moved)
    slope = y.conj() @ moved
    size = np.linalg.norm(y) * np.linalg.norm(moved)
    if not abs(slope) > SIMPLE_SLOPE * size or _multiple(here, null):
        raise ModelError(
            f"{name}: eigenvalue {value:.6g} is a multiple one, which has no derivative."
        )
    return y, slope, pushed


def _multiple(here: ConstrainedState, null: np.ndarray) -> bool:
    """Whether the left null space holds more than redundant rows and one eigenvector."""
    rank = np.linalg.matrix_rank(
        here.local.A, tol=1e-9 * max(1.0, np.abs(here.local.A).max(initial=0))
    )
    return null.shape[1] > here.dynamics.constraints.m - rank + 1


def _nonholonomic(dynamics: Dynamics, psi: Any) -> Any:
    """The entries of ψ that are no rates of φ."""
    rows = dynamics.constraints
    return psi[np.isin(rows.velocity_rows, rows.rows_at("velocity"))]


def _applied(dynamics: Dynamics, q, multipliers, t, value: complex, xi, pushed):
    """L(σ) (ξ, δλ) at an equilibrium, shape (nv + rows,), complex."""
    system, rows, p = dynamics.system, dynamics.constraints, dynamics.p
    still, t = jnp.zeros(system.nv), jnp.asarray(t)

    def functions(s, v):
        there = system.move(q, s, t, p)
        state = State(there, v, t)
        psi = rows.velocity_residual(there, v, t, p)
        return jnp.concatenate(
            [
                dynamic_residual(dynamics, state, still, multipliers),
                rows.position_residual(there, t, p),
                _nonholonomic(dynamics, psi),
            ]
        )

    def along(s, v):
        return jax.jvp(functions, (still, still), (jnp.asarray(s), jnp.asarray(v)))[1]

    v, state = value * xi, State(q, still, t)
    found = along(xi.real, v.real) + 1j * along(xi.imag, v.imag)
    force = lambda x: constraint_force(dynamics, state, jnp.asarray(x)) if rows.m else still
    upper = value**2 * (mass(system, q, t, p) @ xi) - (force(pushed.real) + 1j * force(pushed.imag))
    return found.at[: system.nv].add(upper)
