"""A run in a separate process, which is killed."""

import os
import time

import jax

import zwang as zw
import zwang.gallery
import zwang.study.long_run


def run(out: str, span: dict, cache: str, stepping, slowly: bool) -> None:
    """Begin a run or go on with it; `stepping` is set after its first steps."""
    os.environ["ZWANG_CACHE"] = cache
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_compilation_cache_dir", os.path.join(cache, "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_disable_most_optimizations", True)
    zw.keep_programs()
    example = zw.gallery.load("pendulum", angle=80.0)

    def progress(fraction):
        stepping.set()
        if slowly:
            time.sleep(0.02)

    zw.study.long_run(
        example.model,
        example.q0,
        example.v0,
        out=out,
        every=0.0 if slowly else 10.0,
        progress=progress,
        **span,
    )
    stepping.set()
