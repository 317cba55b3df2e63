"""Factorizations and triangular systems, by elimination over the nonzero entries."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator

import numpy as np

from zwang.native import functions
from zwang.native.arithmetic import LONG_SUM
from zwang.native.arrays import Emitted, Memory, constants, fill, memory, new_memory, scalars
from zwang.native.builder import Buffer, Builder, Value
from zwang.native.errors import NotNativeError
from zwang.native.instructions import Operand
from zwang.native.rolled import alike
from zwang.native.rules.calls import NAMED
from zwang.native.rules.lapack import (
    exchange_rows,
    exchanged,
    lu_of_many,
    routine,
    triangular_of_many,
)
from zwang.native.rules.reductions import combined
from zwang.native.types import FLOATS, register_type
from zwang.native.walk import Call, rule


def _float_type(call: Call) -> str:
    t = register_type(call.dtypes[0])
    if t not in FLOATS:
        raise NotNativeError(f"{call.name} of {call.dtypes[0]}")
    return t


def _is_zero(x: Operand) -> bool:
    return type(x) is not Value and x == 0


@rule("cholesky")
def cholesky(call: Call) -> Emitted:
    """Factor `M = L Lᵀ`, reading the lower triangle; NaN after a pivot that is not positive."""
    b, t, M = call.builder, _float_type(call), call.scalars(0)
    found = np.empty(M.shape, object)
    found[...] = 0.0
    for where in np.ndindex(*M.shape[:-2]):
        _cholesky(b, t, M[where], found[where])
    return found


DENSE = 40
"""Number of rows from which on a matrix without zeros is factored by LAPACK: unrolled, its n³/6
multiply-adds would take LLVM longer than all else in a model with a dozen contacts.
"""


def _is_dense(b: Builder, t: str, M: np.ndarray) -> bool:
    """Return whether a matrix is factored by LAPACK, which C and WebAssembly code cannot call."""
    large = b.rolls and t == "double" and len(M) >= DENSE
    return large and not any(map(_is_zero, M[np.tril_indices(len(M))].tolist()))


def _dense_factor(b: Builder, M: np.ndarray) -> np.ndarray:
    """Row-major entries of L on and below its diagonal; NaN if M is not positive definite."""
    n, below = len(M), np.tril_indices(len(M))
    A, info = (
        new_memory(b, np.dtype(x), shape, "apart") for x, shape in ((float, (n, n)), ("i4", (1,)))
    )
    fill(b, A, M)
    # The lower triangle in row-major order is the upper one in column-major order.
    routine(b, "dpotrf", "U", n, A, n, info)
    # nothing writes there any more
    place = Buffer(A.buffer.base, False, A.buffer.interleaved, A.buffer.mask)
    entries = scalars(b, dataclasses.replace(A, buffer=place))[below].tolist()
    fine = b.compare("eq", "i32", b.load("i32", info.buffer, 0), 0, operator.eq)
    known = lambda x: b.select("double", fine, x, math.nan)
    found = np.full((n, n), 0.0, object)
    found[below] = alike(b, known, ["double"], [entries], "double")
    return found


def _cholesky(b: Builder, t: str, M: np.ndarray, L: np.ndarray) -> None:
    if _is_dense(b, t, M):
        L[...] = _dense_factor(b, M)
        return
    rows: list[dict[int, Operand]] = []
    inverses: list[Operand] = []
    for i in range(len(M)):
        row: dict[int, Operand] = {}
        for j in range(i):
            rest = b.subtract(t, M[i, j], _common(b, t, row, rows[j]))
            if not _is_zero(rest):
                row[j] = L[i, j] = b.multiply(t, rest, inverses[j])
        pivot = b.subtract(t, M[i, i], _common(b, t, row, row))
        positive = b.compare("ogt", t, pivot, 0.0, lambda x, y: x > y)
        L[i, i] = functions.intrinsic(b, t, "sqrt", b.select(t, positive, pivot, math.nan))
        inverses.append(b.divide(t, 1.0, L[i, i]))
        rows.append(row)


def _common(b: Builder, t: str, x: dict[int, Operand], y: dict[int, Operand]) -> Operand:
    """Dot product of two sparse rows."""
    both = [k for k in x if k in y]
    return b.dot(t, [x[k] for k in both], [y[k] for k in both])


def ordered_factor(call: Call) -> list | None:
    """Factor `M[order][:, order] = L D Lᵀ` with L of unit diagonal; returns L, D⁻¹ and the order.

    The order of the rows causes little fill-in. D⁻¹ is NaN if M is not positive definite.
    """
    if not (call.shapes and any(np.issubdtype(x.dtype, np.integer) for x in call.outputs)):
        # the order would be that of another factorization, which may differ
        raise NotNativeError("a factor without the order of its rows")
    n = call.shapes[0][-1]
    # in a batch it has other operands
    results = [(n, n), (n,), (n,)]
    if call.shapes != [(n, n)] or [x.shape for x in call.outputs] != results or call.in_memory:
        return None
    b, t, M = call.builder, _float_type(call), call.scalars(0)
    M = np.array([[M[max(i, j), min(i, j)] for j in range(n)] for i in range(n)], object)
    M = M.reshape(n, n)
    if _is_dense(b, t, M):
        L, below = _dense_factor(b, M), np.tril_indices(n, -1)
        roots = np.diagonal(L).tolist()
        inverse = alike(b, lambda x: b.divide(t, 1.0, x), [t], [roots], t)
        times = lambda x, y: b.multiply(t, x, y)
        columns = [inverse[j] for j in below[1]]
        L[below] = alike(b, times, [t, t], [L[below].tolist(), columns], t)
        L[np.diag_indices(n)] = 1.0
        reciprocals = np.empty(n, object)
        reciprocals[:] = alike(b, times, [t, t], [inverse, inverse], t)
        return [L, reciprocals, constants(np.arange(n))]
    order = minimum_degree([[not _is_zero(x) for x in row] for row in M])
    M, L = M[np.ix_(order, order)], np.empty(M.shape, object)
    L[...] = 0.0
    # rows of L D and of L, and for each pivot the depth of the chain of pivots before it
    heights: list[int] = []
    rows: list[tuple[dict[int, Operand], dict[int, Operand]]] = []
    reciprocals, negatives, pivots = np.empty(n, object), [], []
    for i in range(n):
        row, scaled = {}, {}
        for j in range(i):
            rest = _less(b, t, M[i, j], row, rows[j][1], heights)
            if not _is_zero(rest):
                row[j] = rest
                # stored negated, as all later terms subtract it
                scaled[j] = L[i, j] = b.negative(t, b.multiply(t, rest, negatives[j]))
        pivot = _less(b, t, M[i, i], row, scaled, heights)
        L[i, i] = 1.0
        pivots.append(pivot)
        reciprocals[i] = b.divide(t, 1.0, pivot)
        negatives.append(b.negative(t, reciprocals[i]))
        rows.append((row, scaled))
        heights.append(1 + max((heights[j] for j in row), default=-1))
    # All pivots are checked at the end, as a selection at each pivot would delay the next.
    above = lambda x: b.compare("ogt", t, x, 0.0, operator.gt)
    both = lambda x, y: b.logic("and", x, y)
    every = lambda *x: functools.reduce(both, x, True)
    (positive,) = combined(b, "i1", every, both, True, [alike(b, above, [t], [pivots], "i1")])
    known = lambda x: b.select(t, positive, x, math.nan)
    reciprocals[:] = alike(b, known, [t], [reciprocals.tolist()], t)
    return [L, reciprocals, constants(np.array(order, np.int64))]


def _less(
    b: Builder,
    t: str,
    start: Operand,
    x: dict[int, Operand],
    y: dict[int, Operand],
    heights: list[int],
) -> Operand:
    """`start − Σ xₖ yₖ` of two sparse rows.

    Entries that are available early come first, so that the sum ends one multiply-add after the
    last entry is available.
    """
    both = sorted((k for k in x if k in y), key=heights.__getitem__)
    early = len(both) // 2 if len(both) > LONG_SUM else 0
    found = b.subtract(t, start, b.dot(t, *([z[k] for k in both[:early]] for z in (x, y))))
    for k in both[early:]:
        found = b.subtract(t, found, b.multiply(t, x[k], y[k]))
    return found


NAMED["zwang_ordered_factor"] = ordered_factor


def minimum_degree(pattern: list[list[bool]]) -> list[int]:
    """Elimination order by minimum degree.

    Each step eliminates the row with the fewest remaining neighbors, which become neighbors of each
    other. Ties are broken by the shortest chain of dependencies, so that a chain is eliminated from
    both of its ends at once.

    Args:
        pattern: nonzero pattern of a symmetric matrix.
    """
    neighbors = {
        i: {j for j, there in enumerate(row) if there and j != i} for i, row in enumerate(pattern)
    }
    order, heights = [], [0] * len(pattern)
    while neighbors:
        i = min(neighbors, key=lambda k: (len(neighbors[k]), heights[k], k))
        around = neighbors.pop(i)
        for j in around:
            neighbors[j] |= around
            neighbors[j] -= {i, j}
            heights[j] = max(heights[j], heights[i] + 1)
        order.append(i)
    return order


@rule("triangular_solve")
def triangular_solve(call: Call) -> Emitted:
    b, t, p = call.builder, _float_type(call), call.params
    large = isinstance(call.inputs[0], Memory) and math.prod(call.shapes[0]) > MOST_PIVOTED
    if large and b.rolls and t == "double" and len(call.shapes[0]) == 2:
        return triangular_of_many(call)
    A, B = call.scalars(0), call.scalars(1)
    left, lower, transposed, unit = (
        p["left_side"],
        p["lower"],
        p["transpose_a"],
        p["unit_diagonal"],
    )
    if not left:
        B, transposed = B.swapaxes(-1, -2), not transposed
    if transposed:
        A, lower = A.swapaxes(-1, -2), not lower
    n = A.shape[-1]
    found = np.empty(B.shape, object)
    for where in np.ndindex(*A.shape[:-2]):
        a, inverse = A[where], [None] * n
        for c in range(B.shape[-1]):
            x: dict[int, Operand] = {}
            heights = [0] * n
            for i in range(n) if lower else range(n - 1, -1, -1):
                row = {k: a[i, k] for k in x if not _is_zero(a[i, k])}
                rest = _less(b, t, B[where][i, c], row, x, heights)
                if not unit and not _is_zero(rest):
                    if inverse[i] is None:
                        inverse[i] = b.divide(t, 1.0, a[i, i])
                    rest = b.multiply(t, rest, inverse[i])
                found[where][i, c] = rest
                if not _is_zero(rest):
                    x[i] = rest
                    heights[i] = 1 + max((heights[k] for k in row), default=-1)
    return found if left else found.swapaxes(-1, -2)


@rule("lu")
def lu(call: Call) -> list:
    """Factor `P A = L U` with partial pivoting; rows are exchanged by `select`."""
    if math.prod(call.shapes[0][-2:]) > MOST_PIVOTED:
        return lu_of_many(call)
    b, t, A = call.builder, _float_type(call), call.scalars(0)
    m, n = A.shape[-2:]
    found = A.copy()
    pivots = np.empty((*A.shape[:-2], min(m, n)), object)
    order = np.empty((*A.shape[:-2], m), object)
    for where in np.ndindex(*A.shape[:-2]):
        _lu(b, t, found[where], pivots[where], order[where])
    return [found, pivots, order]


MOST_PIVOTED = 400
"""Number of matrix entries up to which rows are exchanged by `select`: each pivot needs one for
every entry.
"""


def _lu(b: Builder, t: str, A: np.ndarray, pivots: np.ndarray, order: np.ndarray) -> None:
    m, n = A.shape
    order[:] = range(m)
    for k in range(min(m, n)):
        best, place = functions.magnitude(b, t, A[k, k]), k
        for i in range(k + 1, m):
            size = functions.magnitude(b, t, A[i, k])
            larger = b.compare("ogt", t, size, best, lambda x, y: x > y)
            best, place = b.select(t, larger, size, best), b.select("i32", larger, i, place)
        pivots[k] = place
        for i in range(k + 1, m):
            here = b.compare("eq", "i32", place, i, lambda x, y: x == y)
            for j in range(n):
                A[k, j], A[i, j] = (
                    b.select(t, here, A[i, j], A[k, j]),
                    b.select(t, here, A[k, j], A[i, j]),
                )
            order[k], order[i] = (
                b.select("i32", here, order[i], order[k]),
                b.select("i32", here, order[k], order[i]),
            )
        usable = b.compare("une", t, A[k, k], 0.0, lambda x, y: x != y)
        inverse = b.divide(t, 1.0, b.select(t, usable, A[k, k], 1.0))
        for i in range(k + 1, m):
            if not _is_zero(A[i, k]):
                scaled = b.multiply(t, A[i, k], inverse)
                A[i, k] = b.select(t, usable, scaled, A[i, k])
        for i in range(k + 1, m):
            for j in range(k + 1, n):
                A[i, j] = b.subtract(t, A[i, j], b.multiply(t, A[i, k], A[k, j]))


@rule("lu_pivots_to_permutation")
def pivots_to_permutation(call: Call) -> Emitted:
    b, n = call.builder, call.params["permutation_size"]
    if len(call.shapes[0]) == 1 and n * n > MOST_PIVOTED:
        return exchanged(b, memory(b, call.inputs[0], call.dtypes[0]), n)
    pivots = call.scalars(0)
    found = np.empty((*pivots.shape[:-1], n), object)
    for where in np.ndindex(*pivots.shape[:-1]):
        found[where] = np.arange(n)
        exchange_rows(b, list(pivots[where]), found[where])
    return found
