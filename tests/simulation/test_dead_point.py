"""A driven crank that cannot rotate fully ends at its dead point, and is not reported as stiff.

A crank of 0.5 m with a rod of 0.3 m: `0.5 sin θ + 0.3 sin φ = 0` has no φ beyond sin θ = 0.6.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.gallery import load

BLOCKED = np.arcsin(0.6)
THETA = 0.2
PHI = -np.arcsin(0.5 * np.sin(THETA) / 0.3)


def crank(drive) -> zw.Model:
    rod = lambda q, t, p: 0.5 * jnp.sin(q[0]) + 0.3 * jnp.sin(q[1])
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
    return zw.Model(system, [zw.Holonomic(rod, name="rod"), drive])


@pytest.mark.parametrize(
    "drive, rtol",
    [
        (zw.Nonholonomic(lambda q, v, t, p: v[0] - 2.0, name="motor"), 1e-8),
        (zw.Nonholonomic(lambda q, v, t, p: v[0] - 2.0, name="motor"), 1e-11),
        (zw.Holonomic(lambda q, t, p: q[0] - THETA - 2.0 * t, name="motor"), 1e-11),
    ],
    ids=["by rate", "by rate, tight", "by angle, tight"],
)
def test_a_crank_that_cannot_turn_through_is_told_by_its_dead_point(drive, rtol):
    slope = -0.5 * np.cos(THETA) / (0.3 * np.cos(PHI))
    with pytest.raises(zw.SimulationError, match="did not converge.*may have reached a point") as e:
        zw.simulate(crank(drive), [THETA, PHI], [2.0, 2.0 * slope], duration=3.0, rtol=rtol)
    assert "stiff" not in str(e.value)
    assert float(e.value.run.steps.t[-1]) == pytest.approx((BLOCKED - THETA) / 2, abs=1e-6)


def test_a_stiff_spring_is_still_told_as_one():
    """A damper of 1e9 N s/m: the rate of decay is 1e9/s, and nothing is singular."""
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -1e9 * v)
    model = zw.Model(system, [zw.Holonomic(lambda q, t, p: q[0] - q[1], name="rod")])
    with pytest.raises(zw.SimulationError, match="Kvaerno5"):
        zw.simulate(model, [0.0, 0.0], [1.0, 1.0], duration=3.0, max_steps=2000)


def test_a_step_limit_late_in_a_run_of_redundant_rows_is_no_dead_point():
    """Its smallest singular value is that of a row that repeats others, and a ten-thousandth of the
    time since the start is as long as a step.
    """
    example = load("five-bar")
    with pytest.raises(zw.SimulationError, match="step limit") as e:
        zw.simulate(example.model, example.q0, example.v0, duration=300.0, max_steps=1000)
    assert "jumps" not in str(e.value) and e.value.run.steps.t[-1] > 50
