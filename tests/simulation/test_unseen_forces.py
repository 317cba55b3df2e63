"""Loads that change while nothing moves: the error estimate of a step does not contain them, and a
step could miss an interval in which a row becomes inactive.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import zwang as zw

LOAD, PACE, MASS = 10.0, 3.0, 2.0


def pushed():
    """A mass on a line that a load pushes to and fro, against a weight if there is one."""
    return zw.System(
        nq=1,
        coordinates=("x",),
        units=("m",),
        mass_matrix=lambda q, t, p: MASS * jnp.ones(1),
        force=lambda q, v, t, p: jnp.array([LOAD * jnp.sin(PACE * t) - p["weight"]]),
    )


@pytest.mark.parametrize("part", [0.6, 0.9, 0.9999])
def test_friction_lets_go_within_a_step_in_which_nothing_moves(part):
    limit, period = part * LOAD, np.pi / PACE
    rub = zw.DryFriction(lambda q, v, t, p: v[0], load=limit, static=1.0, name="rub")
    model = zw.Model(pushed(), [rub], params={"weight": 0.0}, name="pushed")
    run = zw.simulate(model, [0.0], [0.0], duration=5 * period, samples=2)
    # it slides from ωt₁ = arcsin(limit/load) until the impulse of the load is used up
    first = np.arcsin(part) / PACE
    left = lambda t: LOAD * (np.cos(PACE * first) - np.cos(PACE * t)) / PACE - limit * (t - first)
    last = brentq(left, np.pi / 2 / PACE, first + period, xtol=1e-15)
    expected = np.sort(np.concatenate([x + period * np.arange(5) for x in (first, last)]))
    found = np.array([x.time for x in run.switches[1:]])
    assert abs(found - expected[: len(found)]).max() < 1e-9
    assert np.sum(expected < 5 * period) == len(found)


@pytest.mark.parametrize("weight", [9.0, 9.99])
def test_a_mass_is_lifted_within_a_step_in_which_nothing_moves(weight):
    floor = zw.Inequality(lambda q, t, p: q[0], name="floor", unit="m")
    model = zw.Model(pushed(), [floor], params={"weight": weight}, name="lifted")
    period = 2 * np.pi / PACE
    run = zw.simulate(model, [0.0], [0.0], duration=5 * period, samples=2)
    up = np.arcsin(weight / LOAD) / PACE

    def height(t):
        moved = LOAD / PACE**2 * (np.sin(PACE * up) - np.sin(PACE * t))
        return moved + LOAD / PACE * np.cos(PACE * up) * (t - up) - weight * (t - up) ** 2 / 2

    down = brentq(height, np.pi / 2 / PACE, up + 0.9 * period, xtol=1e-15)
    expected = np.sort(np.concatenate([x + period * np.arange(5) for x in (up, down)]))
    found = np.array([x.time for x in run.switches[1:]])
    assert len(found) == 10
    assert abs(found - expected).max() < 1e-9
