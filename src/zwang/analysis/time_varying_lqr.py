"""Gains of a linear-quadratic regulator along a trajectory, by the Riccati equation backward.

    −Ṡ = Aᵀ S + S A − S B R⁻¹ Bᵀ S + Cᵀ Q C,    K(t) = R⁻¹ Bᵀ S

At the end S is that of the state there, held for ever, or the weights where the inputs do not reach
all of it. Between samples the equation is solved exactly for coefficients that are held at their
mean, `[X; Y](t) = exp(−H h) [I; S]`, `S(t) = Y X⁻¹`.

Source: Anderson and Moore (1990), Optimal Control: Linear Quadratic Methods, sections 2.3 and 3.1;
    Kwakernaak and Sivan (1972), Linear Optimal Control Systems, section 3.5 (the Hamiltonian).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.spectrum import exponential, riccati
from zwang.analysis.result import AbstractResult, dataset_of
from zwang.analysis.time_varying import TimeVaryingLinearization
from zwang.dynamics import functions
from zwang.errors import ModelError
from zwang.inputs.arguments import real_array
from zwang.inputs.text import counted
from zwang.objects.record import Record
from zwang.servo.feedback import Feedback
from zwang.servo.limits import Limits

if TYPE_CHECKING:
    import xarray as xr

SPLINE_DEGREE = 9
"""Degree of the splines between samples of a trajectory, so that its error is as small as that of
the steps that made it."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TrackingRegulator(AbstractResult):
    """A feedback that leads back to a trajectory, `u = u(t) − K_q (q − q(t)) − K_v (v − v(t))`.

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
        """The same as a control law, for `zw.Model(..., servo=...)` and `zw.Loop`.

        Args:
            actuation: as in `zw.Servo`.
            u: control of the trajectory at the samples, shape (samples, nu); zero by default.
            motion: t, q and v at closer samples than those of the gains, where u is given.
            joints: instants at which the trajectory is less smooth, as where a path begins; among
                the samples.
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


class Tracking(Record):
    """A control along a trajectory with gains, between samples by polynomials.

    Attributes:
        t: the samples.
        reference: coefficients of u, q and v over (t − t_k), the highest power first, shape
            (samples − 1, degree + 1, nu + nq + nv).
        t_gains, gains: the same of K_q and K_v, flat.
    """

    t: Float[Array, " samples"]
    reference: Float[Array, "pieces powers values"]
    t_gains: Float[Array, " times"]
    gains: Float[Array, "steps powers gains"]

    def __call__(self, q, v, t, p):
        along, gains = _at(self.t, self.reference, t), _at(self.t_gains, self.gains, t)
        nu = len(along) - len(q) - len(v)
        away = jnp.concatenate([q, v]) - along[nu:]
        return along[:nu] - gains.reshape(nu, -1) @ away


def _at(samples, pieces: Float[Array, "pieces powers values"], t) -> Float[Array, " values"]:
    """Piecewise polynomials at a time, held before the first sample and after the last one."""
    time = jnp.clip(t, samples[0], samples[-1])
    k = jnp.clip(jnp.sum(time >= samples) - 1, 0, len(samples) - 2)
    coefficients, x = pieces[k], time - samples[k]
    found = coefficients[0]
    for c in coefficients[1:]:
        found = found * x + c
    return found


def piecewise(
    t: np.ndarray, y: np.ndarray, degree: int, joints: Sequence[float]
) -> Float[np.ndarray, "pieces powers values"]:
    """Polynomials between samples, of splines that are smooth but at joints.

    Args:
        t: samples, shape (samples,).
        y: values, shape (samples, values).
        degree: of the splines, an odd number.
        joints: some of the samples.
    """
    from scipy.interpolate import make_interp_spline

    ends = [0, *sorted({int(np.argmin(np.abs(t - x))) for x in joints} - {0, len(t) - 1})]
    made = []
    for first, last in zip(ends, [*ends[1:], len(t) - 1], strict=True):
        x, values = t[first : last + 1], y[first : last + 1]
        of_degree = min(degree, len(x) - 1 if len(x) % 2 == 0 else len(x) - 2) if degree > 1 else 1
        spline = make_interp_spline(x, values, k=max(of_degree, 1))
        # Taylor's coefficients at the left end of each piece
        powers, factor = [], 1.0
        for k in range(degree + 1):
            factor *= max(k, 1)
            powers.append(spline(x[:-1], k) / factor if k <= spline.k else 0.0 * values[:-1])
        made.append(np.stack(powers[::-1], axis=1))
    return np.concatenate(made)


def tracking_regulator(
    at: TimeVaryingLinearization, output: np.ndarray, effort: np.ndarray
) -> TrackingRegulator:
    """`zw.analysis.lqr` along a trajectory, for weights as matrices."""
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
    nv = at.model.system.nv
    back = np.array([_velocities_of(at, k) for k in range(len(at.t))])
    return TrackingRegulator(at, gains[:, :, :nv] @ back, gains[:, :, nv:], cost)


def _velocities_of(at: TimeVaryingLinearization, k: int) -> np.ndarray:
    """N⁺ at a sample."""
    system, p = at.model.system, at.model.parameters()
    if system.velocity_map is None:
        return np.eye(system.nv, system.nq)
    q = jnp.asarray(at.q[k])
    return Decomposition(np.asarray(functions.velocity_map(system, q, at.t[k], p))).inverse
