"""Recordings of the gallery: equal to themselves, and differences are found."""

import numpy as np
import pytest

import zwang as zw
from benchmarks import gallery_runs

NAMES = ("knife-edge", "rough-incline")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "runs.npz"
    assert gallery_runs.main(["record", str(path), "--only", ",".join(NAMES)]) == 0
    return path


def written(path, **changed):
    """A copy of `rough-incline`'s recording beside it, with some fields changed by functions."""
    with np.load(path) as file:
        fields = {key: file[key] for key in file.files if not key.startswith(NAMES[0])}
    for name, change in changed.items():
        key = f"{NAMES[1]}{gallery_runs.SEPARATOR}{name.replace('_', ' ')}"
        fields[key] = change(fields[key])
    copy = path.with_name("copy.npz")
    np.savez(copy, **fields)
    return copy


def compared(first, second, capsys):
    """The exit code of a comparison of `rough-incline`, and its line."""
    code = gallery_runs.main(["compare", str(first), str(second), "--only", NAMES[1]])
    lines = capsys.readouterr().out.splitlines()
    return code, next(line for line in lines if line.startswith(NAMES[1]))


@pytest.mark.slow
def test_a_recording_is_equal_to_itself(recording, capsys):
    assert gallery_runs.main(["compare", str(recording), str(recording)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == list(NAMES)
    assert all(line.endswith("equal to round-off") for line in lines[1:-1])


def test_a_recording_holds_motion_forces_and_steps(recording):
    run = gallery_runs.read(recording)[NAMES[0]]
    assert run["q"].shape == (21, 3) and run["t"][-1] == 2.0
    assert run["constraint_force"].shape[0] == run["multipliers"].shape[0] == 21
    assert run["steps"][0] > 10 and run["result"] == "SUCCESS"
    assert 0 < gallery_runs.sensitivity("noise ", run)["motion"][-1] < 1e-12
    assert 0 < gallery_runs.sensitivity("coarse ", run)["motion"][-1] < 1e-6


def test_a_difference_as_small_as_round_off_is_none(recording, capsys):
    copy = written(recording, q=lambda q: q * (1 + 1e-14))
    assert compared(recording, copy, capsys)[0] == 0
    assert compared(recording, copy, capsys)[1].endswith("equal to round-off")


def test_a_difference_within_the_tolerance_of_the_run_is_named(recording, capsys):
    copy = written(recording, v=lambda v: v * (1 + 3e-10))
    code, line = compared(recording, copy, capsys)
    assert code == 0 and line.endswith("within tolerance")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"q": lambda q: q * (1 + 1e-7)}, "changed: motion by 1e-07"),
        ({"v": lambda v: v[:-1]}, "changed: v"),
        ({"v": lambda v: np.where(v == v[5], np.nan, v)}, "changed: motion by inf"),
        ({"multipliers": lambda x: x + 1e-4}, "changed: forces by"),
        ({"start_acceleration": lambda x: -x}, "changed: start by 2e+00"),
        ({"steps": lambda x: x + 200}, "changed: steps"),
        ({"result": lambda _: np.array("NON_FINITE")}, "changed: result"),
        ({"crossing_times": lambda _: np.array([0.5])}, "changed: crossing times"),
        ({"switches": lambda _: np.array(["on latch off "])}, "changed: switches"),
    ],
)
def test_a_change_is_found_and_said(recording, capsys, changed, said):
    code, line = compared(recording, written(recording, **changed), capsys)
    assert code == 1 and said in line


def test_steps_that_noise_alone_adds_are_no_change(recording):
    a = gallery_runs.read(recording)[NAMES[1]]
    b = a | {"steps": a["steps"] + 200}
    assert not gallery_runs.same("steps", a, b)
    assert gallery_runs.same("steps", a | {"noise steps": b["steps"]}, b)


def test_a_run_that_is_missing_counts_as_changed(recording, capsys):
    assert gallery_runs.main(["compare", str(recording), str(written(recording))]) == 1
    assert "not in the second recording" in capsys.readouterr().out


def test_a_failure_is_recorded_as_its_sentence_and_the_rest_goes_on(tmp_path, monkeypatch, capsys):
    def fails():
        raise zw.ModelError("the block: its mass is -1, expected a positive number.")

    two = {"fails": fails, "runs": lambda: {"q": np.zeros((2, 1))}}
    monkeypatch.setattr(gallery_runs, "cases", lambda: two)
    gallery_runs.record(tmp_path / "runs.npz")
    runs = gallery_runs.read(tmp_path / "runs.npz")
    assert "its mass is -1" in str(runs["fails"]["failure"]) and "q" in runs["runs"]


def test_a_recording_that_is_resumed_keeps_its_runs_and_adds_the_others(tmp_path, monkeypatch):
    first, second = ({"q": np.full((2, 1), x)} for x in (1.0, 2.0))
    monkeypatch.setattr(gallery_runs, "cases", lambda: {"a": lambda: dict(first)})
    gallery_runs.record(tmp_path / "runs.npz")
    both = {"a": lambda: dict(second), "b": lambda: dict(second)}
    monkeypatch.setattr(gallery_runs, "cases", lambda: both)
    gallery_runs.record(tmp_path / "runs.npz", resume=True)
    runs = gallery_runs.read(tmp_path / "runs.npz")
    assert runs["a"]["q"][0] == 1.0 and runs["b"]["q"][0] == 2.0


def test_every_member_of_the_gallery_is_recorded():
    assert {*zw.gallery.NAMES} <= {*gallery_runs.cases()}
