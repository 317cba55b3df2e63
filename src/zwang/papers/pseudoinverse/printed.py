"""Tables 7-12 as printed, and their contradictions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from zwang.papers.claim import Claim, Verdict, compared
from zwang.papers.pseudoinverse.linkage import DURATION, METHODS

TOLERANCES = (1e-10, 1e-8, 1e-6)
PEAK = 4e9
"""Largest number of operations per second of the paper's machine, an AMD Athlon 2600+: about 2.1
GHz, with one addition and one multiplication per cycle.
"""
THOUSAND = 1000
"""Factor by which the printed calls and steps are too large."""
SIZE = 12
"""Number of rows and columns of the matrices."""


@dataclasses.dataclass(frozen=True)
class Printed:
    """A row of Tables 7-12.

    Attributes:
        until: end of the correct part [s]; 20 if the table says "Correct".
        result: the words of the table, shortened.
        violation: ΣΨ²; calls, steps, cpu; None for a dash.
    """

    until: float
    result: str
    violation: float | None
    calls: int | None = None
    steps: int | None = None
    cpu: float | None = None


def up_to(until: float, *numbers) -> Printed:
    return Printed(until, f"correct up to {until:g} s", *numbers)


def fails(until: float, violation: float | None) -> Printed:
    return Printed(until, f"fails after {until:g} s", violation)


def right(*numbers) -> Printed:
    return Printed(DURATION, "correct", *numbers)


PRINTED: Mapping[tuple[bool, float], tuple[Printed, ...]] = {
    (False, 1e-10): (
        fails(9.1, 3.7e-7), fails(8.0, 9.9e-2), up_to(17.5, 4.5e-5, 2961955, 2633811, 0.93),
        up_to(16.5, 2.3e-4, 6131159, 4177395, 11.57), up_to(17.0, 1.1e-4, 3749766, 3015354, 36.85),
    ),
    (False, 1e-8): (
        fails(12.07, 3.4e-6), fails(8.06, 9.9e-2), up_to(17.5, 1.86e-4, 1648055, 1422689, 0.53),
        up_to(18.0, 7.9e-4, 1641751, 1422297, 1.28), up_to(18.0, 5.2e-4, 1644341, 1424864, 6.03),
    ),
    (False, 1e-6): (
        up_to(17.5, 4.1e-4, 1033381, 847294, 0.28), fails(7.3, 9.9e-2),
        up_to(19.0, 9.7e-4, 1017558, 1422689, 0.37),
        right(7.9e-4, 1641751, 1422297, 0.76), right(6.9e-4, 1013795, 839020, 3.40),
    ),
    (True, 1e-10): (
        fails(1.17, None), right(4.5e-5, 78491398, 47074599, 11.4),
        right(2.1e-7, 74043990, 44053874, 18.3),
        right(3.3e-7, 73707588, 43948609, 51.5), right(4.1e-7, 73910268, 44515071, 241.0),
    ),
    (True, 1e-8): (
        fails(0.17, None), fails(14.97, None), right(4.9e-7, 80109155, 55569995, 19.4),
        right(3.5e-7, 80197458, 54468468, 55.0), right(4.9e-7, 80112706, 54604452, 290.0),
    ),
    (True, 1e-6): (
        fails(0.46, None), fails(9.7, None), right(1.9e-6, 80483163, 57743095, 19.5),
        right(1.14e-6, 80689071, 58099798, 55.0), right(1.06e-6, 80636983, 58010479, 291.0),
    ),
}  # fmt: skip
"""Tables 7-12 by (stabilized, TOL), in the order of `METHODS`."""


def repeats(before: float, after: float, method: str) -> tuple[str, ...]:
    """Numbers of a row that also occur in the table of another TOL, without stabilization."""
    i = list(METHODS).index(method)
    a, b = PRINTED[False, before][i], PRINTED[False, after][i]
    fields = ("violation", "calls", "steps")
    return tuple(x for x in fields if getattr(a, x) is not None and getattr(a, x) == getattr(b, x))


def gigaflops(method: str, row: Printed) -> float:
    """Operations per second of the pseudoinverses of a row [1e9], from its printed calls and CPU
    time.
    """
    assert row.calls is not None and row.cpu is not None
    return row.calls / row.cpu * METHODS[method]().flops(SIZE, SIZE) / 1e9


def claims() -> list[Claim]:
    """Contradictions within the tables."""
    i = list(METHODS).index("LS-Householder")
    row, greville = PRINTED[False, 1e-6][i], PRINTED[False, 1e-6][list(METHODS).index("Greville")]
    same = repeats(1e-8, 1e-6, "LS-Householder")
    assert greville.steps is not None and greville.calls is not None
    rates = [
        gigaflops(name, x)
        for rows in PRINTED.values()
        for name, x in zip(METHODS, rows, strict=True)
        if x.calls is not None
    ]
    return [
        Claim(
            "Table 9, LS-Householder",
            "ΣΨ², calls and steps at TOL 1e-6",
            f"{row.violation:.1e}, {row.calls:,}, {row.steps:,}",
            f"{len(same)} of these three numbers are those of Table 8, at TOL 1e-8",
            compared(not same),
            "A row that was copied; the other methods of Table 9 take 1.0 million calls.",
            Verdict.NOT,
        ),
        Claim(
            "Table 9, Greville",
            "steps at TOL 1e-6",
            f"{greville.steps:,}",
            f"more than its {greville.calls:,} calls",
            compared(greville.steps <= greville.calls and not repeats(1e-8, 1e-6, "Greville")),
            "The number of Table 8; every step calls the function at least once.",
            Verdict.NOT,
        ),
        Claim(
            "Tables 7-12",
            "calls and CPU times belong to each other",
            "both printed",
            f"{min(rates):.0f} to {max(rates):.0f} Gflop/s for the pseudoinverses alone",
            compared(max(rates) * 1e9 < PEAK),
            f"The machine makes {PEAK / 1e9:g} Gflop/s at most, an addition and a multiplication "
            "in each cycle. With a thousandth of the calls it is "
            f"{min(rates):.0f} to {max(rates):.0f} Mflop/s.",
            Verdict.NOT,
        ),
    ]
