"""Studies: every row is the motion of its case, nothing is computed twice, and nothing is lost."""

import json
import math
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import zwang as zw
from zwang.errors import OutputError
from zwang.study.sampling import axis

pytest.importorskip("pyarrow")
OVER = {"length": "0.5:2:8", "mass": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]}
SPAN = {"duration": 0.5, "samples": 11, "part": 32}
REFUSED = 5


def hanging(values):
    """A pendulum of any length at rest, horizontal; one case is refused."""
    if values["case"] == REFUSED:
        raise zw.ModelError("this start is refused on purpose.")
    return np.array([values["length"], 0.0]), np.zeros(2)


def constant(t, q, v):
    return 1.0


def lowest(t, q, v):
    return q[:, 1].min()


def highest(t, q, v):
    return q[:, 1].max()


INSTANTS = np.linspace(0.0, 0.5, 11)
OUTPUTS = {"x": "x.final", "speed": "y.rate.final", "lowest": lowest}


@pytest.fixture(scope="module")
def model():
    return zw.gallery.load("pendulum", angle=90.0).model


@pytest.fixture(scope="module")
def study(model, tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "parts"
    return zw.sweep(model, OVER, hanging, outputs=OUTPUTS, out=out, **SPAN)


def again(model, out, **changes):
    given = {"outputs": OUTPUTS, **SPAN, **changes}
    return zw.sweep(model, OVER, hanging, out=out, **given)


def test_every_row_is_the_closed_form_of_its_case(study):
    """Elliptic functions; 1e-6 is a hundred times rtol."""
    assert len(study.table) == 64
    for row in study.table.itertuples():
        if row.case == REFUSED:
            continue
        exact = zw.gallery.load("pendulum", angle=90.0, length=row.length).exact(INSTANTS)
        assert row.x == pytest.approx(exact["x"][-1], abs=1e-6)
        assert row.lowest == pytest.approx(exact["y"].min(), abs=1e-6)


def test_a_case_that_fails_is_a_row_with_its_sentence(study):
    failed = study.failures
    assert list(failed["case"]) == [REFUSED] and failed["result"].iloc[0] == "REFUSED"
    assert failed["sentence"].iloc[0] == "this start is refused on purpose."
    assert np.isnan(failed["x"].iloc[0]) and np.isfinite(study.table["x"].drop(REFUSED)).all()


def test_a_case_that_leaves_its_constraints_is_a_row_with_its_sentence(model):
    """A rod of 1.2 m cannot hold a mass that is 1 m away: sentence in the row, others go on."""
    found = zw.sweep(
        model, {"length": [1.0, 1.2]}, ([1.0, 0.0], [0.0, 0.0]), duration=0.1, samples=3
    )
    assert list(found.table["result"]) == ["SUCCESS", "OFF_CONSTRAINTS"]
    assert "start_tolerance" in found.failures["sentence"].iloc[0]


def test_a_case_may_take_as_many_steps_as_a_run(model):
    found = zw.sweep(model, {"length": [1.0]}, hanging, duration=400.0, samples=2)
    assert found.table["result"][0] == "SUCCESS" and found.table["steps"][0] > 4096
    short = zw.sweep(model, {"length": [1.0]}, hanging, duration=1.0, max_steps=3)
    assert short.table["result"][0] == "TOO_MANY_STEPS"


def test_a_rerun_computes_nothing_and_one_lost_part_only(study, model):
    out = study.plan and study._folder.path
    assert study.computed == 2
    times = {x.name: x.stat().st_mtime_ns for x in out.rglob("*.*")}
    second = again(model, out)
    assert second.computed == 0
    assert {x.name: x.stat().st_mtime_ns for x in out.rglob("*.*")} == times
    (out / "part-000001.parquet").unlink()
    third = again(model, out)
    assert third.computed == 1 and third.table.equals(study.table)


@pytest.mark.parametrize(
    "changes",
    [
        {"samples": 12},
        {"outputs": {"x": "x.max"}},
        {"rtol": 1e-6},
        {"outputs": {**OUTPUTS, "lowest": highest}},
    ],
)
def test_a_folder_that_holds_another_study_is_refused(study, model, changes):
    with pytest.raises(zw.ModelError, match="holds another study .*give another folder"):
        again(model, study._folder.path, **changes)


def test_what_is_finished_stays_when_a_study_is_interrupted(study, model, tmp_path):
    def interrupt(fraction):
        signal.raise_signal(signal.SIGINT)

    says = "interrupted; .*parts keeps what is done, and the same call goes on"
    with pytest.raises(KeyboardInterrupt, match=says):
        again(model, tmp_path / "parts", progress=interrupt)
    assert len(list((tmp_path / "parts").glob("*.parquet"))) == 1
    found = again(model, tmp_path / "parts")
    assert found.computed == 1 and found.table.equals(study.table)


def test_what_is_finished_stays_where_progress_fails(study, model, tmp_path):
    says = "progress raised ZeroDivisionError.*parts keeps what is done, and the same call goes on"
    with pytest.raises(zw.SimulationError, match=says):
        again(model, tmp_path / "parts", progress=lambda done: 1 / 0)
    assert len(list((tmp_path / "parts").glob("*.parquet"))) == 1


@pytest.mark.parametrize(
    "start, says",
    [
        (lambda values: 1 / 0, r"start\(values\) raised ZeroDivisionError: division by zero"),
        (lambda values: values["l"], r"start\(values\) asks for 'l'.*there are: .*length"),
        (lambda values: None, r"start\(values\) returns is None, expected \(q0, v0\)"),
        (lambda values: ([1.0], [0.0]), r"q0 of start\(values\) has shape \(1,\), expected \(2,\)"),
        (lambda values: ([1.0, 0.0], ["a", "b"]), r"v0 of start\(values\) is"),
        (lambda values: (*hanging(values), 3), "third is 3, expected a dictionary by name"),
        (lambda values: (*hanging(values), {"mass": np.nan}), "'mass' of .* is NaN"),
        (lambda values: (*hanging(values), {"mass": [1.0]}), r"'mass' .* has shape \(1,\)"),
        (lambda values: (*hanging(values), {"mas": 1.0}), "did you mean 'mass'"),
    ],
)
def test_a_start_that_is_wrong_is_a_row_with_its_sentence(model, start, says):
    found = zw.sweep(model, {"length": [1.0]}, start, duration=0.1, samples=3)
    assert list(found.table["result"]) == ["REFUSED"]
    assert re.search(says, found.table["sentence"][0])


def test_a_start_may_give_a_parameter_in_some_cases_only(model):
    def start(values):
        swinging = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        return (*swinging, {"gravity": 0.0}) if values["case"] else swinging

    found = zw.sweep(model, {"mass": [1.0, 2.0]}, start, duration=0.1, samples=3)
    falling, floating = found.table["y.final"]
    assert falling < 0.06 < floating == pytest.approx(np.sin(0.1))


@pytest.mark.parametrize(
    "output, says",
    [
        (lambda t, q, v: 1 / 0, "outputs.'a'. raised ZeroDivisionError"),
        (lambda t, q, v: "x", "outputs.'a'. returns is 'x', expected a number"),
        (lambda t, q, v: q, "outputs.'a'. returns is .*expected a number"),
    ],
)
def test_an_output_that_fails_is_named(model, output, says):
    start = [1.0, 0.0], [0.0, 0.0]
    with pytest.raises(zw.ModelError, match=says):
        zw.sweep(model, {"mass": [1.0]}, start, duration=0.1, samples=3, outputs={"a": output})


def test_a_full_disk_costs_a_sentence_and_the_study_goes_on_from_there(study, model, tmp_path):
    mounted = ["mount", "-t", "tmpfs", "-o", "size=12k", "none", str(tmp_path)]
    if subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("mounting a file system is not allowed here")
    try:
        with pytest.raises(OutputError, match="cannot write .*no space left on device; nothing"):
            again(model, tmp_path / "parts")
        larger = ["mount", "-o", "remount,size=4m", str(tmp_path)]
        subprocess.run(larger, check=True)
        found = again(model, tmp_path / "parts")
        assert found.table.equals(study.table)
        names = {x.name for x in (tmp_path / "parts").iterdir()}
        assert names == {"_sweep.json", "part-000000.parquet", "part-000001.parquet"}
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_the_dataset_of_a_grid_has_its_quantities_as_dimensions_with_units(study):
    data = study.dataset
    assert dict(data.sizes) == {"length": 8, "mass": 8}
    assert data["x"].attrs["units"] == "m" and data["speed"].attrs["units"] == "m/s"
    one = data.sel(mass=2.0).isel(length=3)
    row = study.table.set_index("case").loc[3 * 8 + 1]
    assert float(one["x"]) == row["x"] and row["mass"] == 2.0


def test_a_case_runs_again_with_everything_that_a_run_has(study):
    run = study.run(11, rtol=1e-10)
    assert run.q[-1, 0] == pytest.approx(study.table["x"][11], abs=1e-6)
    assert "constraint_force" in run.variables
    words = study.command(11).split()
    assert words[:3] == ["zwang", "run", "pendulum"] and f"mass={study.table['mass'][11]}" in words


def test_options_of_a_single_run_take_cases_one_by_one(model):
    """The motion ends where x crosses zero; the energy of a fall through `length` is known."""
    stop = [zw.Stop(lambda q, v, t, p: q[0] - 1e-9, name="lowest point")]
    found = zw.sweep(
        model,
        {"length": [0.5, 1.0]},
        hanging,
        duration=3.0,
        samples=3,
        stop=stop,
        outputs={"n": lambda t, q, v: float(np.isfinite(q[:, 0]).sum())},
    )
    assert list(found.table["result"]) == ["STOPPED", "STOPPED"]
    run = found.run(0)
    assert run.v[-1] @ run.v[-1] == pytest.approx(2 * 9.81 * 0.5, rel=1e-6)


def test_motions_are_kept_where_they_are_asked_for(model, tmp_path):
    found = zw.sweep(
        model,
        {"length": [0.5, 1.0]},
        hanging,
        duration=0.1,
        samples=3,
        out=tmp_path / "a",
        trajectories=True,
    )
    q, v = found.motion(1)
    np.testing.assert_allclose(q, found.run(1).q, atol=1e-7)
    assert pd.read_parquet(tmp_path / "a")["case"].tolist() == [0, 1]
    with pytest.raises(zw.ModelError, match="needs out="):
        zw.sweep(model, {"length": [1.0]}, hanging, duration=0.1, trajectories=True)


def test_the_page_holds_every_case_and_what_failed(study, tmp_path):
    text = study.report(tmp_path / "study.html").read_text()
    content = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    assert content["names"] == ["case", "length", "mass", "x", "speed", "lowest", "result"]
    assert len(content["rows"]) == 64 and content["rows"][REFUSED][3] is None
    assert "this start is refused on purpose." in text and text.count('class="map"') == 3
    assert "64 cases" in study._repr_html_()


def test_tables_are_saved_with_all_rows(study, tmp_path):
    lines = study.save(tmp_path / "cases.csv").read_text().splitlines()
    assert len(lines) == 65 and lines[0].startswith("case,length,mass,x")
    with xr.open_dataset(study.save(tmp_path / "cases.nc")) as data:
        np.testing.assert_array_equal(data["x"].values.ravel(), study.table["x"])


@pytest.fixture(scope="module")
def free():
    """Two coordinates at rest, which stay where they begin."""
    system = zw.System(2, lambda q, t, p: p["m"] * np.ones(2), lambda q, v, t, p: 0.0 * q)
    return zw.Model(system, params={"m": 1.0}, name="at rest")


def test_points_for_indices_are_a_power_of_two():
    with pytest.raises(zw.ModelError, match="powers of 2 alone, got 60; take 32 or 64"):
        zw.study.sobol(60, indices=True)


def test_an_output_without_variance_has_no_indices(model, tmp_path):
    found = zw.sweep(
        model, {"gravity": "1:10", "mass": "1:2"}, ([1, 0], [0, 0]), duration=0.1, samples=2,
        sample=zw.study.sobol(4, indices=True), outputs={"same": constant},
    )  # fmt: skip
    with pytest.raises(zw.ModelError, match="same is 1 in all cases: it has no variance"):
        found.sobol_indices("same")
    assert found.report(tmp_path / "report.html").exists()


def test_sobol_indices_of_a_sum_are_shares_of_variance(free):
    """y = 3 a + b with a, b uniform on (0, 1): S₁ = 9/10 and 1/10, first order and total alike;
    the interval that SALib states is kept.
    """
    pytest.importorskip("SALib")
    found = zw.sweep(
        free,
        {"a": "0:1", "b": "0:1"},
        lambda x: (np.array([x["a"], x["b"]]), np.zeros(2)),
        inputs=["a", "b"],
        duration=0.1,
        samples=2,
        sample=zw.study.sobol(256, indices=True),
        outputs={"y": lambda t, q, v: 3 * q[-1, 0] + q[-1, 1]},
    )
    indices = found.sobol_indices("y")
    for column in ("first", "total"):
        np.testing.assert_allclose(indices[column], [0.9, 0.1], atol=0.02)
    assert found.sobol_indices("y").equals(indices)
    rate = found.success(lambda table: table["y"] < 2)
    assert rate.low < (2 / 3 - 1 / 6 + 0) + 0.05 and rate.cases == 256 * 4


def test_conditions_of_success_are_counted_by_the_study_and_shown_in_its_page(free, tmp_path):
    """y = a takes 0, 0.25, 0.5, 0.75 and 1: three of five lie between 0.2 and 0.8."""
    ask = {"over": {"a": "0:1:5"}, "start": lambda x: (np.array([x["a"], 0.0]), np.zeros(2))}
    given = {"inputs": ["a"], "duration": 0.1, "samples": 2, "outputs": ["q0.final"]}
    found = zw.sweep(free, **ask, **given, success=["q0.final > 0.2", "a<=0.8"])
    assert (rate := found.success()).successes == 3 and rate.cases == 5
    assert found.success("a < 0").successes == 0 and found.success([]).successes == 5
    assert "q0.final > 0.2 and a <= 0.8    3 of 5" in str(found)
    text = found.report(tmp_path / "study.html").read_text()
    assert "q0.final &gt; 0.2 and a &lt;= 0.8:</strong> 3 of 5" in text
    assert "smallest q0.final" in text  # the cases that are farthest from what is asked for


@pytest.mark.parametrize(
    "condition, sentence",
    [
        ("q0.final", "is expected as an output, a comparison and a number"),
        ("q0.final < many", "is expected as an output, a comparison and a number"),
        ("q1.final < 1", "the study has no column 'q1.final'"),
        (3, "success is 3, expected conditions"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused_before_anything_runs(free, condition, sentence):
    ask = {"duration": 0.1, "outputs": ["q0.final"], "progress": lambda fraction: pytest.fail()}
    with pytest.raises(zw.ModelError, match=re.escape(sentence)):
        zw.sweep(free, {"m": [1.0]}, ([0.0, 0.0], [0.0, 0.0]), success=condition, **ask)


@pytest.mark.parametrize(
    "cases, size", [(5, 5), (500, 32), (10_000, 160), (100_000, 1024), (1_000_000, 1024)]
)
def test_a_study_has_parts_enough_for_many_workers_and_not_too_many_files(free, cases, size):
    """A 64th of the cases, in whole chunks of 32, at most 1024."""
    from zwang.study.sweep import sweep

    seen = []

    def first(done):
        seen.append(done)
        raise KeyboardInterrupt

    over = {"m": np.linspace(1.0, 2.0, cases)}
    with pytest.raises(KeyboardInterrupt):
        sweep(free, over, ([0.0, 0.0], [0.0, 0.0]), duration=0.1, samples=2, progress=first)
    assert (seen[0].cases, seen[0].total) == (size, cases) and seen[0] == size / cases


def test_parts_side_by_side_give_the_digits_of_parts_one_after_another(study, model, monkeypatch):
    """64 cases in two parts, whose chunks run on one core or in turn on three."""
    from zwang.study import engine

    for cores in (1, 3):
        monkeypatch.setattr(engine.os, "cpu_count", lambda cores=cores: cores)
        found = zw.sweep(model, OVER, hanging, outputs=OUTPUTS, **SPAN)
        assert found.table.equals(study.table)


def test_what_goes_along_with_every_part_does_not_grow_with_the_study(free):
    from zwang.study import engine
    from zwang.study.sweep import _plan

    def size(cases):
        instants, sample = np.array([0.0, 0.1]), zw.study.grid()
        over, start = {"m": np.linspace(1.0, 2.0, cases)}, (np.zeros(2), np.zeros(2))
        given = (start, instants, sample, (), None, None, False, {})
        return len(engine.packed(_plan(free, over, {}, *given)))

    assert size(100_000) == pytest.approx(size(100), abs=100)


def test_a_rate_has_wilsons_interval(free):
    """P(y < 1/4) of a uniform number, with the formula of Wilson (1927) written out."""
    found = zw.sweep(
        free,
        {"a": "0:1"},
        lambda x: (np.array([x["a"], 0.0]), np.zeros(2)),
        inputs=["a"],
        duration=0.1,
        samples=2,
        sample=zw.study.draws(400, seed=3),
        outputs=["q0.final"],
    )
    rate = found.success(lambda table: table["q0.final"] < 0.25)
    z, n, p = scipy.stats.norm.ppf(0.975), rate.cases, rate.rate
    middle, half = p + z**2 / (2 * n), z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert rate.low == pytest.approx((middle - half) / (1 + z**2 / n), rel=1e-9)
    assert rate.high == pytest.approx((middle + half) / (1 + z**2 / n), rel=1e-9)
    assert rate.low < 0.25 < rate.high
    worst = found.worst("q0.final", 3)
    assert worst["q0.final"].is_monotonic_decreasing
    assert worst["q0.final"].iloc[0] == found.table["q0.final"].max()


def test_sobol_points_have_one_point_in_each_stratum():
    u = zw.study.sobol(64).cases({"a": axis("a", "0:1"), "b": axis("b", "0:1")})
    for x in u.values():
        assert sorted((x * 64).astype(int)) == list(range(64))


def test_ranges_values_and_distributions_say_what_they_take():
    np.testing.assert_allclose(axis("a", "log:0.1:10:3").values, [0.1, 1.0, 10.0])
    np.testing.assert_allclose(axis("a", "log:0.1:10").at(np.array([0.5])), [1.0])
    np.testing.assert_array_equal(axis("a", "1,2,4").values, [1, 2, 4])
    normal = axis("a", scipy.stats.norm(2.0, 0.5))
    np.testing.assert_allclose(normal.at(np.array([0.5, 0.8413447460685429])), [2.0, 2.5])
    assert len(zw.study.grid().cases({"a": axis("a", "0:1:3"), "b": axis("b", "0:1:4")})["a"]) == 12


@pytest.mark.parametrize(
    "over, sentence",
    [
        ({}, "over is empty"),
        ({"lenght": [1.0]}, "unknown parameter 'lenght' of pendulum; did you mean 'length'"),
        ({"length": "2:1:5"}, "expected low:high:number with low < high"),
        ({"length": "log:0:1:5"}, "expected a positive lower end"),
        ({"length": "-1e308:1e308:5"}, "expected values"),
        ({"length": "0:1:1000000000000"}, "at most 100000000"),
        ({"length": [True, False]}, "expected values"),
        ({"length": ["1", "2"]}, "expected values"),
        ({"length": [1j]}, "is complex, expected real values"),
        ({"length": 10**400}, "expected values"),
        ({"length": np.ma.array([1.0, 2.0], mask=[0, 1])}, "has masked entries"),
        ({"length": "many"}, "expected values"),
        ({"length": [np.nan]}, "expected values"),
        ({"length": scipy.stats.norm()}, "which has no grid"),
    ],
)
def test_a_quantity_that_makes_no_sense_is_refused(model, over, sentence):
    with pytest.raises(zw.ModelError, match=re.escape(sentence)):
        zw.sweep(model, over, hanging, duration=0.1)


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({"loop": "fast"}, "loop is 'fast', expected zw.Loop(...)"),
        ({"loop": zw.Loop}, "loop is the class Loop, expected a function (values)"),
        ({"stop": None}, "stop is None, expected a list"),
        ({"switches": [3]}, "switches holds 3, expected zw.Switch"),
        ({"duration": None, "times": 3.0}, "times has shape (), expected at least two instants"),
        ({"duration": None, "times": []}, "expected at least two instants"),
        (
            {"over": {"length": scipy.stats.norm(math.nan)}, "sample": zw.study.draws(2)},
            "finite numbers",
        ),
    ],
    ids=["loop", "class", "stop", "switch", "number", "empty", "distribution"],
)
def test_what_is_wrong_for_every_case_is_refused_before_anything_runs(model, wrong, sentence):
    given = {"over": {"length": [1.0]}, "duration": 0.1, **wrong}
    with pytest.raises(zw.ModelError, match=re.escape(sentence)):
        zw.sweep(model, start=hanging, **given)


@pytest.mark.parametrize("output", ["x.middle", "z.max", "x"])
def test_an_output_that_names_nothing_is_refused(model, output):
    with pytest.raises(zw.ModelError, match="names no coordinate|expected one of"):
        zw.sweep(model, {"length": [1.0]}, hanging, duration=0.1, outputs=[output])


def test_a_package_that_is_missing_is_named_before_anything_is_computed(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    never = lambda values: pytest.fail("a case was begun")
    with pytest.raises(zw.ModelError, match=r"needs pyarrow, .* pip install '\.\[sweep\]'"):
        zw.sweep(model, {"length": [1.0]}, never, duration=0.1)


def test_the_folder_of_cases_is_one_table_to_other_programs(study):
    found = pd.read_parquet(study._folder.path)
    np.testing.assert_array_equal(found["lowest"], study.table["lowest"])
