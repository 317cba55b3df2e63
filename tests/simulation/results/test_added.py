"""User-defined quantities of a run: plotted, saved, reported."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw


@pytest.fixture
def run():
    example = zw.gallery.load("pendulum")
    return example.run(duration=1.0, samples=5)


def angle(q, v, t):
    return np.arctan2(q[1], q[0])


def test_an_added_quantity_is_a_variable_with_its_unit(run, tmp_path):
    run.dataset["mine"] = ("time",), run.t
    run.add("theta", angle, "rad")
    run.add("place and speed", lambda q, v, t: [*q, np.hypot(*v)])
    expected = np.arctan2(run.q[:, 1], run.q[:, 0])
    np.testing.assert_array_equal(run.variables["theta"].values, expected)
    assert run.dataset["theta"].attrs["units"] == "rad"
    assert run.dataset["place and speed"].shape == (5, 3) and "mine" in run.dataset
    again = zw.load(run.save(tmp_path / "run.nc"))
    np.testing.assert_array_equal(again.dataset["theta"].values, expected)
    heading = run.save(tmp_path / "run.csv").read_text().splitlines()[0]
    assert "theta (rad)" in heading and "place and speed" in heading
    with pytest.raises(zw.ModelError, match="'x' is a coordinate of the run; take another name"):
        run.add("x", lambda q, v, t: 1.0)


def test_every_column_of_a_table_has_its_unit_where_entries_differ(tmp_path):
    point = zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.zeros(2),
        coordinates=("x", "angle"),
        units=("m", "rad"),
    )
    rows = [
        zw.Holonomic(lambda q, t, p: q[0], name="stop", unit="m"),
        zw.Holonomic(lambda q, t, p: q[1], name="lock", unit="rad"),
    ]
    run = zw.simulate(zw.Model(point, rows), [0.0, 0.0], [0.0, 0.0], duration=0.1, samples=3)
    heading = run.save(tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    assert {"q[angle] (rad)", "acceleration[angle] (rad/s²)", "violation[stop] (m)"} <= {*heading}
    assert {"multipliers[stop] (N)", "multipliers[lock] (N m)"} <= {*heading}
    assert "velocity_violation[lock] (rad/s)" in heading and "mixed" not in str(heading)


def test_an_added_quantity_is_drawn_first(run, tmp_path):
    run.add("theta", angle, "rad")
    assert run.plot().axes[0].get_ylabel() == "theta [rad]"
    run.add("pull / weight", lambda q, v, t, p: q[1] / p["length"], "1")
    np.testing.assert_array_equal(run.variables["pull / weight"].values, run.q[:, 1])
    page = run.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert {"added_theta.csv", "added_pull_weight.csv"} <= {
        x.name for x in (tmp_path / "data").iterdir()
    }
    assert page.index("added to the run") < page.index("Generalized coordinates q.")


def test_an_added_quantity_can_be_given_anew(run):
    run.add("theta", angle)
    run.add("theta", lambda q, v, t: t)
    np.testing.assert_array_equal(run.variables["theta"].values, run.t)


@pytest.mark.parametrize(
    "name, quantity, said",
    [
        ("q", angle, "'q' is a variable of the run"),
        ("theta", lambda q, v, t: q[7], "'theta' failed .*one sample"),
        ("theta", lambda q, v, t: "east", "'theta' failed"),
        ("theta", lambda q: q, r"\(q, v, t\)"),
        ("", angle, "name"),
    ],
)
def test_what_cannot_be_added_is_said(run, name, quantity, said):
    with pytest.raises(zw.ModelError, match=said):
        run.add(name, quantity)


def test_a_name_that_does_not_exist_says_what_was_meant():
    law = "law by name, for robot.law\\('gravity compensation'\\)"
    with pytest.raises(AttributeError, match=law):
        getattr(zw, "gravity_compensation")  # noqa: B009
    with pytest.raises(AttributeError, match="'simulat'; did you mean 'simulate'"):
        getattr(zw, "simulat")  # noqa: B009
