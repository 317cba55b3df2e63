"""Generated C, compiled and called from Python."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np

from zwang.codegen.c.source import CCode
from zwang.errors import ModelError
from zwang.files.isolation import refuse_full, scratch_folder

FLAGS = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic")
COMPILERS = ("cc", "gcc", "clang")
SECONDS = 300.0
"""Time limit of a compiler, Octave or Julia [s]."""


def compiler() -> str | None:
    """Return the path of a C compiler: `$CC`, or the first of `COMPILERS` that is installed; None
    without one.
    """
    candidates = (os.environ.get("CC", ""), *COMPILERS)
    return next((found for c in candidates if c and (found := shutil.which(c))), None)


def build(arguments: list[str], folder: Path) -> None:
    """Run the C compiler in a folder.

    Raises:
        ModelError: if there is none, or if it fails.
    """
    found = compiler()
    if found is None:
        raise ModelError(
            f"no C compiler was found, expected one of {', '.join(COMPILERS)} on the PATH or CC "
            "set to one; the sources themselves need none."
        )
    done = finished([found, *arguments], folder)
    if done.returncode:
        refuse_full(done.stderr)
        lines = [x for x in done.stderr.splitlines() if "error" in x] or ["no message"]
        raise ModelError(f"the C compiler refuses the generated code: {lines[0][:300]}")


def finished(command: list[str], folder: Path) -> subprocess.CompletedProcess:
    """Return a program after it has run in a folder.

    Raises:
        ModelError: if it takes longer than `SECONDS`.
    """
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise ModelError(
            f"{Path(command[0]).name} takes longer than {SECONDS:g} s over the generated code; "
            "leave parts of the model out, or write the sources and compile them yourself."
        ) from None


class Library:
    """The functions of a `CCode`, compiled with all warnings as errors.

    Args:
        code: the code.
        flags: of the C compiler.

    Raises:
        ModelError: if there is no C compiler, or if it refuses the code.
        OutputError: if there is no room for temporary files.
    """

    def __init__(self, code: CCode, flags: tuple[str, ...] = FLAGS):
        self.code = code
        with contextlib.ExitStack() as kept:
            folder = kept.enter_context(scratch_folder())
            code.write(folder)
            build([*flags, "-fPIC", "-shared", f"{code.name}.c", "-o", "model.so", "-lm"], folder)
            self._library = ctypes.CDLL(str(folder / "model.so"))
            self._folder = kept.pop_all()  # removed with this object
        system = code.functions.model.system
        self.nq, self.nv, self.nu = system.nq, system.nv, len(code.functions.actuators)
        self.loose = len(code.functions.loose)
        self.p = np.array([x for _, x in code.functions.parameters])

    def _call(self, name: str, *given, result: type | None = ctypes.c_int):
        function = self._library[f"{self.code.name}_{name}"]
        function.restype = result
        converted = []
        for x in given:
            if isinstance(x, np.ndarray):
                converted.append(x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
            else:
                converted.append(None if x is None else ctypes.c_double(x))
        out = function(*converted)
        if result is ctypes.c_int and out:
            raise ModelError(f"{self.code.name}_{name} returns code {out}.")
        return out

    def motion(self, q, v, t=0.0, p=None, applied=None, modes=None):
        """Return v̇, constraint force and u at a state; with all gaps open by default."""
        vdot, force, u = np.zeros(self.nv), np.zeros(self.nv), np.zeros(max(self.nu, 1))
        given = [_doubles(x) for x in (q, v)]
        pushed = None if applied is None else _doubles(applied)
        self._call("motion", *given, float(t), *self._p(p, modes), pushed, vdot, force, u)
        return vdot, force, u[: self.nu]

    def step(self, h: float, t: float, q, v, p=None, applied=None, steps: int = 1, modes=None):
        """Return t, q and v after fixed steps; the array `modes` is changed in place."""
        q, v, time = _doubles(q), _doubles(v), np.array([float(t)])
        pushed = None if applied is None else _doubles(applied)
        for _ in range(steps):
            self._call("step", float(h), time, q, v, *self._p(p, modes), pushed)
        return float(time[0]), q, v

    def project(self, q, v, t=0.0, p=None, modes=None):
        """Return q and v on the constraints."""
        q, v = _doubles(q), _doubles(v)
        self._call("project", q, v, float(t), *self._p(p, modes))
        return q, v

    def events(self, q, v, t=0.0, p=None, applied=None, modes=None) -> np.ndarray:
        """Return the functions that rise through zero where gaps and frictions change their
        modes.
        """
        found, given = np.zeros(self.loose), (_doubles(q), _doubles(v))
        pushed = None if applied is None else _doubles(applied)
        self._call("events", *given, float(t), *self._p(p, modes), pushed, found, result=None)
        return found

    def change(self, q, v, modes, t=0.0, p=None, applied=None, events=None):
        """Return q and v from an instant on; the array `modes` is changed in place."""
        q, v, fired = _doubles(q), _doubles(v), None if events is None else _doubles(events)
        pushed = None if applied is None else _doubles(applied)
        self._call("change", q, v, float(t), *self._p(p, modes), pushed, fired)
        return q, v

    def energy(self, q, v, t=0.0, p=None) -> float:
        """Return kinetic plus potential energy [J]."""
        given = _doubles(q), _doubles(v), float(t), self._p(p)[0]
        return self._call("energy", *given, result=ctypes.c_double)

    def violation(self, q, v, t=0.0, p=None, modes=None) -> float:
        """Return the largest residual."""
        given = _doubles(q), _doubles(v), float(t), *self._p(p, modes)
        return self._call("violation", *given, result=ctypes.c_double)

    def _p(self, p, modes=None) -> tuple[np.ndarray, ...]:
        """Return the parameters, and the modes of gaps and frictions if there are any."""
        given = _doubles(np.append(self.p if p is None else p, 0.0))
        if not self.loose:
            return (given,)
        return given, np.zeros(self.loose + 1) if modes is None else modes


def _doubles(x) -> np.ndarray:
    return np.array(x, dtype=float).ravel().copy()
