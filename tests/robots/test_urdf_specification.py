"""Completeness of the reader: an element or attribute of URDF changes the motion or pictures, is
listed, or is refused; none is ignored silently.
"""

import copy
from xml.etree import ElementTree

import numpy as np
import pytest

from zwang.errors import ModelError
from zwang.robots.specification import table
from zwang.robots.urdf import read
from zwang.robots.urdf_specification import DEFAULTS, RULES

MASS = """<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="2"/>
<inertia ixx="0.2" iyy="0.3" izz="0.25" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial>"""
SHAPES = "".join(
    f"""<{{0}} name="{{0}} {i}"><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><geometry>{shape}</geometry>
    {material}</{{0}}>"""
    for i, (shape, material) in enumerate(
        [
            ('<box size="1 2 3"/>', '<material name="red"/>'),
            ('<sphere radius="2"/>', ""),
            (
                '<cylinder radius="2" length="3"/>',
                '<material name="own"><color rgba="0 1 0 1"/><texture filename="t"/></material>',
            ),
            ('<capsule radius="2" length="3"/>', ""),
            ('<mesh filename="a.stl" scale="2 3 4"/>', ""),
        ]
    )
)
VISUAL = SHAPES.format("visual")
CONTACT = SHAPES.format("collision").replace("</geometry>", '</geometry><verbose value="v"/>', 1)
FULL = f"""<robot name="r" version="1.1"><link name="base"/>
<link name="a" type="laser">{MASS}{VISUAL}</link><link name="b">{MASS}{CONTACT}</link>
<joint name="i" type="revolute"><parent link="base"/><child link="a"/>
<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="3" velocity="4" acceleration="5" deceleration="6" jerk="7"/>
<dynamics damping="0.1" friction="0.2"/><calibration reference_position="1" rising="2" falling="3"/>
<safety_controller soft_lower_limit="1" soft_upper_limit="2" k_position="3" k_velocity="4"/></joint>
<joint name="k" type="continuous"><parent link="a"/><child link="b"/>
<mimic joint="i" multiplier="2" offset="0.1"/></joint>
<material name="red"><color rgba="1 0 0 1"/><texture filename="t"/></material>
<transmission name="t" type="x"><joint name="i"/></transmission><gazebo reference="a"/>
<sensor name="s" type="camera"/><model_state model="r"/></robot>"""
POSE = ("origin", "origin@xyz", "origin@rpy", "origin@quat_xyzw")
COLOR = ("material", "material@name", "material/color", "material/color@rgba", "material/texture")
COLOR += ("material/texture@filename",)
GEOMETRY = ("geometry", "geometry/box", "geometry/box@size", "geometry/cylinder")
GEOMETRY += ("geometry/cylinder@radius", "geometry/cylinder@length", "geometry/sphere")
GEOMETRY += ("geometry/sphere@radius", "geometry/mesh", "geometry/mesh@filename")
GEOMETRY += ("geometry/mesh@scale",)
SCHEMA = {
    *("@name", "@version", "link", "link@name", "link@type", *COLOR),
    *(f"link/inertial/{x}" for x in (*POSE, "mass", "mass@value", "inertia")),
    *(f"link/inertial/inertia@{x}" for x in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")),
    *(f"link/visual/{x}" for x in (*POSE, *GEOMETRY, *COLOR)),
    *(f"link/collision/{x}" for x in (*POSE, *GEOMETRY, "verbose", "verbose@value")),
    *("link/inertial", "link/visual", "link/collision", "link/collision@name"),
    *("joint", "joint@name", "joint@type", *(f"joint/{x}" for x in POSE)),
    *("joint/parent", "joint/parent@link", "joint/child", "joint/child@link", "joint/axis"),
    *("joint/axis@xyz", "joint/calibration", "joint/dynamics", "joint/limit", "joint/mimic"),
    *(f"joint/calibration@{x}" for x in ("reference_position", "rising", "falling")),
    *(f"joint/dynamics@{x}" for x in ("damping", "friction")),
    *(f"joint/limit@{x}" for x in ("lower", "upper", "effort", "velocity")),
    *(f"joint/mimic@{x}" for x in ("joint", "multiplier", "offset")),
    *(f"joint/safety_controller@{x}" for x in ("soft_lower_limit", "soft_upper_limit")),
    *(f"joint/safety_controller@{x}" for x in ("k_position", "k_velocity")),
    *("joint/safety_controller", "transmission", "transmission@name", "transmission@type"),
    *(f"transmission/{x}" for x in ("leftActuator", "rightActuator", "flexJoint", "rollJoint")),
    *(f"transmission/{x}" for x in ("gap_joint", "passive_joint", "mechanicalReduction")),
    *(f"transmission/{x}" for x in ("use_simulated_gripper_joint", "actuator", "joint")),
}
"""Every element and attribute of URDF's schema, `urdf.xsd`."""


def found(path: str, root: ElementTree.Element) -> list[ElementTree.Element]:
    """The elements at a path, or those that have the attribute behind its `@`."""
    path, _, attribute = path.partition("@")
    elements = root.findall(path) if path else [root]
    return [x for x in elements if not attribute or attribute in x.attrib]


def remove(path: str, root: ElementTree.Element) -> None:
    """Take an element or attribute out, wherever it stands."""
    path, _, attribute = path.partition("@")
    if attribute:
        for element in found(f"{path}@{attribute}", root):
            del element.attrib[attribute]
        return
    above, _, tag = path.rpartition("/")
    for parent in root.findall(above) if above else [root]:
        for child in parent.findall(tag):
            parent.remove(child)


def full(path: str) -> ElementTree.Element:
    """A file that has everything, but for what says the same as the entry in question."""
    root = ElementTree.fromstring(FULL)
    if path.endswith("@quat_xyzw"):
        for element in found(path.replace("quat_xyzw", "rpy"), root):
            del element.attrib["rpy"]
            element.set("quat_xyzw", "0.1 0.2 0.3 0.9")
    return root


def description(root: ElementTree.Element, tmp_path):
    return read(tmp_path / "a.urdf", copy.deepcopy(root))


def motion(made) -> str:
    """All that a motion follows from, as a text."""
    with np.printoptions(precision=17, threshold=10**6):
        parts = (made.name, made.branches, made.damping, made.couplings, made.start, made.gravity)
        return repr(parts)


def test_the_table_has_all_that_the_schema_has():
    whole = {path for path, entry in RULES.items() if entry.inside}
    assert not {x for x in SCHEMA - RULES.keys() if x.partition("@")[0].split("/")[0] not in whole}
    assert all(f"`{path or 'robot'}`" in table(RULES) for path in RULES)


@pytest.mark.parametrize("path", [x for x, e in RULES.items() if e.fate == "acts"])
def test_what_acts_changes_the_motion_or_is_needed(path, tmp_path):
    root = full(path)
    assert found(path, root)
    complete = motion(description(root, tmp_path))
    remove(path, root)
    try:
        assert motion(description(root, tmp_path)) != complete
    except ModelError as error:
        assert str(tmp_path / "a.urdf") in str(error)


@pytest.mark.parametrize("path", [x for x, e in RULES.items() if e.fate in ("drawn", "names")])
def test_what_is_drawn_changes_pictures_alone(path, tmp_path):
    root = full(path)
    assert found(path, root)
    before = description(root, tmp_path)
    remove(path, root)
    after = description(root, tmp_path)
    assert motion(before) == motion(after)
    changed = before.shapes != after.shapes
    assert changed == (RULES[path].fate == "drawn")


@pytest.mark.parametrize("path", [x for x, e in RULES.items() if e.fate == "listed"])
def test_what_is_listed_is_listed_while_it_is_there(path, tmp_path):
    root, words = full(path), RULES[path].what
    assert found(path, root)
    kin = {x for x in RULES if path.startswith((f"{x}/", f"{x}@")) or x.startswith(path)}
    for other, entry in RULES.items():
        if entry.fate == "listed" and other not in kin:
            remove(other, root)
    with_it = description(root, tmp_path)
    assert any(x.startswith(f"{words}: ") for x in with_it.unsupported)
    for other in sorted(kin):
        if RULES[other].fate == "listed":
            remove(other, root)
    without = description(root, tmp_path)
    assert not any(x.startswith(words) for x in without.unsupported)
    assert motion(with_it) == motion(without)


@pytest.mark.parametrize("path", DEFAULTS)
def test_a_value_that_changes_nothing_is_not_listed(path, tmp_path):
    root = full(path)
    for element in found(path, root):
        element.set(path.partition("@")[2], "0.0")
    assert not any(x.startswith(RULES[path].what) for x in description(root, tmp_path).unsupported)


@pytest.mark.parametrize("where", [x for x in RULES if "@" not in x and not RULES[x].inside])
def test_what_urdf_does_not_have_is_listed(where, tmp_path):
    for strange in ("element", "attribute"):
        root = full(where)
        plain = motion(description(root, tmp_path))
        at = found(where, root)[0]
        if strange == "element" and where.rpartition("/")[2] == "geometry":
            at.append(ElementTree.Element("odd"))
        elif strange == "element":
            ElementTree.SubElement(at, "odd")
        else:
            at.set("odd", "1")
        made = description(root, tmp_path)
        (sentence,) = [x for x in made.unsupported if "odd" in x]
        assert sentence.startswith("parts that URDF does not have: ") and motion(made) == plain


@pytest.mark.parametrize("path", [x for x, e in RULES.items() if x and "@" not in x and not e.many])
def test_a_part_that_stands_twice_is_refused_or_listed(path, tmp_path):
    root = full(path)
    above, _, tag = path.rpartition("/")
    parent = next(x for x in root.findall(above) if x.find(tag) is not None)
    parent.append(copy.deepcopy(parent.find(tag)))
    if RULES[path].fate == "drawn":
        assert f"a second {path}" in " ".join(description(root, tmp_path).unsupported)
        return
    with pytest.raises(ModelError, match=f"two elements {tag}, expected one"):
        description(root, tmp_path)
