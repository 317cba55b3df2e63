"""Wireframes of bodies, for films that are drawn without surfaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from zwang.bodies.shape import Shape

ROUND = 25
"""Points of a circle."""
SIDES = 4
"""Lines along a cylinder."""
GAP = np.full((1, 3), np.nan)
"""Separator that ends a line."""
CORNERS = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]], float)


def wire(shapes: Sequence[Shape]) -> np.ndarray:
    """Wireframe of shapes in the axes of their body, shape (k, 3), with NaN between the lines.

    Meshes have none.
    """
    found = [_placed(shape) for shape in shapes if shape.kind in _LINES]
    return np.concatenate(found) if found else np.zeros((0, 3))


def moved(lines: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Lines of a body at all its poses (position, unit quaternion), shape (n, 7) → (n, k, 3)."""
    turned = Rotation.from_quat(poses[:, 3:], scalar_first=True).as_matrix()
    return np.einsum("nij,kj->nki", turned, lines) + poses[:, None, :3]


def _placed(shape: Shape) -> np.ndarray:
    own = _LINES[shape.kind](np.asarray(shape.size, float))
    turned = Rotation.from_quat(np.asarray(shape.orientation, float), scalar_first=True)
    lines = np.concatenate([part for line in own for part in (line, GAP)])
    return lines @ turned.as_matrix().T + np.asarray(shape.position, float)


def _ring(radius: float, height: float) -> np.ndarray:
    angle = np.linspace(0.0, 2 * np.pi, ROUND)
    return np.stack(
        [radius * np.cos(angle), radius * np.sin(angle), np.full(ROUND, height)], axis=1
    )


def _cylinder(size: np.ndarray) -> list[np.ndarray]:
    radius, half = size[0], size[1] / 2
    around = 2 * np.pi * np.arange(SIDES) / SIDES
    ends = [_ring(radius, -half), _ring(radius, half)]
    sides = [
        np.array([[radius * np.cos(a), radius * np.sin(a), z] for z in (-half, half)])
        for a in around
    ]
    return [*ends, *sides]


def _ellipsoid(size: np.ndarray) -> list[np.ndarray]:
    half = np.broadcast_to(size, 3)
    unit = _ring(1.0, 0.0)
    return [half * np.roll(unit, k, axis=1) for k in range(3)]


def _box(size: np.ndarray) -> list[np.ndarray]:
    half = size / 2
    faces = [half * np.column_stack([CORNERS, np.full(len(CORNERS), z)]) for z in (-1.0, 1.0)]
    uprights = [half * np.array([[x, y, -1.0], [x, y, 1.0]]) for x, y in CORNERS[:-1]]
    return [*faces, *uprights]


_LINES = {
    "box": _box,
    "sphere": _ellipsoid,
    "ellipsoid": _ellipsoid,
    "cylinder": _cylinder,
    "capsule": _cylinder,
}
"""Kind of a shape → its size → lines in its own axes."""
