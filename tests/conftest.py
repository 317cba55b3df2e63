"""What every test shares: float64, one compile cache, patient hypothesis."""

import gc
import os
from pathlib import Path

# The workers share the cores, and threads of OpenBLAS that wait for each other there make a run 40 times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import jax
import pytest

ROOT = Path(__file__).resolve().parents[1]

jax.config.update("jax_enable_x64", True)

# Compilation dominates test time, so compiled programs are kept between runs and shared by the workers.
jax.config.update("jax_compilation_cache_dir", str(ROOT / ".cache" / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)

# The first example of a property compiles, which no deadline allows for; CI repeats the same examples every time.
hypothesis.settings.register_profile("zwang", deadline=None, print_blob=True, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("zwang")

QUICK = {"closed_form", "ensemble", "hierarchy", "integrate", "mechanism", "servo", "viewer"}
QUICK |= {"test_orders", "test_simulation", "test_switching"}
"""Folders and modules whose programs run for milliseconds and are compiled for seconds: without most optimizations these take half
the time. Not where programs run for seconds, and not yet everywhere else."""


@pytest.fixture(autouse=True, scope="module")
def quick_compilation(request):
    quick = bool(QUICK & {request.path.parent.name, request.path.stem})
    jax.config.update("jax_disable_most_optimizations", quick)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


MAPPINGS = Path("/proc/self/maps")
MOST_MAPPINGS = 30_000
"""Each compiled program holds about 14 memory mappings, of which Linux gives a process 65 530; beyond them JAX crashes."""


@pytest.fixture(autouse=True, scope="module")
def _few_mappings():
    """Forget compiled programs between modules before there are too many for one process."""
    yield
    if MAPPINGS.exists() and MAPPINGS.read_bytes().count(b"\n") > MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()
