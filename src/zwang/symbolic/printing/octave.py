"""Printed functions in MATLAB and Octave: one function that returns a struct of handles."""

from __future__ import annotations

import shutil

import numpy as np
from sympy.printing.octave import OctaveCodePrinter

from zwang.codegen.c.library import finished
from zwang.codegen.samples import Samples
from zwang.errors import ModelError
from zwang.files import write_text
from zwang.files.isolation import refuse_full, scratch_folder
from zwang.symbolic.derivation import Derivation
from zwang.symbolic.printing.routine import Routine

ENDING = ".m"


def source(name: str, routines: list[Routine], found: Derivation, note: str) -> dict[str, str]:
    """The function file, by its name."""
    printer = OctaveCodePrinter({"inline": True})
    functions = [_function(printer, routine) for routine in routines]
    handles = ", ".join(f"'{r.name}', @{r.name}" for r in routines)
    head = [
        f"function f = {name}()",
        f"% {name}: the explicit equation of motion of Udwadia and Kalaba.",
        f"%   f = {name}(); vdot = f.acceleration(q, v, t, p)",
        *(f"%   {line}" for line in signature(found, 1)),
        *(f"%   {line}" for line in note.splitlines()),
        f"    f = struct({handles});",
        "end",
    ]
    return {f"{name}{ENDING}": "\n".join(head) + "\n\n" + "\n\n".join(functions) + "\n"}


def signature(found: Derivation, first: int) -> list[str]:
    """Descriptions of the entries of q, v and p, counted from `first`."""
    system, parameters = found.model.system, found.equations.source.parameters
    return [
        f"{letter}({i + first})  {str(name).splitlines()[0]}"
        for letter, names in (
            ("q", system.coordinates),
            ("v", system.velocities),
            ("p", [f"{n} = {x!r}" for n, x in parameters]),
        )
        for i, name in enumerate(names)
    ]


def _function(printer, routine: Routine) -> str:
    lines = [f"function out = {routine.name}(q, v, t, p)"]
    for letter, index, symbol in routine.unpacked:
        if index is not None:
            lines.append(f"    {symbol} = {letter}({index + 1});")
    lines += [f"    {symbol} = {printer.doprint(e)};" for symbol, e in routine.lines]
    lines += [f"    out = zeros({len(routine.result)}, 1);"]
    lines += [f"    out({i + 1}) = {printer.doprint(e)};" for i, e in enumerate(routine.result)]
    return "\n".join([*lines, "end"])


def results(
    sources: dict[str, str], name: str, routines: list[Routine], given: Samples
) -> dict[str, np.ndarray] | None:
    """Values of each function at the states, by running Octave; None if it is not installed."""
    program = shutil.which("octave-cli") or shutil.which("octave")
    if program is None:
        return None
    loop = [
        f"f = {name}(); x = load('states.txt');",
        *(
            line
            for r in routines
            for line in (
                f"n = zeros(rows(x), {len(r.result)});",
                "for i = 1:rows(x)",
                f"  s = x(i, :)'; n(i, :) = f.{r.name}({_parts(given)});",
                "end",
                f"save('-ascii', '-double', '{r.name}.txt', 'n');",
            )
        ),
    ]
    return run_elsewhere(
        [program, "--norc", "--quiet", "run_states.m"],
        sources[f"{name}{ENDING}"],
        f"{name}{ENDING}",
        "run_states.m",
        "\n".join(loop),
        routines,
        given,
    )


def _parts(given: Samples) -> str:
    """The arguments of a function from a column of a state."""
    nq, nv, count = given.q.shape[1], given.v.shape[1], given.p.shape[1]
    first = nq + nv + 2
    return f"s(1:{nq}), s({nq + 1}:{nq + nv}), s({nq + nv + 1}), s({first}:{first + count - 1})"


def run_elsewhere(command, source, file, script, text, routines, given) -> dict[str, np.ndarray]:
    """Run another program that writes values to text files, one for each function, and read them.

    Raises:
        ModelError: if the program fails.
    """
    with scratch_folder() as place:
        write_text(place / file, source)
        write_text(place / script, text + "\n")
        states = np.hstack([given.q, given.v, given.t[:, None], given.p])
        # repr is exact, which a format with fixed digits is not
        lines = (" ".join(repr(float(x)) for x in row) for row in states)
        write_text(place / "states.txt", "\n".join(lines) + "\n")
        done = finished(command, place)
        if done.returncode:
            refuse_full(done.stderr)
            said = (done.stderr.strip().splitlines() or ["no message"])[0]
            raise ModelError(f"{file} does not run: {said[:300]}")
        return {
            r.name: np.loadtxt(place / f"{r.name}.txt", ndmin=2).reshape(len(states), -1)
            for r in routines
            if len(r.result)
        } | {r.name: np.zeros((len(states), 0)) for r in routines if not len(r.result)}
