"""Phases of an optimal control problem: the active constraints, and the conditions at the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from zwang.analysis.constrained_state import dynamics_of
from zwang.analysis.optimal_interval import Problem
from zwang.analysis.optimal_junction import Junction
from zwang.analysis.optimal_problem import Bounds
from zwang.dynamics.drift import Projection
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model, refuse_letting_go
from zwang.dynamics.run_events import SwitchCondition
from zwang.dynamics.scales import measure
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.equations.constraint import Constraints
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.inputs.arguments import instance, items, known, labels, optional_function
from zwang.objects.record import Record, replace
from zwang.simulation.differentiable import Differentiable
from zwang.simulation.mode import with_equations
from zwang.simulation.switching import Switch, Switching, declared_switches, refuse_switches
from zwang.thresholds import ROUND_OFF


@dataclasses.dataclass(frozen=True)
class Phase:
    """A part of a motion with the same active constraints, for `zw.analysis.optimal_control`.

    The conditions at a junction follow from the constraints that are active before and after it:

    - A gap that becomes active closes: it is zero, and a plastic impact removes its speed. If the
      gap has a restitution, it must close without speed.
    - A gap that becomes inactive has a pushing force until then, and is not negative afterwards.
    - A switched constraint is satisfied when it is switched on, and the velocity jumps onto it. The
      condition to switch it on or off is zero there, or its time is reached.

    Args:
        duration: of the phase [s], or (least, most) if it is optimized as well.
        holds: names of the gaps and switched constraints that are active; the other gaps are open,
            the other switched constraints off. All other constraints always hold.
        rebounds: names of gaps with an impact at the end of the phase that open again, with their
            restitution.
        end: `(q, v, t, p)` → numbers that are zero at the end of the phase.
        bounds: as in `optimal_control`, for this phase only.
        guess: coordinates along the phase, including its ends, shape (any, nq).

    Example:
        >>> fall = zw.analysis.Phase((0.1, 2.0), rebounds="floor")
        >>> rise = zw.analysis.Phase((0.1, 2.0))
        >>> found = zw.analysis.optimal_control(model, start, end, [fall, rise], inputs=["y"])
    """

    duration: object
    _: dataclasses.KW_ONLY
    holds: str | Sequence[str] = ()
    rebounds: str | Sequence[str] = ()
    end: Callable | None = None
    bounds: Mapping | None = None
    guess: object = None

    def __post_init__(self):
        for which in ("holds", "rebounds"):
            given = getattr(self, which)
            names = labels([given] if isinstance(given, str) else given, f"Phase: {which}")
            object.__setattr__(self, which, names)
        instance(self.bounds or {}, Mapping, "Phase: bounds", '{"x": (0.0, 1.0)}')
        optional_function(self.end, "Phase: end", "(q, v, t, p) → numbers")


class Room(Record):
    """The gaps of a model as a function that is limited."""

    constraints: Constraints

    def __call__(self, q, v, u, t, p):
        return self.constraints.openings(q, v, t, p)


class Schedule(NamedTuple):
    """The phases of a motion, and the changes between them.

    Attributes:
        model: the model without control.
        phases: the phases as given.
        switching: the switches and gaps; None if there are none.
        holds: mask of those that are active in each phase, shape (phases, any), switches first.
        hit: mask of those with an impact at the end of each phase that open again.
    """

    model: Model
    phases: tuple[Phase, ...]
    switching: Switching | None
    holds: np.ndarray
    hit: np.ndarray

    @property
    def watched(self) -> tuple[SwitchCondition, ...]:
        """Conditions of the switches."""
        return () if self.switching is None else self.switching.conditions

    @property
    def gaps(self) -> np.ndarray:
        """Rows of the gaps."""
        found = None if self.switching is None else self.switching.contacts
        return np.zeros(0, int) if found is None else found.gaps

    @property
    def room(self) -> tuple[Room, ...]:
        """The gaps as a limited function; empty without gaps."""
        if self.switching is None or not len(self.gaps):
            return ()
        return (Room(self.model.constraints),)

    def rows(self, which: np.ndarray) -> np.ndarray:
        """Mask of the rows of given switches and gaps, shape (m,)."""
        assert self.switching is not None
        rows = self.switching.rows
        return (rows >= 0) & which[rows]

    def on(self, which: np.ndarray) -> np.ndarray:
        """Mask of the rows that are active with these switches and gaps, shape (m,)."""
        assert self.switching is not None
        return (self.switching.rows < 0) | self.rows(which)

    def motion(self, s: State, span: float) -> ConstrainedVectorField:
        """The motion with all rows active, with scales measured at a state.

        Args:
            s: the initial state.
            span: duration of the motion [s].
        """
        dynamics = self.model.dynamics(lets_go=True)
        if self.switching is not None:
            dynamics = dynamics.with_rows(np.ones(dynamics.constraints.m, bool))
        dynamics = replace(dynamics, scales=measure(dynamics, s, span))
        # three corrections after a step: each squares the violation, and steps over an interval are
        # long
        return ConstrainedVectorField(
            dynamics, Differentiable(Projection(), 3), jnp.asarray(ROUND_OFF)
        )

    def dense(self, k: int) -> Dynamics:
        """The dynamics of a phase with dense rows, for single states."""
        on = None if self.switching is None else self.on(self.holds[k])
        return dynamics_of(self.model, None, on)

    def flow(self, base: ConstrainedVectorField, which: np.ndarray) -> ConstrainedVectorField:
        """The motion with these switches and gaps active."""
        if self.switching is None:
            return base
        return replace(base, dynamics=base.dynamics.with_rows(self.on(which)))

    def named(self, box: Bounds) -> tuple[str, ...]:
        """Names of all limited quantities, in the order of `limits`."""
        at = len(box.names) - len(box.rows)
        gaps = [self.model.constraints.owner(int(row))[0] for row in self.gaps]
        own = [f"room of {x}" for x in gaps], [f"force of {x}" for x in gaps]
        turned = [f"condition of switch {c.switch}" for c in self.watched]
        return (*box.names[:at], *own[0], *box.names[at:], *own[1], *turned)

    def passive(self, k: int) -> Model:
        """The model of a phase, with active constraints as equations, without open gaps and
        inactive switches.
        """
        if self.switching is None:
            return self.model
        model, c = self.model, self.model.constraints
        on = self.on(self.holds[k])
        kept = [x for x in c.members if x.level.lets_go or np.any(on[c.rows_of(x)])]
        rows = np.concatenate([np.zeros(0, int), *(np.arange(c.m)[c.rows_of(x)] for x in kept)])
        named = (
            {}
            if (found := self.switching.contacts) is None
            else dict(zip(found.gaps, found.names, strict=False))
        )
        names = {i: named[row] for i, row in enumerate(rows.tolist()) if row in named}
        reduced = model.with_parts(constraints=kept)
        return with_equations(reduced, on[rows], np.zeros(len(rows)), names)

    def limits(self, box: Bounds, k: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Limits of a phase (`Transcription.limits`): those given by the user, open gaps,
        multipliers of closed gaps, and conditions of inactive switches.

        Args:
            box: the limits given by the user.
            k: index of the phase.
        """
        if self.switching is None:
            return box.limits
        first = len(self.switching.switches)
        shut, waits = (
            self.holds[k, first:],
            [self.holds[k, c.switch] == c.off for c in self.watched],
        )
        none, room = np.zeros(0), np.full(len(shut), np.inf)
        low, high = box.limits["limited"]

        def limited(shut, pushing, waits):
            """Lowest and highest values, for given masks of closed gaps, pushing gaps and waiting
            conditions.
            """
            at = len(low) - len(box.rows)
            least = [low[:at], np.where(shut, -room, 0.0), low[at:], np.where(pushing, 0.0, -room)]
            most = [high[:at], room, high[at:], room]
            most.append(np.where(waits, 0.0, np.inf) if len(waits) else none)
            return np.concatenate([*least, np.full(len(waits), -np.inf)]), np.concatenate(most)

        found = {**box.limits, "limited": limited(shut, shut, waits)}
        for place, other in (("limited first", k - 1), ("limited last", k + 1)):
            if 0 <= other < len(self.phases):
                # gaps and switches that change at this junction are zero there anyway
                changed = (self.holds[other] != self.holds[k]) | self.hit[min(k, other)]
                still = [
                    w and not changed[c.switch] for w, c in zip(waits, self.watched, strict=True)
                ]
                found[place] = limited(shut | changed[first:], shut, still)
        return found

    def junction(self, k: int, problem: Problem, base: ConstrainedVectorField) -> Junction:
        """The end of a phase.

        Args:
            k: index of the phase.
            problem: the problem of that phase.
            base: the motion with all rows.
        """
        end, c, last = self.phases[k].end, base.dynamics.constraints, k == len(self.phases) - 1
        bounce, met, still = np.zeros(c.m), np.zeros(c.m, bool), np.zeros(c.m, bool)
        struck, times, conditions = self.hit[k], [], []
        if (switching := self.switching) is not None and not last:
            before, after = self.holds[k : k + 2]
            struck = after | self.hit[k]
            met = self.rows(struck & ~before)
            e, one_way = self._restitutions(), ~np.isin(np.arange(c.m), c.position_rows)
            bounce = np.where(self.rows(self.hit[k]), e[switching.rows], 0.0)
            # a gap with a restitution opens again after an impact, so it must close without speed
            smooth = e > 0
            smooth[: len(switching.switches)] = [
                x.transition == "impact-free" for x in switching.switches
            ]
            still = self.rows(smooth & after & ~before)
            still |= met & one_way & np.isin(np.arange(c.m), self.gaps)
            turned = np.flatnonzero((before != after)[: len(switching.switches)])
            found = [self._turning(k, int(i), int(before[i])) for i in turned]
            conditions = [x for x in found if isinstance(x, SwitchCondition)]
            times = [x for x in found if isinstance(x, float)]
        places = lambda rows, which: tuple(np.flatnonzero(which[rows]).tolist())
        return Junction(
            problem,
            self.flow(base, struck).dynamics,
            jnp.asarray(1 + bounce[c.velocity_rows]),
            jnp.asarray(times[0] if times else np.nan),
            () if end is None else (end,),
            tuple(conditions),
            places(c.position_rows, met),
            places(c.velocity_rows, still),
            bool(times),
            not last,
        )

    def _restitutions(self) -> np.ndarray:
        """e of each switch and gap; 0 for a switch."""
        assert self.switching is not None
        found, first = self.switching.contacts, np.zeros(len(self.switching.switches))
        return first if found is None else np.concatenate([first, found.restitution])

    def _turning(self, k: int, i: int, off: int) -> SwitchCondition | float | None:
        """The cause by which a switch changes at the end of a phase: a condition, a time, or a
        user's statement.
        """
        assert self.switching is not None
        switch = self.switching.switches[i]
        given, way = switch.conditions(off), "off" if off else "on"
        if len(given) != 1:
            if self.phases[k].end is not None:
                return None
            raise ModelError(
                f"optimal_control: constraint {switch.constraint!r} is switched {way} at the end "
                f"of phase {k + 1}, but its zw.Switch has {len(given)} conditions for that, "
                "expected one; say by Phase(end=...) which ends the phase."
            )
        if not callable(given[0]):
            return float(given[0])
        return next(c for c in self.watched if (c.switch, c.off) == (i, off))


