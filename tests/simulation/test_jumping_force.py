"""Discontinuous forces, which keep a run's steps short, are named."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.simulation.pace import jumping_force


def friction(law):
    """A sledge on level ground, whose second coordinate is held."""
    system = zw.System(
        2,
        lambda q, t, p: jnp.eye(2),
        lambda q, v, t, p: jnp.array([-2.0 * law(v[0]), -9.81]),
        coordinates=["x", "z"],
    )
    return zw.Model(system, [zw.Holonomic(lambda q, t, p: q[1], name="ground")])


@pytest.mark.parametrize(("speed", "slower"), [(2e-9, 1e-9), (1e-9, -1e-9), (3e-7, 3e-7 - 1e-8)])
def test_dry_friction_is_named_beside_its_jump(speed, slower):
    dynamics = friction(jnp.sign).dynamics()
    y = np.array([[0.25, 0.0, speed, 0.0], [0.25, 0.0, slower, 0.0]])
    said = jumping_force(dynamics, np.array([0.5, 0.5 + 1e-9]), y)
    assert said.startswith("the force along 'x' jumps there from ")
    assert "-2" in said and "tanh" in said


def test_a_steep_force_does_not_jump():
    dynamics = friction(lambda v: jnp.tanh(v / 1e-10)).dynamics()
    y = np.array([[0.25, 0.0, 2e-9, 0.0], [0.25, 0.0, 1e-9, 0.0]])
    assert jumping_force(dynamics, np.array([0.5, 0.5 + 1e-9]), y) == ""


def test_a_force_that_is_round_off_of_another_does_not_jump():
    dynamics = friction(lambda v: 1e-17 * jnp.sign(v)).dynamics()
    y = np.array([[0.25, 0.0, 1e-9, 0.0], [0.25, 0.0, -1e-9, 0.0]])
    assert jumping_force(dynamics, np.array([0.5, 0.5 + 1e-9]), y) == ""


def test_a_state_that_stands_still_has_no_jump():
    y = np.zeros((2, 4))
    assert jumping_force(friction(jnp.sign).dynamics(), np.zeros(2), y) == ""


@pytest.mark.slow
def test_a_run_that_sticks_says_so():
    system = zw.System(1, lambda q, t, p: jnp.eye(1), lambda q, v, t, p: -2.0 * jnp.sign(v))
    run = zw.simulate(zw.Model(system, []), [0.0], [0.9], duration=1.0, throw=False)
    assert run.result.is_failure
    assert "the force along 'q0' jumps there" in str(run)
