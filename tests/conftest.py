"""What every test shares: float64, one compile cache, patient hypothesis, a browser."""

import gc
import os
import shutil
from pathlib import Path

# The workers share the cores, and threads of OpenBLAS that wait for each other there make a run 40
# times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import jax
import pytest

from zwang.compile import interface, keep_programs, lowering
from zwang.compile.recent import Recent

ROOT = Path(__file__).resolve().parents[1]

jax.config.update("jax_enable_x64", True)
keep_programs(on=False)

# Compilation dominates test time, so compiled programs are kept between runs and shared by the
# workers; small ones too, as
# operations outside of programs, each of them one, take a third of the time.
jax.config.update("jax_compilation_cache_dir", str(ROOT / ".cache" / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

# The first example of a property compiles, which no deadline allows for; CI repeats the same
# examples every time.
hypothesis.settings.register_profile(
    "zwang", deadline=None, print_blob=True, derandomize="CI" in os.environ
)
hypothesis.settings.load_profile("zwang")

LONG = {"slow", "robots"}
"""Marks of tests whose programs run for longer than they are compiled. All others do without most
optimizations, which takes half
the time.
"""
jax.config.update("jax_disable_most_optimizations", True)


QUICK_FLAGS = (
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
"""For runs without the long tests: the older way to emit fused operations, with which programs
without most optimizations compile in half the processor time (405 operations of JAX outside of
programs: 8.8 s instead of 15.3), each in one piece, as the workers have the cores already (the
programs of a gyroscope: 4.6 s instead of 5.3). Long tests compile as users do.
"""
APART = {"ZWANG_ONE_KERNEL": "0"}
"""For the same runs: programs operation by operation. A kernel is traced twice and takes LLVM
longer (a trajectory of two coordinates: 1.0 s instead of 1.6), and gains nothing in a run of a
few steps. Tests whose subject it is ask for `compilers_as_asked`.
"""


def pytest_configure(config):
    # before the first program, when XLA reads the variable; processes that tests start inherit it
    given = os.environ.get("XLA_FLAGS", "")
    if "not slow" in config.getoption("markexpr") and QUICK_FLAGS[0] not in given:
        os.environ["XLA_FLAGS"] = " ".join((given, *QUICK_FLAGS)).strip()
        for variable, value in APART.items():
            os.environ.setdefault(variable, value)


def pytest_collection_finish():
    """What was imported stays, and need not be looked through at each collection of garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*SELDOM)


SELDOM = 20_000, 10, 20
"""Objects made between two collections, and how often older ones are looked at. Traces make many
objects that live long, among which the default collects for a tenth of the time of a trace.
"""


@pytest.fixture(autouse=True)
def _optimized_if_long(request):
    jax.config.update(
        "jax_disable_most_optimizations",
        not any(request.node.get_closest_marker(mark) for mark in LONG),
    )
    yield
    jax.config.update("jax_disable_most_optimizations", True)


SHORT_RUNS = {"laws", "fuzz"}
"""Folders of tests whose runs end before a compiled loop would be ready."""


@pytest.fixture(autouse=True)
def _on_the_host(request, monkeypatch):
    if request.path.parent.name in SHORT_RUNS and not request.node.get_closest_marker("slow"):
        monkeypatch.setenv("ZWANG_EXECUTION", "host")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A module stays with one worker, which compiles its programs once, unless `--dist` says
    otherwise.
    """
    if config.getvalue("dist") == "load":
        from xdist.scheduler import LoadFileScheduling

        return LoadFileScheduling(config, log)


@pytest.fixture(autouse=True)
def _nothing_kept():
    """A command that a test runs in this process keeps programs from then on."""
    yield
    keep_programs(on=False)


@pytest.fixture
def compilers_as_asked(monkeypatch):
    """Programs are compiled as the test asks for, whatever the environment says."""
    for variable in ("ZWANG_COMPILER", "ZWANG_ONE_KERNEL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def compiled(monkeypatch, compilers_as_asked):
    """What is compiled by `zw.program` from now on, none of it at hand from another test."""
    programs, compile_flat = [], lowering.compile_flat

    def watched(*given, **how):
        made = compile_flat(*given, **how)
        programs.append(made.compiled)
        return made

    monkeypatch.setattr(lowering, "compile_flat", watched)
    monkeypatch.setattr(interface, "trace_context", lambda: ("of this test alone",))
    return programs


MAPPINGS = Path("/proc/self/maps")
MOST_MAPPINGS = 30_000
"""Each compiled program holds about 14 memory mappings, of which Linux gives a process 65 530;
beyond them JAX crashes.
"""


@pytest.fixture(autouse=True, scope="module")
def _few_mappings():
    """Forget compiled programs between modules before there are too many for one process."""
    yield
    if MAPPINGS.exists() and MAPPINGS.read_bytes().count(b"\n") > MOST_MAPPINGS:
        Recent.forget()
        jax.clear_caches()
        gc.collect()


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
SOFTWARE = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
"""WebGL without a graphics card."""


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip(
            "there is no Chromium here that could open the page; `make setup` installs Debian's"
        )
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=SOFTWARE)
        yield opened
        opened.close()
