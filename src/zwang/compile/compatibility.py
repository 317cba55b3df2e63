"""All private names of JAX that zwang uses.

Each is imported on use, so that importing zwang and making a model does not depend on them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

TESTED_VERSIONS = {"jax": "0.10.2", "jaxlib": "0.10.2"}
"""Versions that the tests ran with. `pyproject.toml` bounds each to its minor version."""


def trace_state_clean() -> bool:
    """Return whether nothing is being traced, so that arrays have values."""
    from jax._src import core

    return core.trace_state_clean()


def outside_of_programs() -> contextlib.AbstractContextManager:
    """Return a context in which arrays have values, even inside a trace.

    Outside of a trace the context does nothing: its settings would compile programs for it, and
    again for a run.
    """
    import jax

    return contextlib.nullcontext() if trace_state_clean() else jax.ensure_compile_time_eval()


def trace_context() -> tuple:
    """Return JAX's settings in this thread that a trace depends on; hashable."""
    from jax._src import config

    return config.trace_context()


def depends_on(function: Callable, x, *others) -> bool:
    """Return whether the result of a function can depend on its first argument, an array, by its
    program.
    """
    import jax
    from jax.interpreters.partial_eval import dce_jaxpr

    program = jax.make_jaxpr(function)(x, *others).jaxpr
    return dce_jaxpr(program, [True] * len(program.outvars))[1][0]
