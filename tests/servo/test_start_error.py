"""A servo constraint with an initial error and without a gain is reported by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.equations.state import host_state
from zwang.simulation.results.servo_warnings import ServoSamples, error_grows

Q, V = [0.6, 0.8], [0.0, 0.0]


def on_a_circle(goal, gains=None, params=None):
    """A point on a circle, pushed in both directions."""
    system = zw.System(2, lambda q, t, p: jnp.eye(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    circle = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="circle")
    return zw.Model(system, [circle], params, servo=zw.Servo([goal], np.eye(2), gains=gains))


def kept(model, q=Q, v=V, reach=1.0, speed=1.0):
    """What is kept of the errors at a start, in a motion of some reach and speed."""
    state = host_state(np.array(q), np.array(v), 0.0)
    law = model.servo
    return law.kept_errors(model.dynamics().passive, state, np.full(2, reach), np.full(2, speed))


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        (lambda q, t, p: q[0] - 0.5, (0.1, 0.0)),
        (lambda q, t, p: q[0] - 0.6 - 0.1 * t, (0.0, 0.1)),
        (lambda q, t, p: q[0] - 0.5 - 0.1 * t, (0.1, 0.1)),
        (lambda q, t, p: 1e-9 * (q[0] - 0.5), (1e-10, 0.0)),
    ],
)
def test_place_and_velocity_are_judged_apart(goal, expected):
    model = on_a_circle(zw.Holonomic(goal, name="goal"))
    np.testing.assert_allclose(kept(model)["goal"], expected, atol=1e-15)


@pytest.mark.parametrize("off", [0.0, 1e-14, 1e-8])
def test_round_off_and_what_a_start_may_be_off_by_is_not_named(off):
    goal = zw.Holonomic(lambda q, t, p: q[0] - 0.6 - off, name="goal")
    assert kept(on_a_circle(goal)) == {}


def test_a_gain_brings_an_error_back():
    goal = zw.Holonomic(lambda q, t, p: q[0] - 0.5, name="goal")
    assert kept(on_a_circle(goal, gains=4.0)) == {}


def test_a_velocity_constraint_has_no_place():
    goal = zw.Nonholonomic(lambda q, v, t, p: v[0] - 0.2, name="speed")
    np.testing.assert_allclose(kept(on_a_circle(goal))["speed"], (0.0, 0.2))


def test_a_run_says_so():
    goal = zw.Holonomic(lambda q, t, p: q[0] - 0.6 - 0.1 * t, name="goal")
    run = zw.simulate(on_a_circle(goal), Q, V, duration=0.5)
    (said,) = run.warnings
    # φ(t) = ψ₀ t
    assert said.startswith("servo constraint 'goal' starts with |psi| = 0.1 and has no gain")
    assert "its error is 0.05 at the end" in said


TIMES = np.linspace(0.0, 0.5, 11)


@pytest.mark.slow
def test_a_trajectory_says_what_a_run_says():
    goal = zw.Holonomic(lambda q, t, p: q[0] - 0.6 - 0.1 * t, name="goal")
    model = on_a_circle(goal)
    found = zw.trajectory(model, Q, V, TIMES)
    (said,) = found.warnings(model)
    assert said == zw.simulate(model, Q, V, times=TIMES).warnings[0]
    with pytest.raises(zw.ModelError, match="Trajectory.warnings looks at one motion"):
        jax.tree_util.tree_map(lambda x: jnp.stack([x, x]), found).warnings(model)
    assert zw.trajectory(model, Q, [0.1, -0.075], TIMES).warnings(model) == ()
    assert found.warnings(model.passive) == ()


@pytest.mark.slow
def test_a_batch_says_it_of_the_members_concerned():
    goal = zw.Holonomic(lambda q, t, p: q[0] - 0.6 - p["speed"] * t, name="goal")
    model = on_a_circle(goal, params={"speed": 0.0})
    batch = zw.batch(model, Q, V, TIMES, params={"speed": np.array([0.0, 0.1])})
    assert list(batch.warnings) == [1]
    assert "'goal' starts with |psi| = 0.1 and has no gain" in batch.warnings[1][0]
    assert "see .warnings" in str(batch)


@pytest.mark.parametrize(("rate", "count"), [(0.0, 0), (2.0, 0), (8.0, 1)])
def test_an_error_that_grows_exponentially_is_named(rate, count):
    t = np.linspace(0.0, 3.0, 31)
    error, nothing = np.exp(rate * t)[:, None], np.zeros((31, 1))
    samples = ServoSamples(t, ("goal",), ("u",), error, nothing, nothing, nothing[:, 0], nothing)
    said = list(error_grows(samples, 1.0, sampled=False))
    assert len(said) == count
    assert all("'goal' grows" in x and "give other gains" in x for x in said)
