"""`zwang sweep`, and names of parameters that are valid everywhere."""

import csv
import json
import re
import shlex

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.bodies import Body, PlanarBodies
from zwang.simulation.parameter_names import place_of, unit_of

from .command_line import write
from .command_line import zwang as command_line

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def fall():
    """Two bodies in the plane that nothing holds, the second one pushed by a force of 1 N."""
    wrench = lambda q, v, t, p: jnp.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    bodies = PlanarBodies([Body("crank", 1.0, 0.1), Body("ram", 2.0, 0.2)], wrench=wrench)
    return zw.Model(bodies.system, params={**bodies.params, "parameters": {"speed": 3.0}})


@pytest.mark.parametrize(
    "name, place",
    [
        ("ram.mass", "mass[1]"),
        ("mass.ram", "mass[1]"),
        ("crank.inertia", "inertia[0]"),
        ("mass[1]", "mass[1]"),
        ("mass", "mass"),
        ("speed", "parameters.speed"),
    ],
)
def test_a_parameter_is_found_by_the_name_that_people_know(fall, name, place):
    assert place_of(fall, name) == place
    assert unit_of(fall, "ram.mass") == "kg"


def test_an_unknown_name_is_refused_with_those_that_are_close(fall):
    with pytest.raises(zw.ModelError, match=r"unknown parameter 'ran.mass' of .*or 'ram.mass'\?"):
        place_of(fall, "ran.mass")


def test_a_body_by_its_name_is_pushed_as_newton_says(fall):
    """x = F t² / 2 m for each mass, in a batch and in a study alike."""
    masses = np.array([0.5, 1.0, 4.0])
    many = zw.batch(fall, np.zeros((3, 6)), np.zeros(6), [0.0, 1.0], params={"ram.mass": masses})
    np.testing.assert_allclose(many.q[:, -1, 3], 1 / (2 * masses), rtol=1e-7)
    np.testing.assert_array_equal(many.q[:, -1, 0], 0.0)
    assert many.dataset["ram.mass"].attrs["units"] == "kg"
    study = zw.sweep(
        fall, {"ram.mass": masses}, (np.zeros(6), np.zeros(6)), times=[0.0, 1.0],
        outputs=["ram.x.final"],
    )  # fmt: skip
    np.testing.assert_array_equal(study.table["ram.x.final"], many.q[:, -1, 3])


def test_a_setting_that_is_varied_builds_every_case_with_its_start(tmp_path):
    """A mass released at `angle` from hanging down is never higher than it began."""
    out = tmp_path / "angles"
    words = ["sweep", "pendulum", "--over", "angle=30:60:3", "--duration", "0.3", "--samples", "7"]
    words += ["--output", "y.max", "--output", "x.final", "--out", str(out), "-q"]
    done = command_line(*words)
    assert done.code == 0, done
    rows = list(csv.DictReader((tmp_path / f"{out.name}.csv").open()))
    found = [float(row["y.max"]) for row in rows]
    np.testing.assert_allclose(found, -np.cos(np.radians([30.0, 45.0, 60.0])), atol=1e-8)
    for row in rows:
        exact = zw.gallery.load("pendulum", angle=float(row["angle"])).exact(np.array([0.3]))
        assert float(row["x.final"]) == pytest.approx(exact["x"][0], abs=1e-6)
    parts = {x: x.stat().st_mtime_ns for x in out.glob("*.parquet")}
    assert command_line(*words).code == 0
    assert {x: x.stat().st_mtime_ns for x in out.glob("*.parquet")} == parts
    assert "y.max" in (tmp_path / f"{out.name}.html").read_text()


@pytest.mark.parametrize(
    "words, sentence",
    [
        ([], "nothing is varied: give --over NAME=RANGE"),
        (["--over", "lenght=1:2"], "unknown parameter 'lenght' of pendulum"),
        (["--over", "mass=1:2", "--sample", "sobol"], "names no number of cases"),
        (["--over", "mass=1:2", "--output", "z.max"], "names no coordinate"),
    ],
)
def test_a_wrong_study_costs_one_sentence(words, sentence, tmp_path):
    done = command_line("sweep", "pendulum", *words, "--out", str(tmp_path / "out"))
    assert done.code == 2 and sentence in done.err


CLOSED_LOOP = """
    import jax.numpy as jnp
    import numpy as np
    import zwang as zw

    system = zw.System(
        1, lambda q, t, p: jnp.stack([p["m"]]), lambda q, v, t, p: 0.0 * v, coordinates=["x"]
    )
    at = zw.Holonomic(lambda q, t, p: q[0] - 1.0, name="at")
    servo = zw.Servo([at], np.array([[1.0]]), gains=3.0)
    model = zw.Model(system, params={"m": 2.0}, servo=servo, name="follower")
    q0, v0 = [0.0], [0.0]
    duration = 1.0
    loop = lambda values: zw.Loop(
        sample_time=0.1, delay=values["delay"], noise_v=0.2, seed=100 + int(values["case"])
    )
    start = lambda values: ([values["begin"]], [0.0])
"""


@pytest.mark.slow
def test_a_closed_loop_under_delays_noise_masses_and_starts_has_a_rate_and_a_worst_case(tmp_path):
    """Cases are listed with their seeds, and the worst one runs again by one command."""
    model, out = write(tmp_path, CLOSED_LOOP), tmp_path / "out"
    varied = ["--over", "m=1.5:2.5", "--over", "delay=0:0.2", "--over", "begin=-0.5:0.5"]
    words = ["sweep", model, *varied, "--sample", "draws:6", "--seed", "1"]
    words += ["--samples", "5", "--output", "x.max", "--output", "x.final", "--out", out]
    done = command_line(*words)
    assert done.code == 0, done.err
    assert "6 of 6 (100 %, between" in done.out
    rows = list(csv.DictReader((tmp_path / f"{out.name}.csv").open()))
    assert [int(row["loop_seed"]) for row in rows] == [100, 101, 102, 103, 104, 105]
    assert len({row["x.final"] for row in rows}) == 6
    manifest = json.loads((out / "_sweep.json").read_text())
    assert manifest["sample"]["kind"] == "draws" and manifest["sample"]["seed"] == 1
    worst = max(rows, key=lambda row: float(row["x.max"]))
    page = (tmp_path / f"{out.name}.html").read_text()
    listed = re.findall(r"zwang (sweep [^<]* --case \d+)", page)
    (again,) = {x for x in listed if x.endswith(f"--case {worst['case']}")}
    assert command_line(*shlex.split(again)).code == 0
    run = zw.load(tmp_path / f"out-case-{int(worst['case']):06d}" / "run.nc")
    assert run.q[-1, 0] == float(worst["x.final"]) and run.q[:, 0].max() == float(worst["x.max"])


def test_steps_have_a_limit_as_those_of_a_run(tmp_path):
    words = ["sweep", "pendulum", "--over", "length=1,2", "--duration", "1", "--max-steps", "3"]
    done = command_line(*words, "--out", str(tmp_path / "limits"), "-q")
    assert done.code == 0, done
    rows = list(csv.DictReader((tmp_path / "limits.csv").open()))
    assert [row["result"] for row in rows] == ["TOO_MANY_STEPS"] * 2
