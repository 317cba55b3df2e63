"""A saved run is the same run after loading: numbers, pages, motion between steps."""

import io
import json
import math
import subprocess
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.io
import xarray as xr

import zwang as zw
from zwang.errors import OutputError
from zwang.output.viewer.page import view_text
from zwang.simulation.results import Variables
from zwang.simulation.results.saving import csv_text, save
from zwang.simulation.results.stored import stored_part

HERE = Path(__file__).parent
BETWEEN = np.linspace(0.013, 0.487, 11)


@pytest.fixture(scope="module")
def run():
    example = zw.gallery.load("pendulum", angle=70.0)
    return example.run(duration=0.5, samples=6, params={"mass": 1.5})


@pytest.fixture(scope="module")
def loaded(run, tmp_path_factory):
    return zw.load(run.save(tmp_path_factory.mktemp("loaded") / "run.nc"))


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".nc", ".h5", ".zarr"])
def test_every_format_of_a_whole_run_gives_it_back_bit_for_bit(run, ending, tmp_path):
    pytest.importorskip("zarr")
    back = zw.load(run.save(tmp_path / f"run{ending}"))
    xr.testing.assert_identical(back.dataset, run.dataset)
    for name in ("t", "y", "sample", "log_det", "violation", "residual", "applied"):
        np.testing.assert_array_equal(getattr(back.steps, name), getattr(run.steps, name))
    assert (back.result, back.stopped_by, back.warnings) == (
        run.result,
        run.stopped_by,
        run.warnings,
    )
    assert str(back) == str(run) and repr(back) == repr(run)


def test_states_between_steps_are_those_of_the_run_bit_for_bit(run, loaded):
    for here, there in zip(loaded.at(BETWEEN), run.at(BETWEEN), strict=True):
        np.testing.assert_array_equal(here, there)


def test_states_between_steps_follow_the_parameters_of_the_run_not_of_the_model(loaded):
    """The closed form of the pendulum needs no mass, but forces do: half a kilogram more."""
    force = loaded.variables["constraint_force"].values[0]
    np.testing.assert_array_equal(loaded.flow.dynamics.p["mass"], 1.5)
    motion = zw.motion(loaded.model, loaded.q[0], loaded.v[0], params={"mass": 1.5})
    np.testing.assert_allclose(motion.constraint_force, force[0], rtol=1e-10)


def test_the_report_and_the_page_of_a_loaded_run_are_those_of_the_run(run, loaded, tmp_path):
    pages = [x.report(tmp_path / n / "report.html") for n, x in (("a", run), ("b", loaded))]
    # the identifiers of a page are the same for the same run: nothing in it tells who wrote it
    assert pages[0].read_text() == pages[1].read_text()
    curves = [sorted((page.parent / "data").iterdir()) for page in pages]
    assert [x.name for x in curves[0]] == [x.name for x in curves[1]] and curves[0]
    for a, b in zip(*curves, strict=True):
        assert a.read_bytes() == b.read_bytes()
    scene = run.presentation.scene
    assert loaded.view(tmp_path / "view.html").read_text() == view_text(
        run, scene, description=run.presentation.description
    )


def test_a_run_that_was_loaded_and_saved_again_is_still_the_same(loaded, tmp_path):
    again = zw.load(loaded.save(tmp_path / "again.nc"))
    xr.testing.assert_identical(again.dataset, loaded.dataset)
    assert again.record == loaded.record


def test_a_record_says_what_made_the_run(loaded):
    record = loaded.record
    assert record["model"]["source"]["kind"] == "gallery"
    assert record["model"]["source"]["settings"]["angle"] == 70.0
    assert record["tolerances"]["rtol"] == 1e-10
    assert record["methods"]["integrator"]["class"].endswith("Dopri8")
    assert {"zwang", "jax", "numpy", "python"} <= set(record["versions"])
    assert record["command"]


def test_a_file_of_version_0_1_opens_and_says_what_it_does_not_hold():
    """The file was written by version 0.1; the pendulum begins at rest at 60°, cos 60° = 1/2."""
    old = zw.load(HERE / "version_0_1.nc")
    assert len(old.t) == 6 and old.result is zw.Result.SUCCESS and not old.crossings
    np.testing.assert_allclose(np.abs(old.q[0]), [math.sqrt(0.75), 0.5], rtol=1e-12)
    np.testing.assert_array_equal(old.at(old.t[2])[0], old.q[2])
    assert old.plot() is not None and "pendulum" in str(old)
    with pytest.raises(zw.ModelError, match="between samples, and a file of version 0.1 holds"):
        old.at(0.05)
    assert old.model.system.coordinates == ("x", "y")


