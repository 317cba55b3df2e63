"""Criteria for round-off, absent rows and contradictions."""

import numpy as np
import pytest

from zwang.algebra.judgement import (
    ABSENT,
    allowance,
    relative_error,
    relative_residual,
    row_scale,
    row_units,
    units_of,
)
from zwang.thresholds import ACCEPTED_VIOLATION, AGREEMENT, ALL_BUT_ZERO, MARGIN, SMALL_PART

LENGTH = np.array([2.0, 0.5, 0.1 * ABSENT, 0.0])


def test_rows_are_divided_by_their_lengths_and_absent_ones_left_out():
    np.testing.assert_array_equal(row_scale(np, LENGTH), [0.5, 2.0, 0.0, 0.0])
    np.testing.assert_array_equal(row_scale(np, np.zeros(2)), [0.0, 0.0])
    np.testing.assert_array_equal(row_scale(np, np.array([1e6, 1e-6])), [1e-6, 1e6])
    # beside each other alone, however small their unit makes them
    np.testing.assert_allclose(row_scale(np, np.array([1e-20, 2e-20])), [1e20, 5e19])


@pytest.mark.parametrize("free", [1e-3, 1e3])
def test_an_error_is_relative_to_the_free_acceleration_in_an_equilibrium_only(free):
    for part, beside in ((2.0, 2 * ALL_BUT_ZERO * free), (0.5, free)):
        error = 1e-9 * free
        found = relative_error(np, error, part * ALL_BUT_ZERO * free, free)
        assert found == pytest.approx(error / beside)


def test_residuals_of_absent_rows_count_in_units_of_the_longest():
    np.testing.assert_array_equal(row_units(np, LENGTH), [0.5, 2.0, 0.5, 0.5])
    np.testing.assert_array_equal(row_units(np, np.zeros(2)), [1.0, 1.0])
    np.testing.assert_array_equal(units_of(np, row_scale(np, LENGTH)), [0.5, 2.0, 0.5, 0.5])


def test_a_residual_is_judged_beside_its_own_terms():
    one = np.ones(2)
    found = relative_residual(np, np.array([1e-3, 0.0]), np.array([2.0, 1.0]), one)
    assert found == pytest.approx(5e-4)
    # terms of another row lend a floor; units multiply both
    found = relative_residual(np, np.array([1e-3, 0.0]), np.array([0.0, 1.0]), one)
    assert found == pytest.approx(1e-3 / SMALL_PART)
    found = relative_residual(np, np.array([-1.0, 0.0]), np.array([4.0, 4.0]), np.array([3.0, 1.0]))
    assert found == pytest.approx(0.25)


def test_a_residual_without_terms_is_a_contradiction_and_none_is_none():
    assert relative_residual(np, np.array([1e-20]), np.zeros(1), np.ones(1)) == 1.0
    assert relative_residual(np, np.zeros(1), np.zeros(1), np.ones(1)) == 0.0
    assert relative_residual(np, np.zeros(0), np.zeros(0), np.zeros(0)) == 0.0
    assert relative_residual(np, np.array([np.nan]), np.ones(1), np.ones(1)) == np.inf


def test_a_violation_excuses_some_times_itself_up_to_a_limit():
    assert allowance(np, 0.0) == AGREEMENT
    assert allowance(np, 1e-8) == pytest.approx(AGREEMENT + MARGIN * 1e-8)
    assert allowance(np, 1.0) == pytest.approx(AGREEMENT + ACCEPTED_VIOLATION)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_units_of_rows_follow_the_longest_row(size):
    lengths = size * np.array([1.0, 1e-12, 1e-14, 0.0])
    np.testing.assert_allclose(row_units(np, lengths) * size, [1.0, 1e12, 1.0, 1.0])


def test_a_residual_without_terms_counts_in_full_and_small_ones_beside_their_terms():
    unit = np.ones(2)
    assert relative_residual(np, np.array([0.5, 0.0]), np.zeros(2), unit) == 1.0
    small = relative_residual(np, np.array([1e-6, 0.0]), np.array([1e-3, 1e-3]), unit)
    assert small == pytest.approx(1e-3)
