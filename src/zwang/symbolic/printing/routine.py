"""A function to be printed: its definitions in order, and its result."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false
# SymPy's annotations do not declare that a matrix is iterable or what `cse` returns.

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import sympy as sp

from zwang.symbolic.conversion import Symbols, namesakes
from zwang.symbolic.derivation import Derivation


@dataclasses.dataclass(frozen=True)
class Routine:
    """A function of (q, v, t, p) as straight-line code.

    Attributes:
        name: of the function.
        unpacked: letter, index and symbol of each input that it uses; the time has index None.
        lines: intermediate results, each from those before it.
        result: entries that are returned.
    """

    name: str
    unpacked: tuple[tuple[str, int | None, sp.Symbol], ...]
    lines: tuple[tuple[sp.Symbol, sp.Expr], ...]
    result: tuple[sp.Expr, ...]


def routines(found: Derivation) -> list[Routine]:
    """The functions of a derivation.

    Each has the definitions that it needs, with common subexpressions eliminated.
    """
    return [_routine(found, name, list(value)) for name, value in found.outputs.items()]


def _routine(found: Derivation, name: str, result: list[sp.Expr]) -> Routine:
    needed = needed_definitions(found.definitions, result)
    numbered = sp.numbered_symbols("s", exclude=namesakes(found.latex_names), real=True)
    # definitions and results together, so that both share common subexpressions
    shared, short = sp.cse([e for _, e in needed] + result, symbols=numbered, order="none")
    symbols = [s for s, _ in needed]
    lines = _sorted(
        [*shared, *zip(symbols, short[: len(needed)], strict=True)], short[len(needed) :]
    )
    used = set().union(*(e.free_symbols for _, e in lines), *(e.free_symbols for e in short))
    return Routine(
        name,
        tuple(_unpacked(found.equations.symbols, used)),
        tuple(lines),
        tuple(short[len(needed) :]),
    )


def needed_definitions(definitions, result: Iterable[sp.Expr]) -> list[tuple[sp.Symbol, sp.Expr]]:
    """The definitions that a result uses, directly or through others, in their order."""
    wanted = set().union(set(), *(e.free_symbols for e in result))
    kept = []
    for symbol, expression in reversed(definitions):
        if symbol in wanted:
            wanted |= expression.free_symbols
            kept.append((symbol, expression))
    return kept[::-1]


def _sorted(lines, result) -> list[tuple[sp.Symbol, sp.Expr]]:
    """Sort lines so that each uses only earlier ones; unused lines are left out."""
    by_symbol, done, out = dict(lines), set(), []
    stack = [(s, False) for e in reversed(result) for s in sorted(e.free_symbols, key=str)]
    while stack:
        symbol, ready = stack.pop()
        if symbol not in by_symbol or symbol in done:
            continue
        if ready:
            done.add(symbol)
            out.append((symbol, by_symbol[symbol]))
            continue
        stack.append((symbol, True))
        stack.extend((s, False) for s in sorted(by_symbol[symbol].free_symbols, key=str))
    return out


def _unpacked(symbols: Symbols, used: set):
    for letter in "qvp":
        for i, symbol in enumerate(getattr(symbols, letter)):
            if symbol in used:
                yield letter, i, symbol
    if symbols.t in used:
        yield "t", None, symbols.t
