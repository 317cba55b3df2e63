"""A program in 32-bit numbers, from the same program in 64-bit ones.

JAX has one width of numbers per process, and everything else here needs the wide one. So the finished program is followed, operation
by operation, and each is carried out on narrow numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

LEAST = 1e-30
"""A smaller constant keeps something from being zero, and would be zero itself in float32."""
INLINED = {"jit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat2", "custom_vmap_call"}
"""Calls, which are followed into."""


def narrowed(function: Callable) -> Callable:
    """`function` of pytrees of arrays, with all its real numbers in float32; its results are given back in float64."""

    def narrow(*args):
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        out = _carried_out(closed.jaxpr, closed.consts, jax.tree_util.tree_leaves(args))
        wide = [x.astype(s.dtype) for x, s in zip(out, jax.tree_util.tree_leaves(shapes), strict=True)]
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shapes), wide)

    return narrow


def _carried_out(jaxpr: Jaxpr, consts, args) -> list:
    values = {v: _narrow(x) for v, x in zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True)}
    read = lambda v: _constant(np.asarray(v.val, v.aval.dtype)) if isinstance(v, Literal) else values[v]  # type: ignore[union-attr]
    for eqn in jaxpr.eqns:
        inputs, inner = [read(v) for v in eqn.invars], _inner(eqn)
        if eqn.primitive.name in INLINED and inner is not None:
            out = _carried_out(inner.jaxpr, inner.consts, inputs)
        else:
            out = eqn.primitive.bind(*inputs, **{key: _of_params(x) for key, x in eqn.params.items()})
        values |= zip(eqn.outvars, out if isinstance(out, list | tuple) else [out], strict=True)
    return [read(v) for v in jaxpr.outvars]


def _inner(eqn) -> ClosedJaxpr | None:
    found = next((eqn.params[key] for key in ("jaxpr", "call_jaxpr", "call") if key in eqn.params), None)
    return ClosedJaxpr(found, ()) if isinstance(found, Jaxpr) else found


def _of_params(x):
    """A parameter of an operation: the bodies of loops and branches, and what names a kind of number."""
    if isinstance(x, ClosedJaxpr):
        shapes = [jax.ShapeDtypeStruct(a.shape, _kind(a.dtype)) for a in x.in_avals]
        return jax.make_jaxpr(lambda *args: _carried_out(x.jaxpr, x.consts, args))(*shapes)
    if isinstance(x, Jaxpr):  # how a scatter puts things together, which has no constants
        return _of_params(ClosedJaxpr(x, ())).jaxpr
    if isinstance(x, tuple) and any(isinstance(part, ClosedJaxpr) for part in x):
        return tuple(map(_of_params, x))
    return _kind(x) if isinstance(x, np.dtype) else x


def _kind(dtype):
    return np.dtype(np.float32) if dtype == np.float64 else dtype


def _constant(x):
    return _narrow(np.copysign(LEAST, x) if x.dtype == np.float64 and 0 < abs(x) < LEAST else x)


def _narrow(x):
    return jnp.asarray(x, jnp.float32) if x.dtype == np.float64 else x
