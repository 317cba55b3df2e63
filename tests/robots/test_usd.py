"""Robots from text files of Universal Scene Description."""

import numpy as np
import pytest

import zwang as zw
from zwang.robots.robot import Robot
from zwang.robots.usd_text import scene

BODY = """
    def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {{
        float physics:mass = {mass}
        point3f physics:centerOfMass = {center}
        float3 physics:diagonalInertia = (0.1, 0.2, 0.3)
        quatf physics:principalAxes = (0.8, 0, 0.6, 0)
        double3 xformOp:translate = {place}
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }}
"""
JOINT = """
    def Physics{kind}Joint "{name}" {schemas}
    {{
        uniform token physics:axis = "Y"
        rel physics:body0 = {first}
        rel physics:body1 = {second}
        point3f physics:localPos0 = {near}
        point3f physics:localPos1 = {far}
        {more}
    }}
"""
DRIVEN = '(prepend apiSchemas = ["PhysicsDriveAPI:angular"])'
MORE = """float physics:lowerLimit = -90
        float physics:upperLimit = 45  # degrees
        custom float physxJoint:armature = 0.5
        custom float drive:angular:physics:maxForce = 3
        custom float drive:angular:physics:stiffness = 2"""

OUT = "uniform bool physics:excludeFromArticulation = 1"


def joint(name, first, second, near, far, kind="Revolute", schemas="", more=""):
    at = lambda x: f"</arm/{x}>" if x else "None"
    ends = {"first": at(first), "second": at(second), "near": near, "far": far}
    return JOINT.format(name=name, kind=kind, schemas=schemas, more=more, **ends)


def text(*parts: str, head: str = "", up: str = "Z") -> str:
    layer = f'(\n doc = """a\nscene""" defaultPrim = "arm" metersPerUnit = 1 upAxis = "{up}"\n)'
    return f'#usda 1.0\n{layer}\n{head}\ndef Xform "arm"\n{{\n{"".join(parts)}}}\n'


FOUR_BAR = (
    BODY.format(name="crank", mass=2, center=(0, 0, 0.5), place=(0, 0, 0)),
    BODY.format(name="coupler", mass=3, center=(1, 0, 0), place=(0, 0, 1)),
    BODY.format(name="rocker", mass=1, center=(0, 0, 0.5), place=(2, 0, 0)),
    joint("C", "coupler", "rocker", (2, 0, 0), (0, 0, 1), more=OUT),
    joint("A", "", "crank", (0, 0, 0), (0, 0, 0), schemas=DRIVEN, more=MORE),
    joint("B", "coupler", "crank", (0, 0, 0), (0, 0, 1)),
    joint("D", "", "rocker", (2, 0, 0), (0, 0, 0)),
)
MJCF = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="crank"><joint name="A" axis="0 1 0" armature="0.5"/>
    <inertial pos="0 0 .5" quat=".8 0 .6 0" mass="2" diaginertia=".1 .2 .3"/>
    <body name="coupler" pos="0 0 1"><joint name="B" axis="0 -1 0"/>
      <inertial pos="1 0 0" quat=".8 0 .6 0" mass="3" diaginertia=".1 .2 .3"/></body></body>
  <body name="rocker" pos="2 0 0"><joint name="D" axis="0 1 0"/>
    <inertial pos="0 0 .5" quat=".8 0 .6 0" mass="1" diaginertia=".1 .2 .3"/></body>
