"""A model that is simulated in a browser: its steps as a module of WebAssembly.

What is printed is the text that `zw.simulate` executes (`zwang.stepping.step.attempt`): stages,
projection, error control. What it needs and gives are arrays at known places of the module's
memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from zwang.codegen.names import parameters, with_parameters
from zwang.compile import native_trace
from zwang.compile.flat import FlatFunction, Zeros, with_structure, zeros_of
from zwang.dynamics.model import Model, refuse_letting_go
from zwang.dynamics.vector_field import shares_at
from zwang.errors import ModelError, Result
from zwang.files.packing import packed
from zwang.native.errors import NotNativeError
from zwang.native.webassembly import FUSED, ROUNDED_TWICE, Module
from zwang.objects.record import is_array
from zwang.simulation.run_setup import RunRequest, RunSetup, set_up
from zwang.simulation.switching import refuse_switches
from zwang.stepping.step import Progress, attempt
from zwang.thresholds import DEFAULT_RTOL

ATTEMPTS_OF_A_CALL = 500
"""Attempted steps of one call at most: a page answers between two of them."""
FRAMES_A_SECOND = 60
"""Samples a second of the run that a page takes the steps of, the first of which they decide."""
STATE = ("t", "y", "h", "ratio", "ceiling", "accepted", "rejected", "refused", "result")
"""Arrays that a step changes, by the names of `Progress`."""
OWN = "own "
"""Beginning of the names of arrays that follow from the parameters."""


@dataclasses.dataclass(frozen=True)
class BrowserProgram:
    """Steps of a model as a module of WebAssembly.

    Functions of the module, which take and return nothing:

        derive    the numbers of the steps that follow from p, which begin as those of a run
        advance   steps from the state to the time `until`, at most `ATTEMPTS_OF_A_CALL`
        place     y onto the constraints at t, by the least change in the mass metric
        see       what there is to see at y
        push      forces to show at y, if there are any

    Attributes:
        binary: the module.
        places: byte, type and shape of each array: `STATE`, "p", "until", "violation", "seen", and
            the numbers of the steps.
        start: what the arrays begin with.
        parameters: names of the entries of p.
        instructions: of each function.
    """

    binary: bytes = dataclasses.field(repr=False)
    places: dict[str, tuple[int, np.dtype, tuple[int, ...]]]
    start: dict[str, np.ndarray]
    parameters: tuple[str, ...]
    instructions: dict[str, int]

    def as_data(self) -> dict[str, Any]:
        """The same as what JSON can hold."""
        kinds = {"f": "Float64Array", "i": "BigInt64Array"}
        return {
            # straight code repeats itself: a fifth is left
            "binary": packed(self.binary),
            # what to put where, if the browser has no fused product
            "fused": [self.binary.find(FUSED), list(ROUNDED_TWICE)],
            "places": {
                name: [at, kinds[dtype.kind], int(np.prod(shape))]
                for name, (at, dtype, shape) in self.places.items()
            },
            "start": {name: _listed(x) for name, x in self.start.items()},
            "parameters": self.parameters,
        }


def _listed(x: np.ndarray) -> list:
    """Numbers as JSON holds them: infinity as the text that JavaScript reads."""
    words = {np.inf: "Infinity", -np.inf: "-Infinity"}
    return [e if np.isfinite(e) else words.get(e, "NaN") for e in map(float, np.ravel(x))]


def browser_program(
    model: Model,
    q0,
    v0,
    *,
    duration: float = 10.0,
    rtol: float = DEFAULT_RTOL,
    t0: float = 0.0,
    seen: Callable = lambda q: q,
    forces: Callable | None = None,
) -> BrowserProgram:
    """The steps of `zw.simulate(model, q0, v0, rtol=rtol)` as a module of WebAssembly.

    Args:
        model: the model.
        q0, v0: start, which is measured, judged and placed as that of a run.
        duration: length of a motion that is typical [s].
        rtol: relative error of a step.
        t0: initial time [s].
        seen: q → an array of numbers to show, of operations of JAX.
        forces: q and the generalized force of each constraint by name → forces to show; none by
            default.

    Raises:
        ModelError: for a start that a run refuses, or an operation that cannot be printed.
    """
    refuse_switches(model, "code")
    refuse_letting_go(model)
    asked = _request(model, q0, v0, duration, rtol, t0)
    steps = _Steps(asked, set_up(asked))
    module = Module()
    try:
        numbers = steps.numbers
        own = [name for name in numbers if name.startswith(OWN)]
        module.add("derive", steps.deriving(), ["p"], own)
        module.add("advance", steps.advancing(), [*numbers, *STATE, "until"], [*STATE, "violation"])
        module.add("place", steps.placing(), [*numbers, "t", "y"], ["y", "violation"])
        module.add("see", steps.seeing(seen), ["y"], ["seen"])
        if forces is not None:
            module.add("push", steps.pushing(forces), [*numbers, "t", "y"], ["forces"])
    except NotNativeError as error:
        raise ModelError(
            f"{model.name}: its steps cannot be taken in a browser ({error}); a view of a run "
            "can be shown there."
        ) from None
    return BrowserProgram(
        module.binary(),
        module.places,
        steps.start,
        tuple(name for name, _ in parameters(model)),
        module.instructions,
    )


def _request(model: Model, q0, v0, duration: float, rtol: float, t0: float) -> RunRequest:
    """A run as `zw.simulate` asks for it, with its defaults."""
    return RunRequest(
        model=model,
        state=model.state(q0, v0, t0),
        instants=np.linspace(t0, t0 + duration, max(2, 1 + round(FRAMES_A_SECOND * duration))),
        span=duration,
        rtol=rtol,
        start_tolerance=1e-3,
        max_steps=2**31,
    )


class _Steps:
    """A run's steps as functions of its state, and of its numbers as they are of a run's own
    program: where a constant is folded, sums are rounded otherwise.

    Attributes:
        numbers: of the vector field and the tolerances, by name; those by `OWN` follow from p.
    """

    def __init__(self, asked: RunRequest, setup: RunSetup):
        self.model, self.setup = asked.model, setup
        self.integrator, self.limit = asked.integrator, asked.max_steps
        self._leaves, self._tree = with_structure((setup.flow, setup.tolerances))
        arrays = [x for x in self._leaves if is_array(x)]
        own = self._own(setup.flow.dynamics.p)
        first = next((k for k, x in enumerate(arrays) if own and x is own[0]), 0)
        assert all(x is y for x, y in zip(own, arrays[first:], strict=False))
        names = [f"n{k}" for k in range(len(arrays))]
        names[first : first + len(own)] = [f"{OWN}{k}" for k in range(len(own))]
        self.numbers = dict(zip(names, map(np.asarray, arrays), strict=True))
        self.p = np.array([x for _, x in parameters(self.model)])

    @staticmethod
    def _own(p) -> list:
        return [x for x in jax.tree_util.tree_leaves(p) if is_array(x)]

    @cached_property
    def start(self) -> dict[str, np.ndarray]:
        here = self.setup.here
        found = {name: np.asarray(getattr(here, name)) for name in STATE}
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

    def _traced(self, function, *names: str):
        with native_trace():
            return jax.make_jaxpr(function)(*(self.start[x] for x in names))

    def _of_numbers(self, function: Callable, *names: str):
        """A function of the vector field, the tolerances and arrays of some names, traced."""
        tree = jax.tree_util.tree_structure
        leaves = [*self._leaves, *(self.start[x] for x in names)]
        structure = tree(((*self._tree.unflatten(self._leaves), *names), {}))
        return self._traced(
            FlatFunction(function, leaves, structure, self._zeros), *self.numbers, *names
        )

    def derived(self, p) -> list:
        """The numbers of the vector field that follow from the model's parameters."""
        return self._own(self.model.parameters(with_parameters(self.model, p)))

    def deriving(self):
        return self._traced(self.derived, "p")

    def advancing(self):
        setup, none = self.setup, jnp.zeros(0)

        def advance(flow, tolerances, *given):
            *state, until = given
            known = dict(zip(STATE, state, strict=True))
            begun = Progress(
                **known, events=none, largest=none, fired=none > 0, controller_state=()
            )

            def going(carry):
                progress, arrived, turn, _ = carry
                return (progress.result == Result.SUCCESS) & ~arrived & (turn < ATTEMPTS_OF_A_CALL)

            def once(carry):
                progress, _, turn, before = carry
                limit = jnp.asarray(self.limit)
                events, integrator = setup.events, self.integrator
                tried = attempt(flow, integrator, events, progress, until, tolerances, limit)
                left = jnp.where(tried.kept, tried.violation, before)
                return tried.progress, tried.on_sample, turn + 1, left

            start = begun, known["t"] >= until, 0, jnp.zeros(())
            progress, _, _, violation = jax.lax.while_loop(going, once, start)
            return *(getattr(progress, name) for name in STATE), violation

        return self._of_numbers(advance, *STATE, "until")

    def placing(self):
        def place(flow, tolerances, t, y):
            # with some error of a step, so that this is the subroutine that steps call
            landed = flow.project_step(t, y, y + y)
            return landed.y, landed.violation

        return self._of_numbers(place, "t", "y")

    def pushing(self, forces: Callable):
        def push(flow, tolerances, t, y):
            state = flow.state(t, y)
            return forces(state.q, shares_at(flow.dynamics, state))

        return self._of_numbers(push, "t", "y")

    def seeing(self, seen: Callable):
        try:
            return self._traced(lambda y: seen(y[: self.model.system.nq]), "y")
        except jax.errors.TracerArrayConversionError:
            raise ModelError(
                f"{self.model.name}: its scene cannot be traced, which a page that simulates "
                "needs; in `seen` take functions of arrays from "
                "zwang.scene.array_namespace(q) in place of numpy."
            ) from None
