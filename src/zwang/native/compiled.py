"""Native code of a function, called with arrays."""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from zwang.native.instructions import ALIGNMENT
from zwang.native.machine import Code, optimized_apart
from zwang.native.module import Stored
from zwang.native.translate import object_code

ENTRY = "zwang_function"


class _Room:
    """Memory of one call at a time, with the tables of addresses that the code reads.

    Args:
        function: what is called.
        first: its first arguments, which stay where they are; the room has places for the others.

    Attributes:
        given: the places of the other arguments.
        results: all of the results, one behind the other.
        pointers, targets, work: addresses of the two tables and of what is needed in between.
    """

    __slots__ = ("_kept", "given", "pointers", "results", "targets", "work")

    def __init__(self, function: NativeFunction, first: list[np.ndarray]):
        others = function.stored.arguments[len(first) :]
        self.given = [np.empty(shape, name) for shape, name in others]
        self.results = np.empty(function.result_bytes, np.uint8)
        held, self.work = function.workspace()
        pointers, targets = function.tables([*first, *self.given], self.results)
        self._kept = first, held, pointers, targets
        self.pointers, self.targets = ctypes.addressof(pointers), ctypes.addressof(targets)


class NativeFunction:
    """A function of arrays as machine code; other threads run while it is called.

    It is translated at once, which takes 10 µs an instruction, and runs half as fast as it might.
    Where its calls have taken longer than it takes to optimize it, that is done in another process,
    one function after the other; both give the same bits.

    Args:
        stored: the function (`translated`).

    Attributes:
        optimized: called with the function once more of it has been optimized.
        result_bytes: size of all of its results.
    """

    def __init__(self, stored: Stored):
        self.stored = stored
        self._code = Code(stored.binaries, ENTRY, stored.routines)
        self._spent, self._worth = 0.0, OPTIMIZING * stored.instructions
        self._asked = False
        self.optimized: Callable[[Stored], None] | None = None
        self._dtypes = [np.dtype(name) for _, name in stored.arguments]
        self._places, self.result_bytes = [], 0
        for shape, name in stored.results:
            dtype = np.dtype(name)
            self._places.append((shape, dtype, self.result_bytes))
            self.result_bytes += -(-math.prod(shape) * dtype.itemsize // ALIGNMENT) * ALIGNMENT
        # fields of a record are made in half of the time of arrays in their places
        self._names = names = [f"result {k}" for k in range(len(self._places))]
        kinds = [(dtype, shape) for shape, dtype, _ in self._places]
        offsets = [at for *_, at in self._places]
        self._record = np.dtype(
            {"names": names, "formats": kinds, "offsets": offsets, "itemsize": self.result_bytes}
        )
        self._pointers = ctypes.c_void_p * max(len(stored.arguments), 1)
        self._targets = ctypes.c_void_p * max(len(stored.results), 1)

    @property
    def instructions(self) -> int:
        """Number of instructions of its code."""
        return self.stored.instructions

    @property
    def memory(self) -> int:
        """Bytes that a call needs for results and in between."""
        return self.stored.workspace + self.result_bytes

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        """The function's results as arrays of NumPy."""
        room = _Room(self, self._given(arrays))
        self._run(room)
        return self._arrays(room.results)

    def bound(self, first: Sequence[Any]) -> Callable[..., list[np.ndarray]]:
        """The function with its first arguments given; their numbers are read at each call.

        Looking at arguments takes longer than the code, so that this is what a loop calls.
        """
        held = self._given([*first], self._dtypes[: len(first)])
        # the rooms of calls that have returned; each thread that is within one has its own
        free: list[_Room] = []

        def called(*rest: Any) -> list[np.ndarray]:
            try:
                room = free.pop()
            except IndexError:
                room = _Room(self, held)
            for own, x in zip(room.given, rest, strict=True):
                own[...] = x
            self._run(room)
            results = room.results
            if self.memory <= MOST_HELD:
                results = results.copy()
                free.append(room)
            return self._arrays(results)

        return called

    def _run(self, room: _Room) -> None:
        """Call the code for the arguments of a room."""
        # held until it returns: it may be replaced, and then goes with its memory
        code, begun = self._code, time.perf_counter()
        code.call(room.pointers, room.targets, room.work)
        self._used(time.perf_counter() - begun)

    def _arrays(self, block: np.ndarray) -> list[np.ndarray]:
        """The results in their piece of memory."""
        record = np.ndarray((), self._record, block)
        return [record[name] for name in self._names]

    def _given(self, arrays: Sequence[Any], dtypes: Any = None) -> list[np.ndarray]:
        """Arguments as the code reads them: row by row, and not copied where they are so."""
        pairs = zip(arrays, self._dtypes if dtypes is None else dtypes, strict=True)
        return [np.ascontiguousarray(x, dtype) for x, dtype in pairs]

    def tables(self, arguments: Sequence[np.ndarray], results: np.ndarray) -> tuple[Any, Any]:
        """Addresses of some arguments, and of each of the results in one piece of memory."""
        begin = results.ctypes.data
        pointers = self._pointers(*(x.ctypes.data for x in arguments))
        return pointers, self._targets(*(begin + at for _, _, at in self._places))

    def workspace(self) -> tuple[np.ndarray, int]:
        """Memory that one call needs in between, to be held until it returns, and its address."""
        work = np.empty(self.stored.workspace + ALIGNMENT, np.uint8)
        place = work.ctypes.data
        return work, place + -place % ALIGNMENT

    def members(
        self, arrays: Sequence[Any], of_each: Sequence[bool], count: int, cores: int = 1
    ) -> list[np.ndarray]:
        """Results for many members, with a leading axis of them.

        Args:
            arrays: the arguments; with a leading axis of members where they differ.
            of_each: which of them do.
            count: number of members, not less than there are lanes.
            cores: how many threads take a part each.
        """
        given = self._given(arrays)
        found = [np.empty((count, *shape), dtype) for shape, dtype, _ in self._places]
        steps = [x.strides[0] if each else 0 for x, each in zip(given, of_each, strict=True)]
        steps += [math.prod(shape) * dtype.itemsize for shape, dtype, _ in self._places]
        lanes = self.stored.lanes
        strides = np.array(steps, np.int64) * lanes
        code, begun = self._code, time.perf_counter()
        arrays = [*given, *found]

        def part(first: int, last: int) -> None:
            (_held, work), (groups, rest) = self.workspace(), divmod(last - first, lanes)
            # the last registers are full, too: they compute some members once more
            turns = [(first, groups), *([(last - lanes, 1)] if rest else [])]
            for begin, times in turns:
                places = [x.ctypes.data + begin * n for x, n in zip(arrays, steps, strict=True)]
                inputs, results = places[: len(given)], places[len(given) :]
                code.call_members(
                    self._pointers(*inputs),
                    self._targets(*results),
                    work,
                    strides.ctypes.data,
                    len(inputs),
                    len(results),
                    times,
                )

        number = max(1, min(cores, count // lanes))
        bounds = np.linspace(0, count, number + 1).astype(int).tolist()
        threads = [
            threading.Thread(target=part, args=ends)
            for ends in zip(bounds[1:-1], bounds[2:], strict=True)
        ]
        for thread in threads:
            thread.start()
        part(*bounds[:2])
        for thread in threads:
            thread.join()
        self._used(time.perf_counter() - begun)
        return found

    def _used(self, seconds: float) -> None:
        """Take into account how long the code has run: from some time on it is optimized."""
        if self.stored.level == 0 and not self._asked:
            self._spent += seconds
            if self._spent > self._worth:
                self._asked = True
                if self.instructions <= AT_ONCE:
                    self.optimize()
                else:
                    self._optimize_apart()

    def optimize(self) -> None:
        """Replace the code at once by a faster one, which gives the same bits."""
        self._replaced({k: object_code(x, 1) for k, x in self.stored.modules().items()})

    def _optimize_apart(self) -> None:
        """Have the code replaced in parts, as they are made."""
        modules = self.stored.modules()
        numbers, made, since = list(modules), dict[int, bytes](), time.perf_counter()

        def take(k: int, binary: bytes) -> None:
            nonlocal since
            made[numbers[k]] = binary
            if k + 1 == len(numbers) or time.perf_counter() - since > REPLACED:
                self._replaced(made)
                made.clear()
                since = time.perf_counter()

        optimized_apart([*modules.values()], take)

    def _replaced(self, made: Mapping[int, bytes]) -> None:
        stored = self.stored.replaced(made)
        self._code = Code(stored.binaries, ENTRY, stored.routines)
        self.stored = stored
        if self.optimized is not None:
            self.optimized(stored)


OPTIMIZING = 15e-6
"""Seconds of calls, for each instruction, from which on a function is optimized: a third of the
time that it takes.
"""
REPLACED = 0.3
"""Seconds between two replacements of parts of the code by optimized ones."""
MOST_HELD = 1 << 20
"""Bytes that a bound function may hold from one call to the next."""
AT_ONCE = 600
"""Instructions of a function that is optimized between two calls of it, in less time than a process
of its own begins in; a longer one is optimized on another core meanwhile.
"""
