"""Simulation of a model in a browser: its steps as a WebAssembly module.

The module contains the same steps that `zw.simulate` executes (`zwang.stepping.step.attempt`):
stages, projection, error control. Its inputs and results are arrays at fixed places of its memory.
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
    """Steps of a model as a WebAssembly module.

    Functions of the module, without arguments and results:

        derive      compute the numbers of the steps that depend on p; initially those of a run
        advance     take steps from the state to the time `until`, some hundred at most
        place       project y onto the constraints at t, with least change in the mass metric
        see         compute the numbers to draw at y
        push        compute the forces to draw at y, if there are any
        grasp       compute the place of the grip, and its derivatives by q (`slopes`) and v
        (`lever`)
        accelerate  compute v̇ at y
        change      determine the modes of gaps and dry frictions from now on, and the velocity
        after
                    an impact
        load        compute the forces of gaps in their present modes

    A force `pull` is added to F, shape (nv,). `change` and `load` exist for models with gaps or dry
    frictions.

    Attributes:
        binary: the module.
        places: byte, type and shape of each array: those of the state, "p", "until", "violation",
            "seen", and the numbers of the steps.
        start: initial values of the arrays.
        parameters: names of the entries of p.
        turning: numbers that determine the modes of gaps; empty without gaps.
        instructions: number of instructions of each function.
    """

    binary: bytes = dataclasses.field(repr=False)
    places: dict[str, tuple[int, np.dtype, tuple[int, ...]]]
    start: dict[str, np.ndarray]
    parameters: tuple[str, ...]
    turning: dict[str, Any]
    instructions: dict[str, int]

    def as_data(self) -> dict[str, Any]:
        """Return the program as data for JSON."""
        kinds = {"f": "Float64Array", "i": "BigInt64Array", "b": "Uint8Array"}
        return {
            # unrolled code is repetitive: compression leaves a fifth
            "binary": packed(self.binary),
            # replacements for a browser without fused multiply-add
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
    """Return numbers as JSON represents them: infinity as the string that JavaScript parses."""
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
    """Return the steps of `zw.simulate(model, q0, v0, rtol=rtol)` as a WebAssembly module.

    Args:
        model: the model.
        q0, v0: start, which is measured, checked and projected as that of a run.
        duration: length of a typical motion [s].
        rtol: relative error of a step.
        t0: initial time [s].
        seen: q → an array of numbers to draw, from operations of JAX.
        forces: state and the forces there (`zwang.dynamics.vector_field.Acting`) → forces to draw;
            none by default.
        grip: q and `grips` numbers → the place of a grip, shape (3,).

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
