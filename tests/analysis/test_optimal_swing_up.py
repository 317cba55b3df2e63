"""Swing-ups that satisfy their loop constraints at every instant."""

import sys
from pathlib import Path

import numpy as np
import pytest

import zwang as zw

pytest.importorskip("casadi", reason="extra `optimal`")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["five_bar", "acrobot"])
def test_swing_up_stays_on_its_loops_between_nodes(name):
    import optimal_swing_up as example

    found = getattr(example, f"swing_up_{name}")(rtol=1e-7)
    assert found.status == "Solve_Succeeded"
    assert found.kinematic_error <= 1e-12
    # polynomials through the same motion leave ten orders more
    assert example.lost_between(found) > 1e-5
    model = found.passive.with_parts(servo=found.feedback())
    run = zw.simulate(model, found.q[0], found.v[0], duration=found.duration, rtol=1e-9)
    np.testing.assert_allclose(run.q[-1], found.q[-1], atol=1e-4)
