"""Solids of the library with mass, center and inertia, as links of a mechanism.

A solid is given in the axes of its first frame ("frame a" of the library), from its origin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from zwang.mechanism import Link, Point

STEEL = 7700.0
"""Density of boxes and cylinders [kg/m³]."""
UNTURNED = Rotation.identity()


class Solid(NamedTuple):
    """Mass [kg], center of mass [m] and inertia about it [kg·m²], shape (3, 3)."""

    mass: float
    center: np.ndarray
    inertia: np.ndarray

    def moved(self, by, rotation: Rotation = UNTURNED) -> Solid:
        """The same in axes in which its frame lies at `by` with an attitude."""
        R = rotation.as_matrix()
        return Solid(self.mass, np.add(by, R @ self.center), R @ self.inertia @ R.T)


def solid(mass: float, center=(0.0, 0.0, 0.0), inertia=(1e-3, 1e-3, 1e-3)) -> Solid:
    """By numbers; the principal moments are those that the library takes by default."""
    return Solid(mass, np.array(center, float), np.diag(inertia).astype(float))


def cylinder(way, diameter: float | None = None) -> Solid:
    """A cylinder along a vector from its frame; its diameter is by default a 20th of its length."""
    length = float(np.linalg.norm(way))
    radius = (length / 20 if diameter is None else diameter) / 2
    mass = STEEL * np.pi * radius**2 * length
    along = np.outer(way, way) / length**2
    across = mass * (length**2 + 3 * radius**2) / 12
    tensor = mass * radius**2 / 2 * along + across * (np.eye(3) - along)
    return Solid(mass, np.array(way) / 2, tensor)


def box(way, width: float | None = None, height: float | None = None, across=(0, 1, 0)) -> Solid:
    """A box along a vector from its frame, `width` in the direction of `across` as near as that is
    perpendicular; by default a 20th of its length, and its height its width.
    """
    length = float(np.linalg.norm(way))
    width = length / 20 if width is None else width
    height = width if height is None else height
    mass = STEEL * length * width * height
    first = np.array(way) / length
    third = np.cross(first, across) / np.linalg.norm(np.cross(first, across))
    axes = np.column_stack([first, np.cross(third, first), third])
    squares = np.array([length, width, height]) ** 2
    moments = mass * (squares.sum() - squares) / 12
    return Solid(mass, np.array(way) / 2, axes @ np.diag(moments) @ axes.T)


def joined(*parts: Solid) -> Solid:
    """Several solids as one."""
    mass = sum(part.mass for part in parts)
    center = sum((part.mass * part.center for part in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        r = part.center - center
        inertia += part.inertia + part.mass * (r @ r * np.eye(3) - np.outer(r, r))
    return Solid(mass, center, inertia)


def link(
    given: Solid,
    frame=(0.0, 0.0, 0.0),
    rotation: Rotation = UNTURNED,
    velocity=(0.0, 0.0, 0.0),
    spin=(0.0, 0.0, 0.0),
    **points,
) -> Link:
    """A solid in space.

    Args:
        given: the solid.
        frame, rotation: place and attitude of its frame at the start.
        velocity: of its frame's origin at the start.
        spin: angular velocity at the start, in its own axes.
        points: places from its frame, or a place with its z and x axes; `frame` is always there.
    """
    placed: dict[str, Point] = {}
    for name, point in {"frame": (0.0, 0.0, 0.0), **points}.items():
        at, *axes = point if np.ndim(point[0]) else (point,)
        z, x = axes or ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
        placed[name] = Point(tuple(np.subtract(at, given.center)), axis=z, x=x)
    moving = np.add(velocity, rotation.apply(np.cross(spin, given.center)))
    return Link(
        mass=given.mass,
        inertia=tuple(map(tuple, given.inertia)),
        at=tuple(np.add(frame, rotation.apply(given.center))),
        turn=tuple(rotation.as_rotvec()),
        velocity=tuple(moving),
        angular_velocity=tuple(spin),
        points=placed,
    )


def flat(given: Solid, frame=(0.0, 0.0), angle: float = 0.0, axes=(0, 1), **points) -> Link:
    """A solid that moves in the plane of two of its axes, its frame at a place with an angle;
    `points` are places from its frame, and `frame` is always there.
    """
    center = given.center[list(axes)]
    (normal,) = {0, 1, 2} - set(axes)
    c, s = np.cos(angle), np.sin(angle)
    placed = {
        name: tuple(np.subtract(at, center)) for name, at in {"frame": (0.0, 0.0), **points}.items()
    }
    return Link(
        mass=given.mass,
        inertia=float(given.inertia[normal, normal]),
        at=tuple(np.add(frame, np.array([[c, -s], [s, c]]) @ center)),
        angle=angle,
        points=placed,
    )
