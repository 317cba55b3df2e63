"""Joints as constraints: one function for all of a kind, one for each joint with a formula."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

import jax
import numpy as np

from zwang.equations.constraint import AbstractConstraint, Holonomic, Nonholonomic
from zwang.inputs.arithmetic import xp
from zwang.mechanism.expression import Expression
from zwang.mechanism.field_types import PartError
from zwang.mechanism.friction import joint_friction
from zwang.mechanism.geometry import Geometry
from zwang.mechanism.joint_kind import JointEquations, JointKind
from zwang.mechanism.loop_rows import projected_rows, projectors
from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.relative_pose import (
    DISTANCE,
    SLIDE,
    Frames,
    RelativePose,
    counted,
    frames,
    relative_poses,
    value_and_rate,
)
from zwang.mechanism.resolution import (
    Ends,
    Tables,
    checked_formula,
    coordinate_between,
    coordinate_named,
    require_joint,
    resolve_joints,
)
from zwang.mechanism.schema import Actuator, Drive, Joint, Spring
from zwang.mechanism.turns import Turns

SLIDING = ("m/s",)
"""Velocity rows, of rolling and of a knife edge, are sliding velocities."""
RATES = " rolling"
"""Suffix of the name of a joint's velocity rows if it has position rows, too."""


class PointFrames:
    """`(q, p)` → the frames of all points of a mechanism.

    Args:
        carrier: number of the body that carries each point.
        poses: `(q, p)` → the bodies, as `frames` takes them.
    """

    def __init__(self, carrier: np.ndarray, poses: Callable):
        self.carrier, self.poses = carrier, poses

    def __call__(self, q, p) -> Frames:
        return frames(self.poses(q, p), p, self.carrier)


