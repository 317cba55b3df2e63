"""Matrices of any size, and matrices that are not real: right results, or errors of one
sentence.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.algebra.pseudoinverse import Proximal

from .matrices import METHODS, name

C = np.random.default_rng(5).standard_normal((3, 5))
every_method = pytest.mark.parametrize("method", METHODS, ids=name)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-100, 1e100, 1e300, 1e160])
@every_method
def test_the_unit_of_a_matrix_does_not_decide(method, size):
    if isinstance(method, Proximal) and not 1e-140 < size < 1e140:
        with pytest.raises(zw.ModelError, match="whose squares are no numbers of float64"):
            method.factor(jnp.asarray(size * C))
        return
    found = method.factor(jnp.asarray(size * C))
    assert int(found.rank()) == 3
    expected = np.linalg.pinv(C) / size
    error = np.max(np.abs(np.asarray(found.matrix()) / expected - 1))
    assert error < 1e-6 if isinstance(method, Proximal) else error < 1e-12


@every_method
def test_complex_matrices_and_vectors_are_refused(method):
    with pytest.raises(zw.ModelError, match="complex entries, expected real ones"):
        method.factor(jnp.asarray(C + 1j))
    with pytest.raises(zw.ModelError, match=r"shape \(5,\), expected a matrix"):
        method.factor(jnp.asarray(C[0]))
