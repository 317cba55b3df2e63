"""Compiled programs of pytrees: `program`, and `keep_programs`, by which they outlive a process.

A program that was kept is neither traced nor compiled again. It is found by everything that it was
made from (`zwang.compile.program_cache.fingerprint`), and by the processor, the versions and the settings it was
made with.
"""

from __future__ import annotations

import functools
import math
import os
import pickle
import re
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import equinox as eqx
import jax
import numpy as np
from jax._src.config import persistent_cache_min_compile_time_secs as least_time
from jax._src.config import (
    trace_context,
)  # JAX's settings that a traced function depends on, of this thread
from jax._src.core import trace_state_clean
from jax._src.lax.linalg import initialize_lapack
from jax.core import Tracer
from jax.experimental import serialize_executable

from zwang.compile.folder import cache_folder
from zwang.compile.fusion import APART, OFTEN, ONCE, WHOLE, Limits, fits, one_kernel
from zwang.compile.options import compiler_options
from zwang.compile.program_cache.environment import setting
from zwang.compile.program_cache.fingerprint import Fingerprint
from zwang.compile.program_cache.prefetch import Early
from zwang.compile.program_cache.purity import UnknownError
from zwang.compile.program_cache.source_digest import OwnModules, sources
from zwang.compile.program_cache.store import Store

P = ParamSpec("P")
R = TypeVar("R")
LOADED, MADE, REFUSED = (f"/zwang/programs/{what}" for what in ("loaded", "made", "refused"))
"""Events of `jax.monitoring`, one for each program, with its duration [s]; `refused` with the
reason.
"""

CALLS = ("lapack_", "Sharding", "LayoutConstraint")
"""Beginnings of names of routines that a program may call: they are the same ones in every process.
"""


class _Kept:
    """Where programs are kept, and those that are at hand in this process."""

    def __init__(self, folder: Path, task: str):
        if jax.default_backend() != "cpu" or jax.device_count() != 1:
            raise UnknownError(
                "programs for accelerators and for several devices are left to JAX's own cache"
            )
        self.store, self.sources, self.modules = Store(folder), sources(), OwnModules()
        self.ready: dict[str, _Ready] = {}
        initialize_lapack()  # which JAX does when it lowers a factorization
        self.early = Early(self.store, task, self.read, self.ready) if task else None

    def read(self, key: str) -> tuple[jax.stages.Compiled, bytes] | None:
        """What was kept under a key, as `_loaded` gives it."""
        return _loaded(self.store.read(key))

    def load(self, key: str) -> _Ready | None:
        """The program under a key, if there is one."""
        found = (self.early and self.early.take(key)) or self.read(key)
        try:
            return (
                None if found is None else _Ready(found[0], pickle.loads(found[1]))
            )  # which imports, as no thread may
        except Exception:  # whatever it needs and is not there, it is made again
            return None


_kept: _Kept | None = None


def keep_programs(folder: Path | str | None = None, *, on: bool = True, task: str = "") -> str:
    """Keep compiled programs from now on, and take those that were kept: what ran once in any
    process is not traced again.

    A program belongs to all that it was made from: bytecode of functions, what they close over and
    refer to, zwang's sources, versions, settings and processor. What cannot be known for certain (a
    function that reads a file, an object of a foreign library) is compiled as ever. Libraries are
    trusted to be what their version says. Processors only; accelerators have JAX's own cache.

    Args:
        folder: where; `programs` in zwang's folder for caches (`ZWANG_CACHE`) unless given. Made if
            need be. Compiled programs are run as they are found there, so that nobody but you may
            be able to write to it.
        on: False stops it. The variable `ZWANG_KEEP=0` has the last word.
        task: what this process is going to do; what the last process of the same task took is then
            read at once, on another core.

    Returns:
        Why nothing is kept, or nothing.
    """
    global _kept
    _kept = None
    if not on or os.environ.get("ZWANG_KEEP") == "0":
        return ""
    folder = cache_folder() / "programs" if folder is None else Path(folder)
    try:
        _kept = _Kept(folder, task)
    except UnknownError as reason:
        return f"compiled programs are not kept: {reason}."
    except OSError as error:
        return f"compiled programs are not kept in {folder} ({error.strerror}); ZWANG_CACHE names another folder."
    return ""