def schedule_of(
    model: Model, passive: Model, duration: object, switches: Sequence[Switch] | None, guess: object
) -> Schedule:
    """The phases from a user's arguments.

    Args:
        model: the model as given.
        passive: the model without control.
        duration: the phases, or the duration of a motion without phases.
        switches: as given; None for those of the model.
        guess: for a motion without phases.
    """
    none = np.zeros((1, 0), bool)
    if not isinstance(duration, (list, tuple)) or not any(isinstance(x, Phase) for x in duration):
        refuse_switches(model, "optimal control without phases")
        refuse_letting_go(model)
        return Schedule(passive, (Phase(duration, guess=guess),), None, none, none)
    phases = items(duration, Phase, "optimal_control: duration", "zw.analysis.Phase(...)")
    turned = declared_switches(model) if switches is None else switches
    turned = items(turned, Switch, "optimal_control: switches", "zw.Switch(...)")
    c = passive.constraints
    if c.frictions or c.has_ends:
        raise ModelError(
            f"optimal_control: {passive.name} has dry friction or gaps with ends (within=), which "
            "phases do not cover; state friction that sticks as zw.Nonholonomic, or leave it out."
        )
    switching = Switching(turned, passive) if turned or c.loose else None
    names = [] if switching is None else [x.constraint for x in switching.switches]
    if switching is not None and switching.contacts is not None:
        names += switching.contacts.names
    asked = lambda which: np.array([_marked(names, getattr(x, which), which) for x in phases])
    holds, hit = asked("holds"), asked("rebounds")
    for k in range(len(phases)):
        both = hit[k] & (holds[k] | holds[min(k + 1, len(phases) - 1)])
        if (
            np.any(both)
            or np.any(hit[k, : len(turned)])
            or (k + 1 == len(phases) and np.any(hit[k]))
        ):
            name = names[int(np.argmax(hit[k]))]
            raise ModelError(
                f"optimal_control: phase {k + 1} rebounds from {name!r}, expected a gap that is "
                "open in this phase and in the next one."
            )
    return Schedule(passive, phases, switching, holds, hit)


def _marked(names: Sequence[str], chosen: Sequence[str], which: str) -> np.ndarray:
    """Mask of chosen names; the name of a gap selects all its rows."""
    rows = lambda name: [i for i, x in enumerate(names) if x == name or x.startswith(f"{name}[")]
    found = np.zeros(len(names), bool)
    for name in chosen:
        if not rows(name):
            known(name, names, f"Phase: {which}: the model has no gap or switched constraint")
        found[rows(name)] = True
    return found
