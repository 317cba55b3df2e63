"""Interface of the compiler: `program` for single calls, `Many` for batches.

A program is traced by JAX and becomes native code (`zwang.native`). XLA compiles it if native code
does not support a primitive, on an accelerator, and with `ZWANG_ENGINE=xla`.
"""

from __future__ import annotations

import contextlib
import functools
import operator
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
from zwang.native.machine import in_background
from zwang.native.translate import lanes
from zwang.objects.by_identity import ByIdentity
from zwang.objects.recent import Recent
from zwang.objects.record import is_array

P = ParamSpec("P")
R = TypeVar("R")


@misfits_named
def program(function: Callable[P, R], *, structure: bool = False) -> Callable[P, R]:
    """Compile a function of pytrees as zwang's own programs are compiled.

    Arrays, and floats in tuples, lists and dictionaries, are traced; every other leaf is part of
    the program. On a CPU the program becomes native code, to which `keep_programs` applies; its
    results are NumPy arrays. If native code does not support a primitive (a callback, random
    numbers), XLA compiles the program, as it compiles all programs with `ZWANG_ENGINE=xla`. Under
    `jit`, `vmap` and `grad` the function itself is called.

    Args:
        function: the function to compile.
        structure: whether integer arrays among its arguments are part of the program, as those
            of a model are, which hold indices.

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
            return function(*args, **kwargs), "JAX"  # becomes part of the outer program
        if _is_debugging():
            return jitted()(*args, **kwargs), "JAX"
        try:
            leaves, tree, arrays = _leaves((args, kwargs), structure)
            ready = _at_hand(compiled, function, leaves, tree, structure * len(leaves))
        except (TypeError, NotCacheableError):
            # An argument cannot be hashed, or an array is not on this machine.
            return jitted()(*args, **kwargs), "JAX"
        return ready(arrays), ready.engine

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        return answer(args, kwargs)[0]

    bound: ByIdentity[tuple[tuple, tuple, Callable[..., R], str]] = ByIdentity()

    def again(fixed: tuple, rest: tuple) -> tuple[R, str]:
        varying = jax.tree_util.tree_leaves(rest)
        if _is_debugging() or not (trace_state_clean() and all(map(is_array, varying))):
            return answer((*fixed, *rest), {})
        first, *others = fixed
        known = bound.get(first)
        same = known is not None and known[0] == _setting()
        if known is None or not same or any(map(operator.is_not, known[1], others)):
            try:
                leaves, tree, _ = _leaves(((*fixed, *rest), {}), structure)
                # the program contains no values of the varying arguments
                held = leaves[: len(leaves) - len(varying)]
                given = [*held, *varying]
                ready = _at_hand(compiled, function, given, tree, structure * len(held))
                call = ready.bound([x for x in held if is_array(x)])
                known = bound.keep(first, (_setting(), tuple(others), call, ready.engine))
            except (TypeError, NotCacheableError):
                return answer((*fixed, *rest), {})
        return known[2](*varying), known[3]

    vars(called).update(answer=answer, again=again)
    return cast(Callable[P, R], called)


def _leaves(arguments: PyTree, structure: bool) -> tuple[list, Any, list]:
    """Flatten arguments for the lookup of their program; returns leaves, structure and arrays."""
    fixed = structure and is_native_wanted()
    flattened = with_structure if fixed else jax.tree_util.tree_flatten
    leaves, tree = flattened(arguments)
    if not structure and float in map(type, leaves):
        # numbers of the caller; floats within objects are their settings
        number = lambda x: np.asarray(x) if type(x) is float else x
        inner = lambda x: not isinstance(x, (tuple, list, dict))
        leaves, tree = flattened(jax.tree_util.tree_map(number, arguments, is_leaf=inner))
    return leaves, tree, [x for x in leaves if is_array(x)]


def _at_hand(
    known: Recent[dict], function: Callable, leaves: list, tree: object, fixed: int
) -> CompiledProgram:
    """Return the program of a function from memory, or obtain it.

    Args:
        fixed: number of leading leaves that are the same in every call.

    Raises:
        TypeError: for a leaf that is not an array and cannot be hashed.
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
"""`program` for functions of a model: its integer arrays are part of the program."""


