"""A whole program as one kernel of XLA's compiler for processors.

XLA calls the operations of a program one by one, 50 to 200 ns each, which is more than most of them
take on a mechanism of ten bodies, and LLVM sees one of them at a time. A called computation with
the attributes `KERNEL_ATTRIBUTES` is emitted as one function, its loops and branches included. (XLA
gives them to small loops itself, below 1 kB.) Measured: docs/performance.

The attributes are not documented, and XLA's emitter ends the process over what it does not expect.
`zwang.compile.canary` therefore tries them on versions that are not known to work.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr

from zwang.compile.compatibility import with_attributes
from zwang.compile.emittable import SCATTERS, EmittableInterpreter

KERNEL_ATTRIBUTES = {"inlineable": "false", "xla_cpu_small_call": "true"}
KERNEL_OPTIONS: dict[str, str | bool] = {
    "xla_cpu_experimental_ynn_fusion_type": "",
    "xla_llvm_disable_expensive_passes": True,
}
"""Options of the compiler that go with them. Products are not handed to the compiler's library,
which a kernel cannot call; and LLVM leaves out what costs a tenth of its time and gains nothing
here (`gyroscope` 26 s instead of 31, `five-bar` 9 instead of 11).
"""
BATCH_KERNEL_OPTIONS: dict[str, Any] = KERNEL_OPTIONS | {
    "xla_backend_optimization_level": 2,
    "xla_cpu_prefer_vector_width": 512,
}
"""For members side by side. At the usual level LLVM unrolls a loop along 32 members to the end
before it looks for vectors in it, and finds none: one Cholesky factor of 12 rows takes 0.9 µs a
member instead of 0.3.
"""
RUNTIME_CALLS = frozenset(
    "cholesky cholesky_update triangular_solve lu svd eig eigh geqrf geqp3 householder_product "
    "ormqr schur tridiagonal tridiagonal_solve hessenberg top_k approx_top_k fft "
    "conv_general_dilated ffi_call pure_callback io_callback debug_callback random_bits "
    "rng_bit_generator rng_uniform scatter-mul scatter-min scatter-max".split()
)
"""Operations that are not emitted as code but as calls of the runtime."""


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


SMALL = Limits(2**16, 500_000, 50_000)
"""Mechanisms of the plane up to some twenty bodies. LLVM takes twice the time of single operations
at most.
"""
LARGE = Limits(2**18, 5_000_000, 1_000_000)
"""Larger ones are quicker in one kernel, too, but take LLVM two or three times as long: `gyroscope`
30 s instead of 11 s, and then 0.5 s a run instead of 1.2; 40 four-bar loops 34 s instead of 17, and
then half the time.
"""
BATCH = Limits(2**20, 50_000_000, 1_000_000)
"""Of many members together."""


def is_switched_off() -> bool:
    """Whether `ZWANG_ONE_KERNEL=0` forbids one-kernel programs."""
    return os.environ.get("ZWANG_ONE_KERNEL") == "0"


def fits(program: ClosedJaxpr, limits: Limits = SMALL) -> bool:
    """Whether all operations of a traced program can be parts of one kernel, and are small enough
    to gain by it.
    """
    if is_switched_off():
        return False
    numbers = multiplications = 0
    for eqn in _equations(program.jaxpr):
        sizes = [getattr(x.aval, "size", 1) for x in eqn.outvars]
        numbers, multiplications = numbers + sum(sizes), multiplications + _multiplications(eqn)
        found = Limits(max(sizes, default=0), numbers, multiplications)
        if not _is_emittable(eqn) or any(x > most for x, most in zip(found, limits, strict=True)):
            return False
    return True


def one_kernel(program: ClosedJaxpr, name: str = "one_kernel") -> Callable[..., list]:
    """A traced program as a function of its arrays that becomes one kernel if it is compiled with
    `KERNEL_OPTIONS`.

    It returns one number more, to which every argument contributes: the emitter ends the process
    over an argument that no operation uses, and over empty ones.

    Args:
        program: the traced program; `fits` holds.
        name: by which JAX's own cache knows it.
    """
    empty = {i: jnp.zeros(x.shape, x.dtype) for i, x in enumerate(program.in_avals) if not x.size}

    def called(*given):
        rest = iter(given)
        arrays = [empty[i] if i in empty else next(rest) for i in range(len(program.in_avals))]
        uses_all = sum((x.ravel()[0].astype(float) for x in given), jnp.zeros(()))
        return [*EmittableInterpreter()(program.jaxpr, program.consts, arrays), uses_all]

    inner = jax.jit(called)

    def marked(*arrays):
        *results, uses_all = inner(*(x for i, x in enumerate(arrays) if i not in empty))
        # the attributes go to the call that the number comes from
        return [*results, with_attributes(uses_all, **KERNEL_ATTRIBUTES)]

    marked.__name__ = name
    return marked


def _is_emittable(eqn) -> bool:
    if eqn.primitive.name in SCATTERS and eqn.params["dimension_numbers"].operand_batching_dims:
        return False
    if eqn.primitive.name == "sort" and (
        len(eqn.invars) > 1 or not jnp.issubdtype(eqn.invars[0].aval.dtype, jnp.floating)
    ):
        return False
    return eqn.primitive.name not in RUNTIME_CALLS


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
