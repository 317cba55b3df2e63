"""A closed loop that is not ideal: sampled, delayed, noisy, or with another model in the
controller.

At the instants t_k = t₀ + k T the controller measures q and v with noise and computes u_k with its
own model. u_k acts from t_k + delay until the next control does. All this is part of one compiled
program of the run: sample time, delay, noise, seed and parameters are arrays, and other values of
them need no new compilation. A loop with noise is another program than a loop without.
"""

from __future__ import annotations

import abc
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from zwang.dynamics.control_law import AbstractControlLaw, AbstractLoop, AbstractSampler, Control
from zwang.dynamics.equation_of_motion import Dynamics, Equation
from zwang.dynamics.model import Model
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import count, instance, number, optional, real_array
from zwang.inputs.arrays import host_array, judged_parameters
from zwang.objects.record import AbstractVar, Record, field, replace

ON_THE_WAY = 32
"""Largest number of controls in transit from the controller to the actuators; a delay may be up to
this times the sample time.
"""
SAME_INSTANT = 1e-9
"""Instants closer than this times the sample time count as equal, because t₀ + k T + delay can
differ from another sample by round-off.
"""


class Loop(AbstractLoop):
    """Settings of a closed loop that is not ideal: `zw.simulate(model, ..., loop=zw.Loop(...))`.

    The controller computes with the simulated model, unless `params` or `model` gives it another
    one.

    Args:
        model: the controller's model, with the same coordinates; its constraints, functions and
            parameters may differ from those of the simulated model (for example, without friction).
            The control law is that of the simulated model.
        params: parameters that the controller uses in place of those of its model.
        sample_time: T [s]; the controller computes at t₀, t₀ + T … and holds its control.
            Continuous by default.
        delay: time between measurement and effect [s], at most 32 T; before the first effect the
            control is 0.
        noise_q, noise_v: standard deviations of the measured q and v, a number or one per velocity
            (nv,), normal and independent from sample to sample. Noise of q acts along the velocity
            directions, so that a quaternion keeps its unit length.
        seed: of the noise; the same seed gives the same run.
        observer: an estimator of the state (`zw.Plant.kalman_filter`) for a controller that does
            not measure all of it. The controller measures the observer's outputs with the
            observer's noise, and computes with the estimate, which includes unknown inputs.

    `delay`, noise and limits of the control's rate need a sample time.

    Example:
        >>> loop = zw.Loop(params={"m": 1.2}, sample_time=1e-3, delay=2e-3)
        >>> run = zw.simulate(model, q0, v0, duration=5.0, loop=loop)
    """

    model: Model | None
    params: PyTree
    sample_time: float | None
    delay: float
    noise_q: Float[np.ndarray, "..."]
    noise_v: Float[np.ndarray, "..."]
    seed: int
    observer: AbstractObserver | None

    def __init__(
        self,
        *,
        model=None,
        params=None,
        sample_time=None,
        delay=0.0,
        noise_q=0.0,
        noise_v=0.0,
        seed=0,
        observer=None,
    ):
        if model is not None:
            instance(model, Model, "Loop: model", "the zw.Model that the controller believes")
        if sample_time is not None:
            sample_time = number(sample_time, "Loop: sample_time", above=0, unit="s")
        delay = number(delay, "Loop: delay", least=0, unit="s")
        judged_parameters(params)
        self.model, self.params, self.sample_time, self.delay = model, params, sample_time, delay
        self.seed = count(seed, "Loop: seed", most=2**32 - 1)
        self.noise_q, self.noise_v = (
            np.asarray(real_array(x, f"Loop: {name}", "standard deviations"))
            for name, x in (("noise_q", noise_q), ("noise_v", noise_v))
        )
        for name in ("noise_q", "noise_v"):
            if not np.all(np.isfinite(getattr(self, name)) & (getattr(self, name) >= 0)):
                raise ModelError(
                    f"Loop: {name} is {getattr(self, name)}, expected standard deviations, 0 or "
                    "more."
                )
        expected = "plant.kalman_filter(...)"
        self.observer = optional(observer, AbstractObserver, "Loop: observer", expected)
        if observer is not None and (np.any(self.noise_q > 0) or np.any(self.noise_v > 0)):
            raise ModelError(
                "Loop: noise_q and noise_v cannot be combined with observer=, which has its own "
                "noise."
            )
        if observer is not None and sample_time != observer.length:
            raise ModelError(
                f"Loop: sample_time is {sample_time}, expected that of the observer's plant, "
                f"{observer.length} s."
            )
        if sample_time is None and (
            delay > 0 or np.any(self.noise_q > 0) or np.any(self.noise_v > 0)
        ):
            raise ModelError(
                "Loop: delay and noise act on a controller that computes at instants: give "
                "sample_time=, too."
            )
        # the queue of controls is an array of fixed size in the compiled program
        if sample_time is not None and delay > ON_THE_WAY * sample_time:
            raise ModelError(
                f"Loop: delay {delay} s is more than {ON_THE_WAY} sample times of {sample_time} "
                "s; sample less often or delay less."
            )

    def __repr__(self) -> str:
        shown = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        shown["model"] = None if self.model is None else self.model.name
        given = [f"{name}={value}" for name, value in shown.items() if value is not None]
        return f"Loop({', '.join(given)})"

    def bound(self, model, plant, t0):
        law, nv = model.servo, model.system.nv
        for name in ("noise_q", "noise_v"):
            if getattr(self, name).shape not in ((), (nv,)):
                raise ModelError(
                    f"Loop: {name} has shape {getattr(self, name).shape}, expected a number or "
                    f"({nv},), one per velocity."
                )
        # the plant keeps its own parameters; only the controller uses these
        believed = self._believed(model, plant)
        if self.sample_time is None:
            law.refuse_continuous()
            return dataclasses.replace(plant, law=Believing(law, believed)), None
        nu = law.checked(plant.passive)
        # without noise nothing is drawn, because native code has no rule for random keys
        noise = None
        if np.any(self.noise_q > 0) or np.any(self.noise_v > 0):
            noise = host_array(
                np.stack([np.broadcast_to(x, nv) for x in (self.noise_q, self.noise_v)])
            )
        sampler = Sampler(
            law=law,
            believed=believed,
            nu=nu,
            t0=host_array(float(t0)),
            sample_time=host_array(float(self.sample_time)),
            delay=host_array(float(self.delay)),
            noise=noise,
            seed=host_array(self.seed, int),
            observer=self.observer,
            p=plant.p,
        )
        return dataclasses.replace(plant, law=sampler.with_input(host_array(np.zeros(nu)))), sampler

    def _believed(self, model: Model, plant: Dynamics) -> Dynamics:
        """The dynamics that the controller assumes, without control."""
        if self.model is None:
            p = plant.p if self.params is None else model.merged(self.params)
            # start from the run's parameters, not from the model's: the controller deviates only in
            # the parameters that are named
            if isinstance(plant.p, dict) and self.params is not None:
                p = {**plant.p, **{name: p[name] for name in self.params}}
            return dataclasses.replace(plant.passive, p=p, scales=None)
        theirs, ours = self.model.system, model.system
        if (theirs.nq, theirs.nv) != (ours.nq, ours.nv):
            raise ModelError(
                f"Loop: the controller's model has {theirs.nq} coordinates and {theirs.nv} "
                f"velocities, expected those of {model.name}: {ours.nq} and {ours.nv}."
            )
        return self.model.passive.dynamics(self.params, plant.pseudoinverse)


