"""Universal Scene Description as text: rigid bodies and joints of `UsdPhysics`.

Joints carry bodies in a tree as far as they can, driven ones first, and those excluded from the
articulation last; all others close loops and are constraints. Frames of both ends of a joint
coincide at its zero; the positions of bodies in the file give the start.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from zwang.bodies import Branch, ball, prismatic
from zwang.bodies.inertia import NO_BODY, impossible
from zwang.bodies.screws.twist import inverse
from zwang.errors import ModelError
from zwang.files import read_text
from zwang.files.limits import limit
from zwang.files.reading import shown_path
from zwang.mechanism.registry import JOINT_KINDS, by_format
from zwang.robots.description import Description, Loop, unique
from zwang.robots.text import of_quaternion, shape
from zwang.robots.usd_text import Prim, scene

KINDS = by_format("usd")
"""Kinds of joints by the types of their prims."""
ALONG_Z = {"X": [1, 2, 0], "Y": [2, 0, 1], "Z": [0, 1, 2]}
"""Axes of a frame in the order in which the named one comes last."""
STANDARD_GRAVITY, MAGNITUDE = 9.81, "physics:gravityMagnitude"
ARMATURES = ("physxJoint:armature", "newton:armature", "mjc:armature")
FRICTIONS = ("physxJoint:jointFriction", "newton:friction", "mjc:frictionloss")
COMPOSED = ("references", "payload", "variant sets", "inherits", "specializes")
"""Metadata of prims whose content is not all in the file."""
TAKEN = {
    *("axis", "body0", "body1", "localPos0", "localPos1", "localRot0", "localRot1"),
    *("lowerLimit", "upperLimit", "jointEnabled", "excludeFromArticulation", "collisionEnabled"),
    *("breakForce", "breakTorque", "mass", "density", "centerOfMass", "diagonalInertia"),
    *("principalAxes", "rigidBodyEnabled", "kinematicEnabled", "startsAsleep", "velocity"),
    *("angularVelocity", "gravityDirection", "gravityMagnitude", "approximation"),
}
"""Attributes of `physics:` that are read, or have no effect."""


def read(path: Path, *, floating: bool | None = None) -> Description:
    """Read the robot of a text of Universal Scene Description.

    Args:
        path: the file.
        floating: whether a root that no joint holds is free; by default it is.

    Raises:
        ModelError: one sentence for a file that is invalid or needs unsupported features.
    """
    return _Reading(path, floating).description


class _Joint:
    """A joint between two bodies, None for the ground, with its frames on both, z along its axis.

    Attributes:
        driven: whether it has a motor, which only a joint that carries a body can have.
        is_closing: whether the file excludes it from the articulation.
    """

    def __init__(self, prim: Prim, ends: tuple, frames: tuple):
        self.prim, self.name, self.ends, self.frames = prim, prim.name, ends, frames
        self.kind = KINDS[prim.kind]
        self.driven = any(x.startswith("PhysicsDriveAPI:") for x in prim.schemas)
        self.is_closing = prim.attributes.get("physics:excludeFromArticulation") in (True, 1.0)

    @property
    def rank(self) -> int:
        """Priority: joints of lower rank carry bodies first."""
        return 0 if self.driven else 2 if self.is_closing else 1

    def number(self, names, default: float = 0.0) -> float:
        """The first of some attributes that exists."""
        for name in names:
            if isinstance(found := self.prim.attributes.get(name), float):
                return found
        return default


class _Reading:
    def __init__(self, path: Path, floating: bool | None):
        self.shown = shown_path(path)
        self.scene = scene(read_text(path, "xml_size"), self.shown)
        self.meter = self._unit("metersPerUnit")
        self.kilogram = self._unit("kilogramsPerUnit")
        self.prims = {x.path: x for x in self.scene.all()}
        self.bodies = {x.path: x for x in self.scene.all() if self._is_body(x)}
        if not self.bodies:
            raise ModelError(f"{self.shown}: no prim has the schema PhysicsRigidBodyAPI.")
        if len(self.bodies) > limit("bodies"):
            raise ModelError(
                f"{self.shown} has {len(self.bodies)} bodies, expected at most {limit('bodies')}."
            )
        self.names: dict[str, str] = {}
        for at, x in self.bodies.items():
            self.names[at] = unique(x.name, self.names.values())
        self.poses = {at: self._pose(x) for at, x in self.bodies.items()}
        name = self.scene.metadata.get("defaultPrim") or path.stem
        self.description = made = Description(str(name), [], self._gravity())
        self.joints = self._joints()
        self.homes: dict[str, np.ndarray] = {}
        self.strange: list[str] = []
        closing = self._grow(floating)
        for joint in closing:
            first, second = (
                (None if end is None else self.names[end], frame)
                for end, frame in zip(joint.ends, joint.frames, strict=True)
            )
            made.loops[joint.name] = Loop(joint.kind, first, second)
        made.leave_out("motors of joints that close loops", [x.name for x in closing if x.driven])
        made.leave_out(
            "inertia of rotors of joints that close loops",
            [x.name for x in closing if x.number(ARMATURES)],
        )
        self._tell()

    def _unit(self, name: str) -> float:
        given = self.scene.metadata.get(name, 1.0 if name.startswith("kilo") else 0.01)
        if not (isinstance(given, float) and 0 < given < math.inf):
            raise ModelError(f"{self.shown}: {name} is {given!r}, expected a positive number.")
        return given

    def _gravity(self) -> np.ndarray:
        up = "XYZ".find(str(self.scene.metadata.get("upAxis", "Y")).upper())
        down = -np.eye(3)[max(up, 0)]
        found = next((x for x in self.scene.all() if x.kind == "PhysicsScene"), None)
        if found is None:
            return STANDARD_GRAVITY * down
        given = self._numbers(found, "physics:gravityDirection", 3, (0.0, 0.0, 0.0))
        asked = found.attributes.get(MAGNITUDE)
        # a negative number, −inf by default, means the Earth's gravity
        size = -1.0 if asked == -math.inf else self._numbers(found, MAGNITUDE, 1, (-1.0,))[0]
        direction = given / np.linalg.norm(given) if np.any(given) else down
        return (STANDARD_GRAVITY if size < 0 else size * self.meter) * direction

    # --- bodies

    def _is_body(self, prim: Prim) -> bool:
        enabled = prim.attributes.get("physics:rigidBodyEnabled", True) not in (False, 0.0)
        return "PhysicsRigidBodyAPI" in prim.schemas and enabled

    def _numbers(self, prim: Prim, name: str, count: int, default) -> np.ndarray:
        given = prim.attributes.get(name)
        try:
            values = np.atleast_1d(np.array(default if given is None else given, float))
        except (TypeError, ValueError):
            values = np.zeros(0)
        whole = given is None or np.all(np.abs(values) <= 10.0 ** limit("magnitude"))
        if values.shape != (count,) or not whole:
            raise ModelError(
                f"{self.shown}: {prim.path}: {name} is {given!r:.60}, expected {count} "
                f"number{'s' * (count > 1)} up to 1e{limit('magnitude')} in size."
            )
        return values

    def _turned(self, prim: Prim, name: str) -> np.ndarray:
        """The unit quaternion (w, x, y, z) of an attribute."""
        given = self._numbers(prim, name, 4, (1.0, 0.0, 0.0, 0.0))
        if not np.any(given):
            raise ModelError(f"{self.shown}: {prim.path}: {name} is zero, expected a quaternion.")
        return given / np.linalg.norm(given)

    def _pose(self, prim: Prim) -> np.ndarray:
        """The frame of a prim in space, without its scales [m]."""
        pose = np.eye(4)
        at: Prim | None = prim
        while at is not None:
            own = self._own_pose(at)
            pose = own @ pose
            if "!resetXformStack!" in (at.attributes.get("xformOpOrder") or ()):
                break
            at = at.parent
        return pose

    def _own_pose(self, prim: Prim) -> np.ndarray:
        made = np.eye(4)
        for word in prim.attributes.get("xformOpOrder") or ():
            kind = str(word).removeprefix("xformOp:").partition(":")[0]
            if str(word) == "!resetXformStack!":
                continue
            if kind == "translate":
                made = made @ of_quaternion(
                    self.meter * self._numbers(prim, word, 3, (0, 0, 0)), [1, 0, 0, 0]
                )
            elif kind == "orient":
                made = made @ of_quaternion(np.zeros(3), self._turned(prim, word))
            elif kind.startswith("rotate") and {*kind[6:]} <= {*"XYZ"}:
                order = kind[6:].lower()
                angles = self._numbers(prim, word, len(order), np.zeros(len(order)))
                # The three numbers are about x, y and z, whatever the order.
                given = angles if len(order) == 1 else [angles["xyz".index(c)] for c in order]
                step = np.eye(4)
                step[:3, :3] = Rotation.from_euler(order, given, degrees=True).as_matrix()
                made = made @ step
            elif kind == "transform":
                given = np.array(prim.attributes.get(word), float)
                if given.shape != (4, 4) or not self._is_rigid(given[:3, :3]):
                    raise ModelError(
                        f"{self.shown}: {prim.path}: {word} is no rigid motion, which is what a "
                        "body can be placed by."
                    )
                step = given.T.copy()
                step[:3, 3] *= self.meter
                made = made @ step
            elif kind == "scale":
                scale = self._numbers(prim, word, 3, (1, 1, 1))
                if prim.path in self.bodies or any(
                    x.startswith(f"{prim.path}/") for x in self.bodies
                ):
                    if not np.all(scale == 1):
                        raise ModelError(
                            f"{self.shown}: {prim.path}: {word} scales bodies, expected 1, 1, 1."
                        )
            else:
                raise ModelError(f"{self.shown}: {prim.path}: the operation {word} is not known.")
        return made

    @staticmethod
    def _is_rigid(R: np.ndarray) -> bool:
        # for numbers in single precision
        orthogonal = np.allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-5)
        return bool(orthogonal and np.cross(R[0], R[1]) @ R[2] > 0)

    def _inertial(self, at: str, frame: np.ndarray) -> tuple:
        """Mass, center and inertia in the axes of the ground."""
        prim, name = self.bodies[at], self.names[at]
        mass = self._numbers(prim, "physics:mass", 1, (0.0,))[0] * self.kilogram
        moments = self._numbers(prim, "physics:diagonalInertia", 3, (0.0, 0.0, 0.0))
        if not (mass > 0 and np.any(moments)):
            raise ModelError(
                f"{self.shown}: {prim.path} has physics:mass {mass:g} kg and "
                f"physics:diagonalInertia {moments.tolist()}; expected both, as they are not "
                "computed from shapes."
            )
        center = self._numbers(prim, "physics:centerOfMass", 3, (0.0, 0.0, 0.0)) * self.meter
        own = frame @ of_quaternion(center, self._turned(prim, "physics:principalAxes"))
        inertia = np.diag(moments) * self.kilogram * self.meter**2
        if (strange := impossible(mass, inertia)) is not None:
            self.strange.append(f"{name} ({', '.join(f'{x:.3g}' for x in strange)} kg·m²)")
        return mass, own[:3, 3], own[:3, :3] @ inertia @ own[:3, :3].T

    # --- joints

    def _joints(self) -> list[_Joint]:
        made: list[_Joint] = []
        others: list[str] = []
        for prim in self.scene.all():
            if not (prim.kind.startswith("Physics") and prim.kind.endswith("Joint")):
                continue
            if prim.attributes.get("physics:jointEnabled", True) in (False, 0.0):
                continue
            if prim.kind not in KINDS:
                others.append(f"{prim.name} ({prim.kind})")
                continue
            ends, frames = zip(*(self._end(prim, side) for side in "01"), strict=True)
            if ends[0] == ends[1]:
                raise ModelError(f"{self.shown}: {prim.path} joins one body to itself.")
            made.append(_Joint(prim, ends, frames))
        self.description.leave_out("joints of kinds that are not taken over", others)
        names: list[str] = []
        for joint in made:
            joint.name = unique(joint.name, names)
            names.append(joint.name)
        return made

    def _end(self, prim: Prim, side: str) -> tuple[str | None, np.ndarray]:
        """The body at an end of a joint, None for the ground, and the joint's frame on it."""
        given = prim.attributes.get(f"physics:body{side}")
        given = given[0] if isinstance(given, list) and given else given
        at = str(given) if given else None
        place = self._numbers(prim, f"physics:localPos{side}", 3, (0, 0, 0)) * self.meter
        own = of_quaternion(place, self._turned(prim, f"physics:localRot{side}"))
        axis = str(prim.attributes.get("physics:axis", "X"))
        if axis not in ALONG_Z:
            raise ModelError(f"{self.shown}: {prim.path}: axis {axis!r}, expected X, Y or Z.")
        own[:3, :3] = own[:3, ALONG_Z[axis]]
        if at is None:
            return None, own
        if at not in self.prims:
            raise ModelError(f"{self.shown}: {prim.path}: there is no prim {at} for body{side}.")
        inside = self.prims[at]
        while inside.path not in self.bodies and inside.parent is not None:
            inside = inside.parent  # a frame inside a body
        if inside.path not in self.bodies:
            return None, self._pose(self.prims[at]) @ own
        if inside.path != at:
            own = inverse(self.poses[inside.path]) @ self._pose(self.prims[at]) @ own
        return inside.path, own

    def _root(self, left: list[str]) -> str:
        """The body that a tree begins with."""
        marked = [x for x in left if "PhysicsArticulationRootAPI" in self.bodies[x].schemas]
        return (marked or left)[0]

    def _grow(self, floating: bool | None) -> list[_Joint]:
        """Carry all bodies, and return the joints that close loops."""
        waiting = sorted(self.joints, key=lambda x: x.rank)  # a stable sort
        held: set[str | None] = {None}
        closing: list[_Joint] = []
        while len(self.homes) < len(self.bodies):
            joint = next((x for x in waiting if (x.ends[0] in held) != (x.ends[1] in held)), None)
            if joint is None:
                root = self._root([x for x in self.bodies if x not in held])
                self._carry_root(root, floating)
                held.add(root)
                continue
            waiting.remove(joint)
            forward = joint.ends[0] in held
            child = joint.ends[1 if forward else 0]
            assert child is not None
            self._carry(joint, child, forward)
            held.add(child)
        closing += [x for x in self.joints if x in waiting]
        return closing

    def _carry_root(self, at: str, floating: bool | None) -> None:
        frame, name = self.poses[at], self.names[at]
        kinematic = self.bodies[at].attributes.get("physics:kinematicEnabled") in (True, 1.0)
        twists = {}
        if floating if floating is not None else not kinematic:
            axes = zip("xyz", np.eye(3), strict=True)
            twists = {f"{name}.{c}": prismatic(axis) for c, axis in axes}
            twists[f"{name}.turn"] = ball(frame[:3, 3])
        self._add(at, None, twists, frame)

    def _add(self, at: str, parent: str | None, twists: dict, frame: np.ndarray) -> None:
        self.homes[at] = frame
        mass, center, inertia = self._inertial(at, frame)
        made = self.description
        made.branches.append(Branch(self.names[at], parent, twists, mass, center, inertia, frame))
        made.shapes[self.names[at]] = list(self._shapes(at))

    def _carry(self, joint: _Joint, child: str, forward: bool) -> None:
        near, far = joint.frames if forward else joint.frames[::-1]
        parent = joint.ends[0 if forward else 1]
        frame = (np.eye(4) if parent is None else self.homes[parent]) @ near
        equations = JOINT_KINDS[joint.kind].space
        assert equations is not None
        # A coordinate is that of the second body relative to the first.
        sign = 1.0 if forward else -1.0
        twists = {
            f"{joint.name}{end}": twist if np.ndim(twist) == 2 else sign * twist
            for end, twist in equations.twists(frame).items()
        }
        home = frame @ inverse(far)
        self._add(child, None if parent is None else self.names[parent], twists, home)
        self._start(joint, [*twists], near, far, parent, child, sign)
        if [*twists] == [joint.name] and np.ndim(twists[joint.name]) == 1:
            self._resistance(joint)

    def _start(self, joint, names, near, far, parent, child, sign) -> None:
        """Coordinates of the bodies' poses in the file."""
        there = np.eye(4) if parent is None else self.poses[parent]
        between = inverse(there @ near) @ self.poses[child] @ far
        if joint.kind == "revolute":
            angle = math.atan2(between[1, 0], between[0, 0])
            self.description.start[names[0]] = np.array([sign * angle])
        elif joint.kind == "prismatic":
            self.description.start[names[0]] = np.array([sign * between[2, 3]])
        elif joint.kind == "spherical":
            turned = Rotation.from_matrix(between[:3, :3]).as_quat()
            self.description.start[names[0]] = np.roll(turned, 1)

    def _resistance(self, joint: _Joint) -> None:
        """Limits, rotor, dry friction and motor of a joint with one coordinate."""
        made, name = self.description, joint.name
        turns = joint.kind == "revolute"
        unit = math.pi / 180 if turns else self.meter
        least, most = (
            unit * joint.number((f"physics:{side}Limit",), default)
            for side, default in (("lower", -math.inf), ("upper", math.inf))
        )
        if least <= most and not math.isinf(least - most):
            made.ranges[name] = (least, most)
        strength = self.kilogram * (self.meter**2 if turns else 1.0)
        if armature := joint.number(ARMATURES):
            made.armature[name] = armature * strength
        strength = self.kilogram * self.meter * (self.meter if turns else 1.0)
        if friction := joint.number(FRICTIONS):
            made.frictions[name] = friction * strength
        if joint.driven:
            made.actuators[name] = {name: np.array(1.0)}
            drive = f"drive:{'angular' if turns else 'linear'}:physics:maxForce"
            effort = joint.number((drive,), math.inf)
            if 0 < effort < math.inf:
                made.efforts[name] = effort * strength

    # --- the rest

    def _shapes(self, at: str):
        """Boxes, spheres and capsules of a body, for pictures."""
        for prim in self.bodies[at].all():
            if prim.kind not in ("Cube", "Sphere", "Capsule"):
                continue
            scale = self._numbers(prim, "xformOp:scale", 3, (1, 1, 1))
            frame = inverse(self.poses[at]) @ self._pose(prim)
            if prim.kind == "Cube":
                half = 0.5 * self._numbers(prim, "size", 1, (2.0,))[0] * self.meter
                yield shape("box", 2 * half * scale, frame)
                continue
            radius = self._numbers(prim, "radius", 1, (0.5 if prim.kind == "Capsule" else 1.0,))[0]
            if prim.kind == "Sphere":
                yield shape("sphere", [radius * self.meter], frame)
                continue
            axis = str(prim.attributes.get("axis", "Z"))
            frame[:3, :3] = frame[:3, ALONG_Z.get(axis, [0, 1, 2])]
            height = self._numbers(prim, "height", 1, (1.0,))[0]
            yield shape("capsule", [radius * self.meter, height * self.meter], frame)

    def _tell(self) -> None:
        made = self.description
        drives, others, elsewhere, drawn = [], set(), [], []
        for prim in self.scene.all():
            for name in prim.attributes:
                kind, _, rest = name.partition(":")
                if kind == "drive":
                    drives.append(prim.name)
                elif kind == "physics" and rest not in TAKEN:
                    others.add(name)
            if any(x in prim.metadata for x in COMPOSED):
                elsewhere.append(prim.name)
            if prim.kind in ("Mesh", "Cylinder", "Cone", "Plane"):
                drawn.append(prim.name)
        if "subLayers" in self.scene.metadata:
            elsewhere.append("subLayers")
        made.leave_out("laws of drives, whose joints have motors", drives)
        made.leave_out("attributes that are not taken over", sorted(others))
        made.leave_out("what other files or variants add to prims", elsewhere)
        made.leave_out("shapes that are not drawn", drawn)
        if self.strange:
            made.notes.append(f"{NO_BODY}: {'; '.join(self.strange)}")
