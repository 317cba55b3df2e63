"""Walk over a jaxpr: the lowering rule of each primitive emits its instructions.

`RULES` maps the name of a primitive to its rule; the files of `zwang.native.rules` register theirs
with `@rule`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

from zwang.native.arrays import MOST_LOADED, Memory, Scalars, constants, is_constant, known, scalars
from zwang.native.builder import Builder
from zwang.native.errors import NotNativeError
from zwang.objects.by_identity import ByIdentity

OURS = "zwang"
"""Name prefix of traced functions that have a lowering rule of their own."""
RULES: dict[str, Callable] = {}
"""`rule(call) → results`, by the name of a primitive."""
MOST_INSTRUCTIONS = 400_000
"""Largest number of instructions of one function; LLVM would need minutes for more."""


def rule(*names: str) -> Callable[[Callable], Callable]:
    """Register the lowering rule of some primitives."""

    def registered(function: Callable) -> Callable:
        for name in names:
            RULES[name] = function
        return function

    return registered


@dataclasses.dataclass(eq=False)
class Call:
    """One application of a primitive to be lowered.

    Attributes:
        builder: emits its instructions.
        name, params: the primitive's name and parameters.
        inputs: its operands, as scalars or in memory.
        dtypes, shapes: of the operands.
        outputs: abstract results, each with a shape and a dtype.
        last: for each operand, whether this is its last use.
        needed: for each result, whether it is used.
    """

    builder: Builder
    name: str
    params: dict[str, Any]
    inputs: list[Scalars | Memory]
    dtypes: list[np.dtype]
    shapes: list[tuple[int, ...]]
    outputs: list[Any]
    last: list[bool]
    needed: list[bool]

    def scalars(self, i: int) -> Scalars:
        """Return an operand as scalars."""
        return scalars(self.builder, self.inputs[i])

    def known(self, i: int) -> np.ndarray | None:
        """Return an operand as a NumPy array if it is constant."""
        x = self.inputs[i]
        return known(x, self.dtypes[i]) if isinstance(x, np.ndarray) and is_constant(x) else None

    def folded(self, fold: Callable) -> np.ndarray | None:
        """Fold an operation on two constant integer arrays with NumPy, if they are long.

        Such arrays are, for example, indices of matrix entries.
        """
        if self.dtypes[0].kind not in "iu" or math.prod(self.outputs[0].shape) < MOST_LOADED:
            return None
        x, y = self.known(0), self.known(1)
        return None if x is None or y is None else constants(fold(x, y))

    @property
    def in_memory(self) -> bool:
        """Return whether any operand is in memory."""
        return any(isinstance(x, Memory) for x in self.inputs)

    def may_overwrite(self, i: int) -> bool:
        """Return whether the memory of an operand may be overwritten, as nothing else needs it."""
        x = self.inputs[i]
        if not isinstance(x, Memory) or not x.buffer.mutable or x.repeats:
            return False
        others = [y for j, y in enumerate(self.inputs) if j != i and isinstance(y, Memory)]
        shared = any(y.buffer is x.buffer for y in others)
        return not shared and x.buffer.live <= int(self.last[i])


@contextlib.contextmanager
def written_out(b: Builder) -> Iterator[None]:
    """Disable loop rolling in a region, in which every sum with a product is fused."""
    before = b.least_alike, b.fuses_pairs
    b.least_alike, b.fuses_pairs = math.inf, True
    try:
        yield
    finally:
        b.least_alike, b.fuses_pairs = before


def emit(b: Builder, closed: ClosedJaxpr, arguments: Sequence[Scalars | Memory]) -> list:
    """Emit a traced program without side effects and return its results."""
    return emit_jaxpr(b, closed.jaxpr, closed.consts, arguments)


def emit_jaxpr(
    b: Builder,
    jaxpr: Jaxpr,
    consts: Sequence,
    arguments: Sequence,
    needed: Sequence[bool] | None = None,
) -> list:
    """Emit the live part of a program and return its results.

    Args:
        needed: which results are read, by default all; the others may be placeholders.
    """
    if b.count > MOST_INSTRUCTIONS:
        raise NotNativeError(f"more than {MOST_INSTRUCTIONS} operations")
    plan = _planned(jaxpr, (True,) * len(jaxpr.outvars) if needed is None else tuple(needed))
    environment: dict[Any, Scalars | Memory] = {}

    def bind(variable, value) -> None:
        environment[variable] = value
        if isinstance(value, Memory):
            value.buffer.live += 1

    def read(x) -> Scalars | Memory:
        if isinstance(x, Literal):
            return constants(np.asarray(x.val, _aval(x).dtype))
        return environment[x] if x in environment else _unread(_aval(x).shape)

    for variable, value in zip(jaxpr.constvars, consts, strict=True):
        bind(variable, constants(np.asarray(value)))
    for variable, value in zip(jaxpr.invars, arguments, strict=True):
        bind(variable, value)

    for eqn, finished, *about in plan.operations:
        results = _ruled(
            Call(b, eqn.primitive.name, eqn.params, [read(x) for x in eqn.invars], *about)
        )
        for variable, value in zip(eqn.outvars, results, strict=True):
            if value.shape != _aval(variable).shape:
                raise AssertionError(f"{eqn.primitive.name}: {value.shape} is not {variable.aval}")
            bind(variable, value)
        for variable in finished:
            value = environment.pop(variable, None)
            if isinstance(value, Memory):
                value.buffer.live -= 1
    results = [read(x) for x in jaxpr.outvars]
    for value in environment.values():
        if isinstance(value, Memory):
            value.buffer.live -= 1
    return results


def _unread(shape: tuple[int, ...]) -> Scalars:
    """Placeholder of an array that is not read."""
    return np.broadcast_to(np.array(0.0, object), shape)


class _Plan(NamedTuple):
    """Liveness analysis of a program, kept because small programs are emitted hundreds of times.

    Attributes:
        operations: the live operations: each with the variables whose last use it is, and the
            last five attributes of its `Call`.
        read: which arguments of the program they read.
    """

    operations: list[tuple]
    read: list[bool]


def _planned(jaxpr: Jaxpr, needed: tuple[bool, ...]) -> _Plan:
    if (known := _plans.get(jaxpr)) is None:
        known = _plans.keep(jaxpr, {})
    if needed not in known:
        known[needed] = _plan(jaxpr, needed)
    return known[needed]


def _plan(jaxpr: Jaxpr, results: tuple[bool, ...]) -> _Plan:
    wanted = [x for x, each in zip(jaxpr.outvars, results, strict=True) if each]
    eqns, live = _live(jaxpr, wanted)
    last, plan = _last_uses(eqns, wanted), []
    for k, eqn in enumerate(eqns):
        ends = [
            not isinstance(x, Literal) and last.get(x, -1) == k and x not in eqn.invars[:i]
            for i, x in enumerate(eqn.invars)
        ]
        finished = [x for x, end in zip(eqn.invars, ends, strict=True) if end]
        finished += [x for x in eqn.outvars if last.get(x, -1) < 0]
        shapes = [_aval(x).shape for x in eqn.invars]
        needed = [last.get(x, -1) >= 0 for x in eqn.outvars]
        dtypes, outputs = [_aval(x).dtype for x in eqn.invars], [x.aval for x in eqn.outvars]
        plan.append((eqn, finished, dtypes, shapes, outputs, ends, needed))
    return _Plan(plan, [x in live for x in jaxpr.invars])


def _live(jaxpr: Jaxpr, wanted: Sequence) -> tuple[list, set]:
    """Return the live operations for the wanted results, and the variables that these read.

    In some programs a third of the traced operations is dead.
    """
    live = {x for x in wanted if not isinstance(x, Literal)}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        needed = tuple(x in live for x in eqn.outvars)
        if any(needed) or eqn.effects:
            eqns.append(eqn)
            pairs = zip(eqn.invars, _reads(eqn, needed), strict=True)
            live |= {x for x, each in pairs if each and not isinstance(x, Literal)}
    return eqns[::-1], live


def _reads(eqn: JaxprEqn, needed: tuple[bool, ...]) -> Sequence[bool]:
    """Return which operands an operation reads for the needed results."""
    name = str(eqn.params.get("name", ""))
    # An inner program with a lowering rule of its own reads all operands.
    if eqn.primitive.name in ("jit", "pjit") and not name.startswith(OURS):
        return _planned(eqn.params["jaxpr"].jaxpr, needed).read
    return (True,) * len(eqn.invars)


_plans: ByIdentity[dict[tuple[bool, ...], _Plan]] = ByIdentity()


def _aval(x: Any) -> Any:
    """Shape and type of a variable, which JAX's annotations do not declare."""
    return x.aval


