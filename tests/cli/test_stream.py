"""`zwang run --stream` is interrupted, and `--resume` continues it with identical digits."""

import json
import re

import numpy as np
import pytest

import zwang as zw
from zwang.cli.progress import Bar, SweepProgress, progress_text
from zwang.simulation.reached import Reached
from zwang.study.sweep import Done

from .command_line import PENDULUM, write, zwang

pytest.importorskip("zarr")
SPAN = ("--duration", "30", "--rtol", "1e-10", "--samples", "41", "--no-report")


@pytest.fixture
def interrupted(monkeypatch, tmp_path):
    """A streamed run of a Python file that Ctrl-C has ended: file, folder, answer."""
    reaches = Bar.reaches

    def press(self, fraction, text):
        if fraction > 0.5:
            raise KeyboardInterrupt

    monkeypatch.setattr(Bar, "reaches", press)
    model, out = write(tmp_path, PENDULUM), tmp_path / "out"
    answer = zwang("run", model, "--set", "m=2", *SPAN, "--stream", "--out", out)
    monkeypatch.setattr(Bar, "reaches", reaches)
    return model, out, answer


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_resume_gives_the_digits_of_one_run(interrupted, tmp_path):
    model, out, answer = interrupted
    assert answer.code == 130
    assert re.search(r"kept up to t = [\d.]+ s, and zwang run --resume \S+out goes on", answer.err)
    partial = zw.load(out)
    assert len(partial.steps.t) > 256 and partial.result is zw.Result.INTERRUPTED
    assert not (out / "run.nc").exists()
    refused = zwang("run", "--resume", out)
    assert refused.code == 2 and f"name it: zwang run {model} --resume {out}" in refused.err
    assert zwang("run", model, "--resume", out).code == 0
    whole = zwang("run", model, "--set", "m=2", *SPAN, "--out", tmp_path / "whole")
    assert whole.code == 0
    a, b = (zw.load(x / "run.nc") for x in (out, tmp_path / "whole"))
    np.testing.assert_array_equal(a.steps.y, b.steps.y)
    np.testing.assert_array_equal(a.steps.t, b.steps.t)
    assert "--stream" in a.attrs["command"] and "m=2" in a.attrs["command"]


def test_a_folder_without_a_run_and_a_damaged_one_cost_a_sentence(tmp_path):
    assert (
        "holds no run that was begun by zwang run --stream"
        in zwang("run", "--resume", tmp_path).err
    )
    (tmp_path / "command.json").write_text(json.dumps({"words": 3}))
    answer = zwang("run", "--resume", tmp_path)
    assert answer.code == 2 and "is damaged: it holds no command line" in answer.err


def test_the_bar_of_a_study_says_how_many_cases_are_done_and_the_time_left(monkeypatch):
    """Parts that were there already say nothing of the speed; then 512 cases take 10 s."""
    now = 100.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    words = SweepProgress()
    assert words.text(Done(512, 2048)) == "512 of 2048 cases"
    now = 101.0
    assert words.text(Done(600, 2048)) == "600 of 2048 cases"
    now = 110.0
    assert words.text(Done(1024, 2048)) == "1024 of 2048 cases, 0:20 left"


def test_the_bar_says_time_speed_violation_and_what_is_left():
    text = progress_text(Reached(0.25, 2.5, 0.5, 3e-12, 15.0), 10.0)
    assert text == "t = 2.5 of 10 s, 0.5 s/s, violation 3e-12, 0:15 left"
    assert "left" not in progress_text(Reached(0.0, 0.0, 0.0, 0.0, float("nan")), 10.0)
