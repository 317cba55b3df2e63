"""The program cache: compiled programs that outlive their process.

A program found there is neither traced nor compiled again. Its key is the content of everything
that it was made from (`fingerprint`), with the processor, the versions and the settings
(`environment`).
"""

from __future__ import annotations

import atexit
import functools
import os
import pickle
import re
import threading
import time
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax

from zwang.arguments import flag
from zwang.call import misfits_named
from zwang.compile import lowering
from zwang.compile.compatibility import (
    MissingNameError,
    bypass_compile_cache,
    deserialize,
    initialize_lapack,
    serialize,
    trace_context,
)
from zwang.compile.compilers import is_plain
from zwang.compile.events import LOADED, MADE, NOT_CACHED
from zwang.compile.flat import CompiledProgram, FlatFunction, NotCacheableError, signature
from zwang.compile.folder import cache_folder
from zwang.compile.program_cache.environment import environment_key
from zwang.compile.program_cache.fingerprint import Fingerprint
from zwang.compile.program_cache.prefetch import Prefetch
from zwang.compile.program_cache.source_digest import ModuleConstants, source_digest
from zwang.compile.program_cache.store import Store
from zwang.compile.recent import Recent
from zwang.files.reading import file_name
from zwang.native import NativeFunction, Stored

SAFE_CALLS = ("lapack_", "Sharding", "LayoutConstraint")
"""Beginnings of names of routines that a cached program may call: they are the same ones in every
process.
"""


class _Stored(NamedTuple):
    """What is written for a program.

    Attributes:
        executable: the compiled program.
        arguments, results: how many arrays go in and come out.
        skeleton: what the function returns, arrays as slots; pickled.
        seconds: how long it took to make.
    """

    executable: bytes
    arguments: int
    results: int
    skeleton: bytes
    seconds: float


class _StoredNative(NamedTuple):
    """The same for native code.

    Attributes:
        function: as data.
    """

    function: tuple
    skeleton: bytes
    seconds: float


class ProgramCache:
    """Where programs are kept, and those that were used in this process.

    Args:
        folder: for the files; made if it does not exist.
        task: names what this process is going to do; empty for nothing to be prefetched.

    Raises:
        NotCacheableError: if this device, or zwang's sources, allow no cache.
        OSError: if the folder cannot be used.
    """

    def __init__(self, folder: Path, task: str):
        if jax.default_backend() != "cpu" or jax.device_count() != 1:
            raise NotCacheableError(
                "programs for accelerators and for several devices are left to JAX's own cache"
            )
        self.store, self._sources = Store(folder), source_digest()
        self._modules = ModuleConstants()
        self._ready: Recent[CompiledProgram] = Recent()
        initialize_lapack()
        self.prefetch = Prefetch(self.store, task, self._read, self._ready) if task else None
        self._behind: list[threading.Thread] = []

    def program(
        self,
        flat: FlatFunction,
        leaves: list,
        way: lowering.Way,
        *,
        make: bool = True,
    ) -> CompiledProgram | None:
        """The program for some arguments: at hand, on disk, or, with `make`, made and written; None
        if it cannot be cached.
        """
        began = time.perf_counter()
        try:
            key = self._key(flat, leaves, way)
        except Exception as reason:  # whatever a foreign object raises while it is looked through
            jax.monitoring.record_event(
                NOT_CACHED, reason=f"{flat.function.__qualname__}: {reason}"
            )
            return None
        if (ready := self._ready.get(key)) is not None:
            return ready
        if (ready := self._load(key)) is not None:
            jax.monitoring.record_event_duration_secs(LOADED, time.perf_counter() - began)
        elif not make:
            return None
        else:
            arrays = [x for x in leaves if eqx.is_array(x)]
            ready = self._make(key, flat, arrays, way)
            jax.monitoring.record_event_duration_secs(MADE, time.perf_counter() - began)
        self._ready.put(key, ready)
        return ready

    def _key(self, flat: FlatFunction, leaves: list, way: lowering.Way) -> str:
        found = content(flat, leaves, way)
        # without the axis names of an enclosing `vmap`: at the top level there is none
        thread = [x for x in trace_context() if type(x).__name__ != "AxisEnv"]
        found.token(environment_key(), self._sources, repr(thread))
        found.token(self._modules.digest(found.modules))
        return found.hexdigest()

    def _read(self, key: str) -> tuple[Any, bytes, float] | None:
        """What `_loaded` gives of a file, if there is such a file."""
        return _loaded(self.store.read(key))

    def _load(self, key: str) -> CompiledProgram | None:
        """The program of a key, if there is one."""
        found = (self.prefetch and self.prefetch.take(key)) or self._read(key)
        try:
            # unpickled here and not in `_read`: it imports, as a second thread must not
            if found is None:
                return None
            return CompiledProgram(found[0], pickle.loads(found[1]), found[2])
        except Exception:  # whatever the skeleton needs and is not there, it is made again
            return None

    def _make(
        self, key: str, flat: FlatFunction, arrays: list, way: lowering.Way
    ) -> CompiledProgram:
        """A program compiled now, and written if it is nothing but a computation."""
        # What JAX's own cache returns cannot be serialized once more. A name that it has never met
        # keeps it from answering, an endless least time from writing.
        flat.__name__ = f"{flat.__name__}_{uuid.uuid4().hex}"
        begun = time.perf_counter()
        with bypass_compile_cache():
            made = lowering.compile_flat(flat, arrays, way)
        seconds = time.perf_counter() - begun
        keep = functools.partial(self._keep, key, flat, made, seconds)
        if self.prefetch is None:
            keep()
        else:
            # the steps of a command need not wait: it takes a tenth as long as compiling
            self._behind.append(threading.Thread(target=keep, name="zwang keeps a program"))
            self._behind[-1].start()
        return CompiledProgram(made.compiled, flat.skeleton, seconds)

    def _keep(self, key: str, flat: FlatFunction, made: lowering.Lowered, seconds: float) -> None:
        """Write a program, once it is known that it can be read back."""
        try:
            skeleton = pickle.dumps(flat.skeleton)
            content: Any
            if isinstance(made.compiled, NativeFunction):
                content = _StoredNative(tuple(made.compiled.stored), skeleton, seconds)
            else:
                refuse_callbacks(made.traced, made.lowered)
                arguments = len(made.compiled.args_info[0])
                results = len(jax.tree_util.tree_leaves(made.compiled.out_info))
                executable = serialize(made.compiled)
                content = _Stored(executable, arguments, results, skeleton, seconds)
            if _loaded(content) is None:
                raise NotCacheableError("it cannot be read back")
            if source_digest() == self._sources:
                self.store.write(key, tuple(content))
        except Exception as reason:
            jax.monitoring.record_event(
                NOT_CACHED, reason=f"{flat.function.__qualname__}: {reason}"
            )

    def finish(self) -> None:
        """Return when all that is to be kept is written."""
        while self._behind:
            self._behind.pop().join()


