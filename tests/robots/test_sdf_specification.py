"""Completeness of the reader: an element or attribute of SDF changes the motion or pictures, is
listed, or is refused; none is ignored silently.
"""

import dataclasses
import re
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
import pytest

from zwang.errors import ModelError
from zwang.robots.sdf import read
from zwang.robots.sdf_specification import OPENED, RULES
from zwang.robots.specification import table

FILE = Path(__file__).with_name("sdf_specification.txt")
NEWEST = (1, 12)


class Part(NamedTuple):
    """An element or attribute of the format: its path, first and last version, and type."""

    path: str
    since: tuple[int, int]
    until: tuple[int, int]
    type: str


def definitions() -> tuple[dict[str, str], dict[str, list[tuple[str, Part]]]]:
    """Elements by definition, and the parts of each with the definition that stands below."""
    tags, parts, name = {}, {}, ""
    for line in FILE.read_text().splitlines():
        if line.startswith("#"):
            continue
        if found := re.fullmatch(r"\[(\w+)\] (\w+)", line):
            name = found[1]
            tags[name], parts[name] = found[2], []
            continue
        path, rest = line.split(" | ")
        since, until, *type = rest.split(" ", 2)
        versions = (tuple(map(int, x.split("."))) for x in (since, until))
        path, _, other = path.partition("< ")
        path, _, again = path.partition(" = ")
        path = path.strip()
        if again:
            # an element of its own kind inside, which is not followed again
            parts[name].append(("", Part(path, *versions, "")))
            continue
        parts[name].append((other, Part("" if path == "." else path, *versions, "".join(type))))
    return tags, parts


TAGS, PARTS = definitions()


def below(definition: str, path: str, since=(1, 5), until=NEWEST) -> list[Part]:
    """All parts of a definition whose element has a path; those of worlds, models, links and
    joints are left to them.
    """
    found = []
    for other, part in PARTS[definition]:
        join = "" if part.path.startswith("@") or not part.path else "/"
        at = f"{path}{join}{part.path}"
        span = max(since, part.since), min(until, part.until)
        if not other:
            found.append(Part(at, *span, part.type))
            continue
        at = f"{at}/{TAGS[other]}"
        if other in OPENED:
            found.append(Part(at, *span, ""))
        else:
            found += below(other, at, *span)
    return found


ALL = [
    part
    for name, path in (("root", "sdf"), *((x, x) for x in OPENED))
    for part in below(name, path)
    if part.path != path
]
"""All parts of the format, by their paths below the nearest world, model, link or joint."""


def ruled(path: str) -> str | None:
    """The path of a part that has a rule, or of what it is listed with."""
    if path in RULES:
        return path
    around = re.sub(r"[@/][^@/]*$", "", path)
    found = ruled(around) if around != path else None
    return found if found is not None and RULES[found].fate == "listed" else None


def test_every_part_of_the_format_has_a_rule_or_is_listed_with_what_is_around_it():
    assert len({part.path for part in ALL}) > 1500
    missing = sorted({part.path for part in ALL if ruled(part.path) is None})
    assert not missing, missing


def test_every_rule_is_of_a_part_of_the_format():
    known = {part.path for part in ALL}
    inherited = {x for x in RULES if x.startswith("link/inertial/pose@")}
    assert set(RULES) - known - inherited == set()
    last: dict[str, tuple[int, int]] = {}
    for part in ALL:
        last[part.path] = max(part.until, last.get(part.path, (0, 0)))
    ended = {x: last[x] for x in known & set(RULES) if RULES[x].fate != "listed"}
    assert {x: min(RULES[x].until, NEWEST) for x in ended} == ended


# --- files with one part more, or with another value of it

