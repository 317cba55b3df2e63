"""No element or attribute of MJCF is dropped without a word: each has a rule, and a file in which
it is changed gives another model, or another list of what is left out, or is refused.
"""

import copy
from xml.etree import ElementTree

import numpy as np
import pytest

import zwang as zw

from .mjcf_law import ACTS, LISTED, rule, schema
from .test_files import saved

pytest.importorskip(
    "mujoco", reason="the extra `robots` is not installed: pip install 'zwang[robots]'"
)

BASE = """<mujoco><compiler angle="radian"/><option><flag/></option><worldbody>
<body name="a" pos="0.1 0 0"><inertial mass="1" pos="0.1 0 0.2" quat="0.8 0.6 0 0"
diaginertia="0.2 0.3 0.25"/>
<joint name="j" axis="0 1 0" stiffness="2" damping="0.1" springref="0.1"/>
<site name="s" pos="0.1 0 0.2"/>
<body name="b" pos="0.5 0 0.3"><joint name="k" axis="1 0 0"/>
<geom name="g" type="box" size="0.1 0.2 0.3" contype="0" conaffinity="0"/></body></body>
<body name="c" pos="0 2 0"><freejoint name="f"/><geom type="box" size="0.1 0.2 0.3"/>
<site name="t"/></body>
<body name="d" pos="0 3 0"><joint name="l"/><geom type="box" size="0.1 0.2 0.3"/></body>
</worldbody>
<tendon><fixed name="T"><joint joint="j" coef="1"/></fixed>
<fixed name="U"><joint joint="k" coef="2"/></fixed></tendon>
<equality><connect name="e" body1="b" body2="c" anchor="0.1 0 0"/>
<weld name="w" body1="d" body2="c" anchor="0 0.1 0"/>
<joint name="x" joint1="j" joint2="k" polycoef="0 1 0 0 0"/>
<tendon name="y" tendon1="T" tendon2="U" polycoef="0 1 0 0 0"/></equality>
<actuator><motor name="m" joint="j"/><position name="p" joint="k" kp="1"/>
<general name="n" joint="l"/></actuator></mujoco>"""

FLAGS = ("gravity", "damper", "spring", "equality", "constraint", "actuation")
PROBES = {
    "compiler": dict(settotalmass="3", boundmass="2", boundinertia="0.5", angle="degree"),
    "option": dict(gravity="1 2 3", density="1.2", viscosity="0.1", actuatorgroupdisable="0"),
    "option/flag": dict.fromkeys(FLAGS, "disable"),
    "worldbody/body": dict(pos="1 2 3", quat="0.8 0 0.6 0", gravcomp="1"),
    "worldbody/body/inertial": dict(
        mass="2", pos="0 0 1", quat="1 0 0 0", diaginertia="0.3 0.3 0.3"
    ),
    "worldbody/body/joint": dict(
        axis="0 0 1",
        pos="0.1 0 0",
        ref="0.2",
        stiffness="3",
        springref="0.3",
        damping="0.2",
        armature="0.1",
        frictionloss="0.1",
        range="-1 1",
        type="slide",
        actuatorfrcrange="-1 1",
        springyield="0.3",
        springdamper="0.1 1",
    ),
    "worldbody/body/body/geom": dict(
        size="0.3 0.2 0.1",
        mass="3",
        density="500",
        pos="0.1 0 0",
        quat="0.8 0 0.6 0",
        type="ellipsoid",
        contype="1",
        conaffinity="1",
        shellinertia="true",
    ),
    "worldbody/body/site": dict(),
    "tendon/fixed": dict(
        stiffness="1",
        damping="1",
        armature="0.1",
        frictionloss="0.1",
        range="-1 1",
        actuatorfrcrange="-1 1",
    ),
    "tendon/fixed/joint": dict(coef="3", joint="k"),
    "equality/connect": dict(active="false", anchor="0 0 0.2", body2="d"),
    "equality/weld": dict(
        active="false", anchor="0 0 0.2", relpose="0 0 1 1 0 0 0", torquescale="0", body2="b"
    ),
    "equality/joint": dict(active="false", polycoef="0.1 1 0.2 0 0", joint2="l"),
    "equality/tendon": dict(active="false", polycoef="0.1 1 0.2 0 0", tendon1="U"),
    "actuator/motor": dict(
        gear="3",
        ctrlrange="-1 1",
        forcerange="-1 1",
        joint="l",
        armature="0.1",
        damping="0.1",
        tendon="T",
        site="s",
        delay="0.1",
    ),
    "actuator/position": dict(kp="3", kv="2", dampratio="1", timeconst="0.2", ctrlrange="-1 1"),
    "actuator/general": dict(
        dyntype="integrator",
        gaintype="affine",
        gainprm="2",
        biasprm="1 2 3",
        dynprm="0.5",
        actrange="-1 1",
    ),
}
"""Values unlike those of the file, by element and attribute."""
HELPED = {
    ("actuator/motor", "tendon"): {"joint": None},
    ("actuator/motor", "site"): {"joint": None},
    ("actuator/motor", "delay"): {"nsample": "4"},
    ("actuator/general", "biasprm"): {"biastype": "affine"},
    ("actuator/general", "dynprm"): {"dyntype": "filter"},
    ("actuator/general", "actrange"): {"dyntype": "integrator"},
    ("worldbody/body/joint", "springdamper"): {"stiffness": None, "damping": None},
}
"""Attributes that a probe needs beside it, or must not have."""
ADDED = {
    "contact": '<contact><pair geom1="g" geom2="g2"/></contact>',
    "spatial": '<tendon><spatial name="S" stiffness="1"><site site="s"/><site site="t"/></spatial>'
    "</tendon>",
    "keyframe": '<keyframe><key name="home" time="1"/></keyframe>',
    "mocap": '<worldbody><body name="moved" mocap="true"/></worldbody>',
    "flexcomp": '<worldbody><flexcomp name="soft" type="grid" count="3 3 1" spacing=".1 .1 .1"'
    ' mass="1" dim="2" radius=".01"/></worldbody>',
    "adhesion": '<actuator><adhesion name="grip" body="c" ctrlrange="0 1"/></actuator>',
    "muscle": '<actuator><muscle name="pull" joint="j" range="0.1 1" lengthrange="0 1"/>'
    "</actuator>",
    "ball": '<worldbody><body name="z"><joint name="z" type="ball" stiffness="1"/>'
    '<geom size="0.1"/></body></worldbody>',
    "nothing to move": '<sensor><jointpos joint="j"/></sensor>',
}


