"""Dips of a recorded sequence, and polynomials between steps, beside SciPy's, which are too slow to import for every run."""

import numpy as np
import pytest
from scipy.interpolate import KroghInterpolator
from scipy.signal import find_peaks

from zwang.run.crossing import PROMINENCE, _dips
from zwang.run.interpolate import hermite


@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("size", [3, 4, 10, 200])
def test_dips_are_those_of_scipy_plateaus_included(size, digits):
    rng = np.random.default_rng(size)
    for scale in (1.0, 3.0) * 50:
        volume = np.round(scale * rng.standard_normal(size), digits)
        np.testing.assert_array_equal(_dips(volume), find_peaks(-volume, prominence=PROMINENCE)[0])


def test_a_polynomial_through_steps_and_rates_is_that_of_scipy():
    rng = np.random.default_rng(7)
    nodes = np.cumsum(0.1 + rng.random((20, 4)), axis=1)
    values, rates = rng.standard_normal((2, 20, 4, 6))
    at = nodes[:, 0] + rng.random(20) * (nodes[:, -1] - nodes[:, 0])
    for i, found in enumerate(hermite(nodes, values, rates, at)):
        data = np.stack([values[i], rates[i]], axis=1).reshape(8, -1)
        # round-off of divided differences, relative to the polynomial's largest term
        np.testing.assert_allclose(found, KroghInterpolator(np.repeat(nodes[i], 2), data)(at[i]), rtol=1e-9, atol=1e-8)
