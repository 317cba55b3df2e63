"""A whole program as one kernel of XLA's compiler for processors.

XLA calls the operations of a program one by one, 50 to 200 ns each, which is more than most of them
take on a mechanism of ten bodies, and LLVM sees one of them at a time. A called computation with
the attributes `MARK` is emitted as one function, its loops and branches included. (XLA gives them
to small loops itself, below 1 kB.) Measured: docs/performance.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, Jaxpr
from jax.lax import GatherScatterMode

from zwang.compile.interpreter import Follower
from zwang.compile.options import compiler_options

APART = "/zwang/programs/apart"
"""Event of `jax.monitoring` for a program that should have become one kernel and did not, with the
reason.
"""
MARK = {"inlineable": "false", "xla_cpu_small_call": "true"}
WHOLE: dict[str, str | bool] = {
    "xla_cpu_experimental_ynn_fusion_type": "",
    "xla_llvm_disable_expensive_passes": True,
}
"""Options of the compiler that go with it: products are not handed to the compiler's library, which
a kernel cannot call; and LLVM leaves
out what costs a tenth of its time and gains nothing here (`gyroscope` 26 s instead of 31,
`five-bar` 9 instead of 11).
"""
WIDE: dict[str, Any] = WHOLE | {
    "xla_backend_optimization_level": 2,
    "xla_cpu_prefer_vector_width": 512,
}
"""For members side by side. At the usual level LLVM unrolls a loop along 32 members to the end
before it looks for vectors in it, and finds
none: one Cholesky factor of 12 rows takes 0.9 µs a member instead of 0.3.
"""
CALLS = frozenset(
    "cholesky cholesky_update triangular_solve lu svd eig eigh geqrf geqp3 householder_product ormqr schur tridiagonal tridiagonal_solve "
    "hessenberg top_k approx_top_k fft conv_general_dilated ffi_call pure_callback io_callback debug_callback "
    "random_bits rng_bit_generator rng_uniform scatter-mul scatter-min scatter-max".split()
)
"""Operations that are not emitted as code but as calls of the runtime."""
COMBINED: dict[str, Callable] = {
    "scatter": lambda old, new: new,
    "scatter-add": lambda old, new: old + new,
    "scatter-sub": lambda old, new: old - new,
}
"""Scatters, which become loops, and what they make of an entry."""
COSTLY = frozenset(
    "sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 expm1 log log1p pow erf".split()
)
"""Functions that are computed once, or each entry of a gather would compute its own."""
UNLIKELY = 1.2345e30
AT_ONCE = 4
"""Blocks of a scatter in one turn of its loop, which costs more than they do: 1728 numbers take 4.8
µs, one by one 14.8.
"""


class Limits(NamedTuple):
    """How large a program may be that becomes one kernel.

    Attributes:
        largest, numbers: of arrays, and of all together: of larger ones the work counts, not the
            calls, and a kernel keeps it on one core.
        multiplications: in matrix products, of which rotations in space make many.
    """

    largest: int
    numbers: int
    multiplications: int


ONCE = Limits(2**16, 500_000, 50_000)
"""Mechanisms of the plane up to some twenty bodies. LLVM takes twice the time of single operations
at most.
"""
OFTEN = Limits(2**18, 5_000_000, 1_000_000)
"""Larger ones are quicker in one kernel, too, but take LLVM two or three times as long: `gyroscope`
30 s instead of 11 s, and then 0.5 s a
run instead of 1.2; 40 four-bar loops 34 s instead of 17, and then half the time.
"""
TOGETHER = Limits(2**20, 50_000_000, 1_000_000)
"""Of many members together."""


def fits(program: ClosedJaxpr, limits: Limits = ONCE) -> bool:
    """Whether all operations of a traced program can be parts of one kernel, and are small enough
    to gain by it. With the variable
    `ZWANG_ONE_KERNEL=0` none does.
    """
    if os.environ.get("ZWANG_ONE_KERNEL") == "0":
        return False
    numbers = multiplications = 0
    for eqn in _equations(program.jaxpr):
        sizes = [getattr(x.aval, "size", 1) for x in eqn.outvars]
        numbers, multiplications = numbers + sum(sizes), multiplications + _multiplications(eqn)
        found = Limits(max(sizes, default=0), numbers, multiplications)
        if not _fits(eqn) or any(x > most for x, most in zip(found, limits, strict=True)):
            return False
    return True


def members_together(function: Callable, arguments: tuple) -> jax.stages.Compiled | None:
    """A function of many members (`zwang.compile.batch_last`) compiled as one kernel; None if it
    cannot be one (`APART` says why).

    Args:
        function: of pytrees of arrays.
        arguments: such as it is going to have.

    Returns:
        The compiled function; its result comes in a pair with a number that means nothing.
    """
    name = getattr(function, "__name__", "program")
    try:
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
        if not fits(closed, TOGETHER):
            raise NotImplementedError(
                "it is too large, or one of its operations is a call of the runtime"
            )
        kernel, tree = one_kernel(closed, name), jax.tree_util.tree_structure(shapes)

        def called(*arguments):
            *results, every = kernel(*jax.tree_util.tree_leaves(arguments))
            return jax.tree_util.tree_unflatten(tree, results), every

        return jax.jit(called).lower(*arguments).compile(compiler_options() | WIDE)
    except Exception as reason:  # such as an operation that is not emitted as code after all
        jax.monitoring.record_event(APART, reason=f"{name}: {reason}")
        return None


def one_kernel(program: ClosedJaxpr, name: str = "one_kernel") -> Callable[..., list]:
    """A traced program as a function of its arrays that becomes one kernel if it is compiled with
    `WHOLE`. It returns one number
    more, to which every argument contributes: the emitter ends the process over an argument that no
    operation uses. JAX's own cache knows it by its name.
    """
    empty = {i: jnp.zeros(x.shape, x.dtype) for i, x in enumerate(program.in_avals) if not x.size}

    def called(*given):
        rest = iter(given)
        arrays = [empty[i] if i in empty else next(rest) for i in range(len(program.in_avals))]
        every = sum((x.ravel()[0].astype(float) for x in given), jnp.zeros(()))
        return [*_Written()(program.jaxpr, program.consts, arrays), every]

    inner = jax.jit(called)

    def marked(*arrays):
        *results, every = inner(*(x for i, x in enumerate(arrays) if i not in empty))
        return [
            *results,
            set_xla_metadata(every, **MARK),
        ]  # the attributes go to the call that it comes from

    marked.__name__ = name
    return marked


def _fits(eqn) -> bool:
    if eqn.primitive.name in COMBINED and eqn.params["dimension_numbers"].operand_batching_dims:
        return False
    if eqn.primitive.name == "sort" and (
        len(eqn.invars) > 1 or not jnp.issubdtype(eqn.invars[0].aval.dtype, jnp.floating)
    ):
        return False
    return eqn.primitive.name not in CALLS


def _multiplications(eqn) -> int:
    """Of a matrix product; 0 of other operations."""
    if eqn.primitive.name != "dot_general":
        return 0
    (contracted, _), _ = eqn.params["dimension_numbers"]
    return eqn.outvars[0].aval.size * math.prod(eqn.invars[0].aval.shape[i] for i in contracted)


def _equations(jaxpr: Jaxpr) -> Iterator[Any]:
    """All operations of a program, those of its loops, branches and functions included."""
    for eqn in jaxpr.eqns:
        yield eqn
        for value in eqn.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                if isinstance(inner, ClosedJaxpr):
                    yield from _equations(inner.jaxpr)
                elif isinstance(inner, Jaxpr):
                    yield from _equations(inner)


class _Written(Follower):
    """Writes what the emitter lacks as loops and sums."""

    def operation(self, eqn, inputs):
        name, params = eqn.primitive.name, eqn.params
        if name == "optimization_barrier":
            return _kept(inputs)
        if name == "dot_general" and {x.dtype for x in inputs} == {eqn.outvars[0].aval.dtype}:
            return _product(*inputs, numbers=params["dimension_numbers"])
        if name == "sort":
            return [_sorted(*inputs, axis=params["dimension"])]
        if name in COMBINED:
            return _scattered(*inputs, params=params, combined=COMBINED[name])
        out = super().operation(eqn, inputs)
        return _kept([out]) if name in COSTLY else out


def _kept(xs: list) -> list:
    """Arrays as they are, each computed once. The compiler forgets barriers before it moves
    operations into those that use them, but
    not a loop of one turn if it cannot know that it is one, nor that its factor is 1.
    """
    real = [i for i, x in enumerate(xs) if jnp.issubdtype(x.dtype, jnp.floating) and x.size]
    if not real:
        return xs
    once = xs[real[0]].ravel()[0] != UNLIKELY
    turn = lambda _, kept: [x * once.astype(x.dtype) for x in kept]
    kept = iter(jax.lax.fori_loop(0, once.astype(int), turn, [xs[i] for i in real]))
    return [next(kept) if i in real else x for i, x in enumerate(xs)]


def _product(x, y, numbers):
    """A product as a sum."""
    contracted, batch = numbers
    free = [
        [i for i in range(z.ndim) if i not in (*contracted[k], *batch[k])]
        for k, z in enumerate((x, y))
    ]
    x, y = (z.transpose(*batch[k], *contracted[k], *free[k]) for k, z in enumerate((x, y)))
    first, last = len(batch[0]), len(batch[0]) + len(contracted[0])
    x = jnp.expand_dims(x, tuple(range(x.ndim, x.ndim + len(free[1]))))
    y = jnp.expand_dims(y, tuple(range(last, last + len(free[0]))))
    return jnp.sum(x * y, axis=tuple(range(first, last)))


def _sorted(x, axis: int):
    """x in order, NaN last: each number where as many come before it."""
    x = jnp.moveaxis(x, axis, -1)
    this, other = x[..., :, None], x[..., None, :]
    earlier = np.tri(x.shape[-1], k=-1, dtype=bool)
    equal = (this == other) | (jnp.isnan(this) & jnp.isnan(other))
    rank = jnp.sum(
        (other < this) | (jnp.isnan(this) & ~jnp.isnan(other)) | (equal & earlier), axis=-1
    )
    at = rank[..., :, None] == np.arange(x.shape[-1])
    return jnp.moveaxis(jnp.sum(jnp.where(at, x[..., :, None], 0), axis=-2), -1, axis)


def _scattered(operand, indices, updates, params: dict, combined: Callable):
    """A scatter as a loop over its blocks: a block that is not wholly inside is left out unless
    `params` say otherwise.
    """
    numbers, mode = params["dimension_numbers"], params["mode"]
    window = numbers.update_window_dims
    others = [i for i in range(updates.ndim) if i not in window]
    sizes = iter([updates.shape[i] for i in window])
    block = [1 if i in numbers.inserted_window_dims else next(sizes) for i in range(operand.ndim)]
    count = math.prod(indices.shape[:-1])
    indices = jnp.asarray(indices).reshape(count, -1)
    updates = jnp.asarray(updates).transpose(*others, *window).reshape(count, *block)
    room = [n - k for n, k in zip(operand.shape, block, strict=True)]

    def put(operand, index, update):
        at = [jnp.zeros((), indices.dtype)] * operand.ndim
        for k, axis in enumerate(numbers.scatter_dims_to_operand_dims):
            at[axis] = index[k]
        old = jax.lax.dynamic_slice(operand, at, block)
        new = combined(old, update)
        if mode == GatherScatterMode.FILL_OR_DROP:
            new = jnp.where(
                jnp.all(
                    jnp.array([(0 <= x) & (x <= most) for x, most in zip(at, room, strict=True)])
                ),
                new,
                old,
            )
        return jax.lax.dynamic_update_slice(operand, new, at)

    once = max(min(AT_ONCE, count), 1)
    whole = count - count % once
    by_turn = [x[:whole].reshape(-1, once, *x.shape[1:]) for x in (indices, updates)]

    def turn(i, operand):
        some = (jax.lax.dynamic_index_in_dim(x, i, keepdims=False) for x in by_turn)
        for index, update in zip(*some, strict=True):
            operand = put(operand, index, update)
        return operand

    operand = jax.lax.fori_loop(0, whole // once, turn, operand)
    return (
        jax.lax.fori_loop(whole, count, lambda i, x: put(x, indices[i], updates[i]), operand)
        if whole < count
        else operand
    )
