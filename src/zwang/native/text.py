"""LLVM IR of a function, with dead code eliminated."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from zwang.native.builder import Builder
from zwang.native.instructions import Block, Operand, Value
from zwang.native.module import Function
from zwang.native.rolled import SIDE_BY_SIDE
from zwang.native.translate import STEADY
from zwang.native.types import BITS, constant_text

STORES = ("store ", "scatter ")
EFFECTS = (*STORES, "do ", "leave ")
"""Prefixes of operations that write memory."""


def used(b: Builder, read: Sequence[Value] = ()) -> set[Value]:
    """Return the live values: those that results, memory writes or control flow depend on.

    A write to a workspace array is live if something reads the array, or if it is one of `read`.
    """
    waiting: list[Operand] = [*read]
    written: dict[Value, list[Value]] = {}
    effects: dict[str, bool] = {}
    for block in b.blocks:
        going = [block.end[1][0]] if block.end is not None else []
        for x in block.instructions:
            if (has_effect := effects.get(x.operation)) is None:
                has_effect = effects[x.operation] = x.operation.startswith(EFFECTS)
            if not has_effect:
                continue
            with_it = [x, *going] if block.removable else [x]
            stores = x.operation.startswith(STORES)
            if stores and (array := _array(b, x.operands[1])) is not None:
                written.setdefault(array, []).extend(with_it)
            else:
                waiting += with_it
        if not block.removable:
            waiting += going
    found: set[Value] = set()
    while waiting:
        value = waiting.pop()
        if type(value) is not Value or value in found:
            continue
        found.add(value)
        waiting += written.pop(value, ())
        if value.operation == "phi":
            waiting += [x for x, _ in value.operands]
        elif value.operation != "named":
            waiting += value.operands
    for block in b.blocks:
        if block.removable and block.end is not None and block.end[1][0] not in found:
            block.end = "br", block.end[1][-1:]
    return found


def _array(b: Builder, pointer: Value) -> Value | None:
    """The workspace array that a pointer leads into."""
    while pointer not in b.buffers and pointer.operation.startswith("getelementptr"):
        pointer = pointer.operands[0]
    return pointer if pointer in b.buffers else None


def single_uses(b: Builder, needed: set[Value]) -> dict[Value, Block | None]:
    """For each value that is used once, the block of its use; None for other values."""
    found: dict[Value, Block | None] = {}

    def note(x: Operand, where: Block | None) -> None:
        if type(x) is Value:
            found[x] = None if x in found else where

    for block in b.blocks:
        for x in block.instructions:
            if x not in needed or x.operation == "named":
                continue
            for y in x.operands:
                note(y[0] if x.operation == "phi" else y, None if x.operation == "phi" else block)
        if block.end is not None and len(block.end[1]) > 1:
            note(block.end[1][0], block)
    return found


def transfers(block: Block, target: Block, needed: set[Value]) -> list[tuple[Value, Operand]]:
    """Phis of a successor that the edge from a block changes, with their operands."""
    phis = [x for x in target.instructions if x.operation == "phi" and x in needed]
    given = [next(y for y, way in x.operands if way is block) for x in phis]
    return [(x, y) for x, y in zip(phis, given, strict=True) if x is not y]


class Writer:
    """Printer of instructions as LLVM IR.

    Args:
        lanes: numbers of a wide register.
        aligned: whether wide registers in memory are aligned to their size, instead of to one
            element.

    Attributes:
        stored: elements of packs that are stored as soon as they are computed.
    """

    def __init__(self, lanes: int, aligned: bool):
        self.lanes, self.aligned = lanes, aligned
        self.stored: dict[Value, set[Value]] = {}
        self._ways: dict[str, tuple[str, str, Callable | None]] = {}

    def type(self, type_: str, wide: bool) -> str:
        return f"<{self.lanes} x {type_}>" if wide else type_

    def operand(self, type_: str, x: Operand | str, wide: bool = False) -> str:
        if type(x) is Value:
            return x.name
        if isinstance(x, str):
            return x
        text = constant_text(type_, x)
        return f"splat ({type_} {text})" if wide else text

    def line(self, x: Value) -> str:
        """Format an instruction, in one line or several."""
        if (known := self._ways.get(x.operation)) is None:
            name, _, rest = x.operation.partition(" ")
            known = self._ways[x.operation] = name, rest, getattr(self, f"_{name}", None)
        name, rest, own = known
        if own is not None:
            return own(x, rest, x.operands)
        given, t = x.operands, self.type(x.type, x.wide)
        first = self.operand(rest if len(given) == 1 else x.type, given[0], x.wide)
        if len(given) == 1:  # a conversion
            return f"{x.name} = {name} {self.type(rest, x.wide)} {first} to {t}"
        return f"{x.name} = {name} {t} {first}, {self.operand(x.type, given[1], x.wide)}"

    def _phi(self, x: Value, rest: str, given: tuple) -> str:
        ways = (f"[ {self.operand(x.type, v, x.wide)}, %{b.left_from} ]" for v, b in given)
        return f"{x.name} = phi {self.type(x.type, x.wide)} {', '.join(ways)}"

    def _store(self, x: Value, rest: str, given: tuple) -> str:
        stored, _, masked = rest.partition(" ")
        value = f"{self.type(stored, x.wide)} {self.operand(stored, given[0], x.wide)}"
        if not masked:
            return f"store {value}, ptr {given[1].name}{self.alignment(x, stored)}"
        suffix = f"{self._suffix(stored)}.p0"
        return (
            f"call void @llvm.masked.store.{suffix}({value}, ptr align 1 {given[1].name}, "
            f"{self._mask(given[2:])})"
        )

    def _scatter(self, x: Value, rest: str, given: tuple) -> str:
        value = f"{self.type(rest, True)} {self.operand(rest, given[0], True)}"
        places = f"{self.type('ptr', True)} align 1 {given[1].name}"
        name = f"@llvm.masked.scatter.{self._suffix(rest)}.{self._suffix('p0')}"
        return f"call void {name}({value}, {places}, {self._mask(given[2:])})"

    def _gather(self, x: Value, rest: str, given: tuple) -> str:
        t = self.type(x.type, True)
        places = f"{self.type('ptr', True)} align 1 {given[0].name}"
        name = f"@llvm.masked.gather.{self._suffix(x.type)}.{self._suffix('p0')}"
        return f"{x.name} = call {t} {name}({places}, {self._mask(())}, {t} poison)"

    def _mask(self, given: tuple) -> str:
        return f"{self.type('i1', True)} {given[0].name if given else 'splat (i1 true)'}"

    def _suffix(self, stored: str) -> str:
        short = {"double": "f64", "float": "f32"}.get(stored, stored)
        return f"v{self.lanes}{short}"

    def _do(self, x: Value, rest: str, given: tuple) -> str:
        pointers = ", ".join(f"ptr {y.name}" for y in given)
        return f'call void @"{rest}"({pointers})'

    def _load(self, x: Value, rest: str, given: tuple) -> str:
        place = f"ptr {given[0].name}{self.alignment(x, x.type)}"
        return f"{x.name} = load {self.type(x.type, x.wide)}, {place}"

    def _element(self, x: Value, rest: str, given: tuple) -> str:
        t, (base, k) = self.type(x.type, x.wide), given
        kind = f"[{self.lanes} x {x.type}]" if x.wide else x.type
        place = f"{x.name}_p = getelementptr {kind}, ptr {base.name}, i64 {k}\n  " if k else ""
        where = f"{x.name}_p" if k else base.name
        return f"{place}{x.name} = load {t}, ptr {where}{self.alignment(x, x.type)}"

    def alignment(self, x: Value, stored: str) -> str:
        return f", align {BITS[stored] // 8}" if x.wide and not self.aligned else ""

    def _getelementptr(self, x: Value, rest: str, given: tuple) -> str:
        base, indices = given[0], given[1:]
        wide = [type(i) is str or (type(i) is Value and i.wide) for i in indices]
        places = ", ".join(
            f"{self.type('i64', w)} {self.operand('i64', i)}"
            for i, w in zip(indices, wide, strict=True)
        )
        pointer = f"{self.type('ptr', base.wide)} {base.name}"
        return f"{x.name} = getelementptr {rest}, {pointer}, {places}"

    def _fcmp(self, x: Value, rest: str, given: tuple) -> str:
        known = next(v.type for v in given if type(v) is Value)
        first, second = (self.operand(known, y, x.wide) for y in given)
        return f"{x.name} = {x.operation} {self.type(known, x.wide)} {first}, {second}"

    _icmp = _fcmp

    def _select(self, x: Value, rest: str, given: tuple) -> str:
        condition, yes, no = given
        t = self.type(x.type, x.wide)
        yes, no = (self.operand(x.type, y, x.wide) for y in (yes, no))
        which = self.type("i1", condition.wide)
        return f"{x.name} = select {which} {condition.name}, {t} {yes}, {t} {no}"

    def _pack(self, x: Value, rest: str, given: tuple) -> str:
        lines = [f"{x.name} = getelementptr i8, ptr {given[0].name}, i64 0"]
        for k, value in enumerate(given[1:]):
            if value not in self.stored.get(x, ()):
                lines += self.element_stored(x, k, value)
        return "\n  ".join(lines)

    def element_stored(self, x: Value, k: int, value: Value) -> list[str]:
        """Store an element of a pack."""
        _, stored, *wide = x.operation.split(" ")
        element = f"[{self.lanes} x {stored}]" if wide else stored
        place = f"{x.name}_{k}"
        return [
            f"{place} = getelementptr {element}, ptr {x.operands[0].name}, i64 {k}",
            f"store {self.type(stored, bool(wide))} {value.name}, ptr {place}",
        ]

    _leave = _pack

    def _enter(self, x: Value, rest: str, given: tuple) -> str:
        arguments = ", ".join(f"{self.type(y.type, y.wide)} {y.name}" for y in given)
        return f"{x.name} = call ptr @{rest}({arguments})"

    def _call(self, x: Value, rest: str, given: tuple) -> str:
        pairs = [(v.type if type(v) is Value else x.type, v) for v in given]
        if x.wide and not rest.startswith("@llvm."):
            return self._lane_by_lane(x, rest, pairs)
        name = re.sub(r"\.([fi]\d+)", rf".v{self.lanes}\1", rest) if x.wide else rest
        arguments = [f"{self.type(t, x.wide)} {self.operand(t, v, x.wide)}" for t, v in pairs]
        return f"{x.name} = call {self.type(x.type, x.wide)} {name}({', '.join(arguments)})"

    def _lane_by_lane(self, x: Value, name: str, pairs: list) -> str:
        """Call a scalar library function for each lane."""
        lines, t, so_far = [], self.type(x.type, True), "poison"
        for k in range(self.lanes):
            arguments = []
            for i, (type_, v) in enumerate(pairs):
                one = self.operand(type_, v)
                if type(v) is Value:
                    one = f"{x.name}_{k}_{i}"
                    lines.append(
                        f"{one} = extractelement {self.type(type_, True)} {v.name}, i32 {k}"
                    )
                arguments.append(f"{type_} {one}")
            lines.append(f"{x.name}_{k} = call {x.type} {name}({', '.join(arguments)})")
            after = x.name if k == self.lanes - 1 else f"{x.name}_{k}_"
            lines.append(f"{after} = insertelement {t} {so_far}, {x.type} {x.name}_{k}, i32 {k}")
            so_far = after
        return "\n  ".join(lines)

    def _splat(self, x: Value, rest: str, given: tuple) -> str:
        t, one = self.type(x.type, True), given[0]
        number = self.operand(x.type, one)
        return (
            f"{x.name}_0 = insertelement {t} poison, {x.type} {number}, i32 0\n  {x.name} = "
            f"shufflevector {t} {x.name}_0, {t} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def _any(self, x: Value, rest: str, given: tuple) -> str:
        name = f"@llvm.vector.reduce.or.{self._suffix('i1')}"
        return f"{x.name} = call i1 {name}({self._mask(given)})"

    def _lane(self, x: Value, rest: str, given: tuple) -> str:
        of = self.type(given[0].type, True)
        return f"{x.name} = extractelement {of} {given[0].name}, i32 {rest}"

    def _fneg(self, x: Value, rest: str, given: tuple) -> str:
        return f"{x.name} = fneg {self.type(x.type, x.wide)} {self.operand(x.type, given[0])}"

    def end(self, block: Block) -> str:
        """Format the terminator of a block that is not the last one."""
        assert block.end is not None
        _, targets = block.end
        if len(targets) == 1:
            return f"br label %{targets[0].label}"
        condition, yes, no = targets
        which = self.operand("i1", condition)
        return f"br i1 {which}, label %{yes.label}, label %{no.label}"


LONGEST = 500
"""Number of instructions after which a basic block is split; LLVM's time grows with its square."""


