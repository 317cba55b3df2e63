"""A run that survives its process: after any end, its steps are bitwise identical to those of an
uninterrupted run.
"""

import contextlib
import dataclasses
import multiprocessing
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo.test_loop import follower
from tests.simulation.test_switching import BLADE, ROPE, bob
from tests.study import killed_run
from zwang.archive import growing
from zwang.errors import OutputError
from zwang.simulation.results import Steps
from zwang.study import keeper

pytest.importorskip("zarr")
SPAN = {"duration": 40.0, "samples": 81, "rtol": 1e-11}


def same_steps(a: Steps, b: Steps):
    for field in dataclasses.fields(Steps):
        np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name))


class BrokenOffError(BaseException):
    """What ends a run in these tests, as a crash would."""


def breaking(after: int):
    """A progress function that ends the run at its call number `after`."""
    calls = []

    def progress(fraction):
        calls.append(fraction)
        if len(calls) > after:
            raise BrokenOffError

    return progress


@pytest.fixture(scope="module")
def example():
    return zw.gallery.load("pendulum", angle=80.0)


@pytest.fixture(scope="module")
def whole(example):
    """The run without interruption, by `zw.simulate`."""
    return zw.simulate(example.model, example.q0, example.v0, **SPAN)


def begun(example, out, after, **changes):
    """A run that is broken off after some chunks of steps."""
    given = {**SPAN, "every": 0.0, **changes}
    with pytest.raises(BrokenOffError):
        zw.study.long_run(
            example.model, example.q0, example.v0, out=out, progress=breaking(after), **given
        )


def test_a_run_that_is_broken_off_twice_is_the_run_without_interruption(example, whole, tmp_path):
    """Every variable, figure and state between steps is that of `zw.simulate`."""
    out = tmp_path / "run"
    begun(example, out, 2)
    partial = zw.load(out)
    assert partial.result is zw.Result.INTERRUPTED
    count = len(partial.steps.t)
    np.testing.assert_array_equal(partial.steps.y, whole.steps.y[:count])
    assert 256 < count < len(whole.steps.t)
    with pytest.raises(BrokenOffError):
        zw.study.resume(out, every=0.0, progress=breaking(1))
    found = zw.study.resume(out)
    assert 0 < found.computed < len(whole.steps.t) - count
    back = found.run()
    same_steps(back.steps, whole.steps)
    assert {n: x for n, x in back.attrs.items() if n != "command"} == whole.attrs
    for name, x in whole.variables.items():
        np.testing.assert_array_equal(back.variables[name].values, x.values)
    between = np.linspace(0.1, 39.9, 7)
    np.testing.assert_array_equal(back.at(between)[0], whole.at(between)[0])
    assert str(back) == str(whole) and repr(back) == repr(whole)
    assert "<iframe" in zw.load(out)._repr_html_()
    assert zw.study.resume(out).computed == 0 and found.result is zw.Result.SUCCESS
    t, q, _ = found.states()
    np.testing.assert_array_equal(q, whole.q)
    np.testing.assert_array_equal(t, whole.t)


@pytest.mark.slow
def test_a_sampled_delayed_noisy_loop_goes_on_with_what_the_controller_remembers(tmp_path):
    model = follower(limits=True)
    loop = zw.Loop(sample_time=0.05, delay=0.12, noise_v=0.1, seed=3)
    given = {"duration": 30.0, "samples": 31, "loop": loop}
    whole = zw.simulate(model, [0.0], [0.0], **given)
    with pytest.raises(BrokenOffError):
        zw.study.long_run(
            model, [0.0], [0.0], out=tmp_path, every=0.0, progress=breaking(1), **given
        )
    with pytest.raises(zw.ModelError, match=r"begun with loop, .*zw.study.resume\(out, loop=...\)"):
        zw.study.resume(tmp_path, model=model)
    with pytest.raises(zw.ModelError, match="holds another run: its model, start"):
        zw.study.resume(tmp_path, model=model, loop=zw.Loop(sample_time=0.05, delay=0.12, seed=4))
    found = zw.study.resume(tmp_path, model=model, loop=loop)
    assert 0 < found.computed < len(whole.steps.t)
    same_steps(growing_steps(found), whole.steps)