def called_again(compiled: Callable[..., R], fixed: tuple, *rest: PyTree) -> tuple[R, str]:
    """Call a `program` with first arguments that are used in many calls; returns its result, and
    the engine that compiled it, in words.

    The structure of `fixed` is examined once; its numbers are read at each call.

    Args:
        fixed: the first arguments, the same objects in later calls.
        rest: pytrees of arrays, of the same shapes each time.
    """
    return vars(compiled)["again"](fixed, rest)


class BoundProgram:
    """A function with some bound arguments, compiled for many calls.

    Calls with other numbers of the same shapes compile nothing; `keep_programs` applies to it.

    Attributes:
        seconds: compilation time, in this process or in the one that stored it.

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
        """Return the function's result, a pytree of NumPy arrays."""
        return self._call(*arrays)

    def optimize(self) -> None:
        """Optimize native code now instead of after some run time."""
        self._program.optimize()

    def members(self, *arrays: np.ndarray) -> PyTree:
        """Compute a batch: all arrays and results have a leading batch axis."""
        if not self._program.is_native:
            found = [self(*own) for own in zip(*arrays, strict=True)]
            return jax.tree_util.tree_map(lambda *x: np.stack(x), *found)
        of_each = [False] * len(self._first) + [True] * len(arrays)
        return self._program.members([*self._first, *arrays], of_each, len(arrays[0]), 1)


_ready: Recent[dict[tuple, CompiledProgram]] = Recent()
"""Programs by function and arguments without their numbers."""


def _at_hand_or_obtained(
    function: Callable, leaves: list, tree: object, fixed: int
) -> CompiledProgram:
    """Return the program of a function for some leaves, from memory if it has been obtained before.

    The content of the function is examined only once.
    """
    try:
        return _at_hand(_ready, function, leaves, tree, fixed)
    except (TypeError, NotCacheableError):  # Without a hash its content is examined each time.
        flat = FlatFunction(function, leaves, tree, zeros_of(leaves[:fixed]))
        return obtained(flat, leaves)


def _setting() -> tuple:
    """Return the settings that programs depend on.

    `trace_context` holds the settings of JAX that change a trace.
    """
    return cache.current(), is_native_wanted(), trace_context()


SEVERAL_AT_ONCE = 60e-6
"""Run time of batch members for each instruction beyond which SIMD code for several members is
compiled [s]: a third of the time that compilation takes.
"""
MAKER = "zwang lanes"
"""Name of the threads that compile it."""


class _Several:
    """SIMD code of a program for several batch members at once.

    It is taken from the cache, or compiled by a thread once members have been computed one after
    the other for some time. No call waits for it.

    Args:
        one: the function of one member and its leaves.
        of_each: which of its arrays have a batch axis.
        instructions: of its code for one member.

    Attributes:
        ready: the code; None before it is compiled, or if it is not available.
    """

    def __init__(self, one: tuple[FlatFunction, list], of_each: list[bool], instructions: int):
        self.ready = obtained(*one, make=False, of_each=of_each)
        self._one = one if self.ready is None else None
        self._of_each, self._setting = of_each, trace_context()
        self._spent, self._worth = 0.0, SEVERAL_AT_ONCE * instructions
        self._lock = threading.Lock()

    def count(self, seconds: float) -> None:
        """Add to the time spent on members one after the other."""
        with self._lock:
            self._spent += seconds
            if self._one is None or self._spent <= self._worth:
                return
            one, self._one = self._one, None
        in_background(functools.partial(self._make, one), MAKER)

    def _make(self, one: tuple[FlatFunction, list]) -> None:
        # This thread may have other settings of JAX than the caller, which would give another
        # program.
        if trace_context() != self._setting:
            return
        # Whatever a user's function raises in this thread, members continue one by one.
        with contextlib.suppress(Exception):
            self.ready = obtained(*one, of_each=self._of_each)


