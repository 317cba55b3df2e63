"""Instructions in SSA form, with constant folding and common subexpression elimination.

An operand is a `Value`, the result of an instruction, or a Python constant (float, int, bool).
Arithmetic with constants is folded, which eliminates all structural zeros of matrices. A product
that is added becomes a fused multiply-add here and nowhere later, so that every optimization level
and every number of lanes rounds alike.

With several SIMD lanes, one lane for each batch member, a value that differs between lanes is wide:
its register holds a number for each. Other values, such as loop counters and addresses, are scalar.
Where control flow diverges between lanes, a mask names the active lanes, and only their memory is
written.

Deviations from IEEE 754: a product with a constant zero is zero, also for inf and NaN; x + 0 is x,
also for −0; x − x is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zwang.native.blocks import Blocks, is_wide
from zwang.native.errors import NotNativeError
from zwang.native.instructions import ALIGNMENT, LEAST_ALIKE, Block, Buffer, Operand, Value
from zwang.native.types import constant_text, stored_type


class Builder(Blocks):
    """Builder of the body of one function, block by block.

    Args:
        fused: whether the processor has fused multiply-adds.
        lanes: number of SIMD lanes, each of which computes one batch member.
        name: of the function, unique in its module; without a name all inner programs are inlined
            and no subroutine is called.
        make: makes a subroutine from its builder, the pointers passed to it, the needed values,
            and the arrays that callers read; by default as LLVM IR.

    Attributes:
        rolls: whether equal computations of many elements are rolled into loops.
        calls: declarations of called library functions, by name.
        routines: names of called routines that have side effects (`zwang.native.library`).
        workspace: bytes of temporary memory that the function needs.
        constants: name, stored type and elements of each static array of constants.
        functions: called subroutines, by name.
        origins: for a loaded value, the buffer, the index, the buffer's version and the loop
            number.
        buffers: stored type and number of elements of each workspace array, by its pointer.
        least_alike: least number of equal computations that are rolled into a loop.
    """

    def __init__(
        self, fused: bool = True, lanes: int = 1, name: str = "", make: Callable | None = None
    ):
        super().__init__(fused, lanes)
        self.name, self.make = name, make
        self.calls: dict[str, str] = {}
        self.routines: set[str] = set()
        self.constants: list[tuple[str, str, Sequence[Any]]] = []
        self.buffers: dict[Value, tuple[str, int]] = {}
        self.functions: dict[str, Any] = {}
        self.origins: dict[Value, tuple[Buffer, int, int, int]] = {}
        self.rolls = bool(name) and make is None
        self.spans = lanes == 1 and self.rolls
        self.least_alike: float = LEAST_ALIKE
        self.workspace = 0
        self.pointers = [Value(0, "ptr", "named", (name,)) for name in ("%in", "%out", "%work")]

    def forget(self) -> None:
        """Drop all instructions, so that their reference cycles are freed before garbage
        collection.
        """
        for block in self.blocks:
            for x in block.instructions:
                x.operands = ()
            block.instructions, block.end = [], None
        self._known, self.origins, self.buffers = {}, {}, {}

    # calls

    def cast(self, operation: str, source: str, target: str, a: Operand) -> Value:
        return self.shared(target, f"{operation} {source}", a, of=source)

    def intrinsic(self, t: str, name: str, *operands: Operand) -> Operand:
        """Emit a call of an LLVM intrinsic whose operands and result have one type."""
        return self.call(t, f"llvm.{name}", [t] * len(operands), *operands)

    def call(self, t: str, name: str, types: Sequence[str], *operands: Operand) -> Operand:
        """Emit a call of a function without side effects."""
        if name not in self.calls:
            self.calls[name] = f"declare {t} @{name}({', '.join(types)})"
        return self.shared(t, f"call @{name}", *operands, of=types[0])

    def do(self, name: str, *pointers: Value) -> None:
        """Emit a call of a routine that reads and writes memory."""
        types = ", ".join(["ptr"] * len(pointers))
        self.calls[name] = f'declare void @"{name}"({types})'
        self.routines.add(name)
        if not any(map(is_wide, pointers)):
            self.emit("", f"do {name}", *pointers)
            return
        for lane in range(self.lanes):
            of_lane = lambda x, k=lane: self.lane(x, k)
            here, onward = self.new_block(), self.new_block()
            self.jump(here) if self.mask is None else self.branch(of_lane(self.mask), here, onward)
            self.begin(here)
            given = (of_lane(x) if x.wide else x for x in pointers)
            self._new("", f"do {name}", tuple(given), wide=False)
            self.jump(onward)
            self.begin(onward)

    def enter(self, function: Any, workspace: int, pointers: Sequence[Value]) -> Value:
        """Emit a call of a subroutine, which returns the pointer to its frame."""
        self.functions[function.name] = function
        frame = self.allocate("i8", workspace, "common").base
        mask = [] if self.mask is None else [self.mask]
        return self._new("ptr", f"enter {function.name}", (frame, *mask, *pointers), wide=False)

    def part(self, frame: Value, place: Operand, wide: bool = False) -> Value:
        """Return a pointer into a subroutine's frame."""
        return self._new("ptr", "getelementptr i8", (frame, place), wide)

    # memory

    def pack(self, type_: str, values: Sequence[Operand], wide: bool) -> Value:
        """Store values contiguously and return the pointer to them."""
        key = ("pack", *values)
        if (known := self.remembered(key)) is not None:
            return known
        place = self.allocate(type_, len(values), "interleaved" if wide else "common")
        return self.remember(key, self._stored("pack", type_, place, values, wide))

    def leave(self, type_: str, place: Buffer, values: Sequence[Operand], wide: bool) -> None:
        """Store results contiguously for the caller."""
        self._stored("leave", type_, place, values, wide)

    def _stored(
        self, what: str, type_: str, place: Buffer, values: Sequence[Operand], wide: bool
    ) -> Value:
        if type_ == "i1":
            values = [self.cast("zext", "i1", "i8", x) for x in values]
        operation = f"{what} {stored_type(type_)}{' wide' * wide}"
        return self._new("ptr", operation, (place.base, *values), wide=False)

    def allocate(self, type_: str, count: int, layout: str = "interleaved") -> Buffer:
        """Allocate uninitialized memory in the workspace.

        Args:
            layout: "interleaved" (the lanes of an element are adjacent), "apart" (each lane has a
                contiguous array, as routines expect), or "common" (all lanes share one array).
        """
        size = {"double": 8, "float": 4, "i64": 8, "i32": 4, "i8": 1, "i1": 1}[type_] * count
        offset, number = self.workspace, 1 if layout == "common" else self.lanes
        if layout == "apart":
            size = -(-size // ALIGNMENT) * ALIGNMENT
        self.workspace = -(-(offset + size * number) // ALIGNMENT) * ALIGNMENT
        # The pointer is computed in the entry block, which dominates every other block.
        wide = layout == "apart" and self.lanes > 1
        place = self.steps(offset, size) if wide else offset
        self.count += 1
        pointer = Value(self.count, "ptr", "getelementptr i8", (self.pointers[2], place), wide)
        self.entry.instructions.insert(0, pointer)
        self.buffers[pointer] = stored_type(type_), count
        interleaved = layout == "interleaved" and self.lanes > 1
        return Buffer(pointer, True, interleaved, self.mask)

    def steps(self, first: int, step: int) -> str:
        """Return a vector constant `first + k step` over lanes k."""
        return f"<{', '.join(f'i64 {first + k * step}' for k in range(self.lanes))}>"

    def of_members(self, base: Value, step: int, mutable: bool) -> Buffer:
        """Return the contiguous memory of all batch members, `step` bytes apart."""
        operands = (base, self.steps(0, step))
        return Buffer(self._new("ptr", "getelementptr i8", operands, wide=True), mutable)

    def literal(self, type_: str, values: Sequence[Any]) -> Buffer:
        """Return a static array of constants."""
        stored = stored_type(type_)
        values = [int(x) for x in values] if type_ == "i1" else values
        key = ("literal", stored, *(constant_text(stored, x) for x in values))
        if (known := self.remembered(key)) is not None:
            return known
        name = f"@{self.name}c{len(self.constants)}"
        self.constants.append((name, stored, values))
        # Static constants outlive every scope.
        self._known[key] = buffer = Buffer(Value(0, "ptr", "named", (name,)), False)
        return buffer

    def load(self, type_: str, buffer: Buffer, index: Operand) -> Value:
        """Load one element; equal loads are shared until the buffer is written."""
        # A mutable element that a loop reads may have been written in the iteration before.
        turns = self._turns if buffer.mutable else 0
        key = ("load", buffer, buffer.version, turns, index)
        if (known := self.remembered(key)) is not None:
            return known
        stored = stored_type(type_)
        place = self.address(stored, buffer, index)
        operation, wide = ("gather", True) if place.wide else ("load", buffer.interleaved)
        value = self._new(stored, operation, (place,), wide)
        if type_ == "i1":
            value = self.cast("trunc", "i8", "i1", value)
        if type(index) is int:
            self.origins[value] = buffer, index, buffer.version, turns
        return self.remember(key, value)

    def elements(self, type_: str, buffer: Buffer, count: int) -> list[Value]:
        """Return the first elements of a buffer that nothing writes to any more."""
        if type_ == "i1" or not self.rolls:
            return [self.load(type_, buffer, k) for k in range(count)]
        base, wide, found = buffer.base, buffer.interleaved, []
        for k in range(count):  # "element" is a lazy load: most elements are never used.
            x = self._new(type_, "element", (base, k), wide)
            self.origins[x] = buffer, k, 0, 0
            found.append(x)
        return found

    def origin(self, x: Value) -> tuple[Buffer, int] | None:
        """Return the buffer and the index a value was loaded from, if it is still stored there."""
        if (known := self.origins.get(x)) is None:
            return None
        buffer, index, version, turns = known
        if buffer.mutable and (buffer.version, self._turns) != (version, turns):
            return None
        return buffer, index

    def store(self, type_: str, buffer: Buffer, index: Operand, value: Operand) -> None:
        stored = stored_type(type_)
        if type_ == "i1":
            known = type(value) is not Value
            value = int(value) if known else self.cast("zext", "i1", "i8", value)
        place = self.address(stored, buffer, index)
        wide = buffer.interleaved or place.wide
        # A buffer allocated under this same mask may be written without it.
        masked = wide and self.mask is not None and buffer.mask is not self.mask
        operation = f"scatter {stored}" if place.wide else f"store {stored}{' masked' * masked}"
        operands = self.widened(value) if wide else value, place, *([self.mask] if masked else [])
        self._new(stored, operation, operands, wide)
        self.changed(buffer)

    def load_span(self, type_: str, buffer: Buffer, index: Operand) -> Value:
        """Load adjacent elements into a wide register."""
        stored = stored_type(type_)
        return self._read("load", type_, (self.address(stored, buffer, index),))

    def gather(self, type_: str, buffer: Buffer, index: Operand, of: Sequence[Value] = ()) -> Value:
        """Load the elements at a wide register of indices.

        Args:
            of: pointers to the arrays of the elements, if the buffer is the whole workspace.
        """
        pointer = self.address(stored_type(type_), buffer, index)
        return self._read("gather", type_, (pointer, *of))

    def _read(self, operation: str, type_: str, operands: tuple) -> Value:
        value = self._new(stored_type(type_), operation, operands, wide=True)
        return self.cast("trunc", "i8", "i1", value) if type_ == "i1" else value

    def store_span(self, type_: str, buffer: Buffer, index: Operand, value: Operand) -> None:
        """Store a wide register to adjacent elements."""
        stored = stored_type(type_)
        if type_ == "i1":
            value = self.cast("zext", "i1", "i8", value) if type(value) is Value else int(value)
        pointer = self.address(stored, buffer, index)
        self._new(stored, f"store {stored}", (value, pointer), wide=True)

    def lane(self, x: Value, k: int) -> Value:
        """Extract one lane of a wide register."""
        return self._new(x.type, f"lane {k}", (x,), wide=False)

    def changed(self, buffer: Buffer) -> None:
        """Invalidate earlier loads of a buffer, as it has been written."""
        buffer.version += 1

    def address(self, stored: str, buffer: Buffer, index: Operand) -> Value:
        if type(index) is not Value and index == 0:
            return buffer.base
        element = f"[{self.lanes} x {stored}]" if buffer.interleaved else stored
        if buffer.interleaved and is_wide(index):
            lane = self.steps(0, 1)
            return self.shared("ptr", f"getelementptr {element}", buffer.base, index, lane)
        return self.shared("ptr", f"getelementptr {element}", buffer.base, index, of="i64")

    def phi(self, type_: str, wide: bool = False) -> Value:
        """Create a phi at the head of the current block; `incoming` gives its operands."""
        self.count += 1
        value = Value(self.count, type_, "phi", (), wide and self.lanes > 1)
        first = sum(1 for x in self.block.instructions if x.operation == "phi")
        self.block.instructions.insert(first, value)
        return value

    def incoming(self, phi: Value, *ways: tuple[Operand, Block]) -> None:
        """Set the operands of a phi, one for each predecessor block."""
        if not phi.wide and any(is_wide(x) for x, _ in ways):
            raise NotNativeError("a counter that members have each for itself")
        phi.operands = tuple(
            (self._new(x.type, "splat", (x,), True, block), block)
            if type(x) is Value and phi.wide and not x.wide
            else (x, block)
            for x, block in ways
        )
