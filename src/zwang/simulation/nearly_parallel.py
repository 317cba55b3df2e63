"""Rows that stay nearly parallel along a motion of a compiled program, where the default method for
A⊕ holds them no longer. `zw.simulate` looks at them on the host (`zwang.simulation.watch`).
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
    """Whether rows are so nearly parallel at both ends of a motion that the sweeps of `Proximal`
    leave all of what they ask for: their smallest singular value that is no redundancy is below √μ.
    At one end alone it is that of a singular configuration, which these sweeps cross well.

    Args:
        dynamics: the model's.
        residual: the largest of the motion; where it is round-off nothing else is looked at.
        start, end: on the constraints.
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
    """Whether any of the results that are known says so."""
    return is_concrete(results) and bool(np.any(results == int(Result.NEARLY_PARALLEL)))