class AbstractObserver(Record):
    """An estimator of the state from measurements: `zw.Plant.kalman_filter`."""

    start: AbstractVar[PyTree]
    root: AbstractVar[Array]

    @property
    @abc.abstractmethod
    def length(self) -> float:
        """Time between two measurements [s]."""

    @abc.abstractmethod
    def seen(self, s: State, p: PyTree) -> Float[Array, " m"]:
        """The measurement at a state, without noise."""

    @abc.abstractmethod
    def corrected(self, estimate: PyTree, z) -> PyTree:
        """The estimate corrected by a measurement at its time; the estimate has a `state`."""

    @abc.abstractmethod
    def step(self, estimate: PyTree, u, z) -> PyTree:
        """The estimate one sample later, given the measurement z there and the control u held until
        then.
        """

    @abc.abstractmethod
    def believed(self, dynamics: Dynamics, estimate: PyTree) -> Dynamics:
        """The passive system with the estimated inputs."""


class AbstractForeign(AbstractControlLaw):
    """A control law that uses the actuators of another law, and whose u comes from elsewhere."""

    law: AbstractVar[AbstractControlLaw]

    def checked(self, passive):
        return self.law.checked(passive)

    def names(self, nu):
        return self.law.names(nu)

    def units(self, nu):
        return self.law.units(nu)

    def actuation_matrix(self, q, t, p):
        return self.law.actuation_matrix(q, t, p)

    def force_of(self, s, p, u):
        return self.law.force_of(s, p, u)

    @abc.abstractmethod
    def input_at(self, s: State) -> Float[Array, " nu"]:
        """u at a state of the plant."""

    def choose(self, passive, eq, before=None, elapsed=0.0) -> Applied:
        u = self.input_at(eq.state)
        return Applied(eq, u, self.force_of(eq.state, passive.p, u))

    def diagnose(self, passive, choice, u=None) -> Control:
        # the law's own choice at this state shows which constraints could be met
        own = self.law.choose(passive, choice.eq)
        return self.law.diagnose(passive, own, choice.u if u is None else u)

    def blank(self, passive: Dynamics) -> Control:
        return self.law.blank(passive)


