"""Sparse structure of a model, determined once from its functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from zwang.algebra.elimination.elimination import Plan, plan
from zwang.algebra.elimination.matrix import Layout, SparseMatrix
from zwang.algebra.elimination.newton import NewtonPlan
from zwang.algebra.elimination.probing import MOST_COLORS, detect
from zwang.algebra.gauss import Gauss
from zwang.algebra.pseudoinverse import Sparse
from zwang.algebra.sparsity_pattern import colors
from zwang.compile import trace_state_clean
from zwang.compile.engine import is_native, is_native_wanted
from zwang.dynamics import functions
from zwang.dynamics.matrix_structure import AbstractStructure
from zwang.equations.constraint import Constraints
from zwang.equations.system import System
from zwang.objects.by_identity import ByIdentity
from zwang.thresholds import AGREEMENT

SPARSE_ROWS = 120
"""Number of rows from which on a model is examined for sparsity. A step of n-four-bar, in processor
time, is as fast either way at 44 rows, 1.5 times faster sparse at 80 and 2.2 times at 122; but its
program takes 7 s more to compile at 122 rows, about what a run of 10 s gains there. Fewer rows gain
only where a model runs often (`pseudoinverse=zw.methods.Sparse()`).
"""
NATIVE_SPARSE_ROWS = 300
"""The same for native code, where structural zeros of A cost nothing on the dense path either: an
acceleration of 33 bodies of n-four-bar takes 12 µs dense and 41 µs sparse, of 65 bodies 25 and 85
to 140 µs, of a lattice of 220 rods 57 and 789 µs, and compiles in a third of the time."""
FEW_ENTRIES = 2048
"""Number of entries of A up to which native code uses the dense path whatever the number of rows,
because it has half as many instructions as the sparse one. 201 bodies of n-four-bar, 602 rows with
2004 entries, take 0.30 s of processor time instead of 0.39 for a run of 0.5 s, 0.7 instead of 1.6
for one of 5 s, and 14.7 instead of 17.6 before their first motion."""


class Structure(AbstractStructure):
    """Structural nonzeros of A, and the order of elimination of `A M⁻¹ Aᵀ`; for implicit methods
    also the structure of a Newton step.
    """

    layout: Layout
    plan: Plan
    newton: NewtonPlan | None = None
    sparse = True

    @property
    def pays(self) -> bool:
        """True if the sparse path takes fewer than a quarter of the dense one's multiplications."""
        m, nv = self.layout.shape
        return self.plan.multiplications() < 0.25 * (m * m * nv + m**3 / 3)

    @property
    def newton_plan(self):
        return self.newton

    def matrix(self, constraints, s, p) -> SparseMatrix:
        return self.layout.evaluate(constraints.product(s.q, s.v, s.t, p))

    def gauss(self, mass, A, method, row_length, pattern):
        assert isinstance(method, Sparse)
        return Gauss(mass, A, method.sweeps, row_length, self.plan)

    def missed(self, constraints, s, p):
        return self.outside(self.matrix(constraints, s, p), constraints.product(s.q, s.v, s.t, p))

    def outside(self, A: SparseMatrix, product: Callable) -> Float[Array, ""]:
        """Return the relative difference between `A w` by entries and by differentiation, along a
        fixed random w.
        """
        w = probe(A.shape[1])
        true = product(w)
        return relative(A @ w - true, true)


def probe(nv: int) -> Float[Array, " nv"]:
    """Return a fixed random vector."""
    return jax.random.normal(jax.random.key(1687), (nv,), dtype=float)


def relative(difference: Array, true: Array) -> Float[Array, ""]:
    """Return the size of a difference relative to the true value."""
    size = jnp.linalg.norm(true)
    return jnp.linalg.norm(difference) / jnp.where(size > 0, size, 1.0)


class _Entries(NamedTuple):
    """Entries of a matrix by rows and blocks of columns, and its layout."""

    row: np.ndarray
    block: np.ndarray
    layout: Layout


_FOUND: ByIdentity[Sparsity] = ByIdentity()


def sparsity_of(model: Any) -> Sparsity:
    """Return the sparsity of a `zw.Model`, which is determined once for its constraints."""
    constraints = model.constraints
    if (known := _FOUND.get(constraints)) is None:
        known = _FOUND.keep(constraints, Sparsity(model.system, constraints, model.parameters()))
    return known


def in_native_code(implicit: bool) -> bool:
    """Return whether native code will solve for the rows of a model; an `implicit` method also
    solves for nv unknowns.
    """
    return not implicit and (is_native() or (is_native_wanted() and trace_state_clean()))


def fewest_sparse_rows(implicit: bool = False) -> int:
    """Return the number of rows from which on a model is examined for sparsity, for the engine that
    will execute it.
    """
    return NATIVE_SPARSE_ROWS if in_native_code(implicit) else SPARSE_ROWS


