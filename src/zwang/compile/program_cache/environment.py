"""Versions, processor and settings that a program depends on in addition to its function."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys

import jax
import jaxlib.version
import jaxtyping
import llvmlite
import numpy as np

from zwang.compile.folder import processor

NO_EFFECT = ("cache", "log", "traceback", "explain", "profile", "dump", "hash_")
"""Substrings of names of JAX's settings that do not change a program."""
VARIABLES = ("JAX_", "EQX_", "JAXTYPING_")
"""Prefixes of names of environment variables that may change a program."""


@functools.cache
def _version(package: str) -> str:
    """Version of a package, read once without importing it; empty if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def environment_key() -> str:
    """All of them as one string."""
    versions = [
        sys.version,
        sys.implementation.cache_tag or "",
        *(x.__version__ for x in (jax, np, jaxtyping, llvmlite)),
        _version("equinox"),
    ]
    versions += [jaxlib.version.__version__, *(x.__file__ or "" for x in (jax, np))]
    config = jax.config
    settings = {
        name: value
        for name, value in config.values.items()
        if not any(part in name for part in NO_EFFECT)
    }
    variables = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
    device = jax.devices()[0]
    where = (
        device.platform,
        device.device_kind,
        str(len(jax.devices())),
        processor(),
        str(os.cpu_count()),
    )
    return repr((versions, sorted(settings.items(), key=str), sorted(variables.items()), where))
