"""The content of a robot file in terms of mechanics, independent of the format."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from zwang.bodies import Branch, Shape
from zwang.bodies.tree.branching import GROUND, order
from zwang.errors import ModelError
from zwang.mechanism.loop_rows import PARALLEL

LIMITS, FRICTION, CONTACTS = "joint limits", "dry friction in joints", "contacts of bodies"
"""Content of a file that the model omits unless it is requested (`zwang.robots.contacts`)."""


@dataclasses.dataclass(frozen=True)
class LettingGo:
    """The inequality constraints and frictions that a robot includes.

    Attributes:
        limits: whether joints have their limits; friction: whether they have dry friction.
        ground: height of the ground [m]; None without one.
        grip: coefficient of friction on the ground.
        restitution: of joints at their limits, of bodies on the ground and of each other.
        pairs: names of bodies that touch each other.
    """

    limits: bool = True
    friction: bool = True
    ground: float | None = None
    grip: float = 0.0
    restitution: float = 0.0
    pairs: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class AxisForce:
    """A damper and a spring along a coordinate of a joint.

    Attributes:
        damping: [N·m·s/rad, N·s/m].
        stiffness: [N·m/rad, N/m].
        rest: coordinate without spring force [rad, m].
        scale: factor from the joint kind's coordinate to this one, such as from a screw's slide to
            its angle.
    """

    damping: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    scale: float = 1.0


@dataclasses.dataclass(frozen=True)
class Loop:
    """A joint between two bodies that the tree already carries.

    Attributes:
        kind: one of `zwang.mechanism.KINDS` for two points in space.
        first, second: body and frame on it, a rigid motion (4, 4) in the body's own frame; body
            None is the ground.
        numbers: the options of its kind, in their order.
        forces: springs and dampers along its coordinates, in their order.
    """

    kind: str
    first: tuple[str | None, np.ndarray]
    second: tuple[str | None, np.ndarray]
    numbers: tuple[float, ...] = ()
    forces: tuple[AxisForce, ...] = ()


@dataclasses.dataclass(frozen=True)
class Coupling:
    """x = polynomial(y), for sums x and y of joint coordinates.

    Attributes:
        first, second: weights of joints in x and y, by name.
        polynomial: coefficients of y⁰, y¹ …
        rest: offsets of x and y.
    """

    first: dict[str, float]
    second: dict[str, float]
    polynomial: tuple[float, ...]
    rest: tuple[float, float] = (0.0, 0.0)


@dataclasses.dataclass
class Description:
    """A robot as described by a file.

    Attributes:
        name: of the robot.
        branches: bodies on joints in a tree.
        gravity: [m/s²], shape (3,).
        armature, damping, stiffness, rest: by joint; springs, of joints with one coordinate, have
            no force at `rest`.
        start: coordinates by joint.
        ranges: least and greatest coordinate by joint; efforts: largest force or torque; frictions:
            dry friction of joints with one coordinate [N·m, N].
        keyframes: configurations by name, each with coordinates by joint.
        loops, couplings: by name; hard constraints.
        actuators: by name, the generalized force of each joint per unit of the actuator's, by joint
            [1, m]; a ball joint takes three numbers.
        weightless: bodies that gravity does not act on.
        shapes: appearance of bodies, by body; touching: shapes for contacts.
        unsupported: content of the file that the model omits, a sentence each.
        notes: content of the model that looks wrong in the file, a sentence each.
        parallel: angle up to which the axes of a loop count as parallel [rad]
            (`zwang.mechanism.loop_rows`).
        letting_go: included inequality constraints and frictions, or None.
    """

    name: str
    branches: list[Branch]
    gravity: np.ndarray
    armature: dict[str, float] = dataclasses.field(default_factory=dict)
    damping: dict[str, float] = dataclasses.field(default_factory=dict)
    stiffness: dict[str, float] = dataclasses.field(default_factory=dict)
    rest: dict[str, float] = dataclasses.field(default_factory=dict)
    start: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    efforts: dict[str, float] = dataclasses.field(default_factory=dict)
    frictions: dict[str, float] = dataclasses.field(default_factory=dict)
    keyframes: dict[str, dict[str, np.ndarray]] = dataclasses.field(default_factory=dict)
    loops: dict[str, Loop] = dataclasses.field(default_factory=dict)
    couplings: dict[str, Coupling] = dataclasses.field(default_factory=dict)
    actuators: dict[str, dict[str, np.ndarray]] = dataclasses.field(default_factory=dict)
    weightless: set[str] = dataclasses.field(default_factory=set)
    shapes: dict[str, list[Shape]] = dataclasses.field(default_factory=dict)
    touching: dict[str, list[Shape]] = dataclasses.field(default_factory=dict)
    unsupported: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    parallel: float = PARALLEL
    letting_go: LettingGo | None = None

    def leave_out(self, what: str, names) -> None:
        """Record that the parts of some names are not part of the model, if there are any names."""
        names = list(dict.fromkeys(str(n) for n in names))
        if names:
            self.unsupported.append(f"{what}: {', '.join(names)}")


def unique(name: str, taken) -> str:
    """Return a name that is not taken yet: itself, or with a number."""
    taken, count, made = set(taken), 2, name
    while made in taken:
        made, count = f"{name} {count}", count + 1
    return made


def refuse_circles(leaders: Mapping[str, str], shown: str) -> None:
    """Raise if joints mimic each other in a circle; `leaders` names the joint that each follows."""
    names = [*{**leaders, **{x: "" for x in leaders.values()}}]
    try:
        order([names.index(leaders[n]) if n in leaders else GROUND for n in names])
    except ValueError:
        raise ModelError(
            f"{shown}: joints mimic each other in a circle: {', '.join(leaders)}; let one of them "
            "move by itself."
        ) from None
