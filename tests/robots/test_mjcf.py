"""Elements of MJCF that a model must represent, compared with MuJoCo: its rows vanish at our
initial state, and accelerations from rest are those of its M, bias and Jacobian of hard rows.
"""

import numpy as np
import pytest

import zwang as zw
from tests.crossed import crossed

from .test_files import saved

mujoco = pytest.importorskip(
    "mujoco", reason="the extra `robots` is not installed: pip install 'zwang[robots]'"
)

INERTIA = '<inertial pos="0.1 0.02 0.03" mass="1.5" fullinertia="0.2 0.3 0.25 0.01 0.02 0.03"/>'
PENDULUM = f'<body name="a"><joint name="a" axis="0 1 0"/>{INERTIA}</body>'
FREE = '<body name="b" pos="1 0.2 0.1" quat="0.9 0.1 0.3 0.2"><freejoint/>' + INERTIA
FREE += '<site name="t" pos="0.1 0.2 0.3" quat="0.7 0.1 0.2 0.6"/></body>'
SITE = '<site name="s" pos="0.1 0 0.3" quat="0.7 -0.1 0.2 0.3"/>'


def welded(weld: str, arm: str = "body1='a' body2='b'") -> str:
    first = PENDULUM.replace("</body>", f"{SITE}</body>")
    return f"""<mujoco><worldbody>{first}{FREE}</worldbody>
<equality><weld name="w" {arm} {weld}/></equality></mujoco>"""


WELDS = {
    "as it lies": welded(""),
    "anchor": welded('anchor="0.5 0 0.2"'),
    "pose": welded('relpose="1 0 0.2 0.8 0.6 0 0"'),
    "anchor and pose": welded('anchor="0.5 0 0.2" relpose="1 0 0.2 0.8 0.6 0 0"'),
    "to the ground": welded('anchor="0.5 0 0.2"', "body1='b'"),
    "sites": welded("", "site1='s' site2='t'"),
    "places alone": welded('anchor="0.5 0 0.2" torquescale="0"'),
    "120 degrees off": welded('relpose="1 0 0 -0.5 0.5 0.5 0.5"'),
    "170 degrees off": welded('relpose="1 0 0 0.087 0 0.996 0"', "body1='b'"),
}


QUICK = ("anchor", "120 degrees off")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [x if x in QUICK else pytest.param(x, marks=pytest.mark.slow) for x in WELDS]
)
def test_a_weld_holds_what_the_weld_of_mujoco_holds(tmp_path, name):
    path = saved(tmp_path, WELDS[name], "weld.xml")
    robot = zw.robot(path)
    start = robot.start_state
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:] = start.q
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() < 1e-9
    weld = [x for x in (data.efc_J.reshape(-1, model.nv)) if np.any(x)]
    M, J = np.zeros((model.nv, model.nv)), np.array(weld)
    mujoco.mj_fullM(model, data, M)
    # right side up: no half turn between the frames, which MuJoCo's rows cannot tell
    if name not in ("places alone", "sites"):
        (loop,) = robot.description.loops.values()
        poses = np.concatenate([robot.tree.poses(start.q, robot.params), np.eye(4)[None]])
        turned = [poses[robot._body(body)] @ at for body, at in (loop.first, loop.second)]
        assert np.trace(turned[0][:3, :3].T @ turned[1][:3, :3]) == pytest.approx(3.0)
    found = zw.motion(robot.model, start.q, start.v)
    assert int(found.rank) == np.linalg.matrix_rank(J) == (3 if name == "places alone" else 6)
    W = np.linalg.inv(np.linalg.cholesky(M)).T
    free = np.linalg.solve(M, data.qfrc_passive - data.qfrc_bias)
    exact = free - W @ np.linalg.pinv(J @ W) @ (J @ free)
    np.testing.assert_allclose(found.acceleration, exact, atol=1e-8)


