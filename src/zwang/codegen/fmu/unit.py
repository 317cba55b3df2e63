"""A model as a functional mock-up unit (FMI 2.0 or 3.0), for model exchange and co-simulation."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.resources
import io
import platform
import sys
import zipfile
from pathlib import Path

from zwang.codegen.c.library import build
from zwang.codegen.c.source import c_code
from zwang.codegen.fmu.description import Interface, build_description, fmi2, fmi3, variables
from zwang.codegen.fmu.python_unit import UNIT_FILE, PythonUnit
from zwang.codegen.names import identifier
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.files import make_folder, write_bytes, write_text
from zwang.files.isolation import scratch_folder
from zwang.inputs.arguments import choice, flag, instance, label, number
from zwang.inputs.call import misfits_named
from zwang.native.c import constant
from zwang.remedy import Remedy, advice

FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
VERSIONS = (2, 3)
UNIT_STEP = 1e-3
"""Default upper limit of a step inside a communication step [s]."""
DRIFT = "1e-9"
"""Violation from which on model exchange requests a projection."""
FOLDERS = {
    ("Linux", "x86_64", 2): ("linux64", ".so"),
    ("Linux", "x86_64", 3): ("x86_64-linux", ".so"),
    ("Linux", "aarch64", 2): ("aarch64-linux", ".so"),
    ("Linux", "aarch64", 3): ("aarch64-linux", ".so"),
    ("Darwin", "x86_64", 2): ("darwin64", ".dylib"),
    ("Darwin", "x86_64", 3): ("x86_64-darwin", ".dylib"),
    ("Darwin", "arm64", 2): ("aarch64-darwin", ".dylib"),
    ("Darwin", "arm64", 3): ("aarch64-darwin", ".dylib"),
}
"""Folder and ending of a binary for each machine on which it can be built."""
OLDEST = (1980, 1, 1, 0, 0, 0)
"""Date of every archive member, so that the same model results in the same file."""


@dataclasses.dataclass(frozen=True)
class FMU:
    """A functional mock-up unit.

    Attributes:
        name: identifier; version: 2 or 3.
        data: the archive.
        description: `modelDescription.xml`.
    """

    name: str
    version: int
    data: bytes = dataclasses.field(repr=False)
    description: str = dataclasses.field(repr=False)

    def write(self, path: str | Path) -> Path:
        """Write the archive: a file ending in `.fmu`, or `NAME.fmu` in a folder. Folders are
        created if necessary.

        Raises:
            OutputError: if it cannot be written.
        """
        path = Path(path)
        named = path.suffix == ".fmu"
        folder = make_folder(path.parent if named else path)
        path = folder / (path.name if named else f"{self.name}.fmu")
        write_bytes(path, self.data)
        return path


@misfits_named
def fmu(
    model: Model,
    q0=None,
    v0=None,
    *,
    version: int = 2,
    step: float | None = None,
    name: str | None = None,
    python: bool = False,
    **options,
) -> FMU:
    """Generate a functional mock-up unit of a model, with or without Python inside.

    States are q and v; inputs are forces on the velocities, added to F; parameters are the model's;
    outputs are q, v, the force of the constraints, the control of a servo, and the violation.

    Without Python the unit is C. In co-simulation it takes fixed steps and stays on its
    constraints; in model exchange it requests an event where the integrator has left them by 1e-9,
    and projects there.

    With Python (`python=True`) it supports features that C does not: switches, sampled and delayed
    controllers, limits of actuators, singular mass matrices, loops with data-dependent length. It
    supports co-simulation only, and takes the steps of `zw.simulate`. The unit contains the model
    as written by cloudpickle, and starts a Python process for each instance: the interpreter that
    `ZWANG_PYTHON` names, the one that wrote the unit, or `python3`, in which zwang must be
    installed.

    Args:
        model: the model.
        q0, v0: start, shapes (nq,) and (nv,).
        version: of the interface, 2 for FMI 2.0 or 3 for FMI 3.0.
        step: longest step inside a communication step [s], 1 ms by default, which is a parameter of
            the unit; with Python the fixed step, or error control by default.
        name: identifier; the model's name by default.
        python: whether Python computes the motion.
        options: with Python, of `zw.simulate`: `rtol`, `atol`, `loop`, `switches`, `integrator`,
            `longest_step`.

    Raises:
        ModelError: without a C compiler, for a model that `zw.c_code` refuses, or for options that
            a unit without Python does not support.

    Reference: Modelica Association, Functional Mock-up Interface 2.0.4 and 3.0.1.

    Example:
        >>> zw.fmu(model, q0, v0, version=3).write("pendulum.fmu")
        >>> zw.fmu(model, q0, v0, python=True, switches=[latch]).write("latch.fmu")
    """
    instance(model, Model, "fmu: model", "a zw.Model")
    choice(version, "fmu: version", VERSIONS)
    step = None if step is None else number(step, "fmu: step", unit="s", above=0.0)
    if flag(python, "fmu: python"):
        return _archived(_with_python(model, q0, v0, step, name, options), version)
    if options:
        way = advice(Remedy("give python=True, too", (("as", "take --as fmu3-python"),)))
        raise ModelError(
            f"fmu: {', '.join(options)} is not supported by a unit without Python; {way}."
        )
    return _archived(_without_python(model, q0, v0, step, name), version)


@dataclasses.dataclass(frozen=True)
class _Content:
    """Parts of a unit that do not depend on its version.

    Attributes:
        shown: its interface.
        instance: the source below the interface's functions, and its replacements.
        sources: further files of C, by name.
        resources: further files, by name.
        digest: of everything that the motion depends on.
    """

    shown: Interface
    instance: str
    words: dict[str, str]
    sources: dict[str, str]
    resources: dict[str, bytes]
    digest: bytes


def _without_python(model: Model, q0, v0, step: float | None, name: str | None) -> _Content:
    code = c_code(model, q0, v0, name=name)
    found, step = code.functions, UNIT_STEP if step is None else step
    names = found.parameters, found.actuators
    shown = Interface(code.name, model.system, *names, code.q0, code.v0, step, found.loose)
    given = "c->q, c->v, c->time, c->p, c->modes, c->applied, c->events"
    words = {"NAME": code.name.upper(), "STEP": repr(step), "DRIFT": DRIFT}
    words |= {
        "LOOSE": str(len(found.loose)),
        "MODES": ", c->modes" if found.loose else "",
        "EVENTS": f"\n    {code.name}_events({given});" if found.loose else "",
        "TURN": f"{code.name}_change({given})" if found.loose else "0",
    }
    sources = {f"{code.name}.h": code.header, f"{code.name}.c": code.source}
    digest = (code.source + code.header).encode()
    return _Content(shown, "instance.c.in", words, sources, {}, digest)


def _with_python(
    model: Model, q0, v0, step: float | None, name: str | None, options: dict
) -> _Content:
    given = options if step is None else {**options, "step": step}
    unit = PythonUnit.of(model, q0, v0, given)
    prefix = identifier(label(model.name if name is None else name, "fmu: name"))
    shown = Interface(
        prefix, model.system, unit.parameters, unit.actuators, unit.q0, unit.v0, None, python=True
    )
    start = [x.start or 0.0 for x in variables(shown)]
    words = {
        "NQ": len(unit.q0),
        "NV": len(unit.v0),
        "NP": len(unit.parameters),
        "NU": len(unit.actuators),
        "START": ", ".join(map(constant, start)),
        # escaped as in a string literal of C
        "PYTHON": sys.executable.replace("\\", "\\\\").replace('"', '\\"'),
    }
    data = unit.to_bytes()
    named = {key: str(value) for key, value in words.items()}
    return _Content(shown, "process.c.in", named, {}, {UNIT_FILE: data}, data)


def _archived(content: _Content, version: int) -> FMU:
    """Return the archive of a unit, with its compiled binary."""
    shown = content.shown
    token = "{" + hashlib.sha256(content.digest).hexdigest()[:32] + "}"
    sources = {**content.sources, "fmi.c": _adapter(content, version, token)}
    # the description and the adapter count the same variables in the same order
    listed = variables(shown)
    compiled = [x for x in sources if x.endswith(".c")]
    if version == 2:
        description = fmi2(shown, token, listed, compiled)
    else:
        description = fmi3(shown, token, listed)
    folder, ending = _machine(version)
    members = {
        "modelDescription.xml": description,
        **{f"sources/{file}": text.encode() for file, text in sources.items()},
        **{f"resources/{file}": data for file, data in content.resources.items()},
        f"binaries/{folder}/{shown.name}{ending}": _binary(sources, compiled),
    }
    if version == 3:
        members["sources/buildDescription.xml"] = build_description(shown.name, compiled)
    return FMU(shown.name, version, _archive(members), description.decode())


def _adapter(content: _Content, version: int, token: str) -> str:
    here = importlib.resources.files("zwang.codegen.fmu")
    text = "".join(
        (here / file).read_text(encoding="utf-8")
        for file in (content.instance, f"fmi{version}.c.in")
    )
    for word, value in {**content.words, "name": content.shown.name, "TOKEN": token}.items():
        text = text.replace(f"@{word}@", value)
    return text


def _machine(version: int) -> tuple[str, str]:
    found = platform.system(), platform.machine(), version
    if found not in FOLDERS:
        raise ModelError(
            f"fmu: binaries for {found[0]} on {found[1]} are not built; expected one of "
            f"{', '.join(sorted({f'{s} on {m}' for s, m, _ in FOLDERS}))}. zw.c_code writes C."
        )
    return FOLDERS[found]


def _binary(sources: dict[str, str], compiled: list[str]) -> bytes:
    with scratch_folder() as folder:
        for file, text in sources.items():
            write_text(folder / file, text)
        build([*FLAGS, *compiled, "-o", "unit.so", "-lm"], folder)
        return (folder / "unit.so").read_bytes()


def _archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, OLDEST), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
