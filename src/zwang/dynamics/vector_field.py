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
from zwang.compile.engine import is_native
from zwang.compile.hints import shared_code
from zwang.dynamics.control_law import AbstractSampler
from zwang.dynamics.drift import AbstractDrift
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint.dry_friction import gives_all
from zwang.equations.constraint.level import Cone
from zwang.equations.constraint.nonideal import length
from zwang.equations.state import State
from zwang.inputs.arrays import is_concrete
from zwang.objects.record import Record, field, replace
from zwang.stepping.manifold import Landing
from zwang.stepping.tableau import Tableau
from zwang.thresholds import ROUND_OFF

HELD_OFF, HELD_ON, SLIDES_FORWARD, SLIDES_BACKWARD = 0.0, 1.0, -1.0, -2.0
"""How a row is held that may let go: not at all, as an equation, or as friction that slides along s
or against it. Friction of a contact in space that turns slides forward, whatever the direction of
s; one that slides straight on has `STRAIGHT` less the angle of its direction."""
STRAIGHT = -3.0
SPENT = -10
"""Friction that gives all it may against a direction, while other rows hold its slip at zero, has
this less the angle of that."""
FORCE_BAND = 1e-11
"""A force lets go where it is below the negative of this part of what moves the free system: ten
thousand times its round-off, and ten times what counts as zero where it is decided what holds."""


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
        towards_rest: longest step where friction in space turns, in times |s|/|ṡ|: within about
            that time s turns, and the friction with it; one that comes to zero does so in some
            thirty steps.
    """

    towards_rest = 0.7

    dynamics: Dynamics
    drift: AbstractDrift
    target: Float[Array, ""]
    sampler: AbstractSampler | None = None
    switched: Int[Array, " m"] | None = None

    def with_input(self, held: Float[Array, " k"]) -> ConstrainedVectorField:
        """The flow while a sampler holds its control, or while some switches are on."""
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

    def stages(self, method: Tableau, t, y, h):
        """ẏ at the stages of a method, shape (n, s), and what the first leaves of `A v̇ = b`."""
        a, c = jnp.asarray(method.matrix), jnp.asarray(method.c)

        def stage(i, carry):
            rates, first = carry
            slope = a[i] @ rates if is_native() else rates @ a[i]
            rate, residual = self.rate_and_residual(t + c[i] * h, y + h * slope, i == 0)
            kept = rates.at[i].set(rate) if is_native() else rates.at[:, i].set(rate)
            return kept, first + residual

        # stages last: of many motions the sum over stages is then one product, without moving
        # anything; native code has members in lanes, and a stage side by side
        shape = (method.stages, len(y)) if is_native() else (len(y), method.stages)
        start = (jnp.zeros(shape), jnp.zeros(()))
        rates, first = jax.lax.fori_loop(0, method.stages, stage, start)
        return (rates.T if is_native() else rates), first

    def project_step(self, t, y, error) -> Landing:
        return _landing(self.drift, self.dynamics, t, y, error, self.target)

    def longest_step(self, t, y) -> Float[Array, ""] | None:
        """How long a step may be where friction in space slides (`towards_rest`) [s], or None."""
        c = self.dynamics.constraints
        if c.sliding is None or not any(x.in_space for x in c.frictions):
            return None
        s = self.state(t, y)
        rates = self.split(self.rate(t, y))
        longest = jnp.asarray(jnp.inf)
        for x in c.frictions:
            if x.in_space:
                slip, change = _slip_and_rate(x.law, s, rates, self.dynamics.p)
                turns = (c.sliding[x.rows.start] != 0) & (length(change) > 0)
                turns = turns & ~gives_all(c.sliding[x.indices])
                turns = turns if c.on is None else turns & ~c.on[x.rows.start]
                within = self.towards_rest * length(slip) / jnp.where(turns, length(change), 1.0)
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
        arrived: a sliding velocity in space that would be zero within this part of the run is zero:
            ten times the shortest step of a run.
    """

    arrived = 1e-12

    stops: tuple[Callable, ...]
    conditions: tuple[SwitchCondition, ...]
    loose: int = field(static=True, default=0)
    span: Float[Array, ""] | None = None

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
        s, dynamics = (
            flow.state(jnp.asarray(t), jnp.asarray(y)),
            flow.with_input(flow.held_input(controller_state)).dynamics,
        )
        values = [f(s.q, s.v, s.t, dynamics.p) for f in self.stops]
        # multipliers cost a factorization, which only conditions that switch off need
        if self.loose or any(condition.off for condition in self.conditions):
            none = jnp.zeros(dynamics.constraints.m), jnp.zeros(())
            # and gaps while one of them, or a friction, is not open
            needed = jnp.any(controller_state[len(controller_state) - self.loose :] != HELD_OFF)
            needed = needed | any(condition.off for condition in self.conditions)
            multipliers, free = jax.lax.cond(needed, lambda: _forces(dynamics, s), lambda: none)
        for condition in self.conditions:
            own = (multipliers[slice(*condition.rows)],) if condition.off else ()
            # a switch that already stands so has nothing to wait for; zero neither rises nor falls
            waiting = controller_state[condition.switch] == condition.off
            values.append(
                jnp.where(waiting, condition.function(s.q, s.v, s.t, dynamics.p, *own), 0.0)
            )
        if self.loose:
            forces = multipliers, free
            values += _loosening(flow, dynamics, s, forces, controller_state, self.instant)
        return jnp.stack([jnp.asarray(x, jnp.float64).reshape(()) for x in values])


