"""The functions with which a page simulates, as traced programs: steps of a run, the numbers to
draw, forces of the pointer, and the modes of gaps (`zwang.simulation.contact`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from zwang.codegen.changes import changes_of
from zwang.codegen.names import parameters, with_parameters
from zwang.codegen.typical_run import with_pull
from zwang.compile import native_trace, program
from zwang.compile.flat import FlatFunction, Zeros, with_structure, zeros_of
from zwang.dynamics import functions
from zwang.dynamics.drift import AbstractDrift, AbstractStabilization
from zwang.dynamics.vector_field import (
    ConstrainedVectorField,
    acting_at,
    forces_at,
)
from zwang.errors import ModelError, Result
from zwang.objects.record import is_array, replace
from zwang.simulation.monitor import RECENT
from zwang.simulation.run_setup import RunRequest, RunSetup
from zwang.simulation.turning import CHATTER, Turning
from zwang.stepping.step import Progress, attempt
from zwang.thresholds import AGREEMENT

ATTEMPTS_OF_A_CALL = 500
"""Maximum number of attempted steps of one call: a page responds between two calls."""
STATE = ("t", "y", "h", "ratio", "ceiling", "accepted", "rejected", "refused", "result")
"""Arrays that a step changes, with the names of `Progress`."""
LOOSE = ("events", "largest", "fired", "controller_state", "lengths")
"""Further arrays of a model with gaps or dry frictions; `lengths` are those of the last steps
[s]."""
CHANGED = ("y", "controller_state", "events", "fastest", "changed", "result")
"""Results of a mode change (`zwang.codegen.changes.Held`)."""
OWN, PULL = "own ", "pull"
"""Prefix of the names of arrays that depend on the parameters, and name of the pulling force, which
is added to F."""


class PulledDrift(AbstractDrift):
    """Drift treatment with a further force, whose accelerations are added. Without this force its
    accelerations are bitwise identical to those of the treatment.
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
    """Return the flow with a further force, which the forces of gaps, and thereby events,
    include.
    """
    if not flow.dynamics.constraints.loose:
        return replace(flow, drift=PulledDrift(drift=flow.drift, pull=pull))
    return with_pull(flow, pull)


