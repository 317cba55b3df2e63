"""The command line uses the compile cache of the tests."""

from pathlib import Path

import jax
import pytest


@pytest.fixture(scope="session", autouse=True)
def compile_cache():
    before = jax.config.jax_compilation_cache_dir
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZWANG_CACHE", str(Path(before).parent))
        yield
    jax.config.update("jax_compilation_cache_dir", before)
