"""A model as a functional mock-up unit (FMI 2.0 or 3.0), for model exchange and co-simulation."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.resources
import io
import platform
import tempfile
import zipfile
from pathlib import Path

from zwang.arguments import number
from zwang.codegen.c.library import build
from zwang.codegen.c.source import CCode, c_code
from zwang.codegen.fmu.description import build_description, fmi2, fmi3, variables
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.files import make_folder, write_bytes, write_text

FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
VERSIONS = (2, 3)
DRIFT = "1e-9"
"""Violation beyond which model exchange asks for a projection."""
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
"""Folder and ending of a binary for each machine that it can be built on."""
OLDEST = (1980, 1, 1, 0, 0, 0)
"""Date of every member, so that the same model gives the same file."""


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
        """Write the archive: a file ending in `.fmu`, or `NAME.fmu` in a folder that is made.

        Raises:
            OutputError: if it cannot be written.
        """
        path = Path(path)
        if path.suffix != ".fmu":
            path = make_folder(path) / f"{self.name}.fmu"
        write_bytes(path, self.data)
        return path


def fmu(
    model: Model,
    q0=None,
    v0=None,
    *,
    version: int = 2,
    step: float = 1e-3,
    name: str | None = None,
) -> FMU:
    """A model as a functional mock-up unit, without Python inside.

    States are q and v; inputs are forces on the velocities, added to F; parameters are the model's;
    outputs are q, v, the force of the constraints, the control of a servo, and the violation. In
    co-simulation the unit takes fixed steps and stays on its constraints; in model exchange it
    asks for an event where the integrator has left them by 1e-9, and projects there.

    Args:
        model: the model.
        q0, v0: start, shapes (nq,) and (nv,).
        version: of the interface, 2 for FMI 2.0 or 3 for FMI 3.0.
        step: longest step inside a communication step [s]; a parameter of the unit.
        name: identifier; the model's name by default.

    Raises:
        ModelError: without a C compiler, or for a model that `zw.c_code` refuses.

    Reference: Modelica Association, Functional Mock-up Interface 2.0.4 and 3.0.1.

    Example:
        >>> zw.fmu(model, q0, v0, version=3).write("pendulum.fmu")
    """
    if version not in VERSIONS:
        raise ModelError(f"fmu: version is {version!r:.40}, expected 2 or 3.")
    step = number(step, "fmu: step", unit="s", above=0.0)
    code = c_code(model, q0, v0, name=name)
    token = "{" + hashlib.sha256((code.source + code.header).encode()).hexdigest()[:32] + "}"
    adapter = _adapter(code, version, step, token)
    sources = {f"{code.name}.h": code.header, f"{code.name}.c": code.source, "fmi.c": adapter}
    # the description and the adapter count the same variables in the same order
    listed = variables(code, step)
    compiled = [x for x in sources if x.endswith(".c")]
    description = fmi2(code, token, listed, compiled) if version == 2 else fmi3(code, token, listed)
    folder, ending = _machine(version)
    members = {
        "modelDescription.xml": description,
        **{f"sources/{file}": text.encode() for file, text in sources.items()},
        f"binaries/{folder}/{code.name}{ending}": _binary(sources, compiled),
    }
    if version == 3:
        members["sources/buildDescription.xml"] = build_description(code, compiled)
    return FMU(code.name, version, _archive(members), description.decode())


def _adapter(code: CCode, version: int, step: float, token: str) -> str:
    here = importlib.resources.files("zwang.codegen.fmu")
    text = "".join(
        (here / file).read_text(encoding="utf-8")
        for file in ("instance.c.in", f"fmi{version}.c.in")
    )
    words = {
        "NAME": code.name.upper(),
        "name": code.name,
        "STEP": repr(step),
        "DRIFT": DRIFT,
        "TOKEN": token,
    }
    for word, value in words.items():
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
    with tempfile.TemporaryDirectory(prefix="zwang-fmu-") as folder:
        for file, text in sources.items():
            write_text(Path(folder) / file, text)
        build([*FLAGS, *compiled, "-o", "unit.so", "-lm"], Path(folder))
        return (Path(folder) / "unit.so").read_bytes()


def _archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, OLDEST), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
