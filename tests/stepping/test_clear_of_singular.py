"""Step lengths for which the stages avoid a singular configuration."""

import numpy as np
import pytest

from zwang.stepping.bosh3 import TABLEAU as BOSH3
from zwang.stepping.dopri8 import TABLEAU as DOPRI8
from zwang.stepping.explicit import clear_lengths
from zwang.stepping.tsit5 import TABLEAU as TSIT5

SLOPE = 0.02
"""Smallest singular value one step away from the configuration."""


def lengths_for(method, at: float, slope: float = SLOPE, floor: float = 0.0):
    least = np.sqrt((slope * (np.array(method.c[1:]) - at)) ** 2 + floor**2)
    return np.asarray(clear_lengths(method, least))


def distance(method, at: float) -> float:
    """From the nearest stage of a step of length 1 or of the next one."""
    nodes = np.unique(method.c)
    return np.min(np.abs(np.append(nodes, 1 + nodes) - at))


@pytest.mark.slow
@pytest.mark.parametrize("method", [DOPRI8, TSIT5, BOSH3])
def test_new_lengths_come_clearer_by_half(method):
    acted = 0
    for at in np.linspace(0.02, 1.6, 80):
        length, before = lengths_for(method, at)
        if np.isfinite(length):
            passed = (at - (before if np.isfinite(before) else 0.0)) / length
            assert 0 < passed < 1 and length <= 1 and not 1 <= before < np.inf
            assert length * distance(method, passed) > 1.49 * distance(method, at)
            acted += 1
    assert acted >= 10


def test_a_configuration_halfway_between_stages_is_passed_as_it_is():
    assert np.all(np.isinf(lengths_for(DOPRI8, (0.65 + DOPRI8.c[10]) / 2)))


@pytest.mark.parametrize("slope, floor", [(10.0, 0.0), (0.0, 0.3), (0.02, 0.1)])
def test_where_singular_values_are_not_small_no_step_is_changed(slope, floor):
    """Far from one, of a constant rank, and past one that is only near."""
    assert np.all(np.isinf(lengths_for(DOPRI8, 0.93, slope, floor)))
