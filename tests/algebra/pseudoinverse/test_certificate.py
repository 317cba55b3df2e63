"""Solutions with a certificate of their accuracy: ordinary, redundant, nearly parallel and
contradictory rows.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra.pseudoinverse import Proximal, Pseudoinverse
from zwang.algebra.pseudoinverse.certificate import (
    GRADIENT_ITERATIONS,
    SOLVED_ROUND_OFF,
    certified_direct,
    certified_gradients,
    least_singular_value,
    quality_of,
)

from .matrices import with_singular_values

MU = 1e-10


def solved(C, r, terms=None):
    """By conjugate gradients, preconditioned as a run does."""
    terms = np.abs(r) if terms is None else terms
    return gradients(*map(jnp.asarray, (C, r, terms, damped(C))))


@jax.jit
def gradients(C, r, terms, inverse):
    return certified_gradients(C, r, terms, lambda y: inverse @ y)


@jax.jit
def least(C, inverse):
    return least_singular_value(C, lambda y: inverse @ y)


def damped(C):
    return np.linalg.inv(C @ C.T + MU * np.eye(len(C)))


@pytest.mark.parametrize("sigma", [0.5, 1e-3, 1e-5, 1e-7])
def test_rows_are_solved_to_round_off_down_to_a_small_singular_value(sigma):
    C = with_singular_values((4, 6), [1.0, 0.8, 0.6, sigma])
    x = C.T @ np.random.default_rng(3).standard_normal(4)
    found = solved(C, C @ x)
    assert np.linalg.norm(found.solution - x) < 1e-13 / sigma * np.linalg.norm(x)
    np.testing.assert_allclose(C.T @ np.asarray(found.multipliers), found.solution, atol=1e-9)
    assert 0 < float(found.quality) < (1.0 if sigma > 1e-4 else 30.0)
    assert 1 <= int(found.iterations) <= (3 if sigma > 1e-4 else GRADIENT_ITERATIONS)


def test_redundant_rows_are_solved_and_contradictory_ones_are_not():
    C = with_singular_values((4, 6), [1.0, 0.8, 0.6])
    x = C.T @ np.random.default_rng(4).standard_normal(4)
    found = solved(C, C @ x)
    assert float(found.quality) <= 1 and np.allclose(found.solution, x, atol=1e-13)
    null = np.linalg.svd(C)[0][:, 3]
    against = solved(C, C @ x + 1e-3 * null)
    assert float(against.quality) > 1e8
    assert np.allclose(against.solution, x, atol=1e-5)


def test_what_is_round_off_of_its_terms_is_not_solved():
    C = with_singular_values((4, 6), [1.0, 0.5, 0.2, 0.1])
    found = solved(C, 1e-16 * np.ones(4), np.ones(4))
    assert np.all(np.asarray(found.solution) == 0) and np.all(np.asarray(found.multipliers) == 0)
    assert int(found.iterations) == 0 and 0 < float(found.quality) <= 1


def test_quality_is_the_residual_over_its_round_off():
    C, x = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    r = C @ x + np.array([1e-9, 0.0])
    found = quality_of(C, r, np.array([2.0, 2.0]), x)
    assert float(found) == pytest.approx(1e-9 / (SOLVED_ROUND_OFF * 5.0), rel=1e-6)
    assert float(quality_of(C, C @ x, np.zeros(2), x)) == 0


def test_a_direct_method_is_refined_once_and_judged_alike():
    C = with_singular_values((3, 5), [1.0, 0.3, 1e-4])
    x = C.T @ np.ones(3)
    rough = lambda r: (1 - 1e-6) * np.linalg.pinv(C) @ r
    found = certified_direct(C, C @ x, np.abs(C @ x), rough)
    assert np.linalg.norm(found.solution - x) < 1e-10 * np.linalg.norm(x)
    assert int(found.iterations) == 2
    once = quality_of(C, C @ x, np.abs(C @ x), rough(C @ x))
    assert float(found.quality) < 1e-3 * float(once)
    still = certified_direct(C, 1e-17 * np.ones(3), np.ones(3), rough)
    assert np.all(np.asarray(still.solution) == 0) and float(still.quality) <= 1
    worse = certified_direct(C, C @ x, np.abs(C @ x), lambda r: 3 * np.linalg.pinv(C) @ r)
    np.testing.assert_allclose(worse.solution, 3 * x, rtol=1e-9)


@pytest.mark.parametrize("sigma", [0.3, 1e-2, 1e-4])
def test_the_least_singular_value_is_estimated_and_redundant_rows_have_none(sigma):
    for values in ([1.0, 0.9, sigma], [1.0, sigma]):
        C = with_singular_values((3, 5), values)
        found = float(least(jnp.asarray(C), jnp.asarray(damped(C))))
        assert found == pytest.approx(sigma, rel=0.05)


def test_the_least_singular_value_may_be_larger_than_one():
    C = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    found = float(least(jnp.asarray(C), jnp.asarray(damped(C))))
    assert found == pytest.approx(np.sqrt(3.0), rel=1e-6)


def test_sweeps_leave_nothing_of_the_null_space_in_multipliers():
    C = jnp.asarray(with_singular_values((4, 6), [1.0, 0.8, 0.6]))
    factor = Pseudoinverse(Proximal(), C)
    x = C.T @ jnp.asarray([1.0, 2.0, -1.0, 0.5])
    null = np.linalg.svd(C)[0][:, 3]
    assert abs(null @ factor.solve_transpose(x)) < 1e-9
    r = C @ x
    found = factor.certified(r, jnp.abs(r))
    assert abs(null @ np.asarray(found.multipliers)) < 1e-9
    np.testing.assert_allclose(C.T @ found.multipliers, found.solution, atol=1e-12)
    np.testing.assert_allclose(factor.solve(r), x, atol=1e-12)
    assert int(factor.rank()) == 3
    sigma = float(factor.least_singular_value())
    assert sigma == pytest.approx(0.6, rel=0.05)
    assert float(factor.log_det()) == pytest.approx(2 * np.log(0.48) + np.log(MU), abs=0.2)


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_the_rank_does_not_depend_on_the_length_of_all_rows(factor):
    least = 3 * Proximal().rank_threshold
    C = jnp.asarray(factor * with_singular_values((4, 6), [1.0, 0.8, least]))
    assert int(Pseudoinverse(Proximal(), C).rank()) == 3


def test_a_correction_that_is_round_off_leaves_nothing_of_the_null_space_either():
    C = jnp.asarray(with_singular_values((4, 6), [1.0, 0.8, 0.6]))
    null = np.linalg.svd(C)[0][:, 3]
    r = 1e-14 * C @ jnp.ones(6) + 1e-15 * null
    found = Pseudoinverse(Proximal(), C).certified(r, jnp.ones(4))
    assert abs(null @ np.asarray(found.multipliers)) < 1e-10  # 1e-15 over the damping is 1e-5


def test_a_violation_relaxes_the_damping_by_its_square():
    method = Proximal().relaxed(jnp.asarray(1e-2))
    assert float(method.damping) == pytest.approx(1e-10 + 1e-4)
    C = with_singular_values((2, 3), [1.0, 1e-5])
    x = C.T @ np.linalg.svd(C)[0][:, 1]
    mu = MU * np.max(np.sum(C**2, axis=1))  # relative to the longest row
    for sweeps in (1, 3):
        kept = np.asarray(Pseudoinverse(Proximal(sweeps=sweeps), jnp.asarray(C)).solve(C @ x))
        part = (kept @ x) / (x @ x)
        assert part == pytest.approx(1 - (mu / (1e-10 + mu)) ** sweeps, rel=1e-3)


def test_operations_are_counted_as_the_loops_take_them():
    m, n, s = 4, 6, 3
    expected = m * m * n + m**3 / 3 + m * (s * 2 * m * m + (s - 1) * 2 * m * m + 2 * m * n)
    assert Proximal().flops(m, n) == expected
