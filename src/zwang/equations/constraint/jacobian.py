"""Jacobian ∂ψ/∂v, its structural nonzeros, and the derivatives that compute it."""

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
    """Structural nonzeros of `∂ψ/∂v`, and groups of columns that one derivative computes together;
    both are determined on first use.

    They depend on the members and the system alone, which already identify a compiled program.
    Therefore all objects of this class compare equal.
    """

    def __init__(self, constraints: Constraints, p):
        self._constraints, self._p = constraints, jax.eval_shape(lambda p: p, p)

    @cached_property
    def pattern(self) -> Bool[np.ndarray, "rows nv"]:
        """Mask of the entries that can differ from zero."""
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
            # an operation of the user that cannot be analyzed costs speed only; errors of the
            # function are raised again later
            pass
        for x in c.frictions:
            # sliding in a fixed direction combines the rows of the friction
            pattern[x.indices] = np.any(pattern[x.indices], axis=0)
        return pattern[c.velocity_rows]

    @cached_property
    def group(self) -> Int[np.ndarray, " nv"]:
        """Number of the group of each column."""
        return grouped(self.pattern)

    def __eq__(self, other) -> bool:
        return isinstance(other, Entries)

    def __hash__(self) -> int:
        return hash(Entries)

    def __fingerprint__(self):
        """Content of the key in the program cache, in addition to the constraints that contain this
        object.
        """
        return self._p


def jacobian(f, v: Float[Array, " nv"], entries: Entries) -> tuple:
    """Return `∂y/∂v` of `y, more = f(v)`, with y and more. If there are few rows it is computed row
    by row in reverse mode, otherwise by groups of columns.

    Operands and results that all rows or groups share are held by optimization barriers, because
    the compiler would compute them again for each entry. Reverse mode fails for a loop of unknown
    length and for some other operations; in these cases the Jacobian is computed by columns.
    """
    rows, groups = len(entries.pattern), int(entries.group.max(initial=-1)) + 1
    # a row costs about 1.5 times as much as a column, and takes longer to compile
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
    # the compiler does not fuse a scatter with later operations; fusion would compute an entry
    # again for each use of it
    A = jnp.zeros((rows, len(v)), found.dtype)
    A = A.at[i, j].set(found[entries.group[j], i], unique_indices=True)
    return A, y, more


def _along(f, v: Float[Array, " nv"], columns: Float[Array, "groups nv"]) -> tuple:
    """Return y, `∂y/∂v` along columns, and more; JAX traces this in a third of the time of
    `linearize`.
    """

    def moved(w):
        y, along, more = jax.jvp(f, (v,), (w,), has_aux=True)
        return along, (y, more)

    try:
        found, (y, more) = jax.vmap(moved, out_axes=(0, None))(columns)
    except ValueError:  # a function with a rule of its own for a batch has y for each column
        return _along_held(f, v, columns)
    return y, found, more


def _along_held(f, v: Float[Array, " nv"], columns: Float[Array, "groups nv"]) -> tuple:
    """Return the same as `_along`, with barriers around the operands that all columns share."""
    y, tangent, more = jax.linearize(f, v, has_aux=True)
    along = jax.make_jaxpr(tangent)(v)
    held = jax.lax.optimization_barrier(along.consts)
    found = jax.vmap(lambda w: eval_jaxpr(along.jaxpr, held, w)[0])(columns)
    return y, jax.lax.optimization_barrier(found), more
