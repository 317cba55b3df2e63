"""Printed functions in C99."""

from __future__ import annotations

import ctypes

import numpy as np
import sympy as sp
from sympy.printing.c import C99CodePrinter

from zwang.codegen.c.library import FLAGS, build, compiler
from zwang.codegen.samples import Samples
from zwang.files import write_text
from zwang.files.isolation import scratch_folder
from zwang.native.c import constant
from zwang.symbolic.derivation import Derivation
from zwang.symbolic.printing.routine import Routine

DRIVER_STATES = 8
"""Number of states in the test driver."""
MOST_FACTORS = 4
"""Largest power that is printed as a product."""


class _Printer(C99CodePrinter):
    def _print_Pow(self, expr):
        base, power = expr.as_base_exp()
        if power.is_Integer and 2 <= abs(int(power)) <= MOST_FACTORS:
            factor = self.parenthesize(base, 1000)
            product = "*".join([factor] * abs(int(power)))
            return f"({product})" if power > 0 else f"(1.0/({product}))"
        return super()._print_Pow(expr)

    def _print_sign(self, expr):
        x = self._print(expr.args[0])
        return f"((double)((({x}) > 0) - (({x}) < 0)))"


def source(name: str, routines: list[Routine], found: Derivation, note: str) -> dict[str, str]:
    """Header and source, by their file names."""
    system, parameters = found.model.system, found.equations.source.parameters
    guard, printer = f"{name.upper()}_H", _Printer()
    plain = lambda text: str(text).replace("*/", "* /").replace("\n", " ")
    comment = [
        f"/* {name}: the explicit equation of motion of Udwadia and Kalaba.",
        "",
        *(f"   q[{i}]  {plain(x)}" for i, x in enumerate(system.coordinates)),
        *(f"   v[{i}]  {plain(x)}" for i, x in enumerate(system.velocities)),
        *(f"   p[{i}]  {x} = {value!r}" for i, (x, value) in enumerate(parameters)),
        "",
        *(f"   {line}" for line in plain_lines(note)),
        "*/",
    ]
    declared = [f"{_signature(name, r)};  /* {len(r.result)} numbers */" for r in routines]
    header = [*comment, "", f"#ifndef {guard}", f"#define {guard}", "", *declared, "", "#endif"]
    body = [f'#include "{name}.h"', "", "#include <math.h>"]
    functions = [_function(printer, name, routine) for routine in routines]
    return {
        f"{name}.h": "\n".join(header) + "\n",
        f"{name}.c": "\n".join(body) + "\n\n" + "\n\n".join(functions) + "\n",
    }


def plain_lines(note: str) -> list[str]:
    """Lines of a note that cannot end a comment."""
    return note.replace("*/", "* /").splitlines()


def _signature(name: str, routine: Routine) -> str:
    state = "const double *q, const double *v, double t, const double *p"
    return f"void {name}_{routine.name}({state}, double *out)"


def _function(printer: _Printer, name: str, routine: Routine) -> str:
    lines = [
        f"{_signature(name, routine)} {{",
        "    (void)q; (void)v; (void)t; (void)p; (void)out;",
    ]
    for letter, index, symbol in routine.unpacked:
        if index is not None:
            lines.append(f"    const double {symbol} = {letter}[{index}];")
    for symbol, e in routine.lines:
        # In SymPy a symbol is also a Boolean.
        truth = isinstance(e, sp.logic.boolalg.Boolean) and not isinstance(e, sp.Expr)
        kind = "int" if truth else "double"
        lines.append(f"    const {kind} {symbol} = {printer.doprint(e)};")
    lines += [f"    out[{i}] = {printer.doprint(e)};" for i, e in enumerate(routine.result)]
    return "\n".join([*lines, "}"])


def driver(name: str, routines: list[Routine], given: Samples, expected: dict) -> dict[str, str]:
    """A program that compares the functions with the numeric model, by its file name."""
    few = slice(0, DRIVER_STATES)
    table = lambda kind, rows: (
        f"static const double {kind}[{len(rows)}][{max(1, rows.shape[1])}] = {{\n"
        + ",\n".join("    {" + (", ".join(map(constant, r)) or "0") + "}" for r in rows)
        + "};"
    )
    text = [
        f'#include "{name}.h"',
        "",
        "#include <math.h>",
        "#include <stdio.h>",
        "",
        table("Q", given.q[few]),
        table("V", given.v[few]),
        table("P", given.p[few]),
        table("T", given.t[few, None]),
        *(table(f"EXPECTED_{r.name}", expected[r.name][few]) for r in routines),
        "",
        "static double off(const double *x, const double *y, int n) {",
        "    double size = 0, error = 0;",
        "    for (int i = 0; i < n; i++) {",
        "        size = fmax(size, fabs(y[i]));",
        "        error = fmax(error, fabs(x[i] - y[i]));",
        "    }",
        "    return error / (size > 1 ? size : 1);",
        "}",
        "",
        "int main(void) {",
        f"    double worst = 0, out[{max([1, *(len(r.result) for r in routines)])}];",
        f"    for (int i = 0; i < {len(given.q[few])}; i++) {{",
    ]
    for r in routines:
        text += [
            f"        {name}_{r.name}(Q[i], V[i], T[i][0], P[i], out);",
            f"        worst = fmax(worst, off(out, EXPECTED_{r.name}[i], {len(r.result)}));",
        ]
    text += [
        "    }",
        f'    printf("{name}: largest relative difference %.2g\\n", worst);',
        "    return worst <= 1e-9 ? 0 : 1;",
        "}",
    ]
    return {f"{name}_test.c": "\n".join(text) + "\n"}


def results(
    sources: dict[str, str], name: str, routines: list[Routine], given: Samples
) -> dict[str, np.ndarray] | None:
    """Values of each function at the states, compiled with every warning an error.

    None without a C compiler.
    """
    if compiler() is None:
        return None
    out = {}
    with scratch_folder() as folder:
        for file in (f"{name}.h", f"{name}.c"):
            write_text(folder / file, sources[file])
        build([*FLAGS, "-fPIC", "-shared", f"{name}.c", "-o", "printed.so", "-lm"], folder)
        library = ctypes.CDLL(str(folder / "printed.so"))
        point = lambda x: x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        wide = [
            np.ascontiguousarray(np.c_[x, np.zeros(len(x))]) for x in (given.q, given.v, given.p)
        ]
        for routine in routines:
            function = library[f"{name}_{routine.name}"]
            function.restype = None
            values = np.zeros((len(given.q), len(routine.result)))
            for i in range(len(values)):
                q, v, p = (point(x[i]) for x in wide)
                function(q, v, ctypes.c_double(given.t[i]), p, point(values[i]))
            out[routine.name] = values
    return out
