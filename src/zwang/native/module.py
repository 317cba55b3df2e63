"""Functions in LLVM IR, modules of them, and the stored form of a program."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import threading
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from zwang.native.translate import object_code

MAKER = "zwang translation"
"""Name of the threads that compile subroutines."""


def _wait_for_makers() -> None:
    """Wait until no thread is inside LLVM: a forked process would inherit its lock."""
    for thread in threading.enumerate():
        if thread.name == MAKER:
            thread.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_makers)


@dataclasses.dataclass(eq=False)
class Function:
    """A function in LLVM IR.

    Attributes:
        name: of the function.
        head: result, name and parameters.
        body: lines of instructions.
        constants: definitions of constant arrays that it reads.
        calls: declarations of called library functions, by name.
        routines: names of called routines that have side effects.
        functions: the subroutines that it calls.
        instructions: their number.
    """

    name: str
    head: str
    body: str
    constants: list[str]
    calls: dict[str, str]
    routines: set[str]
    functions: list[Function]
    instructions: int
    _binary: bytes | None = None
    _maker: threading.Thread | None = None

    @functools.cached_property
    def all(self) -> list[Function]:
        """Return the function and all subroutines that it calls directly or indirectly."""
        found = {self.name: self}
        for each in self.functions:
            found |= {x.name: x for x in each.all}
        return list(found.values())

    def module(self, more: str = "") -> str:
        """Return a module with this function, its constants and declarations of its callees."""
        # LLVM knows its intrinsics without a declaration, for any number of lanes.
        known = {n: x for n, x in self.calls.items() if not n.startswith("llvm.")}
        known |= {x.name: f"declare {x.head}" for x in self.functions}
        head = f"define {self.head} #0 {{"
        own = *self.constants, head, self.body, "}"
        return "\n".join([*own, more, *sorted(known.values()), ATTRIBUTES])

    @functools.cached_property
    def packed(self) -> bytes:
        """Its module, compressed once and shared by all callers."""
        return _packed(self.module())

    @property
    def binary(self) -> bytes:
        """Compile its object code now and return it."""
        if self._maker is not None:
            self._maker.join()
        if self._binary is None:
            self._make()
        assert self._binary is not None
        return self._binary

    def begin(self) -> None:
        """Start compiling its object code in a thread, while Python emits further functions."""
        # If no thread can be started, or it fails, the code is compiled on demand.
        with contextlib.suppress(RuntimeError):
            maker = threading.Thread(target=self._make_quietly, name=MAKER)
            maker.start()
            self._maker = maker

    def _make(self) -> None:
        self._binary = object_code(self.module(), 0)

    def _make_quietly(self) -> None:
        with contextlib.suppress(Exception):
            self._make()


def entry_text(entry: Function) -> str:
    """A module with the function that loops over batch members."""
    return entry.module(MEMBERS.replace("NAME", entry.name))


def packed_modules(functions: Sequence[Function]) -> tuple[bytes, ...]:
    """Compressed modules of functions; the first has the loop over batch members."""
    entry, *others = functions
    return _packed(entry_text(entry)), *(x.packed for x in others)


def unpacked(module: bytes) -> str:
    """The IR of a compressed module."""
    return zlib.decompress(module).decode()


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode(), 1)


class Stored(NamedTuple):
    """A compiled function as data that a file can hold.

    Attributes:
        binaries: object code of the function and of its subroutines.
        levels: optimization level of each object.
        texts: their modules in LLVM IR, compressed (`zwang.native.module`).
        arguments, results: shape and type of each.
        workspace: bytes of temporary memory for a call.
        instructions: their number.
        routines: LAPACK routines that it calls.
        lanes: number of batch members that a call computes.
    """

    binaries: tuple[bytes, ...]
    levels: tuple[int, ...]
    texts: tuple[bytes, ...]
    arguments: tuple[tuple[tuple[int, ...], str], ...]
    results: tuple[tuple[tuple[int, ...], str], ...]
    workspace: int
    instructions: int
    routines: tuple[str, ...]
    lanes: int = 1

    @property
    def level(self) -> int:
        """The optimization level of the least optimized object."""
        return min(self.levels)

    def modules(self) -> dict[int, str]:
        """The modules that are not optimized yet, by number."""
        return {k: unpacked(x) for k, x in enumerate(self.texts) if not self.levels[k]}

    def replaced(self, made: Mapping[int, bytes]) -> Stored:
        """Return a copy with optimized code of some modules."""
        binaries = tuple(made.get(k, x) for k, x in enumerate(self.binaries))
        levels = tuple(1 if k in made else x for k, x in enumerate(self.levels))
        return self._replace(binaries=binaries, levels=levels)


ATTRIBUTES = """
attributes #0 = { nounwind "no-builtins" }
"""

MEMBERS = """
define void @NAME_members(ptr %in, ptr %out, ptr %work, ptr %steps, i64 %given, i64 %found, i64 %n)
{
begin:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %member, label %end
member:
  %m = phi i64 [ 0, %begin ], [ %following, %onward ]
  call void @NAME(ptr %in, ptr %out, ptr %work)
  %all = add i64 %given, %found
  br label %test
test:
  %k = phi i64 [ 0, %member ], [ %next, %move ]
  %more = icmp slt i64 %k, %all
  br i1 %more, label %move, label %onward
move:
  %is_input = icmp slt i64 %k, %given
  %array = select i1 %is_input, ptr %in, ptr %out
  %beyond = sub i64 %k, %given
  %index = select i1 %is_input, i64 %k, i64 %beyond
  %slot = getelementptr ptr, ptr %array, i64 %index
  %place = load ptr, ptr %slot
  %step_at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step_at
  %moved = getelementptr i8, ptr %place, i64 %step
  store ptr %moved, ptr %slot
  %next = add i64 %k, 1
  br label %test
onward:
  %following = add i64 %m, 1
  %again = icmp slt i64 %following, %n
  br i1 %again, label %member, label %end
end:
  ret void
}"""
"""A loop over groups of batch members, whose arrays are contiguous."""
