"""Segments on the disk: whatever ends the process, the end is the same bit for bit."""

import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import zwang as zw

SPAN = {"duration": 1.0, "segment": 0.1, "samples": 5, "rtol": 1e-9, "execution": "host"}
PROGRAM = """
import sys
import jax
jax.config.update("jax_enable_x64", True)
import zwang as zw
example = zw.gallery.load("pendulum")
print("ready", flush=True)
zw.long_run(example.model, example.q0, example.v0, out=sys.argv[1], duration=3.0, segment=0.1,
            samples=5, rtol=1e-9, execution="host")
"""


def files(folder):
    return {x.name: zw.load(x).steps for x in sorted(folder.glob("segment-*.nc"))}


def same(a, b):
    assert a.keys() == b.keys()
    for name, steps in a.items():
        np.testing.assert_array_equal(steps.y, b[name].y)
        np.testing.assert_array_equal(steps.t, b[name].t)


@pytest.fixture(scope="module")
def example():
    return zw.gallery.load("pendulum", angle=80.0)


@pytest.fixture(scope="module")
def whole(example, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    return zw.long_run(example.model, example.q0, example.v0, out=out, **SPAN)


def test_segments_follow_the_closed_form(example, whole):
    """Elliptic functions; ten segments, each instant once."""
    t, q, _ = whole.states()
    assert len(whole) == 10 and len(t) == 41 and np.all(np.diff(t) > 0)
    exact = example.exact(t)
    np.testing.assert_allclose(q, np.stack([exact["x"], exact["y"]], axis=1), atol=1e-7)


@pytest.mark.parametrize("after", [0.15, 0.55])
def test_a_run_that_is_broken_off_goes_on_with_the_same_digits(example, whole, after, tmp_path):
    class BrokenOffError(Exception):
        pass

    def break_off(fraction):
        if fraction > after:
            raise BrokenOffError

    start = example.model, example.q0, example.v0
    with pytest.raises(BrokenOffError):
        zw.long_run(*start, out=tmp_path, progress=break_off, **SPAN)
    kept = len(list(tmp_path.glob("segment-*.nc")))
    found = zw.long_run(*start, out=tmp_path, **SPAN)
    assert 0 < kept < 10 and found.computed == 10 - kept
    same(files(tmp_path), files(whole.folder))
    assert zw.long_run(*start, out=tmp_path, **SPAN).computed == 0


def test_a_folder_that_holds_another_run_and_a_loop_are_refused(example, whole):
    start = example.model, example.q0, example.v0
    with pytest.raises(zw.ModelError, match="holds another run"):
        zw.long_run(*start, out=whole.folder, **{**SPAN, "rtol": 1e-6})
    with pytest.raises(zw.ModelError, match="long_run cannot take switches"):
        zw.long_run(*start, out=whole.folder, switches=[], **SPAN)


@pytest.mark.slow
def test_ten_kills_at_random_moments_lose_no_segment_and_no_digit(tmp_path):
    rng, killed = random.Random(5), 0
    command = [sys.executable, "-c", PROGRAM]
    subprocess.run([*command, tmp_path / "whole"], check=True, capture_output=True)
    for _ in range(40):
        process = subprocess.Popen([*command, tmp_path / "killed"], stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline()
        if killed == 10:
            process.stdout.read()
            assert process.wait() == 0
            break
        time.sleep(rng.uniform(0.0, 0.5))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        files(tmp_path / "killed")  # every one that is there can be read
    same(files(tmp_path / "killed"), files(tmp_path / "whole"))
    assert killed == 10
