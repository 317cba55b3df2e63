"""Small robot files, read by MuJoCo or by zwang, compared with MuJoCo's equations of motion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK
from zwang.cli import target
from zwang.robots import FORMATS

mujoco = pytest.importorskip(
    "mujoco", reason="the extra `robots` is not installed: pip install 'zwang[robots]'"
)

INERTIA = '<inertial pos="0.1 0.02 0.03" mass="1.5" fullinertia="0.2 0.3 0.25 0.01 0.02 0.03"/>'
TREE = f"""<mujoco model="tree"><option gravity="0.3 -1 -9"/><worldbody>
<body name="base" pos="0.1 0.2 0.3"><freejoint name="root"/>{INERTIA}
  <body name="a" pos="0.3 0 0.1" quat="0.8 0.6 0 0">
    <joint name="turn" type="hinge" axis="0 1 1" pos="0.1 0 0" ref="0.4" stiffness="2"
        springref="0.3" damping="0.5" armature="0.2"/>
    <joint name="push" type="slide" axis="1 1 1" damping="0.1"/>{INERTIA}
    <body name="b" pos="0.3 0 0.1" quat="0.8 0.6 0 0">
      <joint name="ball" type="ball" pos="0.1 0.2 0.3" damping="0.3"/>{INERTIA}</body>
    <body name="c" pos="0.3 0 0.1" quat="0.8 0 0.6 0">
    <joint name="last" axis="0 0 1" pos="0.1 0.2 0.3"/>{INERTIA}
      <body name="fixed" pos="0 0.2 0">{INERTIA}</body></body>
  </body></body></worldbody>
  <actuator><motor name="m" joint="last" gear="3"/><motor name="n" joint="turn"/>
  <position name="s" joint="push" kp="5"/></actuator>
