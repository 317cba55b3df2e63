"""The declaration of a kind of joint.

It has the equations in the plane and in space, options, drawing styles, and names in file formats.
The kinds are in `joints/`, one file each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from zwang.bodies import ball, prismatic, revolute
from zwang.mechanism.relative_pose import ANGLE, SLIDE, PoseCoordinate, X, Y
from zwang.scene import Symbol

# --- options


def is_finite(value, d: int) -> str | None:
    """Return the error of a value that is not finite, or None."""
    return None if np.all(np.isfinite(value)) else f"is {value}, expected a finite number."


def is_positive(value, d: int) -> str | None:
    """Return the error of a value that is not a positive number, or None."""
    return None if 0 < value < np.inf else f"is {value:g}, expected a positive number."


def is_nonzero(value, d: int) -> str | None:
    """Return the error of zero, or None."""
    return is_finite(value, d) or (None if value else "is zero.")


def is_ratio(value, d: int) -> str | None:
    """Return the error of invalid radii or numbers of teeth, or None."""
    return is_finite(value, d) or (f"is {value}, expected no zero." if 0.0 in value else None)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Option:
    """A number or formula of a joint.

    Attributes:
        name: in a mechanism file and of the argument of `Joint`.
        meaning: a few words.
        unit: SI unit; "" for a number without one.
        kind: one number, two numbers, or a formula.
        variables: of a formula, the names of its variables; in the plane the first two of them.
        check: `(value, d)` → the error of an invalid value, or None; d is 2 in the plane.
        as_drawn: `(*poses or coordinates, options)` → the value at the start, for an optional
            number; None for a required one.
    """

    name: str
    meaning: str
    unit: str = ""
    kind: Literal["number", "pair", "formula"] = "number"
    variables: tuple[str, ...] = ()
    check: Callable[[Any, int], str | None] = is_finite
    as_drawn: Callable | None = None


# --- coordinates of a joint in a tree


@dataclasses.dataclass(frozen=True)
class Freedom:
    """A joint coordinate: one degree of freedom of the second body on the first.

    Attributes:
        coordinate: its name, and its value at a relative pose; zero where the two frames coincide.
        twist: the frame that both points share at zero, shape (4, 4), → the twist about its fixed
            axis, shape (6,), or (6, 3) for a ball joint; None if the motion is not a fixed twist.
    """

    coordinate: PoseCoordinate
    twist: Callable[[np.ndarray], np.ndarray] | None = None


ROTATION_ABOUT_Z = Freedom(ANGLE, lambda frame: revolute(frame[:3, 2], frame[:3, 3]))
SLIDE_ALONG_Z = Freedom(SLIDE, lambda frame: prismatic(frame[:3, 2]))
SLIDE_ALONG_X = Freedom(SLIDE, lambda frame: prismatic(frame[:3, 0]))
DISPLACEMENT_X = Freedom(X, lambda frame: prismatic(frame[:3, 0]))
DISPLACEMENT_Y = Freedom(Y, lambda frame: prismatic(frame[:3, 1]))


def rotation_about(column: int) -> Callable[[np.ndarray], np.ndarray]:
    """Twist about an axis of the shared frame."""
    return lambda frame: revolute(frame[:3, column], frame[:3, 3])


def ball_twist(frame: np.ndarray) -> np.ndarray:
    """The three twists about the origin of the shared frame, shape (6, 3)."""
    return ball(frame[:3, 3], frame[:3, :3])


# --- equations


@dataclasses.dataclass(frozen=True)
class Example:
    """A relative pose at which the rows of a joint vanish, for tests and documentation.

    Attributes:
        displacement: of the second point in the axes of the first [m]; in the plane x and y.
        rotation: rotation vector [rad]; in the plane its last entry.
    """

    displacement: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class JointEquations:
    """The equations of a joint in the plane or in space.

    Attributes:
        removes: number of degrees of freedom that the joint removes.
        position: `(pose, options)` → rows φ that vanish, shape (rows,) or a number; of a coupling
            `(first coordinate, second coordinate, options)` → a number. Options are looked up by
            name; one that is a formula is a function of its variables, given by name.
        velocity: `(pose, rate of the pose, options)` → velocity rows ψ that vanish, likewise,
            without the time derivatives of `position`.
        units: of the rows of `position`, one for all or one each; a position row is in metres, so
            that its multiplier is a force, a row of angles or their sines in radians. None if a
            formula determines it.
        freedoms: the joint coordinates; with a twist for each degree of freedom that the joint
            leaves, the joint can carry a body in a tree.
        example: a pose where the rows vanish, with the options of `JointKind.example`.
        holds: in space, the part of the attitude that the rows hold only up to half a turn, as
            sines vanish there as well: the z "axis", or the whole "attitude"; the assembly
            excludes the half turn.
        blind: points whose attitude does not enter the rows, both points or the second one, which
            may then be a point mass.
        undefined: the error if the rows are undefined; "" if they are always defined.
    """

    removes: int
    position: Callable | None = None
    velocity: Callable | None = None
    units: tuple[str, ...] = ()
    freedoms: tuple[Freedom, ...] = ()
    example: Example = Example()
    holds: Literal["axis", "attitude"] | None = None
    blind: Literal["both", "second"] | None = None
    undefined: str = ""

    @property
    def places(self) -> np.ndarray:
        """Mask of the position rows of `position`, whose multipliers are forces [N].

        If a formula determines the unit, all rows are.
        """
        units = self.units or ("m",)
        each = units if len(units) > 1 else units * (self.removes if self.units else 1)
        return np.array([unit == "m" for unit in each])

    def twists(self, frame: np.ndarray) -> dict[str, np.ndarray]:
        """The joint's twists by the suffix of its coordinates' names, for the shared frame."""
        return {
            ending: freedom.twist(frame)
            for ending, freedom in self.endings().items()
            if freedom.twist is not None
        }

    def endings(self) -> dict[str, Freedom]:
        """The joint's freedoms by the suffix of their names.

        A single coordinate has the joint's own name, one of several is called `joint.angle`, for
        example.
        """
        if len(self.freedoms) == 1:
            return {"": self.freedoms[0]}
        return {f".{freedom.coordinate.name}": freedom for freedom in self.freedoms}


@dataclasses.dataclass(frozen=True, kw_only=True)
class JointKind:
    """A kind of joint.

    Attributes:
        name: in a mechanism file.
        summary: its function, as in the table of the documentation.
        plane, space: its equations; None if there is no such joint.
        options: its own numbers and formulas.
        coordinate: the coordinate that drives, springs and forces of the joint act on by default.
        couples: of a joint that couples two other joints, the coordinate of each that it couples;
            None for the only coordinate of that joint.
        rubs: the sliding motion of dry friction in the joint: its second point "sliding" along the
            first, or a pin "turning" in its hole; None without friction.
        symbol: in the viewer; None for a coupling.
        mark: in pictures.
        line: drawn between its two points, or between the two wheels that it couples.
        guide: drawn where the second point moves: the "curve" of the first formula, or the "floor"
            in x, and y in space. None for the slides of its freedoms.
        formats: names of the joint in other file formats, by format: "sdf", "urdf", "mjcf", and
            "mjcf equality" for a loop.
        example: values of the options, for tests and documentation.
    """

    name: str
    summary: str
    plane: JointEquations | None = None
    space: JointEquations | None = None
    options: tuple[Option, ...] = ()
    coordinate: PoseCoordinate | None = None
    couples: tuple[PoseCoordinate | None, PoseCoordinate | None] | None = None
    rubs: tuple[Literal["sliding", "turning"], ...] | None = None
    symbol: Symbol | None = None
    mark: Literal["dot", "square"] | None = "dot"
    line: Literal["rod", "belt"] | None = None
    guide: Literal["curve", "floor"] | None = None
    formats: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    example: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def equations(self, d: int) -> JointEquations | None:
        """The equations in the plane, d = 2, or in space, d = 3."""
        return self.plane if d == 2 else self.space

    def carries(self, d: int) -> bool:
        """Return whether the joint can carry a body in a tree: twists describe all its motion."""
        equations = self.equations(d)
        if equations is None or self.couples or equations.velocity:
            return False
        twists = equations.twists(np.eye(4))
        free = sum(np.size(twist) // 6 for twist in twists.values())
        return free == 3 * (d - 1) - equations.removes

    @property
    def numbers(self) -> tuple[Option, ...]:
        """The options that are numbers."""
        return tuple(option for option in self.options if option.kind != "formula")

    @property
    def formulas(self) -> tuple[Option, ...]:
        """The options that are formulas."""
        return tuple(option for option in self.options if option.kind == "formula")

    def named(self, numbers) -> dict[str, Any]:
        """Numbers in the order of the options, shape (entries,), as options by name."""
        found, at = {}, 0
        for option in self.numbers:
            size = 2 if option.kind == "pair" else 1
            found[option.name] = numbers[at] if size == 1 else numbers[at : at + size]
            at += size
        return found
