"""Linear systems as programs: `ẋ = A x + B u, y = C x + D u` in Python, C and Octave."""

from __future__ import annotations

import ctypes
import dataclasses
from pathlib import Path
from typing import Protocol

import numpy as np

from zwang.codegen.c.library import FLAGS, build, compiler
from zwang.codegen.names import identifier
from zwang.errors import ModelError
from zwang.files import write_files, write_text
from zwang.files.isolation import scratch_folder
from zwang.native.c import constant

LINEAR_AGREES = 1e-14
"""Largest relative difference between a printed program and the matrices that it contains."""
LETTERS = "ABCD"


class Linear(Protocol):
    """A `Linearization`, or another `LinearSystem`."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class LinearCode:
    """A linear system as programs.

    Attributes:
        name: identifier; sources: file name → text.
    """

    name: str
    sources: dict[str, str] = dataclasses.field(repr=False)

    def write(self, folder: str | Path) -> list[Path]:
        """Write `NAME.py`, `NAME.m`, `NAME.h` and `NAME.c` into a folder, which is created if
        necessary: all files or none.

        Raises:
            OutputError: if a file cannot be written; earlier ones are unchanged.
        """
        return write_files(folder, self.sources)


def linear_code(system: Linear, name: str = "linear") -> LinearCode:
    """Generate code of a linear system for other programs. It is executed and compared before it is
    returned.

    `NAME.py` has the matrices, and functions that convert them to `scipy.signal.StateSpace` and
    `control.StateSpace` without zwang; `NAME.m` returns them in MATLAB and Octave, for `ss(A, B, C,
    D)`; `NAME.c` has `NAME_rate(x, u, xdot)` and `NAME_output(x, u, y)` in C99.

    Args:
        system: result of `zw.analysis.linearize`, or another linear system with A, B, C, D and
            names.
        name: identifier of the files and functions.

    Raises:
        ModelError: for another object, or a printed program whose results differ.

    Example:
        >>> zwang.codegen.linear.linear_code(zw.analysis.linearize(model, q,
        inputs=["push"])).write("code")
    """
    missing = [x for x in (*LETTERS, "states", "inputs", "outputs") if not hasattr(system, x)]
    if missing:
        raise ModelError(
            f"linear_code: {type(system).__name__} has no {missing[0]}, expected what "
            "zw.analysis.linearize returns."
        )
    name = identifier(name)
    sources = {f"{name}.py": _python(system, name), f"{name}.m": _octave(system, name)}
    sources |= _c(system, name)
    _compare(system, name, sources)
    return LinearCode(name, sources)


def _matrices(system: Linear) -> dict[str, np.ndarray]:
    return {letter: np.asarray(getattr(system, letter), float) for letter in LETTERS}


def _legend(system: Linear) -> list[str]:
    words = {"x": system.states, "u": system.inputs, "y": system.outputs}
    # names come from users, and must not end a comment or a docstring
    plain = lambda text: "".join(c if c.isprintable() and c not in '*"\\' else "_" for c in text)
    return [f"{key}: {', '.join(map(plain, names)) or '-'}" for key, names in words.items()]


def _python(system: Linear, name: str) -> str:
    rows = [
        f"{letter} = numpy.array({values.tolist()!r}, float).reshape{values.shape}"
        for letter, values in _matrices(system).items()
    ]
    return "\n".join(
        [
            f'"""{name}: x\' = A x + B u, y = C x + D u.',
            "",
            *_legend(system),
            '"""',
            "",
            "import numpy",
            "",
            *rows,
            "",
            "",
            "def scipy_system():",
            "    import scipy.signal",
            "",
            "    return scipy.signal.StateSpace(A, B, C, D)",
            "",
            "",
            "def control_system():",
            "    import control",
            "",
            "    return control.ss(A, B, C, D)",
            "",
        ]
    )


def _octave(system: Linear, name: str) -> str:
    rows = []
    for letter, values in _matrices(system).items():
        inner = "; ".join(" ".join(repr(float(x)) for x in row) for row in values)
        rows.append(f"    {letter} = reshape([{inner}], {values.shape[0]}, {values.shape[1]});")
    head = [f"function [A, B, C, D] = {name}()", f"% {name}: x' = A x + B u, y = C x + D u"]
    return "\n".join([*head, *(f"%   {x}" for x in _legend(system)), *rows, "end", ""])


def _c(system: Linear, name: str) -> dict[str, str]:
    found, guard = _matrices(system), f"{name.upper()}_H"
    comment = ["/* x' = A x + B u, y = C x + D u", *(f"   {x}" for x in _legend(system)), "*/"]
    declared = [
        f"void {name}_rate(const double *x, const double *u, double *xdot);",
        f"void {name}_output(const double *x, const double *u, double *y);",
    ]
    header = [*comment, "", f"#ifndef {guard}", f"#define {guard}", "", *declared, "", "#endif", ""]
    body = [f'#include "{name}.h"', ""]
    for line, out, (left, right) in zip(declared, ("xdot", "y"), ("AB", "CD"), strict=True):
        body += [line.removesuffix(";") + " {", f"    (void)x; (void)u; (void){out};"]
        for i in range(len(found[left])):
            pairs = [("x", found[left][i]), ("u", found[right][i])]
            terms = [
                f"{constant(k)} * {letter}[{j}]"
                for letter, row in pairs
                for j, k in enumerate(row)
                if k
            ]
            body.append(f"    {out}[{i}] = {' + '.join(terms) or '0'};")
        body += ["}", ""]
    return {f"{name}.h": "\n".join(header), f"{name}.c": "\n".join(body)}


def _compare(system: Linear, name: str, sources: dict[str, str]) -> None:
    """Raise if the results of a printed program differ from those of the matrices."""
    found, scope = _matrices(system), {}
    exec(compile(sources[f"{name}.py"], f"{name}.py", "exec"), scope)
    if not all(np.array_equal(scope[letter], values) for letter, values in found.items()):
        raise ModelError(f"{name}.py: a matrix differs from that of the linear system.")
    if compiler() is None:
        return
    rng = np.random.default_rng(0)
    x, u = (rng.standard_normal(max(found[k].shape[1], 1)) for k in "AB")
    for function, (left, right) in (("rate", "AB"), ("output", "CD")):
        given = [(x, found[left]), (u, found[right])]
        parts = [k[: M.shape[1]] * M for k, M in given]
        terms = np.hstack(parts)
        size, expected = np.abs(terms).sum(axis=1), terms.sum(axis=1)
        values = _called(sources, name, function, x, u, len(expected))
        if not np.all(np.abs(values - expected) <= LINEAR_AGREES * np.maximum(size, 1e-300)):
            raise ModelError(f"{name}.c: {name}_{function} differs from the linear system.")


def _called(sources, name: str, function: str, x, u, count: int) -> np.ndarray:
    """Return the result of a function of the compiled C."""
    out = np.zeros(max(count, 1))
    point = lambda values: values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    with scratch_folder() as folder:
        for file in (f"{name}.h", f"{name}.c"):
            write_text(folder / file, sources[file])
        build([*FLAGS, "-fPIC", "-shared", f"{name}.c", "-o", "linear.so"], folder)
        compiled = ctypes.CDLL(str(folder / "linear.so"))[f"{name}_{function}"]
        compiled.restype = None
        compiled(point(x), point(u), point(out))
    return out[:count]
