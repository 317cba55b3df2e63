"""Inner programs, inlined or called as subroutines, and operations that only JAX needs."""

from __future__ import annotations

from collections.abc import Callable

from jax.extend.core import ClosedJaxpr, Jaxpr

from zwang.native.arrays import Memory, Scalars, scalar
from zwang.native.errors import NotNativeError
from zwang.native.instructions import WRITTEN_OUT, Value
from zwang.native.operands import constant_key
from zwang.native.subroutines import results_of
from zwang.native.walk import Call, emit_jaxpr, released, retained, rule, written_out


def inner(call: Call, program: ClosedJaxpr | Jaxpr, inputs: list | None = None) -> list:
    """Emit an inner program and return its results."""
    jaxpr, consts = (
        (program.jaxpr, program.consts) if isinstance(program, ClosedJaxpr) else (program, ())
    )
    given = call.inputs if inputs is None else inputs
    released(call)
    found = emit_jaxpr(call.builder, jaxpr, consts, given, call.needed)
    retained(call)
    return found


PROGRAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call")
"""Parameters under which primitives hold their inner program."""


NAMED: dict[str, Callable[[Call], list | None]] = {}
"""Lowering rules of named functions, by the name under which they are compiled. A rule returns None
for a call that it does not support, which is then lowered as it is written.
"""


@rule(
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "remat",
    "remat2",
    "checkpoint",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "custom_vmap_call",
    "custom_lin",
    "run_state",
)
def call_inner(call: Call) -> list:
    if (own := NAMED.get(call.params.get("name", ""))) and (found := own(call)) is not None:
        return found
    for name in PROGRAMS:
        if (program := call.params.get(name)) is not None:
            if call.name not in ("jit", "pjit"):
                return inner(call, program)
            if call.params["name"].startswith(WRITTEN_OUT):
                with written_out(call.builder):
                    return inner(call, program)
            shared = results_of(call, program)
            return _once(call, program) if shared is None else shared
    raise NotNativeError(f"the operation {call.name}")


def _once(call: Call, program: ClosedJaxpr) -> list:
    """Return the results of an inner program, reusing those of an earlier call with equal operands.

    Emitting it again would find the same values by common subexpression elimination.
    """
    scalars = [x for x in call.inputs if not isinstance(x, Memory)]
    if len(scalars) < len(call.inputs):
        return inner(call, program)
    elements = (x for array in scalars for x in array.reshape(-1).tolist())
    given = tuple(x if type(x) is Value else constant_key(x) for x in elements)
    b = call.builder
    # The program is kept in the entry, so that another program cannot get its `id`.
    written = b.lanes, b.mask, b.least_alike, b.fuses_pairs
    key = "inner", id(program.jaxpr), written, tuple(call.needed), given
    if (known := b.remembered(key)) is not None:
        return [*known[1]]
    found = inner(call, program)
    if not any(isinstance(x, Memory) for x in found):
        b.remember(key, (program, tuple(found)))
    return found


@rule("custom_linear_solve")
def linear_solve(call: Call) -> list:
    """Emit the solver that the user has passed to `lax.custom_linear_solve`."""
    lengths, programs = call.params["const_lengths"], call.params["jaxprs"]
    first = lengths.matvec + lengths.vecmat
    consts = call.inputs[first : first + lengths.solve]
    given = call.inputs[first + lengths.solve + lengths.transpose_solve :]
    return inner(call, programs.solve, [*consts, *given])


@rule("platform_index")
def platform(call: Call) -> Scalars:
    """The index of the branch for a CPU."""
    platforms = call.params["platforms"]
    for i, names in enumerate(platforms):
        if names is None or "cpu" in names:
            return scalar(i)
    raise NotNativeError("a program without a way for processors")
