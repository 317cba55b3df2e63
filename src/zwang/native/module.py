"""Functions in LLVM's language, and modules of them."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import threading
import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from zwang.native.translate import object_code

MAKER = "zwang translation"
"""Name of the threads that make object code of subroutines."""


def _wait_for_makers() -> None:
    """Let threads that are inside of LLVM leave it: a fork would keep its lock for ever."""
    for thread in threading.enumerate():
        if thread.name == MAKER:
            thread.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_makers)


@dataclasses.dataclass(eq=False)
class Function:
    """The text of a function.

    Attributes:
        name: of it.
        head: result, name and parameters.
        body: instructions, in lines.
        constants: definitions of arrays that it reads.
        calls: declarations of the functions of libraries that it calls, by name.
        routines: names of those that are called for what they write.
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
        """The function and all that it calls, through others, too."""
        found = {self.name: self}
        for each in self.functions:
            found |= {x.name: x for x in each.all}
        return list(found.values())

    def definition(self, hidden: bool = False) -> str:
        """Its text, with the arrays that it reads; `hidden` from all but its own module."""
        head = f"define {'internal ' * hidden}{self.head} #{int(hidden)} {{"
        return "\n".join([*self.constants, head, self.body, "}"])

    @functools.cached_property
    def packed(self) -> bytes:
        """Its text as a hidden part of a module, compressed, once for all that call it."""
        return _packed(self.definition(hidden=True))

    @property
    def binary(self) -> bytes:
        """Its object code by itself, made at once."""
        if self._maker is not None:
            self._maker.join()
        if self._binary is None:
            self._make()
        assert self._binary is not None
        return self._binary

    def begin(self) -> None:
        """Have its object code made by a thread: LLVM works beside Python, which goes on writing
        functions.
        """
        # where no thread can be started, or it fails, the code is made when it is asked for
        with contextlib.suppress(RuntimeError):
            maker = threading.Thread(target=self._make_quietly, name=MAKER)
            maker.start()
            self._maker = maker

    def _make(self) -> None:
        self._binary = object_code(_module(self, self.functions), 0)

    def _make_quietly(self) -> None:
        with contextlib.suppress(Exception):
            self._make()


def entry_text(entry: Function) -> str:
    """A module of the function that is called with members; those that it calls are elsewhere."""
    return _module(entry, entry.functions, MEMBERS.replace("NAME", entry.name))


def packed_module(functions: Sequence[Function]) -> tuple[bytes, ...]:
    """A module of all functions in parts, compressed; the first one is called with members, the
    others are seen by it alone.
    """
    entry, *others = functions
    declared = {n: x for each in others for n, x in each.calls.items()}
    first = _module(entry, [], MEMBERS.replace("NAME", entry.name), declared)
    return _packed(first), *(x.packed for x in others)


def unpacked(parts: Sequence[bytes]) -> str:
    """The text of a module that was packed."""
    return "\n".join(zlib.decompress(x).decode() for x in parts)


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode(), 1)


def _module(
    function: Function,
    elsewhere: Sequence[Function],
    more: str = "",
    calls: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A module of one function, with declarations of what it calls."""
    known = {n: x for n, x in {**calls, **function.calls}.items() if not n.startswith("llvm.")}
    # functions of LLVM are known to it, whatever the number of their lanes
    known |= {x.name: f"declare {x.head}" for x in elsewhere}
    return "\n".join([function.definition(), more, *sorted(known.values()), ATTRIBUTES])


ATTRIBUTES = """
attributes #0 = { nounwind "no-builtins" }
attributes #1 = { nounwind noinline "no-builtins" }
"""
"""Subroutines stay what they are: inlined they are no faster, and take half as long again."""

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
"""The function called for one member after another, whose arrays lie one behind the other."""
