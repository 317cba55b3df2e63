"""Greville's recursion as printed in the pseudoinverse paper, and its errors."""

import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra.pseudoinverse import Greville

A = np.array([[1.0, 2.0], [3.0, 4.0], [4.0, 6.0]])  # the third row depends on the others


def last_step(case_of_zero_c):
    """The third step of the recursion for A, the third step read as [P − bᵀd | bᵀ], with b as a row
    as in the paper.
    """
    before = np.linalg.inv(A[:2])
    d = A[2] @ before
    np.testing.assert_allclose(A[2] - d @ A[:2], 0, atol=1e-14)  # c = 0
    b = case_of_zero_c(d, before)
    return np.column_stack([before - np.outer(b, d), b])


@pytest.mark.errata
def test_the_printed_case_of_a_dependent_row_lacks_a_transpose():
    # Printed: b = d P/(1 + d dᵀ), which has a value only if P is square, and then the wrong one.
    # Right: b = d Pᵀ/(1 + d dᵀ).
    printed = last_step(lambda d, P: d @ P / (1 + d @ d))
    right = last_step(lambda d, P: d @ P.T / (1 + d @ d))
    np.testing.assert_allclose(right, np.linalg.pinv(A), rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        Greville().factor(jnp.asarray(A)).matrix(), right, rtol=0, atol=1e-14
    )
    np.testing.assert_allclose(A @ printed @ A, A, rtol=0, atol=1e-13)  # any b passes this one
    assert np.abs(A @ printed - (A @ printed).T).max() > 0.1  # but A X is symmetric for one b only

    with pytest.raises(ValueError, match="mismatch"):
        d, P = np.ones(1), np.ones((3, 1))  # one row of three entries so far
        d @ P


@pytest.mark.errata
def test_the_printed_assembly_is_a_product_of_wrong_shape():
    # Printed: P_i = [P − bᵀd] bᵀ, a column. Right: P_i = [P − bᵀd | bᵀ], with one column for every
    # row of A.
    d, b, P = np.ones((1, 2)), np.ones((1, 2)), np.eye(2)
    assert ((P - b.T @ d) @ b.T).shape == (2, 1)
    assert np.hstack([P - b.T @ d, b.T]).shape == A.T.shape
