"""Problems with many more rows than unknowns: the same results as by formulas for few rows."""

import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra import reaction
from zwang.algebra.pseudoinverse import Proximal
from zwang.algebra.pseudoinverse.proximal import TallFactor

ROWS, COLUMNS = 48, 6


@pytest.fixture(scope="module")
def rows():
    """Rows of unit length and of rank 3, some of them absent."""
    rng = np.random.default_rng(5)
    C = rng.standard_normal((ROWS, 3)) @ rng.standard_normal((3, COLUMNS))
    C /= np.linalg.norm(C, axis=1)[:, None]
    C[30:] = 0.0
    return C


@pytest.fixture(scope="module")
def factor(rows):
    found = Proximal().factor(jnp.asarray(rows))
    assert isinstance(found, TallFactor)
    return found


def test_few_rows_keep_the_factor_of_rows(rows):
    assert not isinstance(Proximal().factor(jnp.asarray(rows[:6])), TallFactor)


def test_many_rows_have_the_pseudoinverse_of_numpy(rows, factor):
    pinv, rng = np.linalg.pinv(rows), np.random.default_rng(6)
    r, x = rows @ rng.standard_normal(COLUMNS), rng.standard_normal(COLUMNS)
    assert np.allclose(factor.solve(jnp.asarray(r)), pinv @ r, atol=1e-12)
    assert np.allclose(factor.refine(jnp.asarray(r), 1.0, True), pinv @ r, atol=1e-12)
    assert np.allclose(factor.solve_transpose(jnp.asarray(x)), pinv.T @ x, atol=1e-12)
    assert np.allclose(factor.matrix(), pinv, atol=1e-12)
    assert int(factor.rank()) == 3


def test_many_rows_project_onto_their_range(rows, factor):
    r = np.random.default_rng(7).standard_normal(ROWS)
    assert np.allclose(factor.within(jnp.asarray(r)), rows @ np.linalg.pinv(rows) @ r, atol=1e-9)


def test_motions_that_no_row_concerns_stay_zero_to_round_off(rows, factor):
    r = jnp.asarray(rows @ np.random.default_rng(7).standard_normal(COLUMNS))
    free = np.linalg.svd(rows)[2][3:]
    assert np.max(np.abs(free @ np.asarray(factor.solve(r)))) < 1e-14


def test_many_rows_are_certified_with_multipliers_of_least_norm(rows, factor):
    pinv = np.linalg.pinv(rows)
    r = jnp.asarray(rows @ np.random.default_rng(8).standard_normal(COLUMNS))
    found = factor.certified(jnp.asarray(rows), r, jnp.abs(r))
    assert np.allclose(found.solution, pinv @ r, atol=1e-10)
    assert np.allclose(found.multipliers, pinv.T @ (pinv @ r), atol=1e-10)


def test_many_rows_have_the_volume_of_all_rows(rows, factor):
    damped = rows @ rows.T + float(factor.inner.mu) * np.eye(ROWS)
    assert float(factor.log_det(jnp.asarray(rows))) == pytest.approx(
        np.linalg.slogdet(damped)[1], rel=1e-7
    )


SIZES = (1, 1, 2, 1, 3, 1)


@pytest.fixture(scope="module")
def gain_and_rates():
    rng, k = np.random.default_rng(9), sum(SIZES)
    return rng.standard_normal((k, 4)), 0.3 * rng.standard_normal((2, 4, k))


def test_reactions_of_many_contacts_are_those_of_their_whole_matrix(gain_and_rates):
    gain, (rate, _) = gain_and_rates
    r = np.random.default_rng(10).standard_normal(len(gain))
    found = reaction._solved(jnp.asarray(gain), jnp.asarray(rate), jnp.asarray(r))
    assert np.allclose(found, np.linalg.solve(np.eye(len(gain)) + gain @ rate, r), atol=1e-11)


@pytest.mark.parametrize("scale", [0.1, -0.6], ids=["unique", "not unique"])
def test_the_least_determinant_of_many_contacts_is_that_over_all_reversals(scale, gain_and_rates):
    gain, rates = gain_and_rates[0], scale * gain_and_rates[1]
    ways = [np.eye(len(gain)) + gain @ x for x in rates]
    turns = [(0,) * len(SIZES), (1,) * len(SIZES), *np.eye(len(SIZES), dtype=int)]
    determinants = [
        np.linalg.det(np.where(np.repeat(turn, SIZES), ways[1], ways[0])) for turn in turns
    ]
    assert determinants[0] > 0  # otherwise no reversal matters
    found = reaction._least_determinant(jnp.asarray(gain), [*map(jnp.asarray, rates)], SIZES)
    assert float(found) == pytest.approx(min(determinants), rel=1e-10)
    assert (min(determinants) > 0) == (scale == 0.1)
