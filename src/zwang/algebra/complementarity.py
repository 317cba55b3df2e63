"""Linear complementarity problems, by Lemke's method.

    w = Q z + c,    0 ≤ w ⊥ z ≥ 0

A principal pivot keeps w and z complementary. An auxiliary variable makes the first point feasible,
and the pivots that eliminate it end at a solution or on a ray. Ties are decided lexicographically,
so that no sequence of pivots repeats; dependent rows often tie. For a copositive-plus matrix, such
as that of contacts without friction, a ray means that there is no solution.

Reference: Cottle, Pang and Stone (1992), The Linear Complementarity Problem, section 4.4.
"""

from __future__ import annotations

import numpy as np

from zwang.objects.recent import Recent
from zwang.thresholds import AGREEMENT, RESOLVED, ROUND_OFF, SOLUTION_ERROR


def complementary(Q: np.ndarray, c: np.ndarray) -> np.ndarray | None:
    """Return z with `0 ≤ Q z + c ⊥ z ≥ 0`, shape (n,), or None if the pivots end on a ray.

    Args:
        Q: shape (n, n).
        c: shape (n,).
    """
    n = len(c)
    if not n or np.all(c >= 0):
        return np.zeros(n)
    columns, best, least = np.hstack([np.eye(n), -Q]), None, -np.inf
    # most problems return with another c, because loads are found by iteration
    key = Q.shape, Q.tobytes()
    if (basis := _BASES.get(key)) is not None:
        z, left = _at_basis(Q, c, columns, basis)
        if left >= -ROUND_OFF:
            return z
    # number of covering vectors that are tried before a ray is accepted
    for k in range(8):
        # dependent rows may end one sequence of pivots early, and not the next
        cover = 1 + 0.5 * np.sin(k * (1.0 + np.arange(n)))
        # ratios of a pivot that differ by less count as equal: the first tolerance is for dependent
        # rows, the second is used if the first leaves a residual above round-off
        for tie in (SOLUTION_ERROR, ROUND_OFF):
            if (basis := _pivoted(Q, c, cover, tie)) is None:
                continue
            z, left = _at_basis(Q, c, columns, basis)
            if left > least:
                best, least = z, left
            # a false tie leaves a residual above round-off
            if left >= -ROUND_OFF:
                _BASES.put(key, basis)
                return z
        if best is not None:
            break
    # the largest residual of a solution
    return best if least >= -AGREEMENT else None


_BASES: Recent[list[int]] = Recent(most=8)
"""Columns that were basic at the solution, by Q."""


def _at_basis(Q: np.ndarray, c: np.ndarray, columns: np.ndarray, basis: list[int]) -> tuple:
    """z of a basis, and its negative parts and products with w, relative to their terms."""
    n, values = len(c), np.zeros(2 * len(c))
    values[basis] = np.linalg.lstsq(columns[:, basis], c, rcond=None)[0]
    z = np.maximum(values[n:], 0.0)
    w, terms = Q @ z + c, np.abs(Q) @ z + np.abs(c)
    left = np.min(np.minimum(w, np.where(z > 0, -np.abs(w), np.inf)))
    return z, left / np.max(terms, initial=0.0)


def _pivoted(Q: np.ndarray, c: np.ndarray, cover: np.ndarray, tie: float) -> list[int] | None:
    """Return the columns of `w − Q z = c` that are basic at the solution: w is 0 to n − 1, z is n
    to 2n − 1. The auxiliary variable adds `cover` to c, and ratios that differ by less than `tie`
    are equal.
    """
    n = len(c)
    auxiliary = 2 * n
    columns = np.hstack([np.eye(n), -Q, -cover[:, None]])
    basis = list(range(n))
    row, entering = int(np.argmin(c / cover)), auxiliary
    # at most 50 pivots for each row; ordinary problems take one or two
    for _ in range(50 * n):
        leaving, basis[row] = basis[row], entering
        if leaving == auxiliary:
            return basis
        entering = leaving + n if leaving < n else leaving - n
        # from the original data, because a tableau accumulates the round-off of all pivots
        try:
            inverse = np.linalg.inv(columns[:, basis])
        except np.linalg.LinAlgError:
            return None  # the last pivot was round-off of dependent columns
        column = inverse @ columns[:, entering]
        rows = np.flatnonzero(column > RESOLVED * np.max(np.abs(column), initial=0.0))
        if not len(rows):
            return None
        keys = np.column_stack([inverse @ c, inverse])[rows] / column[rows][:, None]
        row = _lexicographic_least(rows, keys, basis.index(auxiliary), tie)
    return None


def _lexicographic_least(rows: np.ndarray, keys: np.ndarray, preferred: int, tie: float) -> int:
    """Return the row with the lexicographically smallest key; the preferred row if it ties in the
    first number.
    """
    left = np.arange(len(rows))
    for k in range(keys.shape[1]):
        key = keys[left, k]
        # relative to the auxiliary variable
        left = left[key <= np.min(key) + tie * (1 + np.abs(np.min(key)))]
        if not k and preferred in rows[left]:
            return preferred
        if len(left) == 1:
            break
    return int(rows[left[0]])
