"""Loops and branches as basic blocks.

Small arrays that a loop carries are held in registers. Arrays that are large, or that have indices
unknown at compile time, are in memory and are updated in place.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from numpy.typing import DTypeLike

from zwang.native.arrays import (
    Elements,
    Memory,
    Scalars,
    assign,
    each,
    element,
    fill,
    is_constant,
    loop,
    memory,
    new_memory,
    scalar,
    scalars,
    take_axis,
)
from zwang.native.blocks import is_wide
from zwang.native.builder import Builder, Value
from zwang.native.instructions import Operand
from zwang.native.rules.calls import inner
from zwang.native.rules.carried import MOST_CARRIED, Carried, hold
from zwang.native.rules.varying import varying_carry
from zwang.native.types import register_type
from zwang.native.walk import Call, emit_jaxpr, rule
from zwang.objects.by_identity import ByIdentity

MOST_UNROLLED_TURNS, MOST_UNROLLED_OPERATIONS = 4, 400
"""A `scan` is unrolled if all its iterations have at most `MOST_UNROLLED_OPERATIONS`, or
`ALLOWED_OF_FEW` times as many if it has at most `MOST_UNROLLED_TURNS` iterations."""
ALLOWED_OF_FEW = 4
INDEXED = {
    "dynamic_slice": slice(1, None),
    "dynamic_update_slice": slice(2, None),
    **dict.fromkeys(["gather", "scatter", "scatter-add", "scatter_add"], slice(1, 2)),
    **dict.fromkeys(["scatter-mul", "scatter_mul", "scatter-min", "scatter-max"], slice(1, 2)),
}
"""Operations whose first operand is in memory if their indices, at these operands, are unknown."""


def indexed(jaxpr: Jaxpr, constant: Sequence[bool] = ()) -> set[int]:
    """Return the inputs of a program that it indexes by values unknown at compile time.

    Args:
        constant: which inputs are constants.
    """
    if not _may_index(jaxpr):
        return set()
    origin = {variable: i for i, variable in enumerate(jaxpr.invars)}
    known = {x for x, is_known in zip(jaxpr.invars, constant, strict=False) if is_known}
    known |= set(jaxpr.constvars)
    found: set[int] = set()
    for eqn in jaxpr.eqns:
        sources = [None if isinstance(x, Literal) else origin.get(x) for x in eqn.invars]
        are_known = [isinstance(x, Literal) or x in known for x in eqn.invars]
        name = eqn.primitive.name
        programs = _inner_programs(eqn)
        if name in INDEXED and sources[0] is not None and not all(are_known[INDEXED[name]]):
            found.add(sources[0])
        for program, first in programs:
            # carried variables do not stay constant
            end = {"while": "body_nconsts", "scan": "num_consts"}.get(name)
            fixed = are_known[first : None if end is None else first + eqn.params[end]]
            for i in indexed(program, fixed):
                if (k := sources[first + i] if first + i < len(sources) else None) is not None:
                    found.add(k)
        if all(are_known) and name not in ("while", "scan", "cond"):
            known |= set(eqn.outvars)
        if name in MOVES:
            for source, moved in zip(sources, eqn.outvars, strict=True):
                if source is not None:
                    origin[moved] = source
        if name in ("dynamic_update_slice", "scatter") and sources[0] is not None:
            origin[eqn.outvars[0]] = sources[0]
    return found


_indexing: ByIdentity[bool] = ByIdentity()


def _may_index(jaxpr: Jaxpr) -> bool:
    """Return whether any operation of a program has an index."""
    if (known := _indexing.get(jaxpr)) is None:
        own = any(x.primitive.name in INDEXED for x in jaxpr.eqns)
        inner = (program for x in jaxpr.eqns for program, _ in _inner_programs(x))
        known = _indexing.keep(jaxpr, own or any(map(_may_index, inner)))
    return known


def placed(b: Builder, arrays: Sequence, dtypes: Sequence, needed: set[int]) -> list:
    """Move to memory the arrays that an inner program indexes by unknown values."""
    return [
        memory(b, x, dtypes[i]) if i in needed and x.size > 1 else x for i, x in enumerate(arrays)
    ]


def _are_constant(arrays: Sequence) -> list[bool]:
    return [is_constant(x) for x in arrays]


MOVES = {
    "reshape",
    "squeeze",
    "expand_dims",
    "transpose",
    "stop_gradient",
    "copy",
    "optimization_barrier",
    "layout_constraint",
}


def _inner_programs(eqn: JaxprEqn) -> list[tuple[Jaxpr, int]]:
    """Yield the inner programs of an operation, each with the operand that is its first input."""
    p, name = eqn.params, eqn.primitive.name
    plain = lambda x: x.jaxpr if isinstance(x, ClosedJaxpr) else x
    if name == "while":
        consts = p["cond_nconsts"]
        return [(plain(p["body_jaxpr"]), consts)]
    if name == "cond":
        return [(plain(x), 1) for x in p["branches"]]
    # also of `checkpoint`, whose content would count for nothing
    return [(plain(p[x]), 0) for x in ("jaxpr", "call_jaxpr") if x in p][:1]


@rule("while")
def while_loop(call: Call) -> list:
    b, p = call.builder, call.params
    condition, body = p["cond_jaxpr"], p["body_jaxpr"]
    of_condition, of_body = p["cond_nconsts"], p["body_nconsts"]
    first = call.inputs[:of_condition]
    second = call.inputs[of_condition : of_condition + of_body]
    start, dtypes = call.inputs[of_condition + of_body :], call.dtypes[of_condition + of_body :]
    found = indexed(body.jaxpr, _are_constant(second))
    second = placed(b, second, call.dtypes[of_condition:], found)
    in_condition = indexed(condition.jaxpr, _are_constant(first))
    first = placed(b, first, call.dtypes, in_condition)
    in_memory = {i - of_body for i in found if i >= of_body}
    in_memory |= {i - of_condition for i in in_condition if i >= of_condition}
    wide = varying_carry(b, call.params, [*first, *second], start)
    state = Carried(b, start, dtypes, in_memory, wide)

    before, head, turn, after = b.block, b.new_block(), b.new_block(), b.new_block()
    b.jump(head)
    b.begin(head)
    with b.scope(repeated=True):
        carry = state.begin(before)
        hold(carry, 1)
        (going,) = emit_jaxpr(b, condition.jaxpr, condition.consts, [*first, *carry])
        going = scalars(b, going)
        anyone = functools.reduce(lambda x, y: b.logic("or", x, y), going.reshape(-1), False)
        # Lanes whose loop has ended keep their state while others continue.
        active = b.active(anyone) if is_wide(anyone) else None
        b.branch(anyone if active is None else b.any(active), turn, after)
        b.begin(turn)
        with b.scope(), b.masked(b.mask if active is None else active):
            # Batch members under `vmap` whose loop has ended keep their state.
            ends = going.ndim > 0
            hold(carry, -1 + ends)
            results = emit_jaxpr(b, body.jaxpr, body.consts, [*second, *carry])
            hold(carry, 1 - ends)
            if ends:
                pairs = zip(results, carry, dtypes, strict=True)
                results = [_of_those_that_go_on(b, going, *pair) for pair in pairs]
            state.turn(results, active)
            b.jump(head)
    hold(carry, -1)
    b.begin(after)
    return carry


def _of_those_that_go_on(
    b: Builder, going: Scalars, new: Elements, old: Elements, dtype: DTypeLike
) -> Elements:
    """Select between new and old state by batch member after an iteration under `vmap`."""
    t, dtype = register_type(dtype), np.dtype(dtype)
    if isinstance(new, np.ndarray) and isinstance(old, np.ndarray):
        wide = going.reshape(going.shape + (1,) * (new.ndim - going.ndim))
        choice = lambda which, x, y: b.select(t, which, x, y)
        return each(b, choice, [wide, new, old], ["i1", t, t], t)
    new, old = memory(b, new, dtype), memory(b, old, dtype)
    target = new_memory(b, dtype, new.shape)
    for where in np.ndindex(*going.shape):
        which = going.item(*where)

        def at(index: tuple, where=where, which=which) -> None:
            i = (*where, *index)
            chosen = b.select(t, which, element(b, new, i), element(b, old, i))
            assign(b, target, i, chosen)

        loop(b, new.shape[going.ndim :], at)
    return target


@rule("cond")
def branch(call: Call) -> list:
    b, branches = call.builder, call.params["branches"]
    which, inputs = scalars(b, call.inputs[0]).item(), call.inputs[1:]
    if type(which) is not Value:
        k = min(max(int(which), 0), len(branches) - 1)
        return inner(call, branches[k], inputs)
    t, outputs = register_type(call.dtypes[0]), call.outputs
    needed = set().union(*(indexed(x.jaxpr, _are_constant(inputs)) for x in branches))
    inputs = placed(b, inputs, call.dtypes[1:], needed)
    results = [
        np.empty(x.shape, object)
        if math.prod(x.shape) <= MOST_CARRIED
        else new_memory(b, x.dtype, x.shape)
        for x in outputs
    ]
    if is_wide(which):
        return _branch_of_lanes(call, which, inputs, results)
    after, ends = b.new_block(), []
    for k, program in enumerate(branches):
        here, onward = b.new_block(), b.new_block()
        if k == len(branches) - 1:
            b.jump(here)
        elif t == "i1":  # a truth value: the first branch is that of False
            b.branch(which, onward, here)
        else:
            b.branch(_takes(b, t, which, k, len(branches)), here, onward)
        b.begin(here)
        with b.scope():
            found = emit_jaxpr(b, program.jaxpr, program.consts, inputs)
            for place, x in zip(results, found, strict=True):
                if isinstance(place, Memory):
                    fill(b, place, x)
            values = [
                scalars(b, x) if isinstance(place, np.ndarray) else None
                for place, x in zip(results, found, strict=True)
            ]
            b.jump(after)
            ends.append((values, b.block))
        if k < len(branches) - 1:
            b.begin(onward)
    b.begin(after)
    for i, place in enumerate(results):
        if isinstance(place, np.ndarray):
            results[i] = _met(b, register_type(outputs[i].dtype), i, place, ends)
    return results


def _takes(b: Builder, t: str, which: Value, k: int, ways: int) -> Operand:
    """Return whether a number selects branch k; out of range, the first or last is taken."""
    ends = {ways - 1: ("sge", operator.ge), 0: ("sle", operator.le)}
    predicate, fold = ends.get(k, ("eq", operator.eq))
    return b.compare(predicate, t, which, k, fold)


def _branch_of_lanes(call: Call, which: Value, inputs: Sequence, results: list) -> list:
    """Emit all branches that any lane takes, one after the other, each masked to its lanes."""
    b, branches = call.builder, call.params["branches"]
    t = register_type(call.dtypes[0])
    for k, program in enumerate(branches):
        if t == "i1":
            mine = which if k else b.logic("xor", which, True)
        else:
            mine = _takes(b, t, which, k, len(branches))
        active = b.active(mine)
        before, here, after = b.block, b.new_block(), b.new_block()
        b.branch(b.any(active), here, after)
        b.begin(here)
        with b.scope(), b.masked(active):
            found = emit_jaxpr(b, program.jaxpr, program.consts, inputs)
            for place, x in zip(results, found, strict=True):
                if isinstance(place, Memory):
                    fill(b, place, x)
            chosen = [
                _chosen(b, x.dtype, active, scalars(b, new), old) if k else scalars(b, new)
                for x, new, old in zip(call.outputs, found, results, strict=True)
                if isinstance(old, np.ndarray)
            ]
            b.jump(after)
            end = b.block
        b.begin(after)
        given = iter(chosen)
        for i, (old, like) in enumerate(zip(results, call.outputs, strict=True)):
            if isinstance(old, np.ndarray):
                without = old if k else np.full(old.shape, ANY[np.dtype(like.dtype).kind], object)
                ways = [([without], before), ([next(given)], end)]
                results[i] = _met(b, register_type(like.dtype), 0, np.empty_like(old), ways, True)
    return results


ANY = {"f": 0.0, "b": False, "i": 0, "u": 0}
"""A harmless number of each kind, for inactive lanes."""


def _chosen(b: Builder, dtype: DTypeLike, which: Operand, yes: Scalars, no: Scalars) -> Scalars:
    t = register_type(dtype)
    return each(b, lambda x, y: b.select(t, which, x, y), [yes, no], [t, t], t)


def _met(b: Builder, t: str, i: int, place: Scalars, ends: list, wide: bool = False) -> Scalars:
    """Merge scalars after a branch: a phi where the branches differ."""
    flat = place.reshape(-1)
    ways = [(values[i].reshape(-1), block) for values, block in ends]
    for k in range(place.size):
        options = [(values[k], block) for values, block in ways]
        first = options[0][0]
        if type(first) is Value and all(x is first for x, _ in options):
            flat[k] = first
            continue
        flat[k] = phi = b.phi(t, wide or any(is_wide(x) for x, _ in options))
        b.incoming(phi, *options)
    return flat.reshape(place.shape)


@rule("scan")
def scan(call: Call) -> list:
    p = call.params
    program, length, reverse = p["jaxpr"], p["length"], p["reverse"]
    constants, carried = p["num_consts"], p["num_carry"]
    operations = length * _operations(program.jaxpr)
    few = length <= MOST_UNROLLED_TURNS
    if length == 1 or operations <= MOST_UNROLLED_OPERATIONS * (ALLOWED_OF_FEW if few else 1):
        return _turn_by_turn(call, program, length, reverse, constants, carried)
    b = call.builder
    needed = indexed(program.jaxpr, _are_constant(call.inputs[:constants]))
    consts = placed(b, call.inputs[:constants], call.dtypes, needed)
    start = call.inputs[constants : constants + carried]
    rows = [
        memory(b, x, dtype)
        for x, dtype in zip(
            call.inputs[constants + carried :], call.dtypes[constants + carried :], strict=True
        )
    ]
    columns = [new_memory(b, x.dtype, x.shape) for x in call.outputs[carried:]]
    in_memory = {i - constants for i in needed if constants <= i < constants + carried}
    dtypes = call.dtypes[constants : constants + carried]
    wide = varying_carry(b, call.params, consts, start, rows)
    state = Carried(b, start, dtypes, in_memory, wide)

    before, turn, after = b.block, b.new_block(), b.new_block()
    b.jump(turn)
    b.begin(turn)
    with b.scope(repeated=True):
        counter = b.phi("i64")
        carry = state.begin(before)
        k = b.shared("i64", "sub", length - 1, counter) if reverse else counter
        items = [_row(call, x, k) for x in rows]
        found = emit_jaxpr(b, program.jaxpr, program.consts, [*consts, *carry, *items])
        hold(carry, 1)
        for column, x in zip(columns, found[carried:], strict=True):
            wide = x.reshape((1, *x.shape)) if isinstance(x, np.ndarray) else _first_axis(x)
            fill(b, take_axis(column, 0, k, 1, b), wide)
        state.turn(found[:carried])
        following = b.shared("i64", "add", counter, 1)
        going = b.shared("i1", "icmp slt", following, length, of="i64")
        b.incoming(counter, (0, before), (following, b.block))
        end = b.block
        b.branch(going, turn, after)
        # the values after the last iteration, not those at its beginning
        final = [slot if isinstance(slot, Memory) else _after(slot) for slot in state.slots]
        del end
    hold(carry, -1)
    b.begin(after)
    return [*final, *columns]


def _after(slot: Scalars) -> Scalars:
    """Values that the phis of a loop header have after the last iteration."""
    found = np.empty(slot.shape, object)
    flat = found.reshape(-1)
    flat[:] = [phi.operands[1][0] for phi in slot.reshape(-1)]
    return found


def _row(call: Call, x: Memory, k: Operand) -> Elements:
    row = take_axis(x, 0, k, 1, call.builder)
    found = Memory(row.buffer, row.dtype, row.shape[1:], row.strides[1:], row.offset)
    return scalars(call.builder, found) if found.size <= MOST_CARRIED else found


def _first_axis(x: Memory) -> Memory:
    return Memory(x.buffer, x.dtype, (1, *x.shape), (1, *x.strides), x.offset)


def _turn_by_turn(call: Call, program, length, reverse, constants, carried) -> list:
    b = call.builder
    consts = call.inputs[:constants]
    carry = call.inputs[constants : constants + carried]
    rows = call.inputs[constants + carried :]
    found: list = [None] * length
    for k in range(length - 1, -1, -1) if reverse else range(length):
        items = [
            x[k]
            if isinstance(x, np.ndarray) and x.ndim > 1
            else scalar(x[k])
            if isinstance(x, np.ndarray)
            else _row(call, x, k)
            for x in rows
        ]
        out = emit_jaxpr(b, program.jaxpr, program.consts, [*consts, *carry, *items])
        carry, found[k] = out[:carried], out[carried:]
    columns = []
    for i, like in enumerate(call.outputs[carried:]):
        column = np.empty(like.shape, object)
        for k in range(length):
            column[k] = scalars(b, found[k][i]) if like.ndim > 1 else scalars(b, found[k][i]).item()
        columns.append(column)
    return [*carry, *columns]


def _operations(jaxpr: Jaxpr) -> int:
    """Number of operations of a program, each counted once for each element."""
    count = 0
    for eqn in jaxpr.eqns:
        programs = _inner_programs(eqn)
        if programs:
            count += sum(_operations(x) for x, _ in programs)
        else:
            count += sum(math.prod(getattr(x.aval, "shape", ())) for x in eqn.outvars)
    return count
