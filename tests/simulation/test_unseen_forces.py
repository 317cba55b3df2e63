"""Loads that change while active rows carry them: the error of a step does not see them, and a
step could pass over an interval in which a row lets go.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import zwang as zw

LOAD, PACE, MASS = 10.0, 3.0, 2.0


def pushed():
    """A mass on a line that a load pushes to and fro, against a weight if there is one, and a slow
    pendulum that it does not touch.
    """
    return zw.System(
        nq=2,
        coordinates=("x", "theta"),
        units=("m", "rad"),
        mass_matrix=lambda q, t, p: jnp.array([MASS, 1.0]),
        force=lambda q, v, t, p: jnp.array(
            [LOAD * jnp.sin(PACE * t) - p["weight"], -0.2 * jnp.sin(q[1])]
        ),
    )


RUB = zw.DryFriction(lambda q, v, t, p: v[0], load="limit", static=1.0, name="rub")
FLOOR = zw.Inequality(lambda q, t, p: q[0], name="floor", unit="m")
PUSHED = zw.Model(pushed(), [RUB], params={"weight": 0.0, "limit": 1.0}, name="pushed")
LIFTED = zw.Model(pushed(), [FLOOR], params={"weight": 0.0}, name="lifted")


@pytest.mark.parametrize("angle", [0.0, 1.0])
@pytest.mark.parametrize("part", [0.6, 0.9, 0.9999])
def test_friction_lets_go_within_a_step(part, angle):
    limit, period = part * LOAD, np.pi / PACE
    given = {"params": {"limit": limit}, "duration": 5 * period, "samples": 2}
    run = zw.simulate(PUSHED, [0.0, angle], [0.0, 0.0], **given)
    # it slides from ωt₁ = arcsin(limit/load) until the impulse of the load is used up
    first = np.arcsin(part) / PACE
    left = lambda t: LOAD * (np.cos(PACE * first) - np.cos(PACE * t)) / PACE - limit * (t - first)
    last = brentq(left, np.pi / 2 / PACE, first + period, xtol=1e-15)
    expected = np.sort(np.concatenate([x + period * np.arange(5) for x in (first, last)]))
    found = np.array([x.time for x in run.switches[1:]])
    assert abs(found - expected[: len(found)]).max() < 1e-9
    assert np.sum(expected < 5 * period) == len(found)


@pytest.mark.parametrize("angle", [0.0, 1.0])
@pytest.mark.parametrize("weight", [9.0, 9.99])
def test_a_mass_is_lifted_within_a_step(weight, angle):
    period = 2 * np.pi / PACE
    given = {"params": {"weight": weight}, "duration": 5 * period, "samples": 2}
    run = zw.simulate(LIFTED, [0.0, angle], [0.0, 0.0], **given)
    up = np.arcsin(weight / LOAD) / PACE

    def height(t):
        moved = LOAD / PACE**2 * (np.sin(PACE * up) - np.sin(PACE * t))
        return moved + LOAD / PACE * np.cos(PACE * up) * (t - up) - weight * (t - up) ** 2 / 2

    down = brentq(height, np.pi / 2 / PACE, up + 0.9 * period, xtol=1e-15)
    expected = np.sort(np.concatenate([x + period * np.arange(5) for x in (up, down)]))
    found = np.array([x.time for x in run.switches[1:]])
    assert len(found) == 10
    assert abs(found - expected).max() < 1e-9


def cart():
    """A cart that rubs, with a pendulum, under two loads that oscillate."""
    m, M, length, g = 0.3, 2.0, 0.5, 9.81

    def mass(q, t, p):
        c = m * length * jnp.cos(q[1])
        return jnp.array([[M + m, c], [c, m * length**2]])

    def force(q, v, t, p):
        load = jnp.sum(p["size"] * jnp.sin(p["pace"] * t + p["phase"]))
        swing = m * length * jnp.sin(q[1])
        return jnp.array([load + swing * v[1] ** 2, -g * swing])

    params = {"size": np.ones(2), "pace": np.ones(2), "phase": np.ones(2), "limit": 6.0}
    return zw.Model(
        zw.System(nq=2, mass_matrix=mass, force=force), [RUB], params=params, name="cart"
    )


@pytest.mark.slow
def test_a_cart_with_a_pendulum_lets_go_alike_with_few_samples_and_many():
    """The motion and the load both change the force of friction."""
    model, draw, total = cart(), np.random.default_rng(3), 0
    for _ in range(6):
        sizes = {"size": draw.uniform(2.0, 6.0, 2), "pace": draw.uniform(10.0, 25.0, 2)}
        given = {"params": {**sizes, "phase": draw.uniform(0.0, 6.0, 2)}, "duration": 4.0}
        few, many = (
            zw.simulate(model, [0.0, 0.3], [0.0, 0.0], samples=n, **given) for n in (2, 2001)
        )
        found, expected = ([x.time for x in run.switches] for run in (few, many))
        np.testing.assert_allclose(found, expected, atol=1e-7)
        total += len(found)
    assert total > 50
