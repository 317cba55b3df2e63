"""Loops of a robot file that move only with exact data (`zwang.mechanism.movable`).

Axes and positions are changed within the digits that the file omits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from zwang.bodies import BodyTree
from zwang.bodies.screws.twist import adjoint, inverse
from zwang.mechanism.loop_rows import ClosedChain, allowing, decided
from zwang.mechanism.movable import Handle, exact_data, groups, linkage, moved_by
from zwang.mechanism.registry import JOINT_KINDS
from zwang.robots.description import Description, Loop

MERGED = "rows of loops that repeat those of others once axes and places are exact:"
"""Begin of the sentence that lists them."""


@dataclasses.dataclass(frozen=True)
class ExactLoops:
    """A robot whose loops move, with the changes that were made.

    Attributes:
        description: with axes and ends of loops moved.
        notes: the sentence that lists the loops, if there are any.
        locked: loops that a larger angle would unlock, in words.
    """

    description: Description
    notes: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()


def chain_of(tree: BodyTree, name: str, loop: Loop) -> ClosedChain:
    """A loop with the joints between its two bodies."""
    branches = {b.name: b for b in tree.branches}

    def above(body: str | None) -> list[str]:
        return [] if body is None else [body, *above(branches[body].parent)]

    def frame(end: tuple[str | None, np.ndarray]) -> np.ndarray:
        body, at = end
        own = None if body is None else branches[body].frame
        return np.asarray(at if own is None else own @ at)

    sides = set(above(loop.first[0])), set(above(loop.second[0]))
    carried = [branches[x] for x in branches if x in sides[0] ^ sides[1]]
    of_first = sides[0] - sides[1]
    return ClosedChain(
        name,
        JOINT_KINDS[loop.kind],
        {joint: twist for b in carried for joint, twist in b.joints.items()},
        frame(loop.first),
        frame(loop.second),
        np.array([b.center for b in carried]).reshape(-1, 3),
        JOINT_KINDS[loop.kind].named(loop.numbers),
        first_joints=frozenset(joint for x in of_first for joint in branches[x].joints),
    )


def exact_loops(given: Description, tree: BodyTree) -> ExactLoops:
    """The robot with the least change of axes and loop ends with which coupled loops move."""
    chains = [chain_of(tree, name, loop) for name, loop in given.loops.items()]
    made, merged, locked, within = given, [], [], given.parallel
    for group in groups(chains) if within > 0 else ():
        # A single loop is decided by its axes alone (`zwang.mechanism.loop_rows`).
        if len(group) < 2:
            continue
        scaled, handles = linkage(group), _handles(group)
        changed, kept_rows = (
            partial(_moved, group, handles, scaled.size),
            partial(_kept_rows, group),
        )
        starts = [np.zeros(len(scaled.names))]
        found = exact_data(group, starts, within, handles, changed, kept_rows)
        if found is None:
            continue
        worst = handles[int(np.argmax(np.abs(found.change).max(axis=1)))].name
        names = ", ".join(c.name for c in group)
        rows = f"{found.rows} row{'s' if found.rows > 1 else ''}"
        if found.off <= within:
            made = _written(made, tree, changed(found.change))
            merged.append(f"{names} ({rows}; data off by {found.off:.1e}, most at {worst})")
        else:
            locked.append(
                f"loops {names}: data off by {found.off:.1e} rad, or of the loops' size, most at "
                f"{worst}, make {rows} hard that exact data would make repeat others, and "
                f"most probably lock them; give exact data, or parallel = {allowing(found.off)}"
            )
    notes = (f"{MERGED} {'; '.join(merged)}",) if merged else ()
    return ExactLoops(made, notes, tuple(locked))


def _kept_rows(group: Sequence[ClosedChain], angle: float) -> Mapping[str, np.ndarray]:
    """Projectors onto the rows that each loop by itself keeps."""
    return decided(group, angle).keep


def _handles(group: Sequence[ClosedChain]) -> list[Handle]:
    """The axes of joints, which occur once in a file, and both ends of the closing joints."""
    made: dict[str, Handle] = {}
    for c in group:
        for name, twist in c.twists.items():
            v, w = np.sum(np.atleast_2d(twist)[:, :3], axis=0), np.atleast_2d(twist)[:, 3:]
            # the foot of an axis; any point for balls and slides
            place = np.cross(w[0], v) if len(w) == 1 and np.any(w) else c.first[:3, 3]
            slots = {("before", name): 1.0, ("after", name): -1.0}
            made.setdefault(name, Handle(name, place, slots))
        for side, frame in (("first", c.first), ("second", c.second)):
            made[f"{side} end of {c.name}"] = Handle(
                f"the {side} end of {c.name}", frame[:3, 3], {(side, c.name): 1.0}
            )
    return list(made.values())


def _moved(
    group: Sequence[ClosedChain], handles: Sequence[Handle], size: float, change: np.ndarray
) -> list[ClosedChain]:
    """Move the axes and ends of loops."""
    motions = {}
    for h, x in zip(handles, change, strict=True):
        g = moved_by(np.hstack([size * x[:3], x[3:]]), h.place)
        motions |= {slot: g for slot, sign in h.slots.items() if sign > 0}

    def twisted(name: str, twist: np.ndarray) -> np.ndarray:
        return twist @ adjoint(motions["before", name]).T

    return [
        dataclasses.replace(
            c,
            twists={name: twisted(name, x) for name, x in c.twists.items()},
            first=motions["first", c.name] @ c.first,
            second=motions["second", c.name] @ c.second,
        )
        for c in group
    ]


def _written(made: Description, tree: BodyTree, group: Sequence[ClosedChain]) -> Description:
    """The robot with the axes and ends of some loops."""
    twists = {name: x for c in group for name, x in c.twists.items()}
    branches = [
        dataclasses.replace(b, joints={n: twists.get(n, x) for n, x in b.joints.items()})
        for b in made.branches
    ]
    homes = {b.name: np.asarray(b.frame) for b in tree.branches}

    def end(given: tuple[str | None, np.ndarray], frame: np.ndarray):
        body = given[0]
        return body, frame if body is None else inverse(homes[body]) @ frame

    loops = dict(made.loops)
    for c in group:
        loop = loops[c.name]
        first, second = end(loop.first, c.first), end(loop.second, c.second)
        loops[c.name] = dataclasses.replace(loop, first=first, second=second)
    return dataclasses.replace(made, branches=branches, loops=loops)
