"""Jacobi rotations compared with exact singular values, for matrices with rows of different
sizes.
"""

import mpmath
import numpy as np
import pytest

from zwang.algebra.pseudoinverse import SVD
from zwang.algebra.pseudoinverse.jacobi import Jacobi, orthogonalized

GRADES = np.array([1e-14, 1e-13, 1e-8, 1e-4, 1.0])


def graded() -> np.ndarray:
    """Five rows of a well-conditioned matrix, the first of length 1e-14."""
    return GRADES[:, None] * np.random.default_rng(3).standard_normal((5, 8))


def exact_pseudoinverse(C) -> np.ndarray:
    """Of full row rank: Cᵀ (C Cᵀ)⁻¹ to 60 digits."""
    with mpmath.workdps(60):
        X = mpmath.matrix(C.tolist())
        return np.array((X.T * (X * X.T) ** -1).tolist(), float)


def test_small_singular_values_have_all_their_digits():
    C = graded()
    sigma = np.sort(np.linalg.norm(np.asarray(orthogonalized(C.T)[0]), axis=0))
    with mpmath.workdps(60):
        exact = np.sort(np.array([float(s) for s in mpmath.svd_r(mpmath.matrix(C.tolist()))[1]]))
    np.testing.assert_allclose(sigma, exact, rtol=1e-14)


@pytest.mark.parametrize("turned", [False, True], ids=["wide", "tall"])
def test_rows_of_very_different_size_are_all_enforced(turned):
    C = graded()
    expected = exact_pseudoinverse(C)
    found = np.asarray(Jacobi(threshold=1e-16).factor(C.T if turned else C).matrix())
    found = found.T if turned else found
    # each column belongs to one row, and is as long as the row is short
    error = np.linalg.norm(found - expected, axis=0) / np.linalg.norm(expected, axis=0)
    assert error.max() < 1e-13
    other = np.asarray(SVD(threshold=1e-16).factor(C).matrix())
    lost = np.linalg.norm(other - expected, axis=0) / np.linalg.norm(expected, axis=0)
    assert lost.max() > 1e-4  # so the claim is one that `SVD` does not meet


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", [(1, 4), (1, 1), (7, 6), (3, 1), (12, 12), (2, 2)])
def test_the_singular_values_are_those_of_lapack(shape):
    C = np.random.default_rng(1).standard_normal(shape)
    W, V = map(np.asarray, orthogonalized(C.T if shape[0] < shape[1] else C))
    np.testing.assert_allclose(V.T @ V, np.eye(min(shape)), atol=1e-14)
    np.testing.assert_allclose(
        np.sort(np.linalg.norm(W, axis=0))[::-1], np.linalg.svd(C)[1], rtol=1e-13
    )
