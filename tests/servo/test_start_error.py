"""A servo constraint that starts with an error and has no gain is named."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.equations.state import host_state

Q, V = [0.6, 0.8], [0.0, 0.0]


def on_a_circle(goal, gains=None):
    """A point on a circle, pushed in both directions."""
    system = zw.System(2, lambda q, t, p: jnp.eye(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    circle = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="circle")
    return zw.Model(system, [circle], servo=zw.Servo([goal], np.eye(2), gains=gains))


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
