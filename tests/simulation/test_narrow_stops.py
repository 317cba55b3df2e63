"""Stops that are reached only within a small part of a step."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

CAR = zw.Model(zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: jnp.zeros(1)), [])
BALL = zw.Model(
    zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81])), []
)
NARROW = {
    "parabola": lambda q, v, t, p: 1e-6 - (q[0] - 6.2) ** 2,
    "tip": lambda q, v, t, p: 1e-3 - jnp.abs(q[0] - 6.2),
    "from above": lambda q, v, t, p: (q[0] - 6.2) ** 2 - 1e-6,
}


@pytest.mark.parametrize("name", NARROW)
def test_a_stop_of_2_mm_in_10_m_is_not_stepped_over(name):
    """The run takes steps of meters; the stop is met from 6.199 to 6.201 m, at 1 m/s."""
    stop = zw.Stop(NARROW[name], name="gate")
    run = zw.simulate(CAR, [0.0], [1.0], duration=10.0, samples=2, stop=[stop])
    assert run.result is zw.Result.STOPPED
    assert np.isclose(run.t[-1], 6.199, atol=1e-9)


def test_a_ball_is_stopped_by_a_wire_that_it_passes_in_2_ms():
    """Thrown at 5 m/s upward from 1 mm below a wire 1 mm under its highest point."""
    height = 25.0 / (2 * 9.81)
    stop = zw.Stop(lambda q, v, t, p: q[1] - (height - 1e-6), name="wire")
    run = zw.simulate(BALL, [0.0, 0.0], [1.0, 5.0], duration=1.0, samples=2, stop=[stop])
    assert run.result is zw.Result.STOPPED
    assert np.isclose(run.t[-1], 5.0 / 9.81 - np.sqrt(2e-6 / 9.81), atol=1e-9)


def test_a_stop_that_is_not_met_changes_no_step():
    steps = [
        zw.simulate(BALL, [0.0, 0.0], [1.0, 5.0], duration=1.0, samples=2, stop=stop).steps.t
        for stop in ([], [zw.Stop(lambda q, v, t, p: (q[0] - 0.5) ** 2 + 1e-6, name="never")])
    ]
    assert np.array_equal(*steps)
