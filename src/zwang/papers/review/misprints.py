"""Misprinted equations with their errors: for a rigid body of particles, for Example 3, and for the
arm with unequal links.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import zwang.gallery
from zwang.papers.claim import Part
from zwang.papers.misprint import Misprint, apart
from zwang.papers.review.comparison import Body, body

UNEQUAL = {
    "mass": np.array([1.3, 0.7]),
    "center": np.array([0.4, 0.6]),
    "inertia": np.array([0.9, 1.2]),
    "stiffness": np.array([2.0, 3.0]),
}
"""Parameters of the arm; the paper's links are equal and its K is the identity, which hides
misprints.
"""
ANGLES, RATES = np.array([0.4, -0.9]), np.array([0.7, -0.3])


def reproduced() -> Part:
    """The misprints as claims."""
    return Part([x.claim for x in misprints()])


def misprints() -> list[Misprint]:
    """All misprints that a number can show, in the paper's order."""
    return [_rows(), *_newton_euler(), _sign(), _coriolis(), _spring()]


def _rows() -> Misprint:
    """Eq. (18) for the two constraints of eq. (55), with a third coordinate that they do not
    contain.
    """
    A = np.array([[1.0, -0.1 * np.exp(3.0), 0.0], [0.0, 1.0, 0.0]])
    acceleration = np.array([0.01 * np.exp(3.0), 0.0, 0.4])
    return Misprint(
        "eq. (18)",
        "b of m relations between n accelerations, m = 2, n = 3",
        "b ∈ Rⁿ",
        "b ∈ Rᵐ",
        apart(A @ acceleration, np.zeros(3)),
        apart(A @ acceleration, np.array([0.01 * np.exp(3.0), 0.0])),
    )


def newton_euler(x: Body, coupling: float, *, turning: bool) -> np.ndarray:
    """Left side of eq. (37) for a body.

    Args:
        x: the body with its motion.
        coupling: sign of m [c]× in the second row.
        turning: True if the first row contains [ω]×[ω]× c, False for [c]×[c]× c as printed.
    """
    c, omega = skew(x.center), skew(x.omega)
    about = x.inertia - x.mass * c @ c
    first = omega @ omega @ x.center if turning else c @ c @ x.center
    left = np.block([[x.mass * np.eye(3), -x.mass * c], [coupling * x.mass * c, about]])
    return left @ np.concatenate([x.acceleration, x.alpha]) + np.concatenate(
        [x.mass * first, omega @ about @ x.omega]
    )


def skew(c) -> np.ndarray:
    """[c]× of eq. (38)."""
    x, y, z = c
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def _newton_euler() -> list[Misprint]:
    """Eq. (37), by force and moment of each particle of a rigid body."""
    x = body()
    right = newton_euler(x, 1.0, turning=True)
    return [
        Misprint(
            "eq. (37), inertia matrix",
            "force and moment on a rigid body about any of its points",
            "−m [c]× in both corners",
            "−m [c]× above and m [c]× below the diagonal, so that it is symmetric",
            apart(newton_euler(x, -1.0, turning=True), x.loads),
            apart(right, x.loads),
        ),
        Misprint(
            "eq. (37), terms of velocity",
            "the same",
            "m [c]× [c]× c, which is zero",
            "m [ω]× [ω]× c",
            apart(newton_euler(x, 1.0, turning=False), x.loads),
            apart(right, x.loads),
        ),
    ]


def _sign() -> Misprint:
    """Eq. (40) compared with (22) for Example 3, ẋ + 2y ẏ + ż − 1 = 0."""
    y = -0.7
    A, c = np.array([[1.0, 2 * y, 1.0]]), np.array([-1.0])
    rate = np.array([0.5, 0.2, 1 - 0.5 - 2 * y * 0.2])  # satisfies eq. (14)
    return Misprint(
        "eq. (40)",
        "eq. (22) in matrix form, for Example 3",
        "A q̇ = c",
        "A q̇ = −c, with the c of (22)",
        apart(A @ rate, c),
        apart(A @ rate, -c),
    )


def _arm() -> tuple:
    """Plant, parameters with unequal links, D and C q̇ + G of the links, by Lagrange."""
    model = zwang.gallery.load("flexible-joint").model.passive
    system, p = model.system, {**model.params, **UNEQUAL}
    assert system.potential is not None
    potential = system.potential

    def lagrangian(q, v):
        both = jnp.concatenate([q, q])  # motors rotate with the links: no spring force
        D = system.mass_matrix(both, 0.0, p)[:2, :2]
        return 0.5 * v @ D @ v - potential(both, 0.0, p)

    momentum = jax.grad(lagrangian, 1)
    bias = jax.jacfwd(momentum)(ANGLES, RATES) @ RATES - jax.grad(lagrangian)(ANGLES, RATES)
    D = np.asarray(system.mass_matrix(np.tile(ANGLES, 2), 0.0, p))[:2, :2]
    return p, D, np.asarray(bias)


def printed_bias(p, own_mass: float) -> np.ndarray:
    """`C q̇₁ + G` by eq. (67), (68), term by term, with a given mass in c₁₁."""
    (m1, m2), (c1, c2) = p["mass"], p["center"]
    l, g, (a, b) = float(p["length"]), float(p["gravity"]), ANGLES
    h = l * c2 * np.sin(b)
    first, second = RATES
    C = np.array([[-own_mass * h * second, -m2 * h * (second + first)], [m2 * h * first, 0.0]])
    lower = m2 * c2 * g * np.sin(a + b)
    return C @ RATES + [(m1 * c1 + m2 * l) * g * np.sin(a) + lower, lower]


def _coriolis() -> Misprint:
    p, _, bias = _arm()
    m1, m2 = p["mass"]
    return Misprint(
        "eq. (68)",
        "C q̇₁ + G of the arm, by Lagrange's equations for unequal links",
        "c₁₁ = −m₁ l₁ l_c2 sin q⁽⁴⁾ q̇⁽⁴⁾",
        "m₂ for m₁; the paper's masses are equal",
        apart(printed_bias(p, m1), bias),
        apart(printed_bias(p, m2), bias),
    )


def _spring() -> Misprint:
    """Eq. (71) as a force on links with springs fixed at zero, which must satisfy A q̈₁ = 0."""
    p, D, bias = _arm()
    A, K = np.ones((1, 2)), np.diag(p["stiffness"])
    size, axes = np.linalg.eigh(D)
    root, bare = axes * np.sqrt(size) @ axes.T, axes / np.sqrt(size) @ axes.T

    def kept(spring):
        F = root @ np.linalg.pinv(A @ bare) @ (A @ np.linalg.solve(D, bias + spring))
        return A @ np.linalg.solve(D, F - bias - K @ ANGLES)

    return Misprint(
        "eq. (71), (72)",
        "F^c keeps A q̈₁ = b, for a stiffness other than one",
        "C q̇₁ + G + q₁",
        "C q̇₁ + G + K q₁; the paper's K is the identity",
        apart(kept(ANGLES), np.zeros(1)),
        apart(kept(K @ ANGLES), np.zeros(1)),
    )
