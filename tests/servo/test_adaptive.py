"""A control that estimates the error of its model keeps its stated bounds for random errors."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo import models
from zwang.errors import ModelError

K, MISMATCH = 4.0, 0.25
"""Masses from 0.8 to 1.2 kg where 1 kg is believed: 1/0.8 − 1 is the most that E can be."""
LEARNS = zw.servo.Adaptive(K, growth=400.0, leakage=4.0, layer=0.02, mismatch=MISMATCH)
LARGEST = 0.3
"""Bound of |y| from which ρ follows, and which follows from ρ in turn: see the test."""
RHO = 0.25 * (1 + K**2 * LARGEST + 2 * K * 2 * K * LARGEST) + 1.25 * (0.5 * (1 + LARGEST) + 1.0)


def driven(gain):
    """A mass on a spring under an unknown load, which is to follow sin t."""
    force = lambda q, v, t, p: -p["spring"] * q + p["load"] * jnp.sin(p["pitch"] * t)
    system = zw.System(1, lambda q, t, p: p["m"] * jnp.ones(1), force, coordinates=("x",))
    follow = zw.Holonomic(lambda q, t, p: q[0] - jnp.sin(t), name="follow")
    servo = zw.Servo([follow], [[1.0]], gains=gain, actuators=["push"])
    params = {"m": 1.0, "spring": 2.0, "load": 0.0, "pitch": 3.0}
    return zw.Model(system, params=params, name="mass"), servo


@pytest.fixture(scope="module")
def learning():
    return zw.servo.with_found_degrees(*driven(LEARNS), [0.0], [1.0])


def test_the_bound_is_a_state_that_no_actuator_shows(learning):
    system = learning.model.system
    assert system.velocities == ("x", "bound of 'follow'") and system.controller_states == 1
    assert learning.servo.names(1) == ("push",) and list(learning.q) == [0.0]
    control = zw.control(learning.model, q=learning.q, v=learning.v)
    assert control.u.shape == (1,) and control.actuator_force.shape == (2,)
    assert "bound of 'follow'" in learning.sentence


@pytest.mark.parametrize("cases", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_of_uncertain_systems_none_leaves_the_bounds(learning, cases):
    """The law knows neither ρ nor a bound of anything; ρ is that of what is drawn."""
    bound = float(LEARNS.error_bound(RHO))
    assert bound <= LARGEST
    study = zw.monte_carlo(
        zw.Loop(model=learning.model),
        learning.model,
        {"m": "0.8:1.2", "spring": "1.5:2.5", "load": "-1:1", "pitch": "0.2:12"},
        (learning.q, learning.v),
        cases=cases,
        seed=7,
        duration=8.0,
        samples=81,
        rtol=1e-6,
        outputs={
            "error": lambda t, q, v: float(np.max(np.abs(q[:, 0] - np.sin(t)))),
            "last": lambda t, q, v: float(np.max(np.abs(q[60:, 0] - np.sin(t[60:])))),
        },
    )
    error, last = (np.asarray(study.dataset[x]) for x in ("error", "last"))
    assert error.shape == (cases,) and np.all(np.isfinite(error))
    assert error.max() <= bound and last.max() <= float(LEARNS.ultimate_bound(RHO))


def test_with_a_constant_load_it_comes_to_rest_where_the_equations_say(learning):
    """y = z/k with k z + α z/max(z, ε) = d and leakage α = growth z."""
    model, servo = driven(LEARNS)
    rest = zw.Servo([zw.Holonomic(lambda q, t, p: q[0], name="rest")], [[1.0]], gains=LEARNS)
    found = zw.servo.with_found_degrees(model, rest, [0.0], [0.0])
    pulled = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -2.0 * q + 1.5)
    plant = zw.servo.with_found_degrees(
        zw.Model(pulled, params=model.params, name="pulled"), rest, [0.0], [0.0]
    )
    loop = zw.Loop(model=found.model)
    run = zw.simulate(plant.model, plant.q, plant.v, duration=20.0, samples=3, loop=loop)
    z = max(np.roots([400.0 / 4.0 / 0.02, K, -1.5]))  # within the layer
    np.testing.assert_allclose(run.q[-1, 0], z / K, rtol=1e-5)
    np.testing.assert_allclose(run.v[-1, 1], 100.0 * z, rtol=1e-5)


def test_beyond_its_assumptions_the_bound_does_not_hold(learning):
    """A load of 150 N where ρ is that of 1 N."""
    load = {"load": 150.0, "pitch": 0.8}
    run = models.with_other_numbers(learning.model, learning.q, learning.v, 4.0, load)
    assert np.abs(run.q[:, 0] - np.sin(run.t)).max() > float(LEARNS.error_bound(RHO))


def test_sampled_delayed_and_noisy_it_stays_near_its_bound(learning):
    """What the controller has learned is its own state, and not measured with noise."""
    loop = zw.Loop(sample_time=0.005, delay=0.005, noise_v=1e-3, noise_q=1e-4, model=learning.model)
    case = {"m": 1.15, "load": 1.0, "pitch": 2.0}
    run = zw.simulate(
        learning.model, learning.q, learning.v, duration=3.0, params=case, loop=loop, rtol=1e-6
    )
    assert np.abs(run.q[:, 0] - np.sin(run.t)).max() <= float(LEARNS.error_bound(RHO))
    lone = zw.Loop(sample_time=0.005, noise_v=[0.0, 1e3], model=learning.model)
    quiet = zw.Loop(sample_time=0.005, model=learning.model)
    one, two = (
        zw.simulate(learning.model, learning.q, learning.v, duration=0.1, loop=x).v
        for x in (lone, quiet)
    )
    np.testing.assert_array_equal(one, two)


def test_a_load_where_no_actuator_acts_counts_by_what_it_does_to_the_row():
    """Mismatched: an unknown force on the bob of a crane, whose cart is led."""
    system = zw.System(
        3,
        lambda q, t, p: jnp.array([1.0, 0.2, 0.2]),
        lambda q, v, t, p: jnp.stack([0.0, p["gust"] * jnp.sin(2 * t), -0.2 * 9.81]),
    )
    rope = zw.Holonomic(lambda q, t, p: (q[1] - q[0]) ** 2 + q[2] ** 2 - 0.25, name="rope")
    place = zw.Holonomic(lambda q, t, p: q[0] - 0.2 * jnp.sin(t), name="place")
    servo = zw.Servo([place], np.eye(3)[:, :1], gains=LEARNS)
    crane = zw.Model(system, [rope], {"gust": 0.0}, name="crane")
    found = zw.servo.with_found_degrees(crane, servo, [0.0, 0.0, -0.5], [0.2, 0.2, 0.0])
    run = zw.simulate(
        found.model,
        found.q,
        found.v,
        duration=6.0,
        params={"gust": 0.5},
        loop=zw.Loop(model=found.model),
    )
    # of 0.5 N along the rope at most, the cart of 1 kg feels less than 0.5 m/s²
    error = np.abs(run.q[:, 0] - 0.2 * np.sin(run.t)).max()
    assert 1e-5 < error <= float(LEARNS.error_bound(0.5))


def test_what_is_no_adaptive_loop_is_refused():
    model, servo = driven(LEARNS)
    with pytest.raises(ModelError, match="has a state, which the model lacks"):
        zw.simulate(
            zw.Model(model.system, params=model.params, servo=servo), [0.0], [1.0], duration=1.0
        )
    with pytest.raises(ModelError, match="mismatch is 1.0, expected less than 1"):
        zw.servo.Adaptive(1.0, growth=1.0, leakage=1.0, layer=0.1, mismatch=1.0)
    with pytest.raises(ModelError, match="leakage is 0.0"):
        zw.servo.Adaptive(1.0, growth=1.0, leakage=0.0, layer=0.1)
