"""Every method gives the Moore-Penrose inverse, for matrices of every shape and rank."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zwang.algebra.pseudoinverse import GramSchmidt, Greville, Proximal, Pseudoinverse

from .matrices import (
    METHODS,
    QUICK,
    SHAPES,
    accuracy,
    matrices,
    name,
    penrose_residuals,
    program,
    results,
    with_singular_values,
)

every_method = pytest.mark.parametrize("method", METHODS, ids=name)
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
deciding = pytest.mark.parametrize(
    "method", [m for m in METHODS if not isinstance(m, Proximal)], ids=name
)


@pytest.mark.one_in(4)
@every_shape
@every_method
def test_the_four_penrose_conditions_hold(method, shape):
    cases = matrices(shape)
    for case, C, X in zip(
        cases, cases.values(), results(method, list(cases.values())).matrix, strict=True
    ):
        for law, residual in penrose_residuals(C, X).items():
            assert residual < accuracy(method), (case, law)


@every_shape
@every_method
def test_it_is_the_pseudoinverse_and_the_rank_of_numpy(method, shape):
    cases = matrices(shape)
    answer = results(method, list(cases.values()))
    for case, C, X, rank in zip(cases, cases.values(), answer.matrix, answer.rank, strict=True):
        expected = np.linalg.pinv(C, rcond=1e-10)
        np.testing.assert_allclose(
            X, expected, rtol=0, atol=accuracy(method) * np.abs(expected).max(), err_msg=case
        )
        assert rank == np.linalg.matrix_rank(C, rtol=1e-10), case


@every_shape
@every_method
def test_solve_solve_transpose_and_matrix_are_the_same_map(method, shape):
    """`solve` on the columns of C, which are in its range, as `Proximal` requires."""
    cases = matrices(shape)
    answer = results(method, list(cases.values()))
    for i, (case, C) in enumerate(cases.items()):
        X = answer.matrix[i]
        np.testing.assert_allclose(
            answer.solved[i], X @ C, rtol=0, atol=accuracy(method), err_msg=case
        )
        size = max(np.abs(X).max(), 1e-300)
        np.testing.assert_allclose(
            answer.transposed[i].T, X, rtol=0, atol=accuracy(method) * size, err_msg=case
        )


@deciding
def test_a_right_hand_side_outside_the_range_gives_the_least_squares_solution(method):
    shape = (7, 3)
    C = matrices(shape)["one less than full rank"]
    r = np.random.default_rng(5).standard_normal(7)
    x = results(method, [C]).matrix[0] @ r
    np.testing.assert_allclose(
        x, np.linalg.lstsq(C, r, rcond=1e-10)[0], rtol=0, atol=accuracy(method)
    )


@every_method
def test_one_matrix_alone_gives_what_it_gives_in_a_batch(method):
    cases = [matrices((5, 5))[case] for case in ("full rank", "one less than full rank", "zero")]
    for C, X in zip(cases, results(method, cases).matrix, strict=True):
        alone = program(method)(np.stack(9 * [C])).matrix[0]
        np.testing.assert_allclose(
            alone, X, rtol=0, atol=1e-14 * max(np.abs(X).max(), 1)
        )  # sums in another order


@deciding
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_graded_matrix_loses_no_more_digits_than_its_condition_takes(method, shape):
    """Condition 1e3: 1e-16·κ = 1e-13, Greville's recursion 1e-16·κ² = 1e-10, of which it uses a
    hundredth.
    """
    k = min(shape)
    graded = [
        with_singular_values(shape, np.geomspace(1, 1e-3, r), seed=10 + r) for r in (k, k - 1)
    ]
    for C, X in zip(graded, results(method, graded).matrix, strict=True):
        for law, residual in penrose_residuals(C, X).items():
            assert residual < (1e-10 if isinstance(method, Greville) else 1e-12), law


def test_gram_schmidt_is_orthogonal_at_a_condition_number_that_ruins_it_without_a_second_pass():
    """Condition 1e8: a single pass would leave Qᵀ Q − I, and `C C⁺` asymmetric, by κ·1e-16 = 1e-8;
    two leave κ-fold less.
    """
    from zwang.algebra.pseudoinverse.gram_schmidt import orthogonalize

    C = with_singular_values((7, 3), [1.0, 1e-4, 1e-8], seed=6)
    Q = np.asarray(orthogonalize(jnp.asarray(C), GramSchmidt().threshold).Q)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), rtol=0, atol=1e-14)


@settings(max_examples=25)
@given(
    shape=st.sampled_from(SHAPES),
    rank=st.integers(0, 5),
    exponent=st.integers(-8, 8),
    seed=st.integers(0, 10**6),
)
def test_any_matrix_has_its_rank_and_its_pseudoinverse(shape, rank, exponent, seed):
    """Over shapes, ranks and units; condition numbers up to 10, accuracy relative to the largest
    entry.
    """
    random = np.random.default_rng(seed)
    values = 10.0**exponent * random.uniform(0.1, 1, min(rank, *shape))
    C = with_singular_values(shape, values, seed)
    expected = np.linalg.pinv(C, rcond=1e-6)
    for method in METHODS:
        answer = results(method, [C])
        assert answer.rank[0] == len(values), name(method)
        atol = accuracy(method) * np.abs(expected).max()
        np.testing.assert_allclose(
            answer.matrix[0], expected, rtol=0, atol=atol, err_msg=name(method)
        )


@every_method
def test_not_a_number_is_never_hidden(method):
    """A rank decision must not mistake NaN for zero: a run would go on without its constraints."""
    C = matrices((4, 6))["full rank"].copy()
    C[1, 2] = np.nan
    assert np.isnan(results(method, [C]).matrix[0]).any()


@every_method
@pytest.mark.parametrize("shape", [(0, 3), (3, 0)], ids=str)
def test_an_empty_matrix_has_an_empty_pseudoinverse(method, shape):
    P = Pseudoinverse(method, jnp.zeros(shape))
    assert P.matrix().shape == shape[::-1]
    assert P.rank() == 0
    np.testing.assert_array_equal(P.solve(jnp.zeros(shape[0])), np.zeros(shape[1]))


# Methods differ in what they measure singular values by; 3e-3 (`relaxation` 1) is far from 1e-4 and
# from 1 for all.
@pytest.mark.one_in(3)
@every_method
def test_a_relaxed_method_does_not_enforce_what_a_violated_state_makes_up(method):
    false_direction = with_singular_values((5, 5), [1, 1, 1, 1, 1e-4], seed=7)
    r = jnp.asarray(np.linalg.svd(false_direction)[0][:, -1])

    @functools.partial(jax.jit, compiler_options=QUICK)
    def length(violation):
        return jnp.linalg.norm(
            Pseudoinverse(method.relaxed(violation), jnp.asarray(false_direction)).solve(r)
        )

    assert length(0.0) == pytest.approx(1e4, rel=1e-5)
    assert length(3e-3) < 100


@pytest.mark.one_in(4)
@deciding
def test_threshold_and_violation_decide_the_rank(method):
    """Three digits on either side of the border, because methods differ in what they compare with
    it.
    """

    @functools.partial(jax.jit, compiler_options=QUICK)
    def rank(threshold, violation, smallest):
        C = with_singular_values((5, 5), [1, 1, 1, 1, 0], seed=8)
        C = C + smallest * with_singular_values((5, 5), [0, 0, 0, 0, 1], seed=8)
        return type(method)(threshold=threshold).relaxed(violation).factor(C).rank()

    assert rank(1e-9, 0.0, 1e-6) == 5
    assert rank(1e-3, 0.0, 1e-6) == 4
    assert rank(1e-9, 1e-7, 1e-2) == 5
    assert rank(1e-9, 3e-3, 1e-4) == 4