</worldbody>
<equality><connect name="C" body1="coupler" body2="rocker" anchor="2 0 0"/></equality></mujoco>"""


@pytest.fixture
def read(tmp_path):
    def made(content: str, name: str = "arm.usda", **options) -> Robot:
        path = tmp_path / name
        path.write_text(content)
        return zw.robot(path, **options)

    return made


@pytest.mark.slow
def test_a_four_bar_is_that_of_mjcf(read):
    robot, other = read(text(*FOUR_BAR)), read(MJCF, "arm.xml")
    assert [*robot.description.loops] == ["C"]
    assert robot.motors == ("A",)
    assert robot.efforts == {"A": 3.0}
    np.testing.assert_allclose(robot.ranges["A"], np.radians([-90, 45]))
    assert "laws of drives" in robot.unsupported[0]
    q, v = [0.3, 0.1], [1.0, 2.0]
    states = [x.state({"A": q[0]}) for x in (robot, other)]
    order = np.array([other.tree.joints.index(name) for name in robot.tree.joints])
    np.testing.assert_allclose(states[0].q, states[1].q[order], atol=1e-12)
    accelerations = []
    for x, at in zip((robot, other), states, strict=True):
        own = np.zeros(3)
        own[x.tree.velocity("A")] = v[0]
        state = zw.consistent_state(x.model, at.q, own).state
        accelerations.append(zw.motion(x.model, state.q, state.v).acceleration)
    np.testing.assert_allclose(accelerations[0], accelerations[1][order], rtol=1e-9)


def test_bodies_lie_as_in_the_file_and_gravity_follows_the_scene(read):
    turned = BODY.format(name="a", mass=1, center=(0, 0, 0), place=(0, 0, 0)).replace(
        'xformOpOrder = ["xformOp:translate"]',
        'xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ"]\n'
        "        float3 xformOp:rotateXYZ = (0, 30, 0)",
    )
    scene_ = """def PhysicsScene "s" { vector3f physics:gravityDirection = (0, 0, 0)
        float physics:gravityMagnitude = -inf }"""
    robot = read(text(turned, joint("h", "", "a", (0, 0, 0), (0, 0, 0)), head=scene_, up="Y"))
    np.testing.assert_allclose(robot.start_state.q, [np.radians(30)])
    np.testing.assert_allclose(robot.description.gravity, [0, -9.81, 0])


def test_a_root_is_free_unless_it_is_held(read):
    body = BODY.format(name="a", mass=1, center=(0, 0, 0), place=(1, 0, 0))
    arm = BODY.format(name="b", mass=1, center=(0, 0, 0), place=(1, 0, 0))
    hinge = joint("h", "a", "b", (0, 0, 0), (0, 0, 0))
    assert read(text(body, arm, hinge)).tree.system.nv == 7
    assert read(text(body, arm, hinge), floating=False).tree.system.nv == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("PXR-USDC", "does not begin with '#usda'"),
        ("#usda 1.0\ndef Xform arm {}", "line 2: 'arm', expected a name in quotes"),
        ('#usda 1.0\ndef Xform "a" {', "the end"),
        ('#usda 1.0\ndef Xform "a" { float x = ' + "(" * 1000, "levels of brackets"),
        (text(), "no prim has the schema PhysicsRigidBodyAPI"),
        (text(FOUR_BAR[0].replace("= 2", "= 0")), "expected both"),
        (text(*FOUR_BAR[:1], FOUR_BAR[6]), "there is no prim /arm/rocker"),
        (text(FOUR_BAR[0], FOUR_BAR[4].replace('"Y"', '"W"')), "axis 'W', expected X, Y or Z"),
        (text(FOUR_BAR[0].replace("(0, 0, 0.5)", "(0, nan)")), "centerOfMass.*expected 3 numbers"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(read, content, sentence):
    with pytest.raises(zw.ModelError, match=sentence):
        read(content)


def test_values_of_all_kinds_are_read():
    found = scene(
        """#usda 1.0
(
    "a comment"
    customLayerData = { int x = 3; string y = 'z' }
    subLayers = [@./a.usda@]
)
class "_base" { }
over "r" (prepend references = [@b.usd@</x>, </_base>] variants = { string v = "a" })
{
    float t.timeSamples = { 0: 1, 1: [2, 3], }
    bool on = true
    token[] names = ["a", 'b']
    matrix4d m = ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1) )
    variantSet "v" = { "a" { float x = 1 } "b" { } }
    rel to = [</r/a>, </r/b>] ( doc = "where" )
    def "inside" {}
}""",
        "text",
    )
    (prim,) = found.children
    assert found.metadata["customLayerData"] == {"x": 3.0, "y": "z"}
    assert prim.metadata["references"] == ["b.usd</x>", "/_base"]
    assert prim.attributes["on"] is True
    assert prim.attributes["names"] == ["a", "b"]
    assert np.array(prim.attributes["m"]).shape == (4, 4)
    assert prim.attributes["to"] == ["/r/a", "/r/b"]
    assert prim.metadata["variant sets"] == ["v"]
    assert [x.path for x in prim.children] == ["/r/inside"]
