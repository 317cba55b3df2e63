"""The functions that a page simulates by, as traced programs: steps of a run, what there is to see,
what pulls, and what decides how gaps are held (`zwang.simulation.contact`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.codegen.names import parameters, with_parameters
from zwang.compile import native_trace
from zwang.compile.flat import FlatFunction, Zeros, with_structure, zeros_of
from zwang.dynamics import functions
from zwang.dynamics.drift import AbstractDrift, AbstractStabilization
from zwang.dynamics.scales import size_of
from zwang.dynamics.vector_field import (
    HELD_OFF,
    HELD_ON,
    ConstrainedVectorField,
    acting_at,
    forces_at,
)
from zwang.equations.constraint.base import number_of
from zwang.errors import ModelError, Result
from zwang.objects.record import Record, is_array, replace
from zwang.simulation.monitor import RECENT
from zwang.simulation.run_setup import RunRequest, RunSetup
from zwang.simulation.turning import CHATTER, Turning
from zwang.stepping.step import Progress, attempt
from zwang.thresholds import AGREEMENT, AT_INSTANT, SOLUTION_ERROR

ATTEMPTS_OF_A_CALL = 500
"""Attempted steps of one call at most: a page answers between two of them."""
STATE = ("t", "y", "h", "ratio", "ceiling", "accepted", "rejected", "refused", "result")
"""Arrays that a step changes, by the names of `Progress`."""
LOOSE = ("events", "largest", "fired", "controller_state", "lengths")
"""Further ones of a model that may let go; `lengths` are those of the last steps [s]."""
TOUCHED = ("gap", "rate", "left", "response", "compliance", "free", "restitution", "sizes")
"""Arrays by which it is decided how gaps are held (`BrowserSteps.touching`)."""
OWN, PULL = "own ", "pull"
"""Beginning of the names of arrays that follow from the parameters; name of the force that pulls,
added to F.
"""


class _Pulled(Record):
    """F with a further force, shape (nv,)."""

    force: Callable
    pull: Array

    def __call__(self, q, v, t, p):
        return self.force(q, v, t, p) + self.pull


class PulledDrift(AbstractDrift):
    """A treatment of drift whose accelerations have those that a further force causes: without it
    they are to the bit what they are without this.
    """

    drift: AbstractDrift
    pull: Array
    stabilization: AbstractStabilization | None = None
    projects = True

    def equation(self, dynamics, state, treated=True):
        return self.drift.equation(dynamics, state, treated)

    def rate(self, dynamics, state, treated=True):
        rate = self.drift.rate(dynamics, state, treated)
        caused = lambda: rate.equation.gauss.mobility(self.pull)
        none = lambda: jnp.zeros_like(rate.v)
        return replace(rate, v=rate.v + jax.lax.cond(jnp.any(self.pull != 0), caused, none))

    def project_step(self, dynamics, state, error, target):
        return self.drift.project_step(dynamics, state, error, target)


def _pulled(flow: ConstrainedVectorField, pull) -> ConstrainedVectorField:
    """The flow with a further force, which the forces of gaps, that is events, have in them."""
    if not len(flow.dynamics.constraints.one_sided_rows):
        return replace(flow, drift=PulledDrift(drift=flow.drift, pull=pull))
    return _with_pull(flow, pull)


def _with_pull(flow: ConstrainedVectorField, pull) -> ConstrainedVectorField:
    system = replace(flow.dynamics.system, force=_Pulled(flow.dynamics.system.force, pull))
    return replace(flow, dynamics=replace(flow.dynamics, system=system))


class BrowserSteps:
    """A run's steps as functions of its state, and of its numbers as they are of a run's own
    program: where a constant is folded, sums are rounded otherwise.

    Attributes:
        numbers: of the vector field and the tolerances, by name; those by `OWN` follow from p.
        state: names of the arrays that a step changes.
        gaps: rows of the gaps.
    """

    def __init__(self, asked: RunRequest, setup: RunSetup):
        self.model, self.setup, self.asked = asked.model, setup, asked
        self.gaps = self.model.constraints.one_sided_rows
        self.state = (*STATE, *LOOSE) if len(self.gaps) else STATE
        pull = np.zeros(self.model.system.nv)
        given = _pulled(setup.flow, pull), setup.events, setup.tolerances
        self._leaves, self._tree = with_structure(given)
        arrays = [x for x in self._leaves if is_array(x)]
        own = self._own(setup.flow.dynamics.p)
        first = next((k for k, x in enumerate(arrays) if own and x is own[0]), 0)
        assert all(x is y for x, y in zip(own, arrays[first:], strict=False))
        names = [PULL if x is pull else f"n{k}" for k, x in enumerate(arrays)]
        names[first : first + len(own)] = [f"{OWN}{k}" for k in range(len(own))]
        self.numbers = dict(zip(names, map(np.asarray, arrays), strict=True))
        self.p = np.array([x for _, x in parameters(self.model)])

    @staticmethod
    def _own(p) -> list:
        return [x for x in jax.tree_util.tree_leaves(p) if is_array(x)]

    @cached_property
    def start(self) -> dict[str, np.ndarray]:
        """What the arrays begin with."""
        here, none = self.setup.here, np.full(RECENT, np.nan)
        found = {name: np.asarray(getattr(here, name, none)) for name in self.state}
        if len(self.gaps):
            found["fired"] = found["fired"].astype(float)
        more = {"p": self.p, "until": np.asarray(here.t), "violation": np.zeros(())}
        return {**found, **more, **self.numbers}

    @cached_property
    def _zeros(self) -> tuple:
        """Zeros of tables, which are parts of a run's program, but for those that are none of
        other parameters.
        """
        rng, found = np.random.default_rng(1), list(zeros_of(self._leaves))
        others = [self.derived(self.p * rng.uniform(0.5, 1.5, len(self.p))) for _ in range(2)]
        leaves = iter(self.numbers)
        names = [next(leaves) if is_array(x) else "" for x in self._leaves]
        for k, (name, zeros) in enumerate(zip(names, found, strict=False)):
            if zeros is not None and name.startswith(OWN):
                own = int(name.removeprefix(OWN))
                found[k] = Zeros(~zeros.where + sum(abs(np.asarray(x[own])) for x in others))
        return tuple(found)

    def _traced(self, function, *given: np.ndarray):
        with native_trace():
            return jax.make_jaxpr(function)(*given)

    def _of_numbers(self, function: Callable, *names: str, **further: np.ndarray):
        """A function of the vector field, events, tolerances and arrays of some names, traced."""
        tree, given = jax.tree_util.tree_structure, {**self.start, **further}
        own = [*(given[x] for x in names), *further.values()]
        leaves = [*self._leaves, *own]
        structure = tree(((*self._tree.unflatten(self._leaves), *own), {}))
        flat = FlatFunction(function, leaves, structure, self._zeros)
        return self._traced(flat, *self.numbers.values(), *own)

    @property
    def at(self) -> tuple[str, ...]:
        """Names of the arrays that say where a motion is and how gaps are held."""
        return ("t", "y", "controller_state") if len(self.gaps) else ("t", "y")

    def derived(self, p) -> list:
        """The numbers of the vector field that follow from the model's parameters."""
        return self._own(self.model.parameters(with_parameters(self.model, p)))

    def deriving(self):
        return self._traced(self.derived, self.p)

    def advancing(self):
        none = jnp.zeros(0)
        quiet = {"events": none, "largest": none, "fired": none, "controller_state": ()}

        def advance(flow, events, tolerances, *given):
            *state, until = given
            known = quiet | dict(zip(self.state, state, strict=True))
            lengths = known.pop("lengths", none)
            begun = Progress(**{**known, "fired": known["fired"] > 0})

            def going(carry):
                progress, arrived, turn, *_ = carry
                return (progress.result == Result.SUCCESS) & ~arrived & (turn < ATTEMPTS_OF_A_CALL)

            def once(carry):
                progress, _, turn, before, lengths = carry
                limit, integrator = jnp.asarray(self.asked.max_steps), self.asked.integrator
                tried = attempt(flow, integrator, events, progress, until, tolerances, limit)
                left = jnp.where(tried.kept, tried.violation, before)
                if len(lengths):
                    last = jnp.append(lengths[1:], tried.progress.t - progress.t)
                    lengths = jnp.where(tried.kept, last, lengths)
                return tried.progress, tried.on_sample, turn + 1, left, lengths

            start = begun, known["t"] >= until, 0, jnp.zeros(()), lengths
            progress, _, _, violation, lengths = jax.lax.while_loop(going, once, start)
            found = {**progress._asdict(), "fired": progress.fired * 1.0, "lengths": lengths}
            return *(found[name] for name in self.state), violation

        return self._of_numbers(advance, *self.state, "until")

    def placing(self):
        def place(flow, events, tolerances, t, y, *modes):
            # with some error of a step, so that this is the subroutine that steps call
            landed = _held(flow, modes).project_step(t, y, y + y)
            return landed.y, landed.violation

        return self._of_numbers(place, *self.at)

    def pushing(self, forces: Callable):
        def push(flow, events, tolerances, t, y, *modes):
            state, held = flow.state(t, y), _held(flow, modes)
            if isinstance(held.drift, PulledDrift):
                held = _with_pull(held, held.drift.pull)
            return forces(state, acting_at(held.dynamics, state))

        return self._of_numbers(push, *self.at)

    def grasping(self, grip: Callable, numbers: int):
        """Place of what is held, and its changes by q and by v."""

        def grasp(flow, events, tolerances, t, y, held):
            state, system, p = flow.state(t, y), flow.dynamics.system, flow.dynamics.p
            place, back = jax.vjp(lambda q: grip(q, held), state.q)
            slopes = jnp.stack([back(x)[0] for x in jnp.eye(3)])
            if system.velocity_map is None:
                return place, slopes, slopes
            return place, slopes, slopes @ functions.velocity_map(system, state.q, t, p)

        return self._of_numbers(grasp, "t", "y", held=np.zeros(numbers))

    def accelerating(self):
        """Accelerations, by the subroutine that steps call."""

        def accelerate(flow, events, tolerances, t, y, *modes):
            return flow.split(_held(flow, modes).rate(t, y))[1]

        return self._of_numbers(accelerate, *self.at)

    def touching(self):
        """What decides how gaps are held, as all of them are open: gaps, their rates and their
        accelerations; what a unit force at each adds to v̇; what to these accelerations, with the
        other constraints and without; restitutions; the sizes of v, of M⁻¹F, and of the place.
        """

        def touch(flow, events, tolerances, t, y):
            state, switches = flow.state(t, y), len(self.start["controller_state"])
            every, held = (
                flow.with_input(jnp.full(switches, x)).dynamics for x in (HELD_ON, HELD_OFF)
            )
            c, p, at = every.constraints, every.p, held.equation_at(state)
            phi, psi = every.residuals(state)
            gap, rate = (
                jnp.zeros(c.m).at[rows].set(x)[self.gaps]
                for rows, x in ((c.position_rows, phi), (c.velocity_rows, psi))
            )
            if (beyond := c.beyond(state.q, t, p)) is not None:
                gap = jnp.where(beyond > 0, jnp.inf, gap)
            A, b = every.matrix(state)[self.gaps], every.rhs(state)[self.gaps]
            response = jnp.stack([at.gauss.mobility(x) for x in A])
            free = jnp.stack([at.mass.solve(x) for x in A])
            members = [m for m in c.members if m.level.lets_go for _ in m.parts]
            laws = [number_of(getattr(m, "restitution", 0.0), p) for m in members]
            unit = jnp.sqrt(jnp.mean(jnp.abs(at.mass.diag())))
            place = jnp.maximum(size_of(jnp, state.q, unit), unit)
            inverse = held.inverse_length
            place = jnp.minimum(place, jnp.where(inverse > 0, 1 / inverse, jnp.inf))
            pull = jnp.sqrt(jnp.abs(at.free_acceleration @ at.force))
            return (
                gap,
                rate,
                A @ held.acceleration(at) - b,
                response,
                response @ A.T,
                free @ A.T,
                jnp.stack([jnp.asarray(x, float) for x in laws]),
                jnp.stack([at.mass.size(state.v), pull, place]),
            )

        return self._of_numbers(touch, "t", "y")

    def loading(self):
        """Multipliers of the gaps as they are held, their generalized forces, and the events."""

        def load(flow, events, tolerances, t, y, modes):
            state, held = flow.state(t, y), flow.with_input(modes).dynamics
            load = forces_at(held, state)[0][self.gaps]
            pushes = load[:, None] * held.matrix(state)[self.gaps]
            return load, pushes, events(flow, modes, t, y)

        return self._of_numbers(load, *self.at)

    @property
    def turning(self) -> dict[str, Any]:
        """Numbers by which it is decided how gaps are held, those of a run; empty without any."""
        switching = self.setup.switching
        if switching is None or switching.contacts is None:
            return {}
        return {
            "at_instant": AT_INSTANT,
            "solution": SOLUTION_ERROR,
            "agreement": AGREEMENT,
            "slowest": switching.contacts.slowest_impact,
            "soon": Turning.soon,
            "chatter": CHATTER,
            "span": float(self.asked.span),
            "first": float(self.setup.here.h),
            "poisson": switching.contacts.poisson.tolist(),
            "paradox": int(Result.PARADOX),
            "chattering": int(Result.CHATTERING),
        }

    def seeing(self, seen: Callable):
        try:
            return self._traced(lambda y: seen(y[: self.model.system.nq]), self.start["y"])
        except jax.errors.TracerArrayConversionError:
            raise ModelError(
                f"{self.model.name}: its scene cannot be traced, which a page that simulates "
                "needs; in `seen` take functions of arrays from "
                "zwang.scene.array_namespace(q) in place of numpy."
            ) from None


def _held(flow, modes: Sequence[Array]):
    """The flow as gaps are held, if there are any."""
    return flow.with_input(*modes) if modes else flow
