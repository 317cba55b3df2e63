"""The private and experimental names of JAX and Equinox that zwang uses: all of them, here alone.

A name is imported when it is first needed, so that importing zwang and making a model touches none.
Where one is missing, in another version, `MissingNameError` is raised by its first use and the
caller falls back to what public names can do; `ZWANG_COMPILER=plain` does so for everything.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Iterator
from typing import Any

TESTED_VERSIONS = {"jax": "0.9.2", "jaxlib": "0.9.2", "equinox": "0.13.8"}
"""Versions that the tests ran with. `pyproject.toml` bounds each to its minor version."""

TESTED_KERNELS = frozenset({("0.9.2", "x86_64")})
"""Versions of jaxlib and kinds of processor on which one-kernel programs are known to work; any
other pair is tried first, in a process of its own (`zwang.compile.canary`).
"""

PRIVATE_NAMES = {
    "equinox.internal.unvmap_any": "one decision for all members of a batch",
    "equinox.internal.while_loop": "reverse-mode derivatives through a loop, buffers in place",
    "jax._src.config.persistent_cache_min_compile_time_secs": "bypassing JAX's own compile cache",
    "jax._src.config.trace_context": "JAX's settings that a traced program depends on",
    "jax._src.core.trace_state_clean": "whether a call is part of a trace",
    "jax.experimental.layout.Layout": "order of a matrix in memory",
    "jax.experimental.layout.with_layout_constraint": "order of a matrix in memory",
    "jax.experimental.serialize_executable.deserialize_and_load": "reading compiled programs",
    "jax.experimental.serialize_executable.serialize": "writing compiled programs",
    "jax.experimental.xla_metadata.set_xla_metadata": "the attribute that makes one kernel",
    "jaxlib.cpu._lapack.initialize": "LAPACK for programs that were not lowered here",
    "jaxlib.utils.absl_set_min_log_level": "reading compiled programs without lines on stderr",
}
"""Every such name, and what it is needed for."""

USUAL, FATAL = 1, 3
"""Levels of XLA's log: JAX's own choice, warnings and above; and what ends the process."""

ALWAYS_NEEDED = ("jax._src.config.trace_context", "jax._src.core.trace_state_clean")
"""Names without which calls with numbers cannot be distinguished from traces: then all is plain."""


class MissingNameError(ImportError):
    """A private name that this version of its library does not have."""


@functools.cache
def private(name: str) -> Any:
    """The object of one of `PRIVATE_NAMES`.

    Raises:
        MissingNameError: if the installed version has no such name.
    """
    if name not in PRIVATE_NAMES:
        raise KeyError(f"{name} is not declared in PRIVATE_NAMES")
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        raise MissingNameError(
            f"this version has no {name} ({PRIVATE_NAMES[name]}); tested are {_tested()}."
        ) from None


def _tested() -> str:
    return ", ".join(f"{library} {version}" for library, version in TESTED_VERSIONS.items())


@functools.cache
def missing_name() -> str:
    """Why no program can be more than plain; empty if nothing is missing."""
    try:
        for name in ALWAYS_NEEDED:
            private(name)
    except MissingNameError as reason:
        return str(reason)
    return ""


def trace_state_clean() -> bool:
    """Whether nothing is being traced, so that arrays have values."""
    return private("jax._src.core.trace_state_clean")()


def trace_context() -> tuple:
    """JAX's settings in this thread that a traced program depends on; hashable."""
    return private("jax._src.config.trace_context")()


def bypass_compile_cache() -> Any:
    """A context in which nothing is written to JAX's own compile cache."""
    return private("jax._src.config.persistent_cache_min_compile_time_secs")(float("inf"))


def initialize_lapack() -> None:
    """Load the LAPACK routines, which JAX does when it lowers a factorization."""
    from zwang.compile.lapack import lapack_routines

    lapack_routines()
    private("jaxlib.cpu._lapack.initialize")()


def serialize(compiled: Any) -> bytes:
    """A compiled program as bytes, without the structure of its arguments and results."""
    return private("jax.experimental.serialize_executable.serialize")(compiled)[0]


def deserialize(executable: bytes, arguments: Any, results: Any) -> Any:
    """A compiled program from its bytes and the structures of its arguments and results."""
    load = private("jax.experimental.serialize_executable.deserialize_and_load")
    # XLA takes what LLVM prefers, such as `prefer-no-gather`, for features that the processor lacks
    # and logs an error for each; the cache has a folder for every kind of processor
    with _logging_from(FATAL):
        return load(executable, arguments, results)


@contextlib.contextmanager
def _logging_from(level: int) -> Iterator[None]:
    """XLA's log from a level upwards; all that it usually logs afterwards."""
    try:
        set_level = private("jaxlib.utils.absl_set_min_log_level")
    except MissingNameError:
        yield
        return
    set_level(level)
    try:
        yield
    finally:
        usual = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "")
        set_level(int(usual) if usual.isdecimal() else USUAL)


def with_attributes(x: Any, **attributes: str) -> Any:
    """`x`, the operation that it comes from marked with attributes for XLA."""
    return private("jax.experimental.xla_metadata.set_xla_metadata")(x, **attributes)


def with_layout(x: Any, major_to_minor: tuple[int, ...]) -> Any:
    """`x`, its axes in this order in memory, the last one contiguous."""
    layout = private("jax.experimental.layout.Layout")(major_to_minor)
    return private("jax.experimental.layout.with_layout_constraint")(x, layout)


def buffered_while_loop(*args: Any, **kwargs: Any) -> Any:
    """Equinox's `while_loop`, which reverse-mode differentiation can pass through."""
    return private("equinox.internal.while_loop")(*args, **kwargs)


def unvmap_any(x: Any) -> Any:
    """Whether a truth value holds for any member of a batch."""
    return private("equinox.internal.unvmap_any")(x)
