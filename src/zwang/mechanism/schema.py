"""The parts of a mechanism as they are declared, as plain dataclasses.

They are the same in Python and in TOML.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from zwang.bodies.shape import Shape
from zwang.mechanism.contact_schema import Backlash, Friction, JointStop
from zwang.mechanism.field_types import STRICT, Formula, Number, Vector
from zwang.mechanism.registry import OPTIONS


@dataclasses.dataclass(frozen=True)
class Point:
    """A position on a body with its own axes.

    Attributes:
        at: position in the body's axes [m], from its center of mass.
        angle: in the plane, direction of the x axis [rad]: the direction of a slide.
        axis: in space, direction of the z axis: the axis of a hinge, the direction of a slide; by
            default (0, 0, 1).
        x: in space, direction of the x axis, made perpendicular to `axis`; by default
            some perpendicular one.
    """

    at: Vector
    angle: Number = 0.0
    axis: Vector | None = None
    x: Vector | None = None
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Link:
    """A body with named points, which are measured from its center of mass in its own axes.
    `center` is that center; with a `length`, `start` and `end` are at half of it to both sides
    along the x axis.

    Attributes:
        mass: of the body [kg]; 0 for a massless link, whose motion joints must determine.
        inertia: about the center of mass [kg·m²]: one number in the plane; in space three principal
            moments, or the tensor in the body's axes: six entries xx, yy, zz, xy, xz, yz, or all
            nine, by rows; 0 for a point mass or massless link, whose attitude joints must
            determine. By default that of a slender rod (`length`), of a disk about z (`radius`), in
            space of a cylinder along x (both); zero without mass.
        length: along x [m].
        radius: of a disk or cylinder [m]; in the plane a body with a radius alone is drawn as a
            disk.
        points: positions by name from the center of mass, (x, y) or (x, y, z) [m], or a `Point`.
        at: rough position of the center of mass at the start [m].
        angle: rough angle at the start [rad], in the plane.
        turn: rough attitude at the start as a rotation vector [rad], in space.
        guess: instead of these, two positions in space near its start and end.
        velocity: rough velocity at the start [m/s].
        angular_velocity: rough angular velocity at the start [rad/s]: a number in the plane, three
            in body axes in space.
        shapes: its appearance in the viewer, e.g. `[{ kind = "mesh", file = "hand.stl" }]`,
            with files in the mechanism's folder; by default drawn by its points and sizes.
    """

    mass: Number = 1.0
    inertia: Number | Vector | tuple[Vector, Vector, Vector] | None = None
    length: Number | None = None
    radius: Number | None = None
    points: dict[str, Point | Vector] = dataclasses.field(default_factory=dict)
    at: Vector | None = None
    angle: Number = 0.0
    turn: Vector | None = None
    guess: tuple[Vector, Vector] | None = None
    velocity: Vector | None = None
    angular_velocity: Number | Vector | None = None
    shapes: tuple[Shape, ...] = ()
    __pydantic_config__: ClassVar = STRICT


def _option_fields() -> list[tuple[str, Any, Any]]:
    """The options of all kinds of joints as fields of `Joint`."""
    types: dict[str, Any] = {"number": Number, "pair": tuple[Number, Number], "formula": Formula}
    return [
        (
            name,
            types[next(iter(kinds.values())).kind] | None,
            dataclasses.field(default=None, kw_only=True),
        )
        for name, kinds in OPTIONS.items()
    ]


def _option_lines() -> str:
    """The options of all kinds of joints, a line for each kind that has one."""
    return "\n".join(
        f"        {name}: of a {kind} joint, {option.meaning}"
        f"{f' [{option.unit}]' if option.unit else ''}."
        for name, kinds in OPTIONS.items()
        for kind, option in kinds.items()
    )


@dataclasses.dataclass(frozen=True)
class _JointFields:
    kind: str
    between: tuple[str, str] | None = None
    joints: tuple[str, str] | None = None
    friction: Friction | None = None
    stop: JointStop | None = None
    backlash: Backlash | None = None
    ratchet: Literal["forward", "backward"] | None = None


if TYPE_CHECKING:

    class Joint(_JointFields):
        def __init__(
            self,
            kind: str,
            between=None,
            joints=None,
            friction=None,
            stop=None,
            backlash=None,
            ratchet=None,
            **options: object,
        ) -> None: ...
        def __getattr__(self, option: str) -> Any: ...

else:
    # The options are declared with their kinds, in the folder `joints`.
    Joint = dataclasses.make_dataclass(
        "Joint",
        _option_fields(),
        bases=(_JointFields,),
        namespace={"__pydantic_config__": STRICT, "__module__": __name__},
        frozen=True,
    )
    Joint.__doc__ = f"""A relation between two points of bodies, or between two other joints.

    Attributes:
        kind: one of `zwang.mechanism.KINDS`.
        between: "body.point" of both bodies, "ground" for the frame; the joint's axes are those of
            the first.
        joints: of a kind that couples two joints, these.
        friction: dry friction of a joint that slides or turns.
        stop: limits of its own coordinate.
        backlash: play of a kind that couples two joints.
        ratchet: the only way in which its own coordinate may go, "forward" or "backward".
{_option_lines()}
    """


@dataclasses.dataclass(frozen=True)
class Drive:
    """Prescribed motion of a joint, or of two points.

    Attributes:
        joint: the joint; or between: two points.
        coordinate: "angle" [rad], "slide" [m] or "distance" [m]; by default the joint's own, or the
            distance of two points.
        value: the coordinate over time, a formula in `t`; or
        rate: its rate over time, from its initial value on, which `[start]` sets: `A = { value =
            "60deg" }`.
    """

    joint: str | None = None
    coordinate: str | None = None
    value: Formula | None = None
    rate: Formula | None = None
    between: tuple[str, str] | None = None
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Law:
    """A relation between coordinates of several joints and distances of points, and time.

    Attributes:
        of: the coordinates by their names in the equation: a joint, "joint.name" of a joint with
            several coordinates, or two points for their distance.
        equation: a formula in these names and `t` that stays zero.
    """

    of: dict[str, str | tuple[str, str]]
    equation: Formula
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Toggle:
    """When a joint, law or drive holds, by its name in `[switches]`; see `zw.Switch`.

    Attributes:
        on, off: conditions that switch it on and off, one or several. A number is a time [s]; a
            formula is an event where it rises through zero: in `t`, the names of `of` and their
            rates (`l_rate` of `l`), `value` and `rate` of its own coordinate; to switch off also in
            `load`, the size of the force that it transmits [N], and of a law, a drive or a joint
            with one row in `effort`, with its sign [N or N·m].
        of: further coordinates by their names in the formulas, as of a law.
        transition: "impulsive" or "impact-free".
        initially: whether it holds at the start; by default it does if nothing switches it on.
    """

    on: Formula | tuple[Formula, ...] = ()
    off: Formula | tuple[Formula, ...] = ()
    of: dict[str, str | tuple[str, str]] = dataclasses.field(default_factory=dict)
    transition: str = "impulsive"
    initially: bool | None = None
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Table:
    """A function for formulas, given by numbers, between which it is a cubic spline.

    Attributes:
        x: arguments, increasing.
        y: values.
        repeat: whether it is periodic. Otherwise the function is undefined beyond its ends, and a
            run that needs it there stops.
    """

    x: Vector
    y: Vector
    repeat: bool = False
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Spring:
    """A spring with damper, in parallel: effort −stiffness·(x − rest) − damping·ẋ.

    Attributes:
        between: two points; or joint: a joint.
        coordinate: x: by default "distance" of two points, or the own coordinate of a joint.
        stiffness: force over x [N/m or N·m/rad].
        damping: force over ẋ [N·s/m or N·m·s/rad].
        rest: x without effort [m or rad].
    """

    between: tuple[str, str] | None = None
    joint: str | None = None
    coordinate: str | None = None
    stiffness: Number = 0.0
    damping: Number = 0.0
    rest: Number = 0.0
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Bushing:
    """A compliant connection: springs and dampers along and about all axes of the first point.

    Attributes:
        between: two points.
        stiffness: along and about the axes: (x, y, angle) in the plane, (x, y, z, about x, y, z) in
            space, where the rotation is measured by the rotation vector, up to half a turn [N/m,
            N·m/rad].
        damping: along and about the same axes [N·s/m, N·m·s/rad].
    """

    between: tuple[str, str]
    stiffness: Vector
    damping: Vector | None = None
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Force:
    """A force or torque as a formula of time and state.

    Attributes:
        on: "body.point" that a force acts on, with components in world axes; or
        joint: a joint whose coordinate an effort drives; or
        between: two points, which a positive effort pushes apart.
        coordinate: of the joint, of the two points (by default "distance"), or of `on` against the
            ground ("angle" for a torque on a body of the plane).
        effort: components in world axes, formulas in t, x, y, z, vx, vy, vz (of the point); of a
            coordinate one formula in t, `value` and `rate`.
    """

    effort: Formula | tuple[Formula, ...]
    on: str | None = None
    joint: str | None = None
    coordinate: str | None = None
    between: tuple[str, str] | None = None
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Actuator:
    """An actuator: its control is a force [N] or torque [N·m] on a coordinate.

    Attributes:
        joint: a joint, which it drives; or between: two points, such as the ends of a cylinder.
        coordinate: by default the own one of the joint, or "distance" of two points.
        lower, upper: limits of its control [N or N·m]; by default none.
    """

    joint: str | None = None
    between: tuple[str, str] | None = None
    coordinate: str | None = None
    lower: Number = -math.inf
    upper: Number = math.inf
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class ServoConstraint:
    """Motion that the actuators enforce together, each with as little effort as possible.

    Attributes:
        on: "body.point" that follows a path in space; or
        joint: a joint whose coordinate is prescribed.
        coordinate: of the joint, or of `on` against the ground ("angle": the attitude of a body of
            the plane).
        value: the coordinate over time, a formula in `t`; of a position one for each direction; or
        rate: its rate over time.
        gain: an error decays as exp(−gain·t) [1/s]; 0 keeps it.
    """

    on: str | None = None
    joint: str | None = None
    coordinate: str | None = None
    value: Formula | tuple[Formula, ...] | None = None
    rate: Formula | tuple[Formula, ...] | None = None
    gain: Number = 5.0
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Begin:
    """Initial values of a joint's coordinate.

    Attributes:
        value: initial coordinate [rad or m]; by default as assembled.
        rate: initial rate [rad/s or m/s]; by default as assembled.
    """

    value: Number | None = None
    rate: Number | None = None
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of a run of a mechanism.

    Attributes:
        duration: length of the run [s].
        rtol: error of one step, relative to each coordinate.
        samples: number of sampled states, at equal distances in time.
    """

    duration: Number = 10.0
    rtol: Number = 1e-9
    samples: int = 201
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Look:
    """Settings of the pictures of a mechanism.

    Attributes:
        traces: "body.point" whose path is drawn.
        view: in space, azimuth and elevation of the eye [deg].
    """

    traces: tuple[str, ...] = ()
    view: tuple[Number, Number] = (-60.0, 25.0)
    __pydantic_config__: ClassVar = STRICT
