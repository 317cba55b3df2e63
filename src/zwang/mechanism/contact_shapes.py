"""Shapes of contacts as solids on the bodies that carry them, and on the ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from zwang.bodies.rotation import quaternion
from zwang.bodies.shape import Shape
from zwang.inputs.arithmetic import on_host
from zwang.mechanism.contacts import curve_of, sizes_of
from zwang.mechanism.resolution import ends_between
from zwang.scene import GROUND

if TYPE_CHECKING:
    from zwang.mechanism.contact_schema import Surface
    from zwang.mechanism.mechanism import Mechanism

SLAB_LENGTH = 3.0
"""Length of a drawn plane without end over the size of the mechanism at its start."""
SLAB_HEIGHT = 0.02
"""Thickness of a drawn plane or curve over its length."""
LIGHT = (0.72, 0.75, 0.78, 1.0)
"""Color of what is fixed in space."""
PIECES = 64
"""Straight pieces of a drawn curve."""


def contact_shapes(m: Mechanism) -> dict[str, list[Shape]]:
    """The shapes of contacts by the name of the body that carries them, `zwang.scene.GROUND` for
    the frame. A body with shapes of its own looks like those.
    """
    found: dict[str, list[Shape]] = {}
    geometry, names = m.geometry, list(m.bodies)
    for name, contact in m.contacts.items():
        ends = ends_between(contact.between, geometry, ("contacts", name))
        for point, given, i in zip((ends.a, ends.b), contact.shapes, (0, 1), strict=True):
            body = geometry.carrier[point]
            owner = names[body] if body < len(names) else GROUND
            if owner != GROUND and (m.bodies[owner].shapes or _is_disk(m, owner, point, given)):
                continue
            own = _shapes(m, given, ("contacts", name, "shapes", str(i)), point)
            found.setdefault(owner, []).extend(x for x in own if x not in found.get(owner, []))
    return found


def _is_disk(m: Mechanism, body: str, point: int, given: Surface) -> bool:
    """Whether a shape is the disk that a body is drawn as anyway."""
    link = m.bodies[body]
    same = given.kind == "sphere" and link.radius == given.size[0] and link.length is None
    return m.d == 2 and same and not np.any(m.geometry.offset[point])


def _shapes(m: Mechanism, given: Surface, where: tuple[str, ...], point: int) -> list[Shape]:
    """A surface as shapes in the axes of its body."""
    joints, known = m.compiled.joints, m.params["parameters"]
    if given.kind == "curve":
        with on_host():
            curve = curve_of(given, joints, where)
            s = np.linspace(curve.first, curve.last, PIECES + 1)
            places = np.array([curve.place(x, m.params) for x in s], float)
        thin = SLAB_HEIGHT * float(np.max(np.ptp(places, axis=0)))
        return [_bar(m, point, a, b, thin) for a, b in zip(places[:-1], places[1:], strict=True)]
    size = [float(x.value(known)) for x in sizes_of(given, joints, where)]
    if given.kind == "point":
        return []
    if given.kind == "plane":
        return [_plane(m, point, size)]
    if m.d == 3:
        return [_on_body(m, point, given.kind, size)]
    thin = SLAB_HEIGHT * max(size)
    if given.kind == "sphere":
        return [_on_body(m, point, "cylinder", [*size, thin])]
    return [_on_body(m, point, "box", [*size, thin])]


def _plane(m: Mechanism, point: int, size: list[float]) -> Shape:
    """A slab below a plane; of one without end the part below the mechanism at its start."""
    middle = np.zeros(m.d)
    if not size:
        places = np.asarray(m.placed(m.start_state.q[None]).points.place)[0]
        radii = [x.radius or x.length or 0.0 for x in m.bodies.values()]
        reach = float(np.max(np.ptp(places, axis=0))) + 2 * max(radii, default=0.0)
        size = [SLAB_LENGTH * (reach or 1.0)] * (m.d - 1)
        middle = _axes(m, point).T @ (np.mean(places, axis=0) - m.geometry.offset[point])
    thin = SLAB_HEIGHT * max(size)
    middle[-1] = -thin / 2
    whole = [*size, thin] if m.d == 3 else [*size, thin, thin]
    return _on_body(m, point, "box", whole, middle)


def _bar(m: Mechanism, point: int, a: np.ndarray, b: np.ndarray, thin: float) -> Shape:
    way = b - a
    size = [float(np.linalg.norm(way)), thin, thin]
    return _on_body(m, point, "box", size, (a + b) / 2, float(np.arctan2(way[1], way[0])))


def _axes(m: Mechanism, point: int) -> np.ndarray:
    """Axes of a point on its body, shape (d, d)."""
    turned = np.asarray(m.geometry.orientation[point], float)
    if turned.ndim:
        return turned
    c, s = np.cos(turned), np.sin(turned)
    return np.array([[c, -s], [s, c]])


def _on_body(
    m: Mechanism,
    point: int,
    kind: str,
    size: list[float],
    place: ArrayLike = 0.0,
    angle: float = 0.0,
) -> Shape:
    """A shape at a place in the axes of a point, turned by an angle about z."""
    c, s = np.cos(angle), np.sin(angle)
    axes, turn = np.eye(3), np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    axes[: m.d, : m.d] = _axes(m, point)
    at = np.zeros(3)
    at[: m.d] = m.geometry.offset[point] + _axes(m, point) @ (np.asarray(place) + np.zeros(m.d))
    attitude = np.asarray(quaternion(jnp.asarray(axes @ turn)[None]))[0]
    fixed = m.geometry.carrier[point] == len(m.bodies)
    color = LIGHT if fixed and m.d == 3 else None
    return Shape(kind, size, tuple(map(float, at)), tuple(map(float, attitude)), color)
