"""`zw.analysis.lqr`: gains of a linear-quadratic regulator on the full coordinates."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, overload

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike
from jaxtyping import PyTree

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.spectrum import eigenvalues, principal, riccati
from zwang.analysis.linear_system import LinearSystem
from zwang.analysis.linearize import Linearization
from zwang.analysis.result import AbstractResult, dataset_of, eigenvalue_picture
from zwang.analysis.symmetry import MovingAxes, axes_of
from zwang.analysis.time_varying import (
    TimeVaryingLinearization,
    TrackingRegulator,
    tracking_regulator,
)
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import instance, real_array
from zwang.inputs.call import misfits_named
from zwang.inputs.text import counted
from zwang.objects.record import replace
from zwang.plots.script import opens_in_scripts
from zwang.servo.feedback import Feedback
from zwang.servo.limits import Limits
from zwang.servo.tracking import LinearFeedback
from zwang.thresholds import AGREEMENT, SOLUTION_ERROR

if TYPE_CHECKING:
    import xarray as xr

    from zwang.analysis.linear_sensitivity import Gains
    from zwang.plots import Picture


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Regulator(AbstractResult):
    """A state feedback `u = u₀ − K_q (q − q₀) − K_v (v − v₀)`; `str()` prints it. About a steady
    motion the deviation is measured in moving axes (`symmetry.py`).

    Attributes:
        linearization: the linearization that it was designed for.
        K: gains on the minimal state z, shape (nu, n).
        K_q, K_v: the same gains on the full coordinates and velocities, shapes (nu, nq) and
            (nu, nv): `K T⁺` with `ξ = N⁺ (q − q₀)`.
        cost: solution S of the Riccati equation, shape (n, n): zᵀ S z is the cost to go; about a
            steady motion for the states of `linearization.reduced()`, without symmetries.
        poles: eigenvalues of the closed loop A − B K [1/s], without symmetries.
        axes: moving axes of a steady motion; None at an equilibrium.
        weights: Q and R as matrices.
    """

    linearization: Linearization
    K: np.ndarray
    K_q: np.ndarray
    K_v: np.ndarray
    cost: np.ndarray
    poles: np.ndarray
    axes: MovingAxes | None
    weights: tuple[np.ndarray, np.ndarray] = dataclasses.field(repr=False)

    def __call__(self, q, v, t=0.0, p=None) -> Array:
        """u at a state, usable inside any program. t matters only about a steady motion, p
        never.
        """
        at = self.linearization
        if self.axes is not None:
            xi, dv = self.axes.deviation(q, v, t)
            away = self.K @ at.project @ jnp.concatenate([xi, dv])
            return jnp.asarray(at.nominal_inputs) - away
        return self._law(q, v, t, p)

    @property
    def _law(self) -> LinearFeedback:
        at = self.linearization
        given = at.nominal_inputs, self.K_q, self.K_v, at.q, at.v
        return LinearFeedback(*map(jnp.asarray, given))

    def gains(self, params: PyTree, v: ArrayLike | None = None) -> Gains:
        """K_q and K_v as functions of parameters; inside `jax.grad` and `jit`. The equilibrium or
        the steady motion changes with the parameters. Values and first derivatives are exact at the
        parameters of this result.

        Args:
            params: as in `zw.analysis.linearize`.
            v: velocities of the steady motion, shape (nv,), as in `Modes.eigenvalues`.

        Raises:
            ModelError: for outputs other than coordinates and velocities.
        """
        from zwang.analysis.linear_sensitivity import gains

        return gains(self, params, v)

    def feedback(self, limits: Limits | None = None) -> Feedback:
        """The regulator as a control law, for `zw.Model(..., servo=...)` and `zw.Loop`.

        Args:
            limits: of the inputs.

        Raises:
            ModelError: if an input is a parameter, because a parameter is not an actuator.
        """
        at = self.linearization
        if at.acting.parameters:
            raise ModelError(
                f"{at.model.name}: input {at.inputs[0]!r} is a parameter, but a control law acts "
                "by forces: give zw.analysis.linearize velocities or a matrix as inputs."
            )
        function = self if self.axes is not None else self._law
        return Feedback(
            function,
            at.acting.actuation,
            actuators=at.inputs,
            actuator_units=at.acting.units,
            limits=limits,
        )

    @property
    def model(self) -> Model:
        """The model with the feedback included, for simulation and analysis."""
        return closed_loop(self)

    @property
    def dataset(self) -> xr.Dataset:
        """Gains and poles with their names."""
        poles, unit = self.poles, {"units": "1/s"}
        data = {
            "K_q": (("input", "coordinate"), self.K_q),
            "K_v": (("input", "velocity"), self.K_v),
            "poles_real": ("pole", np.real(poles), unit),
            "poles_imaginary": ("pole", np.imag(poles), unit),
        }
        at = self.linearization
        return dataset_of(at.model, data, {"input": list(at.inputs)})

    @opens_in_scripts
    def plot(self) -> Picture:
        """Plot the eigenvalues of the model without and with the regulator."""
        at = self.linearization
        return eigenvalue_picture(
            [at.eigenvalues, self.poles], ["open", "closed loop"], f"{at.model.name}: eigenvalues"
        )

    def __str__(self) -> str:
        at = self.linearization
        slowest = -float(np.max(np.real(self.poles), initial=-np.inf))
        lines = [
            f"{at.model.name}: regulator with {counted(len(at.inputs), 'input')} on "
            f"{counted(len(at.A), 'state')}, "
            f"slowest pole {slowest:.4g} 1/s; δ is a deviation from the state it was made for"
        ]
        names = [*at.model.system.coordinates, *(f"{x} rate" for x in at.model.system.velocities)]
        gains = np.hstack([self.K_q, self.K_v])
        for name, nominal, row in zip(at.inputs, at.nominal_inputs, gains, strict=True):
            shown = [
                f"{'−' if x > 0 else '+'} {abs(x):.4g} δ({n})"
                for n, x in zip(names, row, strict=True)
                if abs(x) > SOLUTION_ERROR
            ]
            lines.append(f"  {name} = {' '.join([f'{float(nominal):.4g}', *shown])}")
        return "\n".join(lines)


@overload
def lqr(linearization: Linearization, Q=None, R=None) -> Regulator: ...
@overload
def lqr(linearization: TimeVaryingLinearization, Q=None, R=None) -> TrackingRegulator: ...
@misfits_named
def lqr(
    linearization: Linearization | TimeVaryingLinearization, Q=None, R=None
) -> Regulator | TrackingRegulator:
    """Gains that minimize a quadratic cost of outputs and inputs.

        ∫ (δyᵀ Q δy + δuᵀ R δu) dt → min,    δu = −K z,    K = R⁻¹ Bᵀ S,
        Aᵀ S + S A − S B R⁻¹ Bᵀ S + Cᵀ Q C = 0

    Args:
        linearization: of an equilibrium or a steady motion, with inputs:
            `zw.analysis.linearize(model, q, inputs=[…])`. About a steady motion the gains act on
            deviations in moving axes and do not control the position along its symmetries. For a
            linearization along a trajectory, the gains depend on time.
        Q: weights of the outputs, a number, shape (ny,), or a matrix (ny, ny); the identity by
            default. The outputs are all coordinates and velocities unless `zw.analysis.linearize`
            was given others.
        R: weights of the inputs in the same way, positive.

    Returns:
        A `Regulator`: its gains act on the full coordinates, and `.model` is the closed loop; for a
        trajectory a `TrackingRegulator`.

    Raises:
        ModelError: without inputs; at a state that is neither an equilibrium nor a steady motion;
            for weights of a wrong shape; and, with its name, if a state that does not decay is not
            controllable.

    Example:
        >>> linear = zw.analysis.linearize(model, q, inputs=["force"])
        >>> regulator = zw.analysis.lqr(linear, Q=1.0, R=0.1)
        >>> run = zw.simulate(regulator.model, q0, v0, duration=10.0)

    Reference: Anderson and Moore (1990), Optimal Control: Linear Quadratic Methods, chapter 3.
    """
    kinds = (Linearization, TimeVaryingLinearization)
    at = instance(linearization, kinds, "lqr: linearization", "zw.analysis.linearize(...)")
    if not at.inputs:
        raise ModelError(
            "lqr: the linearization has no inputs; give inputs= to zw.analysis.linearize."
        )
    if isinstance(at, TimeVaryingLinearization):
        return tracking_regulator(at, *_weights(at, Q, R))
    steady = at.kind == "steady motion"
    if at.kind == "moving state":
        raise ModelError(
            "lqr: the linearization is about a moving state, expected an equilibrium or a steady "
            "motion: a gain on the coordinates themselves would return it to the old position."
        )
    system = at.reduced() if steady else at
    output, effort = _weights(at, Q, R)
    _refuse_unstabilizable(system)
    A, B, C = system.A, system.B, system.C
    try:
        S, K = riccati(A, B, C.T @ output @ C, effort)
    except np.linalg.LinAlgError:
        raise ModelError(
            "lqr: the Riccati equation has no solution: a state on the imaginary axis is neither "
            "controllable nor observable through Q; weight it by Q."
        ) from None
    poles = eigenvalues(A - B @ K)
    if steady and at.neutral.shape[1]:
        K = K @ at.across.T
    gains = K @ at.project
    nv = at.model.system.nv
    back = Decomposition(at.here.local.N).inverse
    axes = axes_of(at) if steady else None
    return Regulator(at, K, gains[:, :nv] @ back, gains[:, nv:], S, poles, axes, (output, effort))


def _weights(at: Linearization | TimeVaryingLinearization, Q, R) -> tuple[np.ndarray, np.ndarray]:
    output, effort = _weight(Q, "Q", at.outputs), _weight(R, "R", at.inputs)
    if principal(effort)[0][0] <= 0:
        raise ModelError(
            "lqr: R has an eigenvalue that is not positive; R must be positive definite."
        )
    if principal(output)[0][0] < -SOLUTION_ERROR * np.max(np.abs(output)):
        raise ModelError("lqr: Q has a negative eigenvalue; Q must be positive semidefinite.")
    return output, effort


def _weight(given, name: str, entries: tuple[str, ...]) -> np.ndarray:
    """A symmetric matrix from a number, a diagonal or a matrix."""
    n = len(entries)
    weight = np.asarray(real_array(1.0 if given is None else given, f"lqr: {name}"))
    if not np.all(np.isfinite(weight)):
        raise ModelError(f"lqr: {name} holds NaN or infinity, expected finite numbers.")
    if weight.ndim == 0:
        return float(weight) * np.eye(n)
    if weight.shape == (n,):
        return np.diag(weight)
    if weight.shape != (n, n):
        raise ModelError(
            f"lqr: {name} has shape {weight.shape}, expected a number, ({n},) or ({n}, {n}), in "
            f"the order of {', '.join(entries[:8])}{' …' if n > 8 else ''}."
        )
    if not np.allclose(weight, weight.T, atol=SOLUTION_ERROR * np.max(np.abs(weight))):
        raise ModelError(f"lqr: {name} is not symmetric.")
    return weight


def _refuse_unstabilizable(at: LinearSystem) -> None:
    """Raise if a state that does not decay is not controllable."""
    reach = at.controllability()
    rest = reach.directions
    if rest.shape[1] and eigenvalues(rest.T @ at.A @ rest)[0].real > -AGREEMENT:
        raise ModelError(
            f"lqr: the inputs do not reach {', '.join(map(repr, reach.missing))}, which does not "
            "decay by itself; add an input that does."
        )


def closed_loop(regulator: Regulator) -> Model:
    """The model with inputs computed by the regulator: as its control, whose values a run records
    and a `zw.Loop` samples, unless parameters are inputs or the model has a control already.
    """
    at = regulator.linearization
    acting = at.acting
    model, system = acting.model, acting.model.system
    parameters, k = acting.parameters, len(acting.parameters)
    members, name = model.constraints.members, f"{model.name} with regulator"
    if not parameters and model.servo is None:
        return Model(
            system,
            members,
            model.params,
            servo=regulator.feedback(),
            singular_mass=model.singular_mass,
            name=name,
        )

    def force(q, v, t, p):
        u = regulator(q, v, t)
        given = dict(p) if parameters else p
        for (name, i), value in zip(parameters, u[:k], strict=True):
            x = jnp.asarray(given[name], float)
            given[name] = x.reshape(-1).at[i].set(value).reshape(x.shape)
        B = jnp.asarray(acting.matrix(q, t, p))
        return jnp.asarray(system.force(q, v, t, given)) + B @ u[k:]

    made = replace(system, force=force)
    return Model(
        made,
        members,
        model.params,
        servo=model.servo,
        singular_mass=model.singular_mass,
        name=name,
    )
