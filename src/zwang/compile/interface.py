"""What the rest of zwang asks of the compiler: `program` for one motion, `BatchProgram` for many.

| name | what |
|---|---|
| `program` | a function of pytrees, compiled when it is called with numbers |
| `over_members`, `BatchProgram` | the same function for many members at once |
| `zwang.compile.hints` | what a computation may state for the compiler, without effect on results |
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

import equinox as eqx
import jax

from zwang.arguments import flag, refuse
from zwang.arithmetic import traced
from zwang.call import misfits_named
from zwang.compile import fusion, lowering
from zwang.compile.batch_last import vmap_last
from zwang.compile.compatibility import trace_context, trace_state_clean
from zwang.compile.compilers import (
    AbstractCompiler,
    in_force,
    is_native_wanted,
    is_plain,
    is_tracing_plain,
    plain_trace,
    requested,
)
from zwang.compile.flat import (
    CompiledProgram,
    FlatFunction,
    NotCacheableError,
    signature,
    with_structure,
)
from zwang.compile.options import compiler_options
from zwang.compile.packing import PackedFunction, Unpacking
from zwang.compile.program_cache import cache
from zwang.compile.program_cache.environment import environment_key
from zwang.compile.recent import Recent

P = ParamSpec("P")
R = TypeVar("R")


@misfits_named
def program(
    function: Callable[P, R],
    *,
    compiler: AbstractCompiler | None = None,
    often: bool | None = None,
    quick: bool = False,
    structure: bool = False,
) -> Callable[P, R]:
    """A function of pytrees, compiled as zwang's own programs are: arrays are traced, everything
    else is a part of the program.

    On a processor a program of small arrays becomes one kernel (`zwang.compile.fusion`), which
    takes a third of the time, and `keep_programs` applies to it. A call costs a third of one of
    `equinox.filter_jit`, which is used for arguments that cannot be hashed and arrays spread over
    devices. Under `jit`, `vmap` and `grad` it is the function itself.

    Args:
        function: what is compiled.
        compiler: how: `zw.FusedIfSmall()` (default), `zw.Fused()`, which compiles longer for larger
            programs to run in one kernel, or `zw.PlainJit()`. `ZWANG_COMPILER` has the last word.
        often: replaced by `compiler=zw.Fused()`.
        quick: whether someone waits for it and few calls follow: operation by operation, in half
            the time.
        structure: whether arrays of integers among its arguments are parts of the program, as those
            of a model are, which say where entries belong.

    Raises:
        ModelError: if `compiler` is none of these.

    Example:
        >>> run = zw.program(lambda q, v: zw.trajectory(model, q, v, times), compiler=zw.Fused())
    """
    if not callable(function):
        refuse("program: function", function, "a function")
    flag(quick, "program: quick")
    wanted = requested(compiler, often, "zw.program")
    compiled: Recent[CompiledProgram] = Recent()
    called_before: set[Any] = set()
    plain, jitted = _plain_jit(function), _filter_jit(function)

    def flattened(arguments: tuple) -> tuple[list, Any]:
        fixed = structure and is_native_wanted()
        return (with_structure if fixed else jax.tree_util.tree_flatten)(arguments)

    def found(leaves: list, tree, make: bool) -> CompiledProgram | None:
        """The program for some arguments: at hand, read, or else made if it is to be."""
        native = is_native_wanted()
        limits = None if quick or native else in_force(wanted).limits
        cached = cache.current()
        # everything that the compiled program depends on; settings of JAX that change a trace are
        # in its context
        key = cached, native, limits, trace_context(), tree, tuple(map(signature, leaves))
        if (ready := compiled.get(key)) is not None:
            return ready
        flat = FlatFunction(function, leaves, tree)
        way = lowering.Way(limits, quick and not native, native=native)
        ready = _obtained(flat, leaves, way, make=make)
        if ready is not None:
            compiled.put(key, ready)
        return ready

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        using = in_force(wanted)
        if using.limits is None:
            return (function if is_tracing_plain() else plain())(*args, **kwargs)
        if not trace_state_clean():
            return function(*args, **kwargs)  # a part of another program
        if _is_debugging():
            return jitted()(*args, **kwargs)
        leaves, tree = flattened((args, kwargs))
        try:
            ready = found(leaves, tree, True)
        except (TypeError, NotCacheableError):
            # something that cannot be hashed, or an array that is not on this machine
            return jitted()(*args, **kwargs)
        assert ready is not None
        return ready([x for x in leaves if eqx.is_array(x)])

    def prepared(args: tuple, make: bool) -> bool:
        leaves, tree = flattened((args, {}))
        try:
            if in_force(wanted).limits is not None and not _is_debugging():
                return found(leaves, tree, make) is not None
            # `jax.jit` has no way to be prepared but to be called; the result is dropped
            key = tree, tuple(signature(x) for x in leaves)
            if make:
                cast(Callable, called)(*args)
                called_before.add(key)
            return key in called_before
        except (TypeError, NotCacheableError):
            return False

    cast(Any, called).prepared = prepared
    return cast(Callable[P, R], called)


model_program = functools.partial(program, structure=True)
"""`program` for functions of a model: its arrays of integers are parts of the program."""


def prepared(compiled: Callable, *args: Any, make: bool) -> bool:
    """Whether a `program` for some arguments is at hand or can be read, or, with `make`, has been
    compiled now; nothing is executed.
    """
    return cast(Any, compiled).prepared(args, make)


class BoundProgram:
    """A function some of whose arguments are fixed, compiled to be called many times on the host.

    It is compiled operation by operation, which is quick; `keep_programs` applies to it. Other
    numbers of the same shapes compile nothing.

    Attributes:
        key: what the compiled program depends on; None if that cannot be said.
        seconds: how long it took to make, in this process or in the one that kept it.

    Args:
        function: of pytrees.
        fixed: its first arguments.
        example: arrays as its other arguments; later calls give others of the same shapes.
    """

    _ready: ClassVar[Recent[CompiledProgram]] = Recent()

    def __init__(self, function: Callable, fixed: tuple, example: tuple):
        packed = PackedFunction(function, len(fixed), example)
        given = packed.packed(example)
        native = is_native_wanted()
        flattened = with_structure if native else jax.tree_util.tree_flatten
        leaves, tree = flattened(((*fixed, *given), {}))
        arrays = [x for x in leaves if eqx.is_array(x)]
        # moved once: converting fixed arrays at each call costs more than the call
        fixed_arrays = arrays[: len(arrays) - len(given)]
        self._fixed = fixed_arrays if native else jax.device_put(fixed_arrays)
        cached, plain = cache.current(), is_plain()
        # the context is a private name of JAX, which plain compilation does without
        context = None if plain else trace_context()
        key = packed, cached, plain, native, context, tree, tuple(map(signature, leaves))
        try:
            known = self._ready.get(key)
        except TypeError:  # something that cannot be hashed is compiled each time
            key = known = None
        self.key = key
        if known is None:
            way = lowering.Way(None, quick=not native, native=native)
            known = _obtained(FlatFunction(packed, leaves, tree), leaves, way)
            assert known is not None
            if key is not None:
                self._ready.put(key, known)
        self._packed, self._program, self.seconds = packed, known, known.seconds
        self._unpacked: Unpacking | None = None

    def __call__(self, *arrays: Any) -> Any:
        """The function's result, a pytree of arrays on the host."""
        found = self._program([*self._fixed, *self._packed.packed(arrays)])
        if self._unpacked is None:
            self._unpacked = Unpacking(found.skeleton)
        return self._unpacked(found)