@pytest.mark.parametrize(
    "name, model", [("crossings", "five-bar"), ("switches", "latching-pendulums")]
)
def test_crossings_and_switches_of_a_file_of_version_0_1_are_shown_and_kept(name, model, tmp_path):
    """Written in Python by version 0.1, `zw.gallery.load(model).run(...).save(...)`."""
    path = HERE / f"version_0_1_{name}.nc"
    old = zw.load(path, model=zw.gallery.load(model).model)
    assert len(getattr(old, name)) == 2 and all(x.time > 0 for x in getattr(old, name))
    with xr.open_dataset(path) as held:
        for variable in ("q", "v", "constraint_force", "multipliers", "energy"):
            np.testing.assert_array_equal(old.dataset[variable], held[variable])
    page = old.report(tmp_path / "report.html").read_text()
    assert f"{getattr(old, name)[0].time:.4g}" in page
    again = zw.load(old.save(tmp_path / "again.nc"))
    assert getattr(again, name) == getattr(old, name) and str(again) == str(old)
    xr.testing.assert_equal(again.dataset, old.dataset)
    with pytest.raises(zw.ModelError, match="does not say how to make the model"):
        zw.load(path).report(tmp_path / "report.html")


def test_a_batch_is_no_run_and_its_sentence_says_what_reads_it():
    """Written by version 0.1; a batch has many motions."""
    with pytest.raises(zw.ModelError, match="is no saved run.*xarray.open_dataset reads"):
        zw.load(HERE / "version_0_1_batch.nc")
    with xr.open_dataset(HERE / "version_0_1_batch.nc") as data:
        assert data["q"].dims == ("member", "time", "coordinate")


SCRIPT = """
import jax.numpy as jnp
import zwang as zw
system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
model = zw.Model(system, [rod], name="mine")
q0, v0 = [1.0, 0.0], [0.0, 0.0]
"""


def test_python_code_that_a_file_names_is_executed_only_where_it_is_trusted(tmp_path):
    from zwang.cli.target import load_target

    script = tmp_path / "mine.py"
    script.write_text(SCRIPT)
    target = load_target(str(script), {})
    run = zw.simulate(target.model, target.q0, target.v0, duration=0.2, samples=3)
    path = run.save(tmp_path / "run.nc")
    back = zw.load(path)
    np.testing.assert_array_equal(back.q, run.q)  # what needs no model is there
    with pytest.raises(zw.ModelError, match=r"not executed .*trust=True"):
        back.at(0.15)
    np.testing.assert_array_equal(zw.load(path, trust=True).at(0.15)[0], run.at(0.15)[0])
    np.testing.assert_array_equal(zw.load(path, model=target.model).at(0.15)[0], run.at(0.15)[0])
    script.write_text(SCRIPT.replace("9.81", "1.62"))
    with pytest.raises(zw.ModelError, match="which has changed since; give the model itself"):
        zw.load(path, trust=True).at(0.15)


def test_another_model_than_that_of_the_file_is_refused(run, tmp_path):
    other = zw.gallery.load("double-pendulum").model
    path = run.save(tmp_path / "run.nc")
    with pytest.raises(zw.ModelError, match="the file was written by one with x, y"):
        zw.load(path, model=other).at(0.1)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("change", [{"pull": 1.62}, {"friction": 0.1}, {"length": 1.1}])
def test_a_model_of_the_same_names_that_moves_otherwise_is_refused(tmp_path, change):
    def rod(pull=9.81, length=1.0, friction=0.0):
        force = lambda q, v, t, p: jnp.array([0.0, -pull]) - friction * v
        system = zw.System(2, lambda q, t, p: jnp.ones(2), force)
        return zw.Model(system, [zw.Holonomic(lambda q, t, p: q @ q - length**2, name="rod")])

    run = zw.simulate(rod(), [1.0, 0.0], [0.0, 0.0], duration=0.5, samples=6)
    path = run.save(tmp_path / "run.nc")
    assert zw.load(path, model=rod()).model.name == "model"
    other = rod(**change)
    with pytest.raises(zw.ModelError, match="the model given is not that of the file"):
        zw.load(path, model=other).at(0.1)
    with pytest.raises(zw.ModelError, match="the model given is not that of the file"):
        _ = zw.load(path, model=other).model


def test_a_file_cannot_name_a_class_of_another_package(run, tmp_path):
    part = stored_part(run)
    record = json.loads(part.attrs["record"])
    record["methods"]["drift"] = {"class": "subprocess.Popen", "fields": {"args": ["true"]}}
    hostile = Variables(
        {n: (x.dims, x.values, x.attrs) for n, x in part.data.items()},
        {n: (x.dims, x.values, x.attrs) for n, x in part.coordinates.items()},
        {"record": json.dumps(record)},
    )
    path = save(run.variables, tmp_path / "run.nc", part=hostile)
    with pytest.raises(zw.ModelError, match=r"subprocess.Popen', is not part of this version"):
        zw.load(path).at(0.1)


