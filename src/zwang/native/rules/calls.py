"""Inner programs, emitted where they are called, and operations that only JAX needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr

from zwang.native.arrays import Memory, scalar
from zwang.native.errors import NotNativeError
from zwang.native.instructions import WRITTEN_OUT, Value
from zwang.native.operands import constant_key
from zwang.native.subroutines import results_of
from zwang.native.walk import Call, emit_jaxpr, released, retained, rule, written_out


def inner(call: Call, program: ClosedJaxpr | Jaxpr, inputs: list | None = None) -> list:
    """The results of an inner program."""
    jaxpr, consts = (
        (program.jaxpr, program.consts) if isinstance(program, ClosedJaxpr) else (program, ())
    )
    given = call.inputs if inputs is None else inputs
    released(call)
    found = emit_jaxpr(call.builder, jaxpr, consts, given, call.needed)
    retained(call)
    return found


PROGRAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call")
"""Parameters by which primitives name their inner program."""


NAMED: dict[str, Callable[[Call], list | None]] = {}
"""Functions that are emitted in a way of their own, by the name under which they are compiled; the
way gives None for what it does not take, which is then emitted as it is written.
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
    """The results of an inner program, by what is known of a call of it before with the same
    operands: to go through it again would find the same values.
    """
    scalars = [x for x in call.inputs if not isinstance(x, Memory)]
    if len(scalars) < len(call.inputs):
        return inner(call, program)
    elements = (x for array in scalars for x in array.reshape(-1).tolist())
    given = tuple(x if type(x) is Value else constant_key(x) for x in elements)
    b = call.builder
    # the program as well as its number, which another one might have after it
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
    """The solution by the program that the user gave for it."""
    lengths, programs = call.params["const_lengths"], call.params["jaxprs"]
    first = lengths.matvec + lengths.vecmat
    consts = call.inputs[first : first + lengths.solve]
    given = call.inputs[first + lengths.solve + lengths.transpose_solve :]
    return inner(call, programs.solve, [*consts, *given])


@rule("platform_index")
def platform(call: Call) -> Any:
    """Which way a program takes on a processor."""
    platforms = call.params["platforms"]
    for i, names in enumerate(platforms):
        if names is None or "cpu" in names:
            return scalar(i)
    raise NotNativeError("a program without a way for processors")
