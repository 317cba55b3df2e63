"""Which constraints a level enforces, and with what clearance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.arrays import is_concrete
from zwang.constraint import AbstractConstraint
from zwang.errors import ModelError
from zwang.model import Model


def chosen_levels(model: Model, given) -> tuple[tuple[str, ...], ...]:
    if given is None:
        return model.assembly.levels if model.assembly is not None else tuple((n,) for n in model.constraints.names)
    if isinstance(given, str) or any(isinstance(level, str) for level in given):
        raise ModelError(f"levels is {given!r:.80}, expected a list of lists of constraint names, the lowest level first.")
    names = [n for level in given for n in level]
    for n in names:
        member(model, n)
        if names.count(n) > 1:
            raise ModelError(f"levels names constraint {n!r} {names.count(n)} times.")
    return tuple(tuple(level) for level in given)


def member(model: Model, name: str) -> AbstractConstraint:
    for c in model.constraints.members:
        if c.name == name:
            return c
    raise ModelError(f"{model.name} has no constraint {name!r}; it has: {', '.join(model.constraints.names) or 'none'}.")


def roots_of(model: Model, levels, clearance: Mapping[str, Any]):
    """R^½ of each level, None where all its rows are rigid."""
    for name in clearance:
        if not any(name in level for level in levels):
            raise ModelError(
                f"clearance names {name!r}, which is no constraint of the levels: {', '.join(n for x in levels for n in x)}."
            )
    roots = []
    for level in levels:
        if not any(n in clearance for n in level):
            roots.append(None)
            continue
        sizes = [model.constraints.row_slices[n].stop - model.constraints.row_slices[n].start for n in level]
        blocks = [root_of(clearance[n], k, n) if n in clearance else jnp.zeros((k, k)) for n, k in zip(level, sizes, strict=True)]
        whole = jnp.zeros((sum(sizes), sum(sizes)))
        for block, start in zip(blocks, np.cumsum([0, *sizes]), strict=False):
            whole = whole.at[start : start + len(block), start : start + len(block)].set(block)
        roots.append(whole)
    return tuple(roots)


def root_of(R, rows: int, name: str) -> Float[Array, "rows rows"]:
    """R^½ of a number, a vector of variances, or a matrix."""
    R = jnp.asarray(R, jnp.float64)
    if R.shape not in ((), (rows,), (rows, rows)):
        raise ModelError(f"clearance of {name!r} has shape {R.shape}, expected a number, ({rows},) or ({rows}, {rows}).")
    if R.ndim < 2:
        if is_concrete(R) and np.any(np.asarray(R) < 0):
            raise ModelError(f"clearance of {name!r} is {np.asarray(R)}, expected variances, which are not negative.")
        return jnp.diag(jnp.sqrt(jnp.broadcast_to(R, (rows,))))
    if is_concrete(R) and (not np.allclose(R, R.T) or np.min(np.linalg.eigvalsh(np.asarray(R)), initial=1.0) <= 0):
        raise ModelError(f"clearance of {name!r} is no covariance: expected a symmetric positive definite matrix.")
    return jnp.linalg.cholesky(R)
