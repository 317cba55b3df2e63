"""The paper's equations of the chain of five links, in NumPy, term by term."""

from __future__ import annotations

import numpy as np

from zwang.gallery.servo.coordinated_robots import ACTUATION

SPREAD = {
    "mass": np.array([0.7, 1.1, 1.6, 0.9, 1.3]),
    "inertia": np.array([0.5, 0.8, 1.2, 1.7, 0.6]),
    "length": 0.7,
    "gravity": 9.8,
}
"""Unequal links, so that every coefficient of the appendix has an effect."""


def appendix(theta, rate, m, inertia, l, g) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, C and G as the paper prints them, eq. (A2)-(A4), for links of one length."""
    after = np.cumsum(m[::-1])[::-1] - m
    coupled = lambda i, j: m[max(i, j)] / 2 + after[max(i, j)]
    M, C = np.zeros((5, 5)), np.zeros((5, 5))
    for i in range(5):
        M[i, i] = (m[i] / 4 + after[i]) * l**2 + inertia[i]
        for j in range(5):
            if i != j:
                M[i, j] = coupled(i, j) * l**2 * np.cos(theta[i] - theta[j])
                C[i, j] = coupled(i, j) * l**2 * np.sin(theta[i] - theta[j]) * rate[j]
    return M, C, (m / 2 + after) * g * l * np.cos(theta)


def by_jacobians(theta: np.ndarray, *, own: bool = True, stray: bool = False) -> np.ndarray:
    """`Σ m_k J_kᵀ J_k + I_k ωᵀω` of eq. (49).

    Args:
        theta: angles.
        own: True to include column k of link k, which the text of eq. (51) sets to zero.
        stray: True if J_L2⁽⁵⁾ is that of the third joint, as eq. (A1) also prints it.
    """
    M = np.diag(SPREAD["inertia"]).astype(float) if own else np.zeros((5, 5))
    for k in range(5):
        share = np.where(np.arange(5) < k, 1.0, np.where(np.arange(5) == k, 0.5 * own, 0.0))
        angle = np.array(theta)
        if stray and k == 4:
            angle[1] = theta[2]
        lever = SPREAD["length"] * share
        J = np.stack([-lever * np.sin(angle), lever * np.cos(angle)])
        M += SPREAD["mass"][k] * J.T @ J
    return M


def servo_matrix(theta: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, ...]:
    """B of eq. (70), A of (68), M of (A2), and b̄ of (32) for the chain without its hinge; unequal
    links.
    """
    l, (s, c) = SPREAD["length"], (np.sin(theta), np.cos(theta))
    share = l * np.array([1, 1, 0.5, 0, 0])
    A = np.stack([-share * s, share * c, np.eye(5)[2]])
    b = np.array([share @ (c * rate**2), share @ (s * rate**2) + 0.5 * np.cos(0.3), 0.0])
    M, C, G = appendix(theta, rate, SPREAD["mass"], SPREAD["inertia"], l, SPREAD["gravity"])
    return ACTUATION, A, M, b - A @ np.linalg.solve(M, -C @ rate - G)