def growing_steps(long):
    return Steps.joined([growing.GrowingRun(long.folder).rows()])


@pytest.mark.slow
def test_switches_impacts_and_their_records_go_on(tmp_path):
    """A bob whose rope goes slack and taut again, with plastic impacts."""
    rope = zw.Switch("rope", on=ROPE.on, off=ROPE.off, initially=True)
    given = {"duration": 20.0, "samples": 101, "rtol": 1e-11, "switches": [rope, BLADE]}
    start = [0.0, -0.8], [5.4, 0.0]
    whole = zw.simulate(bob(), *start, **given)
    assert len(whole.switches) >= 2
    for after in (1, 1):
        with pytest.raises(BrokenOffError):
            zw.study.long_run(
                bob(), *start, out=tmp_path, every=0.0, progress=breaking(after), **given
            )
    found = zw.study.long_run(bob(), *start, out=tmp_path, **given)
    assert 0 < found.computed < len(whole.steps.t)
    same_steps(growing_steps(found), whole.steps)
    assert growing.GrowingRun(tmp_path).turns() == whole.switches


def test_rebounds_come_to_rest_by_the_fastest_impact_before_the_interruption(tmp_path):
    """A ball from 1 m rebounds until its speed is 1e-5 of that of its first impact."""
    system = zw.System(
        1, mass_matrix=lambda q, t, p: jnp.ones(1), force=lambda q, v, t, p: jnp.array([-9.81])
    )
    floor = zw.Inequality(lambda q, t, p: q[:1], name="floor", restitution=0.5)
    model = zw.Model(system, [floor])
    given = {"duration": 2.0, "samples": 5}
    whole = zw.simulate(model, [1.0], [0.0], **given)
    assert whole.switches[-1].time == pytest.approx(np.sqrt(2 / 9.81) * 3, abs=1e-9)
    with pytest.raises(BrokenOffError):
        zw.study.long_run(
            model, [1.0], [0.0], out=tmp_path, every=0.0, progress=breaking(5), **given
        )
    found = zw.study.long_run(model, [1.0], [0.0], out=tmp_path, **given)
    assert 0 < found.computed < len(whole.steps.t)
    same_steps(growing_steps(found), whole.steps)
    assert growing.GrowingRun(tmp_path).turns() == whole.switches


def test_a_jump_of_the_velocity_before_the_interruption_is_still_reported(tmp_path):
    """A driven mass that turns back at once, which no switch announces."""
    system = zw.System(
        1, mass_matrix=lambda q, t, p: jnp.ones(1), force=lambda q, v, t, p: jnp.zeros(1)
    )
    drive = zw.Holonomic(lambda q, t, p: q[:1] - jnp.abs(t - 0.3), name="drive")
    model = zw.Model(system, [drive])
    given = {"times": np.linspace(0.0, 40.0, 801)}
    whole = zw.simulate(model, [0.3], [-1.0], **given)
    assert "jumps at t = 0.3" in whole.attrs["velocity_jumps"]
    with pytest.raises(BrokenOffError):
        zw.study.long_run(
            model, [0.3], [-1.0], out=tmp_path, every=0.0, progress=breaking(2), **given
        )
    found = zw.study.long_run(model, [0.3], [-1.0], out=tmp_path, **given)
    assert 0 < found.computed < len(whole.steps.t)
    assert found.run().attrs["velocity_jumps"] == whole.attrs["velocity_jumps"]


def test_a_stop_condition_ends_a_long_run_for_good(example, tmp_path):
    stop = [zw.Stop(lambda q, v, t, p: q[0] - 1e-9, name="lowest point")]
    given = {**SPAN, "stop": stop}
    found = zw.study.long_run(example.model, example.q0, example.v0, out=tmp_path, **given)
    assert found.result is zw.Result.STOPPED
    assert found.run().stopped_by == "lowest point" and len(found.run().t) >= 2
    assert zw.study.resume(tmp_path, stop=stop).computed == 0


def test_a_folder_that_holds_another_run_is_refused(example, tmp_path):
    begun(example, tmp_path, 1)
    with pytest.raises(zw.ModelError, match="holds another run"):
        begun(example, tmp_path, 1, rtol=1e-6)
    with pytest.raises(zw.ModelError, match="holds no run that was begun by zw.study.long_run"):
        zw.study.resume(tmp_path / "nothing")


