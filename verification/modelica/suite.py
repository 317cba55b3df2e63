"""All examples beside the reference results of the Modelica Association."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

import zwang as zw
from verification.line import NOT_MODELED, Line, judged
from verification.modelica import attraction, constraints, elementary, loops, plain, wheels
from verification.modelica.case import Case, Example

SUITE = "Modelica Standard Library 4.0.0, Mechanics.MultiBody"
COMMAND = "python -m verification modelica --data reference"
FOLDER = Path("Modelica") / "Mechanics" / "MultiBody" / "Examples"
ALLOWED = 2e-3
"""Largest difference of any signal, relative to its range, that counts as agreement: the tolerance
with which the Modelica Association compares results (`compare_passed.log`). Dymola ran with 1e-6.
"""
LOOSER, THINNER = 100.0, 4
"""A second run shows how far ours can be off: its tolerance is greater by this factor, and as steps
end on samples, it has only every fourth of them.
"""
STRIDE = 10
"""Of the 5001 instants of a reference result every tenth is compared."""
STILL = 1e-6
"""A signal whose range is smaller is one that rests, and is compared with 1 in its unit."""
LEFT_OUT = {
    "Elementary/Surfaces": "shows surfaces; its one slide is prescribed and carries no mass",
}


def cases() -> list[Case]:
    """All examples that are modeled, by name."""
    modules = (attraction, constraints, elementary, loops, plain, wheels)
    return sorted((case for x in modules for case in x.cases()), key=lambda case: case.name)


def names() -> list[str]:
    """All examples, by name."""
    return sorted([*(case.name for case in cases()), *LEFT_OUT])


class Reference(NamedTuple):
    """A reference result: its instants, its signals by name, shape (samples,) each, and the tool
    with its tolerance, as `creation.txt` states them.
    """

    t: np.ndarray
    signals: dict[str, np.ndarray]
    tool: str


def reference(folder: Path, name: str) -> Reference:
    """The reference result of an example."""
    place = folder / name
    compared = (place / "comparisonSignals.txt").read_text(encoding="utf-8").split()
    text = (place / f"{place.name}.csv").read_text(encoding="utf-8")
    heads = [head.strip('"') for head in re.split(r",(?=\")", text.splitlines()[0])]
    rows = np.loadtxt(text.splitlines()[1:], delimiter=",")
    # an event stands twice, before and after
    rows = rows[np.append(True, np.diff(rows[:, 0]) > 0)]
    kept = rows[np.unique(np.append(np.arange(0, len(rows), STRIDE), len(rows) - 1))]
    signals = {head: kept[:, heads.index(head)] for head in compared if head != "time"}
    created = (place / "creation.txt").read_text(encoding="utf-8")
    tool = re.search(r'generationTool="(Dymola Version \w+)', created)
    tolerance = re.search(r"^Tolerance=(\S+)", created, re.MULTILINE)
    assert tool is not None and tolerance is not None, place
    return Reference(kept[:, 0], signals, f"{tool[1]} at a tolerance of {tolerance[1]}")


def lines(data: Path) -> list[Line]:
    """Every example beside the files under `data`, a clone of the repository."""
    by_name = {case.name: case for case in cases()}
    return [
        compared(by_name[name], data / FOLDER) if name in by_name else _left_out(name)
        for name in names()
    ]


def _left_out(name: str) -> Line:
    why = LEFT_OUT[name]
    return Line(SUITE, name, "", "", "", math.nan, math.nan, NOT_MODELED, why, COMMAND)


def compared(case: Case, folder: Path) -> Line:
    """The comparison of one example with its reference result."""
    theirs, example = reference(folder, case.name), case.build()
    ours = ran(example, theirs.t, case.rtol)
    loose = ran(example, theirs.t[::THINNER], case.rtol * LOOSER)
    apart = differences(ours, theirs.signals, theirs.signals)
    thinned = {name: values[::THINNER] for name, values in ours.items()}
    own = max(differences(loose, thinned, theirs.signals).values())
    worst = max(apart.values())
    shown = ", ".join(f"{name} {x:.1e}" for name, x in apart.items())
    steady = f"zwang, at rtol {case.rtol:g}, differs by {own:.0e} from a coarser run"
    why = [theirs.tool, steady, case.note]
    if case.by_hand is not None:
        exact = case.by_hand(theirs.t)
        off = [max(differences(x, exact, theirs.signals).values()) for x in (theirs.signals, ours)]
        why.append(f"from equations by hand, Dymola differs by {off[0]:.0e}, zwang by {off[1]:.0e}")
    return Line(
        SUITE,
        case.name,
        f"{len(theirs.signals)} signals at {len(theirs.t)} instants to {theirs.t[-1]:g} s",
        "",
        shown,
        worst,
        ALLOWED,
        judged(worst, ALLOWED),
        "; ".join(filter(None, why)),
        COMMAND,
    )


def ran(example: Example, t: np.ndarray, rtol: float) -> dict[str, np.ndarray]:
    """Signals of a run by the library's names, numbered ones one by one."""
    run = zw.simulate(example.model, example.q, example.v, times=t, rtol=rtol, atol=rtol)
    found = {}
    for name, values in example.signals(run).items():
        if values.ndim == 1:
            found[name] = values
        else:
            found |= {f"{name}[{i + 1}]": column for i, column in enumerate(values.T)}
    return found


def differences(first, second, scales) -> dict[str, float]:
    """Largest difference of each vector or number over all instants, beside the largest range of
    its components in `scales`.
    """
    vectors: dict[str, list[str]] = {}
    for name in scales:
        vectors.setdefault(name.partition("[")[0], []).append(name)
    found = {}
    for vector, parts in vectors.items():
        scale = max(float(np.ptp(scales[name])) for name in parts)
        off = max(float(np.abs(first[name] - second[name]).max()) for name in parts)
        found[vector] = off / (scale if scale > STILL else 1.0)
    return found
