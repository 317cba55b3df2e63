"""Reductions of many elements in loops over SIMD registers."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

from zwang.native.blocks import is_wide
from zwang.native.builder import Builder
from zwang.native.instructions import Operand, Value
from zwang.native.rolled import SIDE_BY_SIDE, as_read, source


def accumulated(
    b: Builder,
    type_: str,
    combine: Callable[..., Operand],
    join: Callable[[Operand, Operand], Operand],
    neutral: Operand,
    operands: Sequence[Sequence[Value]],
) -> Operand:
    """Reduce many elements to one result with `SIDE_BY_SIDE` partial results.

    Partial result k takes every eighth element from element k on. The partial results are then
    joined, and the remaining elements are combined with that one by one.

    Args:
        combine: `(found, *operands) → found`, adds an element to a partial result.
        join: combines two partial results.
        neutral: the partial result before the first element.
        operands: for each operand of `combine` its values, one for each element.
    """
    count, wide = len(operands[0]) // SIDE_BY_SIDE * SIDE_BY_SIDE, b.spans
    if not b.rolls:
        parts = [neutral] * SIDE_BY_SIDE
        for k, row in enumerate(zip(*operands, strict=True)):
            if k < count:
                read = (as_read(b, type_, x) for x in row)
                parts[k % SIDE_BY_SIDE] = combine(parts[k % SIDE_BY_SIDE], *read)
        return _joined(combine, join, parts, operands, count)
    step = SIDE_BY_SIDE if wide else 1
    sources = [source(b, type_, x[:count], step) for x in operands]
    differ = any(is_wide(x) for column in operands for x in column)
    before, turn, after = b.block, b.new_block(), b.new_block()
    b.jump(turn)
    b.begin(turn)
    with b.scope(), b.spanned(step):
        i = b.phi("i64")
        found = [b.phi(type_, wide or differ) for _ in range(1 if wide else SIDE_BY_SIDE)]
        at = lambda k: b.integer("add", "i64", i, k, operator.add)
        parts = [combine(x, *(of.read(at(k)) for of in sources)) for k, x in enumerate(found)]
        following = b.shared("i64", "add", i, SIDE_BY_SIDE)
        going = b.shared("i1", "icmp slt", following, count, of="i64")
        for x, y in zip(found, parts, strict=True):
            b.incoming(x, (neutral, before), (y, b.block))
        b.incoming(i, (0, before), (following, b.block))
        b.branch(going, turn, after)
    b.begin(after)
    if wide:
        total = parts[0]
        assert type(total) is Value
        parts = [b.lane(total, k) for k in range(SIDE_BY_SIDE)]
    return _joined(combine, join, parts, operands, count)


def _joined(
    combine: Callable, join: Callable, parts: list, operands: Sequence, count: int
) -> Operand:
    """Join the partial results, then combine the elements from `count` on."""
    result = functools.reduce(join, parts)
    for row in zip(*(x[count:] for x in operands), strict=True):
        result = combine(result, *row)
    return result
