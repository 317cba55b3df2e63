"""One finished run, and the compile cache of the tests."""

from pathlib import Path

import jax
import pytest

from .command_line import PENDULUM, write, zwang


@pytest.fixture(scope="session", autouse=True)
def compile_cache():
    """The command line's compile cache is the one of the tests."""
    before = jax.config.jax_compilation_cache_dir
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZWANG_CACHE", str(Path(before).parent))
        yield
    jax.config.update("jax_compilation_cache_dir", before)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A pendulum run once by the command line: the answer, and the folder it was written into."""
    folder = tmp_path_factory.mktemp("run")
    model = write(folder, PENDULUM)
    return zwang(
        "run", model, "--set", "m=2", "--samples", "41", "--rtol", "1e-9", "--out", folder / "out"
    ), folder / "out"
