"""Mass and inertia of the links of an SDF file, given or from their collisions and densities."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from zwang.bodies.inertia import NOTHING, impossible
from zwang.bodies.screws.twist import inverse
from zwang.errors import ModelError
from zwang.robots.sdf_scopes import Scope, truth
from zwang.robots.sdf_specification import SIZES
from zwang.robots.text import numbers

DENSITY = 1000.0
"""Default density of collisions [kg/m³]."""
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
OWN = (1.0, np.zeros(3), np.eye(3))
"""Default mass [kg], center [m] and inertia [kg·m²] of a link."""


class Inertia(NamedTuple):
    """Mass [kg], center of mass [m], and inertia about it [kg·m²], in axes of the link."""

    mass: float
    center: np.ndarray
    tensor: np.ndarray


def inertia_of(scope: Scope, link: Element) -> tuple[Inertia, np.ndarray | None]:
    """The inertia of a link, and its principal moments if no body can have them.

    Raises:
        ModelError: for a mass that is not positive, a negative moment, or a shape whose inertia is
            not known.
    """
    name, element = link.get("name", ""), link.find("inertial")
    where, frame = f"{scope.shown}: link {name!r}", scope.local(name)
    if element is None:
        return Inertia(*OWN), None
    given = element.findtext("mass")
    mass = float(numbers(given, 1, f"{where}: mass", (1.0,))[0])
    if not mass > 0:
        raise ModelError(f"{where}: mass {mass:g} kg is not positive.")
    back = inverse(frame)
    if truth(element.get("auto"), f"{where}: inertial: auto", False):
        made = _of_collisions(scope, link, back, where)
        if given is not None:
            made = Inertia(mass, made.center, made.tensor * (mass / made.mass))
        return made, impossible(made.mass, made.tensor)
    at = back @ scope.pose(element, frame, f"link {name!r}: inertial")
    x, y, z, xy, xz, yz = (
        float(numbers(element.findtext(f"inertia/{k}"), 1, f"{where}: {k}", (default,))[0])
        for k, default in zip(MOMENTS, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), strict=True)
    )
    if min(x, y, z) < -NOTHING * mass:
        raise ModelError(f"{where}: a moment of inertia ({x:g}, {y:g}, {z:g} kg·m²) is negative.")
    tensor = np.array([[x, xy, xz], [xy, y, yz], [xz, yz, z]])
    turned = at[:3, :3] @ tensor @ at[:3, :3].T
    return Inertia(mass, at[:3, 3], turned), impossible(mass, tensor)


# --- from collisions


def _of_collisions(scope: Scope, link: Element, back: np.ndarray, where: str) -> Inertia:
    """The sum over all collisions, each with its own density or else that of the link."""
    own = numbers(link.findtext("inertial/density"), 1, f"{where}: inertial: density", (DENSITY,))[
        0
    ]
    parts = []
    for collision in link.findall("collision"):
        what = f"{where}: collision {collision.get('name')!r}"
        density = numbers(collision.findtext("density"), 1, f"{what}: density", (own,))[0]
        if not density > 0:
            raise ModelError(f"{what}: density {density:g} kg/m³ is not positive.")
        frame = scope.local(link.get("name", ""))
        at = back @ scope.pose(collision, frame, f"collision {collision.get('name')!r}")
        if (solid := _solid(collision, what)) is not None:
            volume, center, moments = solid
            R = at[:3, :3]
            tensor = density * volume * (R @ np.diag(moments) @ R.T)
            parts.append(Inertia(density * volume, at[:3, 3] + R @ center, tensor))
    mass = sum(part.mass for part in parts)
    if not mass > 0:
        raise ModelError(
            f"{where}: inertial auto, but no collision has a volume; give the mass and inertia."
        )
    center = np.sum([part.mass * part.center for part in parts], axis=0) / mass
    tensor = np.zeros((3, 3))
    for part in parts:
        d = part.center - center
        tensor += part.tensor + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertia(mass, center, tensor)


def _solid(collision: Element, where: str) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Volume [m³], center [m], principal moments per kilogram [m²] of a shape; None if empty."""
    geometry = collision.find("geometry")
    shape = None if geometry is None or not len(geometry) else geometry[0]
    if shape is None or shape.tag == "empty":
        return None
    if shape.tag not in SOLIDS:
        raise ModelError(
            f"{where}: the inertia of a {shape.tag} does not follow from its shape here; give mass "
            "and inertia of the link without auto."
        )
    words = " ".join(shape.findtext(n) or "" for n in _sizes(shape.tag))
    size = numbers(words, COUNTS[shape.tag], f"{where}: {shape.tag}")
    if np.any(size <= 0):
        raise ModelError(f"{where}: a {shape.tag} has the size {words}, expected positive numbers.")
    return SOLIDS[shape.tag](*size)


def _sizes(kind: str) -> tuple[str, ...]:
    return ("radius", "length") if kind == "cone" else SIZES[kind]


def _box(x: float, y: float, z: float):
    return x * y * z, np.zeros(3), np.array([y * y + z * z, x * x + z * z, x * x + y * y]) / 12


def _sphere(r: float):
    return 4 / 3 * np.pi * r**3, np.zeros(3), np.full(3, 0.4 * r * r)


def _ellipsoid(a: float, b: float, c: float):
    moments = np.array([b * b + c * c, a * a + c * c, a * a + b * b]) / 5
    return 4 / 3 * np.pi * a * b * c, np.zeros(3), moments


def _cylinder(r: float, length: float):
    across = (3 * r * r + length * length) / 12
    return np.pi * r * r * length, np.zeros(3), np.array([across, across, 0.5 * r * r])


def _capsule(r: float, length: float):
    """A cylinder between two half spheres, whose centers of mass are 3r/8 beyond its ends."""
    tube, caps = np.pi * r * r * length, 4 / 3 * np.pi * r**3
    volume, away = tube + caps, length / 2 + 3 * r / 8
    cap = 0.4 * r * r - (3 * r / 8) ** 2
    across = tube * (3 * r * r + length * length) / 12 + caps * (cap + away * away)
    along = tube * 0.5 * r * r + caps * 0.4 * r * r
    return volume, np.zeros(3), np.array([across, across, along]) / volume


def _cone(r: float, length: float):
    """The tip is at half the length along z, the center of mass a quarter below the middle."""
    across = 3 / 80 * (4 * r * r + length * length)
    center = np.array([0.0, 0.0, -0.25 * length])
    return np.pi * r * r * length / 3, center, np.array([across, across, 0.3 * r * r])


SOLIDS: dict[str, Callable] = {
    "box": _box,
    "sphere": _sphere,
    "ellipsoid": _ellipsoid,
    "cylinder": _cylinder,
    "capsule": _capsule,
    "cone": _cone,
}
COUNTS = {"box": 3, "sphere": 1, "ellipsoid": 3, "cylinder": 2, "capsule": 2, "cone": 2}
"""Numbers of a shape."""
