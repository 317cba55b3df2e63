"""A control that learns how wrong its model is."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo.uncertain import LEARNS, RHO, SURFACE, mass
from zwang.errors import ModelError


@pytest.fixture(scope="module")
def learning():
    return zw.servo.with_found_degrees(*mass(LEARNS), [0.0], [1.0])


def test_the_bound_is_a_state_that_no_actuator_shows(learning):
    system = learning.model.system
    assert system.velocities == ("x", "bound of 'follow'") and system.controller_states == 1
    assert learning.servo.names(1) == ("push",) and list(learning.q) == [0.0]
    control = zw.control(learning.model, q=learning.q, v=learning.v)
    assert control.u.shape == (1,) and control.actuator_force.shape == (2,)
    assert "bound of 'follow'" in learning.sentence


def test_with_a_constant_load_it_comes_to_rest_where_the_equations_say(learning):
    """y = z/k with k z + α z/max(z, ε) = d and leakage α = growth z."""
    model, servo = mass(LEARNS)
    rest = zw.Servo([zw.Holonomic(lambda q, t, p: q[0], name="rest")], [[1.0]], gains=LEARNS)
    found = zw.servo.with_found_degrees(model, rest, [0.0], [0.0])
    pulled = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -2.0 * q + 1.5)
    plant = zw.servo.with_found_degrees(
        zw.Model(pulled, params=model.params, name="pulled"), rest, [0.0], [0.0]
    )
    loop = zw.Loop(model=found.model)
    run = zw.simulate(plant.model, plant.q, plant.v, duration=20.0, samples=3, loop=loop)
    z = max(np.roots([400.0 / 4.0 / 0.02, 4.0, -1.5]))  # within the layer
    np.testing.assert_allclose(run.q[-1, 0], z / 4.0, rtol=1e-5)
    np.testing.assert_allclose(run.v[-1, 1], 100.0 * z, rtol=1e-5)


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_an_arm_with_an_unknown_load_keeps_within_its_bound():
    """With Λ the inertia at the hand, a load L turns an acceleration w into (Λ + L)⁻¹(Λ w − L g);
    Λ is at least the mass of the hand, so that ρ ≤ L/(mass + L) (|w| + g).
    """
    member = zw.gallery.load("adaptive-arm", friction=0.0)
    run = member.run(duration=4.0, samples=201, rtol=1e-8)
    turns = np.stack([run.q[:, 0], run.q[:, 0] + run.q[:, 1]])
    speeds = np.stack([run.v[:, 0], run.v[:, 0] + run.v[:, 1]])
    hand = 0.5 * np.stack([np.cos(turns).sum(0), np.sin(turns).sum(0)])
    rate = 0.5 * np.stack([-(np.sin(turns) * speeds).sum(0), (np.cos(turns) * speeds).sum(0)])
    wave = np.stack([np.cos(1.5 * run.t), np.sin(1.5 * run.t)])
    turned = np.stack([-wave[1], wave[0]])
    e, rate = hand - [[0.6], [0.0]] - 0.2 * wave, rate - 0.3 * turned
    w = -0.45 * wave - 10.0 * rate - 25.0 * e
    rho = 0.5 * (np.linalg.norm(w, axis=0).max() + 9.81)
    (gain,) = [x for x in member.model.servo.servo.gains.values() if x is not None]
    worst = np.linalg.norm(e, axis=0).max()
    assert 0.05 * float(gain.error_bound(rho)) < worst <= float(gain.error_bound(rho))
    assert run.v[:, -1].max() > 5.0 and run.warnings == ()
    known = member.run(duration=4.0, samples=5, rtol=1e-8, loop=None)
    assert known.dataset.servo_violation.sel(servo_constraint="circle").max() < 1e-12


@pytest.mark.slow
def test_the_layer_of_another_row_is_checked_too():
    """The servo with states of the controller states the layers of all its gains."""
    system = zw.System(
        2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.stack([0.0 * q[0], p["load"]])
    )
    rows = [
        zw.Holonomic(lambda q, t, p: q[0], name="learns"),
        zw.Holonomic(lambda q, t, p: q[1], name="stays"),
    ]
    servo = zw.Servo(rows, np.eye(2), gains={"learns": LEARNS, "stays": SURFACE})
    model = zw.Model(system, params={"load": 0.0}, name="two")
    found = zw.servo.with_found_degrees(model, servo, [0.0, 0.0], [0.0, 0.0])
    assert found.servo.kept_layers() == {"stays": (float(SURFACE.k), float(SURFACE.layer))}
    run = zw.simulate(
        found.model,
        found.q,
        found.v,
        duration=1.0,
        params={"load": 200.0},
        loop=zw.Loop(model=found.model),
    )
    assert any("'stays'" in x and "that its gain states" in x for x in run.warnings)


def test_what_is_no_adaptive_loop_is_refused():
    model, servo = mass(LEARNS)
    with pytest.raises(ModelError, match="has a state, which the model lacks"):
        zw.simulate(
            zw.Model(model.system, params=model.params, servo=servo), [0.0], [1.0], duration=1.0
        )
    with pytest.raises(ModelError, match="mismatch is 1.0, expected less than 1"):
        zw.servo.Adaptive(1.0, growth=1.0, leakage=1.0, layer=0.1, mismatch=1.0)
    with pytest.raises(ModelError, match="leakage is 0.0"):
        zw.servo.Adaptive(1.0, growth=1.0, leakage=0.0, layer=0.1)