INERTIAL = "<inertial><mass>2</mass><inertia><ixx>1.1</ixx></inertia></inertial>"
LINKS = "".join(f'<link name="{name}">{INERTIAL}</link>' for name in "bcdhwu")
BASE = f"""<sdf version="1.12"><world name="world">
<frame name="far"><pose>1 2 3 0.1 0.2 0.3</pose></frame>
<frame name="near"><pose>3 0 0 0.1 0 0</pose></frame>
<joint name="hold" type="fixed"><parent>near</parent><child>m::e</child></joint>
<model name="m"><pose relative_to="far">0 1 0 0.2 0 0</pose>
<frame name="f"><pose>0.3 0 0 0 0 0.4</pose></frame>
<link name="a"><pose>0 0 1 0.3 0 0</pose>{INERTIAL}</link>{LINKS}
<link name="e"><pose relative_to="f"/>{INERTIAL}</link>
<joint name="k" type="universal"><parent>world</parent><child>a</child><axis><xyz>1 0 0</xyz></axis>
<axis2><xyz>0 1 0</xyz></axis2></joint>
<joint name="r" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis>
</joint>
<joint name="s" type="screw"><parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="x" type="revolute"><parent>a</parent><child>d</child><axis><xyz>0 1 0</xyz></axis>
</joint>
<joint name="y" type="revolute2"><parent>a</parent><child>h</child>
<pose>0 0 0 0 0.3 0.1</pose><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
<joint name="q" type="fixed"><parent>__model__</parent><child>w</child></joint>
<joint name="z" type="gearbox"><parent>b</parent><child>d</child>
<gearbox_reference_body>a</gearbox_reference_body><axis><xyz>0 1 0</xyz></axis>
<axis2><xyz>0 1 0</xyz></axis2></joint></model></world></sdf>"""
FILES = {
    f"{name}.sdf": f"""<sdf version="1.7"><model name="{name}"><frame name="mark">
    <pose>1 0 0 0 0 0</pose></frame><link name="base">{INERTIAL}</link></model></sdf>"""
    for name in ("part", "other")
}
"""Files that are included."""
SUBJECTS = {
    "sdf": ".",
    "world": "world",
    "model": "world/model",
    "link": "world/model/link[@name='a']",
    "link@name": "world/model/link[@name='u']",
    "joint": "world/model/joint[@name='y']",
    "joint@name": "world/model/joint[@name='s']",
    "joint/parent": "world/model/joint[@name='r']",
    "joint/child": "world/model/joint[@name='r']",
    "joint/gearbox_ratio": "world/model/joint[@name='z']",
    "joint/gearbox_reference_body": "world/model/joint[@name='z']",
    "joint/thread_pitch": "world/model/joint[@name='s']",
    "joint/screw_thread_pitch": "world/model/joint[@name='s']",
}
"""Where a part is put, by its path or the beginning of that."""
POSE = "0.1 0.2 0.3 0.4 0.5 0.6"
BY_TYPE = {
    "pose": POSE,
    "vector3": "0.1 0.2 0.3",
    "color": "0.1 0.2 0.3 1",
    "double": "0.4",
    "bool": "true",
    "string": "word",
}
"""Values by the type of a part."""
VALUES = {
    "joint/parent": "u",
    "joint/child": "u",
    "joint@type": "fixed",
    "joint/gearbox_reference_body": "c",
    "joint/axis/xyz@expressed_in": "f",
    "joint/axis2/xyz@expressed_in": "f",
    "joint/axis/mimic@joint": "r",
    "joint/axis2/mimic@joint": "r",
    "joint/axis/mimic@axis": "axis2",
    "joint/axis2/mimic@axis": "axis2",
    "link/gravity": "false",
    "link/visual/geometry/mesh/uri": "a.stl",
    "link/visual/geometry/mesh/scale": "1 2 3",
    "link/visual/geometry/box/size": "1 2 3",
    "link/visual/geometry/ellipsoid/radii": "1 2 3",
    "model@canonical_link": "u",
    "model@placement_frame": "f",
    "model/frame@attached_to": "a",
    "model/allow_auto_disable": "false",
    "world/frame@attached_to": "m",
    "sdf@version": "1.4",
    "world/include/uri": "other.sdf",
    "model/include/uri": "other.sdf",
    "world/include/placement_frame": "mark",
    "model/include/placement_frame": "mark",
    "model/link/inertial/mass": "3",
}
for path in [part.path for part in ALL]:
    if path.endswith(("pose@relative_to", "pose@frame")):
        in_world, frame = path.startswith(("world", "model/pose")), path.startswith("model/frame")
        VALUES[path] = "near" if in_world else "a" if frame else "f"
    if path.endswith("pose@rotation_format"):
        VALUES[path] = "quat_xyzw"
