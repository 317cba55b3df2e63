"""What there is to see of a model, and where it is at a configuration: what the viewer draws.

A scene is made of named *points* that move. Bars, plates, springs and traces go through points;
bodies carry shapes of their own; joints are marks at points. A model that is no mechanism declares
one in a few lines, e.g. a pendulum with coordinates (x, y):

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

Symbol = Literal["pin", "slide", "ball", "block", "contact", "none"]


def array_namespace(q: np.ndarray | Array) -> ModuleType:
    """The functions for arrays like q: `numpy`, or `jax.numpy` where a program is traced."""
    return q.__array_namespace__()


class Seen(NamedTuple):
    """Where everything is at n configurations; shapes end in d = 2 or 3.

    Attributes:
        places: of the points [m], shape (n, points, d).
        axes: direction of each joint's axis, unit vectors, or zeros for none, shape (n, joints, d);
            None: in the plane all pins are seen from above, in space none has an axis.
        poses: of the bodies: place [m] and angle, or place and unit quaternion (w, x, y, z), shape
            (n, bodies, 3 or 7); None if no body has a shape.
    """

    places: np.ndarray | Array
    axes: np.ndarray | Array | None = None
    poses: np.ndarray | Array | None = None


class Everything(NamedTuple):
    """`Seen` in three dimensions with nothing left out: places, axes, and poses with
    quaternions.
    """

    places: np.ndarray
    axes: np.ndarray
    poses: np.ndarray


@dataclasses.dataclass(frozen=True)
class Bar:
    """A straight part between two points; it may change its length.

    Attributes:
        ends: names of its points.
        body: the body that it belongs to: one color for all parts of a body, and a label.
        kind: a bar, a thin rod, a spring, or an actuator such as a hydraulic cylinder.
    """

    ends: tuple[str, str]
    body: str = ""
    kind: Literal["bar", "rod", "spring", "actuator"] = "bar"


@dataclasses.dataclass(frozen=True)
class Plate:
    """A flat part with corners at points.

    Attributes:
        corners: names of at least three points, in order around it.
        body: as in `Bar`.
    """

    corners: tuple[str, ...]
    body: str = ""


@dataclasses.dataclass(frozen=True)
class Mark:
    """A joint as it is drawn.

    Attributes:
        name: of the joint.
        point: where it is, and where its force acts.
        symbol: what stands there.
        grounded: whether the ground holds it.
        constraints: names of the constraints whose violation colors it; its own name by default.
    """

    name: str
    point: str
    symbol: Symbol = "pin"
    grounded: bool = False
    constraints: tuple[str, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Scene:
    """What there is to see of a model.

    Attributes:
        points: their names.
        seen: configurations (n, nq) → a `Seen`. A page that simulates traces it, too, with arrays
            of JAX: take its functions from `array_namespace(q)`, or from `jax.numpy`.
        bars, plates, joints: what stands at the points.
        bodies: shapes carried by bodies, by name, in the order of `Seen.poses`.
        traces: points whose path is drawn.
        forces: a run → force of each joint in space at its n samples [N], shape (n, joints, d);
            arrows are drawn where it is given.
        forces_of: the same of one state and what acts there (`zwang.dynamics.vector_field.Acting`),
            of operations of JAX, shape (joints, d): by it a page that simulates draws forces.
        view: in space, azimuth and elevation of the eye [deg].
        unit: of lengths.
        up: direction that is upwards on the screen, against gravity, of d numbers; by default the
            last axis.

    Raises:
        ModelError: for a part at a point that is none, or two points with one name.
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
        """`seen`, checked: everything given, in three dimensions with d = 2 lifted to z = 0, poses
        with quaternions.

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
        """2 for a scene of the plane, 3 in space, from one configuration, shape (nq,)."""
        return int(np.shape(self.seen(np.asarray(q)[None]).places)[-1])


def bars_scene(
    ends: Callable[[np.ndarray], np.ndarray],
    names: tuple[str, ...],
    *,
    traces: tuple[str, ...] = (),
    **options,
) -> Scene:
    """A scene of bars alone, for models whose figures already know where their bars are.

    Args:
        ends: one configuration (nq,) → ends of all bars, shape (bars, 2, d).
        names: of the bars; their ends are the points "name.start" and "name.end".
        traces: points whose path is drawn.
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
    """A scene of particles alone, each with its path.

    Args:
        places: one configuration (nq,) → place of each particle, shape (particles, d).
        names: of the particles.
        along: of each particle the constraint that colors it; none by default.
        options: further fields of `Scene`.
    """
    marks = tuple(Mark(x, x, "contact", constraints=along[i : i + 1]) for i, x in enumerate(names))

    def seen(q):
        xp = array_namespace(q)
        return Seen(xp.stack([xp.asarray(places(x), float) for x in q]))

    return Scene(names, seen, joints=marks, traces=names, **options)


def particle_scene(coordinates: Sequence[str], units: Sequence[str]) -> Scene | None:
    """The particle whose place is given by coordinates x and y, or x, y and z, in m; None of other
    coordinates.
    """
    if "".join(coordinates) not in ("xy", "xyz") or set(units) != {"m"}:
        return None
    return particles_scene(lambda q: q[None], ("particle",))


def bodies_scene(
    shapes: Mapping[str, tuple[Shape, ...]],
    points: Mapping[str, tuple[str, Sequence[float]]] = MappingProxyType({}),
    **options,
) -> Scene:
    """A scene of rigid bodies in space: the first coordinates are those of
    `zwang.bodies.RigidBodies`.

    Args:
        shapes: of each body, in order.
        points: body and place in its axes [m] of further points, by name; a body's own name is its
            center.
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