def _forces(dynamics: Dynamics, s: State) -> tuple[Array, Array]:
    """λ of all rows, and the size of what moves the free system."""
    eq = dynamics.equation_at(s)
    multipliers = eq.multipliers
    if dynamics.rough:
        multipliers = dynamics.reaction(eq, multipliers).multipliers
    return multipliers, jnp.sqrt(jnp.abs(eq.free_acceleration @ eq.force))


def _loosening(flow, dynamics: Dynamics, s: State, forces, modes, instant) -> list:
    """What rises through zero where a gap or a dry friction changes how it is held:

    −g    of a gap that is open          |λ| − μ₀ N   of a friction that sticks
    −λ    of one that is closed          ∓s           of one that slides

    In space, what slides straight on does so as in the plane, or begins to turn where λ across its
    direction rises above zero. |s| of one that turns comes to zero without a change of sign: `δ |ṡ|
    − |s|` rises, δ an `instant`, while |s| falls.
    """
    assert dynamics.scales is not None
    c, switched = dynamics.constraints, flow.switched
    multipliers, free = forces
    size = jnp.where(dynamics.scales.row_length > 0, dynamics.scales.row_length, 1.0)
    force_band = FORCE_BAND * free / size
    values = []
    if len(gaps := c.one_sided_rows):
        own = [x for x in c.members if x.level.cone is Cone.PUSHES]
        phi = [x.position_residual(dynamics.system, s.q, s.t, dynamics.p) for x in own]
        # of one unit of a coordinate in the mass metric
        mass = dynamics.mass_as_given(s).diag()
        gradient = size * jnp.sqrt(jnp.mean(jnp.abs(mass)))
        # a gap that is open closes where it is below the round-off of the largest coordinate
        band = ROUND_OFF * gradient * jnp.max(jnp.abs(s.q))
        closed = modes[switched[gaps]] > HELD_OFF
        open_value = -jnp.concatenate(phi) - band[gaps]
        values += list(jnp.where(closed, -multipliers[gaps] - force_band[gaps], open_value))
    turning = any(x.in_space for x in c.frictions)
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
            left = jnp.where(slip @ change < 0, instant * length(change), 0.0)
            arrives = jnp.where(direction_of(mode) != 0, left - length(slip), -1.0)
            angle = straight_angle(mode)
            along = jnp.stack([jnp.cos(angle), jnp.sin(angle)])
            # friction may be the only force there is; a motion along a line is exact to round-off
            band = 10 * (jnp.max(force_band[x.rows]) + FORCE_BAND * jnp.abs(limit))
            across = length(multipliers[x.rows]) - band
            straight = jnp.where(across > 0, across, -along @ slip)
            arrives = jnp.where(mode <= STRAIGHT, straight, arrives)
        else:
            slip = x.law.sliding_velocity(s.q, s.v, s.t, dynamics.p)[0]
            arrives = -direction_of(mode) * slip
        # it gives on until something else lets go
        arrives = jnp.where(is_spent(mode), -1.0, arrives)
        values.append(jnp.where(mode > HELD_OFF, over, arrives))
    return values


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