class BrowserSteps:
    """Steps of a run as functions of its state and of the same numbers as in the compiled program
    of a run: a folded constant would change the rounding of sums.

    Attributes:
        numbers: of the vector field and the tolerances, by name; those with the prefix `OWN` depend
            on p.
        state: names of the arrays that a step changes.
        changes: mode changes of gaps and frictions, or None without any.
    """

    def __init__(self, asked: RunRequest, setup: RunSetup):
        self.model, self.setup, self.asked = asked.model, setup, asked
        self.changes = changes_of(setup)
        self.state = STATE if self.changes is None else (*STATE, *LOOSE)
        self.p = np.array([x for _, x in parameters(self.model)])
        self._parameters = lambda p: self.model.parameters(with_parameters(self.model, p))
        pull, flow = np.zeros(self.model.system.nv), setup.flow
        # concrete numbers of a robot are in the axes of its joints, those that a program derives
        # from p are in the axes of its base
        if len(self._own(flow.dynamics.p)) != len(jax.eval_shape(self.derived, self.p)):
            self._parameters = program(self._parameters)
            flow = replace(flow, dynamics=replace(flow.dynamics, p=self._parameters(self.p)))
        given = _pulled(flow, pull), setup.events, setup.tolerances
        self._leaves, self._tree = with_structure(given)
        arrays = [x for x in self._leaves if is_array(x)]
        own = self._own(flow.dynamics.p)
        first = next((k for k, x in enumerate(arrays) if own and x is own[0]), 0)
        assert all(x is y for x, y in zip(own, arrays[first:], strict=False))
        names = [PULL if x is pull else f"n{k}" for k, x in enumerate(arrays)]
        names[first : first + len(own)] = [f"{OWN}{k}" for k in range(len(own))]
        self.numbers = dict(zip(names, map(np.asarray, arrays), strict=True))

    @staticmethod
    def _own(p) -> list:
        return [x for x in jax.tree_util.tree_leaves(p) if is_array(x)]

    @cached_property
    def start(self) -> dict[str, np.ndarray]:
        """Initial values of the arrays."""
        here, none = self.setup.here, np.full(RECENT, np.nan)
        found = {name: np.asarray(getattr(here, name, none)) for name in self.state}
        if self.changes is not None:
            found["fired"] = found["fired"].astype(float)
            found["fastest"] = np.zeros(())
        more = {"p": self.p, "until": np.asarray(here.t), "violation": np.zeros(())}
        return {**found, **more, **self.numbers}

    @cached_property
    def _zeros(self) -> tuple:
        """Zeros of tables that are constants of a run's program, except for those that are nonzero
        with other parameters.
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
        """Trace a function of the vector field, events, tolerances and arrays with some names."""
        tree, given = jax.tree_util.tree_structure, {**self.start, **further}
        own = [*(given[x] for x in names), *further.values()]
        leaves = [*self._leaves, *own]
        structure = tree(((*self._tree.unflatten(self._leaves), *own), {}))
        flat = FlatFunction(function, leaves, structure, self._zeros)
        return self._traced(flat, *self.numbers.values(), *own)

    @property
    def at(self) -> tuple[str, ...]:
        """Names of the arrays with the state of a motion and the modes of gaps."""
        return ("t", "y") if self.changes is None else ("t", "y", "controller_state")

    def derived(self, p) -> list:
        """Return the numbers of the vector field that depend on the model's parameters."""
        return self._own(self._parameters(p))

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
        def place(flow, events, tolerances, t, y):
            # with a nonzero error of a step, so that it is the subroutine that steps call
            if self.changes is None:
                landed = flow.project_step(t, y, y + y)
            else:
                landed = self.changes.apart(flow, t, y)
            return landed.y, landed.violation

        return self._of_numbers(place, "t", "y")

    def pushing(self, forces: Callable):
        def push(flow, events, tolerances, t, y, *modes):
            state, held = flow.state(t, y), _held(flow, modes)
            if isinstance(held.drift, PulledDrift):
                held = with_pull(held, held.drift.pull)
            return forces(state, acting_at(held.dynamics, state))

        return self._of_numbers(push, *self.at)

    def grasping(self, grip: Callable, numbers: int):
        """Trace the place of the grip, and its derivatives by q and v."""

        def grasp(flow, events, tolerances, t, y, held):
            state, system, p = flow.state(t, y), flow.dynamics.system, flow.dynamics.p
            place, back = jax.vjp(lambda q: grip(q, held), state.q)
            slopes = jnp.stack([back(x)[0] for x in jnp.eye(3)])
            if system.velocity_map is None:
                return place, slopes, slopes
            return place, slopes, slopes @ functions.velocity_map(system, state.q, t, p)

        return self._of_numbers(grasp, "t", "y", held=np.zeros(numbers))

    def accelerating(self):
        """Trace accelerations, by the subroutine that steps call."""

        def accelerate(flow, events, tolerances, t, y, *modes):
            return flow.split(_held(flow, modes).rate(t, y))[1]

        return self._of_numbers(accelerate, *self.at)

    def changing(self):
        """Trace the modes of gaps and frictions from a state on."""
        changes = self.changes
        assert changes is not None

        def change(flow, events, tolerances, t, y, modes, fired, fastest):
            return (*changes.held(flow, events, t, y, modes, fired > 0, fastest),)

        return self._of_numbers(change, *self.at, "fired", "fastest")

    def loading(self):
        """Trace the generalized forces of the gaps in their modes, with the friction that they
        load.
        """
        changes = self.changes
        assert changes is not None

        def load(flow, events, tolerances, t, y, modes):
            state, held = flow.state(t, y), flow.with_input(modes).dynamics
            c, gaps, A = held.constraints, held.constraints.one_sided_rows, held.matrix(state)
            load = forces_at(held, state)[0]
            pushes, sliding = load[gaps, None] * A[gaps], held.sliding_forces(state, load)
            for x, friction in zip(changes.contacts.frictions, c.frictions, strict=True):
                if x.gap >= 0:
                    rubs = load[friction.indices] @ A[friction.indices]
                    rubs = rubs + sliding.get(friction.law.name, 0.0)
                    pushes = pushes.at[x.gap].add(rubs)
            return (pushes,)

        return self._of_numbers(load, *self.at)

    @property
    def turning(self) -> dict[str, Any]:
        """Numbers of a run that determine the modes of gaps; empty without gaps."""
        if self.changes is None:
            return {}
        return {
            "agreement": AGREEMENT,
            "soon": Turning.soon,
            "chatter": CHATTER,
            "span": float(self.asked.span),
            "first": float(self.setup.here.h),
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
    """Return the flow with the modes of gaps, if there are any."""
    return flow.with_input(*modes) if modes else flow
