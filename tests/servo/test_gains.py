"""Errors decay according to the gains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo.models import SPEED, closed, distance_servo, two_masses
from zwang.errors import ModelError
from zwang.servo import FirstOrder, Poles, Rate, Robust, SecondOrder, Servo
from zwang.servo.gains import AbstractGain, as_gain, require_decay

T = np.linspace(0.0, 2.0, 9)


def test_polynomials_of_the_gains():
    np.testing.assert_allclose(Rate(2.0).coefficients(3), [8, 12, 6])
    np.testing.assert_allclose(Poles(1.0, 2.0, 3.0).coefficients(3), [6, 11, 6])
    np.testing.assert_allclose(SecondOrder(3.0, 0.5).coefficients(2), [9, 3])
    np.testing.assert_allclose(FirstOrder(4.0).coefficients(1), [4])


def test_a_matrix_of_rates_couples_the_rows():
    rates = np.array([[1.0, 2.0], [0.0, 3.0]])
    np.testing.assert_allclose(FirstOrder(rates).pull([jnp.array([1.0, 10.0])]), -rates @ [1, 10])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("gain", "exact"),
    [
        (Poles(1.5, 4.0), lambda t: (4 * np.exp(-1.5 * t) - 1.5 * np.exp(-4 * t)) / 2.5),
        (
            SecondOrder(4.0, 0.25),
            lambda t: np.exp(-t) * (np.cos(15**0.5 * t) + np.sin(15**0.5 * t) / 15**0.5),
        ),
    ],
    ids=["poles", "oscillating"],
)
def test_wrong_start_decays_at_position_level(gain, exact):
    run = zw.simulate(
        closed(two_masses(), distance_servo(gains={"distance": gain})),
        [0, 2.3],
        [0, 0],
        times=T,
        rtol=1e-10,
    )
    error = (run.dataset.q[:, 1] - run.dataset.q[:, 0] - 2).values
    np.testing.assert_allclose(error, 0.3 * exact(T), atol=1e-8)
    if isinstance(gain, Poles):  # the slow pole alone is left: its rate within 2 %
        assert np.log(error[-2] / error[-1]) / (T[-1] - T[-2]) == pytest.approx(1.5, rel=0.02)


def test_wrong_start_decays_at_velocity_level():
    servo = Servo([SPEED], np.array([[1.0], [0.0]]), gains=2.0)
    run = zw.simulate(closed(two_masses(), servo), [0, 2.0], [1.0, 0.0], times=T, rtol=1e-10)
    np.testing.assert_allclose(run.dataset.v[:, 0] - 0.3, 0.7 * np.exp(-2 * T), atol=1e-8)


@pytest.mark.slow
def test_a_gain_is_tuned_by_gradient_through_the_closed_loop():
    def cost(gain):
        """∫ error² dt + 1e-4 ∫ (x2 − x1 acceleration)² dt over 2 s, by midpoint steps."""
        loop = closed(two_masses(), distance_servo(gains=gain))

        def rate(y):
            return jnp.concatenate([y[2:], zw.motion(loop, y[:2], y[2:]).acceleration])

        def step(y, _):
            half = y + 0.005 * rate(y)
            slope = rate(half)
            return y + 0.01 * slope, 0.01 * (
                (half[1] - half[0] - 2) ** 2 + 1e-4 * (slope[3] - slope[2]) ** 2
            )

        return jnp.sum(jax.lax.scan(step, jnp.array([0.0, 2.3, 0.0, 0.0]), None, length=200)[1])

    slope = jax.jit(jax.value_and_grad(cost))
    gain = 6.0
    first, derivative = slope(gain)
    assert float(derivative) == pytest.approx(
        float(slope(gain + 1e-5)[0] - slope(gain - 1e-5)[0]) / 2e-5, rel=1e-6
    )
    for _ in range(20):
        gain = gain - 1000.0 * float(slope(gain)[1])
    # critically damped: ∫ = 0.3² (5/(4w) + 1e-4 · w³/4), least at w = (5/3e-4)^(1/4)
    assert gain == pytest.approx((5 / 3e-4) ** 0.25, rel=0.02) and float(slope(gain)[0]) < float(
        first
    )


def test_a_gain_of_the_wrong_order_or_name_is_refused():
    with pytest.raises(ModelError, match="of order 1, but .* of order 2"):
        distance_servo(gains={"distance": FirstOrder(1.0)})
    with pytest.raises(ModelError, match="'angle'"):
        distance_servo(gains={"angle": 1.0})


UNSTABLE = {
    "number": (-4.0, 4),
    "one row of several": (Rate([2.0, -1.0]), 3),
    "negative damping": (SecondOrder(3.0, -0.2), 2),
    "no damping": (SecondOrder(3.0, 0.0), 2),
    "first order": (FirstOrder(-1.0), 1),
    "matrix with a growing mode": (FirstOrder([[1.0, 4.0], [4.0, 1.0]]), 1),
    "one pole to the right": (Poles(2.0, -0.5, 3.0), 3),
    "pole at zero": (Poles(2.0, 0.0), 2),
    "all poles at zero": (Rate(0.0), 2),
}


@pytest.mark.parametrize("case", UNSTABLE)
def test_a_gain_under_which_an_error_does_not_decay_is_refused_with_its_poles(case):
    gain, order = UNSTABLE[case]
    expected = {"all poles at zero": "all poles at 0", "not a number": "NaN or inf"}
    match = expected.get(case, r"poles of the error dynamics are .* 1/s, expected negative real")
    with pytest.raises(ModelError, match=match):
        require_decay("x", as_gain(gain), order)


def test_a_servo_names_the_constraint_whose_gain_is_unstable():
    with pytest.raises(ModelError, match=r"gain of 'distance', Rate, .* grow .* are 4, 4 1/s"):
        distance_servo(gains=-4)
    with pytest.raises(ModelError, match=r"never decay: .* are -?0[+-]3i, -?0[+-]3i"):
        distance_servo(gains={"distance": SecondOrder(3.0, 0.0)})
    with pytest.raises(ModelError, match="leave the gain out"):
        distance_servo(gains=0.0)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_error_poles_are_the_roots_of_the_polynomial_of_every_gain(order):
    fits = {1: FirstOrder([[1.0, 2.0], [0.0, 3.0]]), 2: SecondOrder(4.0, 0.25)}
    gains = [Rate(2.0), Rate([1.0, 3.0]), Poles(*range(1, order + 1))]
    gains += [Robust(2.0, bound=1.0, layer=0.1)] + ([fits[order]] if order in fits else [])
    for gain in gains:
        own = np.sort_complex(gain.error_poles(order))
        general = np.sort_complex(AbstractGain.error_poles(gain, order))
        np.testing.assert_allclose(own, general, atol=2e-3)  # a pole of multiplicity 4: 1e-16^(1/4)
        require_decay("x", gain, order)


def test_a_gain_that_is_being_differentiated_is_not_judged():
    slope = jax.grad(lambda k: distance_servo(gains=k).gains["distance"].k)
    assert float(slope(3.0)) == 1.0