def _obtained(
    flat: FlatFunction, leaves: list, way: lowering.Way, *, make: bool = True
) -> CompiledProgram | None:
    """A program as it was kept, or else compiled, if it is to be made."""
    cached = None if is_plain() else cache.current()
    ready = None
    if cached is not None:
        ready = cached.program(flat, leaves, way, make=make)
    if ready is None and make:
        begun = time.perf_counter()
        arrays = [x for x in leaves if eqx.is_array(x)]
        made = lowering.compile_flat(flat, arrays, way)
        ready = CompiledProgram(made.compiled, flat.skeleton, time.perf_counter() - begun)
    return ready


def _filter_jit(function: Callable) -> Callable[[], Callable]:
    """`equinox.filter_jit` of a function, made when it is first called: before that, JAX need not
    know where it runs.
    """

    @functools.cache
    def jitted() -> Callable:
        options: Any = {"compiler_options": compiler_options()}  # handed to `jax.jit`
        return eqx.filter_jit(function, **options)

    return jitted


def _plain_jit(function: Callable) -> Callable[[], Callable]:
    """The same without options, and traced with public names of JAX alone."""

    @functools.wraps(function)
    def plainly(*args, **kwargs):
        with plain_trace(), traced():
            return function(*args, **kwargs)

    return functools.cache(lambda: eqx.filter_jit(plainly))


