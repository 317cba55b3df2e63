"""Limits, dry friction and the ground of robot files, compared with closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.robots import contacts

G = 9.81
URDF = """
<robot name="slide"><link name="base"/>
  <link name="cart"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><cylinder radius="0.1" length="1"/></geometry></collision></link>
  <joint name="way" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-0.5" upper="1.0" effort="30" velocity="9"/><dynamics friction="4.0"/></joint>
</robot>
"""
SDF = """
<sdf version="1.7"><model name="slide"><link name="base"/>
  <link name="cart"><inertial><mass>2</mass></inertial></link>
  <joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>
  <joint name="way" type="prismatic"><parent>base</parent><child>cart</child>
    <axis><xyz>1 0 0</xyz><limit><lower>-0.5</lower><upper>1.0</upper><effort>30</effort></limit>
    <dynamics><friction>4.0</friction></dynamics></axis></joint>
</model></sdf>
"""
MJCF = """
<mujoco><worldbody><body name="cart"><inertial mass="2" pos="0 0 0" diaginertia="1 1 1"/>
  <joint name="way" type="slide" axis="1 0 0" range="-0.5 1.0" limited="true" frictionloss="4.0"
    actuatorfrclimited="true" actuatorfrcrange="-30 30"/></body></worldbody></mujoco>
"""


def read(tmp_path, text, ending):
    path = tmp_path / f"robot.{ending}"
    path.write_text(text)
    return zw.robot(path)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["urdf", "sdf", "xml"])
def test_a_slide_rubs_rebounds_and_stays(tmp_path, ending):
    """2 kg under 4 N of friction: v² falls by 4 m²/s² a metre; it rebounds from x = 1 with half of
    its speed and stops after v²/(2·2).
    """
    if ending == "xml":
        pytest.importorskip("mujoco")
    plain = read(tmp_path, {"urdf": URDF, "sdf": SDF, "xml": MJCF}[ending], ending)
    assert plain.efforts == {"way": 30.0} and not plain.model.constraints.m
    robot = plain.with_contacts(restitution=0.5)
    left, before = "; ".join(robot.unsupported), "; ".join(plain.unsupported)
    for what in ("joint limits", "dry friction in joints"):
        assert what in before and what not in left
    run = zw.simulate(robot.model, [0.0], [3.0], duration=2.0, rtol=1e-10)
    hit = next(x for x in run.switches if x.hit)
    assert hit.hit == ("way upper limit",) and hit.time == pytest.approx((3 - 5**0.5) / 2)
    assert run.q[-1, 0] == pytest.approx(1.0 - 0.25 * 5 / 4, abs=1e-9)
    assert run.switches[-1].on == ("way friction",)
    assert run.v[-1, 0] == pytest.approx(0.0, abs=1e-14)


def test_what_is_no_simple_shape_stays_listed(tmp_path):
    text = URDF.replace('<cylinder radius="0.1" length="1"/>', '<mesh filename="cart.stl"/>')
    robot = read(tmp_path, text, "urdf").with_contacts(ground=0.0)
    assert any(x.startswith("contacts") and "cart" in x for x in robot.unsupported)


FALLS = """
<robot name="can"><link name="base"/>
  <link name="can"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision></link>
  <joint name="way" type="prismatic"><parent link="base"/><child link="can"/><axis xyz="0 0 1"/>
    <origin xyz="0 0 0.5"/><limit lower="-9" upper="9" effort="30" velocity="9"/></joint>
