"""URDF's elements and attributes with their treatment, for the reader, documentation and tests.

The names are those of the schema of URDF 1.0 (`urdf.xsd` of urdfdom) and of the pages that describe
the format: capsules, quaternions and limits of acceleration came later.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Literal
from xml.etree.ElementTree import Element

from zwang.errors import ModelError
from zwang.robots.description import CONTACTS, FRICTION, LIMITS, Description

Fate = Literal["acts", "drawn", "names", "listed"]
"""Treatment of an entry: it changes the motion, it changes pictures, it only names something, or
`Robot.unsupported` lists it.
"""


@dataclasses.dataclass(frozen=True)
class Entry:
    """An element or attribute.

    Attributes:
        fate: its treatment.
        what: its role in the model, or the words under which it is listed.
        many: of an element, whether it may occur more than once.
        inside: of a listed element, whether it stands for its whole content.
    """

    fate: Fate
    what: str
    many: bool = False
    inside: bool = False


FORCE, SPEED = "limits of the force at joints", "limits of speed"
RATES = "limits of acceleration and jerk"
SAFETY, CALIBRATION = "safety controllers", "calibration of joints"
DRIVES = "transmissions (take Robot.actuation)"
PROGRAMS, TEXTURES = "elements for other programs", "textures"
PART = "parts that URDF does not have"


def _pose(path: str, fate: Fate, what: str) -> dict[str, Entry]:
    """The entries of an origin."""
    return {
        f"{path}/origin": Entry(fate, what),
        f"{path}/origin@xyz": Entry(fate, "its place [m]"),
        f"{path}/origin@rpy": Entry(fate, "its attitude: roll, pitch and yaw about fixed axes"),
        f"{path}/origin@quat_xyzw": Entry(fate, "its attitude: a quaternion, instead of `rpy`"),
    }


def _shape(path: str) -> dict[str, Entry]:
    """The entries of a visual, which may be the shape for contacts."""
    sizes = {
        "box": ("size",),
        "cylinder": ("radius", "length"),
        "sphere": ("radius",),
        "capsule": ("radius", "length"),
        "mesh": ("filename", "scale"),
    }
    made = {
        f"{path}@name": Entry("names", "the shape"),
        **_pose(path, "drawn", "where the shape is on its link"),
        f"{path}/geometry": Entry("drawn", "the shape"),
    }
    for kind, attributes in sizes.items():
        made[f"{path}/geometry/{kind}"] = Entry("drawn", f"a {kind}")
        for attribute in attributes:
            made[f"{path}/geometry/{kind}@{attribute}"] = Entry("drawn", f"its {attribute}")
    return made | _material(f"{path}/material")


def _material(path: str) -> dict[str, Entry]:
    return {
        path: Entry("drawn", "a color by name", many=path == "material"),
        f"{path}@name": Entry("drawn", "the color's name"),
        f"{path}/color": Entry("drawn", "a color"),
        f"{path}/color@rgba": Entry("drawn", "red, green, blue and opacity"),
        f"{path}/texture": Entry("listed", TEXTURES),
        f"{path}/texture@filename": Entry("listed", TEXTURES),
    }


ENTRIES: dict[str, Entry] = {
    "@name": Entry("acts", "the robot's name"),
    "@version": Entry("names", "the version of the format; all versions are read alike"),
    "link": Entry("acts", "a body", many=True),
    "link@name": Entry("acts", "the body's name"),
    "link@type": Entry("listed", PART),
    "link/inertial": Entry("acts", "mass and inertia; a link without it has none"),
    **_pose("link/inertial", "acts", "the center of mass and the axes of the inertia"),
    "link/inertial/mass": Entry("acts", "the mass, which may be zero"),
    "link/inertial/mass@value": Entry("acts", "[kg]"),
    "link/inertial/inertia": Entry("acts", "the inertia about the center of mass"),
    **{
        f"link/inertial/inertia@{name}": Entry("acts", "[kg·m²]")
        for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    },
    "link/collision": Entry("listed", CONTACTS, many=True),
    **_shape("link/collision"),
    "link/collision/verbose": Entry("listed", CONTACTS),
    "link/collision/verbose@value": Entry("listed", CONTACTS),
    "link/visual": Entry("drawn", "a shape of the link", many=True),
    **_shape("link/visual"),
    "joint": Entry("acts", "a joint between two links", many=True),
    "joint@name": Entry("acts", "the joint's name"),
    "joint@type": Entry(
        "acts",
        "`revolute`, `continuous`, `prismatic`, `fixed`; `floating`: three slides and a ball "
        "joint; `planar`: two slides and a turn; `spherical`, as Bullet has it: a ball joint",
    ),
    **_pose("joint", "acts", "the joint's frame in the parent, and the child's at zero"),
    "joint/parent": Entry("acts", "the link that carries"),
    "joint/parent@link": Entry("acts", "its name"),
    "joint/child": Entry("acts", "the link that is carried"),
    "joint/child@link": Entry("acts", "its name"),
    "joint/axis": Entry("acts", "the axis, or the normal of a planar joint; x by default"),
    "joint/axis@xyz": Entry("acts", "its direction, of any length"),
    "joint/limit": Entry("listed", LIMITS),
    "joint/limit@lower": Entry("listed", LIMITS),
    "joint/limit@upper": Entry("listed", LIMITS),
    "joint/limit@effort": Entry("listed", FORCE),
    "joint/dynamics": Entry("acts", "what a joint resists with"),
    "joint/dynamics@damping": Entry("acts", "damping [N·m·s/rad, N·s/m]"),
    "joint/dynamics@friction": Entry("listed", FRICTION),
    "joint/limit@velocity": Entry("listed", SPEED),
    "joint/limit@acceleration": Entry("listed", RATES),
    "joint/limit@deceleration": Entry("listed", RATES),
    "joint/limit@jerk": Entry("listed", RATES),
    "joint/mimic": Entry("acts", "a hard constraint: the joint follows another one"),
    "joint/mimic@joint": Entry("acts", "the joint that it follows"),
    "joint/mimic@multiplier": Entry("acts", "how far for one radian or metre; 1 by default"),
    "joint/mimic@offset": Entry("acts", "where at zero [rad, m]"),
    "joint/calibration": Entry("listed", CALIBRATION),
    "joint/calibration@reference_position": Entry("listed", CALIBRATION),
    "joint/calibration@rising": Entry("listed", CALIBRATION),
    "joint/calibration@falling": Entry("listed", CALIBRATION),
    "joint/safety_controller": Entry("listed", SAFETY),
    "joint/safety_controller@soft_lower_limit": Entry("listed", SAFETY),
    "joint/safety_controller@soft_upper_limit": Entry("listed", SAFETY),
    "joint/safety_controller@k_position": Entry("listed", SAFETY),
    "joint/safety_controller@k_velocity": Entry("listed", SAFETY),
    **_material("material"),
    "transmission": Entry("listed", DRIVES, many=True, inside=True),
    "gazebo": Entry("listed", PROGRAMS, many=True, inside=True),
    "sensor": Entry("listed", PROGRAMS, many=True, inside=True),
    "model_state": Entry("listed", PROGRAMS, many=True, inside=True),
}
"""Every element, and every attribute after an `@`, by its path below `robot`."""
DEFAULTS = {
    "joint/limit@effort": 0.0,
    "joint/limit@velocity": 0.0,
    "joint/dynamics@friction": 0.0,
}
"""Attributes without effect at one value, which files often contain: it is not listed."""
XACRO = ("xacro:property", "xacro:macro", "xacro:arg")
"""Elements of xacro that generate nothing by themselves."""


def judge(root: Element, made: Description, shown: str) -> None:
    """List the content of a file that the model omits.

    The order is that of `ENTRIES`, followed by content unknown to URDF.

    Raises:
        ModelError: for an element that occurs twice where the format has one.
    """
    found: dict[str, dict[str, list[str]]] = {entry.what: {} for entry in ENTRIES.values()}
    for group, key, owner in _listed(root, "", "", shown):
        found[group].setdefault(key, []).append(owner)
    apart = {group: found.pop(group) for group in (PROGRAMS, PART)}
    for group, owners in found.items():
        made.leave_out(group, (name for names in owners.values() for name in names))
    for group, owners in apart.items():
        made.leave_out(group, (_named(key, names) for key, names in owners.items()))


def _listed(element: Element, path: str, owner: str, shown: str) -> Iterator[tuple[str, str, str]]:
    """Yield the omitted content of an element: the words, the content, and its link or joint."""
    for attribute, value in element.attrib.items():
        key = f"{path}@{attribute}"
        entry = ENTRIES.get(key)
        if attribute.startswith("xmlns"):
            continue
        if entry is None or entry.what == PART:
            yield PART, f"{path or 'robot'} {attribute}", owner
        elif entry.fate == "listed" and not _is_default(key, value):
            yield entry.what, key, owner
    seen: set[str] = set()
    for child in element:
        key = f"{path}/{child.tag}" if path else child.tag
        entry, name = ENTRIES.get(key), owner or child.get("name") or child.get("reference") or ""
        if entry is not None and not entry.many and child.tag in seen:
            if entry.fate != "drawn":
                raise ModelError(
                    f"{shown}: {_named(path, [owner])} has two elements {child.tag}, expected one."
                )
            yield PART, f"a second {key}", name
        seen.add(child.tag)
        if entry is None:
            _refuse_xacro(child.tag, shown)
            yield PART if path else PROGRAMS, key, name
        elif entry.inside:
            yield entry.what, key, name
        else:
            # Limits are listed by their attributes, so that a limit of speed alone does not list
            # others.
            if entry.fate == "listed" and key != "joint/limit":
                yield entry.what, key, name
            yield from _listed(child, key, name, shown)


def _named(what: str, owners: list[str]) -> str:
    names = ", ".join(dict.fromkeys(filter(None, owners)))
    return f"{what} ({names})" if names else what


def _is_default(key: str, value: str) -> bool:
    try:
        return float(value) == DEFAULTS.get(key)
    except ValueError:
        return False


def _refuse_xacro(tag: str, shown: str) -> None:
    """Refuse macros of xacro that are not expanded: links and joints would be missing."""
    if tag.startswith("xacro:") and tag not in XACRO:
        raise ModelError(
            f"{shown}: has the element {tag}, which xacro replaces by links and joints: write "
            "the file out by `xacro FILE > OTHER.urdf` and read that."
        )


def table() -> str:
    """All elements and attributes as a table for the documentation."""
    lines = ["| element or attribute | what becomes of it | as |", "|---|---|---|"]
    shown = {"acts": "acts", "drawn": "pictures only", "names": "a name only", "listed": "listed"}
    for path, entry in ENTRIES.items():
        lines.append(f"| `{path or 'robot'}` | {shown[entry.fate]} | {entry.what} |")
    return "\n".join(lines) + "\n"
