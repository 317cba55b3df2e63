"""The private names of JAX that zwang uses: all of them, here alone.

Each is imported where it is needed, so that importing zwang and making a model touches none.
"""

from __future__ import annotations

import contextlib

TESTED_VERSIONS = {"jax": "0.10.2", "jaxlib": "0.10.2"}
"""Versions that the tests ran with. `pyproject.toml` bounds each to its minor version."""


def trace_state_clean() -> bool:
    """Whether nothing is being traced, so that arrays have values."""
    from jax._src import core

    return core.trace_state_clean()


def outside_of_programs() -> contextlib.AbstractContextManager:
    """A context in which arrays have values, though it may be asked for inside a program; nothing
    outside of one, where its settings would compile programs for it and again for a run.
    """
    import jax

    return contextlib.nullcontext() if trace_state_clean() else jax.ensure_compile_time_eval()


def trace_context() -> tuple:
    """JAX's settings in this thread that a traced program depends on; hashable."""
    from jax._src import config

    return config.trace_context()
