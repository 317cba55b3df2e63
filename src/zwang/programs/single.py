"""A whole program as one kernel of XLA's compiler for processors.

XLA calls the operations of a program one by one, 50 to 200 ns each, which is more than most of them take on a mechanism of ten bodies,
and LLVM sees one of them at a time. A called computation with the attributes `MARK` is emitted as one function, its loops and branches
included. (XLA gives them to small loops itself, below 1 kB.) Measured: docs/performance.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jax.lax import GatherScatterMode

MARK = {"inlineable": "false", "xla_cpu_small_call": "true"}
WITHOUT_LIBRARY: dict[str, str | bool] = {"xla_cpu_experimental_ynn_fusion_type": ""}
"""Option of the compiler that goes with it: products are not handed to the compiler's library, which a kernel cannot call."""
CALLS = frozenset(
    "cholesky cholesky_update triangular_solve lu svd eig eigh geqrf geqp3 householder_product ormqr schur tridiagonal tridiagonal_solve "
    "hessenberg top_k approx_top_k fft conv_general_dilated ffi_call pure_callback io_callback debug_callback "
    "random_bits rng_bit_generator rng_uniform scatter_mul scatter_min scatter_max scatter-mul scatter-min scatter-max".split()
)
"""Operations that are not emitted as code but as calls of the runtime."""
COMBINED: dict[str, Callable] = {
    "scatter": lambda old, new: new,
    "scatter-add": lambda old, new: old + new,
    "scatter-sub": lambda old, new: old - new,
}
"""Scatters, which become loops, and what they make of an entry."""
LARGEST, MOST = 2**16, 500_000
"""Largest array and all together, in numbers: of larger arrays the work counts, not the calls, and a kernel keeps it on one core."""
PRODUCTS = 100
"""Most matrix products. A program of more (rotations in space) is quicker in one kernel, too, but LLVM takes two or three times as long to
compile it: `sarrus` with 152, 23 s instead of 9 s, and then 0.2 s a run instead of 0.7."""
COSTLY = frozenset("sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 expm1 log log1p pow erf".split())
"""Functions that are computed once, or each entry of a gather would compute its own."""
UNLIKELY = 1.2345e300
INLINED = {"jit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat2", "custom_vmap_call"}


def fits(program: ClosedJaxpr) -> bool:
    """Whether all operations of a traced program can be parts of one kernel, and are small enough to gain by it. With the variable
    `ZWANG_ONE_KERNEL=0` none does."""
    if os.environ.get("ZWANG_ONE_KERNEL") == "0":
        return False
    numbers = products = 0
    for eqn in _equations(program.jaxpr):
        sizes = [getattr(x.aval, "size", 1) for x in eqn.outvars]
        numbers, products = numbers + sum(sizes), products + (eqn.primitive.name == "dot_general")
        if not _fits(eqn) or max(sizes, default=0) > LARGEST or numbers > MOST or products > PRODUCTS:
            return False
    return True


def one_kernel(program: ClosedJaxpr) -> Callable[..., list]:
    """A traced program as a function of its arrays that becomes one kernel if it is compiled with `WITHOUT_LIBRARY`. It returns one number
    more, to which every argument contributes: the emitter ends the process over an argument that no operation uses."""
    empty = {i: jnp.zeros(x.shape, x.dtype) for i, x in enumerate(program.in_avals) if not x.size}

    def called(*given):
        rest = iter(given)
        arrays = [empty[i] if i in empty else next(rest) for i in range(len(program.in_avals))]
        every = sum((x.ravel()[0].astype(float) for x in given), jnp.zeros(()))
        return [*_carried_out(program.jaxpr, program.consts, arrays), every]

    inner = jax.jit(called)

    def marked(*arrays):
        *results, every = inner(*(x for i, x in enumerate(arrays) if i not in empty))
        return [*results, set_xla_metadata(every, **MARK)]  # the attributes go to the call that it comes from

    return marked


def _fits(eqn) -> bool:
    if eqn.primitive.name in COMBINED and eqn.params["dimension_numbers"].operand_batching_dims:
        return False
    if eqn.primitive.name == "sort" and (len(eqn.invars) > 1 or not jnp.issubdtype(eqn.invars[0].aval.dtype, jnp.floating)):
        return False
    return eqn.primitive.name not in CALLS


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


