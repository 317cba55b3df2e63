"""`zwang run` writes its results, prints their paths, and ends with a summary."""

import dataclasses
import re

import numpy as np
import pytest
import xarray as xr

import zwang as zw

from .command_line import PENDULUM, write, zwang

LINES = (
    "end",
    "simulated time",
    "wall time",
    "steps",
    "largest violation",
    "velocity violation",
    "energy drift",
    "rank",
    "start moved by",
)


@pytest.fixture(scope="module")
def data(finished):
    with xr.open_dataset(finished[1] / "run.nc", engine="h5netcdf") as opened:
        return opened.load()


def test_a_finished_run_has_exit_code_0_and_says_nothing_on_stderr(finished):
    answer, _ = finished
    assert (answer.code, answer.err) == (0, "")


def test_results_hold_what_was_asked_for(data):
    assert {
        "q",
        "v",
        "acceleration",
        "constraint_force",
        "violation",
        "energy",
        "constraint_rank",
    } <= set(data.data_vars)
    assert data.sizes == {"time": 41, "coordinate": 2, "velocity": 2, "constraint": 1, "row": 1}
    assert data.attrs["rtol"] == 1e-9
    assert '"m": "2"' in data.attrs["settings"]
    assert data.attrs["command"].startswith("zwang run ")


def test_a_parameter_set_on_the_command_line_reaches_the_run(data):
    assert float(data["constraint_force"].isel(time=0).sel(velocity="y", constraint="rod")) == 0
    assert float(data["kinetic_energy"].max()) == pytest.approx(2 * 9.81, rel=0.2)


def test_the_closing_table_has_every_number(finished, data):
    out = finished[0].out
    for line in LINES:
        assert re.search(rf"^{line}\s+\S", out, re.MULTILINE), line
    assert f"{float(data['violation'].max()):.2e}" in out
    assert f"{float(np.abs(data['energy'] - data['energy'][0]).max()):.2e}" in out
    assert (
        f"{data.attrs['steps_accepted']} accepted, {data.attrs['steps_rejected']} rejected" in out
    )
    assert re.search(r"^rank\s+1 of 1 rows", out, re.MULTILINE)


def test_it_says_where_the_results_are(finished):
    answer, folder = finished
    assert f"{folder / 'run.nc'}" in answer.out and f"{folder / 'report.html'}" in answer.out
    assert {"coordinates.csv", "energy.csv", "steps.csv"} <= {
        path.name for path in (folder / "data").iterdir()
    }


def test_quiet_says_nothing_and_no_report_writes_none(tmp_path):
    answer = zwang(
        "run", write(tmp_path, PENDULUM), "--quiet", "--no-report", "--out", tmp_path / "out"
    )
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["run.nc"]


def test_results_go_to_a_folder_named_after_the_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert zwang("run", write(tmp_path, PENDULUM), "--quiet", "--no-report").code == 0
    assert (tmp_path / "results" / "pendulum" / "run.nc").is_file()


def test_a_run_that_fails_keeps_what_was_reached_and_exits_with_3(tmp_path):
    wall = PENDULUM.replace('-p["m"] * p["g"]])', '-p["m"] * p["g"] / jnp.sqrt(q[1] + 0.5)])')
    answer = zwang("run", write(tmp_path, wall), "--out", tmp_path / "out")
    assert answer.code == 3
    assert "stopped at t = " in answer.err and len(answer.err.splitlines()) == 1
    assert "Stopped early" in (tmp_path / "out" / "report.html").read_text()
    with xr.open_dataset(tmp_path / "out" / "run.nc", engine="h5netcdf") as data:
        assert 1 < data.sizes["time"] < 201
        assert data.attrs["result"] != "SUCCESS"


def test_an_interrupted_run_keeps_what_was_reached_and_exits_with_130(tmp_path, monkeypatch):
    calls = []

    def interrupt(*_):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("zwang.cli.progress.Bar.reaches", interrupt)
    answer = zwang("run", write(tmp_path, PENDULUM), "--duration", "100", "--out", tmp_path / "out")
    assert answer.code == 130
    assert "interrupted" in answer.err and len(answer.err.splitlines()) == 1
    assert (tmp_path / "out" / "run.nc").is_file() and (tmp_path / "out" / "report.html").is_file()


