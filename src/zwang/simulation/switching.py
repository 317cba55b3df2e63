"""Constraints that are switched on and off along a run: instants, and the change of the velocity.

    on:   v⁺ = v⁻ − A⊕ψ   ideal impulse M (v⁺ − v⁻) = AᵀΛ of all constraints that are active from
                          then on (plastic impact)
    off:  v⁺ = v⁻             no loss of energy

A row that is off has A, b, φ and ψ zero (`zwang.equations.constraint.equation`), so that one
compiled program serves all combinations.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.metric import dense_metric, dense_rows
from zwang.compile.compatibility import depends_on
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import ModelEvaluation
from zwang.dynamics.initial_conditions import Start, begin
from zwang.dynamics.model import IDLE, Model
from zwang.dynamics.motion import contradiction
from zwang.dynamics.run_events import SwitchCondition
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.errors import ModelError, Result
from zwang.inputs.arguments import choice, flag, function, label, shown
from zwang.inputs.suggestions import did_you_mean
from zwang.objects.by_identity import ByIdentity
from zwang.objects.display import present
from zwang.simulation.conditions import check_condition
from zwang.simulation.contact import Contacts, ModeChange
from zwang.simulation.monitor import MotionEndError
from zwang.simulation.results import Switched
from zwang.stepping.step import Progress
from zwang.thresholds import ACCEPTED_VIOLATION

Condition = float | Callable


@dataclasses.dataclass(frozen=True)
class Switch:
    """Conditions under which a constraint is active, for `zw.simulate(..., switches=[...])`.

    Args:
        constraint: its name; or the name of one of its parts.
        on, off: conditions, one or a list of them. A number is a time [s]. A function is an event
            where it rises through zero: to switch on it takes `(q, v, t, p)`, to switch off `(q, v,
            t, p, multipliers)`, with λ of the constraint's own rows, shape (rows,) (`Q_c = +Aᵀλ`),
            so that a rope can become slack where its tension ends. A condition to switch off that
            is positive at the start acts there; one to switch on acts only where it rises. A
            condition that rises and falls within a step is found if its slopes at both ends of the
            step indicate it. Instants that accumulate end the run.
        transition: "impulsive": the velocity jumps, `v⁺ = v⁻ − A⊕ψ`, a plastic impact whose energy
            loss is reported. "impact-free": refused unless the velocity already satisfies the
            constraint. The position has to satisfy it in any case.
        initially: whether the constraint is active at the start; by default it is if no condition
            switches it on.

    Raises:
        ModelError: for a condition that is neither a finite time nor a function, or no condition at
            all.

    Example:
        >>> rope = zw.Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name="rope")
        >>> taut = zw.Switch(
        ...     "rope",
        ...     on=lambda q, v, t, p: q @ q - p["length"] ** 2,
        ...     off=lambda q, v, t, p, tension: tension[0])
    """

    constraint: str
    _: dataclasses.KW_ONLY
    on: Condition | Sequence[Condition] = ()
    off: Condition | Sequence[Condition] = ()
    transition: Literal["impulsive", "impact-free"] = "impulsive"
    initially: bool | None = None

    def __repr__(self) -> str:
        return present("text_of_switch", self)

    def __post_init__(self):
        label(self.constraint, "Switch: constraint")
        if self.initially is not None:
            flag(self.initially, f"Switch {self.constraint!r}: initially")
        for which in ("on", "off"):
            given = getattr(self, which)
            conditions = tuple(given) if isinstance(given, (list, tuple)) else (given,)
            for c in conditions:
                if not (
                    (callable(c) and not isinstance(c, type))
                    or (
                        isinstance(c, (int, float))
                        and not isinstance(c, bool)
                        and abs(c) <= sys.float_info.max
                    )
                ):
                    raise ModelError(
                        f"Switch {self.constraint!r}: {which} is {shown(c)}, "
                        "expected a time [s], a function, or a list of these."
                    )
                if callable(c):
                    further = ", multipliers" if which == "off" else ""
                    function(c, f"Switch {self.constraint!r}: {which}", f"(q, v, t, p{further})")
            object.__setattr__(self, which, conditions)
        if not self.on and not self.off:
            raise ModelError(
                f"Switch {self.constraint!r} has neither on= nor off=, expected a time [s] or a "
                "function for one."
            )
        transitions = ("impulsive", "impact-free")
        choice(self.transition, f"Switch {self.constraint!r}: transition", transitions)

    @property
    def starts_on(self) -> bool:
        return not self.on if self.initially is None else self.initially

    def conditions(self, off: int) -> tuple[Condition, ...]:
        given = self.off if off else self.on
        assert isinstance(given, tuple)  # `__post_init__` made it one
        return given


_DECLARED: ByIdentity[tuple[Switch, ...]] = ByIdentity()
"""Switches with which models were declared."""


def keep_switches(model: Model, switches: Sequence[Switch]) -> None:
    """Record the switches of a model, which its runs use by default."""
    if switches:
        _DECLARED.keep(model, tuple(switches))
        IDLE.keep(model, tuple(x.constraint for x in switches if not x.starts_on))


def declared_switches(model: Model) -> tuple[Switch, ...]:
    """Return the switches with which a model was declared."""
    return _DECLARED.get(model) or ()


def refuse_switches(model: Model, what: str) -> None:
    """Raise for a model that was declared with switches.

    Raises:
        ModelError: with the names of the switched constraints.
    """
    if switches := declared_switches(model):
        names = ", ".join(repr(x.constraint) for x in switches)
        raise ModelError(
            f"{model.name} declares switches for {names}, which {what} does not support; use "
            "zw.simulate, or leave the switches out."
        )


class Switching:
    """The switches of one run, with their rows and instants.

    Args:
        switches: as given to `zw.simulate`.
        model: the model.
        params: parameters of the run.

    Attributes:
        contacts: the gaps and dry frictions of the model, or None.
    """

    def __init__(self, switches: Sequence[Switch], model: Model, params: PyTree = None):
        self.switches, self.model = tuple(switches), model
        slices = model.constraints.row_slices
        self.rows = np.full(model.constraints.m, -1)
        for i, switch in enumerate(self.switches):
            if switch.constraint not in slices:
                raise ModelError(
                    f"Switch: {model.name} has no constraint {switch.constraint!r}"
                    f"{did_you_mean(switch.constraint, slices)}"
                )
            own = slices[switch.constraint]
            if np.any(self.rows[own] >= 0):
                raise ModelError(
                    f"constraint {switch.constraint!r} has two switches; give one a list of "
                    "conditions."
                )
            self.rows[own] = i
        self.start = np.array([float(switch.starts_on) for switch in self.switches])
        self.contacts = None
        if loose := model.constraints.loose:
            self.contacts = Contacts(model, params, len(self.switches))
            own, places = self.contacts.rows, self.contacts.places
            if np.any(self.rows[own] >= 0):
                raise ModelError(
                    f"{model.name}: {loose[0]!r} is an inequality or dry friction, which changes "
                    "its mode without a zw.Switch; remove the switch."
                )
            self.rows[own] = len(self.switches) + places
            self.start = np.concatenate([self.start, np.zeros(len(self.contacts.names))])
        sides = [(i, switch, off) for i, switch in enumerate(self.switches) for off in (0, 1)]
        span = lambda switch: (slices[switch.constraint].start, slices[switch.constraint].stop)
        self.conditions = tuple(
            _condition(c, i, span(switch), off, f"Switch {switch.constraint!r}", model)
            for i, switch, off in sides
            for c in switch.conditions(off)
            if callable(c)
        )
        self.timetable = sorted(
            (float(c), i, off)
            for i, switch, off in sides
            for c in switch.conditions(off)
            if not callable(c)
        )

    def begun(self, dynamics: Dynamics) -> Dynamics:
        """Return the dynamics with those rows on that are active at the start."""
        on = (self.rows < 0) | (self.start > 0)[self.rows]
        return dynamics.with_rows(on)

    def next_time(self, t: float) -> float:
        """Return the next instant of the timetable after t [s]; inf without one."""
        return min((at for at, _, _ in self.timetable if at > t), default=np.inf)

    def fired_at_start(self, here: Progress, stops: int) -> np.ndarray:
        """Return the events that count as fired at the start of a run: conditions to switch off
        that are already positive there and would never rise through zero.
        """
        fired = np.zeros(len(here.events), bool)
        off = [bool(condition.off) for condition in self.conditions]
        own = slice(stops, stops + len(off))
        fired[own] = np.array(off, bool) & (np.asarray(here.events)[own] > 0)
        return fired

    def due(self, here: Progress, stops: int) -> dict[int, int]:
        """Return the switches that are due where the loop ended: index of the switch → 1 for off or
        0 for on.
        """
        now, controller_state = float(here.t), np.asarray(here.controller_state)
        by_time = {
            i: off for at, i, off in self.timetable if at == now and controller_state[i] == off
        }
        fired = [
            condition
            for condition, yes in zip(self.conditions, np.asarray(here.fired)[stops:], strict=False)
            if yes
        ]
        return by_time | {
            condition.switch: condition.off
            for condition in fired
            if controller_state[condition.switch] == condition.off
        }

    def apply(
        self, flow: ConstrainedVectorField, here: Progress, due: dict[int, int], duration: float
    ) -> ModeChange:
        """Return the state and the controller state after `due`.

        Raises:
            MotionEndError: if a constraint is switched on where it is violated, or constraints
                contradict each other from then on.
        """
        controller_state = np.asarray(here.controller_state).copy()
        for i, off in due.items():
            controller_state[i] = 1.0 - off
        names = lambda which: tuple(
            self.switches[i].constraint for i, off in due.items() if off == which
        )
        state, system = flow.state(here.t, jnp.asarray(here.y)), self.model.system
        nv, energy_unit = system.nv, system.energy_unit
        # switching off leaves the velocity unchanged
        if not names(0):
            record = Switched(float(here.t), (), names(1), 0.0, (0.0,) * nv, {}, energy_unit)
            return ModeChange(np.asarray(here.y), controller_state, record)
        dynamics = flow.with_input(jnp.asarray(controller_state)).dynamics
        start = begin(dynamics, state)
        self._refuse(start, [i for i, off in due.items() if not off], duration)
        after = start.placement.state
        met = impact(dynamics, start.there, np.asarray(state.v), np.asarray(after.v))
        own = {
            name: tuple(met.multipliers[self.model.constraints.row_slices[name]].tolist())
            for name in names(0)
        }
        record = Switched(
            time=float(here.t),
            on=names(0),
            off=names(1),
            energy_loss=met.energy_loss,
            impulse=tuple(met.momentum.tolist()),
            multipliers=own,
            energy_unit=energy_unit,
            work=met.work,
        )
        return ModeChange(np.concatenate([after.q, after.v]), controller_state, record)

    def _refuse(self, start: Start, turning: Sequence[int], duration: float) -> None:
        """Raise with the reason why constraints cannot be switched on at a state."""
        placement, scales = start.placement, start.scales
        length, state = np.asarray(scales.row_length), start.given
        metric = dense_metric(start.at.M)
        phi, psi = self.model.constraints.by_row(start.at.phi, start.at.psi)
        gap = np.linalg.norm(np.where(length > 0, phi / np.where(length > 0, length, 1.0), phi))
        # the violation is compared with the radius of curvature of the constraint, or with the
        # distance of the run
        curved = 1 / float(scales.curvature) if float(scales.curvature) > 0 else 0.0
        # a length in the mass metric
        reach = max(curved, metric.speed(np.asarray(state.v)) * duration)
        worst = lambda x: max(
            turning, key=lambda i: float(np.abs(x[self.rows == i]).max(initial=0.0))
        )
        largest = lambda x: f"{float(np.abs(x[self.rows == worst(x)]).max()):.3g}"
        name = lambda x: self.switches[worst(x)].constraint
        if not gap <= ACCEPTED_VIOLATION * reach + 1e-14 * np.max(
            np.abs(np.asarray(state.q)), initial=0.0
        ):
            detail = (
                f"constraint {name(phi)!r} has phi = {largest(phi)} there, expected 0: switch it "
                "on where it is satisfied"
            )
            raise MotionEndError(Result.NOT_MET, detail)
        abrupt = [
            self.switches[i].constraint
            for i in turning
            if self.switches[i].transition == "impact-free"
        ]
        if abrupt and placement.velocity_violation_before > ACCEPTED_VIOLATION:
            raise MotionEndError(
                Result.NOT_MET,
                f"constraint {abrupt[0]!r} is to be switched on without an impact, but "
                f"{name(psi)!r} has psi = {largest(psi)} there, expected 0; "
                "transition='impulsive' lets the velocity jump",
            )
        if not placement.converged:
            raise MotionEndError(Result.NOT_CONVERGED, f"with {name(phi)!r} switched on")
        if not start.verdict.consistent:
            raise MotionEndError(
                Result.INCONSISTENT, contradiction(self.model, start.verdict.misses)
            )


class Impact(NamedTuple):
    """A jump of the velocity onto constraints.

    Attributes:
        momentum: `M (v⁺ − v⁻)`.
        energy_loss: kinetic energy before minus after.
        work: work of constraints that prescribe a motion, as in `Switched`: the rest of ½ ‖v⁺ −
            v⁻‖²_M, which the impact dissipates (Carnot).
        multipliers: Λ of least norm, rows at unit length.
    """

    momentum: np.ndarray
    energy_loss: float
    work: float
    multipliers: np.ndarray


def impact(
    dynamics: Dynamics, at: ModelEvaluation, before: np.ndarray, after: np.ndarray
) -> Impact:
    """Return the impact between two velocities at one configuration."""
    A = dense_rows(at.A)
    metric = dense_metric(at.M, A if dynamics.singular_mass else None)
    momentum, loss = metric.M @ (after - before), metric.energy_loss(before, after)
    work = 0.5 * metric.speed(after - before) ** 2 - loss
    return Impact(momentum, loss, work, metric.rows(A).multipliers(momentum))


def _condition(
    function: Callable, switch: int, rows: tuple[int, int], off: int, name: str, model: Model
) -> SwitchCondition:
    """Check a condition of a switch, and find whether it depends on multipliers."""
    p, multipliers = model.parameters(), np.zeros(rows[1] - rows[0])
    if not off:
        check_condition(function, f"{name}: on(q, v, t, p)", model, p)
        return SwitchCondition(function, switch, rows, off, of_forces=False)
    check_condition(function, f"{name}: off(q, v, t, p, multipliers)", model, p, multipliers)
    of_multipliers = lambda x, q, v, t, p: function(q, v, t, p, x)
    state = np.zeros(model.system.nq), np.zeros(model.system.nv), 0.0
    of_forces = depends_on(of_multipliers, multipliers, *state, p)
    return SwitchCondition(function, switch, rows, off, of_forces)