</mujoco>"""
LOOPS = f"""<mujoco><worldbody>
<body name="a"><freejoint/>{INERTIA}<site name="s" pos="0.1 0 0"/></body>
<body name="b" pos="1 0 0"><freejoint/>{INERTIA}</body>
<body name="c" pos="0 1 0"><joint name="j1"/>{INERTIA}</body>
<body name="d" pos="0 2 0"><joint name="j2" axis="0 1 0" ref="0.1"/>{INERTIA}</body>
<body name="e" pos="0 3 0"><joint name="j3" axis="1 1 0"/>{INERTIA}</body></worldbody>
<tendon><fixed name="t"><joint joint="j2" coef="2"/><joint joint="j3" coef="-1"/></fixed>
<fixed name="u"><joint joint="j1" coef="1"/></fixed></tendon>
<equality><connect name="point" body1="a" body2="c" anchor="0.1 0.2 0.3"/>
<weld name="glue" body1="b" body2="a" relpose="0 0.2 0.3 0.9 0.1 0.2 0.1"/>
<joint name="cubic" joint1="j3" joint2="j1" polycoef="0.1 0.5 0.2 -0.1 0.05"/>
<tendon name="pull" tendon1="t" tendon2="u" polycoef="0.1 2 0 0 0"/>
<connect body1="c" body2="d" anchor="0 0 0" active="false"/></equality></mujoco>"""
ROUND = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
URDF = f"""<robot name="arm"><link name="base"><inertial><mass value="2"/>{ROUND}</inertial></link>
<link name="upper"><inertial><mass value="1"/><origin xyz="0 0 0.1"/>
<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><origin rpy="0 0 1"/><geometry><mesh filename="package://nowhere/part.stl" scale="2 2 2"/>
</geometry></visual></link>
<link name="lower"><inertial><mass value="1"/>{ROUND}</inertial>
<visual><geometry><box size="1 2 3"/></geometry></visual></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 1"/>
<axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="3" velocity="2"/><dynamics damping="0.1" friction="0.2"/>
</joint>
<joint name="j2" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 1"/>
<axis xyz="0 1 0"/>
<mimic joint="j1" multiplier="-2" offset="0.1"/></joint><transmission name="drive"/></robot>"""


def sdf_link(name: str, pose: str) -> str:
    return f'<link name="{name}"><pose>{pose}</pose><inertial><mass>1</mass></inertial></link>'


FOUR_BAR = f"""<sdf version="1.7"><model name="four-bar"><static>true</static>
{sdf_link("crank", "0 0 0 0 0 1.5")}{sdf_link("coupler", "0 1 0 0 0 0")}
{sdf_link("rocker", "3 0 0 0 0 0")}
<joint name="A" type="revolute"><parent>world</parent><child>crank</child><axis><xyz>0 0 1</xyz>
<dynamics><damping>0.2</damping>
<friction>0.1</friction></dynamics></axis></joint>
<joint name="B" type="revolute"><parent>crank</parent><child>coupler</child><axis>
<xyz expressed_in="__model__">0 0 1</xyz></axis></joint>
<joint name="D" type="revolute"><parent>world</parent><child>rocker</child><axis><xyz>0 0 1</xyz>
</axis></joint>
<joint name="C" type="revolute"><pose>3 0 0 0 0 0</pose><parent>rocker</parent>
<child>coupler</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="strange" type="spiral"><parent>rocker</parent><child>coupler</child></joint>
</model></sdf>"""


def saved(folder, text: str, name: str):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.slow
def test_accelerations_of_a_tree_are_those_of_mujoco(tmp_path):
    path = saved(tmp_path, TREE, "tree.xml")
    robot = zw.robot(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    assert robot.actuators == ("m", "n", "s")
    assert [x for x in robot.unsupported if "control laws" in x] == [
        "control laws of actuators (gain and bias; a control here is the actuator's force): s"
    ]
    system, p, random = robot.tree.system, robot.params, np.random.default_rng(0)
    q = random.normal(size=(3, system.nq))
    for ball in (robot.tree.coordinate("root"), robot.tree.coordinate("ball")):
        q[:, ball] /= np.linalg.norm(q[:, ball], axis=1, keepdims=True)
    v, u = random.normal(size=(3, system.nv)), np.array([0.7, -0.3, 0.0])

    def accelerated(q, v):
        force = system.force(q, v, 0.0, p) + robot.actuation_matrix @ u
        return jnp.linalg.solve(system.mass_matrix(q, 0.0, p), force)

    mine = jax.jit(jax.vmap(accelerated), compiler_options=QUICK)(q, v)
    data = mujoco.MjData(model)
    model.actuator_gainprm[2], model.actuator_biasprm[2] = (
        0.0,
        0.0,
    )  # the law of the position actuator is left out
    for i in range(len(q)):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q[i], v[i], u
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(mine[i], data.qacc, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_equality_constraints_vanish_where_those_of_mujoco_do(tmp_path):
    path = saved(tmp_path, LOOPS, "loops.xml")
    robot = zw.robot(path)
    assert [name for c in robot.constraints for name in c.parts] == [
        "point",
        "glue",
        "cubic",
        "pull",
    ]
    assert any(
        x.startswith("equality constraints that are switched off") for x in robot.unsupported
    )
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    params = jax.tree.map(jnp.asarray, robot.params)

    @jax.jit
    def rows(q):
        return jnp.concatenate([c.phi(q, 0.0, params) for c in robot.constraints])

    slope, q = (
        jax.jit(jax.jacfwd(rows), compiler_options=QUICK),
        jnp.asarray(
            robot.model.state(robot.tree.home.copy() + 0.05, np.zeros(robot.tree.system.nv)).q
        ),
    )
    for _ in range(30):
        q = q - jnp.linalg.pinv(slope(q)) @ rows(q)
    assert len(rows(q)) == 3 + 6 + 1 + 1 and np.abs(rows(q)).max() < 1e-13
    q = np.array(q)
    for name in robot.tree.joints:
        entries = robot.tree.coordinate(name)
        if len(entries) == 4:
            q[entries] /= np.linalg.norm(q[entries])
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    assert len(data.efc_pos) == 11 and np.abs(data.efc_pos).max() < 1e-12


def test_a_robot_whose_mass_matrix_is_dense_refuses_the_sparse_path(tmp_path):
    robot = zw.robot(saved(tmp_path, LOOPS, "loops.xml"))
    q, v = robot.tree.home, np.zeros(robot.tree.system.nv)
    with pytest.raises(
        zw.ModelError, match="found no sparsity.*a mass matrix given as its diagonal or in blocks"
    ):
        zw.simulate(robot.model, q, v, duration=0.1, pseudoinverse=zw.methods.Sparse())


def test_mimic_joints_pictures_and_what_is_left_out_of_a_urdf(tmp_path):
    robot = zw.robot(saved(tmp_path, URDF, "arm.urdf"))
    (coupling,) = robot.constraints
    assert robot.tree.joints == ("j1", "j2")
    assert coupling.phi(
        jnp.array([0.3, 0.1 - 2 * 0.3]), 0.0, jax.tree.map(jnp.asarray, robot.params)
    ) == pytest.approx(0, abs=1e-15)
    assert [x.kind for x in (*robot.shapes["upper"], *robot.shapes["lower"])] == ["mesh", "box"]
    assert robot.shapes["upper"][0].file == "package://nowhere/part.stl" and robot.shapes["lower"][
        0
    ].size == (1, 2, 3)
    assert robot.unsupported == (
        "joint limits: j1",
        "limits of the force at joints: j1",
        "dry friction in joints: j1",
        "limits of speed: j1",
        "transmissions (take Robot.actuation): drive",
        "meshes that are not found, which are for pictures only: package://nowhere/part.stl "
        "(upper)",
    )
    np.testing.assert_array_equal(robot.actuation(["j2"]), [[0], [1]])


def test_a_robot_can_be_let_go(tmp_path):
    robot = zw.robot(saved(tmp_path, URDF, "arm.urdf"), floating=True)
    assert (robot.tree.system.nq, robot.tree.system.nv) == (9, 8)
    M = jax.jit(robot.tree.mass_matrix, compiler_options=QUICK)(robot.tree.home, robot.params)
    np.testing.assert_allclose(np.diag(M)[:3], 4.0)  # the base's own mass, too


def test_loops_of_an_sdf_are_closed_by_joints(tmp_path):
    robot = zw.robot(saved(tmp_path, FOUR_BAR, "four-bar.sdf"))
    assert robot.tree.joints == ("A", "B", "D") and list(robot.description.loops) == ["C"]
    assert robot.unsupported == (
        "dry friction in joints: A",
        "joints of an unknown type: strange (spiral)",
        "static (links that no joint carries are held, but joints move here): four-bar",
    )
    (loop,), q = robot.constraints, jnp.zeros(3)
    phi = lambda q, p: loop.phi(q, 0.0, p)
    rows, slope = (
        jax.jit(x, compiler_options=QUICK)(q, robot.params) for x in (phi, jax.jacfwd(phi))
    )
    assert np.abs(rows).max() < 1e-15
    assert np.linalg.matrix_rank(slope) == 2
    np.testing.assert_array_equal(robot.params["damping"], [0.2, 0, 0])


@pytest.mark.parametrize(
    "text, name, sentence",
    [
        ("<robot><link></robot>", "bad.urdf", "no XML: mismatched tag"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><robot/>", "bad.urdf", "declares a document type"),
        (
            '<robot name="r"><link name="a"/><joint name="j" type="odd"/></robot>',
            "bad.urdf",
            "bad.urdf: ",
        ),
        ("<mujoco><worldbody><bodi/></worldbody></mujoco>", "bad.xml", "Schema violation"),
        ("<sdf version='1.6'></sdf>", "bad.sdf", "has 0 models"),
        (
            "<sdf><model name='m'><link name='a'><pose>1 2</pose></link></model></sdf>",
            "bad.sdf",
            "expected 6 numbers",
        ),
        (
            "<sdf><model name='m'><link name='a'/><joint name='j' "
            "type='ball'><parent>b</parent><child>a</child></joint></model></sdf>",
            "bad.sdf",
            "there is no parent link 'b'",
        ),
        ("", "bad.step", "no robot file"),
        (
            "<sdf version='new'><model name='m'><link name='a'/></model></sdf>",
            "bad.sdf",
            "version: 'new', expected 1 number",
        ),
        (
            "<robot name='r'><link name='a'/></robot>",
            "bad.urdf",
            "no joint moves any of the bodies",
        ),
        (
            URDF.replace('mimic joint="j1"', 'mimic joint="j9"'),
            "bad.urdf",
            "'j2' mimics 'j9', which is no joint",
        ),
    ],
)
def test_a_bad_file_gives_one_sentence(tmp_path, text, name, sentence):
    with pytest.raises(zw.ModelError, match=sentence) as caught:
        zw.robot(saved(tmp_path, text, name))
    assert "\n" not in str(caught.value)


def test_a_file_is_read_by_its_root_and_not_by_its_ending(tmp_path):
    robot = zw.robot(saved(tmp_path, FOUR_BAR, "four-bar.xml"))
    assert list(robot.description.loops) == ["C"]
    assert zw.robot(saved(tmp_path, URDF, "arm.xml")).tree.joints == ("j1", "j2")
    assert len(zw.robot(saved(tmp_path, TREE, "tree.urdf")).actuators) == 3


def test_the_command_line_takes_robot_files_and_tells_what_is_left_out(tmp_path):
    assert target.ROBOTS == FORMATS
    path = saved(tmp_path, FOUR_BAR, "four-bar.sdf")
    assert target.locate(str(path)) == path