def function_text(b: Builder, head: str, end: str, needed: set[Value]) -> Function:
    """Print the function whose instructions a builder holds as LLVM IR.

    Args:
        head: its result, name and parameters.
        end: the last line.
        needed: values to be computed (`used`).
    """
    lines, count, write = [], 0, Writer(SIDE_BY_SIDE if b.spans else b.lanes, not b.spans)
    kept = {block: [x for x in block.instructions if x in needed] for block in b.blocks}
    # all phis of a block are in its first part
    phis = {block: sum(x.operation == "phi" for x in kept[block]) for block in b.blocks}
    for block in b.blocks:  # The predecessor named in a phi is the last part of a split block.
        parts = max(len(kept[block]) - phis[block] - 1, 0) // LONGEST
        block.left_from = f"{block.label}_{parts}" if parts else block.label
    for block in b.blocks:
        lines.append(f"{block.label}:")
        early: dict[Value, list[tuple[Value, int]]] = {}
        here = set(kept[block])
        for x in kept[block]:
            if x.operation.startswith(("pack ", "leave ")):
                for k, value in enumerate(x.operands[1:]):
                    if value in here and value.operation != "phi":
                        early.setdefault(value, []).append((x, k))
                        write.stored.setdefault(x, set()).add(value)
        for k, x in enumerate(kept[block], -phis[block]):
            if k > 0 and k % LONGEST == 0:
                part = f"{block.label}_{k // LONGEST}"
                lines += [f"  br label %{part}", f"{part}:"]
            mark = STEADY if x in b.origins and _is_steady(b, x) else ""
            lines.append(f"  {write.line(x)}{mark}")
            for pack, i in early.get(x, ()):
                lines += ["  " + y for y in write.element_stored(pack, i, x)]
            count += 1 if not x.operation.startswith("pack ") else len(x.operands)
        lines.append("  " + (end if block.end is None else write.end(block)))
    called = {x.operation.partition(" ")[2] for x in needed if x.operation.startswith("enter ")}
    return Function(
        b.name,
        head,
        "\n".join(lines),
        [_constants(*each) for each in b.constants],
        b.calls,
        b.routines,
        [x for name, x in b.functions.items() if name in called],
        count,
    )


def _is_steady(b: Builder, x: Value) -> bool:
    """Return whether a value was loaded from a constant address of memory that is never written."""
    buffer, place = b.origins[x][0], x.operands[0]
    base = buffer.base
    if buffer.mutable or base.wide:
        return False
    apart = place.operation.startswith("getelementptr ") and place.operands[0] is base
    return place is base or (apart and type(place.operands[1]) is int)


def _constants(name: str, stored: str, values: Sequence[float]) -> str:
    """Define a constant array."""
    body = ", ".join(f"{stored} {constant_text(stored, x)}" for x in values)
    array = f"[{len(values)} x {stored}] [{body}]"
    return f"{name} = private unnamed_addr constant {array}, align 64"