def test_tables_hold_the_same_columns_with_units(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(run.save(tmp_path / "run.parquet"))
    rows = np.loadtxt(io.StringIO(csv_text(run.variables)), delimiter=",", skiprows=1)
    assert table.column_names[:3] == ["time (s)", "q[x] (m)", "q[y] (m)"]
    np.testing.assert_array_equal(np.column_stack(list(table.to_pydict().values())), rows)
    with pytest.raises(zw.ModelError, match="holds a table over time, not a whole run"):
        zw.load(tmp_path / "run.parquet")


def test_matlab_reads_variables_units_and_steps(run, tmp_path):
    content = scipy.io.loadmat(run.save(tmp_path / "run.mat"), simplify_cells=True)
    np.testing.assert_array_equal(content["q"], run.q)
    np.testing.assert_array_equal(content["steps"]["step_y"], run.steps.y)
    assert content["units"]["energy"] == "J" and list(content["coordinate"]) == ["x", "y"]


@pytest.mark.parametrize("name", ["run.xyz", "run"])
def test_an_ending_that_names_no_format_is_refused_for_saving_and_loading(run, name, tmp_path):
    with pytest.raises(zw.ModelError, match=r"names no format; expected .nc \(NetCDF"):
        run.save(tmp_path / name)
    with pytest.raises(zw.ModelError, match="names no format"):
        zw.load(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n" + b"\0" * 64, b"no results"])
def test_a_damaged_file_costs_a_sentence(content, tmp_path):
    path = tmp_path / "run.nc"
    path.write_bytes(content)
    with pytest.raises(zw.ModelError, match="is no NetCDF file, or is damaged"):
        zw.load(path)


def test_a_store_on_a_full_disk_costs_a_sentence_and_no_earlier_store(run, tmp_path):
    pytest.importorskip("zarr")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(tmp_path)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a file system is not allowed here")
    try:
        path = run.save(tmp_path / "run.zarr")
        count = 4_000_000
        times = {"time": (("time",), np.arange(count), {})}
        noise = np.random.default_rng(0).standard_normal(count)
        with pytest.raises(OutputError, match="cannot write .*no space left"):
            save(Variables({"q": (("time",), noise, {})}, times, {}), path)
        xr.testing.assert_identical(zw.load(path).dataset, run.dataset)
        assert [x.name for x in tmp_path.iterdir()] == ["run.zarr"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("ending", [".gif", ".mp4"])
def test_a_film_shows_the_motion_for_as_long_as_it_lasts(run, ending, tmp_path):
    if ending == ".mp4":
        pytest.importorskip("imageio_ffmpeg")
    path = run.animate(tmp_path / f"swing{ending}")
    if ending == ".gif":
        from PIL import Image

        with Image.open(path) as film:
            durations = []
            for frame in range(film.n_frames):
                film.seek(frame)
                durations.append(film.info["duration"])
        assert sum(durations) / 1000 == pytest.approx(0.5 + 1 / 25, abs=0.05)
    else:
        assert path.read_bytes()[4:8] == b"ftyp"
    with pytest.raises(zw.ModelError, match=r"names no film; expected .mp4, .gif or .html"):
        run.animate(tmp_path / "swing.avi")


def test_notebooks_show_a_run_a_diagnosis_and_a_batch(run, loaded):
    assert run._repr_html_().count("<svg") == 3 and "<iframe" in loaded._repr_html_()
    example = zw.gallery.load("pendulum")
    shown = zw.check(example.model, example.q0, example.v0)._repr_html_()
    assert shown.count("<tr>") == 2
    many = zw.batch(example.model, np.tile(example.q0, (2, 1)), example.v0, [0.0, 0.1])
    assert "2 motions, 0 stopped early" in many._repr_html_()


@pytest.mark.slow
@pytest.mark.parametrize("name, duration", [("five-bar", 2.0), ("latching-pendulums", 3.0)])
def test_crossings_and_switches_come_back(name, duration, tmp_path):
    run = zw.gallery.load(name).run(duration=duration)
    back = zw.load(run.save(tmp_path / "run.nc"))
    assert back.crossings == run.crossings and back.switches == run.switches
    assert run.crossings or run.switches
    times = np.linspace(0.01, duration - 0.01, 40)
    np.testing.assert_array_equal(back.at(times)[0], run.at(times)[0])
    np.testing.assert_array_equal(back.active, run.active)
