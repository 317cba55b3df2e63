"""Motion of a model as the flow that an integrator integrates, with y = (q, v) as one vector."""

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
from zwang.objects.record import Record, field, replace
from zwang.stepping.manifold import Landing

HELD_OFF, HELD_ON, SLIDES_FORWARD, SLIDES_BACKWARD = 0.0, 1.0, -1.0, -2.0
"""How a row is held that may let go: not at all, as an equation, or as friction that slides along s
or against it. Friction of a contact in space that turns slides forward, whatever the direction of
s; one that slides straight on has `STRAIGHT` less the angle of its direction."""
STRAIGHT = -3.0
SPENT = -10
"""Friction that gives all it may against a direction, while other rows hold its slip at zero, has
this less the angle of that."""


def direction_of(mode):
    """The direction along s in which friction slides that is held so: 1, −1, or 0 of any other."""
    return (mode == SLIDES_FORWARD) * 1.0 - (mode == SLIDES_BACKWARD)


def straight_angle(mode):
    """Angle of the direction in which friction in space slides straight on."""
    return STRAIGHT - mode


def is_spent(mode):
    """Return whether friction gives all it may while other rows hold its slip at zero."""
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
        left_out: how many rows of the model are left out, as they are open.
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
        """Return the flow for steps from a controller state on, with `open` set accordingly."""
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
            of_plane = [x for x in self.dynamics.constraints.frictions if x.in_space]
            second = [x.rows.start + 1 for x in of_plane]
            if second:
                # what gives all it may along a direction holds across it, or what is held by some
                # of many such contacts alone could turn about them
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
        """The controller state from (t, y) on, if a change is due."""
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
        # false, but no constant: the code of a stage serves here as well
        return self.rate_and_residual(t, y, jnp.isnan(t))[0]

    @property
    def keeps_clear(self) -> bool:
        return self.drift.keeps_clear and self.dynamics.constraints.m > 0

    def rate_and_residual(self, t, y, asked: Bool[Array, ""] | bool = True):
        """`ẏ` and the residual of `A v̇ = b` (`Dynamics.residual`) if `asked`, else the smallest
        singular value of the rows, where stages keep clear of small ones, or 0.
        """
        return _rate(self.drift, self.dynamics, t, y, jnp.asarray(asked, bool))

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
        multipliers, _ = forces_at(self.dynamics, s)
        longest = jnp.asarray(jnp.inf)
        for x in c.frictions:
            if x.in_space:
                slip, change = slip_and_rate(x.law, s, rates, self.dynamics.p)
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
        """Return the relative part of A outside the structure that the run uses."""
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


# Programs of a motion call these, whose code is made once for all of them.


@shared_code
def _rate(drift: AbstractDrift, dynamics: Dynamics, t, y, asked):
    nq = dynamics.system.nq
    rate = drift.rate(dynamics, State(y[:nq], y[nq:], t))
    # of a stage in thirteen, and a tenth of its time
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
    """λ of all rows, and the size of what moves the free system."""
    eq = dynamics.equation_at(s)
    return _multipliers(dynamics, eq), jnp.sqrt(jnp.abs(eq.free_acceleration @ eq.force))


class Acting(NamedTuple):
    """Accelerations and forces at one state.

    Attributes:
        acceleration: v̇, shape (nv,).
        multipliers: λ of each constraint by name.
        shares: generalized force of each constraint by name, `Aᵀλ` of its rows and what it
            impresses, shape (nv,).
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


def slip_and_rate(law, s: State, rates: tuple, p) -> tuple:
    """Return a sliding velocity and its rate from q̇ and v̇."""
    along = (*rates, jnp.ones_like(s.t))
    return jax.jvp(lambda q, v, t: law.sliding_velocity(q, v, t, p), (s.q, s.v, s.t), along)
