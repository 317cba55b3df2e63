"""Jacobi's elliptic functions and the elliptic integral of the first kind, by the
arithmetic-geometric mean.

    u = F(φ, m) = ∫₀^φ dθ / √(1 − m sin²θ),    φ = am(u, m),    0 ≤ m ≤ 1;    K(m) = F(π/2, m)
    sn = sin φ,    cn = cos φ,    dn = √(1 − m sin²φ)

`scipy.special` has both, but importing it takes a third of a second; they need only thirty lines.

Reference: Abramowitz and Stegun (1964), Handbook of Mathematical Functions, 16.4 and 17.6.
"""

from __future__ import annotations

import numpy as np

EQUAL_MEANS = 1e-9
"""Relative difference at which the two means count as equal; it enters the result squared."""


def _means(m: float) -> list[tuple[float, float, float]]:
    """(a, b, c) of each iteration: a and b are the means of the previous ones, c is half of their
    difference; the first c is √m.
    """
    rounds = [(1.0, np.sqrt(1 - m), np.sqrt(m))]
    while rounds[-1][2] > EQUAL_MEANS * rounds[-1][0]:
        a, b, _ = rounds[-1]
        rounds.append(((a + b) / 2, np.sqrt(a * b), (a - b) / 2))
    return rounds


def amplitude(u, m: float):
    """φ = am(u, m) [rad] for u of any shape; it counts full turns."""
    if m == 1:
        # at m = 1 the iteration does not converge; am is the Gudermannian function there
        return np.arctan(np.sinh(u))
    rounds = _means(m)
    phi = 2.0 ** (len(rounds) - 1) * rounds[-1][0] * np.asarray(u)
    for a, _, c in rounds[:0:-1]:
        phi = (phi + np.arcsin(c / a * np.sin(phi))) / 2
    return phi


def jacobi(u, m: float):
    """(sn, cn, dn) at u of any shape. dn is computed as a sum of squares, because 1 − m sin²φ loses
    digits near m = 1.
    """
    phi = amplitude(u, m)
    sn, cn = np.sin(phi), np.cos(phi)
    return sn, cn, np.hypot(cn, np.sqrt(1 - m) * sn)


def first_kind(phi, m: float):
    """u = F(φ, m) for φ [rad] of any shape."""
    if m == 1:
        # the inverse Gudermannian function
        return np.arcsinh(np.tan(phi))
    rounds, phi = _means(m), np.asarray(phi, float)
    for a, b, _ in rounds[:-1]:
        # the arctangent is evaluated near zero and whole turns are added, so that u increases with
        # φ
        turns = np.round(phi / np.pi)
        phi = (
            phi
            + np.arctan2(b * np.sin(phi - turns * np.pi), a * np.cos(phi - turns * np.pi))
            + turns * np.pi
        )
    return phi / (2.0 ** (len(rounds) - 1) * rounds[-1][0])