</robot>
"""


@pytest.mark.slow
def test_a_cylinder_of_a_file_falls_flat_on_the_ground(tmp_path):
    """It falls by 0.3 m, and rebounds with half of its speed."""
    robot = read(tmp_path, FALLS, "urdf").with_contacts(ground=0.0, restitution=0.5)
    assert not any("contacts of shapes" in x for x in robot.unsupported)
    run = zw.simulate(robot.model, [0.0], [0.0], duration=0.4, rtol=1e-10)
    fall = np.sqrt(2 * 0.3 / G)
    hit = run.switches[0]
    assert hit.time == pytest.approx(fall, abs=1e-11)
    after = 0.4 - fall
    assert run.v[-1, 0] == pytest.approx(0.5 * G * fall - G * after, abs=1e-9)


def test_shapes_on_the_ground_are_traced_once_for_all_of_their_rows(tmp_path, monkeypatch):
    """Not once for each friction: a robot with 150 of them took a minute to be made."""
    seen, known = [], contacts.touch
    monkeypatch.setattr(contacts, "touch", lambda *given: seen.append(given) or known(*given))
    robot = read(tmp_path, FALLS, "urdf").with_contacts(ground=0.0, grip=0.5)
    assert len(robot.model.constraints.members) > 8
    assert len(seen) <= 3  # gaps, ways and sliding velocities


def test_rows_of_shapes_computed_together_are_those_of_each_shape(tmp_path):
    pytest.importorskip("mujoco")
    parts = """<geom type="sphere" size="0.1" pos="0.3 0 0"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0 0.4 0.1" euler="20 30 40"/>
      <geom type="sphere" size="0.2" pos="0 0 0.5"/>
      <geom type="capsule" size="0.05 0.2" euler="50 0 0"/>
      <geom type="cylinder" size="0.05 0.2" euler="10 60 0"/>"""
    text = f'<mujoco><worldbody><body name="one"><freejoint/>{parts}</body></worldbody></mujoco>'
    robot = read(tmp_path, text, "xml")
    shapes, _ = contacts.on_ground_of(robot._given)
    pose = np.asarray(robot.tree.poses(robot.start_state.q, robot.params))[0]
    found = contacts._rows_of(shapes, jnp.asarray(np.stack([pose] * len(shapes))), 0.1)
    each = []
    for x in shapes:
        at, sizes = pose @ x.frame, (jnp.zeros(0), jnp.asarray(x.shape.size))
        place = jnp.asarray(at[:3, 3] - [0.0, 0.0, 0.1])
        each.append(contacts.touch(("plane", x.shape.kind), sizes, place, jnp.asarray(at[:3, :3])))
    for together, alone in zip(found, contacts.join(*each), strict=True):
        np.testing.assert_allclose(together, alone, rtol=0, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("grip, rolls", [(0.5, True), (0.05, False)])
def test_a_sphere_of_a_file_rolls_down_to_five_sevenths(tmp_path, grip, rolls):
    """It falls by 0.1 m with a speed of 2 m/s: it grips where μ m (v_n) ≥ 2/7 m v, and rolls with
    5/7 of it; else it loses μ v_n and slides on, by μ g, to the same.
    """
    pytest.importorskip("mujoco")
    ball = read(
        tmp_path,
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="ball" pos="0 0 0.3">'
        '<freejoint name="free"/><geom type="sphere" size="0.2" mass="3"/></body></worldbody>'
        "</mujoco>",
        "xml",
    )
    robot = ball.with_contacts(ground=0.0, grip=grip)
    start = robot.start_state
    v = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    run = zw.simulate(robot.model, start.q, v, duration=3.0 if rolls else 2.0, rtol=1e-9)
    fall = np.sqrt(2 * 0.1 / G)
    assert run.switches[0].time == pytest.approx(fall, abs=1e-9)
    np.testing.assert_allclose(run.v[-1, 0], 2.0 * 5 / 7, rtol=1e-8)
    if not rolls:
        lost = 0.05 * G * fall
        later = (2.0 * 2 / 7 - lost) / (0.05 * G)
        assert run.switches[-1].time == pytest.approx(fall + later, abs=1e-8)


@pytest.mark.slow
def test_a_box_of_a_file_comes_to_rest_on_its_corners(tmp_path):
    pytest.importorskip("mujoco")
    text = (
        '<mujoco><worldbody><body name="box" pos="0 0 1"><freejoint/><geom type="box" '
        'size="0.3 0.2 0.1" mass="2"/></body></worldbody></mujoco>'
    )
    robot = read(tmp_path, text, "xml").with_contacts(ground=0.0)
    start = robot.start_state
    run = zw.simulate(robot.model, start.q, start.v, duration=1.0)
    assert run.switches[0].time == pytest.approx(np.sqrt(2 * 0.9 / G), abs=1e-9)
    np.testing.assert_allclose(run.q[-1, 2], 0.1, atol=1e-12)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-12)
    rest = zw.analysis.equilibrium(robot.model, run.q[-1])
    np.testing.assert_allclose(rest.multipliers, 2.0 * G / 4, rtol=1e-9)


PUSHED = """
<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="box"><joint name="a" type="slide" axis="1 0 0"/>
    <geom type="box" size="0.1 0.2 0.2" mass="2"/></body>
  <body name="ball" pos="0.5 0 0"><joint name="b" type="slide" axis="1 0 0"/>
    <geom type="sphere" size="0.15" mass="1"/></body>
  <body name="far" pos="0 3 0"><joint name="c" type="slide" axis="1 0 0"/>
    <geom type="ellipsoid" size="0.1 0.1 0.1" mass="1"/></body>
</worldbody></mujoco>
"""


@pytest.mark.slow
def test_two_bodies_of_a_file_hit_each_other_where_it_is_asked(tmp_path):
    """They are 0.25 m apart, and a box of 2 kg hits a ball of 1 kg with e = 0.5."""
    pytest.importorskip("mujoco")
    robot = read(tmp_path, PUSHED, "xml").with_contacts(pairs=[("box", "ball")], restitution=0.5)
    run = zw.simulate(robot.model, [0.0] * 3, [1.0, 0.0, 0.0], duration=1.0, rtol=1e-10)
    (hit,) = run.switches
    assert hit.time == pytest.approx(0.25, abs=1e-12) and hit.hit == ("box ball",)
    np.testing.assert_allclose(run.v[-1], [0.5, 1.0, 0.0], atol=1e-12)
    with pytest.raises(zw.ModelError, match="did you mean 'ball'"):
        robot.with_contacts(pairs=[("box", "bal")])
    with pytest.raises(zw.ModelError, match="no shapes of 'box' and 'far' can touch"):
        robot.with_contacts(pairs=[("box", "far")])


@pytest.mark.slow
def test_a_plate_on_twenty_feet_lands_and_lies_flat(tmp_path):
    """Its feet land one after another; some open while they are below zero by round-off."""
    pytest.importorskip("mujoco")
    feet = np.random.default_rng(3).uniform(-1, 1, (20, 2))
    shapes = "".join(
        f'<geom type="sphere" size="0.02" pos="{x:.6f} {y:.6f} -0.05"/>' for x, y in feet
    )
    text = f"""<mujoco><worldbody><body name="plate" pos="0 0 0.08"><freejoint/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.4 0.3 0.6"/>{shapes}
      </body></worldbody></mujoco>"""
    robot = read(tmp_path, text, "xml").with_contacts(ground=0.0, grip=0.5)
    v = np.array([0.3, 0.1, 0.0, 0.05, 0.02, 0.1])
    run = zw.simulate(robot.model, robot.start_state.q, v, duration=0.3, rtol=1e-6)
    assert run.q[-1, 2] == pytest.approx(0.07, abs=1e-10)
    np.testing.assert_allclose(run.q[-1, 4:6], 0.0, atol=1e-10)
    assert run.dataset["violation"].max() <= 1e-10
