"""Eigenvalues of real matrices on the host."""

from __future__ import annotations

import numpy as np


def ordered(values: np.ndarray) -> np.ndarray:
    """Complex numbers by decreasing real part, conjugates beside each other."""
    values = np.asarray(values, complex)
    real, imaginary = np.real(values), np.imag(values)
    return values[np.lexsort((imaginary, np.abs(imaginary).round(9), -real.round(9)))]


def eigenvalues(A: np.ndarray, E: np.ndarray | None = None) -> np.ndarray:
    """λ with `A x = λ x`, or `A x = λ E x`, by decreasing real part, shape (n,); infinite ones of a
    singular E are.
    """
    if not len(A):
        return np.zeros(0, complex)
    if E is None:
        return ordered(np.linalg.eigvals(A))
    import scipy.linalg

    return ordered(np.asarray(scipy.linalg.eigvals(A, E)))


def spectral_radius(A: np.ndarray) -> float:
    """The largest size of an eigenvalue; 0 without any."""
    return float(np.max(np.abs(eigenvalues(A)), initial=0.0))


def principal(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of the symmetric part of K, the least first, and an orthonormal basis of their
    directions; of one matrix or of a stack.
    """
    return np.linalg.eigh(0.5 * (K + np.swapaxes(K, -1, -2)))


def zeros_of_form(form: np.ndarray, double: float = 0.0) -> np.ndarray:
    """Unit vectors u of the plane with uᵀ Q u = 0, one of ±u each, shape (k, 2); no row where the
    form has one sign.

    Args:
        form: Q, shape (2, 2).
        double: product of its eigenvalues up to which its two zeros are one.
    """
    (low, high), vectors = principal(form)
    # u = x e₁ + y e₂ with low x² + high y² = 0
    if abs(low * high) <= double:
        pairs = [(1.0, 0.0) if abs(low) < abs(high) else (0.0, 1.0)]
    elif low * high > 0:
        pairs = []
    else:
        pairs = [(np.sqrt(high), s * np.sqrt(-low)) for s in (1.0, -1.0)]
    found = np.array(pairs).reshape(-1, 2) @ vectors.T
    return found / np.linalg.norm(found, axis=1, keepdims=True)