def _is_debugging() -> bool:
    """Whether JAX is to look into programs, or not to compile any."""
    config: Any = jax.config
    return config.jax_disable_jit or config.jax_debug_nans or config.jax_debug_infs


def over_members(function: Callable, axes: tuple, compiler: AbstractCompiler) -> Callable:
    """`jax.vmap(function, axes)`, laid out in memory as the compiler that is in force wants it.

    Args:
        function: of pytrees of arrays.
        axes: for each argument, or each of its parts, 0 (a leading axis of members) or None.
        compiler: as requested.
    """
    return (vmap_last if _one_batch_kernel(compiler) else jax.vmap)(function, axes)


class BatchProgram:
    """A function of many members, compiled once in a process for what it is made of; and
    `keep_programs` applies to it.

    Args:
        function: of what is fixed and of the members' arrays; within, it asks for them side by side
            by `over_members` with the same compiler.
        fixed: its first arguments, constants of the program with their numbers.
        example: arrays as its other arguments.
        members: how many members they have.
        compiler: as requested.

    Attributes:
        one_kernel: whether all members run in one kernel.
        memory: bytes that a call needs for results and in between; 0 if unknown.
    """

    _ready: ClassVar[Recent[CompiledProgram]] = Recent()

    def __init__(
        self,
        function: Callable,
        fixed: tuple,
        example: tuple,
        members: int,
        compiler: AbstractCompiler,
    ):
        bound = functools.update_wrapper(functools.partial(function, *fixed), function)
        leaves, tree = jax.tree_util.tree_flatten((example, {}))
        flat = FlatFunction(bound, leaves, tree)
        way = lowering.Way(fusion.BATCH if _one_batch_kernel(compiler) else None, members=members)
        plain = in_force(compiler).limits is None
        with plain_trace() if plain else contextlib.nullcontext():
            self._program = self._found(flat, leaves, way)
        self.one_kernel, self.memory = self._program.one_kernel, self._program.memory

    @classmethod
    def _found(cls, flat: FlatFunction, leaves: list, way: lowering.Way) -> CompiledProgram:
        """The program: at hand, as it was kept, or made."""
        plain = is_plain()
        if not plain and cache.current() is not None:
            return cast(CompiledProgram, _obtained(flat, leaves, way))  # kept at hand there, too
        # the context is a private name of JAX, which plain compilation does without
        context = None if plain else trace_context()
        try:
            made_from = cache.content(flat, leaves, way)
            made_from.token(environment_key())  # settings of the compiler, which may be changed
            key = context, made_from.hexdigest()
        except Exception:  # whatever a foreign object raises while it is looked through
            key = None
        known = None if key is None else cls._ready.get(key)
        if known is None:
            known = _obtained(flat, leaves, way)
            assert known is not None
            if key is not None:
                cls._ready.put(key, known)
        return known

    def __call__(self, *arrays: Any) -> Any:
        return self._program(jax.tree_util.tree_leaves(arrays))


def _one_batch_kernel(compiler: AbstractCompiler) -> bool:
    return in_force(compiler).batch_axis_last and jax.default_backend() == "cpu"
