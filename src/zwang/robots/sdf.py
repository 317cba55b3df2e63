"""SDF, whose joints may close loops: the first joint that reaches a link carries it, every later
one is a constraint.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from scipy.spatial.transform import Rotation

from zwang.bodies import Branch, ball, prismatic
from zwang.errors import ModelError
from zwang.files.limits import limit
from zwang.mechanism.joint_kind import JointEquations
from zwang.mechanism.registry import JOINT_KINDS, by_format
from zwang.robots.description import Description, Loop
from zwang.robots.text import found, numbers, parsed, placed, shape

KINDS = by_format("sdf")
"""Joints that are known, by the kind of joint that closes a loop with them."""
GRAVITY = (0.0, 0.0, -9.8)
"""SDF's own [m/s²], where no world gives another."""
OBLIQUE = Rotation.from_rotvec([0.5, 0.7, 0.9]).as_matrix()
"""Axes along which a ball joint that closes a loop is written. Files round angles to a few digits:
in a linkage that is meant to be plane,
the row across it would then be 1e-12 of the others, neither there nor none, and brought to unit
length it would lock the linkage.
"""
TAGS = ("axis", "axis2")
"""Elements that hold the axes of a joint."""
SPRING = {"damping": "damping", "spring_stiffness": "stiffness", "spring_reference": "rest"}


def read(path: Path, *, floating: bool | None = None) -> Description:
    """The model of an SDF file.

    Args:
        path: the file.
        floating: whether links that no joint carries are free; by default they are, except in a
            static model.

    Raises:
        ModelError: one sentence for a file that makes no sense or needs what is not known here.
    """
    _, root = parsed(path)
    models = [*root.iter("model")]
    if root.tag != "sdf" or len(models) != 1:
        raise ModelError(f"{path}: has {len(models)} models, expected an <sdf> with one <model>.")
    return _Reading(path, root, models[0], floating).description


