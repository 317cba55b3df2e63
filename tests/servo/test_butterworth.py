"""The Butterworth gain compared with SciPy's filters and its solution of the Riccati equation."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import solve_continuous_are
from scipy.signal import butter

import zwang as zw
from tests.servo.models import closed, distance_servo, two_masses
from zwang.servo import SecondOrder
from zwang.servo.gains import AbstractGain
from zwang.servo.gains.butterworth import Butterworth

OMEGA = 3.0
ORDERS = [1, 2, 3, 4, 5]


@pytest.mark.parametrize("order", ORDERS)
def test_it_is_the_regulator_that_minimizes_error_and_control(order):
    chain, entry = np.eye(order, k=1), np.eye(order)[:, -1:]
    Q, R = np.diag([1.0] + [0.0] * (order - 1)), np.array([[OMEGA ** (-2 * order)]])
    feedback = np.linalg.solve(R, entry.T @ solve_continuous_are(chain, entry, Q, R))
    np.testing.assert_allclose(Butterworth(OMEGA).coefficients(order), feedback[0], rtol=1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_its_polynomial_is_that_of_the_filter(order):
    denominator = butter(order, OMEGA, analog=True)[1]
    gain = Butterworth(OMEGA)
    np.testing.assert_allclose(gain.coefficients(order), denominator[:0:-1], rtol=1e-12)
    general = AbstractGain.error_poles(gain, order)
    assert all(np.abs(general - s).min() < 1e-9 for s in gain.error_poles(order))


def test_a_gain_of_order_two_is_damped_by_one_over_root_two():
    np.testing.assert_allclose(
        Butterworth([1.0, OMEGA]).coefficients(2),
        SecondOrder(jnp.array([1.0, OMEGA]), 0.5**0.5).coefficients(2),
        rtol=1e-15,
    )


def test_a_servo_returns_as_the_gain_says():
    t = np.linspace(0.0, 2.0, 9)
    servo = distance_servo(gains=Butterworth(OMEGA))
    run = zw.simulate(closed(two_masses(), servo), [0, 2.3], [0, 0], times=t, rtol=1e-10)
    s = OMEGA / 2**0.5
    error = 0.3 * np.exp(-s * t) * (np.cos(s * t) + np.sin(s * t))
    np.testing.assert_allclose(run.q[:, 1] - run.q[:, 0] - 2, error, atol=1e-8)


def test_a_negative_radius_is_refused_with_its_poles():
    with pytest.raises(zw.ModelError, match=r"Butterworth, makes an error grow .* 1/s"):
        distance_servo(gains=Butterworth(-1.0))
