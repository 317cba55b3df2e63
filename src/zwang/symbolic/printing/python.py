"""Printed functions in Python, with NumPy."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false
# SymPy's annotations do not declare that a matrix is iterable or what `cse` returns.

from __future__ import annotations

import numpy as np
from sympy.printing.numpy import NumPyPrinter

from zwang.codegen.samples import Samples
from zwang.symbolic.derivation import Derivation
from zwang.symbolic.printing.routine import Routine

ENDING = ".py"


class _Printer(NumPyPrinter):
    def _print_Piecewise(self, expr):
        # a chain of `where`, as `select` requires arrays of one shape
        *cases, last = expr.args
        out = self._print(last.expr)
        for case in reversed(cases):
            out = f"numpy.where({self._print(case.cond)}, {self._print(case.expr)}, {out})"
        return out


def source(name: str, routines: list[Routine], found: Derivation, note: str) -> dict[str, str]:
    """The module, by its file name."""
    printer, system = _Printer(), found.model.system
    parameters = found.equations.source.parameters
    head = [
        f'"""{name}: the explicit equation of motion of Udwadia and Kalaba.',
        "",
        *(f"q[{i}]  {x}" for i, x in enumerate(map(_plain, system.coordinates))),
        *(f"v[{i}]  {x}" for i, x in enumerate(map(_plain, system.velocities))),
        *(f"p[{i}]  {x}" for i, (x, _) in enumerate(parameters)),
        "",
        "Further axes of q, v and p, and those of t, are states that are evaluated together.",
        "",
        note,
        '"""',
        "",
        "import numpy",
        "",
        f"P0 = numpy.array([{', '.join(repr(x) for _, x in parameters)}])",
    ]
    functions = [_function(printer, routine) for routine in routines]
    return {f"{name}{ENDING}": "\n".join(head) + "\n\n\n" + "\n\n\n".join(functions) + "\n"}


def _plain(text: str) -> str:
    """Text that cannot end a docstring or escape from it."""
    return text.replace("\\", "/").replace('"', "'")


def _function(printer: _Printer, routine: Routine) -> str:
    lines = [f"def {routine.name}(q, v, t, p):"]
    for letter, index, symbol in routine.unpacked:
        if index is not None:
            lines.append(f"    {symbol} = {letter}[{index}]")
    lines += [f"    {symbol} = {printer.doprint(e)}" for symbol, e in routine.lines]
    entries = ", ".join(printer.doprint(e) for e in routine.result)
    lines.append(f"    return numpy.array(numpy.broadcast_arrays({entries}))")
    return "\n".join(lines)


def results(
    sources: dict[str, str], name: str, routines: list[Routine], given: Samples
) -> dict[str, np.ndarray]:
    """Values of each function at the states, shapes (states, …), by running the module."""
    scope: dict = {}
    exec(compile(sources[f"{name}{ENDING}"], f"{name}{ENDING}", "exec"), scope)
    out, count = {}, len(given.q)
    for routine in routines:
        with np.errstate(all="ignore"):
            values = scope[routine.name](given.q.T, given.v.T, given.t, given.p.T)
        rows = len(routine.result)
        out[routine.name] = np.broadcast_to(values.reshape(rows, -1), (rows, count)).T
    return out