def test_methods_are_chosen_by_name(tmp_path):
    words = (
        "--integrator",
        "tsit5",
        "--pseudoinverse",
        "svd",
        "--drift",
        "baumgarte",
        "--alpha",
        "5",
        "--beta",
        "5",
    )
    answer = zwang("run", write(tmp_path, PENDULUM), *words, "--no-report", "--out", tmp_path)
    assert answer.code == 0, answer.err
    with xr.open_dataset(tmp_path / "run.nc", engine="h5netcdf") as data:
        assert data.attrs["integrator"] == "Tsit5"
        assert data.attrs["pseudoinverse"].startswith("SVD")
        assert "alpha" in data.attrs["drift"]


def test_a_folder_without_permission_for_the_cache_costs_a_warning_only(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZWANG_CACHE", str(tmp_path / "file"))
    answer = zwang(
        "run", write(tmp_path, PENDULUM), "--quiet", "--no-report", "--out", tmp_path / "out"
    )
    assert answer.code == 0
    assert (
        answer.err.startswith("zwang: warning: no compile cache")
        and len(answer.err.splitlines()) == 1
    )


def test_crossings_are_listed_until_there_are_too_many():
    from zwang.cli.summary_table import MOST_CROSSINGS, closing_lines
    from zwang.cli.timing import WallTime
    from zwang.output.report import Summary
    from zwang.simulation.results import Crossing

    crossing = Crossing(0.71425, 14, 12, 14, ("pins[0]",), ("pins", "joints"), 1e-8)
    fields = {f.name: None for f in dataclasses.fields(Summary)}
    energy = type("Energy", (), {"conserved": True, "drift": 0.0, "scale": 1.0, "unit": "J"})
    numbers = {
        "reached": 1.0,
        "asked": 1.0,
        "samples": 2,
        "accepted": 1,
        "rejected": 0,
        "moved_q": 0.0,
        "moved_v": 0.0,
    }
    many = {"crossings": (crossing,) * 15, "rows": 14, "lowest_rank": 12, "highest_rank": 14}
    summary = Summary(
        **{
            **fields,
            **numbers,
            **many,
            "sentence": "reached the end",
            "limit": "",
            "energy": energy,
            "errors": (),
            "switches": (),
            "contact": {},
        }
    )
    lines = list(closing_lines(summary, WallTime(0.0)))
    assert ("rank", "12 … 14 of 14 rows") in lines
    assert ("crossings", "t = 0.714250 s: rank 14 → 12 → 14 (pins, joints)") in lines
    assert ("", f"and {15 - MOST_CROSSINGS} more, in the report") in lines


SPRUNG = """
world = "plane"
bodies.rod = { length = 1.0, angle = 0.5 }
joints.pivot = { kind = "revolute", between = ["ground", "rod.start"] }
springs.coil = { joint = "pivot", stiffness = 3.0, damping = 0.2, rest = 0.1 }
run = { duration = 0.1, samples = 3 }
"""


@pytest.mark.slow
def test_a_mechanisms_joints_and_springs_are_variables_of_the_saved_run(tmp_path):
    file = tmp_path / "sprung.toml"
    file.write_text(SPRUNG)
    answer = zwang("run", str(file), "--no-report", "--out", str(tmp_path / "out"))
    assert answer.code == 0, answer.err
    saved = zw.load(tmp_path / "out" / "run.nc").variables
    angle, rate, torque = (saved[name] for name in ("pivot", "pivot rate", "coil"))
    np.testing.assert_allclose(angle.values, saved["q"].values[:, 2], rtol=0, atol=1e-12)
    law = -3.0 * (angle.values - 0.1) - 0.2 * rate.values
    np.testing.assert_allclose(torque.values, law, rtol=0, atol=1e-12)
    assert (angle.attrs["units"], torque.attrs["units"]) == ("rad", "N m")
