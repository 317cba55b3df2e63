"""Joints of an SDF file: their links, their axes, and forces along these.

| type | in the tree | closing a loop |
|---|---|---|
| revolute, continuous, prismatic, ball, fixed | that joint | that joint |
| universal, revolute2 | two hinges, one on the other | a cross of perpendicular axes |
| screw | a hinge that advances | a screw |
| gearbox | no joint: a coupling of two hinges | |
"""

from __future__ import annotations

import contextlib
import dataclasses
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from zwang.bodies import ball, prismatic, revolute
from zwang.errors import ModelError
from zwang.mechanism.joint_kind import JointEquations
from zwang.mechanism.registry import JOINT_KINDS, by_format
from zwang.robots.description import AxisForce
from zwang.robots.sdf_scopes import MODEL, MODEL_AXES_UNTIL, WORLD, Scope, flag
from zwang.robots.sdf_specification import ENDLESS, RULES
from zwang.robots.text import axes_about, numbers

KINDS = by_format("sdf")
"""Known joints, with the kind of joint that closes a loop with them."""
GEARBOX = "gearbox"
TAGS = ("axis", "axis2")
"""Elements of the axes of a joint."""
PERPENDICULAR = 2e-5
"""Deviation of the axes of a cross from a right angle that is accepted [rad]: quarter turns in
files of five digits are off by 4e-6.
"""
ONE_LINE = 1e-6
"""Angle between two axes in a row [rad] below which they are one line, so that one of them is
redundant.
"""
OBLIQUE = Rotation.from_rotvec([0.5, 0.7, 0.9]).as_matrix()
"""Axes of the rows of a ball joint that closes a loop. Files round angles to a few digits: in a
linkage that is meant to be planar, the row across it would otherwise be 1e-12 of the others,
neither zero nor independent, and scaled to unit length it would lock the linkage.
"""


