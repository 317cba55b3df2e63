"""The spiral of the review paper: errors of loose integrators compared with independent values."""

import numpy as np
import pytest

import zwang.gallery
from zwang.papers.review import spiral

PEAKS = {  # largest ε₁ and ε₂, and calls of the right-hand side: SciPy on the closed equations
    spiral.ODE45: (4.913057611855011e-07, 6.867069565763985e-09, 74),
    "RK45, rtol 1e-3": (0.0034613323056201795, 4.640936788931349e-05, 26),
    "RK45, rtol 1e-6": (3.3024825667471447e-06, 4.549229781769528e-08, 56),
    "RK45, rtol 1e-10": (2.5690785349865577e-10, 3.573672787539026e-12, 290),
}


@pytest.fixture(scope="module")
def histories():
    return spiral._histories(zwang.gallery.load("log-spiral"))


@pytest.mark.parametrize("name", PEAKS)
def test_errors_of_integrators_are_those_of_the_reference(histories, name):
    first, second = (error.max() for error in histories[name].errors)
    np.testing.assert_allclose([first, second], PEAKS[name][:2], rtol=2e-2)
    assert histories[name].calls == PEAKS[name][2]


def test_a_fine_integrator_leaves_round_off(histories):
    assert max(error.max() for error in histories["DOP853, rtol 1e-13"].errors) < 4e-12
