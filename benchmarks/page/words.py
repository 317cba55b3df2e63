"""How figures are written: two digits, units that suit, tables."""

from __future__ import annotations

from collections.abc import Sequence


def seconds(x: float | None) -> str:
    """A duration in the unit that suits."""
    if x is None:
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if x >= 0.9995 * size or unit == "µs":
            return f"{digits(x / size)} {unit}"
    raise AssertionError


def digits(x: float) -> str:
    """Two digits that mean something, three from 100 on."""
    if x == 0:
        return "0"
    return f"{x:.0f}" if abs(x) >= 9.95 else f"{x:.1f}" if abs(x) >= 0.995 else f"{x:.2g}"


def ratio(x: float) -> str:
    return f"{digits(x)} ×"


def spread(x: dict) -> str:
    """Median with smallest and largest, of one run the time alone."""
    if x["runs"] == 1:
        return seconds(x["median"])
    return f"{seconds(x['median'])} ({seconds(x['min'])} … {seconds(x['max'])})"


def small(x: float | None) -> str:
    """An error."""
    if x is None:
        return "–"
    mantissa, exponent = f"{x:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown; nothing if it has no rows."""
    if not rows:
        return ""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