def signature(folder, root: ElementTree.Element):
    """All that a robot is, or the sentence that refuses it."""
    path = saved(folder, ElementTree.tostring(root, encoding="unicode"), "probe.xml")
    try:
        robot = zw.robot(path)
    except zw.ModelError as error:
        assert "\n" not in str(error)
        return "refused", str(error)
    made = robot.description
    parts = [made.branches, made.gravity, made.armature, made.damping, made.stiffness, made.rest]
    parts += [made.start, made.loops, made.couplings, made.actuators, made.unsupported]
    with np.printoptions(precision=12):
        return repr(parts)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return signature(tmp_path_factory.mktemp("plain"), ElementTree.fromstring(BASE))


def test_every_element_and_attribute_of_the_schema_has_a_rule():
    found = schema()
    assert len(found) > 1000
    assert not [x for x in found if rule(*x) is None]


def test_probes_are_attributes_of_the_schema_that_matter():
    known = set(schema())
    for element, values in PROBES.items():
        way = "mujoco/" + element.replace("worldbody/body/body", "body").replace("worldbody/", "")
        way = way.replace("mujoco/body/body", "mujoco/body")
        for attribute in values:
            assert (way, attribute) in known, (way, attribute)
            assert rule(way, attribute) in (ACTS, LISTED, "contacts, which are listed")


CASES = [(element, x, value) for element, some in PROBES.items() for x, value in some.items()]
QUICK = {("option", "gravity"), ("equality/weld", "torquescale"), ("actuator/motor", "delay")}


@pytest.mark.parametrize(
    "element, attribute, value",
    [pytest.param(*x, marks=[] if x[:2] in QUICK else pytest.mark.slow) for x in CASES],
)
def test_a_file_with_another_value_is_another_model(tmp_path, plain, element, attribute, value):
    root = copy.deepcopy(ElementTree.fromstring(BASE))
    found = root.find(element)
    assert found is not None and found.get(attribute) != value
    for name, beside in HELPED.get((element, attribute), {}).items():
        found.attrib.pop(name, None) if beside is None else found.set(name, beside)
    before = plain if (element, attribute) not in HELPED else signature(tmp_path, root)
    found.set(attribute, value)
    changed = signature(tmp_path, root)
    # of an actuator's law all numbers are left out under one name
    assert (
        changed != before or f": {found.get('name')}" in str(changed).partition("control laws")[2]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ADDED)
def test_an_element_more_is_listed_or_refused(tmp_path, plain, name):
    root = ElementTree.fromstring(BASE)
    (added,) = ElementTree.fromstring(f"<all>{ADDED[name]}</all>")
    if name == "contact":
        root.findall("worldbody/body/geom")[0].set("name", "g2")
    same = root.find(added.tag)
    root.append(added) if same is None else same.extend(list(added))
    assert (signature(tmp_path, root) == plain) == (name == "nothing to move")
