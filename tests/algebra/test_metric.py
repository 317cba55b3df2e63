"""The mass metric in NumPy compared with direct formulas, dense and sparse, with one block or
many.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, issparse

from zwang.algebra.mass_matrix import (
    augmentation,
    augmented_mass,
    dense_mass,
    most_augmented,
)
from zwang.algebra.metric import (
    Metric,
    Rows,
    condition_of_mass,
    mass_blocks,
    metric_of,
    rows_of,
)
from zwang.algebra.rank import NEARLY_PARALLEL, PLACED

RANDOM = np.random.default_rng(11)
ROOT = RANDOM.standard_normal((4, 4)) + 2 * np.eye(4)
M = ROOT @ ROOT.T
A = RANDOM.standard_normal((3, 4))
A[2] = 2.0 * A[0]


def pinv(M, A):
    W = np.linalg.inv(np.linalg.cholesky(M)).T
    return W @ np.linalg.pinv(A @ W, rcond=1e-10)


@pytest.fixture
def dense():
    return metric_of(M, A)


@pytest.fixture
def sparse():
    mass = np.array([1.0, 2.0, 4.0, 0.5])
    return Metric(diags_array(mass**-0.5).tocsr(), diags_array(mass).tocsr()), np.diag(mass)


def test_the_dense_metric_is_that_of_the_mass_matrix(dense):
    np.testing.assert_allclose(dense.W @ dense.W.T, np.linalg.inv(M), rtol=1e-9)
    v = np.array([1.0, -2.0, 0.5, 3.0])
    assert dense.speed(v) == pytest.approx(np.sqrt(v @ M @ v))
    assert dense.typical == pytest.approx(np.sqrt(np.mean(np.diag(M))))
    np.testing.assert_allclose(dense.solve(v), np.linalg.solve(M, v), rtol=1e-9)
    expected = np.sqrt(np.diag(A @ np.linalg.solve(M, A.T)))
    np.testing.assert_allclose(dense.lengths(A), expected, rtol=1e-9)


def test_corrections_are_the_least_that_dependent_rows_ask_for(dense):
    r, length = np.array([1.0, -1.0, 2.0]), dense.lengths(A)
    np.testing.assert_allclose(dense.rows(A, length).correct(r), pinv(M, A) @ r, rtol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(dense.rows(A, length).C, axis=1), 1.0)
    np.testing.assert_allclose(dense.rows(A, 2 * length).correct(r), pinv(M, A) @ r, rtol=1e-8)
    absent = np.vstack([A[:2], 1e-15 * A[2]])
    found = dense.rows(absent).correct(r)
    np.testing.assert_allclose(found, pinv(M, A[:2]) @ r[:2], rtol=1e-8)


def test_sparse_corrections_are_those_of_the_dense_metric(sparse):
    metric, mass = sparse
    rows, r = csr_array(A), np.array([1.0, -1.0, 2.0])
    np.testing.assert_allclose(
        metric.lengths(rows), np.sqrt(np.diag(A @ np.linalg.solve(mass, A.T))), rtol=1e-12
    )
    found = metric.rows(rows).correct(r)
    np.testing.assert_allclose(found, pinv(mass, A) @ r, rtol=1e-9)
    against = metric.rows(rows).correct(np.array([1.0, -1.0, 3.0]))
    mean = np.linalg.lstsq(
        (A / metric.lengths(rows)[:, None]) @ metric.W.toarray(),
        np.array([1.0, -1.0, 3.0]) / metric.lengths(rows),
        rcond=1e-10,
    )[0]
    np.testing.assert_allclose(against, metric.W @ mean, rtol=1e-3)  # damping amplifies round-off


def test_nothing_is_corrected_without_rows_and_nothing_is_known_of_nan(dense):
    none = dense.rows(np.zeros((0, 4))).correct(np.zeros(0))
    np.testing.assert_array_equal(none, np.zeros(4))
    length = dense.lengths(A)
    for rows, sizes, r in (
        (np.full_like(A, np.nan), length, np.ones(3)),
        (A, np.full(3, np.nan), np.ones(3)),
        (A, length, np.array([1.0, np.inf, 0.0])),
    ):
        found = dense.rows(rows, sizes).correct(r)
        assert found.shape == (4,) and np.all(np.isnan(found))


def test_a_mass_matrix_that_is_not_positive_gives_nan():
    metric = metric_of(np.diag([1.0, 1.0, 1.0, -1.0]), A)
    assert np.all(np.isnan(metric.W)) and metric.W.shape == (4, 4)


def test_a_massless_direction_is_given_the_mass_of_its_rows():
    mass = np.array([1.0, 1.0, 1.0, 0.0])
    metric = metric_of(mass, jnp.asarray(A), True)
    assert np.all(np.isfinite(metric.W))
    added = np.asarray(metric.M) - np.diag(mass)
    np.testing.assert_allclose(added, added.T)
    coefficients = np.linalg.lstsq(
        np.stack([np.outer(a, a).ravel() for a in A[:2]], 1), added.ravel(), rcond=None
    )[0]
    assert np.all(coefficients > 0)


def test_blocks_make_the_full_matrix():
    np.testing.assert_array_equal(dense_mass(np.array([1.0, 2.0])), np.diag([1.0, 2.0]))
    np.testing.assert_array_equal(dense_mass(M), M)
    blocks = np.stack([M[:2, :2], 2 * M[:2, :2]])
    full = dense_mass(blocks)
    np.testing.assert_array_equal(full[:2, :2], blocks[0])
    np.testing.assert_array_equal(full[2:, 2:], blocks[1])
    assert not np.any(full[:2, 2:]) and mass_blocks(M).shape == (1, 4, 4)
    assert mass_blocks(np.ones(3)).shape == (3, 1, 1) and mass_blocks(blocks) is blocks


def test_rows_on_the_host_are_as_they_were():
    assert rows_of(jnp.asarray(A)).dtype == np.float64
    np.testing.assert_array_equal(rows_of(jnp.asarray(A)), A)


def test_sparse_rows_and_masses_in_blocks_are_those_of_the_full_matrices():
    """Two blocks of two columns; every row has entries in one or both."""
    from zwang.algebra.elimination.matrix import Layout, SparseMatrix

    row, block = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0])
    layout = Layout(row, block, np.array([0, 1]), (3, 4), 2)
    full = np.where(np.repeat([[1, 1], [0, 1], [1, 0]], 2, axis=1), A, 0.0)
    sparse = SparseMatrix(jnp.asarray(full.reshape(3, 2, 2).transpose(1, 2, 0)), layout)
    np.testing.assert_array_equal(rows_of(sparse).toarray(), full)
    blocks = np.stack([M[:2, :2], M[2:, 2:]])
    for mass in (np.array([1.0, 2.0, 4.0, 0.5]), blocks):
        metric = metric_of(mass, sparse)
        assert issparse(metric.W)
        expected = np.linalg.inv(dense_mass(mass))
        np.testing.assert_allclose((metric.W @ metric.W.T).toarray(), expected, atol=1e-12)
        np.testing.assert_allclose(metric.M.toarray(), dense_mass(mass))
    assert np.all(np.isnan(metric_of(-blocks, sparse).W.data))


def test_sparse_corrections_know_no_scale(sparse):
    metric, mass = sparse
    rows = csr_array(A)
    for size in (1e-6, 1e6):
        r = size * np.array([1.0, -1.0, 2.0])
        found = metric.rows(rows).correct(r)
        np.testing.assert_allclose(found, pinv(mass, A) @ r, rtol=1e-9)
    none = metric.rows(csr_array((0, 4))).correct(np.zeros(0))
    np.testing.assert_array_equal(none, np.zeros(4))


def test_a_massless_row_whose_zeros_are_round_off_weighs_no_more_than_the_masses():
    """A row that acts on a massless velocity alone may have 1e-16 where it acts on a mass."""
    M, round_off = np.diag([1.0, 2.0, 0.0]), 1e-16
    A = np.array([[round_off, 0.0, 1.0], [1.0, 1.0, 0.5]])
    weight = np.asarray(augmentation(jnp, jnp.asarray(M), jnp.asarray(A)))
    assert np.all(weight * np.sum(A**2, axis=1) <= 2.0)
    assert np.linalg.cond(M + A.T @ (weight[:, None] * A)) < 1e4


def test_the_condition_of_a_mass_matrix_is_the_worst_of_its_blocks_in_any_units():
    block = np.array([[1.0, 0.9], [0.9, 1.0]])  # eigenvalues 1.9 and 0.1
    units = np.diag([1e3, 1e-4])
    for M in (block, units @ block @ units, np.stack([np.eye(2), units @ block @ units])):
        assert condition_of_mass(M) == pytest.approx(19.0, rel=1e-9)
    assert condition_of_mass(np.array([4.0, 1e-6])) == pytest.approx(1.0)
    assert condition_of_mass(np.array([[1.0, 1.0], [1.0, 1.0]])) > 1e14
    for M in (np.diag([1.0, 0.0]), np.array([[1.0, np.nan], [np.nan, 1.0]])):
        assert condition_of_mass(M) == np.inf


@pytest.fixture
def many():
    """60 rows of unit length on 80 velocities, of given singular values."""
    random = np.random.default_rng(12)
    U, V = (np.linalg.qr(random.standard_normal((n, n)))[0] for n in (60, 80))

    def rows(least):
        sigma = np.geomspace(1.0, least, 60)
        return U * sigma @ V[:, :60].T

    return rows


@pytest.mark.parametrize("is_diagonal", [True, False])
def test_independent_rows_are_corrected_as_by_singular_values(many, is_diagonal):
    """A⊕ is that of the pseudoinverse, whatever the lengths that rows are divided by."""
    random = np.random.default_rng(13)
    root = np.diag(random.uniform(0.5, 2.0, 80)) + (not is_diagonal) * 0.05 * random.random(
        (80, 80)
    )
    mass, A = root @ root.T, many(0.05) * np.geomspace(1.0, 1e3, 60)[:, None]
    metric = metric_of(np.diag(mass) if is_diagonal else mass, A)
    assert (metric.roots is not None) == is_diagonal
    own = metric.rows(A)
    assert own.independent and own.rank == 60 and not own.is_few
    r, length = random.standard_normal(60), metric.lengths(A)
    expected = pinv(mass, A) @ r
    for lengths in (length, 30.0 * length * random.uniform(0.5, 2.0, 60)):
        for typical in (None, 3.0 * lengths):
            found = metric.rows(A, lengths, typical, PLACED).correct(r)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    R = random.standard_normal((60, 3))
    np.testing.assert_allclose(own.correct(R), pinv(mass, A) @ R, rtol=1e-11, atol=1e-12)


def test_rows_are_independent_where_every_singular_value_exceeds_the_border(many):
    metric = metric_of(np.ones(80), np.zeros((0, 80)))
    unit = lambda A: Rows(metric, np.ones(60), A)
    assert unit(many(1.01 * NEARLY_PARALLEL)).independent
    assert not unit(many(0.99 * NEARLY_PARALLEL)).independent
    redundant = many(0.1)
    redundant[7] = redundant[8]
    found = unit(redundant)
    assert not found.independent and found.rank == 59
    assert not unit(many(0.1) * np.nan).independent
    # few rows, and more rows than velocities, are told apart by singular values
    assert Rows(metric, np.ones(5), many(0.1)[:5]).is_few and unit(many(0.1)[:, :50]).is_few


def test_a_length_that_decides_on_the_rank_is_not_replaced(many):
    """Beside a row that is meant to be 1e11 times as long the others count as zero; a damping acts
    on what is below it.
    """
    metric, A = metric_of(np.ones(80), np.zeros((0, 80))), many(0.1)
    length, r = metric.lengths(A), np.random.default_rng(14).standard_normal(60)
    far = length * np.append(1e-11, np.ones(59))
    C = A / far[:, None]
    expected = np.linalg.pinv(C, rcond=1e-10) @ (r / far)
    np.testing.assert_allclose(
        metric.rows(A, far, threshold=PLACED).correct(r), expected, rtol=1e-6, atol=1e-12
    )
    U, sigma, Vt = np.linalg.svd(A / length[:, None], full_matrices=False)
    divisor = np.where(sigma < 0.5, 0.25 / sigma, sigma)
    expected = Vt.T @ ((U.T @ (r / length)) / divisor)
    found = metric.rows(A, length, threshold=PLACED).correct(r, 0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_the_share_of_an_augmented_mass_is_bounded():
    random = np.random.default_rng(15)
    for _ in range(20):
        mass, A = np.diag(random.uniform(0.1, 10.0, 6)), random.standard_normal((4, 6))
        unit = np.diag(mass) ** -0.5
        share = unit[:, None] * (augmented_mass(np, mass, A) - mass) * unit
        assert np.linalg.eigvalsh(share)[-1] <= most_augmented(np, mass, A)
