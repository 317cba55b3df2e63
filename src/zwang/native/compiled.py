"""A compiled native function, called with arrays."""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zwang.native.instructions import ALIGNMENT
from zwang.native.machine import Code, optimized_apart
from zwang.native.module import Stored
from zwang.native.translate import object_code

ENTRY = "zwang_function"


class _Room:
    """Memory of one call at a time, with the pointer tables that the code reads.

    Args:
        function: the called function.
        first: its leading bound arguments; the room has buffers for the others.

    Attributes:
        given: buffers of the other arguments.
        results: one buffer for all results, one behind the other.
        pointers, targets, work: addresses of the argument table, the result table and the
            workspace.
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
    """A function of arrays as machine code; the GIL is released while it runs.

    It is first compiled without optimization, which takes 10 µs an instruction; this code runs half
    as fast as optimized code. Once its calls have taken longer than optimization takes, another
    process optimizes it, one subroutine after the other. Both versions give bitwise identical
    results.

    Args:
        stored: the function (`translated`).

    Attributes:
        optimized: callback with the function once more of it has been optimized.
        result_bytes: size of all results.
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
        # Reading fields of a structured array takes half the time of creating array views.
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
        """Bytes that a call needs for results and workspace."""
        return self.stored.workspace + self.result_bytes

    def __call__(self, *arrays: ArrayLike) -> list[np.ndarray]:
        """Return the results as NumPy arrays."""
        room = _Room(self, self._given(arrays))
        self._run(room)
        return self._arrays(room.results)

    def bound(self, first: Sequence[ArrayLike]) -> Callable[..., list[np.ndarray]]:
        """Bind the leading arguments; their content is read at each call.

        Checking arguments takes longer than the code, so loops call a bound function.
        """
        held = self._given([*first], self._dtypes[: len(first)])
        # The rooms of finished calls, for reuse; each thread inside a call has its own.
        free: list[_Room] = []

        def called(*rest: ArrayLike) -> list[np.ndarray]:
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
        """Call the code with the arguments of a room."""
        # This reference keeps the code in memory until it returns, as it may be replaced meanwhile.
        code, begun = self._code, time.perf_counter()
        code.call(room.pointers, room.targets, room.work)
        self._used(time.perf_counter() - begun)

    def _arrays(self, block: np.ndarray) -> list[np.ndarray]:
        """Views of the results in their block of memory."""
        record = np.ndarray((), self._record, block)
        return [record[name] for name in self._names]

    def _given(
        self, arrays: Sequence[ArrayLike], dtypes: Sequence[np.dtype] | None = None
    ) -> list[np.ndarray]:
        """Convert arguments to row-major arrays of the right type; conforming arrays are not
        copied.
        """
        pairs = zip(arrays, self._dtypes if dtypes is None else dtypes, strict=True)
        return [np.ascontiguousarray(x, dtype) for x, dtype in pairs]

    def tables(self, arguments: Sequence[np.ndarray], results: np.ndarray) -> tuple[Any, Any]:
        """Pointer tables of some arguments and of the results in one block of memory."""
        begin = results.ctypes.data
        pointers = self._pointers(*(x.ctypes.data for x in arguments))
        return pointers, self._targets(*(begin + at for _, _, at in self._places))

    def workspace(self) -> tuple[np.ndarray, int]:
        """Allocate the workspace of one call, to be kept until it returns, and give its address."""
        work = np.empty(self.stored.workspace + ALIGNMENT, np.uint8)
        place = work.ctypes.data
        return work, place + -place % ALIGNMENT

    def members(
        self, arrays: Sequence[ArrayLike], of_each: Sequence[bool], count: int, cores: int = 1
    ) -> list[np.ndarray]:
        """Compute the results of a batch, with a leading batch axis.

        Args:
            arrays: the arguments, with a leading batch axis where they differ between members.
            of_each: which arguments have a batch axis.
            count: batch size, not less than the number of lanes.
            cores: number of threads, which share the batch.
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
            # The last group of lanes is full, too: it computes some members a second time.
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
        """Add to the run time of the code; beyond a threshold the function is optimized."""
        if self.stored.level == 0 and not self._asked:
            self._spent += seconds
            if self._spent > self._worth:
                self._asked = True
                if self.instructions <= AT_ONCE:
                    self.optimize()
                else:
                    self._optimize_apart()

    def optimize(self) -> None:
        """Replace the code at once by optimized code with bitwise identical results."""
        self._replaced({k: object_code(x, 1) for k, x in self.stored.modules().items()})

    def _optimize_apart(self) -> None:
        """Start optimization in another process, which replaces the code in parts."""
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
"""Run time for each instruction beyond which a function is optimized [s]: a third of the time that
optimization takes.
"""
REPLACED = 0.3
"""Least time between two replacements of parts of the code by optimized ones [s]."""
MOST_HELD = 1 << 20
"""Bytes that a bound function may keep allocated between calls."""
AT_ONCE = 600
"""Number of instructions up to which a function is optimized in this process between two calls, in
less time than another process needs to start; a longer one is optimized on another core.
"""
