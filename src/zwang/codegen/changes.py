"""Mode changes of gaps and dry frictions as a traced program. It makes the decisions of
`zwang.simulation.contact` for pages and C code, which have no NumPy.

    0 ≤ ġ⁺ + e ġ⁻ ⊥ Λ ≥ 0    of gaps that are hit,    0 ≤ g̈ ⊥ λ ≥ 0    of those that stay closed,
    |f| ≤ μ₀ N               of frictions at rest

Forces act along the rows of gaps and frictions, so that all of them form one problem with the
Delassus matrix D, the accelerations of all rows by a unit force along each.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.algebra.cone_complementarity import CoulombProblem, solved
from zwang.codegen.touch import Touched, touch
from zwang.dynamics.run_events import Events
from zwang.dynamics.vector_field import (
    HELD_OFF,
    HELD_ON,
    SLIDES_BACKWARD,
    SLIDES_FORWARD,
    STRAIGHT,
    forces_at,
    straight_angle,
)
from zwang.equations.constraint.base import number_of
from zwang.errors import Result
from zwang.objects.record import replace
from zwang.simulation.contact import Contacts
from zwang.simulation.run_setup import RunSetup
from zwang.stepping.manifold import Landing
from zwang.thresholds import AGREEMENT, AT_INSTANT, CONVERGED, RESOLVED, SOLUTION_ERROR


class Held(NamedTuple):
    """State and modes from an instant on.

    Attributes:
        y: the state, with the velocity after an impact.
        modes: of all gaps and frictions.
        events: values of their events.
        fastest: largest closing speed of any gap so far, in the mass metric.
        changed: whether any mode has changed.
        result: reason why no motion continues from here, a `Result`.
    """

    y: Array
    modes: Array
    events: Array
    fastest: Array
    changed: Array
    result: Array


class _Forces(NamedTuple):
    """Forces while some frictions begin to slide.

    Attributes:
        push: λ of the gaps; `rub`: forces of frictions at rest, shape (frictions, 1 or 2).
        rate, zero: acceleration of each row, and its size that counts as zero.
        loads: N of the frictions that follows.
        begins, yielding: frictions that begin to slide, and those whose limit decreases from now
            on.
        found: whether such forces exist.
    """

    push: Array
    rub: Array
    rate: Array
    zero: Array
    loads: Array
    begins: Array
    yielding: Array
    found: Array


class Changes:
    """The gaps and dry frictions of a model, as functions of its states.

    Args:
        contacts: those of a run.
        span: length of the run [s].
    """

    loops = 100
    """Maximum number of iterations for loads that depend on the forces."""

    def __init__(self, contacts: Contacts, span: float):
        self.contacts, self.span = contacts, span
        self.constraints = contacts.model.constraints
        self.n, self.k = len(contacts.gaps), len(contacts.frictions)
        self.wide = max((len(x.rows) for x in contacts.frictions), default=1)
        # a friction with one row among others with two gets a second row of zeros
        own = [[*x.rows, *[-1] * (self.wide - len(x.rows))] for x in contacts.frictions]
        self.rows = (*map(int, contacts.gaps), *map(int, np.ravel(own)))
        self.in_space = np.array([len(x.rows) > 1 for x in contacts.frictions], bool)
        gap = np.array([x.gap for x in contacts.frictions], int)
        self.owner = (gap[:, None] == np.arange(self.n)) * 1.0
        self.owned = gap >= 0
        self.by_joints = any(x.loaded is not None and x.gap < 0 for x in contacts.frictions)

    def _per_friction(self, rows: Array) -> Array:
        """Return the entries of an array of all rows that belong to frictions, shape (frictions, 1
        or 2).
        """
        return rows[self.n :].reshape(self.k, self.wide)

    def _touch(self, flow, t, y) -> Touched:
        return touch(self.rows, self.n + self.k, self.by_joints, flow, t, y)

    def _length(self, at: Touched) -> Array:
        """Return the length of each row; both rows of a friction in space have the larger one."""
        longest = jnp.max(self._per_friction(at.length), axis=1, initial=0.0)
        return jnp.concatenate([at.length[: self.n], jnp.repeat(longest, self.wide)])

    # instants

    def held(self, flow, events: Events, t, y, modes, fired, fastest) -> Held:
        """Determine the modes from a state on.

        Args:
            modes: modes before.
            fired: of each gap and friction, whether its event ended a step.
            fastest: as in `Held`.
        """
        n, at, p = self.n, self._touch(flow, t, y), flow.dynamics.p
        was, nq = modes[:n] > HELD_OFF, flow.dynamics.system.nq
        length = self._length(at)
        slow = length * (AT_INSTANT * at.pull * self.span + SOLUTION_ERROR * at.speed)
        near = AT_INSTANT * (length[:n] * at.place + jnp.abs(at.rate[:n]) * self.span)
        open_too = (fired[:n] & ~was) | was | (at.gap <= near)
        shut = open_too & jnp.isfinite(at.gap)
        # where the other constraints leave no motion along a gap no force opens it
        fixed = jnp.diagonal(at.D)[:n] <= (RESOLVED * length[:n]) ** 2
        zero = SOLUTION_ERROR * length[:n] * at.pull
        closing = (at.rate[:n] < -slow[:n]) | ((at.rate[:n] <= slow[:n]) & (at.left[:n] < -zero))
        driven = jnp.any(shut & fixed & closing)
        shut = shut & ~fixed
        hit = jnp.any(shut & (at.rate[:n] < -slow[:n]))

        def collided():
            y_after, fastest_after, fine = self._collided(flow, t, y, at, shut, fastest)
            return y_after, fastest_after, fine, self._touch(flow, t, y_after)

        y, fastest, fine, at = jax.lax.cond(
            hit, collided, lambda: (y, fastest, jnp.asarray(True), at)
        )
        staying = shut & (jnp.abs(at.rate[:n]) <= slow[:n])

        def closed():
            # up to round-off: a gap that is closed up to the accuracy of a step would close again
            # at once
            exact = replace(flow, target=RESOLVED * flow.target)
            landed = self._placed(exact, t, y, self._modes(staying)).y
            exactly = jnp.concatenate([landed[:nq], y[nq:]])
            return exactly, self._touch(flow, t, exactly)

        y, at = jax.lax.cond(jnp.any(staying & ~was), closed, lambda: (y, at))
        arrived, at_rest, over = self._at_rest(modes, fired, hit, at.rate, slow)
        falling = fired[:n] & ~hit & was
        arrived = jnp.concatenate([jnp.zeros(n, bool), arrived])
        new, found = self._decided(p, at, staying, at_rest, falling, over)
        new = self._shared(flow, t, y, new, at, falling)
        y = self._placed(flow, t, y, new).y
        values = events(flow, new, t, y)
        result = jnp.where(fine & found, Result.SUCCESS, Result.PARADOX)
        result = jnp.where(driven, Result.INCONSISTENT, result)
        # if the direction of sliding turns, only the direction changes; a friction whose gap opens
        # follows the gap
        is_gap = np.arange(n + self.k) < n
        moves_on = (modes < HELD_OFF) & (new < HELD_OFF) & self._in_space & ~arrived
        counts = is_gap | (new != HELD_OFF)
        changed = hit | jnp.any((modes != new) & ~moves_on & counts)
        # round-off above zero does not count as a rise
        return Held(y, new, jnp.minimum(values, 0.0), fastest, changed, result)

    def apart(self, flow, t, y) -> Landing:
        """Return y on the constraints, with no gap below zero."""
        free = self._placed(flow, t, y, self._modes(jnp.zeros(self.n, bool))).y
        below = self._touch(flow, t, free).gap < 0
        return self._placed(flow, t, free, self._modes(below))

    @property
    def _in_space(self) -> np.ndarray:
        return np.concatenate([np.zeros(self.n, bool), self.in_space])

    def _modes(self, closed: Array, sticks: Array | None = None) -> Array:
        sticks = jnp.zeros(self.k, bool) if sticks is None else sticks
        # numbers of a weak type, as JAX has them, would be other programs than those of a state
        return jnp.where(jnp.concatenate([closed, sticks]), HELD_ON, HELD_OFF).astype(float)

    @staticmethod
    def _placed(flow, t, y, modes) -> Landing:
        # with a nonzero error of a step, so that this is the subroutine that steps call
        return flow.with_input(modes).project_step(t, y, y + y)

    # impacts

    def _collided(self, flow, t, y, at: Touched, shut, fastest):
        """Return the state after an impact, the largest closing speed so far, and whether impulses
        exist.
        """
        n, nq, length = self.n, flow.dynamics.system.nq, self._length(at)
        fast = jnp.max(jnp.where(shut, -at.rate[:n] / length[:n], 0.0), initial=0.0)
        fastest = jnp.maximum(fastest, fast)
        least = self.contacts.slowest_impact * fastest
        rubs = jnp.any((self.owner > 0) & shut, axis=1)
        slip = jnp.sqrt(jnp.sum(self._per_friction(at.rate) ** 2, axis=1))

        def rests():
            longest = jnp.max(self._per_friction(length), axis=1, initial=0.0)
            still = rubs & (slip <= least * longest)
            return self._placed(flow, t, y, self._modes(shut, still)).y, jnp.asarray(True)

        def rebounds():
            impulse, fine = self._impulse(flow.dynamics.p, at, shut, rubs, slip)
            return y.at[nq:].add(impulse @ at.response), fine

        # rebounds that become shorter without end (Zeno behavior)
        y, fine = jax.lax.cond(fast <= least, rests, rebounds)
        return y, fastest, fine

    def _impulse(self, p, at: Touched, shut, rubs, slip):
        """Return Λ of all rows, by Newton's and Poisson's laws."""
        n, length, poisson = self.n, self._length(at), self.contacts.poisson
        laws = [jnp.asarray(number_of(x, p), float) for x in self.contacts.laws]
        rise = length[:n] * jnp.sqrt(2 * at.pull * SOLUTION_ERROR * at.place)
        e = jnp.stack([*laws, jnp.zeros(())])[:n]
        e = jnp.where(e * -at.rate[:n] <= rise, 0.0, e)
        met = at.rate.at[:n].mul(1 + jnp.where(poisson, 0.0, e))
        mu, none = self.constraints.kinetic_coefficients(p, slip), jnp.zeros(self.k)
        impulse, fine = self._solved(at, at.D, met, shut, rubs, mu, none)
        if not np.any(poisson):
            return impulse, fine
        returned = jnp.where(poisson, e * impulse[:n], 0.0)
        impulse = impulse.at[:n].add(returned)
        met = met + at.D @ impulse
        fixed = mu * (self.owner @ returned)
        more, again = self._solved(at, at.D, met, shut, rubs, mu, fixed)
        return impulse + more, fine & again

    def _solved(self, at: Touched, D, c, pushes, rubs, mu, fixed):
        """Return the forces of all rows, zero for inactive ones, and whether they exist."""
        n, unit = self.n, 1 / self._length(at)
        acts = jnp.concatenate([pushes, jnp.repeat(rubs, self.wide)])
        own = unit[n :: self.wide]
        share = mu[:, None] * self.owner * unit[:n] / own[:, None]
        D = unit[:, None] * D * unit
        # no force opens a gap whose force closes it further, or two do: Painlevé's paradox
        fine = jnp.all(~pushes | (jnp.diagonal(D)[:n] > 0))
        c = jnp.where(acts, unit * c, 0.0)
        z, found = solved(CoulombProblem(D, c, pushes, rubs, share, fixed / own))
        return unit * z, found & fine

    # accelerations

    def _at_rest(self, modes, fired, hit, rate, slow):
        """Return which frictions have come to rest at this instant, the speed of each that counts
        as zero (negative for one whose direction turns), and which are at the limit of their force.
        """
        own, due = modes[self.n :], fired[self.n :] & ~hit
        slides, slip = own < HELD_OFF, self._per_friction(rate)
        angle = straight_angle(own)
        along = jnp.cos(angle) * slip[:, 0]
        if self.wide > 1:
            along = along + jnp.sin(angle) * slip[:, 1]
        # the event of a friction that slides straight on may be that it turns
        arrived = due & slides & ((own > STRAIGHT) | (along <= 0))
        slow = jnp.max(self._per_friction(slow), axis=1, initial=0.0)
        slow = jnp.where(due & slides, jnp.where(arrived, jnp.inf, -1.0), slow)
        # where no friction comes to rest, one whose direction turns continues to turn, however slow
        # it is
        on = self.in_space & (own == SLIDES_FORWARD) & ~jnp.any(arrived) & ~hit
        return arrived, jnp.where(on, -1.0, slow), due & (own == HELD_ON)

    def _decided(self, p, at: Touched, staying, slow, falling, over):
        """Return the modes that follow from the accelerations, and whether forces for them
        exist.
        """
        n, slip = self.n, self._per_friction(at.rate)
        speed = jnp.sqrt(jnp.sum(slip**2, axis=1))
        # an open gap causes no friction
        touched = ~self.owned | jnp.any((self.owner > 0) & staying, axis=1)
        slides = touched & (speed > slow)
        along = slip / jnp.where(speed > 0, speed, 1.0)[:, None]
        given = p, at, staying, touched & ~slides, jnp.where(slides[:, None], along, 0.0), over

        def going(carry):
            first, begun, _, forces = carry
            return first | (forces.found & jnp.any(forces.yielding & ~begun))

        def again(carry):
            # a sliding friction has a smaller force than a sticking one, and another load
            _, begun, loads, forces = carry
            begun = begun | forces.yielding
            forces = self._balanced(given, begun, loads)
            return False, begun, forces.loads, forces

        none = jnp.zeros(self.k, bool)
        start = True, none, self.constraints.friction_loads(p, at.multipliers), self._no_forces
        # without friction one iteration suffices
        *_, forces = jax.lax.while_loop(going, again, start) if self.k else again(start)
        opens = (forces.rate[:n] > forces.zero[:n]) | (falling & (forces.push <= 0))
        closed = jnp.where(staying & ~opens, HELD_ON, HELD_OFF)
        rate = self._per_friction(forces.rate)
        size = lambda x: jnp.sqrt(jnp.sum(x**2, axis=1, keepdims=True))
        unit = lambda x: x / jnp.where(size(x) > 0, size(x), 1.0)
        begins = forces.begins[:, None]
        along = jnp.where(
            begins, jnp.where(size(forces.rub) > 0, -unit(forces.rub), unit(rate)), along
        )
        across = size(rate - along * jnp.sum(along * rate, axis=1, keepdims=True))[:, 0]
        zero = jnp.max(self._per_friction(forces.zero), axis=1, initial=0.0)
        straight = forces.begins | ((slow >= 0) & (across <= zero))
        way = jnp.where(self.in_space | (along[:, 0] > 0), SLIDES_FORWARD, SLIDES_BACKWARD)
        if self.wide > 1:
            angle = jnp.arctan2(along[:, 1], along[:, 0])
            angle = jnp.where(angle < 0, angle + 2 * np.pi, angle)
            way = jnp.where(self.in_space & straight, STRAIGHT - angle, way)
        way = jnp.where(slides | forces.begins, way, jnp.where(touched, HELD_ON, HELD_OFF))
        return jnp.concatenate([closed, way]).astype(float), forces.found

    def _balanced(self, given, begun, loads) -> _Forces:
        """Return forces with loads that agree with the forces."""
        if not self.by_joints:
            return self._forces(given, begun, loads)

        def going(carry):
            turn, _, _, loads, forces = carry
            close = SOLUTION_ERROR * jnp.max(jnp.abs(forces.loads), initial=0.0)
            missed = jnp.any(jnp.abs(forces.loads - loads) > close)
            return (turn == 0) | ((turn <= self.loops) & missed)

        def again(carry):
            # a load may depend strongly on itself: Aitken's relaxation, along the line of the last
            # iterations
            turn, part, missed, loads, forces = carry
            miss = forces.loads - loads
            change = miss - missed
            square = change @ change
            relaxed = -part * (missed @ change) / jnp.where(square > 0, square, 1.0)
            part = jnp.where((turn <= 1) | ~(square > 0), part, relaxed)
            loads = jnp.where(turn == 0, loads, jnp.maximum(loads + part * miss, 0.0))
            return turn + 1, part, miss, loads, self._forces(given, begun, loads)

        start = 0, 1.0, jnp.zeros(self.k), loads, self._no_forces
        turn, *_, forces = jax.lax.while_loop(going, again, start)
        return forces._replace(found=forces.found & (turn <= self.loops))

    @property
    def _no_forces(self) -> _Forces:
        n, k, rows = self.n, self.k, jnp.zeros(len(self.rows))
        none, rub, never = jnp.zeros(k), jnp.zeros((k, self.wide)), jnp.zeros(k, bool)
        return _Forces(rows[:n], rub, rows, rows, none, never, never, jnp.asarray(False))

    def _forces(self, given, begun, loads) -> _Forces:
        """Return the forces for given loads."""
        p, at, staying, resting, along, over = given
        n, owner, length = self.n, self.owner, self._length(at)
        slip = jnp.sqrt(jnp.sum(self._per_friction(at.rate) ** 2, axis=1))
        pull = -self.constraints.kinetic_coefficients(p, slip)[:, None] * along
        # of sliding frictions, per unit of λ of each gap, and for known loads
        with_gap = jnp.einsum("kj,kw->kwj", owner, pull).reshape(self.k * self.wide, n)
        fixed = jnp.where(self.owned, 0.0, loads)
        known = jnp.concatenate([jnp.zeros(n), (fixed[:, None] * pull).reshape(-1)])
        together = jnp.concatenate([jnp.eye(n), with_gap], axis=0)
        D = jnp.concatenate([at.D @ together, at.D[:, n:]], axis=1)
        none = jnp.zeros(self.k)
        kinetic = self.constraints.kinetic_coefficients(p, none)
        mu = jnp.where(begun, kinetic, self.constraints.friction_limits(p, none + 1.0))
        left = at.left + at.D @ known
        z, found = self._solved(at, D, left, staying, resting, mu, mu * fixed)
        push, rub = z[:n], self._per_friction(z)
        acting = together @ push + jnp.concatenate([jnp.zeros(n), z[n:]])
        rate = left + at.D @ acting
        radius = mu * (owner @ push + fixed)
        of_rows = lambda x: jnp.max(self._per_friction(x), axis=1, initial=0.0)
        size = lambda x: jnp.sqrt(jnp.abs(x @ at.free @ x))
        terms = jnp.maximum(at.pull + size(known), size(acting))
        limits = jnp.where(resting, jnp.abs(radius) * of_rows(length), 0.0)
        zero = SOLUTION_ERROR * length * jnp.maximum(terms, jnp.max(limits, initial=0.0))
        norm = lambda x: jnp.sqrt(jnp.sum(x**2, axis=1))
        at_limit = resting & (norm(rub) >= (1 - AGREEMENT) * radius)
        slips = resting & (norm(self._per_friction(rate)) > of_rows(zero))
        begins = slips | (at_limit & begun)
        every = at.multipliers + (known + acting) @ at.reactions
        loads = self.constraints.friction_loads(p, every.at[np.array(self.rows[:n], int)].set(push))
        return _Forces(push, rub, rate, zero, loads, begins, slips | (at_limit & over), found)

    def _shared(self, flow, t, y, modes, at: Touched, falling):
        """Return the modes without redundant gaps whose force would be tensile or has fallen to
        zero.
        """
        n, gaps = self.n, np.array(self.rows[: self.n], int)
        if not n:
            return modes

        def gone(modes):
            """Return which gap becomes inactive, and whether any does."""
            on = modes[:n] > HELD_OFF
            load = forces_at(flow.with_input(modes).dynamics, flow.state(t, y))[0][gaps]
            size = jnp.where(on, load * self._length(at)[:n], 0.0)
            # forces below the threshold of the events that end a step count as zero
            small = jnp.maximum(AGREEMENT * jnp.max(jnp.abs(size)), CONVERGED * at.pull)
            fallen = on & falling & (jnp.abs(size) <= small)
            least = jnp.argmin(jnp.where(on, size, jnp.inf))
            which = jnp.where(jnp.any(fallen), jnp.argmax(fallen), least)
            return which, jnp.any(fallen) | (size[which] < -small)

        def without(carry):
            modes, which, _ = carry
            modes = jnp.where(jnp.arange(len(modes)) == which, HELD_OFF, modes)
            return modes, *gone(modes)

        start = modes, jnp.asarray(-1), jnp.asarray(True)
        return jax.lax.while_loop(lambda x: x[2], without, start)[0]


def changes_of(setup: RunSetup) -> Changes | None:
    """Return the gaps and frictions of a run, or None without any."""
    contacts = None if setup.switching is None else setup.switching.contacts
    return None if contacts is None else Changes(contacts, float(setup.asked.span))
