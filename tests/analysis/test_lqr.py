"""Regulators that were laid out on the tangent space work on the full coordinates."""

import numpy as np
import pytest
import scipy.linalg

import zwang as zw
from tests.analysis import systems
from tests.analysis.systems import G


@pytest.fixture(scope="module")
def linear():
    return zw.linearize(systems.cart_pole(), [0.0, 0.0, 0.0, 0.5], inputs=["push"])


@pytest.fixture(scope="module")
def regulator(linear):
    return zw.lqr(linear, R=0.1)


def test_a_cart_pole_in_maximal_coordinates_is_stabilized(regulator):
    tilt = 0.3
    start = [0.0, 0.0, 0.5 * np.sin(tilt), 0.5 * np.cos(tilt)]
    run = zw.simulate(regulator.model, start, np.zeros(4), duration=10.0, rtol=1e-8)
    np.testing.assert_allclose(run.q[-1], [0.0, 0.0, 0.0, 0.5], atol=2e-4)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=2e-4)
    left = zw.simulate(systems.cart_pole(), start, np.zeros(4), duration=1.0)
    assert abs(left.q[-1, 2] - left.q[-1, 0]) > 0.3  # without it the pole falls


def test_gains_are_those_of_minimal_coordinates(regulator):
    # cart and angle: x, θ with bob at x + l θ; y = all coordinates and velocities of both
    M = np.array([[1.2, 0.1], [0.1, 0.05]])
    K = np.diag([0.0, 0.2 * G * 0.5])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.linalg.solve(M, K), np.zeros((2, 2))]])
    B = np.concatenate([np.zeros(2), np.linalg.solve(M, [1.0, 0.0])])[:, None]
    points = np.array([[1.0, 0.0], [1.0, 0.5]])  # of x and θ: cart.x, bob.x
    C = scipy.linalg.block_diag(points, points)
    S = scipy.linalg.solve_continuous_are(A, B, C.T @ C, 0.1 * np.eye(1))
    gains = 10 * B.T @ S
    own = np.hstack([regulator.K_q[:, [0, 2]] @ points, regulator.K_v[:, [0, 2]] @ points])
    np.testing.assert_allclose(own, gains, rtol=1e-9)


def test_the_closed_loop_has_the_poles_that_were_announced(regulator):
    closed = zw.linearize(regulator.model, [0.0, 0.0, 0.0, 0.5])
    np.testing.assert_allclose(
        np.sort_complex(closed.poles), np.sort_complex(regulator.poles), rtol=1e-8
    )
    assert "push = u₀" in str(regulator)


def test_a_state_out_of_reach_is_named():
    # the bob pushed up its rod: nothing moves along the rail
    linear = zw.linearize(systems.cart_pole(), [0.0, 0.0, 0.0, 0.5], inputs=["bob.y"])
    with pytest.raises(zw.ModelError, match="do not reach 'cart.x'"):
        zw.lqr(linear)


def test_wrong_weights_are_refused(linear):
    with pytest.raises(zw.ModelError, match=r"Q has shape \(3,\), expected a number"):
        zw.lqr(linear, Q=[1.0, 1.0, 1.0])
    with pytest.raises(zw.ModelError, match="R has an eigenvalue that is not positive"):
        zw.lqr(linear, R=0.0)
    with pytest.raises(zw.ModelError, match="has no inputs"):
        zw.lqr(zw.linearize(systems.cart_pole(), [0.0, 0.0, 0.0, 0.5]))
