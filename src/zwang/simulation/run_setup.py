"""Setup of a run: its vector field, its first state, its events and its monitors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import ArrayLike, PyTree

from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.dynamics.control_law import AbstractLoop, AbstractSampler
from zwang.dynamics.drift import AbstractDrift, Projection
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import PROJECTION
from zwang.dynamics.formulation.base import AbstractFormulation
from zwang.dynamics.initial_conditions import Start, checked_start, with_mass
from zwang.dynamics.model import Model
from zwang.dynamics.run_events import Events
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import items
from zwang.inputs.arrays import host_array
from zwang.objects.record import replace
from zwang.simulation.branch_start import onto_branch
from zwang.simulation.conditions import (
    ConditionWatch,
    check_condition,
    conditions_of,
    refuse_undefined,
)
from zwang.simulation.endings import Ending, SingularMass
from zwang.simulation.jumps import VelocityJumps
from zwang.simulation.monitor import AbstractMonitor, RunState
from zwang.simulation.pace import Pace
from zwang.simulation.reached import Clock, Reached
from zwang.simulation.stop import Stop
from zwang.simulation.switching import Switch, Switching
from zwang.simulation.time_stepping import TimeStepping
from zwang.simulation.tolerances import accepted_violation, step_tolerances
from zwang.simulation.turning import Turning, event_values
from zwang.simulation.vanishing import VanishingRows
from zwang.simulation.watch import ConstraintWatch, MethodWatch, ScaleWatch, suited
from zwang.stepping import AbstractIntegrator, Dopri8
from zwang.stepping.step import Progress
from zwang.stepping.step_control import Tolerances
from zwang.thresholds import LAST_DIGIT


@dataclasses.dataclass(frozen=True)
class RunRequest:
    """Arguments of `simulate`, with its defaults.

    Attributes:
        state: the start as given.
        instants: sample times [s].
        span: from the start to the last of them [s].
    """

    model: Model
    state: State
    instants: np.ndarray
    span: float
    rtol: float
    start_tolerance: float
    max_steps: int
    atol: ArrayLike | None = None
    params: PyTree = None
    loop: AbstractLoop | None = None
    stop: tuple[Stop, ...] = ()
    switches: Sequence[Switch] = ()
    integrator: AbstractIntegrator = dataclasses.field(default_factory=Dopri8)
    step: float | None = None
    longest_step: float = np.inf
    drift: AbstractDrift = dataclasses.field(default_factory=lambda: PROJECTION)
    pseudoinverse: AbstractPseudoinverse | None = None
    formulation: AbstractFormulation | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes that a run records of its arguments."""
        formulation, longest = self.formulation, self.longest_step
        return {
            "step": "adaptive" if self.step is None else float(self.step),
            "longest_step": "unlimited" if np.isinf(longest) else float(longest),
            "start_tolerance": self.start_tolerance,
            "max_steps": self.max_steps,
            "drift": repr(self.drift),
            "loop": "" if self.loop is None else repr(self.loop),
            "formulation": "kernel" if formulation is None else type(formulation).__name__,
        }


@dataclasses.dataclass(frozen=True)
class RunSetup:
    """A run before its first step.

    Attributes:
        flow: the motion as a vector field, with the scales that were measured at the start.
        tolerances: tolerances of a step.
        switching: switches, gaps and dry frictions, or None.
        events: events that end the run or change a mode; `conditions` are their names.
        start: result of the check and projection of the start.
        placed: whether the run begins at the projected start, not at the given one.
        changeable: whether the method for A⊕ may be changed along the run.
        change: sentence about a change that was made already, or "".
        branch: sentence about the branch on which a start at rest leaves, or "".
        here: the first state.
        asked: the arguments.
    """

    flow: ConstrainedVectorField
    tolerances: Tolerances
    switching: Switching | None
    events: Events
    conditions: list[str]
    start: Start
    placed: bool
    changeable: bool
    change: str
    branch: str
    here: Progress
    asked: RunRequest

    def run(
        self, progress: Callable[[Reached], None], *further: AbstractMonitor, model: Model
    ) -> RunState:
        """Return the run before its first step, with its monitors.

        Args:
            progress: called with a `Reached` after each chunk of steps.
            further: monitors in addition to those of every run.
            model: the model whose names are used in messages.
        """
        asked, pace = self.asked, Pace()
        return RunState(
            model,
            self.flow,
            asked.integrator,
            self.events,
            asked.instants,
            self.tolerances,
            host_array(asked.max_steps, np.int64),
            self.here,
            (
                VanishingRows(),
                ConstraintWatch(self.changeable),
                VelocityJumps(model.system.energy_unit),
                MethodWatch(),
                ConditionWatch(self.conditions),
                SingularMass(),
                ScaleWatch(),
                pace,
                Ending(pace),
                *self._turning,
                *further,
                Clock(progress),
            ),
        )

    @property
    def _turning(self) -> tuple[AbstractMonitor, ...]:
        """The monitor that changes modes, if there is one."""
        if self.switching is None:
            return ()
        contacts, step = self.switching.contacts, self.asked.step
        if self.asked.integrator.impulsive and contacts is not None and step is not None:
            return (TimeStepping(contacts, step),)
        return (Turning(self.switching),)


