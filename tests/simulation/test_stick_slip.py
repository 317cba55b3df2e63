"""Stick and slip by a drive of rate 0 and a `zw.Switch`: one motion by native code and by XLA, in
the first and in every later run.

A block on a rough floor is pulled by a spring (4 N/m) whose other end moves at 1 m/s. It sticks
while the pull is below μ_s m g, and slides against μ_k m g until it comes to rest. While it slides,
the motion is a sine about a moving position.
"""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import zwang as zw
from tests.crossed import crossed
from zwang.compile.engine import VARIABLE

STIFFNESS, HOLDS, SLIDES = 4.0, 0.5 * 9.81, 0.3 * 9.81
FREQUENCY = np.sqrt(STIFFNESS)
RELEASE = HOLDS / STIFFNESS


def sliding(after):
    """Place and velocity after a release at x = 0, where the spring's end has gone `RELEASE`."""
    y0, turned = SLIDES / STIFFNESS - RELEASE, FREQUENCY * after
    y = y0 * np.cos(turned) - np.sin(turned) / FREQUENCY
    rate = -y0 * FREQUENCY * np.sin(turned) - np.cos(turned)
    return y + RELEASE + after - SLIDES / STIFFNESS, rate + 1


STOP = scipy.optimize.brentq(lambda t: sliding(t)[1], 0.3, 2 * np.pi / FREQUENCY)
SLIP = sliding(STOP)[0]
PERIOD = SLIP
"""A cycle is the time in which the spring's end goes as far as the block slips."""

pull = lambda q, t: STIFFNESS * (t - q[0])
BLOCK = zw.Model(
    zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: jnp.array([pull(q, t) - SLIDES])),
    [zw.Nonholonomic(lambda q, v, t, p: v[0], name="stuck")],
)
RELEASES = {
    "by the pull": lambda q, v, t, p, force: pull(q, t) - HOLDS,
    "by the force that holds it": lambda q, v, t, p, force: SLIDES - HOLDS - force[0],
}


@pytest.mark.slow
@pytest.mark.parametrize("release, engine", crossed([*RELEASES], ["native", "xla"]))
def test_a_block_sticks_and_slips_as_its_closed_form(release, engine, monkeypatch):
    monkeypatch.setenv(VARIABLE, engine)
    switch = zw.Switch("stuck", off=RELEASES[release], on=lambda q, v, t, p: -v[0])
    times = np.linspace(0.0, 8.0, 41)
    cycle = np.maximum(np.floor((times - RELEASE) / PERIOD), 0)
    after = times - RELEASE - cycle * PERIOD
    moved = np.where(after < 0, 0.0, sliding(np.minimum(after, STOP))[0])
    for _ in range(3):
        run = zw.simulate(BLOCK, [0.0], [0.0], times=times, switches=[switch])
        assert run.result is zw.Result.SUCCESS
        assert ("native" in run.attrs["engine"]) == (engine == "native")
        np.testing.assert_allclose(run.q[:, 0], cycle * SLIP + moved, rtol=0, atol=2e-8)
        turns = [s.time for s in run.switches if s.time > 0.1]
        expected = [RELEASE, RELEASE + STOP, RELEASE + PERIOD, RELEASE + PERIOD + STOP]
        np.testing.assert_allclose(turns[:4], expected, atol=1e-7)
