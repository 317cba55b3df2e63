"""Tolerances of steps: the same arguments for every kind of motion."""

from __future__ import annotations

from types import ModuleType

import jax
import numpy as np
from jaxtyping import Array

from zwang.dynamics.model import Model
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.errors import ModelError
from zwang.inputs.arguments import number, real_array, shown
from zwang.inputs.arrays import host_array, is_concrete, vector
from zwang.stepping.step_control import GROW, SHRINK, Tolerances
from zwang.thresholds import ACCEPTED_VIOLATION, LAST_DIGIT


def step_tolerances(
    model: Model, rtol, atol, step, longest_step, duration, residual: float = np.inf
) -> Tolerances:
    """Return the checked tolerances of a step; `accept` is set after the constraints are measured.

    Args:
        model: the model, for the number of its coordinates.
        rtol, atol: relative and absolute error of one step; `atol` is a number, one per coordinate
            (nq,) where nq = nv, one per entry of (q, v), or None for `rtol`.
        step: length of a fixed step [s], or None.
        longest_step: upper limit of the step [s].
        duration: of the motion [s].
        residual: as in `Tolerances`.
    """
    nq, nv = model.system.nq, model.system.nv
    rtol = checked_rtol(rtol)
    if step is not None:
        number(step, "step", above=0, unit="s")
    longest_step = number(longest_step, "longest_step", above=0, infinite=True, unit="s")
    if atol is not None and np.ndim(atol := real_array(atol, "atol")) == 0:
        atol = number(atol, "atol", above=0)
    if atol is None or np.ndim(atol) == 0:
        atol = _float(np.ones(nq + nv)) * _float(rtol if atol is None else atol)
    elif np.shape(atol) == (nq,) and nq == nv:
        atol = _float(np.tile(vector(atol, nq, "atol"), 2))
    else:
        atol = vector(atol, nq + nv, "atol (q and v together)")
    if is_concrete(atol) and not np.all(np.asarray(atol) > 0):
        raise ModelError(f"atol is {shown(np.asarray(atol))}, expected positive numbers.")
    # traced, so that fixed and variable steps share one program
    low, high = (1.0, 1.0) if step is not None else (SHRINK, GROW)
    return Tolerances(
        rtol=_float(rtol),
        atol=atol,
        accept=_float(0.0),
        residual=_float(residual),
        growth=(_float(low), _float(high)),
        longest=_float(longest_step),
        duration=_float(duration),
    )


def checked_rtol(rtol):
    """Return the relative error of a step, refused if float64 cannot resolve it."""
    return number(rtol, "rtol", least=LAST_DIGIT, most=1)


def accepted_violation(xp: ModuleType, flow: ConstrainedVectorField, rtol, step):
    """Return the largest violation [dimensionless] that a step may leave: a hundredth of its error,
    but at least a hundred times the violation after a projection; infinite without projection.

    Args:
        xp: `numpy`, or `jax.numpy` inside a program.
        flow, rtol, step: of the motion.
    """
    if not flow.drift.projects:
        return np.inf
    error = 0.01 * rtol if step is None else ACCEPTED_VIOLATION
    return xp.maximum(error, 100 * flow.target)


def _float(x) -> Array:
    """Return a number for a program, traced or concrete."""
    return x if isinstance(x, jax.Array) else host_array(x)
