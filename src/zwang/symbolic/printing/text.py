"""A derivation as plain text."""

from __future__ import annotations

import sympy as sp

from zwang.symbolic.derivation import Derivation


def text(found: Derivation) -> str:
    """Equations, definitions and results, line by line."""
    e = found.equations
    lines = [found.model.name]
    for name, value in (("M", e.M), ("F", e.F), ("A", e.A), ("b", e.b)):
        lines += [f"{name} =", _rows(value)] if value.rows else []
    lines += [f"{s} = {x}" for s, x in found.definitions]
    for name, value in found.outputs.items():
        lines += [f"{name} =", _rows(value)]
    lines += [f"{name}: {value}" for name, value in found.integrals.items()]
    lines += list(found.assumptions)
    return "\n".join([*lines, found.verdict()] if found.digits else lines)


def _rows(value: sp.Matrix) -> str:
    return "\n".join("    " + ",  ".join(map(str, value.row(i))) for i in range(value.rows))
