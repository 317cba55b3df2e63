"""Rows that vanish along a motion end it, always at the same step."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.algebra.singular import DenseRows, SparseRows
from zwang.simulation.results.crossing import find_crossings

SYSTEM = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
ROD = zw.Model(SYSTEM, [zw.Holonomic(lambda q, t, p: q @ q - (1 - t) ** 2, name="rod")])
LEAST = 1e-3


@pytest.mark.parametrize(
    ("across", "given"), [(0.3, {"rtol": 1e-4}), (0.0, {"samples": 9})], ids=["round", "straight"]
)
def test_a_run_ends_at_the_same_step_each_time(across, given):
    whole, again = (
        zw.simulate(ROD, [1.0, 0.0], [-1.0, across], duration=2.0, throw=False, **given)
        for _ in range(2)
    )
    assert [x.result for x in (whole, again)] == [zw.Result.VANISHING] * 2
    np.testing.assert_array_equal(again.steps.y, whole.steps.y)
    assert again.stopped_by == whole.stopped_by and "'rod' has" in again.stopped_by


def rows_of_hyperbola(least: float, jumps: bool):
    """The row of `q² = (1 − t)² + least²`, at unit length at the start: a motion that turns at
    t = 1, or one that is on the other branch from there on.
    """

    def rows(times, glance=False):
        size = np.hypot(1 - np.asarray(times), least)
        return DenseRows((size * np.where(np.asarray(times) > 1, 1 - 2 * jumps, 1))[:, None, None])

    return rows


@pytest.mark.parametrize("jumps", [False, True])
def test_a_step_across_a_gap_is_seen_and_a_turn_is_none(jumps):
    t = np.linspace(0, 2, 20)
    rows = rows_of_hyperbola(LEAST, jumps)
    log_det = 2 * np.log(np.abs(rows(t).rows[:, 0, 0]))
    found = find_crossings(t, log_det, rows, [("rod", "rod[0]")])
    assert len(found) == jumps
    if jumps:
        assert not found[0].lost and found[0].constraints == ("rod",)
        assert abs(found[0].time - 1) <= LEAST and LEAST <= found[0].smallest <= 2 * LEAST


def test_a_fast_turn_of_rows_is_no_step_across_a_gap():
    """Two rows turn by 100° within each step while the angle between them has a minimum."""

    def rows(times, glance=False):
        angle = np.asarray(times) * np.radians(1000)
        between = 0.02 + (np.asarray(times) - 1) ** 2
        both = np.stack([angle, angle + between], axis=-1)
        return DenseRows(np.stack([np.cos(both), np.sin(both)], axis=-1))

    t = np.linspace(0.05, 1.95, 20)
    log_det = np.log(np.linalg.det(rows(t).rows @ np.swapaxes(rows(t).rows, 1, 2)))
    assert find_crossings(t, log_det, rows, [("a", "a[0]"), ("b", "b[0]")]) == []


def test_rows_turn_over_alike_in_dense_and_in_sparse_form():
    from scipy.sparse import csr_array

    random = np.random.default_rng(7)
    C = random.standard_normal((12, 4, 6))
    expected = np.sign(np.linalg.det(C[:-1] @ np.swapaxes(C[1:], 1, 2)))
    assert {-1.0, 1.0} == set(expected)
    np.testing.assert_array_equal(DenseRows(C).turned(), expected)
    sparse = SparseRows.__new__(SparseRows)
    sparse.m, sparse.rows = 4, [csr_array(x) for x in C]
    np.testing.assert_array_equal(sparse.turned(), expected)
    # a repeated row changes nothing of dense rows, and sparse ones say nothing
    repeated = np.concatenate([C, C[:, :1]], axis=1)
    np.testing.assert_array_equal(DenseRows(repeated).turned(), expected)
    sparse.m, sparse.rows = 5, [csr_array(x) for x in repeated]
    np.testing.assert_array_equal(sparse.turned(), np.ones(11))
