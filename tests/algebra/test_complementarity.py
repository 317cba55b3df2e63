"""Linear complementarity problems compared with SciPy's nonnegative least squares, and with
enumeration.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import nnls

from zwang.algebra.complementarity import complementary


def random_rows(rng, least=1):
    """Rows of which some repeat each other, or depend on each other."""
    n = int(rng.integers(least, 20))
    G = rng.standard_normal((n, int(rng.integers(1, n + 1))))
    if rng.random() < 0.5:
        G[rng.integers(n)] = G[rng.integers(n)]
    return G


def test_pushes_of_dependent_rows_give_the_one_motion():
    # min |x − a| with G x ≥ 0 has one x, however many z there are
    rng = np.random.default_rng(1994)
    for _ in range(300):
        G = random_rows(rng)
        a = rng.standard_normal(G.shape[1])
        z = complementary(G @ G.T, G @ a)
        assert z is not None
        known, _ = nnls(G.T, -a)
        np.testing.assert_allclose(a + G.T @ z, a + G.T @ known, atol=1e-8)
        assert np.all(z >= 0)


def test_a_matrix_with_positive_minors_has_its_one_solution():
    rng = np.random.default_rng(1)
    for _ in range(100):
        n = int(rng.integers(1, 6))
        Q = rng.standard_normal((n, n))
        Q = Q @ Q.T + np.triu(rng.standard_normal((n, n)), 1) * 0.1 + np.eye(n)
        c = rng.standard_normal(n)
        found = complementary(Q, c)
        assert found is not None
        known = [
            z for on in itertools.product((0, 1), repeat=n) if (z := solved(Q, c, on)) is not None
        ]
        assert any(np.allclose(found, z, atol=1e-9) for z in known)


def solved(Q, c, on):
    """z with w = 0 where it is on, if all signs are right."""
    k, z = np.flatnonzero(on), np.zeros(len(c))
    z[k] = np.linalg.solve(Q[np.ix_(k, k)], -c[k])
    w = Q @ z + c
    return z if np.all(z >= -1e-12) and np.all(w >= -1e-9) else None


@pytest.mark.parametrize("Q, c", [([[-1.0]], [-1.0]), ([[0.0]], [-1.0])])
def test_no_solution_is_said(Q, c):
    assert complementary(np.array(Q), np.array(c)) is None


def test_a_pivot_of_dependent_columns_ends_without_a_solution():
    # one row is the opposite of another, and both have to open
    rng = np.random.default_rng(396)
    n = int(rng.integers(4, 12))
    G = rng.standard_normal((n, int(rng.integers(1, n))))
    G[n // 2 :] = G[: n - n // 2] * rng.choice([1.0, 2.0, -1.0, 0.5], size=(n - n // 2, 1))
    c = -np.abs(rng.standard_normal(n)) * rng.choice([1, 1e-12], size=n)
    assert complementary(G @ G.T, c) is None