class _Reading:
    def __init__(self, path: Path, root: Element, model: Element, floating: bool | None):
        self.path, self.version = (
            path,
            numbers(root.get("version"), 1, f"{path}: version", (1.6,))[0],
        )
        # a model that says it is static stands on the ground
        static = (model.findtext("static") or "").strip() in ("1", "true")
        self.floating = not static if floating is None else floating
        gravity = root.findtext("world/gravity")
        self.links = self._by_name(model.findall("link"))
        if not self.links:
            raise ModelError(f"{path}: the model has no links.")
        self.frames = {name: self._pose(x, f"link {name!r}") for name, x in self.links.items()}
        joints = self._by_name(model.findall("joint"))
        self.description = Description(
            model.get("name") or path.stem, [], numbers(gravity, 3, f"{path}: gravity", GRAVITY)
        )
        self._tell(model, joints)
        carriers: dict[str, str] = {}
        for name, joint in joints.items():
            parent, child = (self._end(joint, side, name) for side in ("parent", "child"))
            if parent == child:
                raise ModelError(
                    f"{self.path}: joint {name!r} joins {parent or 'the world'!r} to itself; "
                    "give it two links."
                )
            # listed as left out, and neither carries nor closes anything
            if joint.get("type") not in KINDS:
                continue
            if (
                child is None
                or child in carriers
                or self._stands_on(parent, child, carriers, joints)
            ):
                # the child is carried already, or stands on itself through this joint
                self.description.loops[name] = self._loop(name, joint, parent, child)
            else:
                carriers[child] = name
        for link in self.links:
            self.description.branches.append(self._branch(link, joints, carriers.get(link)))
            self._shapes(link)
        self._refuse_repeated_parts()

    # --- pieces of XML

    def _name(self, element: Element) -> str:
        name = element.get("name")
        if not name:
            raise ModelError(f"{self.path}: a {element.tag} has no name.")
        return name

    def _by_name(self, elements: list[Element]) -> dict[str, Element]:
        """Elements of a kind by their names, of which none may stand twice."""
        found: dict[str, Element] = {}
        for element in elements:
            name = self._name(element)
            if name in found:
                raise ModelError(
                    f"{self.path}: two {element.tag}s are named {name!r}; give each its own name."
                )
            found[name] = element
        if len(found) > limit("bodies"):
            raise ModelError(
                f"{self.path} has {len(found)} {elements[0].tag}s, expected at most "
                f"{limit('bodies')}."
            )
        return found

    def _refuse_repeated_parts(self) -> None:
        """A joint with several axes names its parts, which must not be another joint's name."""
        parts = Counter(name for branch in self.description.branches for name in branch.joints)
        name, times = parts.most_common(1)[0] if parts else ("", 0)
        if times > 1:
            raise ModelError(
                f"{self.path}: two joints move by a coordinate {name!r}; rename the joint {name!r}."
            )

    def _pose(self, element: Element, what: str) -> np.ndarray:
        pose = element.find("pose")
        if pose is None:
            return np.eye(4)
        if pose.get("relative_to") or pose.get("frame"):
            raise ModelError(
                f"{self.path}: {what}: a pose relative to another frame is not known here; give "
                "it in the model's."
            )
        values = numbers(pose.text, 6, f"{self.path}: {what}: pose")
        return placed(values[:3], values[3:])

    def _end(self, joint: Element, side: str, name: str) -> str | None:
        given = (joint.findtext(side) or "").strip()
        if given == "world":
            return None
        if given not in self.links:
            raise ModelError(f"{self.path}: joint {name!r}: there is no {side} link {given!r}.")
        return given

    def _stands_on(self, link: str | None, other: str, carriers: dict[str, str], joints) -> bool:
        while link is not None and link != other:
            link = (
                self._end(joints[carriers[link]], "parent", carriers[link])
                if link in carriers
                else None
            )
        return link == other

    def _frame(self, name: str, joint: Element, child: str | None) -> np.ndarray:
        """The joint's frame in the model's."""
        return (np.eye(4) if child is None else self.frames[child]) @ self._pose(
            joint, f"joint {name!r}"
        )

    def _axis(self, name: str, joint: Element, child: str | None, tag: str = "axis") -> np.ndarray:
        """Direction in the model's frame."""
        axis = joint.find(tag)
        xyz = None if axis is None else axis.find("xyz")
        if axis is None or xyz is None:
            raise ModelError(f"{self.path}: joint {name!r} has no {tag}.")
        direction = numbers(xyz.text, 3, f"{self.path}: joint {name!r}: {tag}")
        # normalized below, which would give NaN
        if not np.any(direction):
            raise ModelError(f"{self.path}: joint {name!r}: {tag} is zero, expected a direction.")
        expressed = xyz.get("expressed_in") or ""
        in_model = (
            self.version < 1.5
            or (axis.findtext("use_parent_model_frame") or "").strip() in ("1", "true")
            or expressed == "__model__"
        )
        if expressed not in ("", "__model__", *self.frames):
            raise ModelError(f"{self.path}: joint {name!r}: there is no frame {expressed!r}.")
        R = (
            np.eye(3)
            if in_model
            else self.frames[expressed][:3, :3]
            if expressed in self.frames
            else self._frame(name, joint, child)[:3, :3]
        )
        return R @ direction / np.linalg.norm(direction)

    # --- bodies and joints

    def _branch(self, link: str, joints: dict[str, Element], carrier: str | None) -> Branch:
        parent, twists = None, {}
        if carrier is not None:
            joint = joints[carrier]
            parent, twists = self._end(joint, "parent", carrier), self._twists(carrier, joint, link)
        elif self.floating:
            twists = {
                f"{link}.{c}": prismatic(axis) for c, axis in zip("xyz", np.eye(3), strict=True)
            }
            twists[f"{link}.turn"] = ball(self.frames[link][:3, 3])
        mass, center, inertia = self._inertial(link)
        return Branch(link, parent, twists, mass, center, inertia, self.frames[link])

    def _axes(self, name: str, joint: Element, child: str | None) -> np.ndarray:
        """The joint's frame with its own axes: z along a single axis; x and y along two."""
        at = self._frame(name, joint, child).copy()
        count = len(_coordinates(joint))
        if count == 1:
            at[:3, :3] = _with_z(self._axis(name, joint, child))
        elif count == 2:
            x, y = (self._axis(name, joint, child, tag) for tag in TAGS)
            at[:3, :3] = np.stack([x, y, np.cross(x, y)], axis=1)
        return at

    def _twists(self, name: str, joint: Element, child: str) -> dict[str, np.ndarray]:
        for tag, ending in zip(TAGS, _coordinates(joint), strict=False):
            for field, holds in SPRING.items():
                if (text := joint.findtext(f"{tag}/dynamics/{field}")) is not None:
                    value = numbers(text, 1, f"{self.path}: joint {name!r}: {field}")[0]
                    getattr(self.description, holds)[f"{name}{ending}"] = float(value)
        twists = _equations(joint).twists(self._axes(name, joint, child))
        return {f"{name}{ending}": twist for ending, twist in twists.items()}

    def _loop(self, name: str, joint: Element, parent: str | None, child: str | None) -> Loop:
        at, kind = self._axes(name, joint, child), KINDS[joint.get("type", "")]
        if kind == "spherical":
            at[:3, :3] = OBLIQUE

        def on(link: str | None):
            return link, at if link is None else np.linalg.inv(self.frames[link]) @ at

        return Loop(kind, on(parent), on(child))

    def _inertial(self, link: str):
        where, element = f"{self.path}: link {link!r}", self.links[link].find("inertial")
        if element is None:
            # SDF’s own defaults: one kilogram, unit inertia, at the origin of the link
            return 1.0, self.frames[link][:3, 3], np.eye(3)
        at = self.frames[link] @ self._pose(element, f"link {link!r}: inertial")
        mass = float(numbers(element.findtext("mass"), 1, f"{where}: mass", (1.0,))[0])
        values = {
            k: float(
                numbers(
                    element.findtext(f"inertia/{k}"),
                    1,
                    f"{where}: {k}",
                    (float(k in ("ixx", "iyy", "izz")),),
                )[0]
            )
            for k in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        }
        inertia = np.array([[values["".join(["i", *sorted(a + b)])] for a in "xyz"] for b in "xyz"])
        if not mass > 0 or np.min(np.linalg.eigvalsh(inertia)) <= 0:
            raise ModelError(f"{where}: mass {mass:g} or inertia is not positive.")
        return mass, at[:3, 3], at[:3, :3] @ inertia @ at[:3, :3].T

    # --- pictures and what is left out

    def _shapes(self, link: str) -> None:
        where = f"{self.path}: link {link!r}"
        for visual in self.links[link].findall("visual"):
            geometry, color = visual.find("geometry"), visual.findtext("material/ambient")
            what = None if geometry is None or not len(geometry) else geometry[0]
            if what is None:
                continue
            tint = None if color is None else numbers(color, 4, where)
            frame = self._pose(visual, f"link {link!r}: visual")
            if what.tag == "mesh":
                scale = numbers(what.findtext("scale"), 3, where, (1, 1, 1))
                drawn = shape(
                    "mesh",
                    scale,
                    frame,
                    tint,
                    found((what.findtext("uri") or "").strip(), self.path),
                )
            elif what.tag in (
                sizes := {
                    "box": "size",
                    "sphere": "radius",
                    "cylinder": "radius length",
                    "capsule": "radius length",
                }
            ):
                words = " ".join(what.findtext(n) or "" for n in sizes[what.tag].split())
                drawn = shape(what.tag, numbers(words, len(words.split()), where), frame, tint)
            else:
                continue
            self.description.shapes.setdefault(link, []).append(drawn)

    def _tell(self, model: Element, joints: dict[str, Element]) -> None:
        made = self.description
        made.leave_out(
            "contacts of bodies",
            [n for n, x in self.links.items() if x.find("collision") is not None],
        )
        made.leave_out(
            "joint limits", [n for n, j in joints.items() if j.find("axis/limit") is not None]
        )
        friction = {
            n: numbers(j.findtext("axis/dynamics/friction"), 1, f"{self.path}: joint {n!r}", (0,))
            for n, j in joints.items()
        }
        made.leave_out("dry friction in joints", [n for n, x in friction.items() if np.any(x)])
        made.leave_out(
            "joints of an unknown type",
            [f"{n} ({j.get('type')})" for n, j in joints.items() if j.get("type") not in KINDS],
        )
        made.leave_out(
            "plugins", [x.get("filename") or x.get("name") for x in model.iter("plugin")]
        )
        known = (
            "link",
            "joint",
            "plugin",
            "static",
            "self_collide",
            "pose",
            "allow_auto_disable",
            "enable_wind",
        )
        made.leave_out("elements of the model", [x.tag for x in model if x.tag not in known])
        if model.find("pose") is not None:
            made.leave_out("the model's own pose", [model.findtext("pose")])


def _equations(joint: Element) -> JointEquations:
    equations = JOINT_KINDS[KINDS[joint.get("type", "")]].space
    assert equations is not None
    return equations


def _coordinates(joint: Element) -> list[str]:
    """Endings of the names of a joint's coordinates that have an axis; a ball joint's have none."""
    endings = _equations(joint).endings()
    return [ending for ending, freedom in endings.items() if freedom.coordinate.unit != "1"]


def _with_z(axis: np.ndarray) -> np.ndarray:
    """Axes in columns, the last one given."""
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(axis)))], axis)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)