class Sparsity:
    """The structure of one model, determined on first request.

    Args:
        system, constraints, p: the model's; entries are searched with parameters near these.
    """

    def __init__(self, system: System, constraints: Constraints, p: PyTree):
        self._system, self._constraints, self._p = system, constraints, p

    @cached_property
    def structure(self) -> Structure | None:
        """The structure; None if the mass matrix is dense, if rows are too full, or if the
        constraints are finite at no random state.
        """
        if self._entries is None:
            return None
        with (
            jax.ensure_compile_time_eval()
        ):  # the first request may come while a function of the model is being compiled
            row, block, layout = self._entries
            return Structure(
                layout, plan(row, block, np.asarray(layout.color), layout.shape, layout.size)
            )

    @cached_property
    def newton(self) -> NewtonPlan | None:
        """The structure for a Newton step of an implicit method; None without a structure, or if
        the rows of forces are too full.
        """
        if self._entries is None:
            return None
        with jax.ensure_compile_time_eval():
            row, block, layout = self._entries
            found = self._found(self._forces, self._system.nv)
            if found is None or found.layout.colors > MOST_COLORS:
                return None
            return NewtonPlan(
                layout, (row, block), found.row // layout.size, found.block, layout.size
            )

    @cached_property
    def _entries(self) -> _Entries | None:
        """Return the entries of A."""
        if self._block_size is None or self._constraints.m == 0:
            return None
        with jax.ensure_compile_time_eval():
            return self._found(self._products, self._constraints.m)

    def _found(self, products: Callable, m: int) -> _Entries | None:
        """Return the entries that a matrix of m rows has at any of `states`, from its products."""
        size = self._block_size
        assert size is not None
        blocks, shape, layout = self._system.nv // size, (m, self._system.nv), None
        row, block = np.zeros(0, int), np.zeros(0, int)
        # at several states, because an entry may be zero at one of them
        for state in self.states:
            product = self._product_at(products, state)
            # one product verifies that the known entries are complete; finding them takes many
            if layout is not None and self._complete(layout, product):
                continue
            found = detect(product, m, blocks, size)
            if found is None:
                return None
            key = np.unique(
                np.concatenate([row, found[0]]) * np.int64(blocks)
                + np.concatenate([block, found[1]])
            )
            row, block = key // blocks, key % blocks
            layout = Layout(row, block, colors(row, block, m, blocks), shape, size)
        return None if layout is None else _Entries(row, block, layout)

    @staticmethod
    def _complete(layout: Layout, product: Callable[[np.ndarray], np.ndarray]) -> bool:
        """Return whether a layout has all entries of the matrix at another state."""
        w = probe(layout.shape[1])
        true = product(np.asarray(w)[None])[0]
        known = layout.matrix(jnp.asarray(product(np.asarray(layout.tests())))) @ w
        # largest relative difference of `A w` by entries and by differentiation along a random w; a
        # larger one shows that an entry is missing
        return bool(relative(known - true, true) <= AGREEMENT)

    def pays(self, implicit: bool = False) -> bool:
        """Return whether the sparse path is the faster one, from the size of the model and of the
        factor, for the engine that will execute it; an `implicit` method also solves for nv
        unknowns.
        """
        if self._constraints.m < fewest_sparse_rows(implicit):
            return False
        if in_native_code(implicit) and self._is_short:
            return False
        return self._block_size is not None and self.structure is not None and self.structure.pays

    @cached_property
    def _is_short(self) -> bool:
        """True if A has so few entries that unrolled code of the dense path is short."""
        c = self._constraints
        return c.m <= FEW_ENTRIES and bool(np.count_nonzero(c.pattern) <= FEW_ENTRIES)

    @cached_property
    def _block_size(self) -> int | None:
        q, t = jnp.zeros(self._system.nq), jnp.zeros(())
        shape = jax.eval_shape(
            lambda q, t, p: functions.mass_matrix(self._system, q, t, p), q, t, self._p
        ).shape
        return {1: 1, 2: None, 3: shape[-1]}[len(shape)]

    @cached_property
    def states(self) -> list[tuple]:
        """Return three random states, of eight that are tried, at which all products are finite.
        Parameters are perturbed, so that a parameter of 0 hides no entry.
        """
        random, found = np.random.default_rng(1788), []
        for attempt in range(8):
            # the later half takes parameters unchanged: perturbed ones may be invalid for the model
            spread = 0.1 * (attempt < 4)
            p = jax.tree_util.tree_map(
                lambda x, s=spread: x * (1 + s * random.random(x.shape)) + s * (x == 0), self._p
            )
            q, v = (
                random.uniform(0.2, 1.2, self._system.nq),
                random.standard_normal(self._system.nv),
            )
            state = jnp.asarray(q), jnp.asarray(v), jnp.asarray(random.uniform(0.2, 1.2)), p
            if np.all(np.isfinite(self.product_at(state)(np.ones((1, self._system.nv))))):
                found.append(state)
            if len(found) == 3:
                break
        return found

    def product_at(self, state) -> Callable[[np.ndarray], np.ndarray]:
        """Return `w ↦ A w` at one of `states`, for several w as rows."""
        return self._product_at(self._products, state)

    @staticmethod
    def _product_at(products: Callable, state) -> Callable[[np.ndarray], np.ndarray]:
        """Return the same for any matrix."""

        def product(w):
            parts = []
            # padded to one size, so that one program is compiled
            size = 16
            for i in range(0, len(w), size):
                chunk = np.zeros((size, w.shape[1]))
                chunk[: len(w[i : i + size])] = w[i : i + size]
                parts.append(np.asarray(products(*state, chunk))[: len(w) - i])
            return np.concatenate(parts)

        return product

    @cached_property
    def _products(self) -> Callable:
        constraints = self._constraints
        return jax.jit(lambda q, v, t, p, w: jax.vmap(constraints.product(q, v, t, p))(w))

    @cached_property
    def _forces(self) -> Callable:
        """Return `w ↦ F_q N w + F_v w`, for several w as rows."""
        system = self._system

        def products(q, v, t, p, w):
            force = lambda q, v: functions.force(system, q, v, t, p)
            return jax.vmap(lambda w: jax.jvp(force, (q, v), (system.along(q, w, t, p), w))[1])(w)

        return jax.jit(products)
