"""Motors behind springs: the constraint is differentiated until the motors appear in it."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo.models import MOTORS, closed, flexible_arm
from zwang.errors import ModelError
from zwang.servo import SecondOrder, Servo, control, relative_degree, with_found_degrees

STATE = ([0.1, 0.2, 0.0, 0.3], [1.0, -0.1, 0.2, 0.0])
SWING = zw.Nonholonomic(lambda q, v, t, p: v[0] + v[1], name="beta")
LINKS = zw.Holonomic(lambda q, t, p: q[:2] - jnp.stack([jnp.sin(t), 0.5 * t]), name="links")


def swing(**options) -> Servo:
    """β = sum of the link rates, the constraint of the review paper, section 8.3."""
    return Servo([SWING], MOTORS, actuators=["motor 1", "motor 2"], **options)


@functools.cache
def found() -> Servo:
    return with_found_degrees(flexible_arm(), swing(gains={"beta": 5.0}), *STATE).servo


@pytest.mark.slow
def test_a_motor_behind_a_spring_has_degree_three_for_a_speed_and_four_for_a_position():
    speed = relative_degree(flexible_arm(), swing(), *STATE)
    assert speed.degrees == {"beta": 3} and speed.rank == 1 and speed.internal == 5
    assert speed.authority["beta"][:2] == [0.0, 0.0] and speed.authority["beta"][2] > 0.1
    position = relative_degree(flexible_arm(), Servo([LINKS], MOTORS), *STATE)
    assert position.degrees == {"links": 4} and position.rank == 2 and position.internal == 0
    assert "relative degree 'links' 4; the zero dynamics have 0 states" in position.sentence


def test_without_further_differentiation_the_control_says_that_it_has_no_authority():
    with pytest.raises(ModelError, match="'beta' without authority"):
        control(flexible_arm(), swing(), *STATE)


@pytest.mark.slow
def test_motors_bring_the_links_to_the_constraint_as_in_the_reference():
    run = zw.simulate(
        closed(flexible_arm(), found()),
        [0, 0, 0, 0],
        [1, -0.1, 0, 0],
        times=[0.1, 0.5, 1, 2, 5],
        rtol=1e-11,
    )
    beta = run.dataset.v[:, 0] + run.dataset.v[:, 1]
    exact = [
        0.8850777941053589,
        0.48275539090082475,
        0.10999468399768032,
        0.002433374225609025,
        4.118003998940097e-09,
    ]
    np.testing.assert_allclose(beta, exact, atol=1e-12)
    state = [-0.7905092428940076, 1.325303778590157, -1.2554619511985383, 4.540362492524274]
    state += [0.8483820137153725, -0.8483820095973679, 0.13199130257023978, 2.1226378666036103]
    np.testing.assert_allclose(
        np.concatenate([run.dataset.q[-1], run.dataset.v[-1]]), state, atol=1e-8
    )
    seen = run.dataset
    assert (
        list(seen.actuator.values) == ["motor 1", "motor 2"]
        and float(seen.servo_residual.max()) < 1e-12
    )


@pytest.mark.slow
def test_hinges_between_motor_and_load_do_not_change_the_control():
    """A mass on a rigid rod, turned by a motor through a spring: with the angle, and with x and y
    held by the rod.
    """

    def flat(q, v, t, p):
        twist = 3.0 * (q[0] - q[1])
        return jnp.stack([-twist - 2.0 * 9.81 * jnp.sin(q[0]), twist])

    def spatial(q, v, t, p):
        angle = jnp.arctan2(q[0], -q[1])
        twist = 3.0 * (angle - q[2])
        return jnp.stack([twist * q[1], -twist * q[0] - 2.0 * 9.81, twist])

    rod = zw.Holonomic(lambda q, t, p: q[0] ** 2 + q[1] ** 2 - 1, name="rod")
    one = zw.Model(zw.System(2, lambda q, t, p: jnp.array([2.0, 0.5]), flat))
    two = zw.Model(zw.System(3, lambda q, t, p: jnp.array([2.0, 2.0, 0.5]), spatial), [rod])
    turn = zw.Holonomic(lambda q, t, p: q[0] - jnp.sin(t), name="turn")
    height = zw.Holonomic(lambda q, t, p: jnp.arctan2(q[0], -q[1]) - jnp.sin(t), name="turn")
    angle, rate, motor, spin = 0.4, 0.7, 0.1, -0.3
    q = [np.sin(angle), -np.cos(angle), motor]
    v = [rate * np.cos(angle), rate * np.sin(angle), spin]
    first = Servo([turn], np.array([[0.0], [1.0]]), gains=2.0, degrees={"turn": 4})
    second = with_found_degrees(
        two, Servo([height], np.array([[0.0], [0.0], [1.0]]), gains=2.0), q, v, 0.2
    ).servo
    assert second.degrees == {"turn": 4}
    u = control(one, first, [angle, motor], [rate, spin], 0.2).u
    np.testing.assert_allclose(control(two, second, q, v, 0.2).u, u, rtol=1e-9)


def test_an_actuator_that_reaches_nothing_is_said_to():
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -q)
    model = zw.Model(system, name="two oscillators")
    other = zw.Holonomic(lambda q, t, p: q[1], name="other")
    servo = Servo([other], np.array([[1.0], [0.0]]), gains=1.0)
    answer = relative_degree(model, servo, [0.1, 0.2], [0.3, 0.4])
    assert answer.degrees == {"other": None} and answer.internal is None
    with pytest.raises(ModelError, match="no actuator reaches 'other', and dynamic ext"):
        with_found_degrees(model, servo, [0.1, 0.2], [0.3, 0.4])


@pytest.mark.slow
def test_gains_must_fit_the_degree_that_is_found():
    servo = Servo([LINKS], MOTORS, gains=SecondOrder(2.0))
    with pytest.raises(ModelError, match="SecondOrder is of order 2, but .* of order 4"):
        with_found_degrees(flexible_arm(), servo, *STATE)


@pytest.mark.slow
def test_rows_of_one_function_with_different_degrees_are_separated():
    # a trolley and a winch: the winch reaches the height of the load at degree 2, the trolley its
    # place only through the swing of the rope, at degree 4
    def kinetic(q, v, t, p):
        along = v[0] + v[1] * jnp.sin(q[2]) + q[1] * v[2] * jnp.cos(q[2])
        up = -v[1] * jnp.cos(q[2]) + q[1] * v[2] * jnp.sin(q[2])
        return 5.0 * v[0] ** 2 + 0.5 * v[1] ** 2 + along**2 + up**2

    system = zw.Lagrangian(kinetic, lambda q, t, p: -19.62 * q[1] * jnp.cos(q[2]), nq=3)
    crane = zw.Model(system, name="crane")
    path = zw.Holonomic(
        lambda q, t, p: jnp.stack(
            [q[0] + q[1] * jnp.sin(q[2]) - 0.1 * t**5, 4.0 - q[1] * jnp.cos(q[2]) - 0.1 * t**5]
        ),
        name="path",
    )
    servo = Servo([path], np.eye(3)[:, :2], actuators=["trolley", "winch"], gains=4.0)
    start = [0.0, 4.0, 0.0], [0.0, 0.0, 0.0]
    with pytest.raises(
        ModelError, match=r"only rows \[1\] of 2 .* as zw.servo.with_found_degrees does"
    ):
        relative_degree(crane, servo, *start)
    made = with_found_degrees(crane, servo, *start)
    assert made.degrees == {"path[0]": 4, "path[1]": 2}
    assert made.servo.gains["path[1]"] == servo.gains["path"]
    answer = control(made.model, q=start[0], v=start[1])
    assert answer.u[1] == pytest.approx(-19.62)  # the winch holds the load
    with pytest.raises(ModelError, match="with_found_degrees.* differentiates it until one does"):
        control(crane, Servo([path], np.eye(3)[:, :1], gains=4.0), *start)
