"""Residuals of φ and ψ that an accepted step may have."""

from typing import Any

import numpy as np
import pytest

from zwang.stepping.manifold import Landing
from zwang.stepping.step_control import (
    Tolerances,
    acceptable,
)
from zwang.thresholds import AGREEMENT, SOLUTION_ERROR


def leaves(violation: float, slip: float, creep: float) -> bool:
    number: Any = np.float64
    none: Any = np.zeros(0)
    left: Any = {"violation": violation, "slip": slip, "creep": creep}
    landing = Landing(y=none, error=none, converged=number(True), log_det=none, **left)
    tolerances = Tolerances(
        rtol=number(1e-8),
        atol=number(1e-8),
        accept=number(1e-10),
        residual=number(np.inf),
        growth=(number(0.2), number(5.0)),
        longest=number(np.inf),
        duration=number(4.0),
    )
    return bool(acceptable(landing, tolerances))


@pytest.mark.parametrize(
    ("violation", "slip", "creep", "accepted"),
    [
        (1e-11, 0.1 * AGREEMENT, 1.0, True),
        (1e-11, 2 * AGREEMENT, 1.0, False),
        (1e-11, 2 * AGREEMENT, np.inf, False),
        # at rest: all of a velocity may be round-off
        (1e-11, 1.0, 0.2 * SOLUTION_ERROR, True),
        (1e-11, 1.0, 0.3 * SOLUTION_ERROR, False),  # in 4 s
        (1e-9, 0.0, 0.0, False),
    ],
)
def test_a_slip_is_judged_beside_the_speed_and_beside_the_run(violation, slip, creep, accepted):
    assert leaves(violation, slip, creep) is accepted
