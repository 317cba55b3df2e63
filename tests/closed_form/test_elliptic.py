"""Elliptic functions of the gallery compared with SciPy's."""

import numpy as np
import pytest
from scipy.special import ellipj, ellipkinc

from zwang.gallery.elliptic import amplitude, first_kind


@pytest.mark.parametrize("m", [0.0, 1e-3, 0.3, 0.9, 0.999999])
def test_amplitude_and_integral_are_those_of_scipy(m):
    """1e-13 over five turns: round-off of both, a few units in the last place of u = 30."""
    u, phi = np.linspace(-30.0, 30.0, 1001), np.linspace(-9.0, 9.0, 1000)
    assert np.allclose(amplitude(u, m), ellipj(u, m)[3], rtol=0, atol=1e-13)
    assert np.allclose(first_kind(phi, m), ellipkinc(phi, m), rtol=1e-13)


@pytest.mark.parametrize("m", [1e-3, 0.9, 1 - 1e-12, 1.0])
def test_one_inverts_the_other_up_to_the_separatrix(m):
    """1e-12: F grows to 14 at the end, where SciPy's amplitude is off by 0.1."""
    phi = np.linspace(-1.57, 1.57, 101)
    assert np.allclose(amplitude(first_kind(phi, m), m), phi, rtol=0, atol=1e-12)
