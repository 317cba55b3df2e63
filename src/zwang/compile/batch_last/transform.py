"""A function for many members, and how its program is carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr

from zwang.compile.batch_last.batched_values import FOLLOWED, Spread
from zwang.compile.batch_last.control_flow import CONTROL
from zwang.compile.batch_last.rules import RULES, by_vmap
from zwang.compile.batch_last.value import Many, differ
from zwang.compile.interpreter import Follower

NAMED = 256
"""Constants of so many numbers are known by them."""


def abreast(function: Callable, axes: tuple) -> Callable:
    """`jax.vmap(function, axes)`, computed with the members last.

    Args:
        function: of pytrees of arrays.
        axes: for each argument, or each of its parts, 0 (an axis of members, the first one) or None
            (the same for all).
    """

    def many(*args):
        own = lambda axis, part: jax.tree_util.tree_map(
            lambda x: x if axis is None else Many(jnp.moveaxis(x, 0, -1)), part
        )
        values = jax.tree_util.tree_map(own, axes, args, is_leaf=lambda x: x is None)
        first = lambda x: (
            jax.ShapeDtypeStruct(x.array.shape[:-1], x.array.dtype) if isinstance(x, Many) else x
        )
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(
            *jax.tree_util.tree_map(first, values)
        )
        values = jax.tree_util.tree_leaves(values)
        follower = Abreast(next(x.array.shape[-1] for x in values if isinstance(x, Many)))
        out = [
            jnp.moveaxis(follower.many(x), -1, 0)
            for x in follower(closed.jaxpr, closed.consts, values)
        ]
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shapes), out)

    return many


class Abreast(Follower):
    """Carries a program out: a value is `Many`, or an array that all members share.

    Attributes:
        members: how many they are.
        spread: which values of a loop or branch differ.
    """

    inlined = FOLLOWED

    def __init__(self, members: int):
        self.members, self.spread = members, Spread()
        self._known: dict[tuple, tuple[Any, list]] = {}

    def many(self, x):
        """The array of every member."""
        if isinstance(x, Many):
            return x.array
        x = jnp.asarray(x)
        return jnp.broadcast_to(x[..., None], (*x.shape, self.members))

    def operation(self, eqn, inputs):
        """What was computed before is taken from there: A and b each ask for the sines of the same
        angles.
        """
        key = _key(eqn, inputs)
        if key is None:
            return self._carried_out(eqn, inputs)
        if key not in self._known:
            self._known[key] = (
                self._carried_out(eqn, inputs),
                inputs,
            )  # which live on, or another could have their identity
        return self._known[key][0]

    def _carried_out(self, eqn, inputs):
        name = eqn.primitive.name
        if name in CONTROL:
            return CONTROL[name](self, eqn, inputs)
        if not any(differ(inputs)):
            return eqn.primitive.bind(*inputs, **eqn.params)
        return RULES.get(name, by_vmap)(self, eqn, inputs)

    def body(self, program: ClosedJaxpr) -> Callable[..., list]:
        """A loop's or a branch's program as a function of values."""

        def carried_out(*values):
            known = self._known
            self._known = dict(known)  # what is computed within does not exist outside
            try:
                return self(program.jaxpr, program.consts, values)
            finally:
                self._known = known

        return carried_out

    def wrapped(self, arrays: Sequence, many: Sequence[bool]) -> list:
        """Arrays as values, those of all members marked as such."""
        return [Many(x) if each else x for x, each in zip(arrays, many, strict=True)]

    def unwrapped(self, values: Sequence, many: Sequence[bool]) -> list:
        """Values as arrays."""
        return [self.many(x) if each else x for x, each in zip(values, many, strict=True)]


def _key(eqn, inputs) -> tuple | None:
    """What an operation and its inputs are known by; None for loops and calls."""
    if eqn.effects or eqn.primitive.name in CONTROL:
        return None
    try:
        key = (
            eqn.primitive,
            tuple(map(_identity, inputs)),
            tuple(v.aval.dtype for v in eqn.invars),
            tuple(sorted(eqn.params.items())),
        )
        hash(key)
    except (
        TypeError
    ):  # parameters without a hash, or numbers that NumPy does not know (keys of chance)
        return None
    return key


def _identity(x):
    if isinstance(x, Many | Tracer) or np.size(x) > NAMED:
        return id(x)
    x = np.asarray(x)
    return x.shape, x.dtype, x.tobytes()
