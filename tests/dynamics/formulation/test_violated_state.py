"""At states that violate the constraints, the rank threshold determines the acceleration, because
dependent rows are independent there.
"""

import functools

import jax
import numpy as np
import pytest

from tests.algebra.pseudoinverse.matrices import QUICK
from zwang.algebra.pseudoinverse import ALL_PSEUDOINVERSES, SVD, Proximal
from zwang.dynamics.formulation import UdwadiaKalaba

from .problems import FIVE_BAR_FORCE, MASS, REFERENCE, five_bar_equation

VIOLATED = REFERENCE["five_bar"]["violated"]
COARSE, FINE = (
    1e-2,
    1e-12,
)  # the false singular value is 5e-6 of the largest, the smallest true one 0.2
EXPECTED = {
    COARSE: VIOLATED["rank11 (threshold 1e-2 relative)"],
    FINE: VIOLATED["rank12 (threshold 1e-12)"],
}

deciding = pytest.mark.parametrize(
    "member",
    [m for m in ALL_PSEUDOINVERSES if m is not Proximal],
    ids=lambda member: member.__name__,
)


@functools.cache
def equation():
    return [
        np.asarray(part)
        for part in five_bar_equation(np.array(VIOLATED["q"]), np.array(VIOLATED["v"]))
    ]


@functools.cache
def program(member):
    @functools.partial(jax.jit, compiler_options=QUICK)
    def acceleration(threshold, b):
        _, _, A, _ = equation()
        return UdwadiaKalaba().acceleration(
            jax.numpy.diag(MASS), FIVE_BAR_FORCE, A, b, member(threshold=threshold)
        )

    return acceleration


def accelerations(member, threshold):
    """By eq. (31), and by eq. (32) with α = 1000, β = 100."""
    phi, psi, _, b = equation()
    return {
        "eq31": np.asarray(program(member)(threshold, b)),
        "eq32_alpha1000_beta100": np.asarray(
            program(member)(threshold, b - 2 * 1000 * psi - 100**2 * phi)
        ),
    }


def test_residuals_and_right_hand_side_are_those_of_the_reference():
    phi, psi, _, b = equation()
    for found, known in ((phi, "Psi"), (psi, "Psidot"), (b, "gamma")):
        np.testing.assert_allclose(
            found, VIOLATED[known], rtol=0, atol=1e-15
        )  # round-off of coordinates of order one


@deciding
def test_a_threshold_that_keeps_all_rows_locks_the_mechanism(member):
    """Rank 12. σ₁₂ = 1.8e-5 multiplies the round-off of A, 1e-16, by 1/σ² = 3e9 over accelerations
    of 1e3.
    """
    for equation_number, found in accelerations(member, FINE).items():
        expected = EXPECTED[FINE][equation_number]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_threshold_that_drops_the_false_rank_lets_it_move():
    """Rank 11, by truncated singular values as in the reference; round-off."""
    for equation_number, found in accelerations(SVD, COARSE).items():
        np.testing.assert_allclose(found, EXPECTED[COARSE][equation_number], rtol=0, atol=1e-10)


@deciding
def test_every_method_moves_at_rank_11_alike(member):
    """Which direction of size σ₁₂ is dropped differs between methods, which leaves differences of
    the residual along it:
    1e-4 of the acceleration in (31), while (32) multiplies residuals by 2000 and keeps but one
    digit.
    """
    for equation_number, found in accelerations(member, COARSE).items():
        expected = np.array(EXPECTED[COARSE][equation_number])
        share = 1e-3 if equation_number == "eq31" else 0.2
        np.testing.assert_allclose(found, expected, rtol=0, atol=share * np.abs(expected).max())


@deciding
def test_the_threshold_matters_at_order_one(member):
    coarse, fine = (accelerations(member, threshold)["eq31"] for threshold in (COARSE, FINE))
    assert np.abs(coarse - fine).max() > 5
