"""A body on a universal joint by Lagrange's equations in two angles, written with SymPy and
integrated by SciPy: an answer that shares nothing with zwang or ADAMS, and so says whose a
difference is.
"""

from __future__ import annotations

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

RTOL = 1e-12


def universal_pendulum(
    rotation: Rotation, mass: float, inertia, arm, gravity: float, times: np.ndarray
) -> dict[str, np.ndarray]:
    """Places and angular accelerations in the axes of the world, each of shape (samples, 3).

    The body's attitude is R₀ Rx(a) Ry(b), its center at `arm` in its own axes from the joint.
    """
    a, b, da, db, dda, ddb = sp.symbols("a b da db dda ddb")
    angles, rates = sp.Matrix([a, b]), sp.Matrix([da, db])
    R0 = sp.Matrix(rotation.as_matrix())
    about_x = sp.rot_axis1(a).T
    about_y = sp.rot_axis2(b).T
    R = R0 * about_x * about_y
    place = R * sp.Matrix(arm)
    velocity = place.jacobian(angles) * rates
    # angular velocity in the body's axes: the first axis seen from the body, and the second
    spin = about_y.T * sp.Matrix([da, 0, 0]) + sp.Matrix([0, db, 0])
    kinetic = mass * velocity.dot(velocity) / 2 + spin.dot(sp.diag(*inertia) * spin) / 2
    lagrangian = kinetic - mass * gravity * place[2]
    momentum = sp.Matrix([lagrangian]).jacobian(rates)
    M = momentum.jacobian(rates)
    rest = sp.Matrix([lagrangian]).jacobian(angles).T - momentum.jacobian(angles) * rates
    state = (a, b, da, db)
    numbers = sp.lambdify(state, (M, rest), cse=True)

    def accelerations(y):
        matrix, right = numbers(*y)
        return np.linalg.solve(np.array(matrix, float), np.array(right, float).ravel())

    def rate(t, y):
        return np.concatenate([y[2:], accelerations(y)])

    solved = solve_ivp(rate, (0.0, times[-1]), np.zeros(4), "DOP853", times, rtol=RTOL, atol=RTOL)
    turning = spin.jacobian(angles) * rates + spin.jacobian(rates) * sp.Matrix([dda, ddb])
    seen = sp.lambdify((*state, dda, ddb), (place, R * turning), cse=True)
    rows = [seen(*y, *accelerations(y)) for y in solved.y.T]
    return {
        "Pos": np.array([np.ravel(row[0]) for row in rows], float),
        "Aacc": np.array([np.ravel(row[1]) for row in rows], float),
    }
