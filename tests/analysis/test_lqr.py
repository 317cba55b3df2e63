"""Regulators designed on the tangent space stabilize the model in full coordinates."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import zwang as zw
from tests.analysis import systems
from tests.analysis.systems import G


@pytest.fixture(scope="module")
def linear():
    return zw.analysis.linearize(systems.cart_pole(), [0.0, 0.0, 0.0, 0.5], inputs=["push"])


@pytest.fixture(scope="module")
def regulator(linear):
    return zw.analysis.lqr(linear, R=0.1)


@pytest.mark.slow
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
    closed = zw.analysis.linearize(regulator.model, [0.0, 0.0, 0.0, 0.5])
    np.testing.assert_allclose(
        np.sort_complex(closed.poles), np.sort_complex(regulator.poles), rtol=1e-8
    )
    assert "push = 0 − " in str(regulator) and "δ(cart.x)" in str(regulator)


def test_a_closed_loop_records_its_control_and_is_sampled_by_a_loop():
    linear = zw.analysis.linearize(systems.cart_pole(), [0.0, 0.0, 0.0, 0.5], inputs=["cart.x"])
    closed = zw.analysis.lqr(linear, R=0.1)
    q0, settings = [0.0, 0.0, 0.5 * np.sin(0.1), 0.5 * np.cos(0.1)], {"duration": 0.3, "samples": 4}
    run = zw.simulate(closed.model, q0, np.zeros(4), **settings)
    u = [closed(q, v)[0] for q, v in zip(run.q, run.v, strict=True)]
    np.testing.assert_allclose(run.dataset.control[:, 0], u, rtol=1e-9)
    held = zw.simulate(closed.model, q0, np.zeros(4), loop=zw.Loop(sample_time=0.3), **settings)
    np.testing.assert_allclose(held.dataset.control[:3, 0], closed(run.q[0], run.v[0])[0])


def test_inputs_by_a_function_are_those_of_its_matrix():
    at = [0.0, 0.0, 0.0, 0.5]
    given = lambda q, t, p: jnp.array([[1.0], [0.0], [0.0], [0.0]])
    linear = zw.analysis.linearize(systems.cart_pole(), at, inputs=given)
    named = zw.analysis.linearize(systems.cart_pole(), at, inputs=["cart.x"])
    np.testing.assert_array_equal(linear.B, named.B)
    with pytest.raises(zw.ModelError, match=r"returns shape \(4,\), expected \(4, nu\)"):
        zw.analysis.linearize(systems.cart_pole(), at, inputs=lambda q, t, p: q)


def test_a_state_out_of_reach_is_named():
    # the bob pushed up its rod: nothing moves along the rail
    linear = zw.analysis.linearize(systems.cart_pole(), [0.0, 0.0, 0.0, 0.5], inputs=["bob.y"])
    with pytest.raises(zw.ModelError, match="do not reach 'cart.x'"):
        zw.analysis.lqr(linear)


def test_wrong_weights_are_refused(linear):
    with pytest.raises(zw.ModelError, match=r"Q has shape \(3,\), expected a number"):
        zw.analysis.lqr(linear, Q=[1.0, 1.0, 1.0])
    with pytest.raises(zw.ModelError, match="R has an eigenvalue that is not positive"):
        zw.analysis.lqr(linear, R=0.0)
    with pytest.raises(zw.ModelError, match="Q has a negative eigenvalue"):
        zw.analysis.lqr(linear, Q=-1.0)
    with pytest.raises(zw.ModelError, match="has no inputs"):
        zw.analysis.lqr(zw.analysis.linearize(systems.cart_pole(), [0.0, 0.0, 0.0, 0.5]))


def driven_governor(speed):
    """A bead on a hoop that a torque turns, at its steady angle, with its regulator."""

    def force(q, v, t, p):
        s, c = jnp.sin(q[1]), jnp.cos(q[1])
        return jnp.stack([p["torque"] - 2 * s * c * v[0] * v[1], s * c * v[0] ** 2 - G * s])

    system = zw.System(
        nq=2,
        mass_matrix=lambda q, t, p: jnp.array([0.3 + jnp.sin(q[1]) ** 2, 1.0]),
        force=force,
        coordinates=("spin", "angle"),
        units=("rad", "rad"),
    )
    model = zw.Model(system, params={"torque": 0.0}, name="governor")
    angle = float(np.arccos(G / speed**2))
    q, v = np.array([0.7, angle]), np.array([speed, 0.0])
    return zw.analysis.lqr(zw.analysis.linearize(model, q, v, inputs=["torque"]), R=0.1), q, v


@pytest.mark.slow
def test_a_regulator_about_a_steady_motion_holds_it_and_leaves_its_phase_alone():
    regulator, q, v = driven_governor(5.0)
    # without it the angle swings for ever: the same model without torque has imaginary poles
    assert len(regulator.poles) == 3 and np.max(regulator.poles.real) < -0.1
    turned = np.array([40.0, 0.0])  # another phase is no deviation
    np.testing.assert_allclose(regulator(q + turned, v, 0.0), [0.0], atol=1e-10)
    run = zw.simulate(regulator.model, q + [0.0, 0.1], v + [0.1, 0.0], duration=25.0, rtol=1e-9)
    np.testing.assert_allclose(run.q[-1, 1], q[1], atol=1e-4)
    np.testing.assert_allclose(run.v[-1], v, atol=1e-4)
    assert abs(run.q[-1, 0] - q[0] - 5.0 * 25.0) < 1.0  # it went on turning


def test_a_moving_state_is_refused():
    moving = zw.analysis.linearize(systems.cart_pole(), [0.0, 0.0, 0.3, 0.4], inputs=["push"])
    assert moving.kind == "moving state"
    with pytest.raises(zw.ModelError, match="about a moving state"):
        zw.analysis.lqr(moving)