def _ruled(call: Call) -> list:
    try:
        function = RULES[call.name]
    except KeyError:
        raise NotNativeError(f"the operation {call.name}") from None
    found = function(call)
    return found if isinstance(found, list) else [found]


def _last_uses(eqns: Sequence, wanted: Sequence) -> dict[Any, int]:
    """Number of the last operation that uses each variable; results are used at the end."""
    last: dict[Any, int] = {}
    for k, eqn in enumerate(eqns):
        for x in eqn.invars:
            if not isinstance(x, Literal):
                last[x] = k
    for x in wanted:
        if not isinstance(x, Literal):
            last[x] = len(eqns)
    return last


def released(call: Call) -> None:
    """Release the operands that an inner program takes over, before it is emitted.

    A call's operands whose last use it is belong to the inner program, which may then overwrite
    their memory; `retained` restores the count for the outer walk, which releases them itself.
    """
    for x, end in zip(call.inputs, call.last, strict=True):
        if end and isinstance(x, Memory):
            x.buffer.live -= 1


def retained(call: Call) -> None:
    """Undo `released` after an inner program."""
    for x, end in zip(call.inputs, call.last, strict=True):
        if end and isinstance(x, Memory):
            x.buffer.live += 1


def _programs(eqn: JaxprEqn) -> Iterator[Jaxpr]:
    """Yield the inner programs of an operation that are emitted."""
    for x in eqn.params.values():
        for each in x if isinstance(x, (tuple, list)) else (x,):
            if isinstance(each, (ClosedJaxpr, Jaxpr)):
                yield each.jaxpr if isinstance(each, ClosedJaxpr) else each


def operations(jaxpr: Jaxpr) -> float:
    """Upper bound of a program's floating-point operations; a loop counts one iteration."""
    if (known := _counts.get(jaxpr)) is not None:
        return known
    count = 0.0
    for eqn in jaxpr.eqns:
        inner = [operations(x) for x in _programs(eqn)]
        sizes = [math.prod(_aval(x).shape) for x in (*eqn.invars, *eqn.outvars)]
        if inner:
            count += sum(inner)
        elif (name := eqn.primitive.name) in PRODUCTS:  # products of n × n matrices: n³
            count += max(math.sqrt(math.prod(sizes)), max(sizes) ** 1.5)
        else:
            count += max(sizes, default=0) * (OF_A_SINE if name in LONG else 1)
    return _counts.keep(jaxpr, count)


PRODUCTS = ("dot_general", "cholesky", "triangular_solve", "lu")
LONG, OF_A_SINE = ("sin", "cos", "tan"), 40

_counts: ByIdentity[float] = ByIdentity()
