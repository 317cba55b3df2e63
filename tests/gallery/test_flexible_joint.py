"""The flexible-joint arm of the review paper, section 8.3, in all interpretations of its control,
and with relative degrees 3 and 4.
"""

import functools

import jax
import numpy as np
import pytest

import zwang as zw
from zwang.papers.review.arm import READINGS, arm, paper_control, rate_of
from zwang.papers.review.arm import histories as paper_histories
from zwang.servo import Rate, relative_degree, with_found_degrees

from .examples import example
from .servo_members import by_time, chosen, reference, simulated, with_gain

NAME = "flexible-joint"
VALUES = reference(NAME)
TIMES = np.array(VALUES["t"])
GAINS = (0.5, 1.0, 2.0, 5.0, 10.0)


@functools.cache
def histories() -> dict:
    return paper_histories(GAINS, TIMES)


@pytest.mark.parametrize("reading", READINGS)
def test_the_error_in_every_reading_of_the_control(reading):
    """u on the links with the spring's force in F^c, or K q₂ itself as a virtual control, obeys β'
    = −β/P; the literal reading,
    u on the motors, never brings β to zero, and neither does the printed q₁ with u on the links.
    """
    for gain in GAINS:
        beta = histories()[reading, gain][:, 4:6].sum(axis=1)
        wanted = np.array(VALUES["scan"][f"{reading} 1/P={gain:g}"]["beta"])
        np.testing.assert_allclose(beta, wanted, rtol=1e-8, atol=1e-10)
        exact = 0.9 * np.exp(-gain * TIMES)
        assert (abs(beta - exact).max() < 1e-9) == (reading in ("link_K(q1-q2)", "virtual_Kq2"))


@pytest.mark.slow
def test_states_in_the_readings_that_the_reference_follows_in_full():
    for gain in (1.0, 2.0, 5.0):
        case, x = VALUES["virtual_Kq2_reference"][f"1/P={gain:g}"], histories()["virtual_Kq2", gain]
        np.testing.assert_allclose(x[:, :2], by_time(case["q1"])[1], atol=1e-9)
        np.testing.assert_allclose(x[:, 4:6], by_time(case["v1"])[1], atol=1e-9)
        u = jax.vmap(lambda x, gain=gain: paper_control(x, gain, 0.0))(x)
        np.testing.assert_allclose(u, by_time(case["u"])[1], atol=2e-8)
        np.testing.assert_allclose(x[:, 4] + x[:, 5], case["beta_exact"], atol=1e-10)
    np.testing.assert_allclose(
        histories()["link_K(q1-q2)", 5.0], by_time(VALUES["link_K_q1mq2_Pinv5"])[1], atol=1e-9
    )
    for gain in (1.0, 5.0):
        states = by_time(VALUES["literal_motor_reference"][f"1/P={gain:g}"])[1]
        np.testing.assert_allclose(histories()["literal_motor", gain], states, rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_the_literal_reading_is_unstable_at_rest():
    arm()
    jacobian = jax.jit(
        jax.jacfwd(lambda x, gain: rate_of(x, gain, np.array(READINGS["literal_motor"])))
    )
    for gain, wanted in VALUES["scan"]["literal_linearised_eigs"].items():
        found = np.linalg.eigvals(np.asarray(jacobian(np.zeros(8), float(gain))))
        eigenvalues = np.array(wanted["re"]) + 1j * np.array(wanted["im"])
        order = lambda z: z[np.lexsort((z.imag, np.round(z.real, 9)))]
        np.testing.assert_allclose(order(found), order(eigenvalues), atol=1e-9)
        assert found.real.max() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("pole", [3, 5, 8])
def test_motors_bring_the_speeds_to_the_constraint_through_degree_three(pole):
    case = VALUES["scan"][f"cascade_third_order p={pole}"]
    member = example(NAME)
    run = simulated(with_gain(member.model, Rate(float(pole))), member.q0, member.v0, TIMES)
    np.testing.assert_allclose(run.v[:, 0] + run.v[:, 1], case["beta_exact"], atol=1e-11)
    np.testing.assert_allclose(np.c_[run.q, run.v], by_time(case["states"])[1], atol=2e-9)


@pytest.mark.slow
def test_the_degrees_of_the_member_are_those_that_are_found():
    for task, degree, internal in (("speeds", 3, 5), ("angles", 4, 0)):
        model = example(NAME, task=task).model
        found = relative_degree(
            model.passive, model.servo, [0.1, 0.2, 0.0, 0.3], [1.0, -0.1, 0.2, 0.0]
        )
        assert found.degrees == model.servo.degrees == {task: degree}
        assert found.internal == internal


@pytest.mark.slow
def test_a_servo_with_found_degrees_gives_the_control_of_the_member():
    model = example(NAME, task="angles").model
    q, v, servo = np.array([0.1, 0.2, 0.0, 0.3]), np.array([1.0, -0.1, 0.2, 0.0]), model.servo
    plain = zw.servo.Servo(
        servo.constraints, servo.actuation, actuators=servo.actuators, gains=servo.gains
    )
    found = with_found_degrees(model.passive, plain, q, v, 0.3).servo
    u = chosen(NAME, q[None], v[None], [0.3], task="angles").u[0]
    np.testing.assert_allclose(zw.servo.control(model.passive, found, q, v, 0.3).u, u, rtol=1e-12)


@pytest.mark.slow
def test_link_angles_follow_their_paths_through_degree_four():
    member = example(NAME, task="angles")
    assert member.error(member.run()) < 1e-10