def test_ctrl_c_leaves_a_valid_result_and_says_how_to_go_on(example, whole, tmp_path):
    """Nothing was committed before it, as ten seconds were not over."""

    def interrupt(fraction):
        if fraction > 0.5:
            raise KeyboardInterrupt

    start = example.model, example.q0, example.v0
    with pytest.raises(KeyboardInterrupt, match=r"kept up to t = .* s, and zw.study.resume\("):
        zw.study.long_run(*start, out=tmp_path, progress=interrupt, **SPAN)
    partial = zw.load(tmp_path)
    np.testing.assert_array_equal(partial.steps.y, whole.steps.y[: len(partial.steps.t)])
    assert len(partial.steps.t) > 256 and "interrupted" in str(partial)
    zw.study.resume(tmp_path)
    same_steps(zw.load(tmp_path).steps, whole.steps)


@pytest.mark.parametrize(
    "error, ends, says",
    [
        (KeyboardInterrupt(), KeyboardInterrupt, "interrupted; "),
        (OSError("no window"), zw.SimulationError, "progress raised OSError: no window .*; "),
    ],
    ids=["Ctrl-C", "progress"],
)
def test_what_was_computed_is_kept_once_however_a_run_is_ended(
    error, ends, says, example, whole, tmp_path
):
    """Right after a commit: what it has let go of must not be written again."""

    def progress(fraction):
        if fraction > 0.5:
            raise error

    start = example.model, example.q0, example.v0
    with pytest.raises(ends, match=says + r"the run is kept up to t = [1-9].*zw.study.resume"):
        zw.study.long_run(*start, out=tmp_path, every=0.0, progress=progress, **SPAN)
    found = zw.study.resume(tmp_path)
    assert 0 < found.computed < len(whole.steps.t)
    same_steps(growing_steps(found), whole.steps)


def test_progress_says_time_speed_violation_and_what_is_left(example, tmp_path):
    seen = []
    start = example.model, example.q0, example.v0
    zw.study.long_run(*start, out=tmp_path, progress=seen.append, **SPAN)
    assert [float(x) for x in seen] == pytest.approx([x.time / 40.0 for x in seen])
    assert seen[-1] == 1.0 and seen[-1].left == 0.0
    for x in seen[:-1]:
        assert x.speed > 0 and x.left == pytest.approx((40.0 - x.time) / x.speed)
        assert 0 <= x.violation < 1e-12


@pytest.mark.slow
def test_memory_holds_what_is_not_committed_however_long_the_run(example, tmp_path, monkeypatch):
    """A run that is ten times as long holds the same number of steps."""
    held = {}
    settle = keeper.RunKeeper.settle

    def watched(self, run):
        settle(self, run)
        steps = sum(len(part.t) for part in run.parts)
        held.setdefault(float(run.instants[-1]), []).append(steps)

    monkeypatch.setattr(keeper.RunKeeper, "settle", watched)
    start = example.model, example.q0, example.v0
    for duration in (20.0, 200.0):
        given = {**SPAN, "duration": duration, "every": 0.0}
        long = zw.study.long_run(*start, out=tmp_path / str(duration), **given)
        assert len(long) > 15 * duration
        blocks = [len(t) for t, _, _ in long.blocks()]
        assert sum(blocks) == SPAN["samples"] and max(blocks) <= 4096
    assert max(held[200.0]) == max(held[20.0]) <= 512


