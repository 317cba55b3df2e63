"""Errors decay as the gains say."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo.models import SPEED, distance_servo, two_masses
from zwang.errors import ModelError
from zwang.servo import FirstOrder, Poles, Rate, SecondOrder, Servo, with_servo

T = np.linspace(0.0, 2.0, 9)


def test_polynomials_of_the_gains():
    np.testing.assert_allclose(Rate(2.0).coefficients(3), [8, 12, 6])
    np.testing.assert_allclose(Poles(1.0, 2.0, 3.0).coefficients(3), [6, 11, 6])
    np.testing.assert_allclose(SecondOrder(3.0, 0.5).coefficients(2), [9, 3])
    np.testing.assert_allclose(FirstOrder(4.0).coefficients(1), [4])


def test_a_matrix_of_rates_couples_the_rows():
    rates = np.array([[1.0, 2.0], [0.0, 3.0]])
    np.testing.assert_allclose(FirstOrder(rates).pull([jnp.array([1.0, 10.0])]), -rates @ [1, 10])


@pytest.mark.parametrize(
    ("gain", "exact"),
    [
        (Poles(1.5, 4.0), lambda t: (4 * np.exp(-1.5 * t) - 1.5 * np.exp(-4 * t)) / 2.5),
        (SecondOrder(4.0, 0.25), lambda t: np.exp(-t) * (np.cos(15**0.5 * t) + np.sin(15**0.5 * t) / 15**0.5)),
    ],
    ids=["poles", "oscillating"],
)
def test_wrong_start_decays_at_position_level(gain, exact):
    run = zw.simulate(with_servo(two_masses(), distance_servo(gains={"distance": gain})), [0, 2.3], [0, 0], times=T, rtol=1e-10)
    error = (run.dataset.q[:, 1] - run.dataset.q[:, 0] - 2).values
    np.testing.assert_allclose(error, 0.3 * exact(T), atol=1e-8)
    if isinstance(gain, Poles):  # the slow pole alone is left: its rate within 2 %
        assert np.log(error[-2] / error[-1]) / (T[-1] - T[-2]) == pytest.approx(1.5, rel=0.02)


def test_wrong_start_decays_at_velocity_level():
    servo = Servo([SPEED], np.array([[1.0], [0.0]]), gains=2.0)
    run = zw.simulate(with_servo(two_masses(), servo), [0, 2.0], [1.0, 0.0], times=T, rtol=1e-10)
    np.testing.assert_allclose(run.dataset.v[:, 0] - 0.3, 0.7 * np.exp(-2 * T), atol=1e-8)


def test_a_gain_of_the_wrong_order_or_name_is_refused():
    with pytest.raises(ModelError, match="of order 1, but .* of order 2"):
        distance_servo(gains={"distance": FirstOrder(1.0)})
    with pytest.raises(ModelError, match="'angle'"):
        distance_servo(gains={"angle": 1.0})
