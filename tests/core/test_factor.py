"""L⁻¹ of one matrix and of many at once is the same, and so are its derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.factor import LOOPED, inverse_factor


def matrices(n: int, count: int = 3):
    C = np.random.default_rng(n).standard_normal((count, n, n))
    return jnp.asarray(C @ C.transpose(0, 2, 1) + np.eye(n))


@pytest.mark.parametrize("n", [1, 2, 5, 12, LOOPED + 1])
def test_many_matrices_at_once_are_factored_as_one_by_one(n):
    """Round-off of n terms, of matrices whose condition is some 100; what stands above the diagonal is not read."""
    M = matrices(n)
    expected = np.linalg.inv(np.linalg.cholesky(M))
    given = jnp.where(jnp.tril(jnp.ones((n, n), bool)), M, jnp.nan)
    assert np.abs(jax.vmap(inverse_factor)(given) - expected).max() < 1e-13
    assert np.abs(inverse_factor(given[0]) - expected[0]).max() < 1e-13


def test_a_matrix_that_is_not_positive_definite_spoils_itself_only():
    M = matrices(4).at[1].add(-50 * jnp.eye(4))
    finite = np.isfinite(jax.vmap(inverse_factor)(M)).all(axis=(1, 2))
    assert finite.tolist() == [True, False, True]
    assert not np.isfinite(inverse_factor(M[1])).all()


def test_derivatives_of_one_and_of_many_are_central_differences():
    """Differences of order two with a step of 1e-5."""
    M, w = matrices(5), jnp.asarray(np.random.default_rng(0).standard_normal((3, 5, 5)))
    dM = 0.5 * (w + jnp.swapaxes(w, 1, 2))
    expected = (jax.vmap(inverse_factor)(M + 1e-5 * dM) - jax.vmap(inverse_factor)(M - 1e-5 * dM)) / 2e-5
    many = jax.jvp(jax.vmap(inverse_factor), (M,), (dM,))[1]
    one = jax.jvp(inverse_factor, (M[0],), (dM[0],))[1]
    slope = jax.vmap(jax.grad(lambda M, w: jnp.sum(w * inverse_factor(M))))(M, w)
    assert np.abs(many - expected).max() < 1e-8 and np.abs(one - expected[0]).max() < 1e-8
    assert np.abs(jnp.sum(slope * dM, axis=(1, 2)) - jnp.sum(w * expected, axis=(1, 2))).max() < 1e-7
