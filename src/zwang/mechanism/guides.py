"""Lines and curves of one body on which joints guide a point of another, for pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from zwang.errors import ModelError
from zwang.mechanism.expression import Expression
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.relative_pose import SLIDE, X, Y

OVERHANG = 0.2
"""Length by which a straight guide exceeds its points, relative to the size of the mechanism."""
PER_SIZE = 40
"""Number of steps of a curve over the size of the mechanism."""
OPEN_REACH, LOOP_REACH = 0.6, 2.5
"""Distances from its point, relative to the size, to which an open curve is drawn and a closed one
is looked for.
"""
SQUARE = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])


def axes_of(attitude: np.ndarray) -> np.ndarray:
    """Axes of a point as columns, of its angle in the plane or its rotation matrix in space."""
    if attitude.ndim:
        return attitude
    c, s = np.cos(attitude), np.sin(attitude)
    return np.array([[c, -s], [s, c]])


def guides(
    m: Mechanism, places: np.ndarray, attitudes: np.ndarray, names: Iterable[str]
) -> Iterator[np.ndarray]:
    """Draw what guides the second points of joints.

    A slide along an axis of the first point is a straight line, a joint with a formula a curve, or
    in space the sections of its surface parallel to the planes of coordinates, and a floor a line,
    or in space a square.

    Args:
        m: the mechanism.
        places: positions of its points, shape (points, d) [m].
        attitudes: their angles [rad], or in space rotation matrices.
        names: joints that couple no others.

    Yields:
        Lines, shape (n, d) [m].
    """
    moving = np.asarray(m.geometry.carrier) < len(m.bodies)
    extent = lambda x: float(np.max(np.ptp(x, axis=0), initial=0.0)) or 1.0
    # a floor is as large as what moves on it, however far that has come
    whole, moved = extent(places), extent(places[moving])
    for name in names:
        ends, axes = m.ends(name), axes_of(attitudes[m.ends(name).a])
        at = (places[ends.b] - places[ends.a]) @ axes
        size = moved if JOINT_KINDS[m.joints[name].kind].guide == "floor" else whole
        for line in _of_joint(m, name, at, size):
            yield places[ends.a] + line @ axes.T


def _of_joint(m: Mechanism, name: str, at: np.ndarray, size: float) -> list[np.ndarray]:
    """The guides of a joint in the axes of its first point, whose second point is at `at`."""
    kind = JOINT_KINDS[m.joints[name].kind]
    equations = kind.equations(m.d)
    if kind.guide == "curve":
        joints, known = m.compiled.joints, m.compiled.derived.declared["parameters"]
        formula = Expression(str(getattr(m.joints[name], kind.formulas[0].name)), joints.tables)
        return _sections(formula, known, at, size)
    if kind.guide == "floor" and m.d == 3:
        return [np.pad(at[:2] + 0.4 * size * SQUARE, ((0, 0), (0, 1)))]
    if kind.guide == "floor":
        return [_straight(np.zeros(2), 0, at[0], size)]
    slides = {SLIDE: 0 if m.d == 2 else 2, X: 0, Y: 1}
    moved = [x.coordinate for x in (equations.freedoms if equations else ())]
    found, base = [], np.zeros(m.d)
    for i in (slides[x] for x in moved if x in slides):
        found.append(_straight(base, i, at[i], size))
        # a second slide is carried by the first one
        base = base.copy()
        base[i] = at[i]
    return found


def _straight(base: np.ndarray, i: int, to: float, size: float) -> np.ndarray:
    """A line through `base` along axis i, beyond 0 and `to`."""
    line = np.stack([base, base])
    line[:, i] = min(0.0, to) - OVERHANG * size, max(0.0, to) + OVERHANG * size
    return line


def _sections(
    formula: Expression, known: Mapping[str, Any], at: np.ndarray, size: float
) -> list[np.ndarray]:
    """Zeros of a formula of x, y (and z) through a point: a curve, or sections of a surface."""
    planes = [[0, 1]] if len(at) == 2 else [[0, 1], [0, 2], [1, 2]]
    found = []
    for plane in planes:

        def value(x: np.ndarray, plane=plane) -> float:
            whole = at.copy()
            whole[plane] = x
            try:
                return formula.value({**known, **dict(zip("xyz", whole, strict=False))})
            except ModelError:
                return np.nan  # not defined there, so that the curve ends

        line = _zeros(value, at[plane], size)
        if len(line) > 1:  # where the plane does not touch the surface
            found.append(np.tile(at, (len(line), 1)))
            found[-1][:, plane] = line
    return found


def _zeros(value: Callable, at: np.ndarray, size: float) -> np.ndarray:
    """The curve `value = 0` through a point, by steps along its tangent and corrections across it.

    A closed curve is drawn as a whole, another one near the point. It ends where its gradient
    vanishes.
    """
    step, halves = size / PER_SIZE, []
    for sense in (1.0, -1.0):
        x, line = at, [at]
        for i in range(8 * PER_SIZE):
            slope = _gradient(value, x, size)
            if not np.linalg.norm(slope) > 0:
                break
            x = x + sense * step * np.array([-slope[1], slope[0]]) / np.linalg.norm(slope)
            slope = _gradient(value, x, size)
            x = x - value(x) * slope / (slope @ slope) if slope @ slope > 0 else x
            jumped = not np.linalg.norm(x - line[-1]) < 2 * step
            if jumped or np.linalg.norm(x - at) > LOOP_REACH * size:
                break
            if i > 1 and np.linalg.norm(x - at) < step:
                return np.array([*line, at])
            line.append(x)
        halves.append([x for x in line if np.linalg.norm(x - at) < OPEN_REACH * size])
    return np.array([*halves[1][:0:-1], *halves[0]])


def _gradient(value: Callable, x: np.ndarray, size: float) -> np.ndarray:
    steps = 1e-6 * size * np.eye(2)
    return np.array([value(x + h) - value(x - h) for h in steps]) / (2e-6 * size)
