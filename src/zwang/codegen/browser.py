"""A model that is simulated in a browser: its steps as a module of WebAssembly.

What is printed is the text that `zw.simulate` executes (`zwang.stepping.step.attempt`): stages,
projection, error control. What it needs and gives are arrays at known places of the module's
memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from zwang.codegen.browser_steps import CHANGED, OWN, BrowserSteps
from zwang.codegen.names import parameters
from zwang.codegen.typical_run import typical_run
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.files.packing import packed
from zwang.native.errors import NotNativeError
from zwang.native.webassembly import FUSED, ROUNDED_TWICE, Module
from zwang.simulation.run_setup import set_up
from zwang.simulation.switching import refuse_switches
from zwang.thresholds import DEFAULT_RTOL


@dataclasses.dataclass(frozen=True)
class BrowserProgram:
    """Steps of a model as a module of WebAssembly.

    Functions of the module, which take and return nothing:

        derive      the numbers of the steps that follow from p, which begin as those of a run
        advance     steps from the state to the time `until`, some hundred at most
        place       y onto the constraints at t, by the least change in the mass metric
        see         what there is to see at y
        push        forces to show at y, if there are any
        grasp       where what is held is, and how it moves by q (`slopes`) and by v (`lever`)
        accelerate  v̇ at y
        change      how gaps and dry frictions are held from here on, with the velocity after an
                    impact
        load        forces of gaps as they are held

    A force `pull` is added to F, shape (nv,). `change` and `load` are of models that may let go.

    Attributes:
        binary: the module.
        places: byte, type and shape of each array: those of the state, "p", "until", "violation",
            "seen", and the numbers of the steps.
        start: what the arrays begin with.
        parameters: names of the entries of p.
        turning: numbers by which it is decided how gaps are held; empty without any.
        instructions: of each function.
    """

    binary: bytes = dataclasses.field(repr=False)
    places: dict[str, tuple[int, np.dtype, tuple[int, ...]]]
    start: dict[str, np.ndarray]
    parameters: tuple[str, ...]
    turning: dict[str, Any]
    instructions: dict[str, int]

    def as_data(self) -> dict[str, Any]:
        """The same as what JSON can hold."""
        kinds = {"f": "Float64Array", "i": "BigInt64Array", "b": "Uint8Array"}
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
            "turning": self.turning or None,
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
    grip: Callable | None = None,
    grips: int = 0,
) -> BrowserProgram:
    """The steps of `zw.simulate(model, q0, v0, rtol=rtol)` as a module of WebAssembly.

    Args:
        model: the model.
        q0, v0: start, which is measured, judged and placed as that of a run.
        duration: length of a motion that is typical [s].
        rtol: relative error of a step.
        t0: initial time [s].
        seen: q → an array of numbers to show, of operations of JAX.
        forces: state and what acts there (`zwang.dynamics.vector_field.Acting`) → forces to show;
            none by default.
        grip: q and as many numbers as `grips` says → a place that may be held, shape (3,).

    Raises:
        ModelError: for a start that a run refuses, or an operation that cannot be printed.
    """
    refuse_switches(model, "code")
    asked = typical_run(model, q0, v0, duration=duration, rtol=rtol, t0=t0)
    steps = BrowserSteps(asked, set_up(asked))
    module = Module()
    try:
        numbers, state = [*steps.numbers], steps.state
        own, at = [name for name in numbers if name.startswith(OWN)], [*numbers, *steps.at]
        module.add("derive", steps.deriving(), ["p"], own)
        module.add("advance", steps.advancing(), [*numbers, *state, "until"], [*state, "violation"])
        module.add("place", steps.placing(), [*numbers, "t", "y"], ["y", "violation"])
        module.add("see", steps.seeing(seen), ["y"], ["seen"])
        if forces is not None:
            module.add("push", steps.pushing(forces), at, ["forces"])
        if grip is not None:
            given, found = [*numbers, "t", "y", "held"], ["grasped", "slopes", "lever"]
            module.add("grasp", steps.grasping(grip, grips), given, found)
            module.add("accelerate", steps.accelerating(), at, ["acceleration"])
        if steps.changes is not None:
            module.add("change", steps.changing(), [*at, "fired", "fastest"], [*CHANGED])
            module.add("load", steps.loading(), at, ["pushes"])
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
        steps.turning,
        module.instructions,
    )
