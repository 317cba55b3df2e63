"""Programs of these tests run for milliseconds and are compiled for seconds: without most optimizations they compile faster."""

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