class Many:
    """A function of one batch member, compiled for batches.

    Args:
        function: of pytrees.
        axes: for each argument, or each entry of a dictionary argument, 0 (its arrays have a
            leading batch axis) or None (all members share them).
        example: arguments; later calls give arrays of the same shapes for any batch size.

    Attributes:
        memory: bytes that a member needs for results and workspace; 0 if unknown.
        seconds, instructions: compilation time and size of its native code.
        engine: that compiled it.
        several: SIMD native code for several members at once.
    """

    _shared: ClassVar[ByIdentity[dict[tuple[bool, ...], _Several]]] = ByIdentity()

    def __init__(self, function: Callable, axes: tuple, example: tuple):
        self._axes, self._function = axes, function
        self._compile(example)

    def _compile(self, example: tuple) -> None:
        """Compile for arguments like these; other zeros in them may need another program."""
        self._native = self._of_one(self._function, example) if is_native_wanted() else None
        self._block = self._number(*self._flattened(example)[:2])
        self.memory = 0 if self._native is None else self._native.memory
        self.seconds = 0.0 if self._native is None else self._native.seconds
        self.instructions = 0 if self._native is None else self._native.instructions
        self.engine = of_xla("") if self._native is None else self._native.engine

    def _of_one(self, function: Callable, example: tuple) -> CompiledProgram | None:
        """Return the native code of one member, or None if it is not available."""
        leaves, of_each, tree = self._flattened(example)
        # NumPy arrays, as the zeros of one member are not those of all
        ones = [np.asarray(x[0]) if own else x for x, own in zip(leaves, of_each, strict=True)]
        self._of_each = [each for x, each in zip(leaves, of_each, strict=True) if is_array(x)]
        found = _at_hand_or_obtained(function, ones, tree, len(ones))
        one = FlatFunction(function, ones, tree, found.zeros), ones
        if not found.is_native:
            return None
        # Run time is counted for each program: many small batches of a model count as one large
        # one.
        known, key = self._shared.get(found), tuple(self._of_each)
        known = self._shared.keep(found, {}) if known is None else known
        if key not in known:
            known[key] = _Several(one, self._of_each, found.instructions)
        self.several = known[key]
        return found

    def _by_xla(self, arguments: tuple) -> PyTree:
        """Compute blocks of the example's batch size, so that other batch sizes compile nothing.

        The last block is padded.
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
        """Flatten arguments; returns leaves, whether each has a batch axis, and their structure."""
        leaves, of_each = [], []
        for axis, x in zip(self._axes, arguments, strict=True):
            own = with_structure(x)[0] if axis is None else jax.tree_util.tree_leaves(x)
            leaves += own
            of_each += _along(axis, x)
        return leaves, of_each, jax.tree_util.tree_structure((arguments, {}))

    @staticmethod
    def _number(leaves: list, of_each: list[bool]) -> int:
        """Return the batch size."""
        return next(len(x) for x, each in zip(leaves, of_each, strict=True) if each)

    def __call__(self, *arguments: PyTree, cores: int = 1) -> PyTree:
        """Compute a batch with `cores` threads; results have a leading batch axis."""
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
    """Return which leaves of an argument have a batch axis."""
    if isinstance(axis, dict):  # `jax.tree_util` flattens dictionaries in the order of their keys
        return [each for name in sorted(axis) for each in _along(axis[name], x[name])]
    return [axis is not None] * len(jax.tree_util.tree_leaves(x))


def _is_debugging() -> bool:
    """Return whether JAX debugs programs or does not compile any."""
    config: Any = jax.config
    return config.jax_disable_jit or config.jax_debug_nans or config.jax_debug_infs
