"""The linearization along a trajectory: coefficients that change with time, in a basis that is
carried along with the least turning.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import PyTree

from zwang.algebra.spectrum import exponential
from zwang.analysis.constrained_state import on_constraints, refuse_friction, solve
from zwang.analysis.inputs import Inputs, chosen_outputs
from zwang.analysis.linear_system import matrices
from zwang.analysis.linearize import (
    generator_of_deviations,
    input_accelerations,
    moving_frame,
    state_names,
)
from zwang.analysis.local_equations import output_slopes
from zwang.analysis.result import AbstractResult
from zwang.analysis.tangent_space import TangentSpace, turned_like
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import real_array
from zwang.inputs.text import counted

if TYPE_CHECKING:
    import xarray as xr


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TimeVaryingLinearization(AbstractResult):
    """`ż = A(t) z + B(t) u` along a trajectory.

    Attributes:
        model, t, q, v: the trajectory, t of shape (samples,).
        A, B, C, D: as of a `Linearization`, with a leading axis of samples.
        basis: T, shape (samples, 2 nv, n): (ξ, δv) = T z, carried along by `Yᵀ M Ẏ = −½ Yᵀ Ṁ Y`.
        project: T⁺, shape (samples, n, 2 nv).
        states, inputs, outputs: names; states as at the first sample.
    """

    model: Model
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    basis: np.ndarray
    project: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def transition(self) -> np.ndarray:
        """Φ(t, t₀) at the samples, shape (samples, n, n): `Φ̇ = A Φ`, Φ = I at first.

        By the fourth-order formula of Magnus with A interpolated by cubic splines, so that the
        samples' distance limits the accuracy.
        """
        import scipy.interpolate

        found = [np.eye(self.A.shape[1])]
        A = scipy.interpolate.CubicSpline(self.t, self.A)
        for start, end in zip(self.t, self.t[1:], strict=False):
            h, middle, apart = end - start, 0.5 * (start + end), (end - start) * np.sqrt(3) / 6
            first, second = A(middle - apart), A(middle + apart)
            turn = np.sqrt(3) / 12 * h**2 * (second @ first - first @ second)
            found.append(exponential(0.5 * h * (first + second) + turn) @ found[-1])
        return np.array(found)

    @property
    def dataset(self) -> xr.Dataset:
        """Matrices over time with their names."""
        found = matrices(self, "time").assign_coords(time=self.t)
        return found.assign_attrs(model=self.model.name)

    def __str__(self) -> str:
        return (
            f"{self.model.name}: linearized along a trajectory of {len(self.t)} samples from "
            f"t = {self.t[0]:.6g} s to {self.t[-1]:.6g} s: {counted(self.A.shape[1], 'state')}, "
            f"{counted(len(self.inputs), 'input')}, {counted(len(self.outputs), 'output')}"
        )


def linearize_along(
    model: Model, dynamics: Dynamics, q, v, t, acting: Inputs, outputs: PyTree
) -> TimeVaryingLinearization:
    """`zw.analysis.linearize` for samples of a trajectory."""
    system = model.system
    q, v, t = (
        np.asarray(real_array(x, f"linearize: {n}")) for x, n in ((q, "q"), (v, "v"), (t, "t"))
    )
    if q.shape[1:] != (system.nq,) or v.shape != (len(q), system.nv) or t.shape != (len(q),):
        raise ModelError(
            f"linearize: a trajectory has q of shape {q.shape}, v {v.shape} and t {t.shape}, "
            f"expected (samples, {system.nq}), (samples, {system.nv}) and (samples,), such as "
            "run.q, run.v and run.t."
        )
    function, names = chosen_outputs(model, outputs)
    made, before = [], None
    for i in range(len(t)):
        s = on_constraints(dynamics, q[i], v[i], t[i])
        if s is None:
            raise ModelError(f"linearize: sample {i} of the trajectory is not on the constraints.")
        if i == 0:
            refuse_friction(model, dynamics, s)
        here = solve(dynamics, s)
        d = here.varied(None, acting.directions)
        tangent = carried(here.tangent_by(d), before)
        before = tangent
        T, back = tangent.basis, tangent.project
        A = back @ generator_of_deviations(here, d) @ T + moving_frame(here, tangent)
        B = back[:, system.nv :] @ input_accelerations(here, d, acting)
        C, D = (np.asarray(x) for x in output_slopes(dynamics, s, function, acting.directions))
        D = np.hstack([D, np.zeros((len(C), B.shape[1] - D.shape[1]))])
        made.append((A, B, C @ T, D, T, back, state_names(system.velocities, tangent)))
    A, B, C, D, T, back = (np.array([x[k] for x in made]) for k in range(6))
    names = names if names is not None else tuple(f"y{i}" for i in range(C.shape[1]))
    return TimeVaryingLinearization(
        model, t, q, v, A, B, C, D, T, back, made[0][6], acting.names, names
    )


def carried(tangent: TangentSpace, before: TangentSpace | None) -> TangentSpace:
    """The same space in the basis that is turned least from the one before.

    Raises:
        ModelError: if the number of free directions has changed.
    """
    if before is None:
        return tangent
    if before.n != tangent.n or before.W.shape != tangent.W.shape:
        raise ModelError(
            "linearize: the number of free directions changes along the trajectory (a singular "
            "configuration); linearize the parts before and after by themselves."
        )
    return turned_like(tangent, before)
