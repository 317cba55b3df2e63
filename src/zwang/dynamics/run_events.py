"""Events of a run: stop conditions, switches, and changes of the active set of gaps and dry
frictions.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.compile.hints import shared_code
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.vector_field import (
    HELD_OFF,
    STRAIGHT,
    ConstrainedVectorField,
    direction_of,
    forces_at,
    is_spent,
    slips_and_rates,
    straight_angle,
)
from zwang.equations.constraint.dry_friction import in_order
from zwang.equations.constraint.nonideal import length
from zwang.equations.state import State
from zwang.objects.record import Record, field, replace
from zwang.thresholds import CONVERGED, ROUND_OFF


class Events(Record):
    """Events of a run as one vector-valued function: stop conditions, the conditions of switches,
    then mode changes of gaps and dry frictions.

    Attributes:
        stops: `(q, v, t, p)` → a number; an event wherever it crosses zero.
        conditions: conditions of switches; an event where one rises through zero.
        loose: number of gaps and dry frictions.
        span: length of the run [s], if there are gaps or dry frictions.
        rtol: relative error of a step of such a run.
        arrived: a sliding velocity in space that would be zero within this part of the run counts
            as zero: ten times the shortest step of a run.
        off_line: part of the error of a step by which sliding may deviate from a straight line
            before it turns: turning from a slower start is stiff, because its direction follows the
            force within a time m |s| / μN.
    """

    arrived, off_line = 1e-12, 0.1

    stops: tuple[Callable, ...]
    conditions: tuple[SwitchCondition, ...]
    loose: int = field(static=True, default=0)
    span: Float[Array, ""] | None = None
    rtol: Float[Array, ""] | None = None

    @property
    def rising(self) -> np.ndarray:
        """Mask of the events that count only where their function rises."""
        n = len(self.stops) + len(self.conditions) + self.loose
        return np.arange(n) >= len(self.stops)

    @property
    def instant(self) -> Float[Array, ""] | float:
        """Time within which a sliding velocity in space counts as zero [s]."""
        return 0.0 if self.span is None else self.arrived * self.span

    def __call__(self, flow: ConstrainedVectorField, controller_state, t, y) -> Float[Array, " e"]:
        if not len(self.rising):
            return jnp.zeros(0)
        return _event_values(self, flow, controller_state, t, y)

    def peaks(
        self, flow: ConstrainedVectorField, controller_state
    ) -> tuple[Callable[[Array, Array], Array], bool] | None:
        """Return (t, y) → function that rises through zero where an open gap closes or a condition
        of the state is met, −inf for all other events, and whether positions alone determine it;
        None without gaps and conditions.
        """
        gaps = flow.dynamics.constraints.one_sided_rows
        if not len(gaps) and not self.conditions:
            return None
        first = len(self.stops) + len(self.conditions)

        def values(t, y):
            s, dynamics = flow.state(t, y), flow.dynamics
            found = jnp.full(len(self.rising), -jnp.inf)
            for k, condition in enumerate(self.conditions, len(self.stops)):
                if not condition.of_forces:
                    found = found.at[k].set(condition(s, dynamics.p, _no_multipliers(dynamics)))
            if not len(gaps):
                return found
            assert flow.switched is not None
            closed = controller_state[flow.switched[gaps]] > HELD_OFF
            beyond = dynamics.constraints.beyond(s.q, s.t, dynamics.p)
            open_values = jnp.where(closed, -jnp.inf, _closing(dynamics, s, beyond))
            return found.at[first : first + len(gaps)].set(open_values)

        return values, not self.conditions

    def forces(
        self, flow: ConstrainedVectorField, controller_state
    ) -> tuple[Callable[[Array, Array], Array], Array] | None:
        """Return (t, y) → function that rises through zero where a closed gap, a sticking friction
        or a constraint that switches off changes its mode, −inf for all other events, and whether
        there is one; None if every gap is open and no constraint switches off.
        """
        holds, first = jnp.zeros(len(self.rising), bool), len(self.stops)
        for k, x in enumerate(self.conditions, first):
            holds = holds.at[k].set(x.of_forces & (controller_state[x.switch] == x.off))
        if self.loose and not flow.open:
            assert flow.switched is not None
            c = flow.dynamics.constraints
            rows = [*c.one_sided_rows, *(x.rows.start for x in c.frictions)]
            modes = controller_state[flow.switched[np.array(rows, int)]]
            # while one is at its limit, how the others share the load decides, not their forces
            held = (modes > HELD_OFF) & ~jnp.any(is_spent(modes))
            holds = holds.at[first + len(self.conditions) :].set(held)
        elif not any(x.of_forces for x in self.conditions):
            return None

        def values(t, y):
            return jnp.where(holds, self(flow, controller_state, t, y), -jnp.inf)

        return values, jnp.any(holds)

    def values(self, flow: ConstrainedVectorField, controller_state, t, y) -> Float[Array, " e"]:
        s, dynamics = flow.state(jnp.asarray(t), jnp.asarray(y)), flow.dynamics
        needing = any(condition.of_forces for condition in self.conditions)
        if needing or not flow.open:
            held = replace(flow, open=False).with_input(flow.held_input(controller_state))
            dynamics = held.dynamics
        number = lambda x: jnp.asarray(x, jnp.float64).reshape(1)
        values = [number(f(s.q, s.v, s.t, dynamics.p)) for f in self.stops]
        forces = none = _no_multipliers(dynamics), jnp.zeros(())
        # multipliers cost a factorization, which only conditions on them need, and gaps and
        # frictions while one of them is active
        if needing or (self.loose and not flow.open):
            needed = jnp.any(controller_state[len(controller_state) - self.loose :] != HELD_OFF)
            forces = jax.lax.cond(needed | needing, lambda: forces_at(dynamics, s), lambda: none)
        for condition in self.conditions:
            # a switch that is already in that position waits for nothing; zero neither rises nor
            # falls
            waiting = controller_state[condition.switch] == condition.off
            value = condition(s, dynamics.p, forces[0])
            values.append(number(jnp.where(waiting, value, 0.0)))
        if self.loose:
            values += _loosening(self, flow, dynamics, s, forces, controller_state)
        return jnp.concatenate(values)


@shared_code
def _event_values(events: Events, flow: ConstrainedVectorField, controller_state, t, y):
    return events.values(flow, controller_state, t, y)


def _loosening(events: Events, flow, dynamics: Dynamics, s: State, forces, modes) -> list:
    """Return the functions that rise through zero where a gap or a dry friction changes its mode:

    −g    of an open gap          |λ| − μ₀ N   of a sticking friction
    −λ    of a closed gap         ∓s           of a sliding friction

    A gap does not close beyond the ends of its surface, and opens where it reaches one.

    In space, sliding straight on has the event of sliding in the plane, or begins to turn where it
    deviates from the line by more than a step may (`_off_line`). For sliding that turns, |s|
    reaches zero without a change of sign: `δ |ṡ| − |s|` rises, with δ an `instant`, while |s|
    decreases.
    """
    c, switched = dynamics.constraints, flow.switched
    multipliers, free = forces
    size = _lengths(dynamics)
    force_band = CONVERGED * free / size
    values, mass = [], dynamics.mass_as_given(s)
    if len(gaps := c.one_sided_rows):
        closed = modes[switched[gaps]] > HELD_OFF
        closed_value = -multipliers[gaps] - force_band[gaps]
        beyond = c.beyond(s.q, s.t, dynamics.p)
        open_value = _closing(dynamics, s, beyond)
        if beyond is not None:
            closed_value = jnp.maximum(closed_value, beyond)
        values.append(jnp.where(closed, closed_value, open_value))
    if flow.open or not (groups := c.friction_groups):
        return [*values, jnp.zeros(len(c.frictions))]
    turning = any(x.in_space for x in groups)
    if turning:
        step_error = events.off_line * (mass.size(s.v) + jnp.sqrt(jnp.mean(jnp.abs(mass.diag()))))
        step_error = step_error * (0.0 if events.rtol is None else events.rtol)
        # by the code of a step, which includes the reactions of sliding frictions
        y, held = jnp.concatenate([s.q, s.v]), replace(flow, dynamics=dynamics, switched=None)
        acceleration = held.rate(s.t, y)[len(s.q) :]
        slips, changes = slips_and_rates(dynamics, s, acceleration)
    else:
        slips = changes = c.slips(s.q, s.v, s.t, dynamics.p)

    limits = c.friction_limits(dynamics.p, c.friction_loads(dynamics.p, multipliers))

    def in_line(mode, slip, *_):
        return -direction_of(mode) * slip[0]

    def in_space(mode, slip, change, force, limit, band, row):
        left = jnp.where(slip @ change < 0, events.instant * length(change), 0.0)
        arrives = jnp.where(direction_of(mode) != 0, left - length(slip), -1.0)
        angle = straight_angle(mode)
        along = jnp.stack([jnp.cos(angle), jnp.sin(angle)])
        # friction may be the only force; a motion along a line is exact up to round-off
        band = 10 * (band + CONVERGED * jnp.abs(limit))
        off = jnp.where(force > band, _off_line(slip, change, force, limit, row), 0.0)
        straight = jnp.maximum(off - row * step_error, -along @ slip)
        return jnp.where(mode <= STRAIGHT, straight, arrives)

    found = []
    for x in groups:
        mode, limit = modes[switched[x.rows[:, 0]]], limits[x.numbers]
        force, band = length(multipliers[x.rows]), jnp.max(force_band[x.rows], axis=1)
        arrives = jax.vmap(in_space if x.in_space else in_line)(
            mode, slips[x.places], changes[x.places], force, limit, band, jnp.max(size[x.rows], 1)
        )
        # it remains at its limit until another mode changes
        arrives = jnp.where(is_spent(mode), -1.0, arrives)
        found.append(jnp.where(mode > HELD_OFF, force - limit - band, arrives))
    return [*values, in_order(groups, found)]


def _no_multipliers(dynamics: Dynamics) -> Float[Array, " m"]:
    return jnp.zeros(dynamics.constraints.m)


def _lengths(dynamics: Dynamics) -> Array:
    """Return the lengths of all rows in the mass metric, 1 for rows without one."""
    assert dynamics.scales is not None
    length = dynamics.scales.row_length
    return jnp.where(length > 0, length, 1.0)


def _closing(dynamics: Dynamics, s: State, beyond) -> Array:
    """Return the function that rises through zero where an open gap closes within its ends."""
    p, c = dynamics.p, dynamics.constraints
    mass, gaps = dynamics.mass_as_given(s), c.one_sided_rows
    size = _lengths(dynamics)
    # per unit of a coordinate in the mass metric
    gradient = size * jnp.sqrt(jnp.mean(jnp.abs(mass.diag())))
    # an open gap closes where it is below the round-off of the largest coordinate
    band = ROUND_OFF * gradient * jnp.max(jnp.abs(s.q))
    one_way = np.isin(np.arange(c.m), c.nonholonomic_rows)
    if np.any(one_way[gaps]):
        band = jnp.where(one_way, ROUND_OFF * size * mass.size(s.v), band)
    value = -c.openings(s.q, s.v, s.t, p) - band[gaps]
    return value if beyond is None else jnp.minimum(value, -beyond)


def _off_line(slip, change, across, limit, row) -> Array:
    """Return the error of a sliding velocity that is kept on a straight line. A force across the
    line, of less than μN, would turn it by the angle of the force to the friction: the velocity is
    in error across the line by this part of it, and along the line by the excess of the friction
    since sliding began.
    """
    angle = across / jnp.where(limit > 0, jnp.abs(limit), 1.0)
    pace = length(change)
    excess = jnp.where(pace > 0, row**2 * across / jnp.where(pace > 0, pace, 1.0), 0.0)
    return length(slip) * (angle + angle * excess)


class SwitchCondition(Record):
    """One condition of a switch.

    Attributes:
        function: `(q, v, t, p)`, and to switch off `(q, v, t, p, multipliers)` with those of the
            switched rows → a number.
        switch: index of the switch in the run; rows: begin and end of its rows.
        off: 1 if it switches off, 0 if on.
        of_forces: whether its number can depend on the multipliers.
    """

    function: Callable
    switch: int = field(static=True)
    rows: tuple[int, int] = field(static=True)
    off: int = field(static=True)
    of_forces: bool = field(static=True)

    def __call__(self, s: State, p, multipliers: Float[Array, " m"]):
        """Return its value at a state; only a condition to switch off uses multipliers."""
        own = (multipliers[slice(*self.rows)],) if self.off else ()
        return self.function(s.q, s.v, s.t, p, *own)
