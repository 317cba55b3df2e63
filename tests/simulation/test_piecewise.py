"""Piecewise runs compared with single runs."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.simulation.piecewise import PiecewiseRun


def in_pieces(run, count, length):
    for _ in range(count):
        run.advance(length)
    return run


@pytest.fixture(scope="module")
def example():
    return zw.gallery.load("pendulum")


def crane():
    system = zw.System(
        2,
        lambda q, t, p: p["mass"] * jnp.ones(2),
        lambda q, v, t, p: jnp.array([0.0, -9.81]) * p["mass"],
        coordinates=["x", "y"],
    )
    aim = zw.Holonomic(lambda q, t, p: q - jnp.stack([jnp.sin(t), 0.5]), name="aim")
    servo = zw.Servo(
        [aim], lambda q, t, p: jnp.eye(2), limits=zw.servo.Limits(lower=-12.0, upper=12.0)
    )
    return zw.Model(system, [], {"mass": 1.0}, servo=servo, name="crane")


@pytest.mark.slow
def test_a_sampled_and_delayed_controller_keeps_its_instants_across_pieces():
    """Pieces end between the samples and between a sample and its effect."""
    model, loop = crane(), zw.Loop(sample_time=0.02, delay=0.013)
    q0, v0 = [0.2, 0.5], [1.0, 0.0]
    whole = zw.simulate(model, q0, v0, times=[0.0, 0.35], loop=loop)
    run = in_pieces(PiecewiseRun(model, q0, v0, loop=loop), 50, 0.007)
    np.testing.assert_allclose(run.q, whole.q[-1], atol=1e-12)
    np.testing.assert_allclose(run.observed().control, whole.dataset.control.values[-1], atol=1e-9)


@pytest.mark.slow
def test_switches_keep_their_position_across_pieces():
    example = zw.gallery.load("latching-pendulums")
    own = example.simulate
    whole = zw.simulate(example.model, example.q0, example.v0, times=[0.0, 3.5], **own)
    run = in_pieces(PiecewiseRun(example.model, example.q0, example.v0, **own), 50, 0.07)
    assert len(whole.switches) > 0
    np.testing.assert_allclose(run.q, whole.q[-1], atol=1e-6)


def test_forces_and_parameters_act_from_where_they_are_given(example):
    run = PiecewiseRun(example.model, [0.0, -1.0], [0.0, 0.0])
    run.change(applied=[2.0, 0.0])
    found, at = run.observed(), zw.motion(example.model, run.q, run.v)
    expected = np.asarray(at.acceleration) + [2.0, 0.0]
    np.testing.assert_allclose(found.acceleration, expected, atol=1e-13)
    np.testing.assert_allclose(found.constraint_force, [0.0, 9.81], rtol=1e-13)
    run.change(applied=[0.0, 0.0], params={"gravity": 0.0})
    run.advance(0.5)
    np.testing.assert_allclose(run.q, [0.0, -1.0], atol=1e-13)
    assert run.observed().violation < 1e-13


def test_a_run_goes_back_to_where_it_was_saved(example):
    run = PiecewiseRun(example.model, example.q0, example.v0)
    run.advance(0.2)
    saved, q = run.saved(), run.q
    run.change(applied=[5.0, 0.0])
    run.advance(0.3)
    run.restore(saved)
    np.testing.assert_array_equal(run.q, q)
    again = PiecewiseRun(example.model, example.q0, example.v0)
    again.advance(0.2)
    for each in (run, again):
        each.advance(0.3)
    np.testing.assert_array_equal(run.q, again.q)


@pytest.mark.slow
def test_a_massless_coordinate_is_no_obstacle():
    system = zw.System(
        3,
        lambda q, t, p: jnp.array([1.0, 1.0, 0.0]),
        lambda q, v, t, p: jnp.array([0.0, -9.81, 0.0]),
    )
    rows = lambda q, t, p: jnp.stack([q[0] ** 2 + q[1] ** 2 - 1, q[2] - q[0] * q[1]])
    model = zw.Model(system, [zw.Holonomic(rows, name="rod")])
    run = PiecewiseRun(model, [1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    at = zw.motion(model, run.q, run.v)
    np.testing.assert_allclose(run.observed().acceleration, at.acceleration, atol=1e-12)
    np.testing.assert_allclose(run.observed().constraint_force, at.constraint_force, atol=1e-12)


def test_a_motion_that_ends_says_so():
    stop = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: 1 / (1.0 - q) ** 2)
    model = zw.Model(stop, [], name="pole")
    run = PiecewiseRun(model, [0.0], [1.0])
    with pytest.raises(zw.SimulationError, match="pole: stopped at t = "):
        run.advance(5.0)
    assert 0 < run.t < 5 and run.q[0] < 1.0