NEEDS = {
    "mimic": '<mimic joint="k"><multiplier>2</multiplier></mimic>',
    "include": "<include><uri>part.sdf</uri><pose>1 2 3 0 0 0.2</pose></include>",
    "visual": '<visual name="v"><geometry><sphere><radius>1</radius></sphere></geometry></visual>',
    "material": "<material><ambient>1 0 0 1</ambient></material>",
    "pose": f"<pose>{POSE}</pose>",
    "dynamics": "<dynamics><spring_stiffness>3</spring_stiffness></dynamics>",
    "cylinder": "<cylinder><radius>1</radius><length>1</length></cylinder>",
    "capsule": "<capsule><radius>1</radius><length>1</length></capsule>",
    "mesh": "<mesh><uri>b.stl</uri></mesh>",
    "box": "<box><size>1 1 1</size></box>",
    "ellipsoid": "<ellipsoid><radii>1 1 1</radii></ellipsoid>",
    "model": f'<model name="new"><link name="base">{INERTIAL}</link></model>',
}
"""A part, or what stands around one, where an empty element would make no sense."""
SOLID = "<collision><geometry><box><size>1 2 3</size></box></geometry></collision>"
AUTO = {
    "link/inertial@auto": f"<link>{SOLID}<inertial/></link>",
    "link/inertial/density": f'<link>{SOLID}<inertial auto="true"/></link>',
}
"""What a link has instead of its inertia, for parts that ask for its shape."""
REFUSED = {
    "world/include@merge": "a model with links is merged into the world",
    "world/frame@name": "there is no frame 'far'",
    "model/frame@name": "there is no frame 'f'",
    "model@name": "there is no model 'm'",
}
"""Parts that are refused in the files that are made here, and the reason."""


@dataclasses.dataclass
class Reading:
    """What of a robot is compared: its motion, its pictures, and what is listed."""

    motion: str
    pictures: str
    listed: tuple[str, ...]


def reading(root: Element, folder: Path) -> Reading | str:
    """What is read, or the sentence that refuses it."""
    path = folder / "r.sdf"
    path.write_text(ElementTree.tostring(root, encoding="unicode"))
    try:
        made = read(path)
    except ModelError as error:
        return str(error)
    with np.printoptions(precision=15, threshold=10**6):
        fields = {x.name: getattr(made, x.name) for x in dataclasses.fields(made)}
        listed = (*fields.pop("unsupported"), *fields.pop("notes"))
        pictures = repr(fields.pop("shapes"))
        return Reading(repr(fields), pictures, listed)


def subject(root: Element, path: str) -> Element:
    key = max((x for x in SUBJECTS if path.startswith(x)), key=len)
    found = root.find(SUBJECTS[key])
    assert found is not None
    return found


def child(at: Element, tag: str, *, new: bool = False) -> Element:
    """The child of an element, or a new one."""
    found = None if new else at.find(tag)
    if tag in ("box", "cylinder", "capsule", "ellipsoid", "mesh", "empty") and found is None:
        # instead of the shape that is there
        at.clear()
    if found is None:
        found = ElementTree.fromstring(NEEDS.get(tag, f"<{tag}/>"))
        at.append(found)
    return found


def around(part: Part) -> tuple[Element, Element, str, str]:
    """A file with everything around a part: its root, the element around, the part's tag and
    attribute.
    """
    root = ElementTree.fromstring(BASE)
    rule = RULES[ruled(part.path) or ""]
    root.set("version", ".".join(map(str, min(part.until, rule.until, NEWEST))))
    elements, _, attribute = part.path.partition("@")
    at, tags = subject(root, part.path), elements.split("/")[1:]
    if part.path in AUTO:
        at.remove(child(at, "inertial"))
        at.extend(ElementTree.fromstring(AUTO[part.path]))
    for tag in tags if attribute else tags[:-1]:
        near = part.path == "world/frame@attached_to"
        found = at.find("frame[@name='near']") if near else child(at, tag)
        assert found is not None
        at = found
    return root, at, "" if attribute else tags[-1], attribute


