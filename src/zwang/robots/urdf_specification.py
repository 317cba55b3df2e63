"""URDF's elements and attributes with their treatment, for the reader, documentation and tests.

The names are those of the schema of URDF 1.0 (`urdf.xsd` of urdfdom) and of the pages that describe
the format: capsules, quaternions and limits of acceleration came later.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from zwang.errors import ModelError
from zwang.robots.description import CONTACTS, FRICTION, LIMITS, Description
from zwang.robots.specification import FORCE, SPEED, Fate, Rule, owned

RATES = "limits of acceleration and jerk"
SAFETY, CALIBRATION = "safety controllers", "calibration of joints"
DRIVES = "transmissions (take Robot.actuation)"
PROGRAMS, TEXTURES = "elements for other programs", "textures"
PART = "parts that URDF does not have"


def _pose(path: str, fate: Fate, what: str) -> dict[str, Rule]:
    """The rules of an origin."""
    return {
        f"{path}/origin": Rule(fate, what),
        f"{path}/origin@xyz": Rule(fate, "its place [m]"),
        f"{path}/origin@rpy": Rule(fate, "its attitude: roll, pitch and yaw about fixed axes"),
        f"{path}/origin@quat_xyzw": Rule(fate, "its attitude: a quaternion, instead of `rpy`"),
    }


def _shape(path: str) -> dict[str, Rule]:
    """The rules of a visual, which may be the shape for contacts."""
    sizes = {
        "box": ("size",),
        "cylinder": ("radius", "length"),
        "sphere": ("radius",),
        "capsule": ("radius", "length"),
        "mesh": ("filename", "scale"),
    }
    made = {
        f"{path}@name": Rule("names", "the shape"),
        **_pose(path, "drawn", "where the shape is on its link"),
        f"{path}/geometry": Rule("drawn", "the shape"),
    }
    for kind, attributes in sizes.items():
        made[f"{path}/geometry/{kind}"] = Rule("drawn", f"a {kind}")
        for attribute in attributes:
            made[f"{path}/geometry/{kind}@{attribute}"] = Rule("drawn", f"its {attribute}")
    return made | _material(f"{path}/material")


def _material(path: str) -> dict[str, Rule]:
    return {
        path: Rule("drawn", "a color by name", many=path == "material"),
        f"{path}@name": Rule("drawn", "the color's name"),
        f"{path}/color": Rule("drawn", "a color"),
        f"{path}/color@rgba": Rule("drawn", "red, green, blue and opacity"),
        f"{path}/texture": Rule("listed", TEXTURES),
        f"{path}/texture@filename": Rule("listed", TEXTURES),
    }


RULES: dict[str, Rule] = {
    "@name": Rule("acts", "the robot's name"),
    "@version": Rule("names", "the version of the format; all versions are read alike"),
    "link": Rule("acts", "a body", many=True),
    "link@name": Rule("acts", "the body's name"),
    "link@type": Rule("listed", PART),
    "link/inertial": Rule("acts", "mass and inertia; a link without it has none"),
    **_pose("link/inertial", "acts", "the center of mass and the axes of the inertia"),
    "link/inertial/mass": Rule("acts", "the mass, which may be zero"),
    "link/inertial/mass@value": Rule("acts", "[kg]"),
    "link/inertial/inertia": Rule("acts", "the inertia about the center of mass"),
    **{
        f"link/inertial/inertia@{name}": Rule("acts", "[kg·m²]")
        for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    },
    "link/collision": Rule("listed", CONTACTS, many=True),
    **_shape("link/collision"),
    "link/collision/verbose": Rule("listed", CONTACTS),
    "link/collision/verbose@value": Rule("listed", CONTACTS),
    "link/visual": Rule("drawn", "a shape of the link", many=True),
    **_shape("link/visual"),
    "joint": Rule("acts", "a joint between two links", many=True),
    "joint@name": Rule("acts", "the joint's name"),
    "joint@type": Rule(
        "acts",
        "`revolute`, `continuous`, `prismatic`, `fixed`; `floating`: three slides and a ball "
        "joint; `planar`: two slides and a turn; `spherical`, as Bullet has it: a ball joint",
    ),
    **_pose("joint", "acts", "the joint's frame in the parent, and the child's at zero"),
    "joint/parent": Rule("acts", "the link that carries"),
    "joint/parent@link": Rule("acts", "its name"),
    "joint/child": Rule("acts", "the link that is carried"),
    "joint/child@link": Rule("acts", "its name"),
    "joint/axis": Rule("acts", "the axis, or the normal of a planar joint; x by default"),
    "joint/axis@xyz": Rule("acts", "its direction, of any length"),
    "joint/limit": Rule("listed", LIMITS),
    "joint/limit@lower": Rule("listed", LIMITS),
    "joint/limit@upper": Rule("listed", LIMITS),
    "joint/limit@effort": Rule("listed", FORCE),
    "joint/dynamics": Rule("acts", "what a joint resists with"),
    "joint/dynamics@damping": Rule("acts", "damping [N·m·s/rad, N·s/m]"),
    "joint/dynamics@friction": Rule("listed", FRICTION),
    "joint/limit@velocity": Rule("listed", SPEED),
    "joint/limit@acceleration": Rule("listed", RATES),
    "joint/limit@deceleration": Rule("listed", RATES),
    "joint/limit@jerk": Rule("listed", RATES),
    "joint/mimic": Rule("acts", "a hard constraint: the joint follows another one"),
    "joint/mimic@joint": Rule("acts", "the joint that it follows"),
    "joint/mimic@multiplier": Rule("acts", "how far for one radian or metre; 1 by default"),
    "joint/mimic@offset": Rule("acts", "where at zero [rad, m]"),
    "joint/calibration": Rule("listed", CALIBRATION),
    "joint/calibration@reference_position": Rule("listed", CALIBRATION),
    "joint/calibration@rising": Rule("listed", CALIBRATION),
    "joint/calibration@falling": Rule("listed", CALIBRATION),
    "joint/safety_controller": Rule("listed", SAFETY),
    "joint/safety_controller@soft_lower_limit": Rule("listed", SAFETY),
    "joint/safety_controller@soft_upper_limit": Rule("listed", SAFETY),
    "joint/safety_controller@k_position": Rule("listed", SAFETY),
    "joint/safety_controller@k_velocity": Rule("listed", SAFETY),
    **_material("material"),
    "transmission": Rule("listed", DRIVES, many=True, inside=True),
    "gazebo": Rule("listed", PROGRAMS, many=True, inside=True),
    "sensor": Rule("listed", PROGRAMS, many=True, inside=True),
    "model_state": Rule("listed", PROGRAMS, many=True, inside=True),
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

    The order is that of `RULES`, followed by content unknown to URDF.

    Raises:
        ModelError: for an element that occurs twice where the format has one.
    """
    found: dict[str, dict[str, list[str]]] = {rule.what: {} for rule in RULES.values()}
    for group, key, owner in _listed(root, "", "", shown):
        found[group].setdefault(key, []).append(owner)
    apart = {group: found.pop(group) for group in (PROGRAMS, PART)}
    for group, owners in found.items():
        made.leave_out(group, (name for names in owners.values() for name in names))
    for group, owners in apart.items():
        made.leave_out(group, (owned(key, names) for key, names in owners.items()))


