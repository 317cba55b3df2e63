"""The program cache: compiled programs on disk, shared between processes.

A program found in the cache is neither traced nor compiled again. Its key is the content of
everything that it was made from (`fingerprint`), with the processor, the versions and the settings
(`environment`).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax

from zwang.compile.compatibility import trace_context
from zwang.compile.engine import is_native_wanted
from zwang.compile.events import LOADED, MADE, NOT_CACHED
from zwang.compile.flat import CompiledProgram, FlatFunction, NotCacheableError, signature
from zwang.compile.folder import cache_folder
from zwang.compile.program_cache.environment import environment_key
from zwang.compile.program_cache.fingerprint import Fingerprint
from zwang.compile.program_cache.source_digest import ModuleConstants, source_digest
from zwang.compile.program_cache.store import Store
from zwang.files.reading import file_name
from zwang.inputs.arguments import flag
from zwang.inputs.call import misfits_named
from zwang.native.compiled import NativeFunction
from zwang.native.module import Stored
from zwang.objects.recent import Recent
from zwang.objects.record import is_array


class ProgramCache:
    """Programs by their key: those of this process, and those on disk.

    Args:
        folder: for the files; made if it does not exist. None caches in this process only.

    Raises:
        NotCacheableError: if zwang's sources allow no cache.
        OSError: if the folder cannot be used.
    """

    def __init__(self, folder: Path | None = None):
        self.store = None if folder is None else Store(folder)
        self._sources = "" if folder is None else source_digest()
        self._modules = ModuleConstants()
        self._ready: Recent[CompiledProgram] = Recent()

    def key(
        self, flat: FlatFunction, leaves: list, of_each: list[bool] | None = None
    ) -> str | None:
        """Return the key of a program; None if the content it is made from cannot be determined."""
        try:
            found = content(flat, leaves)
            # The axis names of an enclosing `vmap` are left out: at the top level there are none.
            thread = [x for x in trace_context() if type(x).__name__ != "AxisEnv"]
            engine = repr(is_native_wanted())
            found.token(environment_key(), self._sources, engine, repr(thread), repr(of_each))
            found.token(self._modules.digest(found.modules))
            return found.hexdigest()
        except Exception as reason:  # A foreign object may raise anything while it is examined.
            self._not_kept(flat, reason)
            return None

    def known(self, key: str) -> CompiledProgram | None:
        """Return the program of a key from memory or from disk, or None."""
        if (ready := self._ready.get(key)) is not None or self.store is None:
            return ready
        begun = time.perf_counter()
        try:
            kept = _Kept(*self.store.read(key))
            code = NativeFunction(Stored(*kept.function))
            ready = CompiledProgram(code, pickle.loads(kept.skeleton), kept.seconds)
        # If the file cannot be used for any reason, the program is compiled again.
        except Exception:
            return None
        code.optimized = self._writer(key, kept.seconds, kept.skeleton)
        jax.monitoring.record_event_duration_secs(LOADED, time.perf_counter() - begun)
        self._ready.put(key, ready)
        return ready

    def keep(self, key: str, flat: FlatFunction, ready: CompiledProgram) -> None:
        """Cache a program in this process and, if it is native code, on disk."""
        self._ready.put(key, ready)
        if self.store is None:
            return
        code = ready.compiled
        if not isinstance(code, NativeFunction):
            self._not_kept(flat, "XLA has compiled it")
            return
        jax.monitoring.record_event_duration_secs(MADE, ready.seconds)
        try:
            skeleton = pickle.dumps(ready.skeleton)
        except Exception as reason:  # the result has an object of a foreign class
            self._not_kept(flat, reason)
            return
        code.optimized = self._writer(key, ready.seconds, skeleton)
        try:
            self._write(key, ready.seconds, skeleton, code.stored)
        except NotCacheableError as reason:
            self._not_kept(flat, reason)

    def _write(self, key: str, seconds: float, skeleton: bytes, stored: Stored) -> None:
        if self.store is not None and source_digest() == self._sources:
            self.store.write(key, tuple(_Kept(tuple(stored), skeleton, seconds)))

    def _writer(self, key: str, seconds: float, skeleton: bytes) -> Callable[[Stored], None]:
        """Return a function that stores a program again after a part of it has been optimized.

        It is used in this process, or in a later one that continues the optimization.
        """

        def write(stored: Stored) -> None:
            with contextlib.suppress(NotCacheableError):
                self._write(key, seconds, skeleton, stored)

        return write

    def _not_kept(self, flat: FlatFunction, reason: object) -> None:
        if self.store is not None:
            what = getattr(flat.function, "__qualname__", flat.__name__)
            jax.monitoring.record_event(NOT_CACHED, reason=f"{what}: {reason}")


class _Kept(NamedTuple):
    """The stored form of a program.

    Attributes:
        function: native code, as data.
        skeleton: structure of the result with slots for arrays; pickled.
        seconds: compilation time.
    """

    function: tuple
    skeleton: bytes
    seconds: float


def content(flat: FlatFunction, leaves: list) -> Fingerprint:
    """Return the fingerprint of a function with all that it refers to, and of its arguments.

    The numbers of the arguments are left out.

    Raises:
        NotCacheableError: if the content cannot be determined.
    """
    found, function = Fingerprint(), flat.function
    found.token(function.__module__, function.__qualname__)
    found.add(function)
    found.structure(flat.tree)
    for x in leaves:
        if is_array(x):
            shape, dtype, weak = signature(x)
            found.token("array", repr(shape), repr(dtype), repr(weak))
        else:
            found.add(x)
    for x in flat.zeros:
        found.token("zeros", b"" if x is None else x.where.tobytes())
    return found


IN_PROCESS = ProgramCache()
"""Programs cached in this process only: those of XLA, and all if no programs are stored on disk."""
_current: ProgramCache | None = None


def current() -> ProgramCache:
    """Return the cache in use.

    Until `keep_programs` is called, it is in the default cache folder.
    """
    if _current is None:
        keep_programs()
    return _current or IN_PROCESS


def keeps_programs() -> bool:
    """Return whether compiled programs are cached on disk."""
    return current().store is not None


@misfits_named
def keep_programs(folder: Path | str | None = None, *, on: bool = True) -> str:
    """Choose the folder of the program cache, or switch the cache off.

    By default programs are cached on disk in zwang's own cache folder: a program that any process
    has compiled is loaded without tracing. A model that is defined again, in a cell that runs twice
    or in another process, compiles nothing. `keep_programs(on=False)` or `ZWANG_KEEP=0` switches
    this off.

    The key of a program is all that it was made from: bytecode of functions, their closures and
    references, zwang's sources, versions, settings and processor. A program whose content cannot be
    determined (a function that reads a file, an object of a foreign library) is compiled without
    the cache. Libraries are identified by their version. The cache is used on CPUs only; for
    accelerators JAX has its own cache.

    Args:
        folder: by default `programs` in zwang's cache folder (`ZWANG_CACHE`). Made if it does not
            exist. Compiled programs in it are executed without further checks, so nobody but you
            may have write access to it.
        on: False stops caching. The variable `ZWANG_KEEP=0` takes precedence.

    Returns:
        The reason why nothing is cached; empty if programs are cached, or if `on` is False.
    """
    global _current
    _current = IN_PROCESS
    folder = None if folder is None else file_name(folder, "keep_programs: folder")
    if not flag(on, "keep_programs: on") or os.environ.get("ZWANG_KEEP") == "0":
        return ""
    folder = cache_folder() / "programs" if folder is None else folder
    try:
        _current = ProgramCache(folder)
    except NotCacheableError as reason:
        return f"compiled programs are not kept: {reason}."
    except OSError as error:
        return (
            f"compiled programs are not kept in {folder} ({error.strerror}); "
            "ZWANG_CACHE names another folder."
        )
    return ""
