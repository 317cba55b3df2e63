"""Functions with a custom derivative, as a primitive of JAX.

`jax.custom_jvp` loses its rule where JAX reverses a loop: a second derivative is then wrong, or
raises an error about shapes. Here the rule is a parameter of the primitive, which every
transformation keeps.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir
from jaxtyping import PyTree

from zwang.inputs.arrays import is_concrete
from zwang.objects.record import combine, partition

_call_p = Primitive("custom_jvp_call")  # a name that jaxpr interpreters know
_call_p.multiple_results = True


class CustomDerivative:
    """A function of pytrees with a custom derivative, as by `jax.custom_jvp`.

    Leaves that are not arrays are constants.

    Example:
        >>> @CustomDerivative
        ... def f(x, y): ...
        >>> @f.def_jvp
        ... def of_f(primals, tangents): ...  # the tangent of a constant argument is None
    """

    def __init__(self, function: Callable):
        self._function = function

    def __call__(self, *args: PyTree) -> PyTree:
        arrays, fixed = partition(args)
        leaves, tree = jax.tree_util.tree_flatten(arrays)
        if is_concrete(leaves):
            return self._function(*args)
        given = lambda leaves: combine(tree.unflatten(leaves), fixed)
        of_leaves = lambda *leaves: self._function(*given(leaves))
        program, shapes = jax.make_jaxpr(of_leaves, return_shape=True)(*leaves)
        structure = jax.tree_util.tree_structure(shapes)

        def change(primals, tangents):
            found, dfound = self._rule(given(primals), tree.unflatten(tangents))
            leaves = jax.tree_util.tree_leaves(found)
            return leaves, structure.flatten_up_to(dfound)

        found = _call_p.bind(*leaves, call_jaxpr=program, change=change)
        return structure.unflatten(found)

    def def_jvp(self, rule: Callable) -> Callable:
        """Decorate the rule `(primals, tangents) → result, its tangent`."""
        self._rule = rule
        return rule


def _jvp(primals, tangents, *, call_jaxpr, change):
    given = [None if _still(x, dx) else dx for x, dx in zip(primals, tangents, strict=True)]
    found, moved = change(list(primals), given)
    zero = lambda x: ad.Zero(jax.typeof(x).to_tangent_aval())
    moved = [zero(x) if _still(x, dx) else dx for x, dx in zip(found, moved, strict=True)]
    return found, moved


def _still(x, dx) -> bool:
    """Return whether a tangent is zero."""
    return dx is None or type(dx) is ad.Zero or not jnp.issubdtype(jnp.result_type(x), jnp.inexact)


def _batched(args, dims, *, call_jaxpr, change):
    axes = [None if d is None else 0 for d in dims]
    args = [x if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    program = jax.make_jaxpr(jax.vmap(jaxpr_as_fun(call_jaxpr), axes))(*args)

    def of_all(primals, tangents):
        present = [i for i, dx in enumerate(tangents) if dx is not None]
        kept = []

        def of_one(primals, changes):
            given = dict(zip(present, changes, strict=True))
            found, moved = change(primals, [given.get(i) for i in range(len(primals))])
            kept[:] = [i for i, dx in enumerate(moved) if dx is not None]
            return list(found), [moved[i] for i in kept]

        changes = [tangents[i] for i in present]
        mapped = jax.vmap(of_one, (axes, [axes[i] for i in present]))
        found, moved = mapped(list(primals), changes)
        changed = dict(zip(kept, moved, strict=True))
        return found, [changed.get(i) for i in range(len(found))]

    found = _call_p.bind(*args, call_jaxpr=program, change=of_all)
    return found, [0] * len(found)


def _run(*args, call_jaxpr, change):
    return jaxpr_as_fun(call_jaxpr)(*args)


_call_p.def_impl(_run)
_call_p.def_abstract_eval(lambda *_, call_jaxpr, change: call_jaxpr.out_avals)
ad.primitive_jvps[_call_p] = _jvp
batching.primitive_batchers[_call_p] = _batched
mlir.register_lowering(_call_p, mlir.lower_fun(_run, multiple_results=True))
