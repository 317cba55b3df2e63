"""Rank decompositions and eigenvalues compared with closed forms and NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from zwang.algebra.decomposition import (
    Decomposition,
    conditioning,
    determinant,
    independent,
    inverse_of_gram,
    nearest_rotation,
    orientation,
    outside,
    pivots,
    solve_square,
)
from zwang.algebra.spectrum import (
    coupling,
    eigenvalues,
    eigenvectors,
    principal,
    riccati,
    spectral_radius,
    zeros_of_form,
)

RANDOM = np.random.default_rng(1936)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("imaginary", [0.0, 1.0])
def test_a_matrix_of_rank_two_is_split_at_it(shape, imaginary):
    m, n = shape
    draw = lambda *s: RANDOM.standard_normal(s) + imaginary * 1j * RANDOM.standard_normal(s)
    A = draw(m, 2) @ draw(2, n)
    split = Decomposition(A)
    assert split.rank == 2
    for basis, size in ((split.range, m), (split.row_space, n)):
        np.testing.assert_allclose(basis.conj().T @ basis, np.eye(2), atol=1e-14)
        assert len(basis) == size
    assert split.kernel.shape == (n, n - 2) and split.left_kernel.shape == (m, m - 2)
    np.testing.assert_allclose(A @ split.kernel, 0.0, atol=1e-13)
    np.testing.assert_allclose(split.left_kernel.conj().T @ A, 0.0, atol=1e-13)
    expected, r = np.linalg.pinv(A, rcond=1e-10), draw(m, 3)
    np.testing.assert_allclose(split.inverse, expected, atol=1e-12)
    np.testing.assert_allclose(split.solve(r), expected @ r, atol=1e-12)
    np.testing.assert_allclose(split.solve(r[:, 0]), expected @ r[:, 0], atol=1e-12)
    if not imaginary:
        x = draw(n)
        np.testing.assert_allclose(split.solve_transposed(x), expected.T @ x, atol=1e-12)
    for square, size in ((split.left, m), (split.right, n)):
        np.testing.assert_allclose(square.conj().T @ square, np.eye(size), atol=1e-14)


def test_the_size_beside_which_singular_values_count_may_be_given():
    A = np.diag([1e-3, 1e-6])
    assert Decomposition(A, 1e-5).rank == 2
    assert Decomposition(A, 1e-5, beside=1.0).rank == 1
    assert Decomposition(A, 1e-5, least=1.0).rank == 1
    assert Decomposition(np.zeros((0, 3))).rank == 0 and Decomposition(np.eye(3)[:2]).rank == 2
    np.testing.assert_allclose(Decomposition(A).solve(np.ones(2), damping=1e-4), [1e3, 1e2])


def test_pivots_are_columns_that_span_all():
    A = np.array([[1.0, 10.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.1]])
    np.testing.assert_array_equal(pivots(A), [1, 2])
    assert not len(pivots(np.zeros((0, 4))))


def test_rows_are_independent_of_those_before_them():
    A = np.array([[3.0, 0, 0], [0, 0, 0], [1e3, 1e-4, 0], [1e3, 0, 0], [1, 2, 0], [0, 0, 1e-9]])
    assert independent(A) == [0, 2, 5]
    np.testing.assert_allclose(outside(A[2:], np.eye(3)[:2]), A[2:] * [0, 0, 1], atol=1e-18)


def test_the_nearest_rotation_takes_a_stretch_away():
    c, s = np.cos(0.3), np.sin(0.3)
    turn, stretch = np.array([[c, -s], [s, c]]), np.array([[2.0, 0.3], [0.3, 1.0]])
    np.testing.assert_allclose(nearest_rotation(turn @ stretch), turn, atol=1e-15)
    np.testing.assert_allclose(conditioning(np.stack([np.diag([4.0, 1.0]), 0 * turn])), [0.25, 0.0])


def test_eigenvalues_come_by_their_real_parts():
    A = np.array([[-1.0, 2.0, 0.0], [-2.0, -1.0, 0.0], [0.0, 0.0, 0.5]])
    np.testing.assert_allclose(eigenvalues(A), [0.5, -1 - 2j, -1 + 2j], atol=1e-14)
    assert spectral_radius(A) == pytest.approx(np.sqrt(5)) and spectral_radius(A[:0, :0]) == 0.0
    finite = eigenvalues(np.eye(2), np.diag([2.0, 0.0]))
    assert finite[np.isfinite(finite)] == pytest.approx([0.5])
    np.testing.assert_allclose(principal(np.array([[1.0, 2.0], [0.0, 1.0]]))[0], [0.0, 2.0])


def test_a_form_of_the_plane_has_two_zeros_one_or_none():
    np.testing.assert_allclose(
        np.abs(zeros_of_form(np.diag([-1.0, 4.0]))), [[2, 1]] * 2 / np.sqrt(5)
    )
    np.testing.assert_allclose(np.abs(zeros_of_form(np.diag([0.0, 1.0]))), [[1.0, 0.0]])
    assert not len(zeros_of_form(np.eye(2))) and len(zeros_of_form(np.eye(2), np.inf)) == 1


def test_of_a_stack_a_singular_matrix_spoils_its_own_solution_alone():
    A = np.stack([np.diag([2.0, 4.0]), np.ones((2, 2)), -np.eye(2)])
    found = solve_square(A, np.ones((3, 2, 1)))[..., 0]
    np.testing.assert_allclose(found[[0, 2]], [[0.5, 0.25], [-1.0, -1.0]])
    assert np.all(np.isnan(found[1])) and np.all(np.isnan(solve_square(A[1], np.ones(2))))
    np.testing.assert_array_equal(orientation(A[[0, 2]] * [[[1.0, -1.0]]]), [-1.0, -1.0])


def test_a_determinant_has_a_derivative_where_it_vanishes():
    A = RANDOM.standard_normal((4, 4))
    np.testing.assert_allclose(determinant(jnp.asarray(A)), np.linalg.det(A), rtol=1e-13)
    # of a matrix of rank n − 1 it is the product of the others and of the null vectors
    U, sigma, Vt = np.linalg.svd(A[:3, :3])
    lost = U[:, :2] * sigma[:2] @ Vt[:2]
    sign = np.linalg.det(U) * np.linalg.det(Vt)
    slope = jax.grad(determinant)(jnp.asarray(lost))
    np.testing.assert_allclose(
        slope, sign * np.prod(sigma[:2]) * np.outer(U[:, 2], Vt[2]), atol=1e-13
    )


def test_the_inverse_of_a_gram_matrix_keeps_the_digits_of_its_root():
    Q, S = np.linalg.qr(RANDOM.standard_normal((9, 3)))[0], np.diag([1.0, 1e-3, 1e-9])
    np.testing.assert_allclose(S @ inverse_of_gram(Q @ S) @ S, np.eye(3), atol=1e-6)


def test_coupling_is_what_a_jordan_block_has_beside_its_eigenvalue():
    A = scipy.linalg.block_diag([[-1.0, 0.3], [0.0, -1.0]], [[-4.0]])
    assert np.isclose(coupling(A, lambda x: abs(x + 1) < 0.1), 0.3)
    assert coupling(np.diag([-1.0, -1.0, -4.0]), lambda x: abs(x + 1) < 0.1) == 0.0
    values, left, right = eigenvectors(A[1:, 1:])
    np.testing.assert_allclose(values * (left.conj().T @ right), left.conj().T @ A[1:, 1:] @ right)


def test_the_gains_of_a_double_integrator_are_known():
    S, K = riccati(np.array([[0.0, 1.0], [0.0, 0.0]]), np.eye(2)[:, 1:], np.eye(2), np.eye(1))
    np.testing.assert_allclose(K, [[1.0, np.sqrt(3.0)]], rtol=1e-12)
    np.testing.assert_allclose(S, [[np.sqrt(3.0), 1.0], [1.0, np.sqrt(3.0)]], rtol=1e-12)
