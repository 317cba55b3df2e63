"""The step loop compiled behind a run, for the next one."""

import dataclasses
import subprocess
import types

import pytest
import xarray as xr

from zwang.cli import compile_ahead
from zwang.compile import keep_programs
from zwang.errors import Result

from .command_line import PENDULUM, write, zwang


@dataclasses.dataclass
class Ended:
    """A run as far as its end tells whether a loop is worth compiling."""

    result: Result = Result.SUCCESS
    execution: str = "host (408 steps)"

    @property
    def attrs(self):
        return {"execution": self.execution}


@pytest.fixture
def kept(tmp_path):
    assert keep_programs(tmp_path / "programs") == ""


@pytest.mark.parametrize(
    ("asked", "model", "run", "seconds", "watched", "expected"),
    [
        (True, "pendulum", Ended(), 1.0, False, True),
        (True, "own.py", Ended(), 1.0, False, True),
        (None, "pendulum", Ended(), 1.0, True, True),
        (None, "pendulum", Ended(), 1.0, False, False),  # nobody watches
        (None, "own.py", Ended(), 1.0, True, False),  # would be executed once more
        (False, "pendulum", Ended(), 1.0, True, False),
        (True, "pendulum", Ended(), 0.1, True, False),  # stepping took no time
        (True, "pendulum", Ended(Result.STEP_TOO_SMALL), 1.0, True, False),
        (True, "pendulum", Ended(execution="compiled (9 steps)"), 1.0, True, False),
        (True, "pendulum", Ended(execution="host (9 steps), then compiled"), 1.0, True, False),
    ],
)
def test_a_loop_is_wanted_where_it_saves_time(
    asked, model, run, seconds, watched, expected, kept, monkeypatch
):
    watcher = types.SimpleNamespace(isatty=lambda: watched)
    monkeypatch.setattr(compile_ahead.sys, "stdout", watcher)
    assert compile_ahead.is_wanted(asked, model, run, seconds) is expected


def test_nothing_is_wanted_where_nothing_is_kept():
    keep_programs(on=False)
    assert not compile_ahead.is_wanted(True, "pendulum", Ended(), 1.0)


def _started_by(popen, monkeypatch):
    stand_in = types.SimpleNamespace(Popen=popen, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr(compile_ahead, "subprocess", stand_in)


def test_a_run_leaves_a_process_behind_and_says_so(tmp_path, monkeypatch):
    begun = []

    def popen(command, **options):
        begun.append((command, options))
        return types.SimpleNamespace(pid=2**30)  # nobody's

    _started_by(popen, monkeypatch)
    monkeypatch.setattr(compile_ahead, "WORTH", 0.0)
    monkeypatch.setenv("ZWANG_CACHE", str(tmp_path))
    path = write(tmp_path, PENDULUM)
    words = "run", path, "--duration", "0.05", "--no-report", "--out", tmp_path / "out"
    answer = zwang(*words, "--behind")
    assert (answer.code, answer.err) == (0, "")
    assert "the step loop is being compiled for later runs" in answer.out
    (command, options), *more = begun
    assert not more
    assert command[3:] == [*map(str, words), "--behind", "--compile-only", "--quiet"]
    assert options["stdout"] == subprocess.DEVNULL
    begun.clear()
    assert "being compiled" not in zwang(*words, "--no-behind").out
    assert not begun


def test_where_no_process_may_be_started_the_run_is_none_the_worse(monkeypatch, capsys):
    def refused(*command, **options):
        raise BlockingIOError(11, "no more processes")

    _started_by(refused, monkeypatch)
    compile_ahead.begin(["run", "pendulum"], quiet=False)
    assert capsys.readouterr().out == ""


def test_a_loop_that_is_compiled_ahead_takes_the_steps(tmp_path, monkeypatch):
    monkeypatch.setenv("ZWANG_CACHE", str(tmp_path))
    path = write(tmp_path, PENDULUM)
    run = "run", path, "--no-report", "--out", tmp_path / "out"
    answer = zwang(*run, "--compile-only")
    assert answer.code == 0, answer.err
    assert answer.out == "the step loop is compiled and kept for later runs\n"
    assert not (tmp_path / "out").exists()
    assert zwang(*run).code == 0
    with xr.open_dataset(tmp_path / "out" / "run.nc", engine="h5netcdf") as data:
        assert data.attrs["execution"].startswith("compiled")


def test_one_process_compiles_at_a_time(tmp_path):
    with compile_ahead._alone(tmp_path) as first, compile_ahead._alone(tmp_path) as second:
        assert (first, second) == (True, False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "pendulum", "--compile-only", "--stream"], "so that --stream has no meaning"),
        (["run", "--resume", "x", "--compile-only"], "so that --resume has no meaning"),
    ],
)
def test_what_has_no_meaning_is_refused(words, said):
    answer = zwang(*words)
    assert answer.code == 2
    assert said in answer.err


def test_it_has_no_use_where_nothing_is_kept(monkeypatch):
    monkeypatch.setenv("ZWANG_KEEP", "0")
    answer = zwang("run", "pendulum", "--compile-only")
    assert answer.code == 2
    assert "no programs are kept: unset ZWANG_KEEP" in answer.err


def test_a_loop_that_cannot_be_kept_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("ZWANG_CACHE", str(tmp_path))
    impure = PENDULUM.replace("import jax.numpy as jnp", "import jax, time, jax.numpy as jnp")
    impure = impure.replace("q @ q -", "q @ q + 0.0 * time.time() -")
    answer = zwang("run", write(tmp_path, impure), "--compile-only")
    assert answer.code == 2
    assert "cannot be kept" in answer.err
