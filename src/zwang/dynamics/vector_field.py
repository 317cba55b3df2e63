"""A model's motion as the flow that an integrator steps along: y = (q, v) as one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from zwang.algebra.judgement import row_scale
from zwang.algebra.lapack import LU
from zwang.algebra.pseudoinverse.base import VOLUME_DAMPING
from zwang.compile.hints import shared_code
from zwang.dynamics.control_law import AbstractSampler
from zwang.dynamics.drift import AbstractDrift
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint import Constraints
from zwang.equations.constraint.dry_friction import gives_all
from zwang.equations.constraint.level import Cone
from zwang.equations.constraint.nonideal import length
from zwang.equations.state import State
from zwang.inputs.arrays import is_concrete
from zwang.objects.record import Record, field, replace
from zwang.stepping.manifold import Landing
from zwang.thresholds import CONVERGED, ROUND_OFF

HELD_OFF, HELD_ON, SLIDES_FORWARD, SLIDES_BACKWARD = 0.0, 1.0, -1.0, -2.0
"""How a row is held that may let go: not at all, as an equation, or as friction that slides along s
or against it. Friction of a contact in space that turns slides forward, whatever the direction of
s; one that slides straight on has `STRAIGHT` less the angle of its direction."""
STRAIGHT = -3.0
SPENT = -10
"""Friction that gives all it may against a direction, while other rows hold its slip at zero, has
this less the angle of that."""
STRAIGHT_ERROR = 0.1
"""Part of the error of a step by which sliding may be off a straight line before it turns: to turn
from a slower start is stiff, as its direction follows the force within a time m |s| / μN."""


def direction_of(mode: Any) -> Any:
    """The direction along s in which friction slides that is held so: 1, −1, or 0 of any other."""
    return (mode == SLIDES_FORWARD) * 1.0 - (mode == SLIDES_BACKWARD)


def straight_angle(mode: Any) -> Any:
    """Angle of the direction in which friction in space slides straight on."""
    return STRAIGHT - mode


def is_spent(mode: Any) -> Any:
    """Whether friction gives all it may while other rows hold its slip at zero."""
    return mode <= SPENT


class ConstrainedVectorField(Record):
    """`ẏ = f(t, y)` with its constraint manifold (`zwang.stepping.manifold.ManifoldFlow`).

    Attributes:
        dynamics: the equation of motion, with its scales measured.
        drift: how drift is treated.
        target: violation that counts as zero after a projection.
        sampler: what changes the control at instants, or None.
        switched: for each row the switch (`zw.Switch`) that it hangs on, or −1, shape (m,); None
            without switches. The controller state of a run is then how each of them is held
            (`HELD_ON` and the others), shape (switches,); each gap and each dry friction is one.
        open: whether every gap is open and no dry friction is loaded: a program of its own, in
            which a step has no rows for them.
        towards_rest: longest step where friction in space turns, in times |s|/|ṡ|: within about
            that time s turns, and the friction with it; one that comes to zero does so in some
            thirty steps.
        follows: the same in times m |s|/μN, within which s follows the force: explicit methods are
            not stable beyond some three, which shows in no error of a step once |s| is below that.
    """

    towards_rest, follows = 0.7, 2.0

    dynamics: Dynamics
    drift: AbstractDrift
    target: Float[Array, ""]
    sampler: AbstractSampler | None = None
    switched: Int[Array, " m"] | None = None
    open: bool = field(static=True, default=False)
    left_out: int = field(static=True, default=0)

    def while_open(self, controller_state) -> ConstrainedVectorField:
        """The flow for steps from a controller state on, `open` where that is so."""
        loose = self.dynamics.constraints.rows_where(lambda level: level.lets_go)
        if self.switched is None or not len(loose) or self.dynamics.structure.sparse:
            return self
        held = np.asarray(controller_state)[np.asarray(self.switched)[loose]]
        return replace(self, open=bool(np.all(held == HELD_OFF)))

    def with_input(self, held: Float[Array, " k"]) -> ConstrainedVectorField:
        """The flow while a sampler holds its control, or while some switches are on."""
        if self.open:
            return self._without_loose().with_input(held)
        if self.switched is not None:
            # rows that are off stay and are zero, so that nothing is compiled anew; on the host by
            # NumPy, as JAX would compile each operation
            xp = np if is_concrete((held, self.switched)) else jnp
            modes = xp.asarray(held)
            spent = is_spent(modes)
            straight = (modes <= STRAIGHT) & ~spent
            on = (self.switched < 0) | ((modes > HELD_OFF) | straight)[self.switched]
            if not self.dynamics.constraints.frictions:
                return replace(self, dynamics=self.dynamics.with_rows(on))
            pull = direction_of(modes) + xp.where(spent, 2 * xp.cos(SPENT - modes), 0.0)
            sliding = xp.where(self.switched < 0, 0.0, pull[self.switched])
            second = [x.rows.start + 1 for x in self.dynamics.constraints.frictions if x.in_space]
            if second:
                angle = straight_angle(modes)[self.switched]
                part = xp.where(np.isin(np.arange(len(on)), second), xp.sin(angle), xp.cos(angle))
                along = (self.switched >= 0) & straight[self.switched]
                sliding = xp.where(along, part, sliding)
                across = np.isin(np.arange(len(on)), second) & spent[self.switched]
                turned = 2 * xp.sin(SPENT - modes)[self.switched]
                sliding = xp.where(across & (self.switched >= 0), turned, sliding)
            return replace(self, dynamics=self.dynamics.with_rows(on, sliding=sliding))
        if self.sampler is None:
            return self
        law = self.sampler.with_input(held)
        return replace(self, dynamics=replace(self.dynamics, law=law))

    def _without_loose(self) -> ConstrainedVectorField:
        """The flow without what may let go."""
        dynamics, c = self.dynamics, self.dynamics.constraints
        kept = c.rows_where(lambda level: not level.lets_go)
        members = [x for x in c.members if not x.level.lets_go]
        scales = dynamics.scales
        if scales is not None:
            scales = replace(scales, row_length=scales.row_length[kept])
        constraints = Constraints(members, c.system, dynamics.p)
        dynamics = replace(dynamics, constraints=constraints, scales=scales)
        # numbers, and not traced, so that they are known to a program: which rows a switch has
        switched = None if self.switched is None else self.switched[kept]
        changes = {"switched": switched, "open": False, "left_out": c.m - len(kept)}
        return replace(self, dynamics=dynamics, **changes)

    def held_input(self, controller_state) -> Float[Array, " k"]:
        """The control that a sampler holds, or which switches are on; empty without either."""
        if self.switched is not None:
            return controller_state
        if self.sampler is None:
            return cast(Array, np.zeros(0))
        return self.sampler.held_input(controller_state)

    def next_sample_time(self, controller_state) -> Float[Array, ""]:
        """When the flow changes next [s]."""
        return (
            jnp.asarray(jnp.inf)
            if self.sampler is None
            else self.sampler.next_sample_time(controller_state)
        )

    def update_sample(self, due, t, y, controller_state):
        """The controller state from (t, y) on, if a change is due."""
        if (sampler := self.sampler) is None:
            return controller_state
        updated = lambda m: sampler.update_sample(self.state(t, y), m)
        # a controller may be as costly as the model, and most steps lie between its instants
        return jax.lax.cond(due, updated, lambda m: m, controller_state)

    @property
    def moves_by_velocity(self) -> bool:
        """Whether velocities are the rates of the coordinates."""
        return self.dynamics.system.moves_by_velocity

    def split(self, y: Float[Array, " n"]) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
        nq = self.dynamics.system.nq
        return y[:nq], y[nq:]

    def state(self, t: Float[Array, ""], y: Float[Array, " n"]) -> State:
        return State(*self.split(y), t)

    def rate(self, t, y):
        # false, but no constant: the code of a stage serves here as well
        return self.rate_and_residual(t, y, jnp.isnan(t))[0]

    def rate_and_residual(self, t, y, asked: Bool[Array, ""] | bool = True):
        """`ẏ`, and what is left of `A v̇ = b` (`Dynamics.residual`) if it is `asked` for, or 0."""
        return _rate(self.drift, self.dynamics, t, y, jnp.asarray(asked))

    def project_step(self, t, y, error) -> Landing:
        landing = _landing(self.drift, self.dynamics, t, y, error, self.target)
        return landing._replace(log_det=landing.log_det + self.left_out * np.log(VOLUME_DAMPING))

    def longest_step(self, t, y) -> Float[Array, ""] | None:
        """How long a step may be where friction in space slides (`towards_rest`) [s], or None."""
        c = self.dynamics.constraints
        if c.sliding is None or not any(x.in_space for x in c.frictions):
            return None
        s, scales = self.state(t, y), self.dynamics.scales
        rates = self.split(self.rate(t, y))
        multipliers, _ = _forces(self.dynamics, s)
        longest = jnp.asarray(jnp.inf)
        for x in c.frictions:
            if x.in_space:
                slip, change = _slip_and_rate(x.law, s, rates, self.dynamics.p)
                pace = length(change) / self.towards_rest
                if scales is not None:
                    limit = x.law.limit(self.dynamics.p, x.load(self.dynamics.p, multipliers))
                    pull = jnp.abs(limit) * jnp.max(scales.row_length[x.indices]) ** 2
                    pace = jnp.maximum(pace, pull / self.follows)
                turns = (c.sliding[x.rows.start] != 0) & (pace > 0)
                turns = turns & ~gives_all(c.sliding[x.indices])
                turns = turns if c.on is None else turns & ~c.on[x.rows.start]
                within = length(slip) / jnp.where(turns, pace, 1.0)
                longest = jnp.minimum(longest, jnp.where(turns, within, jnp.inf))
        return longest

    def missed(self, t, y) -> Float[Array, ""]:
        """Relative part of A outside the structure that the run goes by."""
        return self.dynamics.missed(self.state(t, y))

    def free_acceleration(self, t, q):
        """`a = M⁻¹F` at rest."""
        dynamics, s = self.dynamics, State(q, jnp.zeros(self.dynamics.system.nv), t)
        return dynamics.mass_as_given(s).solve(dynamics.applied_force(s))

    def normals(self, t, q):
        """`r ↦ A⊕ r` of position constraints."""
        dynamics, s = self.dynamics, State(q, jnp.zeros(self.dynamics.system.nv), t)
        return dynamics.gauss_at(s).correct

    def position_residual(self, t, q):
        """`φ` and its size, free of units."""
        phi = self.dynamics.position_residual(State(q, jnp.zeros(self.dynamics.system.nv), t))
        return phi, self.dynamics.violation(phi)

    def velocity_residual(self, t, q, v):
        """`ψ`."""
        return self.dynamics.velocity_residual(State(q, v, t))

    def speed(self, t, q, v):
        """`√(vᵀMv)`."""
        return self.dynamics.mass_as_given(State(q, v, t)).size(v)

    def newton(self, t, y, step):
        """`r ↦ δẏ` of one Newton step on `ẏ = f(t, y + step·ẏ)`, f without the constraints'
        curvature and n of `q̇ = N v + n`:

            δv̇ = r_v + u,    δq̇ = r_q + step N δv̇,
            K u + Aᵀλ = step F_q r_q + X r_v,    A u = 0,
            K = M − X,       X = step F_v + step² F_q N

        By the sparse factor of K and A if the model's structure is known, else by an nv × nv
        matrix.
        """
        dynamics, s = self.dynamics, self.state(t, y)
        A = dynamics.matrix(s)
        mass = dynamics.mass(s, A)
        along = lambda w: dynamics.system.along(s.q, w, t, dynamics.p)
        change = jax.linearize(lambda q, v: dynamics.applied_force(State(q, v, t)), s.q, s.v)[1]
        X = lambda w: change(step**2 * along(w), step * w)
        if dynamics.structure.newton_plan is not None:
            typical = None if dynamics.scales is None else dynamics.scales.row_length
            length = mass.row_lengths(A) if typical is None else typical
            scale = row_scale(jnp, length, typical)
            K = lambda w: mass.apply(w) - X(w)
            method: Any = dynamics.pseudoinverse  # that of `zw.methods.Sparse`
            constrained = dynamics.structure.newton_plan.factored(K, A, scale, method.sweeps).solve
        else:
            mobility = dynamics.gauss(mass, A).mobility
            eye = jnp.eye(dynamics.system.nv)
            J = jax.vmap(lambda w: mobility(X(w)), out_axes=1)(eye)
            factor = LU(eye - J)
            constrained = lambda f: factor.solve(mobility(f))

        def solve(r):
            r_q, r_v = self.split(r)
            dv = r_v + constrained(change(step * r_q + step**2 * along(r_v), step * r_v))
            return jnp.concatenate([r_q + step * along(dv), dv])

        return solve


# Programs of a motion call these, whose code is made once for all of them.


@shared_code
def _event_values(events: Events, flow: ConstrainedVectorField, controller_state, t, y):
    return events.values(flow, controller_state, t, y)


@shared_code
def _rate(drift: AbstractDrift, dynamics: Dynamics, t, y, asked):
    nq = dynamics.system.nq
    rate = drift.rate(dynamics, State(y[:nq], y[nq:], t))
    # of a stage in thirteen, and a tenth of its time
    left = lambda: dynamics.residual(rate.equation, rate.v)
    return jnp.concatenate([rate.q, rate.v]), jax.lax.cond(asked, left, lambda: jnp.zeros(()))


@shared_code
def _landing(drift: AbstractDrift, dynamics: Dynamics, t, y, error, target) -> Landing:
    nq = dynamics.system.nq
    state, error = State(y[:nq], y[nq:], t), (error[:nq], error[nq:])
    landed = drift.project_step(dynamics, state, error, target)
    return Landing(
        jnp.concatenate([landed.state.q, landed.state.v]),
        jnp.concatenate(landed.error),
        landed.violation,
        landed.slip,
        landed.creep,
        landed.converged,
        landed.log_det,
    )


class Events(Record):
    """What a run looks out for, as one vector-valued function: stop conditions, the conditions of
    switches, then gaps and dry frictions that may change how they are held.

    Attributes:
        stops: `(q, v, t, p)` → a number; an event wherever it crosses zero.
        conditions: conditions of switches; an event where one rises through zero.
        loose: how many gaps and dry frictions there are.
        span: length of the run [s], of one with gaps or dry frictions.
        rtol: relative error of a step of such a run.
        arrived: a sliding velocity in space that would be zero within this part of the run is zero:
            ten times the shortest step of a run.
    """

    arrived = 1e-12

    stops: tuple[Callable, ...]
    conditions: tuple[SwitchCondition, ...]
    loose: int = field(static=True, default=0)
    span: Float[Array, ""] | None = None
    rtol: Float[Array, ""] | None = None

    @property
    def rising(self) -> np.ndarray:
        """Which events count only where their function rises."""
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

    def values(self, flow: ConstrainedVectorField, controller_state, t, y) -> Float[Array, " e"]:
        s, dynamics = flow.state(jnp.asarray(t), jnp.asarray(y)), flow.dynamics
        needing = any(condition.off for condition in self.conditions)
        if needing or not flow.open:
            held = replace(flow, open=False).with_input(flow.held_input(controller_state))
            dynamics = held.dynamics
        values = [f(s.q, s.v, s.t, dynamics.p) for f in self.stops]
        # multipliers cost a factorization, which only conditions that switch off need
        if self.loose or needing:
            none = jnp.zeros(dynamics.constraints.m), jnp.zeros(())
            # and gaps while one of them, or a friction, is not open
            needed = jnp.any(controller_state[len(controller_state) - self.loose :] != HELD_OFF)
            found = lambda: _forces(dynamics, s)
            spared = flow.open and not needing
            multipliers, free = (
                none if spared else jax.lax.cond(needed | needing, found, lambda: none)
            )
        for condition in self.conditions:
            own = (multipliers[slice(*condition.rows)],) if condition.off else ()
            # a switch that already stands so has nothing to wait for; zero neither rises nor falls
            waiting = controller_state[condition.switch] == condition.off
            values.append(
                jnp.where(waiting, condition.function(s.q, s.v, s.t, dynamics.p, *own), 0.0)
            )
        if self.loose:
            forces = multipliers, free
            values += _loosening(self, flow, dynamics, s, forces, controller_state)
        return jnp.stack([jnp.asarray(x, jnp.float64).reshape(()) for x in values])


def _forces(dynamics: Dynamics, s: State) -> tuple[Array, Array]:
    """λ of all rows, and the size of what moves the free system."""
    eq = dynamics.equation_at(s)
    multipliers = eq.multipliers
    if dynamics.rough:
        multipliers = dynamics.reaction(eq, multipliers).multipliers
    return multipliers, jnp.sqrt(jnp.abs(eq.free_acceleration @ eq.force))


def _loosening(events: Events, flow, dynamics: Dynamics, s: State, forces, modes) -> list:
    """What rises through zero where a gap or a dry friction changes how it is held:

    −g    of a gap that is open          |λ| − μ₀ N   of a friction that sticks
    −λ    of one that is closed          ∓s           of one that slides

    In space, what slides straight on does so as in the plane, or begins to turn where that is
    farther off than a step may be (`_off_line`). |s| of one that turns comes to zero without a
    change of sign: `δ |ṡ| − |s|` rises, δ an `instant`, while |s| falls.
    """
    assert dynamics.scales is not None
    c, switched = dynamics.constraints, flow.switched
    multipliers, free = forces
    size = jnp.where(dynamics.scales.row_length > 0, dynamics.scales.row_length, 1.0)
    force_band = CONVERGED * free / size
    values = []
    if len(gaps := c.one_sided_rows):
        own = [x for x in c.members if x.level.cone is Cone.PUSHES]
        given = dynamics.system, dynamics.p
        phi = [
            x.position_residual(given[0], s.q, s.t, given[1])
            if x.level.has_phi
            else x.velocity_residual(given[0], s.q, s.v, s.t, given[1])
            for x in own
        ]
        # of one unit of a coordinate in the mass metric
        mass = dynamics.mass_as_given(s).diag()
        gradient = size * jnp.sqrt(jnp.mean(jnp.abs(mass)))
        # a gap that is open closes where it is below the round-off of the largest coordinate
        band = ROUND_OFF * gradient * jnp.max(jnp.abs(s.q))
        one_way = np.isin(np.arange(c.m), c.nonholonomic_rows)
        if np.any(one_way[gaps]):
            band = jnp.where(one_way, ROUND_OFF * size * dynamics.mass_as_given(s).size(s.v), band)
        closed = modes[switched[gaps]] > HELD_OFF
        open_value = -jnp.concatenate(phi) - band[gaps]
        values += list(jnp.where(closed, -multipliers[gaps] - force_band[gaps], open_value))
    if flow.open:
        return [*values, *(jnp.zeros(()) for _ in c.frictions)]
    turning = any(x.in_space for x in c.frictions)
    if turning:
        mass = dynamics.mass_as_given(s)
        step_error = STRAIGHT_ERROR * (mass.size(s.v) + jnp.sqrt(jnp.mean(jnp.abs(mass.diag()))))
        step_error = step_error * (0.0 if events.rtol is None else events.rtol)
    # once for all of them, by the code of a step: it solves for the reactions of what slides
    y = jnp.concatenate([s.q, s.v])
    acceleration = flow.rate(s.t, y)[len(s.q) :] if turning else None
    for x in c.frictions:
        mode = modes[switched[x.rows.start]]
        limit = x.law.limit(dynamics.p, x.load(dynamics.p, multipliers))
        over = length(multipliers[x.rows]) - limit - jnp.max(force_band[x.rows])
        if x.in_space:
            rates = dynamics.system.rate(s.q, s.v, s.t, dynamics.p), acceleration
            slip, change = _slip_and_rate(x.law, s, rates, dynamics.p)
            left = jnp.where(slip @ change < 0, events.instant * length(change), 0.0)
            arrives = jnp.where(direction_of(mode) != 0, left - length(slip), -1.0)
            angle = straight_angle(mode)
            along = jnp.stack([jnp.cos(angle), jnp.sin(angle)])
            # friction may be the only force there is; a motion along a line is exact to round-off
            band = 10 * (jnp.max(force_band[x.rows]) + CONVERGED * jnp.abs(limit))
            across, row = length(multipliers[x.rows]), jnp.max(size[x.rows])
            off = jnp.where(across > band, _off_line(slip, change, across, limit, row), 0.0)
            straight = jnp.maximum(off - row * step_error, -along @ slip)
            arrives = jnp.where(mode <= STRAIGHT, straight, arrives)
        else:
            slip = x.law.sliding_velocity(s.q, s.v, s.t, dynamics.p)[0]
            arrives = -direction_of(mode) * slip
        # it gives on until something else lets go
        arrives = jnp.where(is_spent(mode), -1.0, arrives)
        values.append(jnp.where(mode > HELD_OFF, over, arrives))
    return values


def _off_line(slip, change, across, limit, row) -> Array:
    """How far off a sliding velocity is that is held on a line, while a force across it of less
    than μN would turn it by the angle of both: by that part of it across, and along by what the
    friction along has been too large since it began.
    """
    angle = across / jnp.where(limit > 0, jnp.abs(limit), 1.0)
    pace = length(change)
    excess = jnp.where(pace > 0, row**2 * across / jnp.where(pace > 0, pace, 1.0), 0.0)
    return length(slip) * (angle + angle * excess)


def _slip_and_rate(law, s: State, rates: tuple, p) -> tuple:
    """A sliding velocity and its rate, given q̇ and v̇."""
    along = (*rates, jnp.ones_like(s.t))
    return jax.jvp(lambda q, v, t: law.sliding_velocity(q, v, t, p), (s.q, s.v, s.t), along)


class SwitchCondition(Record):
    """One condition of a switch.

    Attributes:
        function: `(q, v, t, p)`, and to switch off `(q, v, t, p, multipliers)` with those of the
            switched rows → a number.
        switch: which switch of the run; rows: where its rows begin and end.
        off: 1 if it switches off, 0 if on.
    """

    function: Callable
    switch: int = field(static=True)
    rows: tuple[int, int] = field(static=True)
    off: int = field(static=True)
