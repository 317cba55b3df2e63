"""Detection of rows that stay nearly parallel along a motion of a compiled program, which the
default method for A⊕ then no longer satisfies. `zw.simulate` detects them on the host
(`zwang.simulation.watch`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.algebra.pseudoinverse import Proximal
from zwang.algebra.rank import PLACED
from zwang.compile.hints import for_any_member
from zwang.dynamics.consistency import DENSE_ROWS
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.state import State
from zwang.errors import Result
from zwang.inputs.arrays import is_concrete, without_derivative
from zwang.thresholds import RESOLVED


def stays_nearly_parallel(
    dynamics: Dynamics, residual: Float[Array, ""], start: State, end: State
) -> Bool[Array, ""]:
    """Return whether rows are so nearly parallel at both ends of a motion that the sweeps of
    `Proximal` do not reduce their residual: their smallest singular value, redundant ones excluded,
    is below √μ. Nearly parallel rows at one end only belong to a singular configuration, which the
    sweeps cross well.

    Args:
        dynamics: the model's.
        residual: largest residual of the motion; if it is round-off nothing else is computed.
        start, end: satisfy the constraints.
    """
    m, method = dynamics.constraints.m, dynamics.pseudoinverse
    if not isinstance(method, Proximal) or dynamics.structure.sparse or not 1 < m <= DENSE_ROWS:
        return jnp.asarray(False)
    dynamics, start, end = without_derivative((dynamics, start, end))

    def at(s: State) -> Bool[Array, ""]:
        sigma = dynamics.gauss_at(s).singular_values()
        present = sigma > PLACED * sigma[0]
        return jnp.any(present & (sigma**2 < method.damping * sigma[0] ** 2))

    suspicious = ~(without_derivative(residual) <= RESOLVED)
    return jax.lax.cond(
        for_any_member(suspicious),
        lambda: suspicious & at(start) & at(end),
        lambda: jnp.asarray(False),
    )


def is_nearly_parallel(results: np.ndarray | Array) -> bool:
    """Return whether any of the concrete results is `NEARLY_PARALLEL`."""
    return is_concrete(results) and bool(np.any(results == int(Result.NEARLY_PARALLEL)))
