"""JAX, made ready before it compiles anything: float64, and compiled programs kept between runs."""

from __future__ import annotations

import gc
import os

GARBAGE = 100_000, 20, 50
"""Thresholds of Python's search for circular garbage once JAX is there."""


def start_jax() -> str:
    """Switch float64 on and the compile cache too.

    Returns:
        A sentence if there is no cache, which costs nothing but time; empty otherwise.
    """
    import jax

    jax.config.update("jax_enable_x64", True)
    # programs run where they are called: handing one to another thread takes as long as a small
    # evaluation
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    without_cache = _with_cache()
    # what has been imported lives as long as the process, and is not looked through again; once, as
    # what is garbage at a second command of one process would be kept
    if not gc.get_freeze_count():
        gc.freeze()
    gc.set_threshold(*GARBAGE)
    return without_cache


def _with_cache() -> str:
    import jax
    import jaxlib.version

    from zwang.compile import cache_folder, keep_programs, processor

    folder = cache_folder() / "jax" / f"{jaxlib.version.__version__}-{processor()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "not writable")
    except OSError as error:
        return (
            f"no compile cache at {folder} ({error.strerror}), so every run compiles anew; "
            "ZWANG_CACHE names another folder."
        )
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    return keep_programs()
