"""`vmap_last`: a function for many members, the batch axis last in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr

from zwang.compile.batch_last.batched_values import INLINED, BatchAnalysis
from zwang.compile.batch_last.control_flow import CONTROL_FLOW
from zwang.compile.batch_last.rules import RULES, by_vmap
from zwang.compile.batch_last.value import Batched, are_batched
from zwang.compile.interpreter import JaxprInterpreter

COMPARED = 256
"""Constants of up to this many numbers are compared by content, larger ones by identity."""


def vmap_last(function: Callable, axes: tuple) -> Callable:
    """`jax.vmap(function, axes)`, computed with the batch axis last.

    Args:
        function: of pytrees of arrays.
        axes: for each argument, or each of its parts, 0 (a leading axis of members) or None (the
            same for all).
    """

    def many(*args):
        batch = lambda axis, part: jax.tree_util.tree_map(
            lambda x: x if axis is None else Batched(jnp.moveaxis(x, 0, -1)), part
        )
        values = jax.tree_util.tree_map(batch, axes, args, is_leaf=lambda x: x is None)
        of_one = lambda x: (
            jax.ShapeDtypeStruct(x.array.shape[:-1], x.array.dtype) if isinstance(x, Batched) else x
        )
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(
            *jax.tree_util.tree_map(of_one, values)
        )
        values = jax.tree_util.tree_leaves(values)
        members = next(x.array.shape[-1] for x in values if isinstance(x, Batched))
        interpreter = BatchLastInterpreter(members)
        out = [
            jnp.moveaxis(interpreter.all_members(x), -1, 0)
            for x in interpreter(closed.jaxpr, closed.consts, values)
        ]
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shapes), out)

    return many


class BatchLastInterpreter(JaxprInterpreter):
    """Evaluates the program of one member for all: a value is `Batched`, or an array that they
    share.

    Operations with equal inputs are evaluated once (common subexpressions): A and b each ask for
    the sines of the same angles.

    Attributes:
        members: how many there are.
        analysis: which values of a loop or branch are batched.
    """

    inlined = INLINED

    def __init__(self, members: int):
        self.members, self.analysis = members, BatchAnalysis()
        self._evaluated: dict[tuple, tuple[Any, list]] = {}

    def all_members(self, x):
        """The array of every member, shape (..., members)."""
        if isinstance(x, Batched):
            return x.array
        x = jnp.asarray(x)
        return jnp.broadcast_to(x[..., None], (*x.shape, self.members))

    def operation(self, eqn, inputs):
        key = _key(eqn, inputs)
        if key is None:
            return self._evaluate(eqn, inputs)
        if key not in self._evaluated:
            # the inputs live on with the result, or another value could get their identity
            self._evaluated[key] = self._evaluate(eqn, inputs), inputs
        return self._evaluated[key][0]

    def _evaluate(self, eqn, inputs):
        name = eqn.primitive.name
        if name in CONTROL_FLOW:
            return CONTROL_FLOW[name](self, eqn, inputs)
        if not any(are_batched(inputs)):
            return eqn.primitive.bind(*inputs, **eqn.params)
        return RULES.get(name, by_vmap)(self, eqn, inputs)

    def body(self, program: ClosedJaxpr) -> Callable[..., list]:
        """The program of a loop or branch as a function of values."""

        def evaluate(*values):
            outside = self._evaluated
            self._evaluated = dict(outside)  # what is computed within does not exist outside
            try:
                return self(program.jaxpr, program.consts, values)
            finally:
                self._evaluated = outside

        return evaluate

    def wrapped(self, arrays: Sequence, batched: Sequence[bool]) -> list:
        """Arrays as values, those of all members marked as such."""
        return [Batched(x) if each else x for x, each in zip(arrays, batched, strict=True)]

    def unwrapped(self, values: Sequence, batched: Sequence[bool]) -> list:
        """Values as arrays."""
        return [self.all_members(x) if each else x for x, each in zip(values, batched, strict=True)]


def _key(eqn, inputs) -> tuple | None:
    """By what an operation and its inputs are compared; None for loops and calls."""
    if eqn.effects or eqn.primitive.name in CONTROL_FLOW:
        return None
    try:
        key = (
            eqn.primitive,
            tuple(map(_identity, inputs)),
            tuple(v.aval.dtype for v in eqn.invars),
            tuple(sorted(eqn.params.items())),
        )
        hash(key)
    except TypeError:  # parameters without a hash, or numbers that NumPy lacks (random keys)
        return None
    return key


def _identity(x):
    if isinstance(x, Batched | Tracer) or np.size(x) > COMPARED:
        return id(x)
    x = np.asarray(x)
    return x.shape, x.dtype, x.tobytes()
