"""Printed functions in Julia: one module."""

from __future__ import annotations

import shutil

import numpy as np
from sympy.printing.julia import JuliaCodePrinter

from zwang.codegen.samples import Samples
from zwang.symbolic.derivation import Derivation
from zwang.symbolic.printing.octave import run_elsewhere, signature
from zwang.symbolic.printing.routine import Routine

ENDING = ".jl"


def source(name: str, routines: list[Routine], found: Derivation, note: str) -> dict[str, str]:
    """The module, by its file name."""
    printer = JuliaCodePrinter({"inline": True})
    head = [
        f"# {name}: the explicit equation of motion of Udwadia and Kalaba.",
        *(f"#   {line}" for line in signature(found, 1)),
        *(f"#   {line}" for line in note.splitlines()),
        f"module {_module(name)}",
        "",
        f"export {', '.join(r.name for r in routines)}",
    ]
    functions = [_function(printer, routine) for routine in routines]
    return {f"{name}{ENDING}": "\n".join(head) + "\n\n" + "\n\n".join(functions) + "\n\nend\n"}


def _module(name: str) -> str:
    return name[0].upper() + name[1:]


def _function(printer, routine: Routine) -> str:
    lines = [f"function {routine.name}(q, v, t, p)"]
    for letter, index, symbol in routine.unpacked:
        if index is not None:
            lines.append(f"    {symbol} = {letter}[{index + 1}]")
    lines += [f"    {symbol} = {printer.doprint(e)}" for symbol, e in routine.lines]
    entries = ", ".join(printer.doprint(e) for e in routine.result)
    return "\n".join([*lines, f"    return [{entries}]", "end"])


def results(
    sources: dict[str, str], name: str, routines: list[Routine], given: Samples
) -> dict[str, np.ndarray] | None:
    """Values of each function at the states, by running Julia; None if it is not installed."""
    program = shutil.which("julia")
    if program is None:
        return None
    nq, nv, count = given.q.shape[1], given.v.shape[1], given.p.shape[1]
    first = nq + nv + 2
    state = f"x[i, 1:{nq}], x[i, {nq + 1}:{nq + nv}], x[i, {nq + nv + 1}], "
    state += f"x[i, {first}:{first + count - 1}]"
    loop = [
        f'include("{name}{ENDING}")',
        "using DelimitedFiles",
        'x = readdlm("states.txt")',
        *(
            f'writedlm("{r.name}.txt", '
            f"[{_module(name)}.{r.name}({state})[k] for i in axes(x, 1), k in 1:{len(r.result)}])"
            for r in routines
        ),
    ]
    return run_elsewhere(
        [program, "--startup-file=no", "run_states.jl"],
        sources[f"{name}{ENDING}"],
        f"{name}{ENDING}",
        "run_states.jl",
        "\n".join(loop),
        routines,
        given,
    )
