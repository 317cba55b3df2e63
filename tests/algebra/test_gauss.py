"""Gauss's problem compared with formulas by NumPy's pseudoinverse, and its certificate."""

import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra.cholesky import SMALL
from zwang.algebra.gauss import (
    Gauss,
    certified_acceleration,
    constrained_acceleration,
)
from zwang.algebra.mass_matrix import factor_mass
from zwang.algebra.pseudoinverse import Proximal

RANDOM = np.random.default_rng(7)
N, ROWS = 5, 4
ROOT = RANDOM.standard_normal((N, N)) + 2 * np.eye(N)
M = ROOT @ ROOT.T
A = RANDOM.standard_normal((ROWS, N))
A[3] = 3.0 * A[0]  # redundant
F = RANDOM.standard_normal(N)
FREE = np.linalg.solve(M, F)
B = A @ RANDOM.standard_normal(N)
W = np.linalg.inv(np.linalg.cholesky(M)).T
LENGTH = np.linalg.norm(A @ W, axis=1)
EXPECTED = FREE + W @ np.linalg.pinv(A @ W, rcond=1e-10) @ (B - A @ FREE)


@pytest.fixture(scope="module")
def gauss():
    return Gauss(factor_mass(jnp.asarray(M)), jnp.asarray(A), Proximal())


def test_a_residual_is_corrected_by_the_weighted_pseudoinverse(gauss):
    found = gauss.correct(B)
    np.testing.assert_allclose(found, W @ np.linalg.pinv(A @ W, rcond=1e-10) @ B, rtol=1e-8)
    np.testing.assert_allclose(gauss.estimate(B), found, rtol=0)
    np.testing.assert_allclose(gauss.refine(B, found), found, rtol=0)
    np.testing.assert_allclose(gauss.columns(np.stack([B, 2 * B], 1))[1], 2 * found, rtol=1e-12)


def test_a_unit_residual_of_a_redundant_row_is_corrected_as_far_as_the_range_goes(gauss):
    """Alone it contradicts the row that it repeats, which costs sweeps ten digits."""
    scale = np.diag(1 / LENGTH)
    expected = W @ np.linalg.pinv(scale @ A @ W, rcond=1e-10) @ scale
    for k, unit in enumerate(np.eye(ROWS)):
        np.testing.assert_allclose(gauss.correct_any(unit), expected[:, k], rtol=0, atol=1e-11)


def test_what_a_tangent_vector_leaves_is_no_motion_of_the_rows(gauss):
    w = RANDOM.standard_normal(N)
    tangent = np.asarray(gauss.tangent(w))
    np.testing.assert_allclose(A @ tangent, 0, atol=1e-9)
    np.testing.assert_allclose(gauss.tangent(tangent), tangent, atol=1e-9)
    assert abs((w - tangent) @ M @ tangent) < 1e-9


def test_multipliers_carry_the_force_and_are_least_for_rows_of_unit_length(gauss):
    r = B - A @ FREE
    found = np.asarray(gauss.multipliers(r))
    np.testing.assert_allclose(A.T @ found, M @ gauss.correct(r), atol=1e-8)
    unit = (A @ W) / LENGTH[:, None]
    least = np.linalg.pinv(unit.T, rcond=1e-10) @ np.linalg.pinv(unit, rcond=1e-10) @ (r / LENGTH)
    np.testing.assert_allclose(found * LENGTH, least, atol=1e-7)


def test_rank_units_and_singular_values_are_those_of_unit_rows(gauss):
    sigma = np.linalg.svd((A @ W) / LENGTH[:, None], compute_uv=False)
    assert int(gauss.rank()) == 3
    np.testing.assert_allclose(gauss.units(), 1 / LENGTH, rtol=1e-12)
    assert float(gauss.least_singular_value()) == pytest.approx(sigma[2], rel=0.3)
    np.testing.assert_allclose(gauss.mass.unweigh(np.ones(N)), W @ np.ones(N), rtol=1e-10)
    determinant = np.sum(np.log(sigma[:3] ** 2)) + np.log(1e-10)
    assert float(gauss.log_det()) == pytest.approx(determinant, abs=0.1)


def test_a_certified_solution_is_in_the_models_own_units(gauss):
    r = B - A @ FREE
    found = gauss.certified(r, np.abs(r))
    np.testing.assert_allclose(found.solution, gauss.correct(r), rtol=1e-9)
    np.testing.assert_allclose(A.T @ found.multipliers, M @ found.solution, atol=1e-9)
    assert float(found.quality) <= 10 and int(found.iterations) <= 3


def test_given_row_lengths_take_the_place_of_the_rows_own():
    given = Gauss(factor_mass(jnp.asarray(M)), A, Proximal(), 2 * LENGTH)
    np.testing.assert_allclose(given.scale, 0.5 / LENGTH, rtol=1e-12)