@dataclasses.dataclass(frozen=True)
class Joint:
    """A joint as declared in a file.

    Attributes:
        name: with the prefix of its model.
        type: in SDF.
        parent, child: full names of links; None for the ground.
        frame: the joint's frame in the world, a rigid motion (4, 4).
        axes: unit vectors in the world, one for each element that its type takes.
        pitch: of a screw, the advance in a turn [m].
        scope, element: its place in the file.
    """

    name: str
    type: str
    parent: str | None
    child: str | None
    frame: np.ndarray
    axes: tuple[np.ndarray, ...]
    pitch: float
    scope: Scope
    element: Element

    @property
    def known(self) -> bool:
        """Return whether its type is supported as a joint of two links."""
        return self.type in KINDS

    @property
    def kind(self) -> str:
        """The kind of joint that closes a loop with it."""
        return KINDS[self.type]

    @property
    def equations(self) -> JointEquations:
        """The equations in space."""
        equations = JOINT_KINDS[self.kind].space
        assert equations is not None
        return equations

    @property
    def coordinates(self) -> list[str]:
        """Names of its coordinates along its axes; a ball joint has none."""
        endings = self.equations.endings() if self.known else {}
        return [
            f"{self.name}{ending}"
            for ending, freedom in endings.items()
            if freedom.coordinate.unit != "1"
        ]

    @property
    def shown(self) -> str:
        """The joint, for messages."""
        return f"{self.scope.shown}: joint {self.name!r}"

    def twists(self) -> dict[str, np.ndarray]:
        """Twists of its coordinates in the tree, by name."""
        at = self.frame[:3, 3]
        if self.kind == "screw":
            advance = np.append(self.axes[0] * self.pitch / (2 * np.pi), np.zeros(3))
            return {self.name: revolute(self.axes[0], at) + advance}
        if self.kind == "spherical":
            return {self.name: ball(at, self.frame[:3, :3])}
        make = prismatic if self.kind == "prismatic" else lambda axis: revolute(axis, at)
        return {name: make(axis) for name, axis in zip(self.coordinates, self.axes, strict=True)}

    def closing_frame(self) -> np.ndarray:
        """The frame for the rows of a closing joint: z along a single axis; x and y along two."""
        at = self.frame.copy()
        if self.kind == "spherical":
            at[:3, :3] = OBLIQUE
        elif len(self.axes) == 1:
            at[:3, :3] = axes_about(self.axes[0])
        elif len(self.axes) == 2:
            x, y = self.axes
            if abs(x @ y) > PERPENDICULAR:
                raise ModelError(
                    f"{self.shown} closes a loop with axes at {np.degrees(np.arccos(x @ y)):.6g}°, "
                    "expected a right angle: put a link between two revolute joints."
                )
            y = (y - (x @ y) * x) / np.linalg.norm(y - (x @ y) * x)
            at[:3, :3] = np.stack([x, y, np.cross(x, y)], axis=1)
        return at

    def number(self, path: str, default: float) -> float:
        """A number below its element."""
        what = f"{self.shown}: {path.replace('/', ' ')}"
        return float(numbers(self.element.findtext(path), 1, what, (default,))[0])

    def forces(self) -> dict[str, AxisForce]:
        """Damper and spring of its coordinates, by name."""
        made = {}
        for tag, name in zip(TAGS, self.coordinates, strict=False):
            damping = self.number(f"{tag}/dynamics/damping", 0.0)
            if damping < 0:
                raise ModelError(f"{self.shown}: damping is {damping:g}, expected zero or more.")
            made[name] = AxisForce(
                damping,
                self.number(f"{tag}/dynamics/spring_stiffness", 0.0),
                self.number(f"{tag}/dynamics/spring_reference", 0.0),
            )
        return made

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Least and greatest coordinates, by name, if the file has them."""
        made = {}
        for tag, name in zip(TAGS, self.coordinates, strict=False):
            ends = [self.element.findtext(f"{tag}/limit/{side}") for side in ("lower", "upper")]
            neutral = [RULES[f"joint/axis/limit/{side}"].neutral for side in ("lower", "upper")]
            open_ends = [
                x is None or ends_not(x) for x, ends_not in zip(ends, neutral, strict=True)
            ]
            if all(open_ends):
                continue
            least, most = (
                default if free else self.number(f"{tag}/limit/{side}", default)
                for side, default, free in zip(
                    ("lower", "upper"), (-np.inf, np.inf), open_ends, strict=True
                )
            )
            made[name] = (least, most)
        return made

    def sizes(self, path: str) -> dict[str, float]:
        """Positive numbers of its axes, by coordinate, if the file has them."""
        found = {}
        for tag, name in zip(TAGS, self.coordinates, strict=False):
            # an invalid or infinite number is not a limit
            with contextlib.suppress(ModelError):
                if 0 < (x := self.number(f"{tag}/{path}", 0.0)) < ENDLESS:
                    found[name] = x
        return found

    def starts(self) -> dict[str, float]:
        """Coordinates at the start, by name, if the file gives them."""
        if self.scope.source.version > RULES["joint/axis/initial_position"].until:
            return {}
        return {
            name: self.number(f"{tag}/initial_position", 0.0)
            for tag, name in zip(TAGS, self.coordinates, strict=False)
            if self.element.find(f"{tag}/initial_position") is not None
        }


def joint_of(scope: Scope, element: Element) -> Joint:
    """A joint of a scope.

    Raises:
        ModelError: one sentence for an invalid joint.
    """
    own, type = element.get("name", ""), element.get("type", "")
    name, what = f"{scope.prefix}{own}", f"joint {own!r}"
    if type == "":
        raise ModelError(f"{scope.shown}: {what} has no type, expected one of {', '.join(KINDS)}.")
    parent, child = (_end(scope, element, side, what) for side in ("parent", "child"))
    if parent == child:
        raise ModelError(
            f"{scope.shown}: {what} joins {parent or 'the world'!r} to itself; give it two links."
        )
    frame = scope.frame @ scope.local(own, what)
    count = 2 if type == GEARBOX else len(_scalars(type)) if type in KINDS else 0
    axes = tuple(_axis(scope, element, tag, what) for tag in TAGS[:count])
    if len(axes) == 2 and type != GEARBOX:
        _check_cross(type, axes, f"{scope.shown}: {what}")
    pitch = _pitch(element, f"{scope.shown}: {what}") if type == "screw" else 0.0
    return Joint(name, type, parent, child, frame, axes, pitch, scope, element)


def _scalars(type: str) -> list:
    equations = JOINT_KINDS[KINDS[type]].space
    assert equations is not None
    return [x for x in equations.freedoms if x.coordinate.unit != "1"]


def _end(scope: Scope, element: Element, side: str, what: str) -> str | None:
    """The full name of the link at an end of a joint; None for the ground."""
    given = (element.findtext(side) or "").strip()
    if given == WORLD and side == "child":
        raise ModelError(
            f"{scope.shown}: {what}: the child is 'world', which SDF allows as the parent only; "
            "exchange the two."
        )
    try:
        return scope.link(given, what)
    except ModelError as error:
        if "there is no frame" not in str(error):
            raise
        raise ModelError(f"{scope.shown}: {what}: there is no {side} link {given!r}.") from None


def _axis(scope: Scope, element: Element, tag: str, what: str) -> np.ndarray:
    """Direction in the world."""
    axis, where = element.find(tag), f"{scope.shown}: {what}"
    xyz = None if axis is None else axis.find("xyz")
    if axis is None or xyz is None:
        raise ModelError(f"{where} has no {tag}.")
    direction = numbers(xyz.text, 3, f"{where}: {tag}")
    # normalization below would give NaN
    if not np.any(direction):
        raise ModelError(f"{where}: {tag} is zero, expected a direction.")
    direction = direction / np.max(np.abs(direction))
    version, expressed = scope.source.version, xyz.get("expressed_in") or ""
    old = version <= RULES["joint/axis/use_parent_model_frame"].until
    if version <= MODEL_AXES_UNTIL or (old and flag(axis, "use_parent_model_frame", where)):
        expressed = expressed or (WORLD if scope.is_world else MODEL)
    at = scope.local(expressed or element.get("name", ""), f"{what}: {tag}")
    R = scope.frame[:3, :3] @ at[:3, :3]
    return R @ direction / np.linalg.norm(direction)


def _check_cross(type: str, axes: tuple[np.ndarray, ...], where: str) -> None:
    x, y = axes
    if type == "universal" and abs(x @ y) > PERPENDICULAR:
        raise ModelError(
            f"{where}: the axes of a universal joint are at "
            f"{np.degrees(np.arccos(np.clip(x @ y, -1, 1))):.6g}°, expected a right angle; take "
            "revolute2 for two hinges at any angle."
        )
    if np.linalg.norm(np.cross(x, y)) < ONE_LINE:
        raise ModelError(f"{where}: axis and axis2 are parallel; take one revolute joint.")


def _pitch(element: Element, where: str) -> float:
    """Advance of a screw in a turn, positive for a right-handed thread [m]."""
    new, old = element.findtext("screw_thread_pitch"), element.findtext("thread_pitch")
    tag = "thread_pitch" if new is None and old is not None else "screw_thread_pitch"
    value = float(numbers(element.findtext(tag), 1, f"{where}: {tag}", (1.0,))[0])
    if value == 0:
        raise ModelError(f"{where}: {tag} is zero; take a revolute or a prismatic joint.")
    return value if tag == "screw_thread_pitch" else -2 * np.pi / value
