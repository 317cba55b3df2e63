"""Projection of states onto the constraints inside users' programs, with exact derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from zwang.compile import model_program, trace_state_clean
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model, refuse_letting_go
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import count, instance
from zwang.inputs.arrays import is_concrete, require_float64, without_derivative
from zwang.inputs.call import misfits_named
from zwang.remedy import Remedy, advice
from zwang.simulation.differentiable import corrected
from zwang.thresholds import AGREEMENT


@misfits_named
def project(
    model: Model,
    q,
    v=None,
    t=0.0,
    *,
    params: PyTree = None,
    corrections: int = 8,
) -> State:
    """Project a state onto the constraints by a differentiable function.

        q ← q ⊖ A⊕φ,    v ← v − A⊕ψ,    a few times

    Each correction is the smallest one in the metric of M, whatever the rank of A. Control flow
    does not depend on data, so that `jit`, `vmap` and both derivative modes work, and the
    derivative is that of the computed result. As the last layer of a network it gives
    configurations that satisfy the constraints up to round-off. `zw.consistent_state` iterates
    until it has found the nearest state, and reports the changes.

    Args:
        model: the model.
        q: coordinates, shape (nq,), near the constraints.
        v: velocities, shape (nv,); by default zero.
        t: time [s].
        params: parameters that differ from the model's.
        corrections: number of corrections.

    Returns:
        The `State` q, v, t. Inside `jit`, `vmap` and `grad` it is NaN if the corrections have not
        converged.

    Raises:
        ModelError: if the corrections do not converge from q, outside of these.

    Example:
        >>> zw.project(model, [1.2, 0.1]).q
    """
    require_float64()
    instance(model, Model, "project: model", "a zw.Model")
    refuse_letting_go(model)
    corrections = count(corrections, "corrections", least=1, most=1000)
    v = jnp.zeros(model.system.nv) if v is None else v
    found = _projected(model.passive.dynamics(params), model.state(q, v, t), corrections)
    if trace_state_clean() and is_concrete(found.q) and not bool(jnp.all(jnp.isfinite(found.q))):
        again = Remedy("raise corrections"), Remedy("take zw.consistent_state(model, q, v).state")
        raise ModelError(
            f"{model.name}: {corrections} corrections do not put the state onto the constraints: "
            f"start closer, {advice(*again)}."
        )
    return found


@model_program
def _projected(dynamics: Dynamics, given: State, count: int) -> State:
    # a loop, so that the model's functions are compiled once for all corrections
    s = jax.lax.fori_loop(0, count, lambda _, s: corrected(dynamics, s), given)
    still, at = without_derivative((dynamics, s))
    left = jnp.linalg.norm(corrected(still, at).q - at.q)
    met = left <= AGREEMENT * (1 + jnp.linalg.norm(at.q))
    return jax.tree_util.tree_map(lambda x: jnp.where(met, x, jnp.nan), s)
