"""Control laws by name for robots, compared with closed forms; files without actuators."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.errors import ModelError

ARM = """
<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0.25 0 0"/><mass value="1.5"/>
<inertia ixx="0.01" iyy="0.08" izz="0.08" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
<origin xyz="0.6 0 0"/><axis xyz="0 1 0"/></joint></robot>
"""
Q, V = np.array([0.4, -0.7]), np.array([0.3, -0.5])


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(ARM)
    return zw.robot(path)


def weight(q):
    """Torques of gravity about both joints; a positive angle about y lowers the arm."""
    upper, lower = np.cos(q[0]), np.cos(q[0] + q[1])
    elbow = -1.5 * 9.81 * 0.25 * lower
    return np.array([-9.81 * (2 * 0.3 + 1.5 * 0.6) * upper + elbow, elbow])


def place(q):
    """The end of the arm, 0.5 m beyond the elbow."""
    a, b = q[0], q[0] + q[1]
    return np.array([0.6 * np.cos(a) + 0.5 * np.cos(b), 0.0, -0.6 * np.sin(a) - 0.5 * np.sin(b)])


def jacobian(q):
    a, b = q[0], q[0] + q[1]
    second = np.array([-0.5 * np.sin(b), 0.0, -0.5 * np.cos(b)])
    return np.stack([np.array([-0.6 * np.sin(a), 0.0, -0.6 * np.cos(a)]) + second, second], 1)


def test_a_file_without_actuators_is_driven_at_its_joints(arm):
    assert arm.actuators == () and arm.motors == ("shoulder", "elbow")
    held = arm.driven(lambda q, v, t, p: arm.tree.bias(q, v, p))
    np.testing.assert_allclose(zw.motion(held, Q, V).acceleration, 0.0, atol=1e-13)
    assert held.servo.names(2) == ("shoulder", "elbow")  # a run records its torques
    with pytest.raises(ModelError, match="control= and servo=, expected one of them"):
        arm.driven(lambda q, v, t, p: [1.0, 1.0], servo=arm.law("gravity compensation"))
    with pytest.raises(ModelError, match=r"expected \(2,\), a number for each actuator \(shoulder"):
        arm.driven(lambda q, v, t, p: [1.0])
    with pytest.raises(
        ModelError, match=r"control takes \(q, v, t\), expected a function \(q, v, t, p"
    ):
        arm.driven(lambda q, v, t: [1.0, 1.0])


@pytest.mark.slow
def test_gravity_compensation_is_that_of_the_closed_form(arm):
    law = arm.law("gravity compensation")
    assert law.actuator_units == ("N m", "N m")
    found = zw.control(arm.model, law, Q, V)
    np.testing.assert_allclose(found.u, weight(Q), rtol=1e-13)
    run = zw.simulate(arm.driven(law), Q, [0.0, 0.0], duration=1.0, samples=3)
    np.testing.assert_allclose(run.q, np.broadcast_to(Q, (3, 2)), atol=1e-10)
    assert run.dataset.actuator.values.tolist() == ["shoulder", "elbow"]


def test_impedance_of_joints_and_of_a_point(arm):
    goal = {"shoulder": 0.1, "elbow": lambda t: 0.2 * jnp.sin(t)}
    law = arm.law("impedance", goal, stiffness=[50.0, 30.0], damping=4.0)
    wanted = np.array([0.1, 0.2 * np.sin(0.5)])
    rate = V - np.array([0.0, 0.2 * np.cos(0.5)])
    expected = weight(Q) - np.array([50.0, 30.0]) * (Q - wanted) - 4.0 * rate
    np.testing.assert_allclose(zw.control(arm.model, law, Q, V, 0.5).u, expected, rtol=1e-12)
    target = np.array([0.8, 0.0, 0.1])
    K = np.diag([200.0, 1.0, 300.0])
    law = arm.law("impedance", target, body="lower", offset=[0.5, 0, 0], stiffness=K, damping=9.0)
    J = jacobian(Q)
    expected = weight(Q) - J.T @ (K @ (place(Q) - target) + 9.0 * J @ V)
    np.testing.assert_allclose(zw.control(arm.model, law, Q, V).u, expected, rtol=1e-12)


def test_computed_torque_gives_the_error_dynamics_that_it_says(arm):
    goal = {"shoulder": lambda t: 0.3 * jnp.sin(t), "elbow": 0.5}
    law = arm.law("computed torque", goal, gains=6.0)
    found = zw.control(arm.model, law, Q, V, 0.2)
    e = Q - np.array([0.3 * np.sin(0.2), 0.5])
    rate = V - np.array([0.3 * np.cos(0.2), 0.0])
    expected = np.array([-0.3 * np.sin(0.2), 0.0]) - 12.0 * rate - 36.0 * e
    np.testing.assert_allclose(found.acceleration, expected, rtol=1e-11)
    target = jnp.array([0.8, 0.1])
    there = lambda q, t, p: arm.tree.point(q, "lower", [0.5, 0, 0], p)[::2] - target
    law = zw.servo.law("computed torque", arm.model, np.eye(2), task=zw.Holonomic(there), gains=5.0)
    J = jacobian(Q)[::2]
    turned = zw.control(arm.model, law, Q, V).acceleration
    h = 1e-20  # J̇ v by a complex step would need the closed form in complex numbers; it takes them
    moved = np.imag(np.asarray(_complex_rate(Q + 1j * h * V) @ V)) / h
    e = place(Q)[::2] - target
    np.testing.assert_allclose(J @ turned + moved, -10.0 * J @ V - 25.0 * e, rtol=1e-10)


def _complex_rate(q):
    a, b = q[0], q[0] + q[1]
    second = np.array([-0.5 * np.sin(b), -0.5 * np.cos(b)])
    return np.stack([np.array([-0.6 * np.sin(a), -0.6 * np.cos(a)]) + second, second], 1)


def test_laws_say_what_they_lack(arm):
    for name, numbers, said in (
        ("impedance", {"stiffness": 1.0, "damping": 1.0}, "needs task= or target="),
        ("impedance", {"target": {"elbow": 0.0}, "stiffness": 1.0}, "needs damping="),
        ("gravity compensation", {"gains": 1.0}, "has no use for gains="),
        ("inpedance", {}, "impedance"),
        ("impedance", {"target": {"wrist": 0.0}, "stiffness": 1.0, "damping": 1.0}, "wrist"),
    ):
        with pytest.raises(ModelError, match=said):
            arm.law(name, **numbers)


def test_a_regulator_drives_a_robot_in_a_loop(arm):
    down = [np.pi / 2, 0.0]
    linear = zw.analysis.linearize(arm.model, down, inputs=["shoulder", "elbow"])
    model = arm.driven(zw.analysis.lqr(linear, Q=1.0, R=1.0))
    loop = zw.Loop(sample_time=0.005, delay=0.005)
    run = zw.simulate(model, [1.7, -0.1], [0.0, 0.0], duration=4.0, samples=3, loop=loop)
    np.testing.assert_allclose(run.q[-1], down, atol=2e-2)
