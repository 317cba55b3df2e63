"""A user's `.py` file: a program that defines `model`, `q0` and `v0`."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zwang.cli.failure import UserError, one_line, text_of, where_in
from zwang.cli.target import Target
from zwang.files import read_bytes

NEEDED = {
    "model": "model = zw.Model(system, constraints=[...])",
    "q0": "q0 = [...], the coordinates at the start",
    "v0": "v0 = [...], the velocities at the start",
}
OPTIONS = ("duration", "rtol", "atol", "samples", "stop", "switches", "integrator", "loop")
"""Variables that are passed to `zw.simulate` if the file defines them. `loop` may be a function of
the values of a case, for `zwang sweep`.
"""


def load_script(path: Path) -> Target:
    """Execute a user's file and read the names that it defines.

    It is executed as `zwang_model`, not as `__main__`, with its folder first on the import path.

    Raises:
        UserError: if it fails, with file, line and error, or if it does not define a required name.
    """
    names = _run(path)
    for name, line in NEEDED.items():
        if name not in names:
            raise UserError(
                f"{path} does not define {name}: add {line}{_sizes(name, names.get('model'))}."
            )
    from zwang.dynamics.model import Model
    from zwang.inputs.arguments import instance, optional, refuse
    from zwang.scene import Scene, particle_scene
    from zwang.simulation.switching import Switch

    model = instance(names["model"], Model, f"{path}: model", "a zw.Model")
    options = {name: names[name] for name in OPTIONS if names.get(name) is not None}
    if "stop" in options and not isinstance(options["stop"], (list, tuple)):
        options["stop"] = (options["stop"],)
    scene = optional(names.get("scene"), Scene, f"{path}: scene", "a zw.Scene")
    if isinstance(options.get("switches"), Switch):
        options["switches"] = (options["switches"],)
    # a model without a name is named after its file
    name = model.name if model.name != "model" else path.stem
    description = one_line(names.get("__doc__") or "")
    figures = names.get("figures") or {}
    outputs = names.get("outputs") or {}
    if not isinstance(outputs, Mapping):
        refuse(f"{path}: outputs", outputs, "functions (t, q, v) → number by name")
    return Target(
        name,
        model,
        names["q0"],
        names["v0"],
        options,
        description=description,
        figures=figures,
        scene=scene or particle_scene(model.system.coordinates, model.system.units),
        start=names.get("start") if callable(names.get("start")) else None,
        outputs=outputs,
    )


def _run(path: Path) -> dict[str, Any]:
    from zwang.errors import ModelError

    read_bytes(path, "script_size")  # a pipe would block forever
    # as Python does for a script, so that it can import modules in its folder
    sys.path.insert(0, str(path.resolve().parent))
    try:
        return runpy.run_path(str(path), run_name="zwang_model")
    except SyntaxError as error:
        line = "" if error.lineno is None else f", line {error.lineno}"
        raise UserError(f"{error.filename or path}{line}: syntax error: {error.msg}.") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, and exceptions that the file defines
        line = where_in(str(path), error)
        place = f"{path}, line {line}" if line else str(path)
        what = (
            str(error)
            if isinstance(error, ModelError)
            else f"{type(error).__name__}: {text_of(error)}".rstrip(": ")
        )
        raise UserError(f"{place}: {what}") from error


def _sizes(name: str, model) -> str:
    """The number of entries of a start, if the model is known."""
    system = getattr(model, "system", None)
    if system is None or name == "model":
        return ""
    names = system.coordinates if name == "q0" else system.velocities
    listed = f" ({', '.join(names)})" if len(names) <= 8 else ""
    return f", {len(names)} numbers{listed}"
