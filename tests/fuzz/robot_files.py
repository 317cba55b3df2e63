"""Random robot files: small URDF, SDF and MJCF files with modified values, elements and bytes."""

from __future__ import annotations

import copy
import re
from xml.etree import ElementTree

import numpy as np

import zwang as zw
from tests.fuzz.toml_files import folder
from tests.fuzz.warm_parser import run_isolated
from zwang.robots import mujoco_reader

INERTIA = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
MOVES = '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="2"/>'
FILES = {
    "arm.urdf": f"""<robot name="arm">
<link name="base"><inertial><mass value="2"/>{INERTIA}</inertial></link>
<link name="upper"><inertial><mass value="1"/><origin xyz="0 0 0.5"/>{INERTIA}</inertial></link>
<link name="lower"><inertial><mass value="1"/>{INERTIA}</inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="upper"/>{MOVES}</joint>
<joint name="j2" type="prismatic"><parent link="upper"/><child link="lower"/>{MOVES}
<mimic joint="j1" multiplier="2" offset="0.1"/></joint></robot>""",
    "arm.sdf": """<sdf version="1.7"><model name="arm">
<link name="upper"><inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy>
<izz>0.1</izz></inertia></inertial></link>
<link name="lower"><pose>0 0 1 0 0 0</pose><inertial><mass>2</mass></inertial></link>
<joint name="j1" type="revolute"><parent>world</parent><child>upper</child>
<axis><xyz>0 1 0</xyz></axis></joint>
<joint name="j2" type="prismatic"><parent>upper</parent><child>lower</child>
<axis><xyz>1 0 0</xyz></axis></joint></model></sdf>""",
    "arm.xml": """<mujoco model="arm"><option gravity="0 0 -9.81"/><worldbody>
<body name="upper" pos="0 0 1"><joint name="j1" type="hinge" axis="0 1 0" damping="0.1"/>
<inertial pos="0 0 -0.5" mass="1" diaginertia="0.1 0.1 0.1"/>
<body name="lower" pos="0 0 -1"><joint name="j2" type="slide" axis="1 0 0"/>
<geom type="sphere" size="0.1" mass="1"/></body></body></worldbody>
<equality><joint joint1="j1" joint2="j2" polycoef="0 1 0 0 0"/></equality>
<actuator><motor joint="j1" gear="3"/></actuator></mujoco>""",
}
ALONE = 0.01
"""Part of the files that are read in a process of their own, as users' files are; the others in a
fork of one that has imported MuJoCo, which takes a tenth of the time."""
VALUES = ("", "0", "-1", "nan", "inf", "1e300", "1 2", "0 0 0", "1 2 3 4", "text", "j1", "upper")
VALUES += (
    "base",
    "world",
    "revolute",
    "fixed",
    "ball",
    "free",
    "&lt;",
    "\u00e9",
    "a" * 300,
    "../x",
)
_VALUE, _ELEMENT = re.compile(r'(?<=")[^"]*(?=")|(?<=>)[^<>\n]+(?=<)'), re.compile(r"</?[^<>]*>")


BROKEN = 0.2
"""Part of the files whose text is changed, which is mostly no XML then; of others the tree is."""


def changed(text: str, random: np.random.Generator) -> bytes:
    """A file with one to three values or elements changed, taken away, moved or doubled."""
    times = random.integers(1, 4)
    if random.random() >= BROKEN:
        root = ElementTree.fromstring(text)
        for _ in range(times):
            _change_tree(root, random)
        return ElementTree.tostring(root)
    for _ in range(times):
        kind = random.integers(4)
        spots = list((_VALUE if kind < 2 else _ELEMENT).finditer(text))
        if not spots:
            break
        spot = spots[int(random.integers(len(spots)))]
        put = str(random.choice(VALUES)) if kind < 2 else "" if kind == 2 else 2 * spot.group()
        text = text[: spot.start()] + put + text[spot.end() :]
    content = text.encode()
    if random.random() < 0.1:
        content = content[: int(random.integers(len(content)))]
    return content


def _change_tree(root: ElementTree.Element, random: np.random.Generator) -> None:
    """Change one value or element."""
    elements = [x for x in root.iter()]
    pick = lambda found: found[int(random.integers(len(found)))]
    element, value = pick(elements), str(random.choice(VALUES)).replace("&lt;", "<")
    kind = random.integers(6)
    if kind < 3 and element.attrib:
        element.set(pick(sorted(element.attrib)), value)
    elif kind < 3:
        element.text = value
    elif kind == 3 and element.attrib:
        del element.attrib[pick(sorted(element.attrib))]
    elif len(element):
        child = pick(list(element))
        if kind == 4:
            element.remove(child)
        else:
            pick(elements).append(copy.deepcopy(child))


def case(random: np.random.Generator) -> None:
    """A robot is read, or a sentence says what is wrong with it."""
    name = str(random.choice(list(FILES)))
    path = folder() / name
    path.write_bytes(changed(FILES[name], random))
    alone = mujoco_reader.run_isolated
    if random.random() >= ALONE:
        mujoco_reader.run_isolated = run_isolated
    try:
        zw.robot(path)
    finally:
        mujoco_reader.run_isolated = alone
