"""Linear complementarity problems, by Lemke's method.

    w = Q z + c,    0 ≤ w ⊥ z ≥ 0

A principal pivot leaves w and z complementary; an auxiliary variable makes the first point
feasible, and the pivots that drive it out end at a solution or on a ray. Ties are decided
lexicographically, so that no sequence of pivots comes back to itself: rows that depend on each
other tie often. For a matrix that is copositive plus, as that of contacts without friction is, a
ray says that there is no solution.

Reference: Cottle, Pang and Stone (1992), The Linear Complementarity Problem, section 4.4.
"""

from __future__ import annotations

import numpy as np

from zwang.thresholds import AGREEMENT, RESOLVED, SOLUTION_ERROR


def complementary(Q: np.ndarray, c: np.ndarray) -> np.ndarray | None:
    """z with `0 ≤ Q z + c ⊥ z ≥ 0`, shape (n,); None where the pivots end on a ray.

    Args:
        Q: shape (n, n).
        c: shape (n,).
    """
    n = len(c)
    if not n or np.all(c >= 0):
        return np.zeros(n)
    # ways to make the first point feasible that are tried before a ray counts as one
    for k in range(8):
        # rows that depend on each other may end one way of pivots early, and not the next
        cover = 1 + 0.5 * np.sin(k * (1.0 + np.arange(n)))
        if (basis := _pivoted(Q, c, cover)) is not None:
            break
    else:
        return None
    columns = np.hstack([np.eye(n), -Q])
    values = np.zeros(2 * n)
    values[basis] = np.linalg.lstsq(columns[:, basis], c, rcond=None)[0]
    z = np.maximum(values[n:], 0.0)
    w, terms = Q @ z + c, np.abs(Q) @ z + np.abs(c)
    size = np.max(terms, initial=0.0)
    left = np.minimum(w, np.where(z > 0, -np.abs(w), np.inf))
    # largest negative part or product of w and z that a solution may leave, relative to its terms
    return z if np.all(left >= -AGREEMENT * size) else None


def _pivoted(Q: np.ndarray, c: np.ndarray, cover: np.ndarray) -> list[int] | None:
    """Columns of `w − Q z = c` that are basic at the solution: w is 0 to n − 1, z is n to 2n − 1;
    the auxiliary variable adds `cover` to c.
    """
    n = len(c)
    auxiliary = 2 * n
    columns = np.hstack([np.eye(n), -Q, -cover[:, None]])
    basis = list(range(n))
    row, entering = int(np.argmin(c / cover)), auxiliary
    # pivots for each row after which a problem counts as unsolved; ordinary ones take one or two
    for _ in range(50 * n):
        leaving, basis[row] = basis[row], entering
        if leaving == auxiliary:
            return basis
        entering = leaving + n if leaving < n else leaving - n
        # from the data that were given, as a tableau has the round-off of all pivots before
        inverse = np.linalg.inv(columns[:, basis])
        column = inverse @ columns[:, entering]
        rows = np.flatnonzero(column > RESOLVED * np.max(np.abs(column), initial=0.0))
        if not len(rows):
            return None
        keys = np.column_stack([inverse @ c, inverse])[rows] / column[rows][:, None]
        row = _lexicographic_least(rows, keys, basis.index(auxiliary))
    return None


def _lexicographic_least(rows: np.ndarray, keys: np.ndarray, preferred: int) -> int:
    """Which of some rows has the least key; the preferred one if its first number ties."""
    left = np.arange(len(rows))
    for k in range(keys.shape[1]):
        key = keys[left, k]
        # ratios that differ by less, relative to the auxiliary variable, tie
        left = left[key <= np.min(key) + SOLUTION_ERROR * (1 + np.abs(np.min(key)))]
        if not k and preferred in rows[left]:
            return preferred
        if len(left) == 1:
            break
    return int(rows[left[0]])
