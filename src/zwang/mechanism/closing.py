"""Corrections of a mechanism's data whose loops close only up to the digits of a file.

A chain of hinges with parallel axes satisfies some rows of the joint that closes it identically
(`zwang.mechanism.loop_rows`). If its axes are off by a small angle, the data are changed on each
body, independently of the configuration:

    axes of hinges on one body that belong to one loop  ←  their mean direction aᵢ, least Σ angle²
    places along the axes  ←  Σ_bodies aᵢ · (place out − place in) = 0 around each loop, least Σ s²

Then the points of all loops that move only with exact data are moved by the least amount
(`zwang.mechanism.moved_points`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.errors import ModelError
from zwang.inputs.arguments import instance, number
from zwang.inputs.call import misfits_named
from zwang.mechanism.field_types import FromFormula
from zwang.mechanism.geometry import Geometry
from zwang.mechanism.loop_rows import NEARLY_PARALLEL_AXES, PARALLEL
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.moved_points import moved_points
from zwang.mechanism.schema import Point
from zwang.mechanism.toml import read

HINGES = ("revolute", "cylindrical", "screw")
"""Joints whose axis has to be parallel to the others of a loop."""
SLIDING = ("cylindrical", "screw")
"""Those of them with which a loop closes for any positions of its bodies along the axis."""
Frame = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Position, z axis and x axis of a point on its body."""
UNMOVED = 1e-15
"""Change of a direction [rad] or of a position [m] up to which it counts as zero."""


@dataclasses.dataclass(frozen=True)
class Closed:
    """A mechanism whose loops close, with the changes that were made.

    Attributes:
        mechanism: with the data changed.
        turned: angle by which the axis of a point was turned, by "body.point" [rad].
        moved: distance by which a point was moved, by "body.point" [m].
    """

    mechanism: Mechanism
    turned: Mapping[str, float]
    moved: Mapping[str, float]

    def __str__(self) -> str:
        lines = [f"axis of {name} turned by {x:.1e} rad" for name, x in self.turned.items()]
        lines += [f"{name} moved by {x:.1e} m" for name, x in self.moved.items()]
        return "\n".join([f"{self.mechanism.name}: {'closed' if lines else 'unchanged'}", *lines])

    __repr__ = __str__


@dataclasses.dataclass(frozen=True)
class _Passed:
    """A body of a loop.

    Attributes:
        come, go: numbers of the points at which the loop enters and leaves it.
        hinges: which of the two are those of hinges.
    """

    come: int
    go: int
    hinges: tuple[bool, bool]


@dataclasses.dataclass(frozen=True)
class _Loop:
    """The bodies of a loop, from the second one of the joint that closes it to its first one.

    It also says whether some joint lets the loop close for any positions of its bodies along the
    axis.
    """

    bodies: tuple[_Passed, ...]
    slides: bool


@misfits_named
def closed(given: Mechanism | Path | str, *, within: float | None = None) -> Closed:
    """Change the data of a mechanism by the least amount with which its loops move.

    Hinges of a planar linkage get exactly parallel axes. Loops whose motion depends on special
    lengths and angles, such as Bennett's linkage or three parallel rods, get exact ones.

    Args:
        given: a mechanism, or its file.
        within: angle up to which axes are meant to be parallel, and the largest change of other
            data [rad, or of a loop's size]; by default the mechanism's own, `parallel`, and 2e-5
            if that is 0.

    Returns:
        A `Closed`: `.mechanism`, and the changes in `.turned` and `.moved`.

    Raises:
        ModelError: for a loop whose data are off by slightly more than `within`, one that is off
            and closes with no nearby data, and if data that would have to change are formulas.

    Example:
        >>> found = zw.mechanism.closed("four-bar.toml")
        >>> print(found)
        >>> model = found.mechanism.model
    """
    made = read(given) if isinstance(given, (str, Path)) else given
    instance(made, Mechanism, "closed: the mechanism", "a zw.Mechanism, or the path of its file")
    if within is not None:
        within = number(within, "closed: within", above=0.0, most=NEARLY_PARALLEL_AXES, unit="rad")
    within = (made.parallel or PARALLEL) if within is None else within
    found = dataclasses.replace(made, parallel=within).compiled.loops
    if found.locked:
        raise ModelError(
            f"{made.name}: {found.locked[0]}, or take zw.mechanism.closed(mechanism, within=...) "
            "with it."
        )
    # Loops of other joints, or of axes through a point, are treated with the points of all loops.
    plane = [x for x, rows in found.inexact.found.items() if not rows.by_places]
    loops = [loop for name in plane if (loop := _around(made, name)) is not None]
    axes = _parallel_axes(made, loops)
    frames = _turned_frames(made, axes, _closing_shifts(made, loops, axes))
    parallel = _written(made, frames).mechanism
    free = [i for x, i in made.geometry.index.items() if _is_free(made, x) and _is_number(made, x)]
    exact = moved_points(parallel, within, free)
    done = _written(made, _frames(exact))
    left = dataclasses.replace(done.mechanism, parallel=within).compiled.loops
    if left.inexact.found:
        name = next(iter(left.inexact.found))
        raise ModelError(
            f"{made.name}: loop {name} does not close by turning axes and moving points along "
            "them; give its points and axes in all digits."
        )
    return done


