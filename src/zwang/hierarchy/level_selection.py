"""Selection of the constraints and clearances of each level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.algebra.decomposition import symmetric_root
from zwang.algebra.spectrum import principal
from zwang.dynamics.model import Model
from zwang.equations.constraint import AbstractConstraint, Constraints
from zwang.equations.state import State
from zwang.errors import ModelError
from zwang.hierarchy.tree_layout import assembly_of
from zwang.inputs.arguments import labels, listed, real_array
from zwang.inputs.arrays import is_concrete
from zwang.inputs.suggestions import did_you_mean
from zwang.objects.record import Record


def chosen_levels(model: Model, given) -> tuple[tuple[str, ...], ...]:
    if given is None:
        assembly = assembly_of(model)
        apart = tuple((n,) for n in model.constraints.names)
        return apart if assembly is None else assembly.levels
    lists = "lists of constraint names, the lowest level first"
    if isinstance(given, (list, tuple)) and any(isinstance(level, str) for level in given):
        raise ModelError(f"levels is {given!r:.80}, expected a list of {lists}.")
    given = [
        labels(level, "a level of levels")
        for level in listed(given, "levels", f"a list of {lists}")
    ]
    known = set(model.constraints.names)
    for n, count in Counter(n for level in given for n in level).items():
        if n not in known:
            raise ModelError(
                f"{model.name} has no constraint {n!r}{did_you_mean(n, model.constraints.names)}"
            )
        if count > 1:
            raise ModelError(f"levels names constraint {n!r} {count} times.")
    return tuple(tuple(map(str, level)) for level in given)


class Rows(Record):
    """Rows of some constraints at one state.

    Attributes:
        A, b: shapes (rows, nv) and (rows,).
        names, slices: names of the constraints or of their parts, and the ranges of their rows.
        constraints: the constraints to which the rows belong.
    """

    A: Float[Array, "rows nv"]
    b: Float[Array, " rows"]
    names: tuple[str, ...]
    slices: tuple[tuple[int, int], ...]
    constraints: tuple[AbstractConstraint, ...]

    @classmethod
    def of(cls, constraints: Constraints, s: State, p) -> Rows:
        slices = tuple((rows.start, rows.stop) for rows in constraints.row_slices.values())
        A, b = constraints.matrix(s.q, s.v, s.t, p), constraints.rhs(s.q, s.v, s.t, p)
        return cls(A, b, constraints.names, slices, constraints.members)

    def of_level(self, names: Sequence[str]) -> Rows:
        """Return the rows of some names, in their order."""
        at = dict(zip(self.names, self.slices, strict=True))
        index = np.concatenate([np.zeros(0, int), *(np.arange(*at[n]) for n in names)])
        # slices count the rows of this level, not those of the model
        ends = np.cumsum([0, *(at[n][1] - at[n][0] for n in names)]).tolist()
        slices = tuple(zip(ends, ends[1:], strict=False))
        return Rows(
            self.A[index], self.b[index], tuple(names), slices, owners(self.constraints, names)
        )


def owners(
    constraints: Sequence[AbstractConstraint], names: Sequence[str]
) -> tuple[AbstractConstraint, ...]:
    """Return the constraints to which names of constraints or of their parts belong."""
    chosen = set(names)
    return tuple(c for c in constraints if not chosen.isdisjoint(c.parts))


def roots_of(model: Model, levels, clearance: Mapping[str, Any]):
    """Return R^½ of each level, None if all its rows are rigid."""
    for name in clearance:
        if not any(name in level for level in levels):
            raise ModelError(
                f"clearance names {name!r}, which is no constraint of the levels"
                f"{did_you_mean(name, (n for x in levels for n in x))}"
            )
    roots, rows = [], model.constraints.row_slices
    for level in levels:
        # rigid rows use the exact form (4.16), because a covariance of zeros cannot be inverted
        if not any(n in clearance for n in level):
            roots.append(None)
            continue
        sizes = [rows[n].stop - rows[n].start for n in level]
        blocks = [
            root_of(clearance[n], k, n) if n in clearance else jnp.zeros((k, k))
            for n, k in zip(level, sizes, strict=True)
        ]
        whole = jnp.zeros((sum(sizes), sum(sizes)))
        for block, start in zip(blocks, np.cumsum([0, *sizes]), strict=False):
            whole = whole.at[start : start + len(block), start : start + len(block)].set(block)
        roots.append(whole)
    return tuple(roots)


def root_of(R, rows: int, name: str) -> Float[Array, "rows rows"]:
    """Return R^½ of a number, a vector of variances, or a matrix."""
    R = jnp.asarray(real_array(R, f"clearance of {name!r}"), jnp.float64)
    if R.shape not in ((), (rows,), (rows, rows)):
        raise ModelError(
            f"clearance of {name!r} has shape {R.shape}, expected a number, ({rows},) or "
            f"({rows}, {rows})."
        )
    if R.ndim < 2:
        if is_concrete(R) and np.any(np.asarray(R) < 0):
            raise ModelError(
                f"clearance of {name!r} is {np.asarray(R)}, expected variances, which are not "
                "negative."
            )
        return jnp.diag(jnp.sqrt(jnp.broadcast_to(R, (rows,))))
    # inside `jit` the numbers are not known, and an invalid one results in NaN
    if not is_concrete(R):
        return symmetric_root(R)
    if symmetric := np.allclose(R, R.T):
        variances = principal(np.asarray(R))[0]
        round_off = rows * np.finfo(float).eps * np.max(np.abs(variances), initial=0.0)
        if np.min(variances, initial=0.0) >= -round_off:
            return jnp.asarray(symmetric_root(np.asarray(R)))
    what = "has a negative eigenvalue" if symmetric else "is not symmetric"
    raise ModelError(
        f"clearance of {name!r} {what}, expected a covariance: a symmetric matrix without negative "
        "eigenvalues."
    )
