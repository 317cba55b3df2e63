"""Inverse dynamics of closed chains, and passive constraints with friction that react to
control.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo.models import ROBOTS_B, robots
from tests.servo.test_paper import EXACT, HINGE, PROJECTED
from zwang.errors import ModelError
from zwang.servo import Servo, control, inverse_dynamics


def test_closed_chain_gets_the_least_torques_for_its_acceleration():
    q, v, a = EXACT[1.0]
    c = inverse_dynamics(robots(), q, v, a, ROBOTS_B)
    np.testing.assert_allclose(c.u, PROJECTED[1.0], atol=1e-10)
    np.testing.assert_allclose(c.passive_force, HINGE["projected"], atol=1e-10)
    np.testing.assert_allclose(c.acceleration, a, atol=1e-10)


def test_what_cannot_be_achieved_is_named():
    q, v, a = EXACT[1.0]
    with pytest.raises(ModelError, match="violates passive constraints.*'hinge' by"):
        inverse_dynamics(robots(), q, v, np.asarray(a) + [0.1, 0, 0, 0, 0], ROBOTS_B)
    with pytest.raises(
        ModelError, match="cannot meet all servo constraints together .*'acceleration of q"
    ):
        inverse_dynamics(robots(), q, v, a, ROBOTS_B * np.array([0, 0, 0, 0, 0, 1.0]))


@pytest.mark.parametrize("brake", [False, True])
def test_forces_that_others_may_replace_are_told(brake):
    """Four masses: two motors share the first, and a rail, beside which a brake may push, holds the
    second; two rods share the weight of the third; the last has a motor of its own.
    """
    hold = lambda i: lambda q, t, p: q[i : i + 1]
    names = {"rail": 1, "left": 2, "right": 2}
    model = zw.Model(
        zw.System(
            4,
            lambda q, t, p: jnp.array([1.0, 2.0, 3.0, 4.0]),
            lambda q, v, t, p: jnp.array([0.0, 5.0, -6.0, 0.0]),
        ),
        [zw.Holonomic(hold(i), name=name) for name, i in names.items()],
    )
    B = np.array([[1.0, 2.0, 0.0, 0.0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]])
    B = B if brake else B[:, :3]
    c = inverse_dynamics(model, np.zeros(4), np.zeros(4), [5.0, 0.0, 0.0, 2.0], B)
    assert c.unique_u is not None and c.unique_force and c.force_by_constraint
    np.testing.assert_allclose(c.u, [1.0, 2.0, 8.0, 0.0][: B.shape[1]], atol=1e-12)
    assert [*c.unique_u] == [False, False, True, False][: B.shape[1]]
    assert {n: bool(x) for n, x in c.unique_force.items()} == {
        "rail": not brake,
        "left": False,
        "right": False,
    }
    for name, size in {"rail": -5.0, "left": 3.0, "right": 3.0}.items():
        expected = np.eye(4)[names[name]] * size
        np.testing.assert_allclose(c.force_by_constraint[name], expected, atol=1e-12)


@pytest.mark.slow
def test_friction_that_grows_with_the_hinge_force_is_overcome():
    """A bead on a rough hoop: the actuator that pushes it sideways changes the friction that it
    must overcome.
    """
    friction = lambda q, v, t, p, ideal: -0.4 * jnp.linalg.norm(ideal) * v / jnp.linalg.norm(v)
    hoop = zw.Holonomic(lambda q, t, p: q @ q - 1, name="hoop", nonideal=friction)
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    model = zw.Model(system, [hoop], name="bead")
    climb = zw.Nonholonomic(
        lambda q, v, t, p: v[1] - 2.0 * q[0], name="climb"
    )  # angular velocity 2 rad/s
    servo = Servo([climb], np.array([[0.6], [0.8]]))
    q, v = np.array([np.cos(0.3), np.sin(0.3)]), 2 * np.array([-np.sin(0.3), np.cos(0.3)])
    c = control(model, servo, q, v)
    np.testing.assert_allclose(c.acceleration, -4 * q, atol=1e-12)
    tangent = v / 2
    push = np.array([0.6, 0.8]) * float(c.u[0])
    normal = (c.passive_force @ q, c.passive_force @ tangent)
    np.testing.assert_allclose(normal[1], -0.4 * abs(normal[0]), rtol=1e-12)
    np.testing.assert_allclose((push + np.array([0, -9.81])) @ tangent + normal[1], 0, atol=1e-12)
    assert zw.motion(zw.Model(system, [hoop], servo=servo), q, v).acceleration == pytest.approx(
        -4 * q, abs=1e-11
    )
