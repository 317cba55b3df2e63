"""The motion of a model as a vector field for integrators, with y = (q, v) as one vector."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.judgement import row_scale
from zwang.algebra.lapack import LU
from zwang.algebra.pseudoinverse import Sparse
from zwang.algebra.pseudoinverse.base import VOLUME_DAMPING
from zwang.compile.hints import shared_code
from zwang.dynamics.control_law import AbstractSampler
from zwang.dynamics.drift import AbstractDrift
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.equations.constraint import Constraints
from zwang.equations.constraint.dry_friction import gives_all
from zwang.equations.constraint.nonideal import length
from zwang.equations.state import State
from zwang.inputs.arrays import host_array, is_concrete
from zwang.objects.by_identity import ByIdentity
from zwang.objects.record import Record, field, replace
from zwang.stepping.manifold import Landing

HELD_OFF, HELD_ON, SLIDES_FORWARD, SLIDES_BACKWARD = 0.0, 1.0, -1.0, -2.0
"""Modes of a gap or a dry friction: inactive, active as an equation, or friction that slides along
s or against it. Friction of a contact in space that turns has the mode of sliding forward, whatever
the direction of s; friction that slides straight on has the mode `STRAIGHT` minus the angle of its
direction."""
STRAIGHT = -3.0
SPENT = -10
"""Friction at its limit along a direction, while other rows keep its slip at zero, has the mode
`SPENT` minus the angle of that direction."""


def direction_of(mode):
    """Return the direction along s in which friction of a mode slides: 1, −1, or 0 for any other
    mode.
    """
    return (mode == SLIDES_FORWARD) * 1.0 - (mode == SLIDES_BACKWARD)


def straight_angle(mode):
    """Return the angle of the direction in which friction in space slides straight on."""
    return STRAIGHT - mode


def is_spent(mode):
    """Return whether friction is at its limit while other rows keep its slip at zero."""
    return mode <= SPENT


class ConstrainedVectorField(Record):
    """`ẏ = f(t, y)` with its constraint manifold (`zwang.stepping.manifold.ManifoldFlow`).

    Attributes:
        dynamics: the equation of motion, with its scales measured.
        drift: the drift treatment.
        target: violation that counts as zero after a projection.
        sampler: changes the control at sampling instants, or None.
        switched: for each row the index of its switch (`zw.Switch`), or −1, shape (m,); None
            without switches. The controller state of a run then consists of the modes (`HELD_ON`
            and the others), shape (switches,); each gap and each dry friction counts as a switch.
        open: whether every gap is open and no dry friction is loaded; steps are then computed by a
            separate program without their rows.
        left_out: number of rows of the model that are omitted because they are open.
        towards_rest: longest step while friction in space turns, in units of |s|/|ṡ|: within about
            that time s turns, and the friction with it; a sliding velocity that tends to zero
            reaches it in some thirty steps.
        follows: the same in units of m |s|/μN, the time within which s follows the force: explicit
            methods are unstable above about three, which the error estimate of a step does not show
            once |s| is below that.
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
        """Return the flow for steps from a controller state on; it is `open` if every gap and dry
        friction is.
        """
        loose = self.dynamics.constraints.rows_where(lambda level: level.lets_go)
        if self.switched is None or not len(loose) or self.dynamics.structure.sparse:
            return self
        held = np.asarray(controller_state)[np.asarray(self.switched)[loose]]
        if np.any(held != HELD_OFF):
            return self
        # the same object each time, as programs are bound to it once
        return _OPEN.get(self) or _OPEN.keep(self, replace(self, open=True))

    def with_input(self, held: Float[Array, " k"]) -> ConstrainedVectorField:
        """Return the flow while a sampler holds its control, or with the modes of switches."""
        if self.open:
            return self._without_loose().with_input(held)
        if self.switched is not None:
            # inactive rows remain and are zero, so that nothing is compiled again; on the host by
            # NumPy, because JAX would compile each operation
            xp = np if is_concrete((held, self.switched)) else jnp
            modes = xp.asarray(held)
            spent = is_spent(modes)
            straight = (modes <= STRAIGHT) & ~spent
            on = (self.switched < 0) | ((modes > HELD_OFF) | straight)[self.switched]
            if not self.dynamics.constraints.frictions:
                return replace(self, dynamics=self.dynamics.with_rows(on))
            pull = direction_of(modes) + xp.where(spent, 2 * xp.cos(SPENT - modes), 0.0)
            sliding = xp.where(self.switched < 0, 0.0, pull[self.switched])
            of_plane = [x for x in self.dynamics.constraints.frictions if x.in_space]
            second = [x.rows.start + 1 for x in of_plane]
            if second:
                # friction at its limit along a direction remains active across it: contacts held
                # only by several such frictions could otherwise turn about them
                rows = np.isin(np.arange(len(on)), [x.indices for x in of_plane])
                on = on | (rows & (self.switched >= 0) & spent[self.switched])
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
        """Return the flow without gaps and dry frictions."""
        dynamics, c = self.dynamics, self.dynamics.constraints
        kept = c.rows_where(lambda level: not level.lets_go)
        members = [x for x in c.members if not x.level.lets_go]
        scales = dynamics.scales
        if scales is not None:
            scales = replace(scales, row_length=scales.row_length[kept])
        constraints = Constraints(members, c.system, dynamics.p)
        dynamics = replace(dynamics, constraints=constraints, scales=scales)
        # concrete numbers, not traced, so that a program knows which rows a switch has
        switched = None if self.switched is None else self.switched[kept]
        changes = {"switched": switched, "open": False, "left_out": c.m - len(kept)}
        return replace(self, dynamics=dynamics, **changes)

    def held_input(self, controller_state) -> Float[Array, " k"]:
        """Return the control that a sampler holds, or the modes of switches; empty without
        either.
        """
        if self.switched is not None:
            return controller_state
        if self.sampler is None:
            return host_array(np.zeros(0))
        return self.sampler.held_input(controller_state)

    def next_sample_time(self, controller_state) -> Float[Array, ""]:
        """Return the time of the next change of the flow [s]."""
        return (
            jnp.asarray(jnp.inf)
            if self.sampler is None
            else self.sampler.next_sample_time(controller_state)
        )

    def update_sample(self, due, t, y, controller_state):
        """Return the controller state from (t, y) on, if a change is due."""
        if (sampler := self.sampler) is None:
            return controller_state
        updated = lambda m: sampler.update_sample(self.state(t, y), m)
        # a controller may be as costly as the model, and most steps lie between its instants
        return jax.lax.cond(due, updated, lambda m: m, controller_state)

    @property
    def moves_by_velocity(self) -> bool:
        """True if velocities are the rates of the coordinates."""
        return self.dynamics.system.moves_by_velocity

    def split(self, y: Float[Array, " n"]) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
        nq = self.dynamics.system.nq
        return y[:nq], y[nq:]

    def state(self, t: Float[Array, ""], y: Float[Array, " n"]) -> State:
        return State(*self.split(y), t)

    def rate(self, t, y):
        # false, but not a constant: the code of a stage is reused here
        return self.rate_and_residual(t, y, jnp.isnan(t))[0]

    @property
    def keeps_clear(self) -> bool:
        return self.drift.keeps_clear and self.dynamics.constraints.m > 0

    def rate_and_residual(self, t, y, asked: Bool[Array, ""] | bool = True):
        """Return `ẏ` and the residual of `A v̇ = b` (`Dynamics.residual`) if `asked`; otherwise the
        smallest singular value of the rows if stages avoid small ones, or 0.
        """
        return _rate(self.drift, self.dynamics, t, y, jnp.asarray(asked, bool))

    def project_step(self, t, y, error) -> Landing:
        landing = _landing(self.drift, self.dynamics, t, y, error, self.target)
        return landing._replace(log_det=landing.log_det + self.left_out * np.log(VOLUME_DAMPING))

    def longest_step(self, t, y) -> Float[Array, ""] | None:
        """Return the upper limit of a step while friction in space slides (`towards_rest`) [s], or
        None.
        """
        c, p = self.dynamics.constraints, self.dynamics.p
        groups = [x for x in c.friction_groups if x.in_space]
        if c.sliding is None or not groups:
            return None
        (own,), s, scales = groups, self.state(t, y), self.dynamics.scales
        acceleration = self.split(self.rate(t, y))[1]
        multipliers, _ = forces_at(self.dynamics, s)
        slips, changes = (x[own.places] for x in slips_and_rates(self.dynamics, s, acceleration))
        pace = length(changes) / self.towards_rest
        if scales is not None:
            limits = c.friction_limits(p, c.friction_loads(p, multipliers))[own.numbers]
            pull = jnp.abs(limits) * jnp.max(scales.row_length[own.rows], axis=1) ** 2
            pace = jnp.maximum(pace, pull / self.follows)
        sliding, first = c.sliding[own.rows], own.rows[:, 0]
        turns = (sliding[:, 0] != 0) & (pace > 0) & ~gives_all(sliding)
        turns = turns if c.on is None else turns & ~c.on[first]
        within = length(slips) / jnp.where(turns, pace, 1.0)
        return jnp.min(jnp.where(turns, within, jnp.inf))

    def missed(self, t, y) -> Float[Array, ""]:
        """Return the relative part of A outside the structure that the run uses."""
        return self.dynamics.missed(self.state(t, y))

    def free_acceleration(self, t, q):
        """Return `a = M⁻¹F` at rest."""
        dynamics, s = self.dynamics, State(q, jnp.zeros(self.dynamics.system.nv), t)
        return dynamics.mass_as_given(s).solve(dynamics.applied_force(s))

    def normals(self, t, q):
        """Return `r ↦ A⊕ r` of position constraints."""
        dynamics, s = self.dynamics, State(q, jnp.zeros(self.dynamics.system.nv), t)
        return dynamics.gauss_at(s).correct

    def position_residual(self, t, q):
        """Return `φ` and its dimensionless size."""
        phi = self.dynamics.position_residual(State(q, jnp.zeros(self.dynamics.system.nv), t))
        return phi, self.dynamics.violation(phi)

    def velocity_residual(self, t, q, v):
        """Return `ψ`."""
        return self.dynamics.velocity_residual(State(q, v, t))

    def speed(self, t, q, v):
        """Return `√(vᵀMv)`."""
        return self.dynamics.mass_as_given(State(q, v, t)).size(v)

    def newton(self, t, y, step):
        """Return `r ↦ δẏ` of one Newton step on `ẏ = f(t, y + step·ẏ)`, with f without the
        constraints' curvature and n of `q̇ = N v + n`:

            δv̇ = r_v + u,    δq̇ = r_q + step N δv̇,
            K u + Aᵀλ = step F_q r_q + X r_v,    A u = 0,
            K = M − X,       X = step F_v + step² F_q N

        It uses the sparse factor of K and A if the model's structure is known, else an nv × nv
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
            method = dynamics.pseudoinverse
            assert isinstance(A, SparseMatrix) and isinstance(method, Sparse)
            constrained = dynamics.structure.newton_plan.factored(K, A, scale, method.sweeps).solve
        else:
            eye = jnp.eye(dynamics.system.nv)
            mobility = jax.vmap(dynamics.gauss(mass, A).mobility)(eye)
            factor = LU(eye - mobility @ jax.vmap(X, out_axes=1)(eye))
            constrained = lambda f: factor.solve(mobility @ f)

        def solve(r):
            r_q, r_v = self.split(r)
            dv = r_v + constrained(change(step * r_q + step**2 * along(r_v), step * r_v))
            return jnp.concatenate([r_q + step * along(dv), dv])

        return solve


_OPEN: ByIdentity[ConstrainedVectorField] = ByIdentity()
"""The same flow while every gap and dry friction is open."""


# Programs of a motion call these functions, whose code is generated once for all of them.


@shared_code
def _rate(drift: AbstractDrift, dynamics: Dynamics, t, y, asked):
    nq = dynamics.system.nq
    rate = drift.rate(dynamics, State(y[:nq], y[nq:], t))
    # needed in one stage of thirteen, and a tenth of its time
    left = lambda: dynamics.residual(rate.equation, rate.v)
    least = rate.equation.gauss.least_singular_value if drift.keeps_clear else lambda: jnp.zeros(())
    return jnp.concatenate([rate.q, rate.v]), jax.lax.cond(asked, left, least)


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


def forces_at(dynamics: Dynamics, s: State) -> tuple[Array, Array]:
    """Return λ of all rows, and the size of the applied force in the metric of M⁻¹."""
    eq = dynamics.equation_at(s)
    return _multipliers(dynamics, eq), jnp.sqrt(jnp.abs(eq.free_acceleration @ eq.force))


class Acting(NamedTuple):
    """Accelerations and forces at one state.

    Attributes:
        acceleration: v̇, shape (nv,).
        multipliers: λ of each constraint by name.
        shares: generalized force of each constraint by name, `Aᵀλ` of its rows plus its impressed
            force, shape (nv,).
        control: u, shape (nu,); empty without control.
        params: parameters.
    """

    acceleration: Array
    multipliers: dict[str, Array]
    shares: dict[str, Array]
    control: Array
    params: PyTree


def acting_at(dynamics: Dynamics, s: State) -> Acting:
    """Return the accelerations and forces at a state."""
    eq = dynamics.equation_at(s)
    A, multipliers = eq.gauss.A, _multipliers(dynamics, eq)
    impressed = dynamics.nonideal_forces(eq, multipliers)
    own = dynamics.constraints.row_slices
    shares = {k: A[rows].T @ multipliers[rows] + impressed.get(k, 0.0) for k, rows in own.items()}
    control = jnp.zeros(0) if eq.choice is None else eq.choice.u
    of_rows = {k: multipliers[rows] for k, rows in own.items()}
    return Acting(dynamics.acceleration(eq), of_rows, shares, control, dynamics.p)


def _multipliers(dynamics: Dynamics, eq) -> Array:
    return dynamics.reaction(eq, eq.multipliers).multipliers if dynamics.rough else eq.multipliers


def slips_and_rates(dynamics: Dynamics, s: State, acceleration: Array) -> tuple[Array, Array]:
    """Return the sliding velocities of all dry frictions, and their rates from v̇."""
    p, c = dynamics.p, dynamics.constraints
    along = (dynamics.system.rate(s.q, s.v, s.t, p), acceleration, jnp.ones_like(s.t))
    return jax.jvp(lambda q, v, t: c.slips(q, v, t, p), (s.q, s.v, s.t), along)