def content(flat: FlatFunction, leaves: list, way: lowering.Way) -> Fingerprint:
    """What a program is made from: the function with all that it refers to, how it is compiled, and
    its arguments but for their numbers.

    Raises:
        NotCacheableError: if that cannot be known for certain.
    """
    found, function = Fingerprint(), flat.function
    found.token(repr(tuple(way)), function.__module__, function.__qualname__)
    found.add(function)
    found.structure(flat.tree)
    for x in leaves:
        if eqx.is_array(x):
            shape, dtype, weak = signature(x)
            found.token("array", repr(shape), repr(dtype), repr(weak))
        else:
            found.add(x)
    return found


_current: ProgramCache | None = None
_chosen = False
"""Whether `keep_programs` has been called in this process."""


def current() -> ProgramCache | None:
    """The cache that is in use, or None. Until `keep_programs` is called, it is the one in the
    default folder for caches.
    """
    if not _chosen:
        keep_programs()
    return _current


def finish_keeping() -> None:
    """Return when every program that is to be kept is written."""
    if _current is not None:
        _current.finish()


# also where a process ends without waiting for its threads (`zwang.compile.background.abandon`)
atexit.register(finish_keeping)


def keeps_programs() -> bool:
    """Whether compiled programs are kept."""
    return current() is not None


@misfits_named
def keep_programs(folder: Path | str | None = None, *, on: bool = True, task: str = "") -> str:
    """Cache compiled programs on disk from now on, and use those that are there: what ran once in
    any process is not traced again.

    That is so without a call of this function, in zwang's own folder for caches: a model that is
    defined once more, in a cell that runs twice or in another process, compiles nothing.
    `keep_programs(on=False)` or `ZWANG_KEEP=0` switches it off.

    The key of a program is all that it was made from: bytecode of functions, what they close over
    and refer to, zwang's sources, versions, settings and processor. What cannot be known for
    certain (a function that reads a file, an object of a foreign library) is compiled without the
    cache. Libraries are trusted to be what their version says. Processors only; accelerators have
    JAX's own cache.

    Args:
        folder: where; by default `programs` in zwang's folder for caches (`ZWANG_CACHE`). Made if
            it does not exist. Compiled programs are run as they are found there, so that nobody but
            you may be able to write to it.
        on: False stops it. The variables `ZWANG_KEEP=0` and `ZWANG_COMPILER=plain` have the last
            word.
        task: what this process is going to do; what the last process of the same task used is then
            read at once, on another core.

    Returns:
        Why nothing is cached; empty if something is, or if nothing is wanted.
    """
    global _current, _chosen
    finish_keeping()
    _current, _chosen = None, True
    folder = None if folder is None else file_name(folder, "keep_programs: folder")
    if not flag(on, "keep_programs: on") or os.environ.get("ZWANG_KEEP") == "0" or is_plain():
        return ""
    folder = cache_folder() / "programs" if folder is None else folder
    try:
        _current = ProgramCache(folder, task)
    except (NotCacheableError, MissingNameError) as reason:
        return f"compiled programs are not kept: {reason}."
    except OSError as error:
        return (
            f"compiled programs are not kept in {folder} ({error.strerror}); "
            "ZWANG_CACHE names another folder."
        )
    return ""


def refuse_callbacks(traced: jax.stages.Traced, lowered: jax.stages.Lowered) -> None:
    """Raise if a program calls back into this process, or calls anything but JAX's own routines of
    linear algebra.
    """
    if traced.jaxpr.effects:
        raise NotCacheableError(f"it has effects: {traced.jaxpr.effects}")
    for target in set(re.findall(r"custom_call @([\w.]+)", lowered.as_text())):
        if not target.startswith(SAFE_CALLS):
            raise NotCacheableError(f"it calls {target}")


def _loaded(content: Any) -> tuple[Any, bytes, float] | None:
    """A program, its pickled skeleton, and how long it took to make, from what was written; None if
    this process cannot read it.
    """
    if content is None:
        return None
    try:
        if len(content) == len(_StoredNative._fields):
            kept = _StoredNative(*content)
            return NativeFunction(Stored(*kept.function)), kept.skeleton, kept.seconds
        stored = _Stored(*content)
        arguments = jax.tree_util.tree_structure(((0,) * stored.arguments, {}))
        results = jax.tree_util.tree_structure([0] * stored.results)
        compiled = deserialize(stored.executable, arguments, results)
        return compiled, stored.skeleton, stored.seconds
    except Exception:  # whatever it is, it is made again
        return None
