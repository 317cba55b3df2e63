"""Preparation of JAX before anything is compiled: float64, and a cache of compiled programs on
disk.
"""

from __future__ import annotations

import gc
import os

GARBAGE = 100_000, 20, 50
"""Thresholds of Python's cyclic garbage collector after JAX has been imported."""


def start_jax() -> str:
    """Switch on float64 and the compile cache.

    Returns:
        A sentence if there is no cache, which only costs time; empty otherwise.
    """
    import jax

    jax.config.update("jax_enable_x64", True)
    # programs run in the calling thread, because passing one to another thread takes as long as a
    # small evaluation
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    without_cache = _with_cache()
    # imported objects live as long as the process, so the garbage collector need not examine them
    # again; only once, because garbage at a second command of one process would be kept
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