class _Ready:
    """A compiled function of flat arrays, and where its results belong."""

    def __init__(self, compiled: Callable[..., list], skeleton: Any):
        leaves, self._tree = jax.tree_util.tree_flatten(skeleton)
        self._fixed = [None if isinstance(x, _Slot) else x for x in leaves]
        self._slots = [i for i, x in enumerate(leaves) if isinstance(x, _Slot)]
        self._compiled = compiled

    def __call__(self, arrays: list) -> Any:
        leaves = list(self._fixed)
        for i, x in zip(
            self._slots, self._compiled(*arrays), strict=False
        ):  # one kernel returns one number more
            leaves[i] = x
        return self._tree.unflatten(leaves)


class _Slot:
    """The place of an array among arguments, or in a result."""


def program(function: Callable[P, R], *, often: bool = False) -> Callable[P, R]:
    """A function of pytrees, compiled as zwang's own programs are: arrays are traced, everything
    else is a part of the program.

    On a processor a program of small arrays becomes one kernel (`zwang.compile.fusion`), which
    takes a third of the time; `keep_programs` holds for it. Otherwise like `equinox.filter_jit`,
    which it is for what cannot be hashed or is spread over devices, at a third of the time for each
    call: a start calls twenty programs. Under `jit`, `vmap` and `grad` it is the function itself.

    Args:
        function: what is compiled.
        often: it is going to run so often that the compiler may take a minute: larger programs
            (rotations in space, the sparse path) become one kernel, too.

    Example:
        >>> run = zw.program(lambda q, v: zw.trajectory(model, q, v, times), often=True)
    """
    at_hand: dict[Any, _Ready] = {}
    limits = OFTEN if often else ONCE

    @functools.cache
    def plain() -> Callable[
        P, R
    ]:  # when it is first called: before, JAX need not know where it runs
        return eqx.filter_jit(function, compiler_options=compiler_options())  # type: ignore  # passed on to jax.jit

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        kept = _kept
        if not trace_state_clean():
            return function(*args, **kwargs)  # a part of another program
        if _debugging():
            return plain()(*args, **kwargs)
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        arrays = [x for x in leaves if eqx.is_array(x)]
        try:
            signature = kept, trace_context(), tree, tuple(_seen(x) for x in leaves)
            ready = at_hand.get(signature)
        except (
            TypeError,
            UnknownError,
        ):  # something that cannot be hashed, or an array that is not here
            return plain()(*args, **kwargs)
        if ready is None:
            flat = _Flat(function, leaves, tree, limits)
            ready = None if kept is None else _ready(kept, flat, leaves)
            ready = at_hand[signature] = ready or _Ready(
                _best(flat, arrays, limits)[-1], flat.skeleton
            )
        return ready(arrays)

    return cast(Callable[P, R], called)


def _debugging() -> bool:
    """Whether JAX is to look into programs, or not to compile any."""
    config: Any = jax.config
    return config.jax_disable_jit or config.jax_debug_nans or config.jax_debug_infs


