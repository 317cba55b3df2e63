"""The Jacobian ∂ψ/∂v: where it has entries, and how many derivatives find it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import eval_jaxpr
from jaxtyping import Array, Bool, Float, Int

from zwang.algebra.sparsity_pattern import dependencies, grouped
from zwang.compile.engine import is_native

if TYPE_CHECKING:
    from zwang.equations.constraint.equation import Constraints


class Entries:
    """Where `∂ψ/∂v` has entries, and which of its columns are found together; worked out when first
    asked for.

    It follows from the members and the system, so that it says nothing new to a compiled program
    that knows these: all are equal.
    """

    def __init__(self, constraints: Constraints, p):
        self._constraints, self._p = constraints, jax.eval_shape(lambda p: p, p)

    @cached_property
    def pattern(self) -> Bool[np.ndarray, "rows nv"]:
        """Which entries can differ from zero."""
        c, system = self._constraints, self._constraints.system
        q, v, t = system.shapes
        followed = [x for x in c.members if x.level.has_psi and not x.is_full]

        def along(w, q, v, t, p):
            each = lambda v: [x.velocity_residual(system, q, v, t, p) for x in followed]
            return jnp.concatenate(jax.jvp(each, (v,), (w,))[1])

        pattern = np.ones((c.m, system.nv), bool)
        rows = [i for x in followed for i in range(c.m)[c.rows_of(x)]]
        try:
            if followed:
                with jax.enable_x64(True):
                    pattern[rows] = dependencies(along, system.nv, q, v, t, self._p)
        except Exception:
            # an operation of the user's that cannot be followed costs speed only; its own errors
            # come again
            pass
        for x in c.frictions:
            # what slides straight on mixes its rows
            pattern[x.indices] = np.any(pattern[x.indices], axis=0)
        return pattern[c.velocity_rows]

    @cached_property
    def group(self) -> Int[np.ndarray, " nv"]:
        """For each column the number of its group."""
        return grouped(self.pattern)

    def __eq__(self, other) -> bool:
        return isinstance(other, Entries)

    def __hash__(self) -> int:
        return hash(Entries)

    def __fingerprint__(self):
        """What it follows from, apart from the constraints that it is a part of."""
        return self._p


def jacobian(f, v: Float[Array, " nv"], entries: Entries) -> tuple:
    """`∂y/∂v` of `y, more = f(v)`, with y and more: row by row, in reverse, where rows are few;
    else group of columns by group of columns.

    What all rows or groups need, and what they give, is held by barriers, or the compiler computes
    it again for each entry. A loop whose length is not known cannot be reversed; that, and anything
    else that reverse mode does not take, goes by columns.
    """
    rows, groups = len(entries.pattern), int(entries.group.max(initial=-1)) + 1
    # a row costs about half as much again as a column, and longer to compile
    if 3 * rows <= 2 * groups:
        try:
            y, pull, more = jax.vjp(f, v, has_aux=True)
            (A,) = jax.vmap(jax.lax.optimization_barrier(pull))(jnp.eye(rows))
            return A, y, more
        except Exception:  # an error of the user's own function comes again below
            pass
    columns = jnp.asarray(entries.group == np.arange(groups)[:, None], v.dtype)
    y, found, more = (_along if is_native() else _along_held)(f, v, columns)
    i, j = np.nonzero(entries.pattern)
    # the compiler does not fuse a scatter with later operations, which would compute an entry again
    # for each use of it
    A = jnp.zeros((rows, len(v)), found.dtype)
    A = A.at[i, j].set(found[entries.group[j], i], unique_indices=True)
    return A, y, more


def _along(f, v: Float[Array, " nv"], columns: Float[Array, "groups nv"]) -> tuple:
    """y, `∂y/∂v` along columns, and more; JAX traces it in a third of the time of `linearize`."""

    def moved(w):
        y, along, more = jax.jvp(f, (v,), (w,), has_aux=True)
        return along, (y, more)

    try:
        found, (y, more) = jax.vmap(moved, out_axes=(0, None))(columns)
    except ValueError:  # a function with a rule of its own for a batch has y for each column
        return _along_held(f, v, columns)
    return y, found, more


def _along_held(f, v: Float[Array, " nv"], columns: Float[Array, "groups nv"]) -> tuple:
    """The same, with barriers about what all columns need."""
    y, tangent, more = jax.linearize(f, v, has_aux=True)
    along = jax.make_jaxpr(tangent)(v)
    held = jax.lax.optimization_barrier(along.consts)
    found = jax.vmap(lambda w: eval_jaxpr(along.jaxpr, held, w)[0])(columns)
    return y, jax.lax.optimization_barrier(found), more
