"""Common settings of all tests: float64, one compile cache, long deadlines of hypothesis, a
browser.
"""

import collections
import contextlib
import ctypes
import gc
import os
import shutil
import sys
from pathlib import Path

# The workers share the cores, and threads of OpenBLAS that wait for each other there make a run 40
# times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# XLA's older emitters compile an operation or a small program in a quarter to a half of the time;
# how fast the program runs matters to no test.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)

import hypothesis
import jax
import pytest

from tests.eager import compute_by_numpy, left_to_xla
from zwang.compile import interface, keep_programs, making
from zwang.compile.program_cache import cache
from zwang.objects.recent import Recent

ROOT = Path(__file__).resolve().parents[1]

# Processes that tests begin read bytecode: to compile three hundred files takes each of them a
# quarter of a second of a processor where it is not written.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False  # six seconds of each worker go to the tests themselves
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / ".cache" / "bytecode"))

jax.config.update("jax_enable_x64", True)
keep_programs(on=False)
compute_by_numpy()

# What XLA compiles, for the most part single operations outside of programs, is kept between runs
# and shared by the workers.
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
"""Marks of tests in which what XLA compiles runs for longer than that takes. All others do without
most of its optimizations.
"""
jax.config.update("jax_disable_most_optimizations", True)


def pytest_collection_finish():
    """What was imported stays, and need not be looked through at each collection of garbage."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """What is left is not searched for garbage five times, as pytest does at the end."""
    gc.freeze()


SELDOM = 20_000, 10, 20
"""Objects made between two collections, and how often older ones are looked at. Traces and imports
make many objects that live long, among which the default collects for a tenth of the time of a
trace, and for a quarter of that of all imports.
"""
gc.set_threshold(*SELDOM)


@pytest.fixture(autouse=True)
def _optimized_if_long(request):
    jax.config.update(
        "jax_disable_most_optimizations",
        not any(request.node.get_closest_marker(mark) for mark in LONG),
    )
    yield
    jax.config.update("jax_disable_most_optimizations", True)


def _leave_to_the_slow_run(items):
    """Mark the parameter sets of a test as slow, except for every nth."""
    sets = collections.Counter()
    for item in items:
        if mark := item.get_closest_marker("one_in"):
            if sets[item.function] % mark.args[0]:
                item.add_marker(pytest.mark.slow)
            sets[item.function] += 1


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items):
    """Files with the most tests begin first, so that the workers end together."""
    _leave_to_the_slow_run(items)  # before tests are chosen by their marks
    yield
    tests = collections.Counter(item.path for item in items)
    items.sort(key=lambda item: -tests[item.path])
    if os.environ.get("ZWANG_ENGINE") == "xla":
        for item in items:
            if item.get_closest_marker("native"):
                item.add_marker(pytest.mark.skip(reason="asks how native code is made or kept"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A module stays with one worker, which compiles its programs once, unless `--dist` says
    otherwise; modules begin in the order of `pytest_collection_modifyitems`.
    """
    if config.getvalue("dist") == "load":
        from xdist.scheduler import LoadFileScheduling

        config.option.loadscopereorder = False
        return LoadFileScheduling(config, log)


@pytest.fixture(autouse=True)
def _nothing_kept():
    """A command that a test runs in this process keeps programs from then on."""
    yield
    keep_programs(on=False)


@pytest.fixture(autouse=True)
def _compared_with_xla(request):
    """What is compared with XLA is not computed by NumPy."""
    with left_to_xla() if request.path.parent.name == "native" else contextlib.nullcontext():
        yield


@pytest.fixture
def compiled(monkeypatch, request):
    """What becomes machine code from now on, none of it at hand from another test."""
    programs, make = [], making._made

    def watched(*given):
        programs.append(make(*given))
        return programs[-1]

    monkeypatch.setattr(making, "_made", watched)
    for asked in (interface, cache):
        monkeypatch.setattr(asked, "trace_context", lambda: (request.node.nodeid,))
    return programs


PROCESS = Path("/proc/self")
MOST_MAPPINGS, MOST_MEMORY = 30_000, 1.1e9
"""Each compiled program holds about 14 memory mappings, of which Linux gives a process 65 530;
beyond them JAX crashes. Memory [bytes] is that of one worker.
"""
GROWTH = 0.25e9
"""Memory [bytes] by which a worker may grow before programs are forgotten once more: to search for
garbage takes a second, and what was traced is traced anew.
"""


@pytest.fixture(autouse=True, scope="module")
def _few_programs(request):
    """Forget what a module has kept, and compiled programs before there are too many for one
    process.
    """
    yield
    for value in vars(request.module).values():
        if getattr(value, "__module__", None) == request.module.__name__:
            getattr(value, "cache_clear", int)()
    if not PROCESS.exists():
        return
    mappings = (PROCESS / "maps").read_bytes().count(b"\n")
    if mappings > MOST_MAPPINGS or _memory() > max(MOST_MEMORY, _left[0] + GROWTH):
        Recent.forget()
        jax.clear_caches()
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        ctypes.CDLL(None).malloc_trim(0)
        _left[0] = _memory()


_left = [0.0]
"""Memory [bytes] after programs were forgotten last."""


def _memory() -> float:
    """Memory of this process [bytes]."""
    return int((PROCESS / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


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
