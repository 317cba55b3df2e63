"""Factorizations by calls of LAPACK: singular values, eigenvalues, orthogonal factors.

LAPACK reads column-major matrices, so it sees a row-major array as its transpose.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from zwang.native import functions
from zwang.native.arrays import (
    Elements,
    Memory,
    Scalars,
    assign,
    element,
    fill,
    loop,
    new_memory,
    scalars,
)
from zwang.native.builder import Builder
from zwang.native.errors import NotNativeError
from zwang.native.instructions import Operand
from zwang.native.walk import Call, rule

DOUBLE, WHOLE = np.dtype(np.float64), np.dtype(np.int32)


def routine(b: Builder, name: str, *arguments: int | float | str | Memory) -> None:
    """Call a routine; numbers and letters are passed as addresses of constants."""
    given = []
    for x in arguments:
        if isinstance(x, int | float):
            given.append(b.literal("i32" if isinstance(x, int) else "double", [x]).base)
        elif isinstance(x, str):
            given.append(b.literal("i8", [ord(x)]).base)
        else:
            given.append(_address(b, x))
    b.do(f"zwang.{name}", *given)
    for x in arguments:
        if isinstance(x, Memory):
            b.changed(x.buffer)


def _address(b: Builder, x: Memory) -> Operand:
    stored = {"double": "double", "i32": "i32"}[x.type]
    return b.address(stored, x.buffer, x.offset)


def copy_of(call: Call, i: int, where: tuple[int, ...]) -> Memory:
    """Copy a matrix of an operand, as routines overwrite their arguments."""
    b, x = call.builder, call.inputs[i]
    shape = call.shapes[i][-2:]
    target = _matrix(b, call.dtypes[i], shape)
    fill(b, target, part(x, where))
    return target


def part(x: Elements, where: tuple[int, ...]) -> Elements:
    if isinstance(x, np.ndarray):
        return x[where]
    offset = x.offset
    if where:
        if not isinstance(offset, int):
            raise NotNativeError("a batch of factors of a moving part of an array")
        offset += sum(i * s for i, s in zip(where, x.strides, strict=False))
    return Memory(x.buffer, x.dtype, x.shape[len(where) :], x.strides[len(where) :], offset)


def _float64(call: Call) -> None:
    if call.dtypes[0] != DOUBLE:
        raise NotNativeError(f"{call.name} of {call.dtypes[0]}")


def _matrix(b: Builder, dtype: DTypeLike, shape: Sequence[int]) -> Memory:
    return new_memory(b, dtype, shape, "apart")


def _room(b: Builder, dtype: DTypeLike, count: int) -> Memory:
    return _matrix(b, dtype, (max(count, 1),))


def checked(b: Builder, info: Memory, values: np.ndarray) -> np.ndarray:
    """Replace the results of a routine by NaN if it has failed."""
    status = b.load("i32", info.buffer, 0)
    fine = b.compare("eq", "i32", status, 0, operator.eq)
    found = np.empty(values.shape, object)
    for where in np.ndindex(*values.shape):
        found[where] = b.select("double", fine, values.item(*where), math.nan)
    return found


def _stacked(call: Call, of_one: Callable) -> list:
    """Results for a batch of matrices."""
    batch = call.shapes[0][:-2]
    found = [np.empty(x.shape, object) for x in call.outputs]
    for where in np.ndindex(*batch):
        for place, x in zip(found, of_one(where), strict=True):
            place[where] = x
    return found


@rule("svd")
def singular_values(call: Call) -> list:
    _float64(call)
    b, p = call.builder, call.params
    if p.get("subset_by_index") is not None:
        raise NotNativeError("a part of the singular values")
    m, n = call.shapes[0][-2:]
    k = min(m, n)
    vectors = p["compute_uv"]
    job = ("A" if p["full_matrices"] else "S") if vectors else "N"
    columns = (m, n) if p["full_matrices"] else (k, k)

    def of_one(where: tuple) -> list:
        s = _room(b, DOUBLE, k)
        info = _room(b, WHOLE, 1)
        if not k:
            return [np.empty(x.shape[len(where) :], object) for x in call.outputs]
        A = copy_of(call, 0, where)
        # The routine sees Aᵀ = V S Uᵀ.
        v, u = _matrix(b, DOUBLE, (columns[1], n)), _matrix(b, DOUBLE, (m, columns[0]))
        size = 4 * k * k + 7 * k + max(m, n) + 64 * (m + n) + 64
        work, whole = _room(b, DOUBLE, size), _room(b, WHOLE, 8 * k)
        routine(
            b,
            "dgesdd",
            job,
            n,
            m,
            A,
            n,
            s,
            v,
            n,
            u,
            columns[0] if vectors else 1,
            work,
            size,
            whole,
            info,
        )
        values = checked(b, info, scalars(b, s))
        if not vectors:
            return [values]
        return [values, checked(b, info, scalars(b, u)), checked(b, info, scalars(b, v))]

    return _stacked(call, of_one)


@rule("eigh")
def eigenvalues(call: Call) -> list:
    _float64(call)
    b, n = call.builder, call.shapes[0][-1]
    if call.params.get("subset_by_index") is not None:
        raise NotNativeError("a part of the eigenvalues")
    lower = call.params.get("lower", True)

    def of_one(where: tuple) -> list:
        if not n:
            return [np.empty(x.shape[len(where) :], object) for x in call.outputs]
        A, w, info = copy_of(call, 0, where), _room(b, DOUBLE, n), _room(b, WHOLE, 1)
        size, whole = 1 + 6 * n + 2 * n * n, 3 + 5 * n
        # The lower triangle in row-major order is the upper one in column-major order.
        routine(
            b,
            "dsyevd",
            "V",
            "U" if lower else "L",
            n,
            A,
            n,
            w,
            _room(b, DOUBLE, size),
            size,
            _room(b, WHOLE, whole),
            whole,
            info,
        )
        vectors = checked(b, info, scalars(b, A)).T
        return [vectors, checked(b, info, scalars(b, w))]

    return _stacked(call, of_one)


def lu_of_many(call: Call) -> list:
    """Factor a large matrix, `P A = L U`, by the column-major routine."""
    _float64(call)
    b, (m, n) = call.builder, call.shapes[0][-2:]

    def of_one(where: tuple) -> list[Elements]:
        A, info = _transposed_copy(call, where, n, m), _room(b, WHOLE, 1)
        counted, pivots = (_room(b, WHOLE, min(m, n)) for _ in range(2))
        routine(b, "dgetrf", m, n, A, m, counted, info)
        # LAPACK counts rows from one.
        less = lambda i: b.shared("i32", "sub", element(b, counted, i), 1)
        loop(b, pivots.shape, lambda i: assign(b, pivots, i, less(i)))
        return [Memory(A.buffer, DOUBLE, (m, n), (1, m)), pivots, exchanged(b, pivots, m)]

    if len(call.shapes[0]) == 2:
        return of_one(())
    return _stacked(call, lambda where: [scalars(b, x) for x in of_one(where)])


def exchanged(b: Builder, pivots: Memory, count: int) -> Memory:
    """Return the permutation of `count` rows in which each row k in turn is exchanged with the row
    at `pivots[k]`.
    """
    order = _room(b, WHOLE, count)
    as_entry = partial(functions.converted, b, np.int64, WHOLE)
    loop(b, order.shape, lambda i: assign(b, order, i, as_entry(i[0])))

    def exchange(k: tuple) -> None:
        other = (functions.converted(b, WHOLE, np.int64, element(b, pivots, k)),)
        here, there = element(b, order, k), element(b, order, other)
        assign(b, order, k, there)
        assign(b, order, other, here)

    loop(b, pivots.shape, exchange)
    return order


def triangular_of_many(call: Call) -> Memory:
    """Solve with a large triangular matrix, `op(A) X = B`, or `X op(A) = B`."""
    _float64(call)
    b, p = call.builder, call.params
    m, n = call.shapes[1]
    A, X = (copy_of(call, i, ()) for i in range(2))
    # The routine sees Aᵀ and Xᵀ.
    side, triangle = "RL"[not p["left_side"]], "UL"[not p["lower"]]
    turned, diagonal = "NT"[bool(p["transpose_a"])], "NU"[p["unit_diagonal"]]
    routine(b, "dtrsm", side, triangle, turned, diagonal, n, m, 1.0, A, call.shapes[0][0], X, n)
    return X


def exchange_rows(b: Builder, places: Sequence, order: np.ndarray) -> None:
    """Permute rows by exchanging each in turn with the row at its given place."""
    for k, place in enumerate(places):
        for i in range(k + 1, len(order)):
            here = b.compare("eq", "i32", place, i, lambda x, y: x == y)
            order[k], order[i] = (
                b.select("i32", here, order[i], order[k]),
                b.select("i32", here, order[k], order[i]),
            )


@rule("qr")
def orthogonal(call: Call) -> list:
    _float64(call)
    b, p = call.builder, call.params
    m, n = call.shapes[0][-2:]
    k = min(m, n)
    if p.get("pivoting"):
        raise NotNativeError("QR factors with pivoting")
    width = m if p["full_matrices"] else k

    def of_one(where: tuple) -> list:
        if not k:
            raise NotNativeError("QR factors of an empty matrix")
        if not b.rolls and width == n:  # C and WebAssembly code cannot call LAPACK
            return _reflected(b, scalars(b, part(call.inputs[0], where)))
        A, info = _transposed_copy(call, where, max(n, width), m), _room(b, WHOLE, 1)
        tau, size = _room(b, DOUBLE, k), 64 * max(m, n)
        work = _room(b, DOUBLE, size)
        routine(b, "dgeqrf", m, n, A, m, tau, work, size, info)
        upper = np.full((width, n), 0.0, object)
        for i in range(width):
            for j in range(i, n):
                upper[i, j] = b.load("double", A.buffer, j * m + i)
        upper = checked(b, info, upper)
        routine(b, "dorgqr", m, width, k, A, m, tau, work, size, info)
        columns = np.empty((m, width), object)
        for i, j in np.ndindex(m, width):
            columns[i, j] = b.load("double", A.buffer, j * m + i)
        return [checked(b, info, columns), upper]

    return _stacked(call, of_one)


def _reflected(b: Builder, A: Scalars) -> list:
    """Q and R of the thin factorization by Householder's reflections `I − 2 v vᵀ / vᵀv`."""
    t, (m, n) = "double", A.shape
    R, Q = A.copy(), np.eye(m, n).astype(object)
    dot = lambda x, y: b.dot(t, x.tolist(), y.tolist())
    reflections = []

    def reflect(matrix: Scalars, j: int, first: int) -> None:
        v, factor = reflections[j]
        for c in range(first, n):
            size = b.multiply(t, factor, dot(v, matrix[j:, c]))
            for i, x in enumerate(v, start=j):
                matrix[i, c] = b.subtract(t, matrix[i, c], b.multiply(t, size, x))

    for j in range(n):
        v = R[j:, j].copy()
        length = functions.intrinsic(b, t, "sqrt", dot(v, v))
        positive = b.compare("ogt", t, v[0], 0.0, operator.gt)
        v[0] = b.add(t, v[0], b.select(t, positive, length, b.negative(t, length)))
        square = dot(v, v)
        moves = b.compare("ogt", t, square, 0.0, operator.gt)
        factor = b.select(t, moves, b.divide(t, 2.0, b.select(t, moves, square, 1.0)), 0.0)
        reflections.append((v, factor))
        reflect(R, j, j)
        R[j + 1 :, j] = 0.0
    for j in reversed(range(n)):
        reflect(Q, j, j)
    return [Q, R[:n]]


def _transposed_copy(call: Call, where: tuple, rows: int, columns: int) -> Memory:
    """Copy a matrix to column-major order, with space for more columns."""
    b = call.builder
    target = _matrix(b, DOUBLE, (rows, columns))
    m, n = call.shapes[0][-2:]
    head = Memory(target.buffer, DOUBLE, (m, n), (1, m))
    fill(b, head, part(call.inputs[0], where))
    return target