def _listed(element: Element, path: str, owner: str, shown: str) -> Iterator[tuple[str, str, str]]:
    """Yield the omitted content of an element: the words, the content, and its link or joint."""
    for attribute, value in element.attrib.items():
        key = f"{path}@{attribute}"
        rule = RULES.get(key)
        if attribute.startswith("xmlns"):
            continue
        if rule is None or rule.what == PART:
            yield PART, f"{path or 'robot'} {attribute}", owner
        elif rule.fate == "listed" and not _is_default(key, value):
            yield rule.what, key, owner
    seen: set[str] = set()
    for child in element:
        key = f"{path}/{child.tag}" if path else child.tag
        rule, name = RULES.get(key), owner or child.get("name") or child.get("reference") or ""
        if rule is not None and not rule.many and child.tag in seen:
            if rule.fate != "drawn":
                raise ModelError(
                    f"{shown}: {owned(path, [owner])} has two elements {child.tag}, expected one."
                )
            yield PART, f"a second {key}", name
        seen.add(child.tag)
        if rule is None:
            _refuse_xacro(child.tag, shown)
            yield PART if path else PROGRAMS, key, name
        elif rule.inside:
            yield rule.what, key, name
        else:
            # Limits are listed by their attributes, so that a limit of speed alone does not list
            # others.
            if rule.fate == "listed" and key != "joint/limit":
                yield rule.what, key, name
            yield from _listed(child, key, name, shown)


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
