"""The private and experimental names of JAX that zwang uses: all of them, here alone.

A name is imported when it is first needed, so that importing zwang and making a model touches none.
Where one is missing, in another version, `MissingNameError` is raised by its first use, and the
caller falls back to what public names can do where that is possible.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

TESTED_VERSIONS = {"jax": "0.10.2", "jaxlib": "0.10.2"}
"""Versions that the tests ran with. `pyproject.toml` bounds each to its minor version."""

PRIVATE_NAMES = {
    "jax._src.config.trace_context": "JAX's settings that a traced program depends on",
    "jax._src.core.trace_state_clean": "whether a call is part of a trace",
}
"""Every such name, and what it is needed for."""


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


def trace_state_clean() -> bool:
    """Whether nothing is being traced, so that arrays have values."""
    return private("jax._src.core.trace_state_clean")()


def trace_context() -> tuple:
    """JAX's settings in this thread that a traced program depends on; hashable."""
    return private("jax._src.config.trace_context")()
