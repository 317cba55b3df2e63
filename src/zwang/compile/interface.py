"""What the rest of zwang asks of the compiler: `program` for one call, `Many` for many members.

A program is traced by JAX and becomes native code (`zwang.native`); XLA compiles it where an
operation is not known there, on an accelerator, and with `ZWANG_ENGINE=xla`.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

import jax
import numpy as np
from jaxtyping import PyTree

from zwang.compile.compatibility import trace_context, trace_state_clean
from zwang.compile.engine import is_native_wanted
from zwang.compile.flat import (
    CompiledProgram,
    FlatFunction,
    NotCacheableError,
    by_xla,
    of_xla,
    serving,
    signature,
    with_structure,
    zeros_of,
)
from zwang.compile.hints import of_members
from zwang.compile.making import obtained
from zwang.compile.program_cache import cache
from zwang.inputs.arguments import flag, refuse
from zwang.inputs.call import misfits_named
from zwang.native.translate import lanes
from zwang.objects.by_identity import ByIdentity
from zwang.objects.recent import Recent
from zwang.objects.record import is_array

P = ParamSpec("P")
R = TypeVar("R")


@misfits_named
def program(function: Callable[P, R], *, structure: bool = False) -> Callable[P, R]:
    """A function of pytrees, compiled as zwang's own programs are: arrays are traced, everything
    else is a part of the program.

    On a processor it becomes native code, to which `keep_programs` applies; its results are arrays
    of NumPy. An operation that native code does not know (a callback, random numbers) leaves the
    program to XLA, as `ZWANG_ENGINE=xla` does for all. Under `jit`, `vmap` and `grad` it is the
    function itself.

    Args:
        function: what is compiled.
        structure: whether arrays of integers among its arguments are parts of the program, as those
            of a model are, which say where entries belong.

    Example:
        >>> run = zw.program(lambda q, v: zw.trajectory(model, q, v, times))
    """
    if not callable(function):
        refuse("program: function", function, "a function")
    flag(structure, "program: structure")
    compiled: Recent[dict[tuple, CompiledProgram]] = Recent()
    jitted = functools.cache(lambda: by_xla(function))

    def answer(args: tuple, kwargs: dict) -> tuple[R, str]:
        if not trace_state_clean():
            return function(*args, **kwargs), "JAX"  # a part of another program
        if _is_debugging():
            return jitted()(*args, **kwargs), "JAX"
        try:
            leaves, tree, arrays = _leaves((args, kwargs), structure)
            ready = _at_hand(compiled, function, leaves, tree, structure * len(leaves))
        except (TypeError, NotCacheableError):
            # something that cannot be hashed, or an array that is not on this machine
            return jitted()(*args, **kwargs), "JAX"
        return ready(arrays), ready.engine

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        return answer(args, kwargs)[0]

    bound: ByIdentity[tuple[tuple, Callable[..., R]]] = ByIdentity()
    anew = cast(Callable[..., R], called)

    def again(fixed: PyTree, *rest: PyTree) -> R:
        if _is_debugging() or not trace_state_clean():
            return anew(fixed, *rest)
        known = bound.get(fixed)
        if known is None or known[0] != _setting():
            try:
                leaves, tree, arrays = _leaves(((fixed, *rest), {}), structure)
                others = len(jax.tree_util.tree_leaves(rest))
                held = structure * (len(leaves) - others)
                ready = _at_hand(compiled, function, leaves, tree, held)
                first = arrays[: len(arrays) - others]
                known = bound.keep(fixed, (_setting(), ready.bound(first)))
            except (TypeError, NotCacheableError):
                return anew(fixed, *rest)
        return known[1](*jax.tree_util.tree_leaves(rest))

    vars(called).update(answer=answer, again=again)
    return cast(Callable[P, R], called)


def _leaves(arguments: PyTree, structure: bool) -> tuple[list, Any, list]:
    """Leaves and structure of arguments as programs are known by, and their arrays."""
    fixed = structure and is_native_wanted()
    leaves, tree = (with_structure if fixed else jax.tree_util.tree_flatten)(arguments)
    return leaves, tree, [x for x in leaves if is_array(x)]


def _at_hand(
    known: Recent[dict], function: Callable, leaves: list, tree: Any, fixed: int
) -> CompiledProgram:
    """The program of a function that is known, or else obtained.

    Args:
        fixed: how many of the leaves it is not called with others of.

    Raises:
        TypeError: for a leaf that is no array and cannot be hashed.
    """
    key = function, _setting(), tree, tuple(map(signature, leaves))
    if (programs := known.get(key)) is None:
        known.put(key, programs := {})
    zeros = serving(programs, zeros_of(leaves[:fixed]))
    if zeros not in programs:
        flat = FlatFunction(function, leaves, tree, zeros)
        programs[zeros] = obtained(flat, leaves)
    return programs[zeros]


model_program = functools.partial(program, structure=True)
"""`program` for functions of a model: its arrays of integers are parts of the program."""


def with_engine(compiled: Callable[..., R], *args: PyTree) -> tuple[R, str]:
    """The result of a `program`, and what it was compiled by, in words."""
    return vars(compiled)["answer"](args, {})


def called_again(compiled: Callable[..., R], fixed: PyTree, *rest: PyTree) -> R:
    """The result of a `program` for a first argument that it is called with again and again: what
    it is made of is looked at once, and its numbers at each call.

    Args:
        rest: pytrees of arrays, of the same shapes each time.
    """
    return vars(compiled)["again"](fixed, *rest)


class BoundProgram:
    """A function some of whose arguments are fixed, compiled to be called many times.

    Other numbers of the same shapes compile nothing; `keep_programs` applies to it.

    Attributes:
        seconds: how long it took to make, in this process or in the one that kept it.

    Args:
        function: of pytrees.
        fixed: its first arguments.
        example: arrays as its other arguments; later calls give others of the same shapes.
    """

    def __init__(self, function: Callable, fixed: tuple, example: tuple):
        leaves, tree, arrays = _leaves(((*fixed, *example), {}), True)
        others = len(jax.tree_util.tree_leaves(example))
        self._program = _at_hand_or_obtained(function, leaves, tree, len(leaves) - others)
        self._first = arrays[: len(arrays) - others]
        self._call, self.seconds = self._program.bound(self._first), self._program.seconds

    def __call__(self, *arrays: PyTree) -> PyTree:
        """The function's result, a pytree of arrays of NumPy."""
        return self._call(*arrays)

    def optimize(self) -> None:
        """Make native code as fast as it becomes after some time of calls."""
        self._program.optimize()

    def members(self, *arrays: np.ndarray) -> PyTree:
        """Results for many members, with a leading axis of them; each array has one, too."""
        if not self._program.is_native:
            found = [self(*own) for own in zip(*arrays, strict=True)]
            return jax.tree_util.tree_map(lambda *x: np.stack(x), *found)
        of_each = [False] * len(self._first) + [True] * len(arrays)
        return self._program.members([*self._first, *arrays], of_each, len(arrays[0]), 1)


