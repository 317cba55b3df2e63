"""Eigenvalues of real matrices on the host."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def ordered(values: np.ndarray) -> np.ndarray:
    """Sort complex numbers by decreasing real part, with conjugates adjacent."""
    values = np.asarray(values, complex)
    real, imaginary = np.real(values), np.imag(values)
    return values[np.lexsort((imaginary, np.abs(imaginary).round(9), -real.round(9)))]


def eigenvalues(A: np.ndarray, E: np.ndarray | None = None) -> np.ndarray:
    """Return λ with `A x = λ x`, or `A x = λ E x`, by decreasing real part, shape (n,); infinite
    eigenvalues of a singular E are included as infinity.
    """
    if not len(A):
        return np.zeros(0, complex)
    if E is None:
        return ordered(np.linalg.eigvals(A))
    import scipy.linalg

    return ordered(np.asarray(scipy.linalg.eigvals(A, E)))


def eigenvectors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the eigenvalues of A, shape (n,), in LAPACK's order, and left and right eigenvectors
    of unit length, in columns.
    """
    import scipy.linalg

    values, *sides = scipy.linalg.eig(A, left=True, right=True)
    left, right = map(np.asarray, sides)
    return np.asarray(values), left, right


def coupling(A: np.ndarray, near: Callable[[complex], bool]) -> float:
    """Return the largest entry above the diagonal of the Schur form among eigenvalues that are
    `near`, which are ordered first; it measures whether they share eigenvectors.
    """
    import scipy.linalg

    T, *_, k = scipy.linalg.schur(A.astype(complex), output="complex", sort=near)
    return float(np.max(np.abs(np.triu(T[:k, :k], 1)), initial=0.0))


def balanced(A: np.ndarray) -> np.ndarray:
    """Balance A by a diagonal similarity that makes rows and columns equally large."""
    import scipy.linalg

    return scipy.linalg.matrix_balance(A, permute=False)[0]


def exponential(A: np.ndarray) -> np.ndarray:
    """Return `exp A`, also for a traced matrix."""
    if not isinstance(A, np.ndarray):
        import jax.scipy.linalg

        return jax.scipy.linalg.expm(A)
    import scipy.linalg

    return scipy.linalg.expm(A)


def riccati(
    A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return S with `Aᵀ S + S A − S B R⁻¹ Bᵀ S + Q = 0` for which A − B K is stable, and
    `K = R⁻¹ Bᵀ S`.

    Raises:
        numpy.linalg.LinAlgError: if there is no such S.
    """
    import scipy.linalg

    S = scipy.linalg.solve_continuous_are(A, B, Q, R)
    return S, np.linalg.solve(R, B.T @ S)


def spectral_radius(A: np.ndarray) -> float:
    """Return the spectral radius, 0 for an empty matrix."""
    return float(np.max(np.abs(eigenvalues(A)), initial=0.0))


def principal(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues of the symmetric part of K, ascending, and orthonormal eigenvectors,
    for one matrix or a stack.
    """
    return np.linalg.eigh(0.5 * (K + np.swapaxes(K, -1, -2)))


def forms_of(values: Callable[[np.ndarray], np.ndarray], directions: np.ndarray) -> np.ndarray:
    """Return the symmetric matrices Q of quadratic forms on the span of some directions, shape
    (forms, k, k), by polarization, because the forms are known along single directions only.

    Args:
        values: vectors, shape (n, size), → the forms along each, shape (n, forms).
        directions: shape (size, k).
    """
    first, second = np.tril_indices(directions.shape[1])
    sums = directions[:, first] + directions[:, second]
    found = values(np.where(first == second, 0.5 * sums, sums).T)
    Q = np.zeros((found.shape[1], directions.shape[1], directions.shape[1]))
    Q[:, first, second] = Q[:, second, first] = found.T
    along = np.einsum("fii->fi", Q)
    mixed = 0.5 * (Q - along[:, :, None] - along[:, None])
    return np.where(np.eye(directions.shape[1], dtype=bool), Q, mixed)


def zeros_of_form(form: np.ndarray, double: float = 0.0) -> np.ndarray:
    """Return unit vectors u of the plane with uᵀ Q u = 0, one of ±u each, shape (k, 2); empty if
    the form is definite.

    Args:
        form: Q, shape (2, 2).
        double: product of its eigenvalues up to which its two zeros count as one.
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
