"""The work of a run, an integral of its power over the samples."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from zwang.simulation.results.work import spline_integral


@pytest.mark.parametrize("count", [2, 3, 4, 5, 50])
def test_integral_is_that_of_the_cubic_spline(count):
    rng = np.random.default_rng(count)
    t, y = np.cumsum(rng.uniform(0.1, 1.0, count)), rng.standard_normal(count)
    assert np.allclose(
        spline_integral(t, y), CubicSpline(t, y).antiderivative()(t), rtol=0, atol=1e-13
    )