def test_a_disk_that_is_full_costs_a_sentence_and_the_run_goes_on_from_there(
    example, whole, tmp_path, monkeypatch
):
    """No file may grow beyond a limit, as on a full disk; Linux then says "file too large"."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(fraction):
        if fraction > 0.5:
            monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python would keep it cut off
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))

    start = example.model, example.q0, example.v0
    try:
        with pytest.raises(OutputError) as raised:
            zw.study.long_run(*start, out=tmp_path, every=0.0, progress=fill, **SPAN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    sentence = str(raised.value)
    assert "cannot write" in sentence and "the run is kept up to t = " in sentence
    partial = zw.load(tmp_path)
    np.testing.assert_array_equal(partial.steps.y, whole.steps.y[: len(partial.steps.t)])
    zw.study.resume(tmp_path)
    same_steps(zw.load(tmp_path).steps, whole.steps)


def test_a_disk_without_space_costs_a_sentence_and_the_run_goes_on_from_there(
    example, whole, tmp_path
):
    """A file system of 128 kB, where the run needs 180."""
    mounted = ["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(tmp_path)]
    if subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("mounting a file system is not allowed here")
    try:
        out, start = tmp_path / "run", (example.model, example.q0, example.v0)
        with pytest.raises(OutputError, match="no space left on device.*the run is kept up to t ="):
            zw.study.long_run(*start, out=out, every=0.0, **SPAN)
        partial = zw.load(out)
        assert 1 < len(partial.steps.t) < len(whole.steps.t)
        np.testing.assert_array_equal(partial.steps.y, whole.steps.y[: len(partial.steps.t)])
        subprocess.run(["mount", "-o", "remount,size=4m", str(tmp_path)], check=True)
        assert zw.study.resume(out).computed < len(whole.steps.t)
        same_steps(zw.load(out).steps, whole.steps)
        # nothing half written stays
        known = "run.json start.npz run.zarr committed.json checkpoint-*.npz"
        assert all(any(x.match(name) for name in known.split()) for x in out.iterdir())
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_run_that_was_loaded_reads_its_steps_when_they_are_needed(example, tmp_path):
    """Up to where it was when it was opened, although it has gone on since."""
    begun(example, tmp_path, 1)
    early = zw.load(tmp_path)
    assert "steps" not in vars(early) and early.record["model"]["name"] == "pendulum"
    count = len(zw.load(tmp_path).steps.t)
    zw.study.resume(tmp_path)
    assert len(early.steps.t) == count < len(zw.load(tmp_path).steps.t)


def test_a_checkpoint_that_was_changed_is_refused(example, tmp_path):
    begun(example, tmp_path, 1)
    (checkpoint,) = tmp_path.glob("checkpoint-*.npz")
    content = bytearray(checkpoint.read_bytes())
    content[200] ^= 1
    checkpoint.write_bytes(bytes(content))
    with pytest.raises(zw.ModelError, match="is damaged: its content is not what was written"):
        zw.study.resume(tmp_path)


@contextlib.contextmanager
def in_a_process(out: Path, span: dict, slowly: bool):
    """A run in a process of its own, from its first steps on; waits for its end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.study.killed_run"])
    cache = str(Path(jax.config.jax_compilation_cache_dir).parent)
    stepping = context.Event()
    process = context.Process(target=killed_run.run, args=(str(out), span, cache, stepping, slowly))
    process.start()
    assert stepping.wait(120)
    yield process
    process.join(120)


def steps_of(out: Path) -> int:
    """Steps that count in a folder."""
    marker = growing.GrowingRun(out).marker
    return 0 if marker is None else marker.steps


def killed_at_random(out: Path, span: dict, kills: int) -> int:
    """Begin, kill at a random moment, look at what is there, and begin again; how many of the kills
    found steps that counted.
    """
    rng, met, before = random.Random(5), 0, 0
    for _ in range(kills):
        with in_a_process(out, span, slowly=True) as process:
            # after some commits, each of which takes a while where the machine is busy
            wanted, deadline = rng.choice([-1, before, before, before + 300]), time.time() + 60
            while steps_of(out) <= wanted and time.time() < deadline:
                time.sleep(0.01)
            time.sleep(rng.uniform(0.0, 0.2))
            process.kill()
        assert process.exitcode == -signal.SIGKILL
        if (marker := growing.GrowingRun(out).marker) is not None:
            rows = growing.GrowingRun(out).rows()
            assert len(rows.t) == marker.steps >= before and rows.t[-1] == marker.time
            met, before = met + 1, marker.steps
    return met


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_kills_at_random_moments_lose_nothing_that_was_committed(kills, tmp_path):
    span = {**SPAN, "duration": 50.0 * kills}
    assert killed_at_random(tmp_path / "run", span, kills) >= kills / 2
    for name in ("run", "whole"):
        with in_a_process(tmp_path / name, span, slowly=False):
            pass
    same_steps(zw.load(tmp_path / "run").steps, zw.load(tmp_path / "whole").steps)
