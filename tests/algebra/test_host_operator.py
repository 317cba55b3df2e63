"""A⊕ on the host beside NumPy's pseudoinverse."""

import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra.kernel import divisor, row_scale
from zwang.algebra.operator.host import HostMass, HostOperator, RowScale
from zwang.algebra.pseudoinverse import Proximal

RANDOM = np.random.default_rng(5)
_ROOT = RANDOM.standard_normal((6, 6))
_BLOCKS = RANDOM.standard_normal((3, 2, 2))
MASSES = {
    "diagonal": RANDOM.uniform(0.5, 2.0, 6),
    "dense": _ROOT @ _ROOT.T + np.eye(6),
    "blocks": _BLOCKS @ _BLOCKS.transpose(0, 2, 1) + np.eye(2),
    "two blocks": (ROWS := RANDOM.standard_normal((2, 3, 3))) @ ROWS.transpose(0, 2, 1) + np.eye(3),
    "one block": (_ROOT @ _ROOT.T + np.eye(6))[None],
}
A = RANDOM.standard_normal((4, 6))
A[3] = A[0] - 2 * A[1]
A[1] *= 1e4


def full(M):
    if M.ndim == 1:
        return np.diag(M)
    if M.ndim == 2:
        return M
    n, k, _ = M.shape
    dense = np.zeros((n * k, n * k))
    for i, block in enumerate(M):
        dense[i * k : (i + 1) * k, i * k : (i + 1) * k] = block
    return dense


def exact(M, rows):
    root = np.linalg.inv(np.linalg.cholesky(full(M))).T
    C = rows @ root
    length = np.linalg.norm(C, axis=1)
    return root @ np.linalg.pinv(C / length[:, None], rcond=1e-10) / length


@pytest.mark.parametrize("M", MASSES.values(), ids=MASSES)
def test_a_mass_of_any_kind_is_applied_solved_and_weighs(M):
    mass, dense, x = HostMass(M), full(M), RANDOM.standard_normal(6)
    root = np.linalg.inv(np.linalg.cholesky(dense)).T
    np.testing.assert_allclose(mass.apply(x), dense @ x, rtol=1e-12)
    np.testing.assert_allclose(mass.solve(x), np.linalg.solve(dense, x), rtol=1e-10)
    np.testing.assert_allclose(mass.weigh(A), A @ root, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mass.unweigh(x), root @ x, rtol=1e-10)
    columns = RANDOM.standard_normal((6, 2))
    np.testing.assert_allclose(mass.unweigh(columns), root @ columns, rtol=1e-10)


@pytest.mark.parametrize("M", MASSES.values(), ids=MASSES)
def test_residuals_are_corrected_as_by_the_pseudoinverse(M):
    operator = HostOperator(HostMass(M), A, Proximal())
    R = A @ RANDOM.standard_normal((6, 3))
    expected = exact(M, A) @ R
    np.testing.assert_allclose(operator.correct(R), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(operator.correct(R[:, 0]), expected[:, 0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(operator.columns(R), expected.T, rtol=1e-7, atol=1e-9)


def test_a_sweep_leaves_the_damped_part_of_the_error():
    """Of σ² = 1 and μ = 0.5 each sweep leaves a third."""
    for sweeps in (1, 2, 4):
        operator = HostOperator(
            HostMass(np.ones(2)), np.eye(2), Proximal(damping=0.5, sweeps=sweeps)
        )
        np.testing.assert_allclose(operator.correct(np.ones(2)), 1 - 3.0**-sweeps, rtol=1e-12)


def test_damping_is_relative_to_the_largest_row():
    method = Proximal(damping=0.5, sweeps=1)
    operator = HostOperator(HostMass(np.ones(2)), np.eye(2), method, RowScale(np.array([0.5, 1.0])))
    # C = diag(2, 1), C Cᵀ = diag(4, 1), μ = 2; A⊕ r = Cᵀ (C Cᵀ + μ)⁻¹ diag(2, 1) r
    np.testing.assert_allclose(operator.correct(np.ones(2)), [4 / 6, 1 / 3], rtol=1e-12)
    assert operator.log_det() == pytest.approx(np.log(6 * 3), rel=1e-12)


def test_rows_that_have_outgrown_their_length_count_by_the_present_one():
    """On the host as in a compiled program, one that was absent at the start included."""
    typical, A = np.array([0.1, 1.0, 0.0]), np.diag([1.0, 1.5, 3.0])
    operator = HostOperator(HostMass(np.ones(3)), A, Proximal(), RowScale(typical))
    traced = row_scale(divisor(jnp.asarray(typical), jnp.diag(A)))
    for scale in (operator.scale, np.asarray(traced)):
        np.testing.assert_allclose(scale, [2.0, 1.0, 2 / 3], rtol=1e-14)


def test_rows_are_divided_by_given_lengths_and_absent_ones_by_nothing():
    operator = HostOperator(
        HostMass(np.ones(2)), np.diag([1.0, 0.0]), Proximal(), RowScale(np.array([4.0, 0.0]))
    )
    np.testing.assert_allclose(operator.scale, [0.25, 0.0])
    np.testing.assert_allclose(operator.units(), [0.25, 0.25])
    own = HostOperator(HostMass(np.array([1.0, 4.0])), np.array([[3.0, 8.0]]), Proximal())
    np.testing.assert_allclose(own.scale, [1 / 5], rtol=1e-14)


def test_without_rows_nothing_is_corrected():
    operator = HostOperator(HostMass(np.ones(3)), np.zeros((0, 3)), Proximal())
    assert np.array_equal(operator.correct(np.zeros(0)), np.zeros(3))
    assert operator.correct(np.zeros((0, 2))).shape == (3, 2) and operator.log_det() == 0.0


def test_what_is_not_finite_shows():
    rows = np.array([[1.0, np.nan]])
    assert np.all(
        np.isnan(HostOperator(HostMass(np.ones(2)), rows, Proximal()).correct(np.ones(1)))
    )
    mass = HostMass(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert np.all(np.isnan(mass.root))
    assert np.all(np.isnan(HostMass(-np.ones(2)).root))
