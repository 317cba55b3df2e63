"""Block pseudoinverses of the Lagrange matrix, eq. (33) and (40) of the pseudoinverse paper, from
the library's own parts.
"""

import numpy as np
import pytest

from zwang.algebra.pseudoinverse import SVD

from .problems import REFERENCE, five_bar_problems, regular_problems, singular_mass_problems

CASES = {**five_bar_problems(), **regular_problems()}


def pinv(C):
    return np.asarray(SVD().factor(np.asarray(C)).matrix())


def lagrange_pseudoinverse(p):
    return pinv(np.block([[p.M, p.A.T], [p.A, np.zeros((12, 12))]]))


def assert_same(found, expected):
    """Round-off times the condition of the Lagrange matrix, up to 1e3."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("case", CASES)
def test_equation_33_for_a_positive_definite_mass(case):
    p = CASES[case]
    inverse = np.linalg.inv(p.M)
    Q = pinv(p.A @ inverse @ p.A.T)
    H = inverse @ p.A.T @ Q
    assert_same(np.block([[inverse - H @ p.A @ inverse, H], [H.T, -Q]]), lagrange_pseudoinverse(p))


@pytest.mark.parametrize("case", [*CASES, *singular_mass_problems()])
def test_equation_40_for_any_mass(case):
    """Where the constraints leave no freedom, E is set to the zero that it is, up to round-off."""
    p = (CASES | singular_mass_problems())[case]
    A = pinv(p.A)
    E = np.eye(12) - A @ p.A
    E = np.zeros((12, 12)) if np.trace(E) < 0.5 else E
    Q, R = pinv(E @ p.M @ E), p.M @ A
    particular = np.block([[np.zeros((12, 12)), A], [A.T, -A.T @ R]])
    side = np.vstack([np.eye(12), -R.T])
    assert_same(particular + side @ Q @ side.T, lagrange_pseudoinverse(p))


def test_contradictory_rows_give_the_least_squares_mean():
    """Recursive paper: two rows that demand 1 and 3/2 of the same sum, in lengths 1 and 2: (1·1 +
    2·3)/(1 + 4) = 7/5.
    """
    from zwang.dynamics.formulation import UdwadiaKalaba

    known = REFERENCE["orsino"]["contradictory"]
    A, b = (np.concatenate([known[f"{symbol}{level}"] for level in "12"]) for symbol in "Ab")
    found = UdwadiaKalaba().acceleration(np.diag(known["M"]), np.array(known["f"]), A, b, SVD())
    np.testing.assert_allclose(found, known["one_shot_LS"], rtol=0, atol=1e-14)
    assert found[0] + found[1] == pytest.approx(7 / 5, abs=1e-14)
