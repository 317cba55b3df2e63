"""Versions, processor and settings: what a compiled program depends on besides its function."""

from __future__ import annotations

import os
import sys

import equinox
import jax
import jaxlib.version
import jaxtyping
import numpy as np

from zwang.compile.folder import processor

IRRELEVANT = ("cache", "log", "traceback", "explain", "profile", "dump", "hash_")
"""Parts of names of JAX's settings that change nothing of a program."""


def setting() -> str:
    """All of it as one text."""
    versions = [
        sys.version,
        sys.implementation.cache_tag or "",
        *(x.__version__ for x in (jax, equinox, np, jaxtyping)),
    ]
    versions += [jaxlib.version.__version__, *(x.__file__ or "" for x in (jax, equinox, np))]
    own = {
        name: value
        for name, value in jax.config.values.items()
        if not any(part in name for part in IRRELEVANT)
    }
    variables = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("JAX_", "XLA_", "TF_", "EQX_", "JAXTYPING_", "ZWANG_ONE"))
    }
    device = jax.devices()[0]
    where = (
        device.platform,
        device.device_kind,
        str(len(jax.devices())),
        processor(),
        str(os.cpu_count()),
    )
    return repr((versions, sorted(own.items(), key=str), sorted(variables.items()), where))