def _carried_out(jaxpr: Jaxpr, consts, args) -> list:
    """A traced program once more, with loops in the place of scatters and of barriers."""
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
    read = lambda v: v.val if isinstance(v, Literal) else values[v]
    for eqn in jaxpr.eqns:
        inputs, name = [read(v) for v in eqn.invars], eqn.primitive.name
        inner = next((eqn.params[key] for key in ("jaxpr", "call_jaxpr", "call") if key in eqn.params), None)
        if name == "optimization_barrier":
            out = _kept(inputs)
        elif (
            name == "dot_general"
            and eqn.params["preferred_element_type"] in (None, inputs[0].dtype)
            and inputs[0].dtype == inputs[1].dtype
        ):
            out = [_product(*inputs, *eqn.params["dimension_numbers"])]
        elif name == "sort":
            out = [_sorted(*inputs, eqn.params["dimension"])]
        elif name in COMBINED:
            out = [_scattered(*inputs, eqn.params, COMBINED[name])]
        elif name in INLINED and inner is not None:
            closed = ClosedJaxpr(inner, ()) if isinstance(inner, Jaxpr) else inner
            out = _carried_out(closed.jaxpr, closed.consts, inputs)
        else:
            out = eqn.primitive.bind(*inputs, **{key: _of_params(x) for key, x in eqn.params.items()})
            out = _kept([out]) if name in COSTLY else out
        values |= zip(eqn.outvars, out if isinstance(out, list | tuple) else [out], strict=True)
    return [read(v) for v in jaxpr.outvars]


def _of_params(x):
    """A parameter of an operation: the bodies of loops and branches are carried out likewise."""
    if isinstance(x, ClosedJaxpr):
        return jax.make_jaxpr(lambda *args: _carried_out(x.jaxpr, x.consts, args))(*x.in_avals)
    return tuple(map(_of_params, x)) if isinstance(x, tuple) and any(isinstance(part, ClosedJaxpr) for part in x) else x


def _kept(xs: list) -> list:
    """Arrays as they are, each computed once. The compiler forgets barriers before it moves operations into those that use them, but
    not a loop of one turn if it cannot know that it is one, nor that its factor is 1."""
    real = [i for i, x in enumerate(xs) if jnp.issubdtype(x.dtype, jnp.floating) and x.size]
    if not real:
        return xs
    once = xs[real[0]].ravel()[0] != UNLIKELY
    turn = lambda _, kept: [x * once.astype(x.dtype) for x in kept]
    kept = jax.lax.fori_loop(0, once.astype(int), turn, [xs[i] for i in real])
    return [kept[real.index(i)] if i in real else x for i, x in enumerate(xs)]


def _product(x, y, contracted, batch):
    """A product as a sum."""
    free = [[i for i in range(z.ndim) if i not in (*contracted[k], *batch[k])] for k, z in enumerate((x, y))]
    x, y = (z.transpose(*batch[k], *contracted[k], *free[k]) for k, z in enumerate((x, y)))
    first = len(batch[0])
    inner = tuple(range(first, first + len(contracted[0])))
    x = jnp.expand_dims(x, tuple(range(x.ndim, x.ndim + len(free[1]))))
    y = jnp.expand_dims(y, tuple(range(inner[-1] + 1 if inner else first, (inner[-1] + 1 if inner else first) + len(free[0]))))
    return jnp.sum(x * y, axis=inner)


def _sorted(x, axis: int):
    """x in order, NaN last: each number where as many come before it."""
    x = jnp.moveaxis(x, axis, -1)
    this, other = x[..., :, None], x[..., None, :]
    earlier = np.tri(x.shape[-1], k=-1, dtype=bool)
    equal = (this == other) | (jnp.isnan(this) & jnp.isnan(other))
    rank = jnp.sum((other < this) | (jnp.isnan(this) & ~jnp.isnan(other)) | (equal & earlier), axis=-1)
    at = rank[..., :, None] == np.arange(x.shape[-1])
    return jnp.moveaxis(jnp.sum(jnp.where(at, x[..., :, None], 0), axis=-2), -1, axis)


def _scattered(operand, indices, updates, params: dict, combined: Callable):
    """A scatter as a loop over its blocks: a block that is not wholly inside is left out unless `params` say otherwise."""
    numbers, mode = params["dimension_numbers"], params["mode"]
    window = numbers.update_window_dims
    others = [i for i in range(updates.ndim) if i not in window]
    sizes = iter([updates.shape[i] for i in window])
    block = [1 if i in numbers.inserted_window_dims else next(sizes) for i in range(operand.ndim)]
    count = math.prod(indices.shape[:-1])
    indices = jnp.asarray(indices).reshape(count, -1)
    updates = jnp.asarray(updates).transpose(*others, *window).reshape(count, *block)
    room = [n - k for n, k in zip(operand.shape, block, strict=True)]

    def put(i, operand):
        at = [jnp.zeros((), indices.dtype)] * operand.ndim
        for k, axis in enumerate(numbers.scatter_dims_to_operand_dims):
            at[axis] = indices[i, k]
        old = jax.lax.dynamic_slice(operand, at, block)
        new = combined(old, updates[i])
        if mode == GatherScatterMode.FILL_OR_DROP:
            new = jnp.where(jnp.all(jnp.array([(0 <= x) & (x <= most) for x, most in zip(at, room, strict=True)])), new, old)
        return jax.lax.dynamic_update_slice(operand, new, at)

    return jax.lax.fori_loop(0, count, put, operand)
