"""Description of a hierarchy: the rows of each level, and the tree of modules."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.dynamics.model import Model
from zwang.hierarchy.assembly import Node
from zwang.hierarchy.tree_layout import assembly_of

SHOWN = 6
"""Number of constraints of a level that are named; the others are counted."""


@dataclasses.dataclass(frozen=True)
class LevelReport:
    """Rows and rank of one level of a hierarchy.

    Attributes:
        constraints: names of the constraints that it adds.
        rows: number of their rows.
        rank: number of rows that are independent of each other and of lower levels.
        degrees_of_freedom: number of remaining independent velocities.
    """

    constraints: tuple[str, ...]
    rows: int
    rank: int
    degrees_of_freedom: int


def level_reports(model: Model, C: np.ndarray) -> tuple[LevelReport, ...]:
    """Report the rows and rank of each level from A with rows at unit length in the metric of M⁻¹;
    empty for a model that is not a hierarchy.
    """
    reports, rows, before = [], np.zeros(0, int), 0
    assembly = assembly_of(model)
    for names in () if assembly is None else assembly.levels:
        added = _rows(model, names)
        rows = np.concatenate([rows, added])
        upto = Decomposition(C[rows]).rank
        reports.append(LevelReport(names, len(added), upto - before, model.system.nv - upto))
        before = upto
    return tuple(reports)


def level_lines(levels: tuple[LevelReport, ...]) -> Iterator[str]:
    yield "  level  rows  rank  free  constraints"
    for r, level in enumerate(levels, start=1):
        more = (
            f" and {len(level.constraints) - SHOWN} more" if len(level.constraints) > SHOWN else ""
        )
        named = ", ".join(level.constraints[:SHOWN]) + more
        yield (
            f"  {r:5d}  {level.rows:4d}  {level.rank:4d}  {level.degrees_of_freedom:4d}  "
            f"{named or '–'}"
        )


def tree_lines(model: Model, C: np.ndarray) -> tuple[str, ...]:
    """Describe the tree of modules, each with its velocities, the rows of its constraints, their
    rank, and its degrees of freedom as a separate model.
    """
    if (assembly := assembly_of(model)) is None:
        return ()

    def within(node: Node) -> list[str]:
        return [n for inner in node.walk() for n in inner.constraints]

    def said(node: Node) -> str:
        rows, nv = _rows(model, within(node)), node.v.stop - node.v.start
        found = Decomposition(C[rows]).rank
        held = f", {len(rows)} rows of rank {found}" if len(rows) else ""
        return f"{nv} velocities{held}, {nv - found} free"

    def lines(node: Node, indent: str, title: str) -> Iterator[str]:
        own = [n[len(node.path) + 1 :] if node.path else n for n in node.constraints]
        joined = (
            f"; joined by {', '.join(own[:SHOWN])}{' …' if len(own) > SHOWN else ''}"
            if node.modules
            else (f"; {', '.join(own)}" if own else "")
        )
        yield f"{indent}{title}  level {node.level}: {said(node)}{joined}"
        for first, last, count in _runs(node.modules):
            name = first.path.split(".")[-1]
            span = (
                f"{name} … {last.path.split('.')[-1]} ({count} alike, each)" if count > 1 else name
            )
            yield from lines(first, indent + "  ", span)

    return tuple(lines(assembly.top, "  ", model.name))


def _runs(modules: tuple[Node, ...]) -> Iterator[tuple[Node, Node, int]]:
    """Group neighbors of one kind as first, last and count."""
    start = 0
    for i in range(1, len(modules) + 1):
        if i == len(modules) or modules[i].kind != modules[start].kind:
            yield modules[start], modules[i - 1], i - start
            start = i


def _rows(model: Model, names) -> np.ndarray:
    slices = model.constraints.row_slices
    return np.concatenate(
        [np.zeros(0, int), *(np.arange(slices[n].start, slices[n].stop) for n in names)]
    )
