"""Branches of motion on which a run arrived at and left each of its singular configurations."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from zwang.dynamics.tangent_cone import MOST_JUDGED, tangent_cone
from zwang.simulation.results.crossing import Crossing
from zwang.thresholds import SHORT_WAY

if TYPE_CHECKING:
    from zwang.simulation.results.record import Run


def with_branches(run: Run, crossings: list[Crossing]) -> list[Crossing]:
    """Return the crossings with their branches, if constraints are holonomic and none was
    switched.
    """
    if not crossings or _unjudged(run):
        return crossings
    first, last = float(run.steps.t[0]), float(run.steps.t[-1])
    span = SHORT_WAY * (last - first)
    times = np.array([x.time for x in crossings])
    q, _ = run.at(times)
    before, after = (run.near(np.clip(times + s * span, first, last))[1] for s in (-1, 1))
    return [_judged(run, *x) for x in zip(crossings, q, before, after, strict=True)]


def unnamed(run: Run) -> str:
    """Return why branches are not identified at some crossings of a run; "" if all are
    identified.
    """
    if all(x.branches for x in run.crossings):
        return ""
    return (
        _unjudged(run)
        or "the motion stands still there, goes on in a continuum of directions, or passes just "
        "beside it"
    )


def _unjudged(run: Run) -> str:
    """Return why branches are not identified in a run, or ""."""
    if run.flow.switched is not None:
        return "constraints are switched"
    if run.model.system.nv > MOST_JUDGED:
        return f"there are more than {MOST_JUDGED} velocities"
    others = [k for k, c in run.model.constraints.owners.items() if not c.level.has_phi]
    return f"{others[0]!r} is not holonomic" if others else ""


def _judged(
    run: Run, crossing: Crossing, q: np.ndarray, before: np.ndarray, after: np.ndarray
) -> Crossing:
    """Return a crossing with its branches, from its coordinates and the velocities before and after
    it.
    """
    cone = tangent_cone(run.flow.dynamics, q, crossing.time)
    # a mechanism at rest is on all of its branches
    stands = not (np.any(before) and np.any(after))
    if not len(cone.tangents) or cone.rank > crossing.rank or stands:
        return crossing
    came, left = (cone.taken(v)[0] for v in (before, after))
    return dataclasses.replace(crossing, branches=len(cone.tangents), before=came, after=left)
