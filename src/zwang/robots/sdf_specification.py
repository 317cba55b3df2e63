"""SDF's elements and attributes with their treatment, for the reader, documentation and tests.

The names are those of the format's description, versions 1.5 to 1.12 (the files `sdf/1.*/*.sdf` of
sdformat), read at 2ace536.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from xml.etree.ElementTree import Element

from zwang.errors import ModelError
from zwang.robots.description import CONTACTS, FRICTION, LIMITS, Description
from zwang.robots.specification import FORCE, SPEED, Fate, Rule, owned

ENDLESS = 1e16
"""Size from which on a limit counts as none: files write such limits for infinity."""


def number(accepted: Callable[[float], bool]) -> Callable[[str], bool]:
    """Make a test of whether a text is a number without effect."""

    def neutral(text: str) -> bool:
        try:
            return accepted(float(text))
        except ValueError:
            return False

    return neutral


off = lambda text: text.strip().lower() in ("", "0", "false")
on = lambda text: text.strip().lower() in ("", "1", "true")
zero = number(lambda x: x == 0)
STOPS = "stops of joints"
SENSORS, PLUGINS, ENGINES = "sensors", "plugins", "settings of engines"
LOOKS, LIGHTS = "looks beyond shape and color", "lights and projectors"
WORLD, MODEL, LINK = "parts of the world", "elements of the model", "parts of links"
WIND, DECAY = "wind", "damping of links by their own velocity"
GUIDED, ADDED = "links that are moved from outside", "added mass of a fluid"
AXES = "axes that are not asked for"
INERTIAL_RELATIVE_UNTIL = (1, 7)
"""The last version in which the pose of an inertia may be relative to another frame."""
PART = "parts that the file's version of SDF does not have"
INSIDE = "frames inside of links and joints"
JOINTS_STAND_STILL = "static (links that no joint carries are held, but joints move here)"


def _pose(path: str, fate: Fate, of: str) -> dict[str, Rule]:
    """The rules of a pose."""
    return {
        f"{path}/pose": Rule(fate, f"where the {of} is"),
        f"{path}/pose@relative_to": Rule(fate, "the frame that it is given in"),
        f"{path}/pose@frame": Rule(fate, "the same, in old versions", until=(1, 6)),
        f"{path}/pose@degrees": Rule(fate, "whether its angles are degrees"),
        f"{path}/pose@rotation_format": Rule(fate, "roll, pitch and yaw, or a quaternion"),
    }


SIZES = {
    "box": ("size",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "ellipsoid": ("radii",),
}
"""Shapes by their numbers."""


def _geometry(path: str, fate: Fate, shapes: dict[str, tuple[str, ...]]) -> dict[str, Rule]:
    """The rules of a shape; unknown shapes are listed."""
    made = {f"{path}/geometry": Rule(fate, "a shape")}
    for kind, names in shapes.items():
        made[f"{path}/geometry/{kind}"] = Rule(fate, f"a {kind}")
        made |= {f"{path}/geometry/{kind}/{x}": Rule(fate, f"its {x}") for x in names}
    return made


def _axis(path: str) -> dict[str, Rule]:
    """The rules of an axis."""
    return {
        path: Rule("acts", "an axis of the joint"),
        f"{path}/xyz": Rule("acts", "its direction, of any length"),
        f"{path}/xyz@expressed_in": Rule("acts", "the frame that it is given in"),
        f"{path}/use_parent_model_frame": Rule(
            "acts", "whether it is given in the model's frame", until=(1, 6)
        ),
        f"{path}/initial_position": Rule("acts", "the coordinate at the start", until=(1, 8)),
        f"{path}/dynamics": Rule("acts", "what the joint resists with"),
        f"{path}/dynamics/damping": Rule("acts", "damping [N·m·s/rad, N·s/m]"),
        f"{path}/dynamics/friction": Rule("listed", FRICTION, neutral=zero),
        f"{path}/dynamics/spring_stiffness": Rule("acts", "a spring [N·m/rad, N/m]"),
        f"{path}/dynamics/spring_reference": Rule("acts", "where the spring is slack"),
        f"{path}/limit": Rule("names", "limits, which follow"),
        f"{path}/limit/lower": Rule("listed", LIMITS, neutral=number(lambda x: x <= -ENDLESS)),
        f"{path}/limit/upper": Rule("listed", LIMITS, neutral=number(lambda x: x >= ENDLESS)),
        f"{path}/limit/effort": Rule(
            "listed", FORCE, neutral=number(lambda x: x < 0 or x >= ENDLESS)
        ),
        f"{path}/limit/velocity": Rule(
            "listed", SPEED, neutral=number(lambda x: x < 0 or x >= ENDLESS)
        ),
        f"{path}/limit/stiffness": Rule("listed", STOPS, neutral=number(lambda x: x == 1e8)),
        f"{path}/limit/dissipation": Rule("listed", STOPS, neutral=number(lambda x: x == 1)),
        f"{path}/mimic": Rule("acts", "a hard constraint: the joint follows another one"),
        f"{path}/mimic@joint": Rule("acts", "the joint that it follows"),
        f"{path}/mimic@axis": Rule("acts", "the axis that it follows"),
        f"{path}/mimic/multiplier": Rule("acts", "how far for one radian or metre"),
        f"{path}/mimic/offset": Rule("acts", "where at the reference"),
        f"{path}/mimic/reference": Rule("acts", "where the other joint is then"),
    }


def _frame(path: str) -> dict[str, Rule]:
    return {
        path: Rule("acts", "a frame that poses are given in and joints may name", many=True),
        f"{path}@name": Rule("acts", "its name"),
        f"{path}@attached_to": Rule("acts", "what it moves with"),
        **_pose(path, "acts", "frame"),
    }


def _include(path: str) -> dict[str, Rule]:
    return {
        path: Rule("acts", "a model of another file; listed if that is not found", many=True),
        f"{path}@merge": Rule("acts", "whether its parts become parts of this model"),
        f"{path}/uri": Rule("acts", "its file or folder, beside this file or further up"),
        f"{path}/name": Rule("acts", "its name"),
        f"{path}/namespace": Rule("names", "a name for other programs"),
        f"{path}/static": Rule("acts", "whether it stands still"),
        f"{path}/placement_frame": Rule("acts", "the frame that the pose is of"),
        f"{path}/plugin": Rule("listed", PLUGINS, many=True),
        f"{path}/model_state": Rule("listed", MODEL),
        **_pose(path, "acts", "model"),
    }


RULES: dict[str, Rule] = {
    "sdf@version": Rule("acts", "the version of the format, 1.5 to 1.12"),
    "sdf/world": Rule("acts", "a world; its name is the robot's where it has several models"),
    "sdf/model": Rule("acts", "a model", many=True),
    "sdf/actor": Rule("listed", WORLD, many=True),
    "sdf/light": Rule("listed", WORLD, many=True),
    "world@name": Rule("names", "the world"),
    "world/gravity": Rule("acts", "gravity [m/s²]"),
    "world/physics": Rule("listed", ENGINES, many=True),
    "world/physics/gravity": Rule("acts", "gravity [m/s²]", until=(1, 5)),
    **_include("world/include"),
    **_frame("world/frame"),
    "world/model": Rule("acts", "a model; with several, names are `model::link`", many=True),
    "world/joint": Rule("acts", "a joint between models", many=True),
    "world/plugin": Rule("listed", PLUGINS, many=True),
    "world/wind": Rule("listed", WIND),
    **{
        f"world/{tag}": Rule("listed", WORLD, many=True)
        for tag in (
            "audio magnetic_field atmosphere gui scene light actor road spherical_coordinates "
            "state population"
        ).split()
    },
    "model@name": Rule("acts", "the model's name"),
    "model@namespace": Rule("names", "a name for other programs"),
    "model@canonical_link": Rule("acts", "the link that the model's frame moves with"),
    "model@placement_frame": Rule("acts", "the frame that the pose is of"),
    **_pose("model", "acts", "model"),
    **_frame("model/frame"),
    **_include("model/include"),
    "model/static": Rule("acts", "holds the links that no joint carries"),
    "model/self_collide": Rule("listed", CONTACTS, neutral=off),
    "model/allow_auto_disable": Rule("listed", ENGINES, neutral=on),
    "model/enable_wind": Rule("listed", WIND, neutral=off),
    "model/link": Rule("acts", "a body", many=True),
    "model/joint": Rule("acts", "a joint", many=True),
    "model/model": Rule("acts", "a nested model; its names are `model::link`", many=True),
    "model/plugin": Rule("listed", PLUGINS, many=True),
    "model/gripper": Rule("listed", MODEL, many=True),
    "model/model_state": Rule("listed", MODEL),
    "link@name": Rule("acts", "the body's name"),
    **_pose("link", "acts", "link"),
    "link/gravity": Rule("acts", "whether the link has weight"),
    "link/self_collide": Rule("listed", CONTACTS, neutral=off),
    "link/enable_wind": Rule("listed", WIND, neutral=off),
    "link/kinematic": Rule("listed", GUIDED, neutral=off),
    "link/must_be_base_link": Rule("listed", ENGINES, neutral=off),
    "link/velocity_decay": Rule("names", "damping, which follows"),
    "link/velocity_decay/linear": Rule("listed", DECAY, neutral=zero),
    "link/velocity_decay/angular": Rule("listed", DECAY, neutral=zero),
    "link/inertial": Rule("acts", "mass and inertia; without it 1 kg and 1 kg·m²"),
    "link/inertial@auto": Rule("acts", "whether they follow from collisions and densities"),
    "link/inertial/mass": Rule("acts", "the mass [kg], which is positive"),
    "link/inertial/density": Rule("acts", "density of collisions without their own [kg/m³]"),
    "link/inertial/auto_inertia_params": Rule("listed", LINK),
    **_pose("link/inertial", "acts", "center of mass"),
    "link/inertial/pose@relative_to": Rule(
        "acts", "the frame that it is given in", until=INERTIAL_RELATIVE_UNTIL
    ),
    "link/inertial/inertia": Rule("acts", "the inertia about the center of mass"),
    **{
        f"link/inertial/inertia/{name}": Rule("acts", "[kg·m²]")
        for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    },
    "link/inertial/fluid_added_mass": Rule("listed", ADDED),
    "link/collision": Rule("listed", CONTACTS, many=True),
    "link/visual": Rule("drawn", "a shape of the link", many=True),
    "link/visual@name": Rule("names", "the shape"),
    **_pose("link/visual", "drawn", "shape"),
    **_geometry("link/visual", "drawn", SIZES | {"mesh": ("uri", "scale")}),
    "link/visual/geometry/mesh/submesh": Rule("listed", LOOKS),
    "link/visual/geometry/mesh/convex_decomposition": Rule("listed", LOOKS),
    "link/visual/geometry/mesh@optimization": Rule("listed", LOOKS),
    **{
        f"link/visual/geometry/{kind}": Rule("listed", "pictures that cannot be drawn")
        for kind in ("cone", "heightmap", "image", "plane", "polyline")
    },
    "link/visual/geometry/empty": Rule("drawn", "no shape"),
    "link/visual/material": Rule("drawn", "its color"),
    "link/visual/material/ambient": Rule("drawn", "its color"),
    **{
        f"link/visual/material/{x}": Rule("listed", LOOKS)
        for x in (
            "script shader render_order lighting specular shininess emissive double_sided pbr"
        ).split()
    },
    "link/visual/material/diffuse": Rule("drawn", "its color, if it has no ambient one"),
    **{
        f"link/visual/{x}": Rule("listed", LOOKS)
        for x in "cast_shadows laser_retro transparency visibility_flags meta".split()
    },
    "link/visual/plugin": Rule("listed", PLUGINS, many=True),
    "link/sensor": Rule("listed", SENSORS, many=True),
    "link/light": Rule("listed", LIGHTS, many=True),
    "link/projector": Rule("listed", LIGHTS, many=True),
    "link/audio_sink": Rule("listed", LINK, many=True),
    "link/audio_source": Rule("listed", LINK, many=True),
    "link/battery": Rule("listed", LINK, many=True),
    "link/particle_emitter": Rule("listed", LINK, many=True),
    "joint@name": Rule("acts", "the joint's name"),
    "joint@type": Rule(
        "acts",
        "`revolute`, `continuous`, `prismatic`, `screw`, `universal`, `revolute2`, `ball`, "
        "`fixed`; `gearbox`: a coupling of two hinges",
    ),
    **_pose("joint", "acts", "joint"),
    "joint/parent": Rule("acts", "the frame that carries, or `world`"),
    "joint/child": Rule("acts", "the frame that is carried"),
    "joint/gearbox_ratio": Rule("acts", "of a gearbox: turns of the parent by those of the child"),
    "joint/gearbox_reference_body": Rule("acts", "of a gearbox: the link that carries its wheels"),
    "joint/thread_pitch": Rule("acts", "of a screw [rad/m], left-handed"),
    "joint/screw_thread_pitch": Rule("acts", "of a screw [m], right-handed"),
    **_axis("joint/axis"),
    **_axis("joint/axis2"),
    **{
        f"{path}/frame": Rule("listed", INSIDE, many=True, until=(1, 6))
        for path in ("link", "link/inertial", "link/visual", "joint")
    },
    "joint/physics": Rule("listed", ENGINES),
    "joint/sensor": Rule("listed", SENSORS, many=True),
}
"""Every element, and every attribute after an `@`, by its path below the nearest world, model, link
or joint. The content of a listed element is listed with it.
"""
OPENED = ("world", "model", "link", "joint")
"""Elements whose parts have paths of their own."""


def judge(roots: list[tuple[Element, tuple[int, int]]], made: Description, shown: str) -> None:
    """List the content of files that the model omits, given their roots and versions.

    Raises:
        ModelError: for an element that occurs twice where the format has one.
    """
    found: dict[str, dict[str, list[str]]] = {rule.what: {} for rule in RULES.values()}
    found[PART] = {}
    for root, version in roots:
        for group, key, owner in _listed(root, "sdf", "", version, shown):
            found[group].setdefault(key, []).append(owner)
    for group, owners in found.items():
        if group in (CONTACTS, LIMITS, FORCE, SPEED, FRICTION, DECAY, GUIDED, ADDED):
            made.leave_out(group, (name for names in owners.values() for name in names))
        else:
            made.leave_out(group, (owned(key, names) for key, names in owners.items()))


def _listed(
    element: Element, path: str, owner: str, version: tuple[int, int], shown: str
) -> Iterator[tuple[str, str, str]]:
    """Yield the omitted content of an element: the words, the content, and its owner."""
    for attribute, value in element.attrib.items():
        rule = RULES.get(f"{path}@{attribute}")
        if attribute.startswith("xmlns"):
            continue
        if rule is None or version > rule.until:
            yield PART, f"{path} {attribute}", owner
        elif rule.fate == "listed" and not rule.neutral(value):
            yield rule.what, f"{path} {attribute}", owner
    seen: set[str] = set()
    for child in element:
        key, name = f"{path}/{child.tag}", _owner(child, owner)
        rule = RULES.get(key)
        if rule is not None and version > rule.until:
            rule = None
        if rule is not None and not rule.many and child.tag in seen:
            if key.startswith("link/visual/"):  # An invalid picture does not refuse a robot.
                yield PART, f"a second {key}", name
                continue
            where = f"{path} {owner!r}" if owner else path
            raise ModelError(f"{shown}: {where} has two elements {child.tag}, expected one.")
        seen.add(child.tag)
        if rule is None:
            yield PART, key, name
        elif rule.fate == "listed":
            if not rule.neutral(child.text or ""):
                yield rule.what, key, name
        else:
            below = child.tag if child.tag in OPENED else key
            yield from _listed(child, below, name, version, shown)


def _owner(child: Element, owner: str) -> str:
    """The owner of a part: the link, the joint, or else the part itself."""
    if child.tag in OPENED or not owner:
        return child.get("name") or child.get("filename") or owner
    return owner