class JointConstraints:
    """The joints of a mechanism, checked, and their constraints.

    The functions of the constraints refer to no numbers of the mechanism. They take them as
    parameters, so that a compiled program serves other lengths, too.

    Args:
        joints: by name.
        geometry: the points.
        parameters: names of parameters that a formula may use with its own variables.
        poses: `(q, p)` → the bodies' own coordinates or rigid motions, as `frames` takes them; q
            itself by default.
        own: ends → the entry of q that is their coordinate, if one is.
        coordinates: number of coordinates of the bodies; those of the rough start by default.
        tables: further functions in formulas.

    Attributes:
        frames: `(q, p)` → the frames of all points.
        turns: angles that count whole turns.

    Raises:
        PartError: for an invalid joint, by name.
    """

    def __init__(
        self,
        joints: Mapping[str, Joint],
        geometry: Geometry,
        parameters: tuple[str, ...],
        poses: Callable = lambda q, p: q,
        own: Callable[[Ends], int | None] = lambda ends: None,
        coordinates: int | None = None,
        tables: Tables = (),
    ):
        self.joints, self.geometry, self.parameters = joints, geometry, parameters
        self.frames = PointFrames(geometry.carrier, poses)
        self.tables = tables
        self.ends = resolve_joints(joints, geometry, parameters, tables)
        self.turns = Turns(geometry, own, coordinates)
        for name, joint in joints.items():
            if self._counts_turns(name):
                for other, ends in zip(joint.joints or (), self.coupled(name), strict=True):
                    self.turns.count(ends, other)

    def kind(self, name: str) -> JointKind:
        """The kind of a joint."""
        return JOINT_KINDS[self.joints[name].kind]

    def of(self, name: str, coordinate: str | None, where) -> Ends:
        """The points of a joint, with the requested coordinate or its own.

        Raises:
            PartError: if there is no such joint or coordinate.
        """
        require_joint(name, self.joints, (*where, "joint"))
        kind, d = self.kind(name), self.geometry.d
        if kind.couples:
            raise PartError(
                (*where, "joint"),
                f"{name!r} couples two joints and has no coordinate; name one of these.",
            )
        if coordinate is None and kind.coordinate is not None:
            found = kind.coordinate
        else:
            equations = kind.equations(d)
            own = [x.coordinate for x in equations.freedoms] if equations else []
            found = coordinate_named(coordinate, (*where, "coordinate"), name, own)
        return dataclasses.replace(self.ends[name][0], coordinate=found)

    def named(self, name: str, where) -> Ends:
        """The points of a joint with its own coordinate, or with that of "joint.coordinate".

        Raises:
            PartError: if there is no such joint or coordinate.
        """
        joint, _, coordinate = (name, "", "") if name in self.joints else name.rpartition(".")
        return self.of(joint or name, coordinate or None, where)

    def acted_on(self, part: Actuator | Drive | Spring, where) -> Ends:
        """The points and the coordinate of a part that acts on a joint or between two points.

        Between two points the coordinate is their distance unless it is named.

        Raises:
            PartError: if neither or both are given, or there is no such joint, point or coordinate.
        """
        if (part.between is None) == (part.joint is None):
            raise PartError(where, "expected either between or joint.")
        if part.joint is not None:
            return self.of(part.joint, part.coordinate, where)
        chosen = part.coordinate or DISTANCE.name
        return coordinate_between(part.between, self.geometry, where, chosen)

    def coordinate(self, ends: Ends) -> Callable:
        """`(q, p)` → the coordinate of one pair of points."""
        x, entry = self.up_to_turns(ends), self.turns.entry(ends)
        return x if entry is None else lambda q, p: counted(x(q, p), q[entry])

    def up_to_turns(self, ends: Ends) -> Callable:
        """`(q, p)` → the coordinate of one pair of points, an angle in space modulo 2π."""
        a, b, value = np.array([ends.a]), np.array([ends.b]), ends.coordinate.value
        frames = self.frames
        return lambda q, p: value(_first(relative_poses(frames(q, p), a, b)))

    def coupled(self, name: str) -> list[Ends]:
        """The points and coordinates that a coupling couples."""
        coupled = self.joints[name].joints
        assert coupled is not None
        # A follower may slide or turn, according to its own joint.
        return [
            dataclasses.replace(ends, coordinate=x or self.kind(other).coordinate or SLIDE)
            for x, other, ends in zip(
                self.kind(name).couples or (), coupled, self.ends[name], strict=True
            )
        ]

    def _counts_turns(self, name: str) -> bool:
        """Return whether the equation of a coupling in space is not periodic in whole turns."""
        kind, joint = self.kind(name), self.joints[name]
        if kind.couples is None or self.geometry.d == 2:
            return False
        if joint.backlash is not None:
            return True
        return bool(kind.formulas) or not all(x == round(x) for x in joint.ratio or ())

    # --- options

    def option_values(self, joints: Mapping[str, Joint], q, points: dict) -> dict[str, Any]:
        """Numbers of these joints, by kind, shape (joints, entries).

        Optional numbers that are not given are taken from q. The arrays are computed by NumPy on
        the host, or traced.
        """
        found = {}
        for kind in JOINT_KINDS.values():
            names = self._named(kind)
            if names and kind.numbers:
                found[kind.name] = xp.stack(
                    [self._numbers(n, joints[n], kind, q, points) for n in names]
                )
        return found

    def _numbers(self, name: str, joint: Joint, kind: JointKind, q, points: dict):
        values = {option.name: getattr(joint, option.name) for option in kind.numbers}
        for option in kind.numbers:
            if values[option.name] is None:
                assert option.as_drawn is not None
                poses = [
                    _first(self._poses([name], i)(q, points)) for i in range(len(self.ends[name]))
                ]
                drawn = option.as_drawn(*self._arguments(name, kind)(*poses), values)
                values[option.name] = drawn
        return xp.concatenate(
            [xp.atleast_1d(xp.asarray(values[x.name], float)) for x in kind.numbers]
        )

    def options_of(self, name: str, p: dict) -> dict[str, Any]:
        """The options of a joint as its equations take them."""
        kind = self.kind(name)
        return _options(kind, self._named(kind).index(name), self._formulas(name), p)

    def _formulas(self, name: str) -> dict[str, Expression]:
        """Options of a joint that are formulas."""
        joint = self.joints[name]
        options = self.kind(name).formulas
        return {x.name: Expression(str(getattr(joint, x.name)), self.tables) for x in options}

    def formula(self, text, variables: tuple[str, ...], where) -> Expression:
        """Parse a formula of variables, the mechanism's parameters and its tables.

        Raises:
            PartError: if it is invalid, or has an unknown name.
        """
        return checked_formula(text, (*variables, *self.parameters), where, self.tables)

    # --- constraints

    def constraints(
        self,
        rate: Callable,
        without: Collection[str] = (),
        keep: Collection[str] = (),
    ) -> list[AbstractConstraint]:
        """One constraint for all joints of a kind; one for each joint with a formula.

        Args:
            rate: `(q, v, t, p)` → q̇.
            without: names of joints that are not constraints.
            keep: names of joints that keep only part of their rows (`zwang.mechanism.loop_rows`).
        """
        found: list[AbstractConstraint] = []
        played = {n for n, joint in self.joints.items() if joint.backlash is not None}
        without = {*without, *played}
        for kind in JOINT_KINDS.values():
            names = [name for name in self._named(kind) if name not in without]
            projected = any(n in keep for n in names)
            # Two formulas, or two frictions, are two functions, which cannot share one vmap.
            alone = [n for n in names if kind.formulas or self.joints[n].friction is not None]
            turning = [n for n in names if n not in alone and self._counts_turns(n)]
            many = [n for n in names if n not in (*alone, *turning)]
            if many:
                own = np.array([names.index(n) for n in many])
                found += self._of_one_kind(kind, many, rate, own if projected else None)
            for name in alone:
                own = names.index(name) if projected else None
                found += self._alone(name, kind, rate, own)
            found += [self._by_turns(name, kind) for name in turning]
        return found

    def kept_rows(
        self, keep: Mapping[str, np.ndarray], without: Collection[str]
    ) -> dict[str, np.ndarray]:
        """Projectors of the rows of joints, for the kinds that drop any row."""
        found = {}
        for kind in JOINT_KINDS.values():
            names = [name for name in self._named(kind) if name not in without]
            if any(name in keep for name in names):
                found[kind.name] = projectors(names, keep)
        return found

    def _named(self, kind: JointKind) -> list[str]:
        return [name for name, joint in self.joints.items() if joint.kind == kind.name]

    def _equations(self, kind: JointKind) -> JointEquations:
        equations = kind.equations(self.geometry.d)
        assert equations is not None
        return equations

    def _poses(self, names: list[str], ordinal: int) -> Callable:
        """`(q, p)` → the relative poses of several joints, with a leading axis."""
        a, b = (np.array([getattr(self.ends[n][ordinal], x) for n in names]) for x in "ab")
        frames = self.frames
        return lambda q, p: relative_poses(frames(q, p), a, b)

    def _arguments(self, name: str, kind: JointKind) -> Callable[..., tuple]:
        """Relative poses → arguments of the equations: a coupling takes a coordinate of each."""
        if kind.couples is None:
            return lambda *poses: poses
        chosen = [x.coordinate for x in self.coupled(name)]
        return lambda *poses: tuple(x.value(pose) for x, pose in zip(chosen, poses, strict=True))

    def _by_turns(self, name: str, kind: JointKind) -> AbstractConstraint:
        """A coupling of counted angles in space, by the equation of the plane."""
        assert kind.plane is not None
        return Holonomic(self.coupling_equation(name), name=name, unit=kind.plane.units)

    def coupling_equation(self, name: str) -> Callable:
        """`(q, t, p)` → the residual of a coupling of counted angles, that of the plane."""
        kind = self.kind(name)
        equations, index = kind.plane, self._named(kind).index(name)
        assert equations is not None and equations.position is not None
        residual, formulas = equations.position, self._formulas(name)
        coordinates = [self.coordinate(x) for x in self.coupled(name)]

        def phi(q, t, p):
            options = _options(kind, index, formulas, p)
            return residual(*(x(q, p) for x in coordinates), options)

        return phi

    def _of_one_kind(
        self, kind: JointKind, names: list[str], rate: Callable, projectors: np.ndarray | None
    ) -> list[AbstractConstraint]:
        equations, found = self._equations(kind), []
        residual, slip = equations.position, equations.velocity
        poses = [self._poses(names, i) for i in range(2 if kind.couples else 1)]
        arguments = self._arguments(names[0], kind)
        # The array of options has all joints of a kind, also those that are not constraints here.
        own = np.array([i for i, name in enumerate(self._named(kind)) if name in names])
        none = np.zeros((len(names), 0))

        def numbers(p):
            return p["sizes"][kind.name][own] if kind.name in p["sizes"] else none

        def position(numbers, *poses):
            assert residual is not None
            return residual(*arguments(*poses), kind.named(numbers))

        def velocity(numbers, pose, rate):
            assert slip is not None
            return slip(pose, rate, kind.named(numbers))

        def phi(q, t, p):
            rows = jax.vmap(position)(numbers(p), *(x(q, p) for x in poses))
            if projectors is not None:
                rows = projected_rows(p["keep"][kind.name][projectors], rows)
            return rows.ravel()

        def psi(q, v, t, p):
            here, moving = value_and_rate(lambda q: poses[0](q, p), q, rate(q, v, t, p))
            return jax.vmap(velocity)(numbers(p), here, moving).ravel()

        if equations.position is not None:
            found.append(Holonomic(phi, name=kind.name, parts=names, unit=equations.units))
        if equations.velocity is not None:
            labels = [f"{n}{RATES}" for n in names] if found else names
            rates = f"{kind.name} rates"
            found.append(Nonholonomic(psi, name=rates, parts=labels, unit=SLIDING))
        return found

    def _alone(
        self, name: str, kind: JointKind, rate: Callable, projector: int | None
    ) -> list[AbstractConstraint]:
        equations, found = self._equations(kind), []
        residual, slip = equations.position, equations.velocity
        poses = [self._poses([name], i) for i in range(len(self.ends[name]))]
        index = self._named(kind).index(name)
        coordinates = [self.coordinate(x) for x in self.coupled(name)] if kind.couples else None
        formulas, nonideal = self._formulas(name), self._friction(name, kind, rate)

        def options(p):
            return _options(kind, index, formulas, p)

        def phi(q, t, p):
            assert residual is not None
            if coordinates is not None:
                return residual(*(x(q, p) for x in coordinates), options(p))
            rows = residual(*(_first(x(q, p)) for x in poses), options(p))
            if projector is None:
                return rows
            return projected_rows(p["keep"][kind.name][projector, None], rows).ravel()

        def psi(q, v, t, p):
            assert slip is not None
            pose = lambda q: _first(poses[0](q, p))
            here, moving = value_and_rate(pose, q, rate(q, v, t, p))
            return slip(here, moving, options(p))

        if equations.position is not None:
            found.append(Holonomic(phi, name=name, unit=equations.units, nonideal=nonideal))
        if equations.velocity is not None:
            label = f"{name}{RATES}" if found else name
            found.append(Nonholonomic(psi, name=label, unit=SLIDING))
        return found

    def _friction(self, name: str, kind: JointKind, rate: Callable) -> Callable | None:
        """Dry friction of a joint, or None."""
        given = self.joints[name].friction
        if given is None or given.static is not None:
            return None
        poses, ends = self._poses([name], 0), self.ends[name][0]
        pose = lambda q, p: _first(poses(q, p))
        return joint_friction(name, kind, self.geometry, ends, pose, rate)


def _first(poses: RelativePose) -> RelativePose:
    return jax.tree.map(lambda x: x[0], poses)


def _options(kind: JointKind, index: int, formulas: Mapping[str, Expression], p: dict) -> dict:
    """The options of the joint with an index among those of its kind, by name."""
    numbers = p["sizes"][kind.name][index] if kind.numbers else ()
    given = {x: _function(formula, p) for x, formula in formulas.items()}
    return {**kind.named(numbers), **given}


def _function(formula: Expression, p: dict) -> Callable:
    """A formula as a function of its variables, at the mechanism's parameters."""
    return lambda **variables: formula.traced({**p["parameters"], **variables})