def pair(part: Part) -> tuple[Element, Element]:
    """A file without a part, or with one value of it, and with it, or another value."""
    value = VALUES.get(part.path, BY_TYPE.get(part.type, "0.4" if part.type else ""))
    if part.path == "sdf/model":
        other = ElementTree.fromstring(FILES["part.sdf"])
        return Element("sdf", {"version": "1.7"}), other
    (without, at, tag, attribute), (within, to, _, _) = around(part), around(part)
    if part.path == "link/visual/material/diffuse":
        # not beside the other color
        at.clear(), to.clear()
    if attribute:
        if value == "quat_xyzw":
            to.text = at.text = f"{POSE} 0.7"
        if attribute == "frame":
            to.attrib.pop("relative_to", None)
        to.set(attribute, value)
        return without, within
    there = at.find(tag)
    if there is None or (RULES[part.path].many and tag in NEEDS):
        made = child(to, tag, new=True)
        made.text = made.text if len(made) else value or made.text
    elif value and not len(there):
        child(to, tag).text = value
    else:
        # it is in the file already
        at.remove(there)
    return without, within


MINE = [part for part in ALL if part.path in RULES]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("part", MINE, ids=[part.path for part in MINE])
def test_a_part_acts_or_is_listed_or_is_refused(part, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    rule = RULES[part.path]
    without, within = pair(part)
    before, after = reading(without, tmp_path), reading(within, tmp_path)
    if part.path in REFUSED:
        assert isinstance(after, str) and REFUSED[part.path] in after
        return
    assert isinstance(after, Reading), after
    if rule.fate == "names" or isinstance(before, str):
        return
    same = [x for x in ("motion", "pictures", "listed") if getattr(before, x) == getattr(after, x)]
    if rule.fate == "acts":
        assert "motion" not in same
    elif rule.fate == "drawn":
        assert "pictures" not in same
    else:
        new = set(after.listed) - set(before.listed)
        assert any(x.startswith(rule.what) for x in new), (after.listed, before.listed)


INSIDE: dict[str, list[Part]] = {}
"""Parts by the listed part that they are inside of."""
for part in ALL:
    if part.path not in RULES:
        INSIDE.setdefault(ruled(part.path) or "", []).append(part)


@pytest.mark.parametrize("listed", sorted(INSIDE))
def test_what_is_inside_of_a_listed_part_is_listed_with_it_and_moves_nothing(listed, tmp_path):
    """A file with all of it, beside one with nothing of the kind."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    until = max(part.until for part in INSIDE[listed])
    (without, *_), (within, to, tag, _) = (
        around(Part(listed, (1, 5), until, "")) for _ in range(2)
    )
    outer = child(to, tag, new=RULES[listed].many)
    for part in INSIDE[listed]:
        elements, _, attribute = part.path.removeprefix(listed).partition("@")
        value = VALUES.get(part.path, BY_TYPE.get(part.type, "0.4" if part.type else ""))
        at = outer
        for tag in elements.split("/")[1:]:
            at = child(at, tag)
        if attribute:
            at.set(attribute, value)
        elif not len(at):
            at.text = value
    before, after = reading(without, tmp_path), reading(within, tmp_path)
    assert isinstance(before, Reading) and isinstance(after, Reading), (before, after)
    assert before.motion == after.motion
    assert before.pictures == after.pictures or listed.startswith("link/visual/geometry")
    new = set(after.listed) - set(before.listed)
    assert any(x.startswith(RULES[listed].what) for x in new), (after.listed, before.listed)


def test_the_table_has_every_rule():
    assert len(table(RULES).splitlines()) == len(RULES) + 2
