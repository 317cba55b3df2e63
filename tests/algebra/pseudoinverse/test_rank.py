"""The rank that the default method reports, for many rows and for few."""

import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra.pseudoinverse import Proximal, Pseudoinverse


def rows(m: int, least: float) -> np.ndarray:
    """m rows of length about 1 whose smallest singular value is given."""
    rng = np.random.default_rng(m)
    left, _ = np.linalg.qr(rng.normal(size=(m, m)))
    right, _ = np.linalg.qr(rng.normal(size=(m + 2, m)))
    return left @ np.diag([1.0] * (m - 1) + [least]) @ right.T


@pytest.mark.parametrize("m", [8, 40])
@pytest.mark.parametrize(("least", "lost"), [(0.5, 0), (1e-5, 0), (1e-7, 0), (1e-10, 1), (0.0, 1)])
def test_a_row_counts_by_its_threshold_of_many_rows_as_of_few(m, least, lost):
    assert int(Pseudoinverse(Proximal(), jnp.asarray(rows(m, least))).rank()) == m - lost


def test_more_rows_than_columns_have_the_rank_of_the_columns():
    C = rows(40, 0.5).T @ rows(40, 0.5)  # 42 rows of rank 40

    assert int(Pseudoinverse(Proximal(), jnp.asarray(C)).rank()) == 40


def test_a_threshold_of_the_callers_own_is_kept():
    C = jnp.asarray(rows(40, 1e-3))

    assert int(Pseudoinverse(Proximal(rank_threshold=1e-2), C).rank()) == 39
    assert int(Pseudoinverse(Proximal(rank_threshold=1e-4), C).rank()) == 40