def set_up(asked: RunRequest) -> RunSetup:
    """Measure, check and project the start, and create the flow, its events and its tolerances."""
    model, state, step = asked.model, asked.state, asked.step
    dynamics = model.dynamics(
        asked.params,
        asked.pseudoinverse,
        asked.formulation,
        implicit=asked.integrator.implicit,
        lets_go=True,
    )
    tolerances = step_tolerances(
        model, asked.rtol, asked.atol, step, asked.longest_step, asked.span
    )
    for s in asked.stop:
        check_condition(s.function, f"Stop {s.name!r}: function(q, v, t, p)", model, dynamics.p)
    switching = _switching(asked)
    dynamics, sampler = _closed(model, dynamics, asked.loop, float(state.t))
    dynamics = dynamics if switching is None else switching.begun(dynamics)
    # Whether M is singular is known only from its values at the start, and everything that follows
    # then needs it augmented. A method that moves momenta needs M itself; it has no error estimate.
    dynamics = with_mass(model, dynamics, state, light=asked.integrator.estimates)
    start = checked_start(model, dynamics, state, asked.start_tolerance, asked.params, asked.span)
    # a run that drifts on purpose, or may start anywhere, starts exactly as given
    placed = isinstance(asked.drift, Projection) and asked.start_tolerance < np.inf
    branch = ""
    if placed:
        start, branch = onto_branch(model, dynamics, start, asked.span)
    # a method that the user has chosen is not replaced
    chosen = asked.pseudoinverse is not None or asked.formulation is not None
    changeable = not chosen and not dynamics.structure.sparse
    dynamics, change = suited(dynamics, start.verdict) if changeable else (dynamics, "")
    state = start.placement.state if placed else state
    flow = _flow(dynamics, asked.drift, start, sampler)
    asked.integrator.refuse(model, flow, state, asked.instants, step)
    flow = flow if switching is None else replace(flow, switched=switching.rows)
    accept, sigma = accepted_violation(np, flow, asked.rtol, step), start.verdict.nearly_parallel
    if sigma is not None:  # along nearly parallel rows a remaining φ displaces the motion by φ/σ
        accept = max(accept * sigma, 100 * float(flow.target))
    tolerances = tolerances._replace(accept=host_array(accept))
    turns = () if switching is None else switching.conditions
    contacts = None if switching is None else switching.contacts
    # a method that computes impulses at the end of every step locates no events
    located = contacts is not None and not asked.integrator.impulsive
    loose = contacts.names if contacts is not None and located else []
    if contacts is not None:
        contacts.refuse_penetration(flow, state, asked.span)
    lengths = (host_array(asked.span), tolerances.rtol) if located else ()
    events = Events(tuple(s.function for s in asked.stop), turns, len(loose), *lengths)
    names = [s.name for s in asked.stop], [s.constraint for s in asked.switches], loose
    conditions = conditions_of(events, *names)
    # far below any time scale of the motion: the controller lengthens it tenfold per step
    first = 1e-4 * asked.span / max(len(asked.instants) - 1, 100) if step is None else step
    here = _first_state(flow, events, switching, state, first)
    refuse_undefined(here, conditions)
    return RunSetup(
        flow,
        tolerances,
        switching,
        events,
        conditions,
        start,
        placed,
        changeable,
        change,
        branch,
        here,
        asked,
    )


def _flow(
    dynamics: Dynamics, drift: AbstractDrift, start: Start, sampler: AbstractSampler | None
) -> ConstrainedVectorField:
    """Return the motion with the scales that were measured at the start."""
    dynamics = replace(dynamics, scales=start.scales)
    floor = start.placement.violation_after
    # violation [dimensionless] below which a projection stops: round-off of a mechanism near its
    # origin
    target = max(LAST_DIGIT, 2 * floor if np.isfinite(floor) else 0.0)
    if drift is not PROJECTION:  # other gains need no compilation
        drift = jax.tree_util.tree_map(
            lambda x: host_array(x) if isinstance(x, float) else x, drift
        )
    return ConstrainedVectorField(dynamics, drift, host_array(target), sampler)


def _first_state(
    flow: ConstrainedVectorField,
    events: Events,
    switching: Switching | None,
    state: State,
    first: float,
) -> Progress:
    """Return the state of a run before its first step."""
    y0 = host_array(np.concatenate([state.q, state.v]))
    if switching is not None:
        controller_state = switching.start
    else:
        controller_state = () if flow.sampler is None else flow.sampler.start(state)
    values = np.zeros(0)
    if len(events.rising):
        values = event_values(events, flow, controller_state, state.t, y0)
    return Progress.begun(state.t, y0, host_array(first), host_array(values), controller_state)


def _closed(
    model: Model, dynamics: Dynamics, loop: AbstractLoop | None, t0: float
) -> tuple[Dynamics, AbstractSampler | None]:
    """Return the dynamics with the control that acts, and the sampler that changes it along the
    run.
    """
    if loop is not None:
        if model.servo is None:
            raise ModelError(
                f"{model.name}: loop is given, but the model has no control: zw.Model(..., "
                "servo=zw.Servo(...))."
            )
        return loop.bound(model, dynamics, t0)
    if model.servo is not None:
        model.servo.refuse_continuous()
    return dynamics, None


def _switching(asked: RunRequest) -> Switching | None:
    """Return the switches, gaps and dry frictions of a run after checking that its other arguments
    allow them.
    """
    model, loop, formulation = asked.model, asked.loop, asked.formulation
    expected = "zw.Switch(constraint, on=..., off=...)"
    switches = items(asked.switches, Switch, "switches", expected)
    if switches and asked.integrator.impulsive:
        raise ModelError(
            f"{model.name}: zw.methods.{type(asked.integrator).__name__} does not locate events "
            "and cannot apply a zw.Switch; use integrator=zw.methods.Dopri8()."
        )
    if not switches and not model.constraints.loose:
        return None
    if loop is not None:
        raise ModelError(
            f"{model.name}: zw.Loop does not support models whose active constraints change; give "
            "it a model without switches, zw.Inequality and zw.DryFriction."
        )
    if formulation is not None and not formulation.redundant_constraints:
        raise ModelError(
            f"{type(formulation).__name__} needs independent rows, but a row that is switched "
            "off is zero."
        )
    return Switching(switches, model, asked.params)