def _around(made: Mechanism, name: str) -> _Loop | None:
    """The loop that a joint closes; None if it has other joints than hinges."""
    tree = made.compiled.spanning
    above = {by.body: (by.parent, by.joint) for by in tree.carriers}
    carrier, (last, first) = tree.geometry.carrier, tree.ends[name]

    def up(body: int) -> list[tuple[int, str | None]]:
        path = []
        while body in above:
            path.append((body, above[body][1]))
            body = above[body][0]
        return path

    down, rise = up(int(carrier[last])), up(int(carrier[first]))
    while down and rise and down[-1] == rise[-1]:
        down.pop()
        rise.pop()
    joints: list[str] = []
    for _, joint in [*rise, *down[::-1]]:
        if joint is None or made.joints[joint].kind not in HINGES:
            return None
        joints.append(joint)
    by_hinge = made.joints[name].kind in HINGES
    here, come, hinge = int(carrier[first]), first, by_hinge
    bodies = []
    for joint in joints:
        near, far = tree.ends[joint]
        if carrier[near] != here:
            near, far = far, near
        bodies.append(_Passed(come, near, (hinge, True)))
        here, come, hinge = int(carrier[far]), far, True
    bodies.append(_Passed(come, last, (hinge, by_hinge)))
    slides = any(made.joints[x].kind in SLIDING for x in (name, *joints))
    return _Loop(tuple(bodies), slides)


def _parallel_axes(made: Mechanism, loops: list[_Loop]) -> dict[int, np.ndarray]:
    """The direction of each point whose axis has to be parallel to others of its body."""
    geometry = made.geometry
    names = {i: name for name, i in geometry.index.items()}
    z = lambda i: geometry.orientation[i][:, 2]
    group: dict[int, set[int]] = {}
    for x in (x for loop in loops for x in loop.bodies):
        own = [i for i, hinge in zip((x.come, x.go), x.hinges, strict=True) if hinge]
        both = set(own).union(*(group.get(i, set()) for i in own))
        group.update(dict.fromkeys(both, both))
    found = {}
    for i, together in group.items():
        fixed = [j for j in together if not _is_free(made, names[j])]
        of = fixed or sorted(together)
        mean = Decomposition(np.array([z(j) for j in of])).right[:, 0]
        found[i] = mean * np.sign(mean @ z(i))
    return found


