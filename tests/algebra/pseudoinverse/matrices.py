"""Matrices of all shapes and ranks, and the results of a method for them, compiled once for each
method and shape.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import numpy as np
import pytest

from zwang.algebra.pseudoinverse import (
    ALL_PSEUDOINVERSES,
    SVD,
    AbstractPseudoinverse,
    Greville,
    Proximal,
    Pseudoinverse,
)

SHAPES = ((4, 6), (5, 5), (7, 3))
SOME_SLOW = [
    m if m in (Proximal, SVD, Greville) else pytest.param(m, marks=pytest.mark.slow)
    for m in ALL_PSEUDOINVERSES
]
"""For tests that compile for long: the default, the reference and one of the papers' own; the
others with the slow tests.
"""
METHODS = tuple(method() for method in ALL_PSEUDOINVERSES)

QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""These programs run once: optimizing them takes three times as long as all tests here."""


def name(method) -> str:
    return type(method).__name__


def accuracy(method) -> float:
    """Relative accuracy at condition number 10.

    Orthogonal factorizations leave round-off, 1e-15, with three digits to spare. Greville's
    recursion takes column after column, and the first ones may be worse conditioned than all of
    them: 8e-12 once in 400 random matrices. `Proximal` inverts a Cholesky factor of condition up to
    1e5 (1e-11 relative), and loses another digit to the condition of C.
    """
    loose = {Proximal: 1e-9, Greville: 1e-10}
    return loose.get(type(method), 1e-12)


def with_singular_values(shape, values, seed=0) -> np.ndarray:
    """A matrix with given singular values, zero for those not given, between random orthonormal
    bases.
    """
    random = np.random.default_rng(seed)
    left, right = (np.linalg.qr(random.standard_normal((size, size)))[0] for size in shape)
    return left[:, : len(values)] * np.asarray(values) @ right[:, : len(values)].T


def matrices(shape) -> dict[str, np.ndarray]:
    """Of condition number 10, far from where the default damping of `Proximal` sets in (1e5), and
    of every rank.
    """
    k = min(shape)
    full = with_singular_values(shape, np.geomspace(1, 0.1, k), seed=1)
    repeated = full.copy()
    repeated[-1] = repeated[0]
    hollow = full.copy()
    hollow[:, 1] = 0
    hollow[2] = 0
    return {
        "full rank": full,
        "equal singular values": with_singular_values(shape, np.ones(k), seed=2),
        "one less than full rank": with_singular_values(shape, np.geomspace(1, 0.1, k - 1), seed=3),
        "rank one": with_singular_values(shape, [3.0], seed=4),
        "a repeated row": repeated,
        "a zero row and a zero column": hollow,
        "large": 1e6 * full,
        "small": 1e-6 * full,
        "zero": np.zeros(shape),
    }


class Results(NamedTuple):
    """`matrix` and `rank`; `C⁺ C` and `(C⁺)ᵀ` from `solve` and `solve_transpose`, column by
    column.
    """

    matrix: jax.Array
    rank: jax.Array
    solved: jax.Array
    transposed: jax.Array


@functools.cache
def program(method: AbstractPseudoinverse):
    """`Results` of a stack of matrices: `vmap` inside `jit`, as a batch of systems uses it."""

    def one(C):
        P = Pseudoinverse(method, C)
        solved = jax.vmap(P.solve, in_axes=1, out_axes=1)(C)
        transposed = jax.vmap(P.solve_transpose, in_axes=1, out_axes=1)(jax.numpy.eye(C.shape[1]))
        return Results(P.matrix(), P.rank(), solved, transposed)

    return jax.jit(jax.vmap(one), compiler_options=QUICK)


def results(method: AbstractPseudoinverse, stack) -> Results:
    """Of nine matrices at a time, so that one program serves every test: fewer are followed by
    zeros.
    """
    stack = np.asarray(stack)
    filled = np.concatenate([stack, np.zeros((9 - len(stack), *stack.shape[1:]))])
    return Results(*(np.asarray(part)[: len(stack)] for part in program(method)(filled)))


def penrose_residuals(C, X) -> dict[str, float]:
    """The four conditions, each relative to the size of its right-hand side."""
    size = np.linalg.norm
    return {
        "C X C = C": size(C @ X @ C - C) / max(size(C), 1e-300),
        "X C X = X": size(X @ C @ X - X) / max(size(X), 1e-300),
        "C X symmetric": size(C @ X - (C @ X).T),
        "X C symmetric": size(X @ C - (X @ C).T),
    }
