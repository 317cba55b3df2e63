"""A model as a discrete-time system: a map from a state and an input to the next state."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PyTree

from zwang.analysis.inputs import Inputs, chosen_inputs
from zwang.dynamics.control_law import AbstractControlLaw
from zwang.dynamics.drift import Projection
from zwang.dynamics.equation_of_motion import Dynamics, Equation
from zwang.dynamics.initial_conditions import begin, refuse_non_finite, with_mass
from zwang.dynamics.model import Model
from zwang.dynamics.motion import contradiction
from zwang.dynamics.run_events import Events
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State
from zwang.errors import ModelError, Result, SimulationError
from zwang.inputs.arguments import count, instance, number, real_array, strategy
from zwang.inputs.arrays import is_concrete
from zwang.inputs.call import written
from zwang.inputs.text import counted
from zwang.learning.filter_setup import kalman_filter
from zwang.learning.kalman_filter import KalmanFilter
from zwang.objects.record import Record
from zwang.servo.loop import Applied
from zwang.simulation.differentiable import Differentiable, position_violation
from zwang.simulation.endings import blocked
from zwang.simulation.stepper import CONTRADICTED, FIXED_CORRECTIONS, Stepper, fixed_step
from zwang.simulation.switching import refuse_switches
from zwang.simulation.tolerances import step_tolerances
from zwang.simulation.watch import suited
from zwang.stepping import AbstractIntegrator, Tsit5
from zwang.stepping.step import Progress
from zwang.thresholds import ACCEPTED_VIOLATION, DEFAULT_RTOL, LARGEST_SIZE, MARGIN, ROUND_OFF


class HeldForce(Record):
    """`B u` for a constant input, in addition to the force of a servo.

    Attributes:
        actuation: B, shape (nv, nu), or (q, t, p) → B.
        u: the input, shape (nu,).
        servo: the model's own control law, or None.
    """

    actuation: Callable | ArrayLike
    u: Float[Array, " nu"]
    servo: AbstractControlLaw | None

    def choose(self, passive: Dynamics, eq: Equation) -> Applied:
        """The force that is added to F in the equation of motion."""
        s = eq.state
        B = self.actuation(s.q, s.t, passive.p) if callable(self.actuation) else self.actuation
        force = jnp.asarray(B) @ self.u
        if self.servo is not None:
            force = force + self.servo.choose(passive, eq).actuator_force
        return Applied(eq, self.u, force)


class Plant:
    """A discrete-time model with inputs: `x_{k+1} = f(x_k, u_k)`, with a zero-order hold of u.

        M v̇ = F + Q_c + B u,    constraints hold after every step

    `plant.step` is a pure function without data-dependent control flow, for `jax.jit`, `jax.vmap`,
    `jax.grad`, `jax.jacfwd` and `jax.lax.scan`. If constraints contradict each other, it returns
    NaN inside these transformations, and raises an error outside.

    Args:
        model: the model. A servo whose actuators are the inputs is removed; with other inputs it
            stays active, without knowledge of them.
        inputs: the meaning of u: names of parameters and velocities, a matrix B of shape (nv, nu)
            or a function `(q, t, p)` → B, or a `zw.Servo` for its actuators, as in
            `zw.analysis.linearize`. By default the actuators of the model's own servo.
        q0, v0: nominal initial state, shapes (nq,) and (nv,), projected onto the constraints; zeros
            by default.
        step: time between two inputs [s].
        substeps: number of integrator steps in this time.
        params: parameters that differ from the model's.
        integrator: an explicit integrator; `zw.methods.Tsit5()` by default.

    Attributes:
        input_names: name of each input.
        nominal: value of each input without an effect (the parameter's own value, or zero force),
            shape (nu,).
        start: the nominal initial state, a `State` with `.q`, `.v`, `.t`.
        source: the model as given; in `model`, a servo whose actuators are the inputs is removed.

    Raises:
        ModelError: without inputs; for an initial state that cannot be projected onto the
            constraints, or at which constraints contradict each other; and for an implicit
            integrator.

    Example:
        >>> plant = zw.Plant(model, inputs=["cart.x"], q0=q0, step=0.02)
        >>> state = jax.jit(plant.step)(plant.start, jnp.array([1.0]))
    """

    def __init__(
        self,
        model: Model,
        inputs: Callable | ArrayLike | None = None,
        q0=None,
        v0=None,
        *,
        step: float = 0.02,
        substeps: int = 1,
        params: PyTree = None,
        integrator: AbstractIntegrator | None = None,
    ):
        instance(model, Model, "Plant: model", "a zw.Model")
        refuse_switches(model, "a plant")
        strategy(integrator, AbstractIntegrator, "Plant: integrator", "zw.methods.Tsit5() ...")
        method = Tsit5() if integrator is None else integrator
        if method.implicit or not method.estimates:
            raise ModelError(
                f"Plant: {written(type(method).__name__)} is not an explicit Runge-Kutta method; "
                "take zw.methods.Tsit5(), zw.methods.Bosh3() or zw.methods.Dopri8()."
            )
        chosen = _inputs(model, params, inputs)
        servo = chosen.model.servo
        if servo is not None:
            servo.refuse_continuous()
        self.model, self.source = chosen.model, model
        self.input_names, self.nominal = chosen.names, np.asarray(chosen.nominal)
        self.length = number(step, "Plant: step", above=0.0, most=LARGEST_SIZE, unit="s")
        self.substeps = count(substeps, "Plant: substeps", least=1)
        self._inputs, self._method, self._params = chosen, method, params
        given = step_tolerances(model, DEFAULT_RTOL, None, self.length, np.inf, self.length)
        self._tolerances = given._replace(accept=jnp.asarray(ACCEPTED_VIOLATION))
        self._settle(q0, v0)

    def _settle(self, q0, v0) -> None:
        """Project the nominal initial state, and measure the scales of the model there."""
        system = self.model.system
        q0 = np.zeros(system.nq) if q0 is None else q0
        v0 = np.zeros(system.nv) if v0 is None else v0
        given = self.model.state(q0, v0)
        dynamics = with_mass(self.model, self.model.dynamics(self._params), given)
        found = begin(dynamics, given, self.length)
        refuse_non_finite(self.model, found)
        if not found.placement.converged:
            raise ModelError(
                f"{self.model.name}: no state on the constraints is found near the start of the "
                "plant; give q0= and v0= closer to one."
            )
        if not found.verdict.consistent:
            raise ModelError(
                f"{self.model.name}: {Result.INCONSISTENT.sentence}: "
                f"{contradiction(self.model, found.verdict.misses)}; a plant needs a start from "
                "which it can move."
            )
        self.start = jax.tree_util.tree_map(jnp.asarray, found.placement.state)
        dynamics, _ = suited(dynamics, found.verdict)
        self._dynamics = dataclasses.replace(dynamics, scales=found.scales)

    def __repr__(self) -> str:
        inputs = ", ".join(self.input_names[:6]) + (" …" if self.nu > 6 else "")
        method = f"{type(self._method).__name__}, {self.substeps} to a step"
        return (
            f"Plant of {self.model.name}: {counted(self.nu, 'input')} ({inputs}), "
            f"steps of {self.length:g} s by {method}"
        )

    def with_inputs(self, chosen: Inputs) -> Plant:
        """The same plant with other inputs of its model."""
        plant = copy.copy(self)
        plant._inputs, plant.input_names = chosen, chosen.names
        plant.nominal = np.asarray(chosen.nominal)
        return plant

    def kalman_filter(
        self,
        outputs,
        noise,
        *,
        force_noise=0.0,
        unknown: Mapping[str, ArrayLike] | None = None,
        spread_q=0.05,
        spread_v=0.05,
        unscented: bool = False,
    ) -> KalmanFilter:
        """A Kalman filter of the plant, whose estimate satisfies the constraints.

        Args:
            outputs: the quantities that are measured after each step: names of coordinates and
                velocities ("x rate" if a velocity has the name of a coordinate), or (q, v, t, p) →
                z.
            noise: standard deviations of z, a number or shape (m,), or its covariance (m, m).
            force_noise: standard deviations of random forces along the velocities, constant over a
                step and independent from step to step [N, N·m], a number or shape (nv,).
            unknown: inputs that are estimated as well, such as a disturbance or an unknown mass:
                velocity, along which a force acts [N, N·m], or parameter → standard deviation at
                the start, or a pair of this and the standard deviation of its change per second (a
                random walk).
            spread_q, spread_v: standard deviations of the initial state about that of the plant, a
                number or shape (nv,), before it is conditioned on the constraints.
            unscented: use sigma points in place of derivatives, for functions with a strong
                curvature within the spread.

        Returns:
            A `KalmanFilter`: `.step(estimate, u, z)`, a pure function, starting with `.start`, and
            `.run(u, z)` for many measurements; `zw.Loop(observer=...)` closes a loop with it.

        Raises:
            ModelError: for names that do not exist, or numbers of a wrong shape.

        Example:
            >>> filter = plant.kalman_filter(["crank.angle"], 1e-3, force_noise=0.1)
            >>> estimate = filter.step(filter.start, u, z)
            >>> estimate.state.q, estimate.deviation
        """
        return kalman_filter(
            self,
            outputs,
            noise,
            force_noise=force_noise,
            unknown=unknown,
            spread_q=spread_q,
            spread_v=spread_v,
            unscented=unscented,
        )

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.input_names)

    def step(self, state: State, u, params: PyTree = None) -> State:
        """The state after one step, on the constraints.

        Args:
            state: q, v and t, on the constraints.
            u: inputs, shape (nu,).
            params: parameters that differ from the plant's.

        Returns:
            The state. Its q and v are NaN if constraints contradict each other (a residual of `A v̇
            = b` above 1e-5 of the accelerations in it), if they cannot be satisfied after the step
            (a dimensionless violation above 1e-6), or if the motion is not finite.

        Raises:
            SimulationError: in these cases, outside `jit`, `vmap` and `grad`, with the names of the
                violated constraints.
        """
        after, code, last = self._advanced(state, u, params)
        if is_concrete(code) and code != Result.SUCCESS:
            result = Result(int(code))
            raise SimulationError(self._said(result, last, u, params), result)
        return after

    def reason(self, state: State, u, params: PyTree = None) -> str:
        """The reason why `step` fails at this state, in words; "" if it does not fail. It serves
        for states returned by a compiled program; the arguments are those of `step`.
        """
        _, code, last = self._advanced(state, u, params)
        if not is_concrete(code) or np.ndim(code):
            raise ModelError(
                "Plant.reason looks at one state on the host: return the state from the compiled "
                "program, and take one by its index."
            )
        result = Result(int(code))
        return "" if result is Result.SUCCESS else self._said(result, last, u, params)

    def _advanced(self, state: State, u, params: PyTree) -> tuple[State, Any, State]:
        """The state after one step, NaN after a failure; a `Result` code; and the last state before
        a failure.
        """
        flow = self._flow(u, params)
        begun = State(*(jnp.asarray(x, float) for x in state))
        off = position_violation(flow.dynamics, begun)
        # for a state that violates its constraints, redundant rows may disagree in proportion to
        # the violation
        tolerances = self._tolerances._replace(residual=CONTRADICTED + MARGIN * off)
        run = Stepper(flow, self._method, Events((), ()), tolerances, self.substeps + 1)
        h = jnp.asarray(self.length / self.substeps)
        y = jnp.concatenate([begun.q, begun.v])
        start = Progress.begun(begun.t, y, h, jnp.zeros(0))
        at = begun.t + h * jnp.arange(self.substeps), jnp.full(self.substeps, h)
        step = functools.partial(fixed_step, run)
        (p, last), _ = jax.lax.scan(step, (start, begun), at)
        return flow.state(p.t, p.y), p.result, last

    def _said(self, result: Result, last: State, u, params: PyTree) -> str:
        """The reason why a step fails, in words."""
        t, y, detail = float(last.t), np.concatenate([np.asarray(last.q), np.asarray(last.v)]), ""
        if result is not Result.NON_FINITE and np.all(np.isfinite(y)):
            # a contradiction of constraints does not depend on forces
            flow = self._without_force(u, params)
            result, detail = blocked(self.model, flow, t, y, self.length / self.substeps)
        # the fixed number of corrections may not suffice after a step that is too long
        shorter = "; if they can, give a shorter step=, or more substeps="
        return (
            f"{self.model.name}: no step from t = {t:.6g} s: {result.sentence}"
            f"{f': {detail}' if detail else ''}"
            f"{shorter if result is Result.NOT_CONVERGED else ''}"
        )

    def place(self, state: State, params: PyTree = None) -> State:
        """A state projected onto the constraints in the mass metric; a pure function."""
        dynamics = self._flow(self.nominal, params).dynamics
        nothing = jnp.zeros_like(state.q), jnp.zeros_like(state.v)
        target = jnp.asarray(ROUND_OFF)
        return Projection().project_step(dynamics, state, nothing, target).state

    def parameters(self, u=None, params: PyTree = None) -> PyTree:
        """p as passed to the model's functions, including the inputs."""
        return self.model.parameters(self._merged(self.nominal if u is None else u, params))

    def _merged(self, u, params: PyTree) -> PyTree:
        known, given = self._params, params
        if isinstance(known, dict) and isinstance(given, dict):
            given = {**known, **given}
        given = known if given is None else given
        merged = self.model.params if given is None else self.model.merged(given)
        if not self._inputs.parameters:
            return merged
        # the value of an input takes precedence over a given parameter
        merged = dict(merged)
        for value, (name, i) in zip(jnp.asarray(u), self._inputs.parameters, strict=False):
            entry = jnp.asarray(merged[name], float)
            merged[name] = entry.ravel().at[i].set(value).reshape(entry.shape)
        return merged

    def _flow(self, u, params: PyTree) -> ConstrainedVectorField:
        u = jnp.asarray(real_array(u, "Plant: u"), float)
        if is_concrete(u) and not np.all(np.isfinite(u)):
            raise ModelError(f"Plant: u is {np.asarray(u)}, expected finite numbers.")
        if u.shape != (self.nu,):
            raise ModelError(
                f"Plant: u has shape {u.shape}, expected ({self.nu},), a number for each of "
                f"{', '.join(self.input_names)}; many at once go through jax.vmap(plant.step)."
            )
        chosen, flow = self._inputs, self._without_force(u, params)
        if chosen.actuation is None:
            return flow
        law = HeldForce(chosen.actuation, u[len(chosen.parameters) :], self.model.servo)
        return dataclasses.replace(flow, dynamics=dataclasses.replace(flow.dynamics, law=law))

    def _without_force(self, u, params: PyTree) -> ConstrainedVectorField:
        dynamics = dataclasses.replace(self._dynamics, p=self.parameters(u, params))
        drift = Differentiable(Projection(), FIXED_CORRECTIONS)
        return ConstrainedVectorField(dynamics, drift, jnp.asarray(ROUND_OFF))


def _inputs(model: Model, params, given: object) -> Inputs:
    given = model.servo if given is None else given
    if given is None:
        raise ModelError(
            f"{model.name} has no servo whose actuators could be the inputs of a plant; give "
            "inputs=, names of parameters or velocities, or a matrix B."
        )
    found = chosen_inputs(model, params, given)
    if not found.names:
        raise ModelError("Plant: inputs is empty, expected at least one input.")
    return found