def test_the_acceleration_meets_the_rows_and_is_gauss_least(gauss):
    found = constrained_acceleration(jnp.asarray(FREE), gauss, jnp.asarray(B))
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-7)
    c = RANDOM.standard_normal(N)
    further = constrained_acceleration(jnp.asarray(FREE), gauss, jnp.asarray(B), jnp.asarray(c))
    added = W @ (np.eye(N) - np.linalg.pinv(A @ W, rcond=1e-10) @ (A @ W)) @ W.T @ c
    np.testing.assert_allclose(further - found, added, atol=1e-9)


@pytest.mark.parametrize("rows", [SMALL, SMALL + 1])
def test_many_rows_are_corrected_once_more(rows):
    """A free acceleration a million times the answer leaves its round-off after one correction."""
    n = rows + 2
    C = np.eye(rows, n) + 0.3 * np.random.default_rng(1).standard_normal((rows, n)) / np.sqrt(n)
    gauss = Gauss(factor_mass(jnp.ones(n)), jnp.asarray(C), Proximal())
    exact = np.linalg.pinv(C) @ np.ones(rows)
    free = exact + 1e6 * np.linalg.pinv(C) @ np.random.default_rng(2).standard_normal(rows)
    found = constrained_acceleration(jnp.asarray(free), gauss, jnp.ones(rows))
    error = np.abs(C @ np.asarray(found) - 1).max()
    assert error < (1e-12 if rows > SMALL else 1e-6)


@pytest.mark.parametrize("sigma", [1.0, 1e-3, 5e-5])
def test_many_rows_are_swept_until_their_residual_is_round_off(sigma):
    """One sweep leaves `μ / (σ² + μ)` of the component along a singular value σ: six of them, as
    two corrections take, at 5e-5 of the largest 4e-10, which is what the bound divides by σ.
    """
    rows = SMALL + 4
    U, V = (np.linalg.qr(RANDOM.standard_normal((rows, rows)))[0] for _ in range(2))
    values = np.ones(rows)
    values[-1] = sigma
    C = (U * values) @ V.T
    exact = V @ np.ones(rows)
    gauss = Gauss(factor_mass(jnp.ones(rows)), jnp.asarray(C), Proximal())
    found = constrained_acceleration(jnp.zeros(rows), gauss, jnp.asarray(C @ exact))
    left = (1e-10 / sigma**2) ** 6
    np.testing.assert_allclose(V.T @ found, 1.0, atol=2 * left + 1e-13 / sigma)


def test_a_certified_acceleration_says_how_right_it_is(gauss):
    found = certified_acceleration(jnp.asarray(M @ FREE), gauss, jnp.asarray(B), 0.0)
    np.testing.assert_allclose(found.acceleration, EXPECTED, rtol=1e-12)
    np.testing.assert_allclose(
        A.T @ found.multipliers, M @ (np.asarray(found.acceleration) - FREE), atol=1e-10
    )
    assert 0 <= float(found.residual) < 1e-14
    assert 1e-16 < float(found.accuracy) < 1e-12
    # a relative error does not depend on units, nor does a residual relative to its terms
    for size in (1e-8, 1e8):
        scaled = certified_acceleration(
            jnp.asarray(size * M @ FREE), gauss, jnp.asarray(size * B), 0.0
        )
        assert float(scaled.accuracy) == pytest.approx(float(found.accuracy), rel=0.9)
        np.testing.assert_allclose(scaled.acceleration, size * EXPECTED, rtol=1e-12)


def test_contradictory_rows_leave_a_residual_beside_their_terms(gauss):
    """The fourth row is three times the first, and asks for 1 more than it."""
    wrong = B + np.array([0, 0, 0, 1.0])
    found = certified_acceleration(jnp.asarray(M @ FREE), gauss, jnp.asarray(wrong), 0.0)
    miss = np.abs(A @ found.acceleration - wrong)
    terms = np.abs(wrong) + np.abs(A) @ (np.abs(FREE) + np.abs(found.acceleration))
    assert float(found.residual) == pytest.approx(np.max(miss / terms), rel=1e-6)
    eased = certified_acceleration(jnp.asarray(M @ FREE), gauss, jnp.asarray(wrong), 9 * terms)
    assert float(eased.residual) == pytest.approx(np.max(miss / terms) / 10, rel=1e-6)
    assert float(found.accuracy) > 1e-3


def test_a_state_at_rest_without_load_is_certified_as_it_is(gauss):
    found = certified_acceleration(jnp.zeros(N), gauss, jnp.zeros(ROWS), 0.0)
    assert np.all(np.asarray(found.acceleration) == 0) and float(found.residual) == 0
    assert float(found.accuracy) == 0
