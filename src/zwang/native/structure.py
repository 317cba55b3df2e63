"""Structured control flow: the basic blocks of a function as nested loops and blocks.

WebAssembly has these in place of jumps. A block with several predecessors follows a nested block
that ends in front of it, and each predecessor branches out of that nested block. A loop header is
the beginning of a loop, and a back edge branches to it.

Reference: N. Ramsey, Beyond Relooper (2022), doi:10.1145/3547621.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from zwang.native.instructions import Block


class Frame(NamedTuple):
    """An enclosing construct and the target of a branch out of it.

    For a loop the branch goes to its beginning. The target is None if nothing branches there.
    """

    target: Block | None
    is_loop: bool
    around: Frame | None


class Nesting:
    """Basic blocks in nested constructs.

    Args:
        blocks: of a function in reverse postorder: each after its predecessors, except for back
            edges.
    """

    def __init__(self, blocks: list[Block]):
        self.place = {block: k for k, block in enumerate(blocks)}
        before: dict[Block, list[Block]] = {block: [] for block in blocks}
        for block in blocks:
            for target in targets(block):
                before[target].append(block)
        forward = {x: [y for y in before[x] if self.place[y] < self.place[x]] for x in blocks}
        self.loops = {x for x in blocks if len(forward[x]) < len(before[x])}
        self.merges = {x for x in blocks if len(set(forward[x])) > 1}
        above: dict[Block, Block] = {}
        self.below: dict[Block, list[Block]] = {x: [] for x in blocks}
        for x in blocks[1:]:
            first, *others = forward[x]
            for other in others:
                first = self._common(above, first, other)
            above[x] = first
            self.below[first].append(x)

    def _common(self, above: dict[Block, Block], x: Block, y: Block) -> Block:
        """The nearest common dominator of two blocks."""
        while x is not y:
            if self.place[x] > self.place[y]:
                x = above[x]
            else:
                y = above[y]
        return x

    def depth(self, frame: Frame | None, target: Block, is_loop: bool) -> int:
        """Number of constructs that a branch leaves."""
        found = 0
        while frame is not None:
            if frame.target is target and frame.is_loop == is_loop:
                return found
            frame, found = frame.around, found + 1
        raise AssertionError(f"{target.label} is not around")

    def written(self, first: Block, write: Writing) -> list:
        """The nested code of a function from its entry block on."""
        found: list = []
        waiting: list[Any] = [lambda: self._tree(first, None, write)]
        # An explicit stack replaces recursion, as functions may have thousands of blocks in a row.
        while waiting:
            part = waiting.pop()
            if callable(part):
                more: Any = part()
                waiting += reversed(more)
            else:
                found.append(part)
        return found

    def _tree(self, x: Block, frame: Frame | None, write: Writing) -> list:
        later = [y for y in self.below[x] if y in self.merges]
        parts: list = []
        if x in self.loops:
            parts.append(write.loop)
            frame = Frame(x, True, frame)
        for y in reversed(later):
            parts.append(write.block)
            frame = Frame(y, False, frame)
        parts.append(lambda inner=frame: self._body(x, inner, write))
        for y in later:
            assert frame is not None
            frame = frame.around
            parts += [write.end, lambda y=y, outer=frame: self._tree(y, outer, write)]
        return [*parts, write.end] if x in self.loops else parts

    def _body(self, x: Block, frame: Frame | None, write: Writing) -> list:
        parts: list = [write.instructions(x)]
        if x.end is None:
            return [*parts, write.finish]
        if len(x.end[1]) == 1:
            return [*parts, *self._way(x, x.end[1][0], frame, write)]
        condition, yes, no = x.end[1]
        inner = Frame(None, False, frame)
        first = self._way(x, yes, inner, write)
        second = self._way(x, no, inner, write)
        return [*parts, write.choice(condition), *first, write.otherwise, *second, write.end]

    def _way(self, x: Block, target: Block, frame: Frame | None, write: Writing) -> list:
        moved = write.moves(x, target)
        back = self.place[target] <= self.place[x]
        if back or target in self.merges:
            return [moved, write.jump(self.depth(frame, target, back))]
        return [moved, lambda: self._tree(target, frame, write)]


class Writing(NamedTuple):
    """Writers of the parts of a function, each a tuple: constant parts, and the code of blocks."""

    block: tuple
    loop: tuple
    otherwise: tuple
    end: tuple
    finish: tuple
    instructions: Callable[[Block], tuple]
    choice: Callable[[object], tuple]
    jump: Callable[[int], tuple]
    moves: Callable[[Block, Block], tuple]


def targets(block: Block) -> list[Block]:
    """The successors of a block."""
    if block.end is None:
        return []
    return [x for x in block.end[1] if isinstance(x, Block)]
