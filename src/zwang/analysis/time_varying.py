"""The linearization along a trajectory, in a basis that moves with the least rotation, and gains of
a linear-quadratic regulator, from the Riccati equation backward in time.

    −Ṡ = Aᵀ S + S A − S B R⁻¹ Bᵀ S + Cᵀ Q C,    K(t) = R⁻¹ Bᵀ S

The final S is that of the regulator about the final state, or the weights if that state is not
controllable. Between samples the equation is solved exactly for constant coefficients, equal to
their means, `[X; Y](t) = exp(−H h) [I; S]`, `S(t) = Y X⁻¹`.

Source: Anderson and Moore (1990), Optimal Control: Linear Quadratic Methods, sections 2.3 and 3.1;
    Kwakernaak and Sivan (1972), Linear Optimal Control Systems, section 3.5 (the Hamiltonian).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.spectrum import exponential, riccati
from zwang.analysis.constrained_state import (
    TangentSpace,
    on_constraints,
    refuse_friction,
    solve,
    turned_like,
)
from zwang.analysis.inputs import Inputs, chosen_outputs
from zwang.analysis.linear_system import matrices
from zwang.analysis.linearize import coefficients, state_names
from zwang.analysis.result import AbstractResult, dataset_of
from zwang.dynamics import functions
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import real_array
from zwang.inputs.text import counted
from zwang.servo.feedback import Feedback
from zwang.servo.limits import Limits
from zwang.servo.tracking import SPLINE_DEGREE, Tracking, piecewise

if TYPE_CHECKING:
    import xarray as xr


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TimeVaryingLinearization(AbstractResult):
    """`ż = A(t) z + B(t) u` along a trajectory.

    Attributes:
        model, t, q, v: the trajectory, t of shape (samples,).
        A, B, C, D: as in a `Linearization`, with a leading axis of samples.
        basis: T, shape (samples, 2 nv, n): (ξ, δv) = T z; it moves by `Yᵀ M Ẏ = −½ Yᵀ Ṁ Y`.
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

        Computed by the fourth-order Magnus formula with A interpolated by cubic splines; the
        distance of the samples limits the accuracy.
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
    made, before, states = [], None, ()
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
        found = coefficients(here, d, tangent, acting, function, True)[:4]
        made.append((*found, tangent.basis, tangent.project))
        states = state_names(system.velocities, tangent) if i == 0 else states
    A, B, C, D, T, back = (np.array(x) for x in zip(*made, strict=True))
    return TimeVaryingLinearization(
        model, t, q, v, A, B, C, D, T, back, states, acting.names, names
    )


def carried(tangent: TangentSpace, before: TangentSpace | None) -> TangentSpace:
    """The tangent space in the basis with the least rotation from the previous one.

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


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TrackingRegulator(AbstractResult):
    """A feedback that tracks a trajectory, `u = u(t) − K_q (q − q(t)) − K_v (v − v(t))`.

    Attributes:
        linearization: along the trajectory.
        K_q, K_v: gains at the samples, shapes (samples, nu, nq) and (samples, nu, nv).
        cost: S at the samples, shape (samples, n, n).
    """

    linearization: TimeVaryingLinearization
    K_q: np.ndarray
    K_v: np.ndarray
    cost: np.ndarray

    def feedback(
        self,
        actuation,
        u=None,
        *,
        motion: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
        joints: Sequence[float] = (),
        limits: Limits | None = None,
    ) -> Feedback:
        """The regulator as a control law, for `zw.Model(..., servo=...)` and `zw.Loop`.

        Args:
            actuation: as in `zw.Servo`.
            u: control of the trajectory at the samples, shape (samples, nu); zero by default.
            motion: t, q and v at the samples of u, if these are closer than the samples of the
                gains.
            joints: those samples at which the trajectory is less smooth, for example where a path
                begins.
            limits: of the actuators.

        Raises:
            ModelError: for controls of another shape.
        """
        at = self.linearization
        t, q, v = (at.t, at.q, at.v) if motion is None else motion
        shape = len(t), len(at.inputs)
        given = np.zeros(shape) if u is None else np.asarray(real_array(u, "feedback: u"))
        if given.shape != shape:
            raise ModelError(f"feedback: u has shape {given.shape}, expected {shape}.")
        reference = np.concatenate([given, q, v], axis=1)
        gains = np.concatenate([self.K_q, self.K_v], axis=2)
        law = Tracking(
            jnp.asarray(t),
            jnp.asarray(piecewise(t, reference, SPLINE_DEGREE, joints)),
            jnp.asarray(at.t),
            jnp.asarray(piecewise(at.t, gains.reshape(len(at.t), -1), 1, ())),
        )
        return Feedback(law, actuation, actuators=at.inputs, limits=limits)

    @property
    def dataset(self) -> xr.Dataset:
        """Gains over time with their names."""
        at = self.linearization
        data = {
            "K_q": (("time", "input", "coordinate"), self.K_q),
            "K_v": (("time", "input", "velocity"), self.K_v),
        }
        return dataset_of(at.model, data, {"time": at.t, "input": list(at.inputs)})

    def __str__(self) -> str:
        at = self.linearization
        return (
            f"{at.model.name}: regulator along a trajectory of {len(at.t)} samples from "
            f"t = {at.t[0]:.6g} s to {at.t[-1]:.6g} s, {counted(len(at.inputs), 'input')} on "
            f"{counted(at.A.shape[1], 'state')}; largest gain "
            f"{max(np.max(np.abs(self.K_q)), np.max(np.abs(self.K_v))):.4g}"
        )


def tracking_regulator(
    at: TimeVaryingLinearization, output: np.ndarray, effort: np.ndarray
) -> TrackingRegulator:
    """`zw.analysis.lqr` along a trajectory, with weights as matrices."""
    weights = np.swapaxes(at.C, 1, 2) @ output @ at.C
    easy = Decomposition(effort).inverse
    try:
        S = riccati(at.A[-1], at.B[-1], weights[-1], effort)[0]
    except np.linalg.LinAlgError:
        S = weights[-1]
    found = [S]
    for k in range(len(at.t) - 2, -1, -1):
        A, B, W = (0.5 * (x[k] + x[k + 1]) for x in (at.A, at.B, weights))
        H = np.block([[A, -B @ easy @ B.T], [-W, -A.T]])
        n = len(A)
        back = exponential(-H * (at.t[k + 1] - at.t[k])) @ np.vstack([np.eye(n), S])
        S = back[n:] @ Decomposition(back[:n]).inverse
        S = 0.5 * (S + S.T)
        found.append(S)
    cost = np.array(found[::-1])
    if not np.all(np.isfinite(cost)):
        raise ModelError(
            "lqr: the Riccati equation along the trajectory has no solution; give closer samples."
        )
    gains = easy @ np.swapaxes(at.B, 1, 2) @ cost @ at.project
    system, p, nv = at.model.system, at.model.parameters(), at.model.system.nv
    N = lambda q, t: np.asarray(functions.velocity_map(system, jnp.asarray(q), t, p))
    back = np.array([Decomposition(N(*x)).inverse for x in zip(at.q, at.t, strict=True)])
    return TrackingRegulator(at, gains[:, :, :nv] @ back, gains[:, :, nv:], cost)
