"""Problems given by matrices, as models whose constraints are levels."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import zwang as zw

REFERENCE = json.loads((Path(__file__).parent / "reference.json").read_text())
"""Independent values for the paper on recursion; the names of its parts are those of their source.
"""


def matrices(M, f, levels, **options) -> zw.Model:
    """M, f and (A, b) of each level as parameters; the levels are called 1, 2, …"""
    params = {"M": np.asarray(M, float), "f": np.asarray(f, float)}
    constraints = []
    for r, (A, b) in enumerate(levels, start=1):
        params |= {
            f"A{r}": np.atleast_2d(np.asarray(A, float)),
            f"b{r}": np.atleast_1d(np.asarray(b, float)),
        }
        constraints.append(
            zw.AccelerationConstraint(
                lambda q, v, t, p, r=r: p[f"A{r}"], lambda q, v, t, p, r=r: p[f"b{r}"], name=str(r)
            )
        )
    n = len(params["f"])
    system = zw.System(n, lambda q, t, p: jnp.asarray(p["M"]), lambda q, v, t, p: p["f"])
    return zw.Model(system, constraints, params, **options)


def at_rest(model: zw.Model):
    return np.zeros(model.system.nq), np.zeros(model.system.nv)


@functools.cache
def fixed() -> zw.Model:
    """The problem of the reference with three levels, a row of the second of which depends on the
    first.
    """
    x = REFERENCE["fixed_problem"]
    return matrices(x["M"], x["f"], [(x[f"A{r}"], x[f"b{r}"]) for r in (1, 2, 3)])


def stacked(model: zw.Model):
    """A and b of all levels."""
    count = len(model.constraints.members)
    return (
        np.concatenate([np.asarray(model.params[f"{key}{r + 1}"]) for r in range(count)])
        for key in "Ab"
    )
