"""A clear error in place of JAX's where a trajectory is differentiated in reverse mode without
`gradient='reverse'`.

A loop of unknown length can be differentiated forward, but not backward. JAX detects this during
the backward pass, long after `zw.trajectory` has returned, so that no error can be caught there.
The results therefore pass through an identity that raises the error when it is transposed.
"""

from __future__ import annotations

from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from zwang.errors import ModelError
from zwang.objects.record import is_array

T = TypeVar("T")

_identity_p = Primitive("zwang_forward_only")


def forward_only(tree: T) -> T:
    """Return the same arrays, which raise a `ModelError` if they are differentiated backward."""
    moves = lambda x: is_array(x) and jnp.issubdtype(x.dtype, jnp.inexact)
    bound = lambda x: _identity_p.bind(x) if moves(x) else x
    return jax.tree_util.tree_map(bound, tree)


def _transposed(cotangent, x):
    if type(cotangent) is ad.Zero:
        return [cotangent]
    raise ModelError(
        "zw.trajectory was called without gradient='reverse' and is differentiated backward "
        "(jax.grad, jax.vjp or jax.jacrev), expected zw.trajectory(..., gradient='reverse'), or a "
        "fixed step=, or jax.jacfwd in place of jax.grad."
    )


_identity_p.def_impl(lambda x: x)
_identity_p.def_abstract_eval(lambda x: x)
ad.primitive_jvps[_identity_p] = lambda primals, tangents: (
    _identity_p.bind(primals[0]),
    tangents[0] if type(tangents[0]) is ad.Zero else _identity_p.bind(tangents[0]),
)
ad.primitive_transposes[_identity_p] = _transposed
batching.primitive_batchers[_identity_p] = lambda args, axes: (_identity_p.bind(args[0]), axes[0])
mlir.register_lowering(_identity_p, mlir.lower_fun(lambda x: x, multiple_results=False))
