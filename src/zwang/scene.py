"""Scenes: the visible parts of a model and their positions, which the viewer draws.

A scene consists of named moving *points*. Bars, plates, springs and traces connect points, bodies
carry shapes, and joints are marks at points. A model that is not a mechanism declares its scene in
a few lines, e.g. a pendulum with coordinates (x, y):

    scene = zw.Scene(points=("pivot", "mass"), bars=(Bar(("pivot", "mass")),), joints=(Mark("rod",
    "mass"),), traces=("mass",),
                     seen=lambda q: Seen(np.stack([0 * q, q], axis=1)))
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Array

from zwang.bodies.shape import Shape
from zwang.errors import ModelError
from zwang.inputs.arguments import (
    function,
    items,
    labels,
    mapping,
    optional_function,
    real_array,
    refuse,
    text,
)
from zwang.objects.display import present

GROUND = "ground"
"""Name of the body that does not move. It is drawn in gray and without its name, and its size does
not affect the view."""
Symbol = Literal["pin", "slide", "ball", "block", "contact", "none"]


def array_namespace(q: np.ndarray | Array) -> ModuleType:
    """Return the array module of q: `numpy`, or `jax.numpy` while a program is traced."""
    return q.__array_namespace__()


class Seen(NamedTuple):
    """Positions of the parts of a scene at n configurations, in d = 2 or 3 dimensions.

    Attributes:
        places: positions of the points [m], shape (n, points, d).
        axes: unit vector along each joint's axis, or zeros for a joint without one, shape
            (n, joints, d). With None, all pins of a plane scene are seen along their axis, and no
            joint in space has an axis.
        poses: poses of the bodies: position [m] and angle, or position and unit quaternion
            (w, x, y, z), shape (n, bodies, 3 or 7); None if no body has a shape.
    """

    places: np.ndarray | Array
    axes: np.ndarray | Array | None = None
    poses: np.ndarray | Array | None = None


class Everything(NamedTuple):
    """`Seen` in three dimensions with all fields given; poses have quaternions."""

    places: np.ndarray
    axes: np.ndarray
    poses: np.ndarray


@dataclasses.dataclass(frozen=True)
class Bar:
    """A straight part between two points, whose length may change.

    Attributes:
        ends: names of its two points.
        body: body that it belongs to; all parts of a body have one color and one label.
        kind: a bar, a thin rod, a spring, or an actuator such as a hydraulic cylinder.
    """

    ends: tuple[str, str]
    body: str = ""
    kind: Literal["bar", "rod", "spring", "actuator"] = "bar"


@dataclasses.dataclass(frozen=True)
class Plate:
    """A flat part with corners at points.

    Attributes:
        corners: names of at least three points, in order around the plate.
        body: as in `Bar`.
    """

    corners: tuple[str, ...]
    body: str = ""


@dataclasses.dataclass(frozen=True)
class Mark:
    """The drawn mark of a joint.

    Attributes:
        name: name of the joint.
        point: point at which the joint is drawn and its force acts.
        symbol: symbol that is drawn.
        grounded: whether the joint is attached to the ground.
        constraints: names of the constraints whose violation colors the mark; by default `name`.
    """

    name: str
    point: str
    symbol: Symbol = "pin"
    grounded: bool = False
    constraints: tuple[str, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Scene:
    """The visible parts of a model.

    Attributes:
        points: names of the points.
        seen: function of configurations (n, nq) that returns a `Seen`. A page that simulates also
            traces it with JAX arrays: take array functions from `array_namespace(q)`, or from
            `jax.numpy`.
        bars, plates, joints: parts at the points.
        bodies: shapes of the bodies, by name, in the order of `Seen.poses`.
        traces: names of the points whose paths are drawn.
        forces: function of a run that returns the force of each joint in space at its n samples
            [N], shape (n, joints, d). If it is given, forces are drawn as arrows.
        forces_of: function of one state and the forces acting there
            (`zwang.dynamics.vector_field.Acting`) that returns the joint forces, shape (joints, d).
            It uses JAX operations; a page that simulates draws its forces.
        view: azimuth and elevation of the eye [deg], for scenes in space.
        unit: unit of lengths.
        up: direction, of d numbers, that points upwards on the screen, against gravity; by default
            the last axis.

    Raises:
        ModelError: for a part at an unknown point, or two points with one name.
    """

    points: tuple[str, ...]
    seen: Callable[[np.ndarray], Seen]
    bars: tuple[Bar, ...] = ()
    plates: tuple[Plate, ...] = ()
    joints: tuple[Mark, ...] = ()
    bodies: Mapping[str, tuple[Shape, ...]] = dataclasses.field(default_factory=dict)
    traces: tuple[str, ...] = ()
    forces: Callable[[Any], np.ndarray] | None = None
    forces_of: Callable[[Any, Any], Any] | None = None
    view: tuple[float, float] = (-60.0, 25.0)
    unit: str = "m"
    up: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        return present("text_of_scene", self)

    def __post_init__(self):
        for name, given in (
            ("points", labels(self.points, "Scene: points")),
            ("seen", function(self.seen, "Scene: seen", "(q)")),
            ("bars", items(self.bars, Bar, "Scene: bars", "zwang.scene.Bar")),
            ("plates", items(self.plates, Plate, "Scene: plates", "zwang.scene.Plate")),
            ("joints", items(self.joints, Mark, "Scene: joints", "zwang.scene.Mark")),
            ("bodies", mapping(self.bodies, "Scene: bodies", '{"rod": (Shape(...),)}')),
            ("traces", labels(self.traces, "Scene: traces")),
            ("unit", text(self.unit, "Scene: unit")),
        ):
            object.__setattr__(self, name, given)
        optional_function(self.forces, "Scene: forces", "(run)")
        optional_function(self.forces_of, "Scene: forces_of", "(state, acting)")
        if np.shape(real_array(self.view, "Scene: view", "two angles [deg]")) != (2,):
            refuse("Scene: view", self.view, "two angles [deg], azimuth and elevation")
        if self.up is not None:
            real_array(self.up, "Scene: up", "numbers of a direction")
        if self.up is not None and not np.any(self.up):
            raise ModelError("Scene: up is zero; expected a direction, such as (0, 0, 1).")
        if len(set(self.points)) < len(self.points):
            raise ModelError(
                f"Scene: two points have one name among {', '.join(self.points)}; give each its "
                "own."
            )
        used = [
            *((f"bar {i}", x) for i, bar in enumerate(self.bars) for x in bar.ends),
            *((f"plate {i}", x) for i, plate in enumerate(self.plates) for x in plate.corners),
            *((f"joint {joint.name!r}", joint.point) for joint in self.joints),
            *(("traces", x) for x in self.traces),
        ]
        for part, point in used:
            if point not in self.points:
                raise ModelError(
                    f"Scene: {part} is at {point!r}, which is no point; there are: "
                    f"{', '.join(self.points)}."
                )

    def at(self, q: np.ndarray) -> Everything:
        """Evaluate `seen`, check its shapes, and return it in three dimensions with all fields.

        A plane scene is lifted to z = 0, and poses have quaternions.

        Args:
            q: configurations, shape (n, nq).

        Raises:
            ModelError: if `seen` returns something of another shape.
        """
        found, xp = self.seen(q), array_namespace(q)
        places = xp.asarray(found.places, float)
        n, d = len(q), places.shape[-1]
        sizes = {2: 3, 3: 7}
        expected = {
            "places": (n, len(self.points), d),
            "axes": (n, len(self.joints), d),
            "poses": (n, len(self.bodies), sizes.get(d, 0)),
        }
        for name, shape in expected.items():
            got = np.shape(getattr(found, name)) if getattr(found, name) is not None else shape
            if d not in sizes or got != shape:
                raise ModelError(
                    f"Scene: seen returned {name} of shape {got}, expected {shape} with 2 or 3 "
                    "for places."
                )
        if found.poses is None and self.bodies:
            raise ModelError(
                f"Scene: seen returned no poses of the bodies {', '.join(self.bodies)}."
            )
        axes, poses = (
            xp.zeros(expected[name]) if given is None else xp.asarray(given, float)
            for name, given in (("axes", found.axes), ("poses", found.poses))
        )
        if d == 3:
            return Everything(places, axes, poses)
        half, zero = poses[..., 2:] / 2, xp.zeros_like(poses[..., :1])
        turned = xp.concatenate(
            [poses[..., :2], zero, xp.cos(half), zero, zero, xp.sin(half)], axis=-1
        )
        lifted = lambda x: xp.concatenate([x, xp.zeros_like(x[..., :1])], axis=-1)
        return Everything(lifted(places), lifted(axes), turned)

    def dimensions(self, q: np.ndarray) -> int:
        """Return the number of dimensions, 2 or 3, evaluated at one configuration, shape (nq,)."""
        return int(np.shape(self.seen(np.asarray(q)[None]).places)[-1])


def bars_scene(
    ends: Callable[[np.ndarray], np.ndarray],
    names: tuple[str, ...],
    *,
    traces: tuple[str, ...] = (),
    **options,
) -> Scene:
    """Make a scene of bars only, for models that have a function for the ends of their bars.

    Args:
        ends: function of one configuration (nq,) that returns the ends of all bars, shape
            (bars, 2, d).
        names: names of the bars; their ends are the points "name.start" and "name.end".
        traces: names of the points whose paths are drawn.
        options: further fields of `Scene`.
    """
    points = tuple(f"{name}.{end}" for name in names for end in ("start", "end"))

    def seen(q):
        xp = array_namespace(q)
        found = xp.stack([xp.asarray(ends(x), float) for x in q])
        return Seen(found.reshape(len(q), -1, found.shape[-1]))

    bars = tuple(Bar((f"{name}.start", f"{name}.end"), name) for name in names)
    return Scene(points, seen, bars, traces=traces, **options)


def particles_scene(
    places: Callable[[np.ndarray], np.ndarray],
    names: tuple[str, ...],
    *,
    along: tuple[str, ...] = (),
    **options,
) -> Scene:
    """Make a scene of particles only, each with its path.

    Args:
        places: function of one configuration (nq,) that returns the position of each particle,
            shape (particles, d).
        names: names of the particles.
        along: for each particle the constraint that colors it; none by default.
        options: further fields of `Scene`.
    """
    marks = tuple(Mark(x, x, "contact", constraints=along[i : i + 1]) for i, x in enumerate(names))

    def seen(q):
        xp = array_namespace(q)
        return Seen(xp.stack([xp.asarray(places(x), float) for x in q]))

    return Scene(names, seen, joints=marks, traces=names, **options)


def particle_scene(coordinates: Sequence[str], units: Sequence[str]) -> Scene | None:
    """Make the scene of one particle with coordinates x and y, or x, y and z, in m; return None for
    other coordinates.
    """
    if "".join(coordinates) not in ("xy", "xyz") or set(units) != {"m"}:
        return None
    return particles_scene(lambda q: q[None], ("particle",))


def bodies_scene(
    shapes: Mapping[str, tuple[Shape, ...]],
    points: Mapping[str, tuple[str, Sequence[float]]] = MappingProxyType({}),
    **options,
) -> Scene:
    """Make a scene of rigid bodies in space, whose first coordinates are those of
    `zwang.bodies.RigidBodies`.

    Args:
        shapes: shapes of each body, in the order of the bodies.
        points: for each further point, by name, its body and its position in the body's axes [m];
            the name of a body denotes its center.
        options: further fields of `Scene`.
    """
    order = list(shapes)

    def seen(q):
        own, xp = q[:, : 7 * len(order)], array_namespace(q)
        poses = own.reshape(len(q), len(order), 7)
        carriers = np.array([order.index(body) for body, _ in points.values()], int)
        offsets = np.array([offset for _, offset in points.values()], float).reshape(-1, 3)
        w, r = poses[:, carriers, 3:4], poses[:, carriers, 4:]
        turned = offsets + 2 * xp.cross(r, xp.cross(r, offsets + 0 * r) + w * offsets)
        return Seen(
            xp.concatenate([poses[..., :3], poses[:, carriers, :3] + turned], axis=1), poses=poses
        )

    return Scene((*order, *points), seen, bodies=shapes, **options)