def flagged(flag: str) -> str:
    return f"""<mujoco><option>{flag}</option><worldbody>
<body name="a"><joint name="a" axis="0 1 0" ref="20" stiffness="3" springref="40" damping="2"/>
{INERTIA}</body>
<body name="c" pos="0 1 0"><joint name="c" axis="1 1 0"/>{INERTIA}</body></worldbody>
<equality><joint name="e" joint1="a" joint2="c" polycoef="0 0.5 0 0 0"/></equality>
<actuator><motor name="m" joint="a"/><motor name="n" joint="c" group="3"/></actuator></mujoco>"""


FLAGS = {
    "none": "",
    **{x: f'<flag {x}="disable"/>' for x in ("gravity", "damper", "spring", "equality")},
    "constraint": '<flag constraint="disable"/>',
    "actuation": '<flag actuation="disable"/>',
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_that_disables_something_is_obeyed(tmp_path, flag):
    path = saved(tmp_path, flagged(FLAGS[flag]), "flag.xml")
    robot = zw.robot(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    v = np.array([0.5, 1.0])
    data.qpos[:], data.qvel[:] = robot.start_state.q, v
    mujoco.mj_forward(model, data)
    M = np.zeros((2, 2))
    mujoco.mj_fullM(model, data, M)
    K, right = M, data.qfrc_passive - data.qfrc_bias
    off = flag in ("equality", "constraint")
    assert bool(robot.constraints) != off
    said = any("equality constraints that are switched off: e" in x for x in robot.unsupported)
    assert said == off
    if not off:
        rows = np.array([[1.0, -0.5]])
        K = np.block([[M, -rows.T], [rows, np.zeros((1, 1))]])
        right = np.hstack([right, 0.0])
    found = zw.motion(robot.model, robot.start_state.q, v)
    np.testing.assert_allclose(found.acceleration, np.linalg.solve(K, right)[:2], atol=1e-10)
    assert robot.actuators == (() if flag == "actuation" else ("m", "n"))


def test_a_group_of_actuators_can_be_switched_off(tmp_path):
    text = flagged("").replace("<option>", '<option actuatorgroupdisable="3">')
    robot = zw.robot(saved(tmp_path, text, "group.xml"))
    assert robot.actuators == ("m",)
    assert "actuators that are switched off: n" in robot.unsupported


@pytest.mark.one_in(2)
@pytest.mark.parametrize("refs, second", crossed([(0.0, 0.0), (20.0, -10.0)], ["", 'joint2="c"']))
def test_a_coupling_with_a_constant_offset_is_that_of_mujoco(tmp_path, refs, second):
    text = flagged("").replace('joint2="c" polycoef="0 0.5', f'{second} polycoef="0.3 0.5')
    text = text.replace('ref="20"', f'ref="{refs[0]}"').replace(
        'axis="1 1 0"', f'axis="1 1 0" ref="{refs[1]}"'
    )
    path = saved(tmp_path, text, "coupling.xml")
    robot = zw.robot(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:] = robot.start_state.q
    mujoco.mj_forward(model, data)
    assert abs(data.efc_pos[0]) < 1e-12
    M, J = np.zeros((2, 2)), data.efc_J.reshape(-1, 2)[:1]
    mujoco.mj_fullM(model, data, M)
    K = np.block([[M, -J.T], [J, np.zeros((1, 1))]])
    right = np.hstack([data.qfrc_passive - data.qfrc_bias, 0.0])
    found = zw.motion(robot.model, robot.start_state.q, robot.start_state.v)
    np.testing.assert_allclose(found.acceleration, np.linalg.solve(K, right)[:2], atol=1e-10)


PAIRED = f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" contype="0"
conaffinity="0"/><body name="b" pos="0 0 1"><freejoint/>{INERTIA}<geom name="g" size=".05"
contype="0" conaffinity="0"/></body></worldbody><contact>PAIR</contact></mujoco>"""


@pytest.mark.parametrize("name, said", [("", "floor-g"), ('name="touch"', "touch")])
def test_contacts_by_pair_are_listed(tmp_path, name, said):
    pair = f'<pair {name} geom1="floor" geom2="g"/>'
    robot = zw.robot(saved(tmp_path, PAIRED.replace("PAIR", pair), "pair.xml"))
    assert f"contacts by pair: {said}" in robot.unsupported
