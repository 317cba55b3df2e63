"""The motion does not depend on the scale of rows, their repetition, or units."""

import numpy as np
import pytest

from .examples import example, run, steps

SAME_MOTION = 1e-9
"""Relative to the largest coordinate of a kind."""
VARIANTS = {
    "rows times 1e-6 … 1e6": {"row_factor": 1e6},
    "each row three times": {"repeat": 3},
    "millimetres and grams": {"units": "mm-g"},
    "all at once": {"row_factor": 1e6, "repeat": 2, "units": "mm-g"},
}


def in_meters(reached):
    """Coordinates in m and rad, shape (samples, nq)."""
    return reached.q / np.where([u == "mm" for u in reached.model.system.units], 1e3, 1.0)


@pytest.mark.parametrize(
    "end_only",
    [pytest.param(False, marks=pytest.mark.slow), True],
    ids=["samples", "end only"],
)
@pytest.mark.parametrize(
    "variant",
    [v if v == "all at once" else pytest.param(v, marks=pytest.mark.slow) for v in VARIANTS],
)
def test_the_same_mechanism_written_otherwise_moves_the_same(variant, end_only):
    """Same motion to 1e-9 relative, and the same number of steps within 10 %, at rtol 1e-10."""
    plain = run("n-four-bar", N=2, end_only=end_only)
    other = run("n-four-bar", N=2, end_only=end_only, **VARIANTS[variant])
    assert np.max(np.abs(in_meters(other) - in_meters(plain))) <= SAME_MOTION * np.max(
        np.abs(in_meters(plain))
    )
    assert abs(steps(other) - steps(plain)) <= 0.1 * steps(plain)


def test_the_start_is_the_same_in_other_units():
    plain, other = example("n-four-bar", N=2), example("n-four-bar", N=2, units="mm-g")
    factor = np.where([u == "mm" for u in other.model.system.units], 1e3, 1.0)
    assert np.allclose(other.q0, factor * plain.q0, rtol=1e-15)
    assert np.allclose(other.v0, factor * plain.v0, rtol=1e-15)