def _closing_shifts(
    made: Mechanism, loops: list[_Loop], axes: Mapping[int, np.ndarray]
) -> dict[int, np.ndarray]:
    """Shift of each point along the axis of its body."""
    geometry, rows, gaps = made.geometry, [], []
    names = {i: name for name, i in geometry.index.items()}
    way: dict[int, np.ndarray] = {}
    for loop in (x for x in loops if not x.slides):
        row, gap, sign = np.zeros(len(names)), 0.0, 1.0
        for k, x in enumerate(loop.bodies):
            along = axes[x.come if k else x.go] * sign
            for i, side in ((x.come, -1.0), (x.go, 1.0)):
                way.setdefault(i, along)
                gap += side * (along @ geometry.offset[i])
                if _is_free(made, names[i]):
                    row[i] += side * np.sign(along @ way[i])
            # the same direction in terms of the next hinge's axis, whose frames coincide
            if k + 1 < len(loop.bodies):
                sign = np.sign(along @ axes[x.go])
        rows.append(row)
        gaps.append(gap)
    if not rows:
        return {}
    shift = -Decomposition(np.array(rows)).solve(np.array(gaps))
    return {i: shift[i] * way[i] for i in way}


def _is_free(made: Mechanism, name: str) -> bool:
    """Return whether a point has data of its own: a center, or the origin, has none."""
    body, _, label = name.partition(".")
    if body == "ground":
        return bool(label)
    return label in made.bodies[body].points or label in ("start", "end")


def _turned_frames(
    made: Mechanism, axes: Mapping[int, np.ndarray], shifts: Mapping[int, np.ndarray]
) -> dict[int, Frame]:
    """Move and turn points; x axes change as little as possible."""
    geometry = made.geometry
    return {
        i: (
            geometry.offset[i] + shifts.get(i, np.zeros(3)),
            axes.get(i, geometry.orientation[i][:, 2]),
            geometry.orientation[i][:, 0],
        )
        for i in {*axes, *shifts}
    }


def _frames(geometry: Geometry) -> dict[int, Frame]:
    """The frames of all points."""
    turns = geometry.orientation
    if geometry.d == 2:
        # Importing it takes 0.15 s, and a linkage that closes needs no frames.
        from scipy.spatial.transform import Rotation

        turns = Rotation.from_rotvec(np.outer(turns, [0.0, 0.0, 1.0])).as_matrix()
    return {i: (geometry.offset[i], turns[i][:, 2], turns[i][:, 0]) for i in range(len(turns))}


def _written(made: Mechanism, frames: Mapping[int, Frame]) -> Closed:
    """The mechanism with points at other positions, or with other axes and the nearest x axes."""
    geometry, bodies, ground = made.geometry, dict(made.bodies), dict(made.ground)
    turned: dict[str, float] = {}
    moved: dict[str, float] = {}
    before = _frames(geometry)
    for name, i in geometry.index.items():
        at, axis, x = frames.get(i, before[i])
        length = float(np.linalg.norm(at - before[i][0]))
        new, old = (np.array(y) for y in ((axis, x), before[i][1:]))
        angle = float(np.max(np.linalg.norm(np.cross(new, old), axis=1)))
        if max(angle, length) <= UNMOVED:
            continue
        body, _, label = name.partition(".")
        points = ground if body == "ground" else bodies[body].points
        if _has_formula(points.get(label)):
            raise ModelError(
                f"{made.name}: point {name} is given by formulas, which zw.mechanism.closed cannot "
                "move."
            )
        place, z, x = (tuple(map(float, y)) for y in (at, axis, x))
        point = Point(at=place, axis=z, x=x)
        if made.d == 2:
            point = Point(at=place, angle=float(np.arctan2(x[1], x[0])))
        if body == "ground":
            ground[label] = point
        else:
            points = {**bodies[body].points, label: point}
            bodies[body] = dataclasses.replace(bodies[body], points=points)
        if angle > UNMOVED:
            turned[name] = angle
        if length > UNMOVED:
            moved[name] = length
    return Closed(dataclasses.replace(made, bodies=bodies, ground=ground), turned, moved)


def _is_number(made: Mechanism, name: str) -> bool:
    """Return whether the position and axes of a point are numbers and not formulas."""
    body, _, label = name.partition(".")
    if body == "ground":
        return not _has_formula(made.ground[label])
    own = made.bodies[body]
    return not _has_formula(own.points.get(label, own.length))


def _has_formula(point: object) -> bool:
    if isinstance(point, Point):
        point = [point.at, point.angle, point.axis, point.x]
    if isinstance(point, (tuple, list)):
        return any(map(_has_formula, point))
    return isinstance(point, FromFormula)
