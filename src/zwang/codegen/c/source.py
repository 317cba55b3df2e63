"""A model as C99: header, source and test driver.

The model's functions, with the linear algebra that computes their results, are printed from the
instructions of native code (`zwang.native.c`). The rest is one fixed step and the interface for
callers. Nothing is allocated, only constants are static, and only the mathematical library is
needed.
"""

from __future__ import annotations

import dataclasses
import importlib.resources
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from zwang.codegen.functions import ModelFunctions, refuse_unwritable
from zwang.codegen.names import identifier
from zwang.codegen.samples import (
    Samples,
    refuse_nearly_parallel,
    samples,
)
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.files import write_files
from zwang.inputs.arguments import label
from zwang.inputs.arrays import require_float64
from zwang.inputs.call import misfits_named
from zwang.native.c import CFunction, c_function, constant, numbered, prelude
from zwang.native.errors import NotNativeError
from zwang.simulation.mode import without
from zwang.version import __version__

DRIVER_STATES = 8
"""Number of states whose accelerations the test driver contains."""


@dataclasses.dataclass(frozen=True)
class CCode:
    """A model as C.

    Attributes:
        name: prefix of every function, an identifier.
        header, source, driver: the source of `name.h`, `name.c` and `name_test.c`.
        functions: the functions from which they were generated.
        q0, v0: start that the header states.
    """

    name: str
    header: str
    source: str
    driver: str
    functions: ModelFunctions = dataclasses.field(repr=False)
    q0: np.ndarray
    v0: np.ndarray

    def __repr__(self) -> str:
        return f"C code in {', '.join(self.files)}; .write(folder) writes them"

    @property
    def files(self) -> dict[str, str]:
        """Source of each file, by name."""
        return {
            f"{self.name}.h": self.header,
            f"{self.name}.c": self.source,
            f"{self.name}_test.c": self.driver,
        }

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files into a folder, which is created if necessary: all or none.

        Raises:
            OutputError: if a file cannot be written; earlier ones are unchanged.
        """
        return write_files(folder, self.files)


@misfits_named
def c_code(model: Model, q0=None, v0=None, *, name: str | None = None) -> CCode:
    """Generate C99 of a model that needs neither zwang nor an allocation.

        NAME_acceleration   v̇ at (q, v, t)
        NAME_motion         v̇, constraint force and u, with a force applied
        NAME_project        q and v onto the constraints
        NAME_step           one fixed step (Runge-Kutta of order 4) with projection

    and for a model with gaps or dry frictions, all of whose functions take their modes,

        NAME_events         functions that rise through zero where a mode changes
        NAME_change         impacts, and the modes from a state on

    which NAME_step calls at the instants within a step.

    The code consists of the instructions that native code of the model executes: A, b, M and F
    without structural zeros, and A⊕ by elimination without a rank decision (three proximal sweeps),
    so that redundant rows and singular configurations need no special treatment. A `zw.Servo` of
    the model is part of the code.

    Args:
        model: the model.
        q0, v0: start that the code states and its test driver varies, shapes (nq,) and (nv,); ones
            and zeros by default.
        name: prefix of every function; the model's name by default.

    Returns:
        A `CCode`: `.header`, `.source`, `.driver`, `.write(folder)`.

    Raises:
        ModelError: for an operation that cannot be written in C, a singular mass matrix, limits of
            actuators, a servo together with nonideal constraints, or rows that are nearly parallel.

    Example:
        >>> zw.c_code(model, q0=[1.0, 0.0], v0=[0.0, 0.0]).write("firmware")
    """
    require_float64()
    refuse_unwritable(model)
    open_model = without(model, lambda c: c.level.lets_go)
    prefix = identifier(label(model.name if name is None else name, "c_code: name"))
    prefix = prefix if prefix[0].isalpha() else f"m_{prefix}"
    states = samples(open_model, q0, v0, DRIVER_STATES)
    refuse_nearly_parallel(open_model, states)
    start = states.start
    found = ModelFunctions(model, start=start)
    return CCode(
        prefix,
        _header(found, prefix, *start),
        _source(found, prefix),
        _driver(found, prefix, states),
        found,
        *start,
    )


def template(name: str, replaced: Mapping[str, str]) -> str:
    """Return a file of this folder with `@WORD@` replaced."""
    text = (importlib.resources.files("zwang.codegen.c") / name).read_text(encoding="utf-8")
    for word, value in replaced.items():
        text = text.replace(f"@{word}@", value)
    return text


def _header(found: ModelFunctions, name: str, q0, v0) -> str:
    upper, size = name.upper(), _sizes(found)
    shown = lambda values: ", ".join(constant(x) for x in values) or "0"
    system = found.model.system
    listed = lambda title, items: "".join(
        f"\n   {title}[{i}]  {_comment(x)}" for i, x in enumerate(items)
    )
    words = {
        "NAME": upper,
        "name": name,
        "version": __version__,
        "title": _comment(found.model.name),
        **{key: str(value) for key, value in size.items()},
        "COORDINATES": listed("q", system.coordinates),
        "VELOCITIES": listed("v", system.velocities),
        "PARAMETERS": listed("p", (f"{n} = {constant(x)}" for n, x in found.parameters)),
        "ACTUATORS": listed("u", found.actuators),
        "P0": shown(x for _, x in found.parameters),
        "Q0": shown(q0),
        "V0": shown(v0),
        "ENERGY": "" if system.potential is None else template("energy.h.in", {"name": name}),
        **_words(found, name),
        "LOOSE": "",
        "NLOOSE": str(len(found.loose)),
        "NAMES": listed("modes", found.loose),
    }
    if found.loose:
        words["LOOSE"] = template("letting_go.h.in", words)
    return template("header.h.in", words)


def _words(found: ModelFunctions, name: str) -> dict[str, str]:
    """Return the declarations by which functions receive and pass on the modes of gaps and
    frictions.
    """
    if not found.loose:
        return {"GIVEN": "", "CHANGED": "", "PASSED": "", "CODES": ""}
    return {
        "GIVEN": ", const double *modes",
        "CHANGED": ", double *modes",
        "PASSED": ", modes",
        "CODES": f",\n    {name.upper()}_NO_MOTION = 4,\n    {name.upper()}_CHATTERING = 5",
    }


def _comment(text: str) -> str:
    """Return a text that cannot end a comment of C."""
    return text.replace("*/", "* /").replace("\n", " ")


def _sizes(found: ModelFunctions) -> dict[str, int]:
    system = found.model.system
    return {
        "NQ": system.nq,
        "NV": system.nv,
        "NP": len(found.parameters),
        "NU": len(found.actuators),
        "NM": found.model.constraints.m,
    } | ({"LOOSE": len(found.loose)} if found.loose else {})


def _source(found: ModelFunctions, name: str) -> str:
    """Return the source file: the printed functions of the model, and the parts common to all
    models.
    """
    results = OF_LOOSE | RESULTS if found.loose else RESULTS
    printed = [_printed(found, *each) for each in results.items()]
    words = {"NAME": name.upper(), "name": name, "ENERGY": "", "LOOSE": "", **_words(found, name)}
    words["STEP"] = "static int stepped" if found.loose else f"int {name}_step"
    if found.loose:
        words["LOOSE"] = template("letting_go.c.in", words)
    if found.model.system.potential is not None:
        printed.append(_printed(found, "energy", ("E",)))
        words["ENERGY"] = template("energy.c.in", words)
    sizes = ", ".join(f"{key} = {value}" for key, value in _sizes(found).items())
    included = f'#include "{name}.h"\n\n#include <string.h>'
    parts = [included, prelude(printed), f"enum {{ {sizes} }};\n"]
    text = "\n".join([*parts, *(x.text for x in printed), template("motion.c.in", words)])
    return numbered(text)


RESULTS = {
    "project": ("q_on", "v_on", "code"),
    "evaluate": ("qdot", "vdot", "force", "u", "code"),
    "rate": ("qdot",),
    "violation": ("worst",),
}
"""Printed functions with the names of their results. Functions that need more results of a shared
subroutine come first, so that its variant serves the later ones as well.
"""
OF_LOOSE = {
    "events": ("values",),
    "change": ("q_after", "v_after", "after", "reached", "code"),
}
"""Functions that are printed for a model with gaps or dry frictions."""


def _printed(found: ModelFunctions, name: str, results: tuple[str, ...]) -> CFunction:
    function = getattr(found, name)
    try:
        return c_function(found.traced(function), name, found.arguments(function), results)
    except NotNativeError as error:
        raise ModelError(
            f"{found.model.name}: its functions use {error}, which cannot be written in C; write "
            "that part with sums, products, jnp.where and elementary functions."
        ) from None


def _driver(found: ModelFunctions, name: str, states: Samples) -> str:
    rows = lambda values: ",\n    ".join(
        "{" + (", ".join(constant(x) for x in row) or "0") + "}" for row in values
    )
    reference = states.reference()
    return template(
        "driver.c.in",
        {
            "NAME": name.upper(),
            "name": name,
            "COUNT": str(len(states.q)),
            "Q": rows(states.q),
            "V": rows(states.v),
            "T": ", ".join(map(constant, states.t)),
            "P": rows(states.p),
            "EXPECTED": rows(reference.acceleration),
            "MODES": f"double modes[{name.upper()}_LOOSE + 1] = {{0}};" if found.loose else "",
            "PASSED": _words(found, name)["PASSED"],
        },
    )
