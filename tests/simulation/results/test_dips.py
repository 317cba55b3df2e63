"""Dips of a recorded sequence, and polynomials between steps, compared with those of SciPy, which
is too slow to import for every run.
"""

import numpy as np
import pytest
from scipy.interpolate import KroghInterpolator
from scipy.signal import find_peaks

from zwang.simulation.results import Steps
from zwang.simulation.results.crossing import PROMINENCE, _bottoms, _dips, _parabolas
from zwang.simulation.results.interpolate import hermite


@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("size", [3, 4, 10, 200])
def test_dips_are_those_of_scipy_plateaus_included(size, digits):
    """Between high walls, as what lies beyond the ends is not known, but one real side is."""
    rng = np.random.default_rng(size)
    for scale in (1.0, 3.0) * 50:
        log_det = np.round(scale * rng.standard_normal(size), digits)
        walled = np.concatenate([[1e3], log_det, [1e3]])
        peaks, _ = find_peaks(-walled, prominence=PROMINENCE)
        rises = log_det.max() - log_det >= PROMINENCE
        np.testing.assert_array_equal(_dips(log_det), [i for i in peaks - 1 if rises[i]])


def test_a_run_may_begin_just_before_a_dip_or_end_just_after_it():
    # the first step has no value, and what is flat dips nowhere
    np.testing.assert_array_equal(_dips(np.array([np.nan, -1.0, -1.2, 0.0, 0.1])), [2])
    np.testing.assert_array_equal(_dips(np.array([np.nan, -1.0, 0.0, 0.5])), [1])
    np.testing.assert_array_equal(_dips(np.array([np.nan, 0.0, -0.3, -1.5])), [3])
    for flat in ([np.nan, -1.0, -1.2, -0.9], [np.nan], [0.0, 0.0, 0.0], [np.nan, np.nan]):
        assert not len(_dips(np.array(flat)))


def test_the_old_name_of_the_log_determinant_goes_on_working():
    steps = Steps.start(0.0, np.zeros(2), 0, np.zeros(0))
    with pytest.warns(DeprecationWarning, match=r"Steps\.volume is now log_det"):
        assert steps.volume is steps.log_det


def test_a_polynomial_through_steps_and_rates_is_that_of_scipy():
    rng = np.random.default_rng(7)
    nodes = np.cumsum(0.1 + rng.random((20, 4)), axis=1)
    values, rates = rng.standard_normal((2, 20, 4, 6))
    at = nodes[:, 0] + rng.random(20) * (nodes[:, -1] - nodes[:, 0])
    for i, found in enumerate(hermite(nodes, values, rates, at)):
        data = np.stack([values[i], rates[i]], axis=1).reshape(8, -1)
        # round-off of divided differences, relative to the polynomial's largest term
        np.testing.assert_allclose(
            found, KroghInterpolator(np.repeat(nodes[i], 2), data)(at[i]), rtol=1e-9, atol=1e-8
        )


def test_bottoms_are_found_to_the_precision_in_few_instants():
    """σ = |a (t − t*)| (1 + t²) has a kink at its bottom, hypot of it and a floor has none; a
    bottom may be at an end, too.
    """
    at = np.array([0.3, 1.7, 2.5, 3.0])
    floor = np.array([0.0, 1e-3, 0.0, 0.0])
    low, high = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0])
    asked = []

    def heights(dips, t, glance):
        asked.append((t.size, glance))
        return np.hypot(floor[dips], 1e3 * (t - at[dips]) * (1 + t**2))

    every = np.arange(4)
    sides = np.stack([heights(every, t, True) for t in (low, high)], axis=1)
    asked.clear()
    found = _bottoms(low, high, sides, heights, 1e-9)
    np.testing.assert_allclose(found, at, atol=1e-9)
    assert [glance for _, glance in asked] == [True] + [False] * (len(asked) - 1)
    # the one at an end is found last, by itself
    assert sum(size for size, _ in asked) <= 4 * 30


def test_a_parabola_without_a_bottom_between_its_points_gives_way():
    t = np.array([[0.0, 1.0, 3.0], [0.0, 1.0, 2.0], [1.0, 1.0, 1.0]])
    y = np.stack([3 * (t[0] - 1.7) ** 2 + 2, t[1], t[2]])
    np.testing.assert_allclose(_parabolas(t, y, t[:, 1]), [1.7, 1.0, 1.0], rtol=1e-12)
