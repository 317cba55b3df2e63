"""Lagrange's and Newton's equations, integrated by SciPy: answers that share nothing with zwang or
with the program that it is compared with, and so say whose a difference is.
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


def double_pendulum(
    mass: float, inertia: float, length: float, damping: float, gravity: float, start, times
) -> dict[str, np.ndarray]:
    """Angles of two equal rods from rest, the second from the first, and their rates.

    With a and b the angles of the rods from the horizontal, c = m l²/2 and J that about an end:

        (J + m l²) ä + c cos(a − b) b̈ + c sin(a − b) ḃ² = −3/2 m g l cos a − d ȧ
        c cos(a − b) ä + J b̈ − c sin(a − b) ȧ² = −1/2 m g l cos b
    """
    c, J = mass * length**2 / 2, inertia + mass * length**2 / 4
    weight = mass * gravity * length / 2

    def rate(t, y):
        a, b, da, db = y
        coupled, turned = c * np.cos(a - b), c * np.sin(a - b)
        matrix = np.array([[J + mass * length**2, coupled], [coupled, J]])
        right = [
            -3 * weight * np.cos(a) - damping * da - turned * db**2,
            -weight * np.cos(b) + turned * da**2,
        ]
        return np.concatenate([[da, db], np.linalg.solve(matrix, right)])

    begin = [start[0], start[0] + start[1], 0.0, 0.0]
    solved = solve_ivp(rate, (0.0, times[-1]), begin, "DOP853", times, rtol=RTOL, atol=RTOL)
    a, b, da, db = solved.y
    return {
        "revolute1.phi": a,
        "revolute1.w": da,
        "revolute2.phi": b - a,
        "revolute2.w": db - da,
    }


def attracted(
    places: np.ndarray, velocities: np.ndarray, stiffness: float, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Points of mass 1 at a distance r from the origin, which attracts them by 1/r², the last two
    on a spring without length: their places and velocities, shape (samples, points, 3).
    """
    shape = (2, *places.shape)

    def rate(t, y):
        x, v = y.reshape(shape)
        pull = -x / np.linalg.norm(x, axis=1)[:, None] ** 3
        stretch = stiffness * (x[-1] - x[-2])
        pull[-2] += stretch
        pull[-1] -= stretch
        return np.concatenate([v, pull]).ravel()

    begin = np.concatenate([places, velocities]).ravel()
    solved = solve_ivp(rate, (0.0, times[-1]), begin, "DOP853", times, rtol=RTOL, atol=RTOL)
    found = solved.y.T.reshape(-1, *shape)
    return found[:, 0], found[:, 1]
