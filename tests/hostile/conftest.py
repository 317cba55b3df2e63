"""The command line's compile cache is the one of the tests, and steps are taken on the host: these
runs end before a compiled loop would be ready.
"""

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


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    # for each test by itself: tests of other folders share the process
    monkeypatch.setenv("ZWANG_EXECUTION", "host")
