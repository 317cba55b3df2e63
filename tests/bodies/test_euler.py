"""ZYZ Euler angles, including the degenerate case in which only the sum of two angles is
determined.
"""

import jax
import numpy as np
import pytest

from zwang.bodies import zyz_angles, zyz_matrix
from zwang.bodies.rotation import from_axis_angle, rotation_matrix

RANDOM = np.random.default_rng(5)
Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def turn(axis, angle):
    return np.asarray(rotation_matrix(from_axis_angle(axis, angle)))


def test_the_matrix_is_three_turns():
    """Scara paper, eq. (42)."""
    phi, psi, gamma = RANDOM.uniform(-3, 3, 3)
    np.testing.assert_allclose(
        zyz_matrix(phi, psi, gamma), turn(Z, phi) @ turn(Y, psi) @ turn(Z, gamma), atol=1e-15
    )


def test_angles_of_a_general_rotation_are_those_of_the_paper():
    """Eq. (44), for 0 < ψ < π."""
    angles = np.stack(
        [RANDOM.uniform(-3, 3, 50), RANDOM.uniform(0.01, 3.1, 50), RANDOM.uniform(-3, 3, 50)]
    )
    R = zyz_matrix(*angles)
    np.testing.assert_allclose(np.stack(zyz_angles(R)), angles, atol=1e-13)
    np.testing.assert_allclose(zyz_angles(R).gamma, np.arctan2(R[:, 2, 1], -R[:, 2, 0]), atol=1e-13)


@pytest.mark.parametrize("psi", [0.0, np.pi])
def test_where_two_angles_are_one_turn_the_first_is_zero(psi):
    """Eq. (45), and its counterpart at ψ = 180°."""
    found = zyz_angles(zyz_matrix(0.4, psi, 1.1))
    assert found.phi == 0.0
    np.testing.assert_allclose(found.psi, psi, atol=1e-15)
    np.testing.assert_allclose(found.gamma, 1.1 + 0.4 * np.cos(psi), atol=1e-14)
    exactly = np.diag([np.cos(psi), 1.0, np.cos(psi)]) @ turn(Z, 0.7)
    np.testing.assert_allclose(np.stack(zyz_angles(exactly)), [0.0, psi, 0.7], atol=1e-15)
    assert np.isfinite(jax.jacfwd(lambda R: zyz_angles(R).gamma)(exactly)).all()


@pytest.mark.parametrize("off", [1e-15, 1e-12, 1e-8, 1e-4])
def test_nothing_is_lost_close_to_the_degenerate_case(off):
    """(44) as printed takes γ from two small numbers, and loses φ + γ to round-off there."""
    for psi in (off, np.pi - off):
        R = np.asarray(turn(Z, 0.4) @ turn(Y, psi) @ turn(Z, 1.1)) + 1e-17
        np.testing.assert_allclose(zyz_matrix(*zyz_angles(R)), R, atol=3e-15)
