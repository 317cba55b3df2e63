"""Ctrl-C ends a run, and the integrated part is saved."""

import os
import re
import signal
import subprocess
import sys

import jax.numpy as jnp
import pytest
import xarray as xr

import zwang as zw
from tests.cli.command_line import PENDULUM, write, zwang
from zwang.errors import OutputError, Result

COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell in the background ignores
from zwang.cli import main
sys.exit(main())
"""


def press(*_, **__):
    """Ctrl-C, delivered before the next line."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def _as_in_a_terminal():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def model():
    system = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -q)
    return zw.Model(system)


def test_the_exception_of_an_interrupted_run_holds_what_was_reached():
    calls = []

    def progress(_):
        calls.append(1)
        if len(calls) == 2:
            press()

    with pytest.raises(
        zw.SimulationError, match=r"interrupted by the user.*`run` of this"
    ) as caught:
        zw.simulate(model(), [1.0], [0.0], duration=1e4, progress=progress)
    assert caught.value.result is Result.INTERRUPTED
    run = caught.value.run
    assert 0 < run.t[-1] < 1e4 and f"t = {run.t[-1]:.6g} s" in str(caught.value)
    assert len(run.dataset["q"]) == len(run.t)


def test_an_interruption_while_the_run_is_observed_ends_saved(tmp_path, monkeypatch):
    from zwang.output.report import summary

    real = summary.summarize
    monkeypatch.setattr("zwang.output.report.summarize", lambda *given: (press(), real(*given))[1])
    answer = zwang("run", write(tmp_path, PENDULUM), "--out", tmp_path / "out")
    assert answer.code == 130
    assert "the run is being saved" in answer.err and "the run is saved in" in answer.err
    assert "Traceback" not in answer.err
    with xr.open_dataset(tmp_path / "out" / "run.nc", engine="h5netcdf") as data:
        assert data.sizes["time"] == 201 and data.attrs["result"] == "SUCCESS"
    assert not (tmp_path / "out" / "report.html").exists()


def test_an_interruption_while_the_report_is_written_leaves_no_earlier_one(tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("of an earlier run")
    monkeypatch.setattr("zwang.output.report.write_report", press)
    answer = zwang("run", write(tmp_path, PENDULUM), "--out", out)
    assert answer.code == 130 and "its report is not complete" in answer.err
    assert (out / "run.nc").is_file()
    assert not (out / "report.html").exists()


def test_a_second_interruption_leaves_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("zwang.output.report.summarize", lambda *_: (press(), press()))
    answer = zwang("run", write(tmp_path, PENDULUM), "--out", tmp_path / "out")
    assert answer.code == 130 and "Traceback" not in answer.err
    assert not (tmp_path / "out" / "run.nc").exists()


@pytest.mark.parametrize("command", ["check", "run"])
def test_an_interruption_before_there_is_anything_is_said(tmp_path, monkeypatch, command):
    for module in ("run", "target"):
        monkeypatch.setattr(f"zwang.cli.{module}.load_target", press)
    answer = zwang(command, write(tmp_path, PENDULUM), "--out", tmp_path / "out")
    assert answer.code == 130
    assert "zwang: interrupted; each file that was written is whole" in answer.err
    assert "Traceback" not in answer.err


def test_a_process_that_is_interrupted_ends_with_its_run_saved(tmp_path):
    """A real SIGINT, sent as soon as the model's own figure is drawn: after the integration."""
    text = (
        PENDULUM
        + "\n    def drawn(run):\n        import time\n        print('drawing', flush=True)"
    )
    text += "\n        time.sleep(60)\n    figures = {'one': drawn}\n"
    command = [sys.executable, "-c", COMMAND, "run", str(write(tmp_path, text))]
    job = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert job.stdout is not None and job.stdout.readline() == "drawing\n"
        job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=60)
    finally:
        job.kill()
    assert job.returncode == 130, err
    assert re.search(r"^zwang: interrupted after the integration; the run is saved", err, re.M), err
    assert (tmp_path / "out" / "run.nc").is_file()


def test_a_disk_that_fills_after_the_run_is_saved_costs_only_the_pages(tmp_path, monkeypatch):
    """The run's summary and warnings are said, and no page of an earlier run stands beside it."""
    from zwang.output import report

    def full(*_, **__):
        raise OutputError(28, "cannot write report.html: no space left on device.")

    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").write_text("of an earlier run")
    monkeypatch.setattr(report, "write_report", full)
    answer = zwang("run", write(tmp_path, PENDULUM), "--out", out)
    assert answer.code == 1
    assert "no space left on device; the run is saved in" in answer.err
    assert "run.nc" in answer.out and (out / "run.nc").is_file()
    assert not (out / "report.html").exists()
