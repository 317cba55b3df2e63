"""The state that a loop carries from iteration to iteration, in registers or in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from zwang.native.arrays import Elements, Memory, Scalars, fill, new_memory, scalars
from zwang.native.builder import Builder, Value
from zwang.native.instructions import Block, Operand
from zwang.native.types import register_type

MOST_CARRIED = 64
"""Number of elements up to which a carried array is held in registers."""


class Carried:
    """The carried state of a loop: for each array phis in registers, or memory.

    Args:
        start: the arrays before the first iteration.
        in_memory: which of them have indices that are unknown at compile time.
        wide: which of them may differ between lanes.
    """

    def __init__(
        self, b: Builder, start: Sequence, dtypes: Sequence, in_memory: set[int], wide: Sequence
    ):
        self.b, self.dtypes, self._wide = b, dtypes, wide
        self.slots: list[Elements] = []
        self._start: list[Scalars] = []
        for i, (x, dtype) in enumerate(zip(start, dtypes, strict=True)):
            size = math.prod(x.shape)
            if (i in in_memory and size > 1) or size > MOST_CARRIED:
                place = new_memory(b, dtype, x.shape)
                fill(b, place, x)
                self.slots.append(place)
                self._start.append(np.empty(0, object))
            else:
                self.slots.append(np.empty(x.shape, object))
                self._start.append(scalars(b, x))

    def begin(self, before: Block) -> list:
        """Create the phis in the loop header, entered from the block `before`."""
        self._before = before
        for slot, dtype, wide in zip(self.slots, self.dtypes, self._wide, strict=True):
            if isinstance(slot, np.ndarray):
                flat = [self.b.phi(register_type(dtype), wide) for _ in range(slot.size)]
                slot.reshape(-1)[:] = flat
        return list(self.slots)

    def turn(self, new: Sequence, going: Operand | None = None) -> None:
        """Update the state at the end of the loop's last block.

        Args:
            going: the lanes that have executed the iteration; other lanes keep their state.
        """
        b = self.b
        # Everything is read from the state's memory before any of it is written.
        moved = [
            None if x is slot or not isinstance(slot, Memory) else _detached(b, x, self.slots)
            for x, slot in zip(new, self.slots, strict=True)
        ]
        ends = [
            scalars(b, x) if isinstance(slot, np.ndarray) else None
            for x, slot in zip(new, self.slots, strict=True)
        ]
        for x, slot in zip(moved, self.slots, strict=True):
            if x is not None and isinstance(slot, Memory) and not _same_place(x, slot):
                fill(b, slot, x)
        for slot, first, end in zip(self.slots, self._start, ends, strict=True):
            if end is not None and isinstance(slot, np.ndarray):
                rows = zip(slot.reshape(-1), first.reshape(-1), end.reshape(-1), strict=True)
                for phi, before, after in rows:
                    kept = after if going is None else b.select(phi.type, going, after, phi)
                    b.incoming(phi, (before, self._before), (kept, b.block))


def _same_place(x: Elements, slot: Memory) -> bool:
    return (
        isinstance(x, Memory)
        and x.buffer is slot.buffer
        and x.strides == slot.strides
        and type(x.offset) is not Value
        and x.offset == slot.offset
    )


def _detached(b: Builder, x: Elements, slots: Sequence) -> Elements:
    """Copy an array if writing to the loop's state would change it."""
    if isinstance(x, np.ndarray):
        return x
    own = [s for s in slots if isinstance(s, Memory) and s.buffer is x.buffer]
    if not own or any(_same_place(x, s) for s in own):
        # Its own slot needs no copy; another array's slot may be overwritten before it is read.
        if not own or len([s for s in slots if isinstance(s, Memory)]) == 1:
            return x
    copy = new_memory(b, x.dtype, x.shape)
    fill(b, copy, x)
    return copy


def hold(arrays: Sequence, by: int) -> None:
    """Add the loop to the users of its memory, or remove it."""
    for x in arrays:
        if isinstance(x, Memory):
            x.buffer.live += by
