"""L⁻¹ of one matrix and of a batch are equal, and so are their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra.cholesky import SMALL, Cholesky, gram, inverse_factor, pairs
from zwang.algebra.mass_matrix import factor_mass
from zwang.compile import program
from zwang.native.rules.linear_algebra import minimum_degree


def matrices(n: int, count: int = 3):
    C = np.random.default_rng(n).standard_normal((count, n, n))
    return jnp.asarray(C @ C.transpose(0, 2, 1) + np.eye(n))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [1, 2, 5, 12, SMALL])
def test_many_matrices_at_once_are_factored_as_one_by_one(n):
    """Round-off of n terms, of matrices whose condition is some 100; what stands above the diagonal
    is not read.
    """
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


@pytest.mark.parametrize("kind", ["dense", "blocks"])
def test_a_singular_mass_is_noticed_whatever_its_last_pivot(kind):
    """Rotation in quaternion components, M = 4 EᵀE: its last pivot is round-off over the pivots
    before it, up to 1e-9, and positive in three of five cases.
    """
    positive = jax.jit(lambda M: factor_mass(M[None] if kind == "blocks" else M).is_positive())
    random, factored = np.random.default_rng(1), 0
    for _ in range(20):
        w, x, y, z = e = random.standard_normal(4) * 10.0 ** random.uniform(-4, 0, 4)
        E = np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]) / np.linalg.norm(e)
        M = 4 * E.T @ np.diag(random.uniform(0.1, 1.0, 3)) @ E
        factored += bool(np.all(np.isfinite(np.asarray(jax.jit(inverse_factor)(jnp.asarray(M))))))
        assert not positive(jnp.asarray(M))
        # regular with as little as 1e-12 beside what it has
        scale = np.diag(10.0 ** random.uniform(-3, 3, 4))
        assert positive(jnp.asarray(scale @ (M + 1e-12 * np.eye(4)) @ scale))
    assert factored >= 5


def test_derivatives_of_one_and_of_many_are_central_differences():
    """Differences of order two with a step of 1e-5."""
    M, w = matrices(5), jnp.asarray(np.random.default_rng(0).standard_normal((3, 5, 5)))
    dM = 0.5 * (w + jnp.swapaxes(w, 1, 2))
    expected = (
        jax.vmap(inverse_factor)(M + 1e-5 * dM) - jax.vmap(inverse_factor)(M - 1e-5 * dM)
    ) / 2e-5
    many = jax.jvp(jax.vmap(inverse_factor), (M,), (dM,))[1]
    one = jax.jvp(inverse_factor, (M[0],), (dM[0],))[1]
    slope = jax.vmap(jax.grad(lambda M, w: jnp.sum(w * inverse_factor(M))))(M, w)
    assert np.abs(many - expected).max() < 1e-8 and np.abs(one - expected[0]).max() < 1e-8
    assert (
        np.abs(jnp.sum(slope * dM, axis=(1, 2)) - jnp.sum(w * expected, axis=(1, 2))).max() < 1e-7
    )


def test_a_gram_matrix_from_known_entries_is_the_whole_product():
    """Round-off of sums of a few products; it reads no entry outside the pattern."""
    random = np.random.default_rng(3)
    pattern = random.random((9, 40)) < 0.1
    known = pairs(pattern)
    C = np.where(pattern, random.standard_normal((3, 9, 40)), 0.0)
    given = jnp.asarray(np.where(pattern, C, np.nan))
    assert known is not None and len(known[0]) == np.sum(pattern.sum(axis=0) ** 2)
    assert (
        np.abs(jax.vmap(lambda C: gram(C, known))(given) - C @ C.transpose(0, 2, 1)).max() < 1e-14
    )
    assert pairs(np.ones((9, 40), bool)) is None


@pytest.mark.parametrize("size", [1, 3, 6])
def test_weighing_rows_leaves_entries_where_the_mass_matrix_says(size):
    """Diagonal, blocks of three, dense: W reaches within a block and no further."""
    M = {1: np.ones(6), 3: np.stack([np.eye(3) + 1, np.eye(3) + 2]), 6: np.eye(6) + 1}[size]
    mass, pattern = factor_mass(jnp.asarray(M)), np.arange(6) == np.array([[1], [3]])
    spread = mass.spread(pattern)
    assert spread.sum(axis=1).tolist() == [size, size]
    assert not np.any((np.abs(mass.weigh(jnp.asarray(pattern, float))) > 0) & ~spread)


def arrow(n: int) -> np.ndarray:
    """A positive definite chain of n rows, whose last one meets all others."""
    M = 4 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    M[-1], M[:, -1], M[-1, -1] = 0.5, 0.5, n
    return M


@pytest.mark.parametrize("M", [arrow(7), np.asarray(matrices(5)[0])], ids=["chain", "full"])
def test_the_factor_of_native_code_is_the_one_of_lapack(M):
    """In another order of rows, and with a unit diagonal; `|L⁻¹ x|² = xᵀ M⁻¹ x` in any order."""
    x = np.arange(1.0, len(M) + 1)

    @program
    def found(M, x):
        solved, back = (lambda M: Cholesky(M).solve(x)), Cholesky(M)
        slopes = jax.jacfwd(solved)(M), jax.grad(lambda M: Cholesky(M).log_det())(M)
        there = back.forward(x)
        return solved(M), there @ there, back.backward(there), back.log_det(), *slopes

    inverse = np.linalg.inv(M)
    solution, square, again, log_det, slope, turned = found(jnp.asarray(M), jnp.asarray(x))
    for y in (solution, again):
        np.testing.assert_allclose(y, inverse @ x, rtol=1e-13)
    np.testing.assert_allclose(square, x @ inverse @ x, rtol=1e-13)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(M)[1], rtol=1e-13)
    # of a symmetric change, as the lower triangle alone is read
    lower = lambda D: np.tril(D + D.T) - np.diag(np.diag(D))
    np.testing.assert_allclose(turned, lower(inverse), atol=1e-13)
    expected = -np.einsum("ia,b->iab", inverse, inverse @ x)
    np.testing.assert_allclose(slope, np.array([lower(D) for D in expected]), atol=1e-13)


def test_native_code_says_where_a_matrix_is_not_positive_definite():
    M = arrow(5) - 3 * np.eye(5)
    assert np.linalg.eigvalsh(M)[0] < 0
    assert np.isnan(program(lambda M: Cholesky(M).solve(jnp.ones(5)))(jnp.asarray(M))).all()


def test_a_chain_is_eliminated_from_both_ends():
    """Neither loses a zero more, and no row waits for more than half of the others."""
    n = 9
    order = minimum_degree((abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1).tolist())
    assert order == [0, 8, 1, 7, 2, 6, 3, 5, 4]