_ready: Recent[dict[tuple, CompiledProgram]] = Recent()
"""Programs that were asked for by an equal function of equal arguments but for their numbers."""


def _at_hand_or_obtained(
    function: Callable, leaves: list, tree: Any, fixed: int
) -> CompiledProgram:
    """The program of a function for leaves of its arguments and their structure, which is looked
    through to its content once.
    """
    try:
        return _at_hand(_ready, function, leaves, tree, fixed)
    except (TypeError, NotCacheableError):  # what cannot be hashed is looked through each time
        flat = FlatFunction(function, leaves, tree, zeros_of(leaves[:fixed]))
        return obtained(flat, leaves)


def _setting() -> tuple:
    """What programs depend on beside what they are made from: settings of JAX that change a trace
    are in its context.
    """
    return cache.current(), is_native_wanted(), trace_context()


SEVERAL_AT_ONCE = 60e-6
"""Seconds of members, for each instruction, from which on code for several members at once is made:
a third of the time that it takes.
"""
MAKER = "zwang lanes"
"""Name of the threads that make it."""


class _Several:
    """The code of a program for several members at once, as it was kept, or made by a thread once
    calls of one member after the other have lasted; no call waits for it.

    Args:
        one: the function of one member and its leaves.
        of_each: which of its arrays members have each for itself.
        instructions: of its code for one member.

    Attributes:
        ready: the code; None before it is made, and where it is not to be had.
    """

    def __init__(self, one: tuple[FlatFunction, list], of_each: list[bool], instructions: int):
        self.ready = obtained(*one, make=False, of_each=of_each)
        self._one = one if self.ready is None else None
        self._of_each, self._setting = of_each, trace_context()
        self._spent, self._worth = 0.0, SEVERAL_AT_ONCE * instructions
        self._lock = threading.Lock()

    def count(self, seconds: float) -> None:
        """Take into account how long members have run one after the other."""
        with self._lock:
            self._spent += seconds
            if self._one is None or self._spent <= self._worth:
                return
            one, self._one = self._one, None
        making = functools.partial(self._make, one)
        threading.Thread(target=making, name=MAKER, daemon=True).start()

    def _make(self, one: tuple[FlatFunction, list]) -> None:
        # settings of JAX may be those of the thread that called, and make another program
        if trace_context() != self._setting:
            return
        # whatever a user's function raises in another thread: members go on one by one
        with contextlib.suppress(Exception):
            self.ready = obtained(*one, of_each=self._of_each)


