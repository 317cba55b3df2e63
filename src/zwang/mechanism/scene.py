"""The scene of a mechanism.

It has bars and plates between the points of its bodies, disks, cylinders, joints, springs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.bodies.shape import Shape
from zwang.mechanism.contact_shapes import contact_shapes
from zwang.mechanism.geometry import Geometry
from zwang.mechanism.joint_constraints import RATES
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.reactions import reactions, traced_shares
from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.resolution import Ends
from zwang.mechanism.schema import Link
from zwang.scene import GROUND, Bar, Mark, Plate, Scene, Seen, array_namespace

if TYPE_CHECKING:
    from zwang.simulation.results import Run

ALONG_X = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
"""Rotation of the axis of a cylinder, z, to x."""
THICKNESS = 0.12
"""Thickness of a drawn disk over its radius."""


def scene(m: Mechanism) -> Scene:
    """Make the scene of a mechanism for the viewer."""
    geometry = m.geometry
    kinds = {name: JOINT_KINDS[joint.kind] for name, joint in m.joints.items()}
    marked = {name: m.ends(name) for name, kind in kinds.items() if not kind.couples}
    ground = len(geometry.bodies)
    # in reverse order, so that a point keeps its first name
    names = {number: name for name, number in reversed(geometry.index.items())}
    joints = tuple(
        Mark(
            name,
            names[ends.b],
            kinds[name].symbol or "none",
            # the far end of a rod is on the ground
            bool(geometry.carrier[ends.a] == ground) and kinds[name].line != "rod",
            tuple(n for n in (name, name + RATES) if n in m.model.constraints.names),
        )
        for name, ends in marked.items()
    )
    belts = [name for name, kind in kinds.items() if kind.line == "belt"]
    slides = [kinds[name].symbol == "slide" for name in marked]
    outlines, touch = _outlines(m, names, marked), contact_shapes(m)
    bodies = {x: (*_shapes(y, m.d), *touch.get(x, ())) for x, y in m.bodies.items()}
    rods = [
        Bar((names[e.a], names[e.b]), kind="rod")
        for name, e in marked.items()
        if kinds[name].line == "rod"
    ]
    return Scene(
        points=(*geometry.index, *(f"{name}.{i}" for name in belts for i in range(4))),
        seen=_seen(m, [e.a for e in marked.values()], slides, belts, GROUND in touch),
        bars=(*(x for x in outlines if isinstance(x, Bar)), *rods, *_bars(m, belts)),
        plates=tuple(x for x in outlines if isinstance(x, Plate)),
        joints=joints,
        bodies={**bodies, **({GROUND: tuple(touch[GROUND])} if GROUND in touch else {})},
        traces=m.look.traces,
        forces=lambda run: joint_forces(m, run, tuple(marked)),
        forces_of=_forces_of(m, tuple(marked)),
        view=m.look.view,
        up=_up(m.gravity),
    )


def _up(gravity: tuple[float, ...] | None) -> tuple[float, ...] | None:
    """The direction against gravity; None without gravity, or for the default direction."""
    if gravity is None or not np.any(gravity):
        return None
    return tuple(float(-x) for x in gravity)


def _outlines(
    m: Mechanism, names: Mapping[int, str], marked: Mapping[str, Ends]
) -> list[Bar | Plate]:
    """Bars and plates of all bodies, through their points and the joints that they carry."""
    carrier, found = m.geometry.carrier, []
    for i, (name, link) in enumerate(m.bodies.items()):
        held = [e.b if carrier[e.b] == i else e.a for e in marked.values()]
        found += _lines(m.geometry, i, name, link, names, held)
    return found


def _bars(m: Mechanism, belts: list[str]) -> list[Bar]:
    """Strands of belts, springs and cylinders."""
    # A belt's four points are the ends of its two strands, one after the other.
    strands = [
        Bar((f"{name}.{i}", f"{name}.{i + 1}"), name, "rod") for name in belts for i in (0, 2)
    ]
    springs = [
        Bar(x.between, kind="spring")
        for x in [*m.springs.values(), *m.bushings.values()]
        if x.between is not None
    ]
    cylinders = [
        Bar(x.between, kind="actuator") for x in m.actuators.values() if x.between is not None
    ]
    return [*strands, *springs, *cylinders]


def joint_forces(m: Mechanism, run: Run, names: tuple[str, ...]) -> np.ndarray:
    """Force of each joint on its second body in space [N], shape (n, joints, d)."""
    transmitted = reactions(m, run, axes="world")
    made = [transmitted[name].force for name in names]
    return np.stack(made, axis=1) if made else np.zeros((len(run.q), 0, m.d))


def _forces_of(m: Mechanism, names: tuple[str, ...]):
    """Traced joint forces of one state and its applied forces.

    They are parts of the generalized forces of the bodies.
    """
    carrier, ground = m.geometry.carrier, len(m.geometry.bodies)
    shares = traced_shares(m)

    def forces(state, acting):
        by_constraint, found = shares(state, acting).by_constraint, []
        for name in names:
            ends = m.ends(name)
            # If the ground is the second body, the reaction is the opposite of that on the first
            # body.
            carried = carrier[ends.b] < ground
            body, sign = (carrier[ends.b], 1.0) if carried else (carrier[ends.a], -1.0)
            own = [by_constraint[x] for x in (name, name + RATES) if x in by_constraint]
            share = sum(own, 0 * next(iter(by_constraint.values())))
            found.append(sign * share.reshape(ground, -1)[body, : m.d])
        return jnp.stack(found)

    return forces if names else None


def _seen(m: Mechanism, firsts: list[int], slide: list[bool], belts: list[str], grounded: bool):
    """`q (n, nq)` → `Seen`.

    The axis of a slide in the plane is x of its first point; all others turn about z of theirs. The
    ground is the last body, if `grounded`.
    """
    slides = np.array(slide, bool)

    def seen(q):
        found, xp = m.placed(q), array_namespace(q)
        (place, attitude), bodies = map(xp.asarray, found.points), xp.asarray(found.bodies)
        place = xp.concatenate([place, *(belt(m, name, place, attitude) for name in belts)], axis=1)
        attitude = attitude[:, np.array(firsts, int)]
        poses = bodies.reshape(len(q), len(m.bodies), -1)
        if grounded:
            still = np.zeros(7 if m.d == 3 else 3)
            still[3:4] = 1.0  # of a quaternion
            still = xp.zeros((len(q), 1, 1)) + still
            poses = xp.concatenate([poses, still], axis=1)
        if m.d == 3:
            return Seen(place, attitude[..., 2], poses)
        axes = slides[:, None] * xp.stack([xp.cos(attitude), xp.sin(attitude)], axis=-1)
        return Seen(place, axes, poses)

    return seen


def belt(m: Mechanism, name: str, place: np.ndarray, attitude: np.ndarray) -> np.ndarray:
    """Ends of a belt's two straight strands, where it leaves its wheels, shape (n, 4, d).

        n = u cos θ ± u⊥ sin θ,    cos θ = (r₁ − r₂)/|c₂ − c₁|,    ends cᵢ + rᵢ n

    u points from center to center, u⊥ is perpendicular to it in the plane of the first wheel; r₂ <
    0 if the wheels turn in opposite directions and the belt is crossed. The radii are those of the
    bodies; one without a radius is a point.

    Args:
        place, attitude: of all points of `geometry`, with a leading axis.
    """
    joint, geometry = m.joints[name], m.geometry
    assert joint.joints is not None and joint.ratio is not None
    ends, links = [m.ends(x) for x in joint.joints], list(m.bodies.values())
    radii = [
        links[geometry.carrier[e.b]].radius or 0.0 if geometry.carrier[e.b] < len(links) else 0.0
        for e in ends
    ]
    radii[1] *= np.sign(joint.ratio[0] * joint.ratio[1])
    centers = [place[:, e.b] for e in ends]
    way = centers[1] - centers[0]
    xp = array_namespace(place)
    apart = xp.linalg.norm(way, axis=1, keepdims=True)
    apart = xp.where(apart == 0, 1.0, apart)  # coaxial wheels: u is undefined
    u = way / apart
    across = (
        xp.stack([-u[:, 1], u[:, 0]], axis=1)
        if m.d == 2
        else xp.cross(attitude[:, ends[0].a, :, 2], u)
    )
    # a wheel inside the other has no strands to draw
    cosine = xp.clip((radii[0] - radii[1]) / apart, -1.0, 1.0)
    normals = [u * cosine + side * across * xp.sqrt(1 - cosine**2) for side in (1, -1)]
    return xp.stack(
        [c + r * n for n in normals for c, r in zip(centers, radii, strict=True)], axis=1
    )


def _shapes(link: Link, d: int) -> tuple[Shape, ...]:
    """The shapes of a body.

    They are its own ones, or a disk about z for a radius alone, or in space a cylinder along x for
    a radius and a length.
    """
    if link.shapes or link.radius is None:
        return link.shapes
    if link.length is None:
        return (Shape("cylinder", (link.radius, THICKNESS * link.radius)),)
    return (Shape("cylinder", (link.radius, link.length), orientation=ALONG_X),) if d == 3 else ()


def _lines(
    geometry: Geometry, i: int, name: str, link: Link, names: Mapping[int, str], held: list[int]
) -> list[Bar | Plate]:
    """The outline of a body through its points, without those of a wheel or of own shapes.

    A body without points has its center, and a body with one point a bar from the center to it.
    """
    points = geometry.points_of(i)
    if link.shapes or (link.radius is not None and (link.length is None or geometry.d == 3)):
        return []
    center = geometry.index[name]
    if len(points) == 1 or (len(points) == 2 and center in held):
        points = [center, *points]
    order = outline(geometry.offset[points], points) if points else np.zeros(0, int)
    bars: list[Bar | Plate] = [
        Bar((names[a], names[b]), name)
        for a, b in zip(order[:-1], order[1:], strict=True)
        if not _same(geometry, a, b)
    ]
    return [*bars, *([Plate(tuple(names[x] for x in order[:-1]), name)] if len(order) > 3 else [])]


def _same(geometry: Geometry, a: int, b: int) -> bool:
    return bool(np.allclose(geometry.offset[a], geometry.offset[b]))


def outline(offsets: np.ndarray, points: list[int]) -> np.ndarray:
    """Order points as a polygon around their center, closed if there are more than two."""
    if len(points) < 3:
        return np.array(points)
    away = offsets - offsets.mean(axis=0)
    flat = away @ Decomposition(away).right[:, :2]
    order = np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))
    return np.array(points)[np.append(order, order[0])]