def _seen(x: Any) -> Any:
    """What a compiled program knows of an argument."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.shape, x.dtype, False
    if isinstance(x, jax.Array):
        if isinstance(x, Tracer) or not x.is_fully_addressable or len(x.devices()) != 1:
            raise UnknownError("an array that is not on this machine alone")
        return x.shape, x.dtype, x.weak_type
    return type(x), x


def _ready(kept: _Kept, flat: _Flat, leaves: list) -> _Ready | None:
    """The program for some arguments: at hand, on disk, or made and kept; None if it cannot be
    kept.
    """
    began = time.perf_counter()
    try:
        key = _key(kept, flat, leaves)
    except Exception as reason:  # what cannot be read to the end for whatever reason is not kept
        jax.monitoring.record_event(REFUSED, reason=f"{flat.function.__qualname__}: {reason}")
        return None
    if key in kept.ready:
        return kept.ready[key]
    if (ready := kept.load(key)) is not None:
        jax.monitoring.record_event_duration_secs(LOADED, time.perf_counter() - began)
    else:
        ready = _made(kept, key, flat, [x for x in leaves if eqx.is_array(x)])
        jax.monitoring.record_event_duration_secs(MADE, time.perf_counter() - began)
    kept.ready[key] = ready
    return ready


def _key(kept: _Kept, flat: _Flat, leaves: list) -> str:
    found, function = Fingerprint(), flat.function
    thread = [
        x for x in trace_context() if type(x).__name__ != "AxisEnv"
    ]  # that of the top level, or this is not asked
    found.token(
        setting(),
        kept.sources,
        repr(thread),
        repr(flat.limits),
        function.__module__,
        function.__qualname__,
    )
    found.add(function)
    found.structure(flat.tree)
    for x in leaves:
        if eqx.is_array(x):
            shape, dtype, weak = _seen(x)
            found.token("array", repr(shape), repr(dtype), repr(weak))
        else:
            found.add(x)
    found.token(kept.modules.numbers(found.modules))
    return found.hexdigest()


class _Flat:
    """A function of pytrees as one of their arrays, for some arguments."""

    def __init__(self, function: Callable, leaves: list, tree, limits: Limits):
        self.function, self.tree, self.limits = function, tree, limits
        self.leaves = [_Slot() if eqx.is_array(x) else x for x in leaves]
        self.skeleton: Any = None
        """What it returns, once it was traced: arrays as slots."""
        self.__name__ = function.__name__

    def __call__(self, *arrays) -> list:
        given = iter(arrays)
        args, kwargs = self.tree.unflatten(
            [next(given) if isinstance(x, _Slot) else x for x in self.leaves]
        )
        out, out_tree = jax.tree_util.tree_flatten(self.function(*args, **kwargs))
        self.skeleton = out_tree.unflatten([_Slot() if eqx.is_array(x) else x for x in out])
        return [x for x in out if eqx.is_array(x)]


def _made(kept: _Kept, key: str, flat: _Flat, arrays: list) -> _Ready:
    """A program compiled now, and kept if it is nothing but a computation."""
    # What JAX's own cache returns cannot be written once more: a name that it has never met keeps
    # it out, an endless wait its files
    flat.__name__ = f"{flat.__name__}_{uuid.uuid4().hex}"
    with least_time(math.inf):
        traced, lowered, compiled = _best(flat, arrays, flat.limits)
    try:
        _refuse_host(traced, lowered)
        results = len(jax.tree_util.tree_leaves(compiled.out_info))
        content = (
            serialize_executable.serialize(compiled)[0],
            len(compiled.args_info[0]),
            results,
            pickle.dumps(flat.skeleton),
        )
        if _loaded(content) is None:
            raise UnknownError("it cannot be read back")
        if sources() == kept.sources:
            kept.store.write(key, content)
    except Exception as reason:
        jax.monitoring.record_event(REFUSED, reason=f"{flat.function.__qualname__}: {reason}")
    return _Ready(compiled, flat.skeleton)


def _best(
    flat: Callable, arrays: list, limits: Limits = ONCE
) -> tuple[jax.stages.Traced, jax.stages.Lowered, jax.stages.Compiled]:
    """A function of arrays compiled: as one kernel if it can be one."""
    traced, name = jax.jit(flat).trace(*arrays), getattr(flat, "__name__", "program")
    if jax.default_backend() == "cpu" and fits(traced.jaxpr, limits):
        try:
            lowered = jax.jit(one_kernel(traced.jaxpr, name)).lower(*arrays)
            return traced, lowered, lowered.compile(compiler_options() | WHOLE)
        except Exception as reason:  # an operation that is not emitted as code after all
            jax.monitoring.record_event(APART, reason=f"{name}: {reason}")
    lowered = traced.lower()
    return traced, lowered, lowered.compile(compiler_options())


def _refuse_host(traced, lowered) -> None:
    """Raise if a program calls back into this process, or calls anything but JAX's own routines of
    linear algebra.
    """
    if traced.jaxpr.effects:
        raise UnknownError(f"it has effects: {traced.jaxpr.effects}")
    for target in set(re.findall(r"custom_call @([\w.]+)", lowered.as_text())):
        if not target.startswith(CALLS):
            raise UnknownError(f"it calls {target}")


def _loaded(content: Any) -> tuple[jax.stages.Compiled, bytes] | None:
    """A program and the pickled skeleton of what it returns, from what was written; None if this
    process cannot read it.
    """
    if content is None:
        return None
    try:
        executable, given, returned, skeleton = content
        arguments = jax.tree_util.tree_structure(((0,) * given, {}))
        results = jax.tree_util.tree_structure([0] * returned)
        return serialize_executable.deserialize_and_load(executable, arguments, results), skeleton
    except Exception:  # whatever it is, it is made again
        return None
