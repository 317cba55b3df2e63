"""Least changes of points whose loops move only with exact data (`zwang.mechanism.movable`).

Examples are Bennett's linkage, parallel rods, axes through one point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np

from zwang.bodies.screws.twist import inverse
from zwang.errors import ModelError
from zwang.inputs.arithmetic import on_host
from zwang.mechanism.assembly import AssemblyError, assemble
from zwang.mechanism.geometry import Geometry
from zwang.mechanism.loop_rows import ClosedChain, allowing
from zwang.mechanism.movable import Handle, Slot, exact_data, groups, linkage, moved_by

if TYPE_CHECKING:
    from zwang.mechanism.mechanism import Mechanism
    from zwang.mechanism.tree import SpanningTree


class _Points(NamedTuple):
    """The points of loops: numbers, handles, and bodies' frames at coordinates zero, by point."""

    numbers: list[int]
    handles: list[Handle]
    homes: list[np.ndarray]


def moved_points(made: Mechanism, within: float, free: Collection[int]) -> Geometry:
    """The geometry of a mechanism whose loops move, by the least change of points.

    Args:
        made: the mechanism.
        within: largest change [rad, or of a loop's size].
        free: numbers of the points that may be moved.

    Raises:
        ModelError: for loops that would move with data that are off by more, or with other data
            than these.
    """
    compiled, geometry = made.compiled, made.geometry
    tree = compiled.spanning
    options = lambda name: compiled.joints.options_of(name, compiled.derived.declared)
    for group in groups(tree.closed_chains(geometry, options)):
        names = [c.name for c in group]

        points, size = _points_of(tree, geometry, group, free), linkage(group).size

        def moved(x: np.ndarray, geometry=geometry, points=points, size=size) -> Geometry:
            return _moved(geometry, points, x * np.repeat([size, 1.0], 3))

        def changed(x: np.ndarray, names=names, moved=moved) -> list[ClosedChain]:
            chains = {c.name: c for c in tree.closed_chains(moved(x), options)}
            return [chains[name] for name in names]

        found = exact_data(group, _starts(made, group), within, points.handles, changed)
        if found is None:
            continue
        if found.off > within:
            raise ModelError(
                f"{made.name}: loop {', '.join(names)} would move with data changed by up to "
                f"{found.off:.1e} rad, or of its size, which is more than {within:.0e}; give exact "
                f"data, or zw.mechanism.closed(mechanism, within={allowing(found.off)})."
            )
        geometry = moved(found.change)
    return geometry


def _starts(made: Mechanism, group: list[ClosedChain]) -> list[np.ndarray]:
    """Coordinates of loops at the best assembly of the mechanism, and at its rough start.

    The assembly may be where the mechanism is stretched out. Empty if a ball joint, whose
    quaternion has four numbers, carries a body of them.
    """
    if any(np.ndim(twist) > 1 for c in group for twist in c.twists.values()):
        return []
    try:
        q = assemble(made.maximal, stepped=False).q
    except AssemblyError as error:
        q = error.q
    made_of = linkage(group)
    turns = {name: bool(np.any(twist[3:])) for c in group for name, twist in c.twists.items()}
    # slides in units of the size
    unit = {name: 1.0 if turns[name] else made_of.size for name in turns}
    found = []
    with on_host():
        params = jax.tree.map(np.asarray, made.maximal.params)
        for at in (q, made.geometry.q):
            at_bodies = np.asarray(at)[: len(made.geometry.q)]
            values = made.compiled.spanning.coordinates_of(at_bodies, params)
            found.append([float(np.asarray(values[n])) / unit[n] for n, _ in made_of.names])
    return [np.array(x) for x in found]


def _points_of(
    tree: SpanningTree, geometry: Geometry, group: list[ClosedChain], free: Collection[int]
) -> _Points:
    used = {name for c in group for name in c.twists}
    branches = {b.name: b for b in tree.branches}
    slots: dict[int, dict[Slot, float]] = {}
    for by in tree.carriers:
        names = list(branches[geometry.bodies[by.body].name].joints)
        if by.joint is None or not names or names[0] not in used:
            continue
        near, far = tree.ends[by.joint][::-1] if by.reverse else tree.ends[by.joint]
        slots.setdefault(near, {})["before", names[0]] = 1.0
        slots.setdefault(far, {})["after", names[-1]] = -1.0
    for c in group:
        for side, point in zip(("first", "second"), tree.ends[c.name], strict=True):
            slots.setdefault(point, {})[side, c.name] = 1.0
    numbers = [i for i in slots if i in free]
    bodies = [int(geometry.carrier[i]) for i in numbers]
    homes = [
        np.asarray(branches[geometry.bodies[b].name].frame)
        if b < len(geometry.bodies)
        else np.eye(4)
        for b in bodies
    ]
    labels = {i: name for name, i in geometry.index.items()}
    handles = [
        Handle(labels[i], home[:3, :3] @ _place(geometry, i) + home[:3, 3], slots[i])
        for i, home in zip(numbers, homes, strict=True)
    ]
    return _Points(numbers, handles, homes)


def _place(geometry: Geometry, i: int) -> np.ndarray:
    return np.pad(geometry.offset[i], (0, 3 - geometry.d))


def _moved(geometry: Geometry, points: _Points, change: np.ndarray) -> Geometry:
    """Move points at coordinates zero, each with its axis."""
    offset, orientation = np.array(geometry.offset), np.array(geometry.orientation)
    d = geometry.d
    for i, handle, home, x in zip(*points, change, strict=True):
        g = inverse(home) @ moved_by(x, handle.place) @ home
        offset[i] = (g[:3, :3] @ _place(geometry, i) + g[:3, 3])[:d]
        turn = g[:3, :3]
        orientation[i] = (
            orientation[i] + np.arctan2(turn[1, 0], turn[0, 0]) if d == 2 else turn @ orientation[i]
        )
    return dataclasses.replace(geometry, offset=offset, orientation=orientation)