class Applied(Record):
    """A control from any source at a state of the passive system."""

    eq: Equation
    u: Float[Array, " nu"]
    actuator_force: Float[Array, " nv"]


class Held(AbstractForeign):
    """A constant u, independent of the state."""

    law: AbstractControlLaw
    u: Float[Array, " nu"]

    def input_at(self, s):
        return self.u


class Believing(AbstractForeign):
    """u computed for the system that the controller assumes, which may differ from the plant."""

    law: AbstractControlLaw
    believed: Dynamics

    def input_at(self, s):
        return self.law.choose(self.believed, self.believed.equation_at(s)).u


class ControllerState(Record):
    """The state of a sampler.

    Attributes:
        k: number of samples taken.
        command: the last control computed, NaN before the first.
        arrivals, queue: times at which controls in transit begin to act, inf for an empty slot, and
            these controls.
        held_input: the control that acts.
        estimate: the estimate of an observer.
    """

    k: Int[Array, ""]
    command: Float[Array, " nu"]
    arrivals: Float[Array, " slots"]
    queue: Float[Array, "slots nu"]
    held_input: Float[Array, " nu"]
    estimate: PyTree = None


class Sampler(AbstractSampler):
    """A controller that computes at sample times; see `Loop` for its settings."""

    law: AbstractControlLaw
    believed: Dynamics
    nu: int = field(static=True)
    t0: Float[Array, ""]
    sample_time: Float[Array, ""]
    delay: Float[Array, ""]
    noise: Float[Array, "2 nv"] | None
    seed: Int[Array, ""]
    observer: AbstractObserver | None
    p: PyTree

    def start(self, s):
        slots = ON_THE_WAY + 1
        empty = (
            np.full(self.nu, np.nan),
            np.full(slots, np.inf),
            np.zeros((slots, self.nu)),
            np.zeros(self.nu),
        )
        known = None if self.observer is None else self.observer.start
        command, arrivals, queue, held = map(host_array, empty)
        return ControllerState(host_array(0, int), command, arrivals, queue, held, known)

    def held_input(self, controller_state):
        return controller_state.held_input

    def with_input(self, u):
        return Held(self.law, u)

    def _sample(self, controller_state: ControllerState):
        """Time of the next sample."""
        return self.t0 + controller_state.k * self.sample_time

    def next_sample_time(self, controller_state):
        return jnp.minimum(
            self._sample(controller_state), jnp.min(jnp.asarray(controller_state.arrivals))
        )

    def update_sample(self, s, controller_state):
        soon = s.t + SAME_INSTANT * self.sample_time
        m = jax.lax.cond(
            self._sample(controller_state) <= soon,
            lambda m: self._sampled(s, m),
            lambda m: m,
            controller_state,
        )
        due = m.arrivals <= soon
        latest = jnp.argmax(jnp.where(due, m.arrivals, -jnp.inf))
        # if several controls have arrived, the latest is applied; this also holds for delays longer
        # than the sample time
        held_input = jnp.where(jnp.any(due), m.queue[latest], m.held_input)
        return replace(m, arrivals=jnp.where(due, jnp.inf, m.arrivals), held_input=held_input)

    def _sampled(self, s: State, m: ControllerState) -> ControllerState:
        """The controller state after a measurement and the computation of a control."""
        believed, measured, estimate = self.believed, s, None
        if self.observer is not None:
            estimate = self._estimated(self.observer, s, m)
            measured = State(estimate.state.q, estimate.state.v, s.t)
            believed = self.observer.believed(believed, estimate)
        elif self.noise is not None:
            system = believed.system
            # the controller knows its own states without measuring them
            noise_q, noise_v = map(system.mechanical, self.noise * self._drawn(m, self.noise.shape))
            # noise is moved along velocities, so that a quaternion stays of unit length
            q = system.move(s.q, noise_q, s.t, believed.p)
            measured = State(q, s.v + noise_v, s.t)
        seen = believed.equation_at(measured)
        command = self.law.choose(believed, seen, m.command, self.sample_time).u
        slot = m.k % (ON_THE_WAY + 1)
        arrivals, queue = m.arrivals.at[slot].set(s.t + self.delay), m.queue.at[slot].set(command)
        return ControllerState(m.k + 1, command, arrivals, queue, m.held_input, estimate)

    def _drawn(self, m: ControllerState, shape: tuple[int, ...]) -> Array:
        """Normal numbers that depend on the sample, not on the steps of the integrator."""
        return jax.random.normal(jax.random.fold_in(jax.random.key(self.seed), m.k), shape)

    def _estimated(self, observer: AbstractObserver, s: State, m: ControllerState):
        """The estimate corrected by a measurement at a state."""
        z = observer.seen(s, self.p)
        z = z + observer.root @ self._drawn(m, z.shape)
        return jax.lax.cond(
            m.k == 0,
            lambda: observer.corrected(m.estimate, z),
            lambda: observer.step(m.estimate, m.held_input, z),
        )