class Many:
    """A function of one member, compiled to be called for many.

    Args:
        function: of pytrees.
        axes: for each argument, or each entry of one that is a dictionary, 0 (its arrays have a
            leading axis of members) or None (they are those of all).
        example: arguments; later calls give arrays of the same shapes for any number of members.

    Attributes:
        memory: bytes that a member needs for results and in between; 0 if unknown.
        seconds, instructions: of its native code: how long it took to make, and its size.
        engine: what it is compiled by.
        several: of native code: that for several members at once.
    """

    _shared: ClassVar[ByIdentity[dict[tuple[bool, ...], _Several]]] = ByIdentity()

    def __init__(self, function: Callable, axes: tuple, example: tuple):
        self._axes, self._function = axes, function
        self._compile(example)

    def _compile(self, example: tuple) -> None:
        """Make the program for arguments like these; other zeros in them may ask for another."""
        self._native = self._of_one(self._function, example) if is_native_wanted() else None
        self._block = self._number(*self._flattened(example)[:2])
        self.memory = 0 if self._native is None else self._native.memory
        self.seconds = 0.0 if self._native is None else self._native.seconds
        self.instructions = 0 if self._native is None else self._native.instructions
        self.engine = of_xla("") if self._native is None else self._native.engine

    def _of_one(self, function: Callable, example: tuple) -> CompiledProgram | None:
        """The native code of one member, or None where it is not to be had."""
        leaves, of_each, tree = self._flattened(example)
        # of NumPy, as the zeros of one member are not those of all
        ones = [np.asarray(x[0]) if own else x for x, own in zip(leaves, of_each, strict=True)]
        self._of_each = [each for x, each in zip(leaves, of_each, strict=True) if is_array(x)]
        found = _at_hand_or_obtained(function, ones, tree, len(ones))
        one = FlatFunction(function, ones, tree, found.zeros), ones
        if not found.is_native:
            return None
        # time counts for the program: many small batches of one model are one large one
        known, key = self._shared.get(found), tuple(self._of_each)
        known = self._shared.keep(found, {}) if known is None else known
        if key not in known:
            known[key] = _Several(one, self._of_each, found.instructions)
        self.several = known[key]
        return found

    def _by_xla(self, arguments: tuple) -> PyTree:
        """Results in blocks of the example's size, the last one filled up, so that no other number
        of members compiles anything.
        """
        leaves, of_each, tree = self._flattened(arguments)
        each, number = tree.unflatten(of_each)[0], self._number(leaves, of_each)
        own = jax.tree_util.tree_map(lambda x, own: x if own else None, arguments, each)
        shared = jax.tree_util.tree_map(lambda x, own: None if own else x, arguments, each)
        found = []
        for begin in range(0, number, self._block):
            index = np.minimum(np.arange(begin, begin + self._block), number - 1)
            block = jax.tree_util.tree_map(lambda x, index=index: x[index], own)
            found.append(_block(self._function, shared, block))
        joined = lambda *x: np.concatenate(x)[:number]
        return jax.tree_util.tree_map(joined, *found)

    def _flattened(self, arguments: tuple) -> tuple[list, list[bool], Any]:
        """Leaves of the arguments, which of them differ between members, and their structure."""
        leaves, of_each = [], []
        for axis, x in zip(self._axes, arguments, strict=True):
            own = with_structure(x)[0] if axis is None else jax.tree_util.tree_leaves(x)
            leaves += own
            of_each += _along(axis, x)
        return leaves, of_each, jax.tree_util.tree_structure((arguments, {}))

    @staticmethod
    def _number(leaves: list, of_each: list[bool]) -> int:
        """How many members there are."""
        return next(len(x) for x, each in zip(leaves, of_each, strict=True) if each)

    def __call__(self, *arguments: PyTree, cores: int = 1) -> PyTree:
        """Results with a leading axis of members, in as many threads as there are `cores`."""
        if self._native is None:
            return self._by_xla(arguments)
        leaves, of_each, _ = self._flattened(arguments)
        if zeros := self._native.zeros:
            shared = [None if own else x for x, own in zip(leaves, of_each, strict=True)]
            if serving({zeros: self._native}, zeros_of(shared)) != zeros:
                self._compile(arguments)
                return self(*arguments, cores=cores)
        number = self._number(leaves, of_each)
        arrays = [x for x in leaves if is_array(x)]
        wide = self.several.ready if number >= lanes() else None
        begun = time.perf_counter()
        found = (wide or self._native).members(arrays, self._of_each, number, cores)
        if wide is None:
            self.several.count((time.perf_counter() - begun) * min(cores, number))
        return found


_block = model_program(of_members)


def _along(axis: int | dict | None, x: PyTree) -> list[bool]:
    """Which leaves of an argument differ between members."""
    if isinstance(axis, dict):  # the leaves of a dictionary come in the order of its keys
        return [each for name in sorted(axis) for each in _along(axis[name], x[name])]
    return [axis is not None] * len(jax.tree_util.tree_leaves(x))


def _is_debugging() -> bool:
    """Whether JAX is to look into programs, or not to compile any."""
    config: Any = jax.config
    return config.jax_disable_jit or config.jax_debug_nans or config.jax_debug_infs
