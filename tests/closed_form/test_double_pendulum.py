"""The double pendulum of the gallery compared with its two equations of motion in the angles."""

import numpy as np
from scipy.integrate import solve_ivp

from tests.gallery.examples import example

L1, L2, M1, M2, G = 1.0, 0.7, 1.5, 2.0, 9.81
END = 2.0


def slope(t, y):
    """Lagrange's equations of two uniform rods, angles a and b from hanging down."""
    a, b, da, db = y
    coupling = M2 * L1 * L2 / 2
    M = np.array(
        [
            [(M1 / 3 + M2) * L1**2, coupling * np.cos(a - b)],
            [coupling * np.cos(a - b), M2 * L2**2 / 3],
        ]
    )
    F = np.array(
        [
            -coupling * np.sin(a - b) * db**2 - (M1 / 2 + M2) * G * L1 * np.sin(a),
            coupling * np.sin(a - b) * da**2 - M2 * G * L2 / 2 * np.sin(b),
        ]
    )
    return np.r_[da, db, np.linalg.solve(M, F)]


def test_the_rods_turn_as_the_equations_in_two_angles_say():
    start = np.radians([120.0, 90.0])
    member = example(
        "double-pendulum",
        length1=L1,
        length2=L2,
        mass1=M1,
        mass2=M2,
        angle1=120.0,
        angle2=90.0,
        gravity=G,
    )
    run = member.run(duration=END, samples=5, rtol=1e-11)
    angles = run.q[:, [2, 5]] + np.pi / 2
    expected = (
        solve_ivp(
            slope, (0.0, END), [*start, 0.0, 0.0], "DOP853", t_eval=run.t, rtol=1e-13, atol=1e-13
        )
        .y[:2]
        .T
    )
    np.testing.assert_allclose(angles, expected, atol=1e-8)
