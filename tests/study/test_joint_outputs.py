"""Reactions of joints and drives of a mechanism as outputs of a study, compared with Newton's
law.
"""

import csv

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import read

from ..cli.command_line import zwang

pytest.importorskip("pyarrow")
CRANK = """
coordinates = "{coordinates}"
[bodies]
crank = {{ length = 0.8, mass = 2.0, guess = [[0, 0], [0.8, 0]] }}
[joints]
pin = {{ kind = "revolute", between = ["ground", "crank.start"] }}
[drives]
motor = {{ joint = "pin", value = "3*t" }}
[run]
duration = 2.0
"""
OUTPUTS = ["pin.force.max", "pin.force.final", "motor.effort.min", "motor.torque.max"]


def crank(tmp_path, coordinates="maximal"):
    path = tmp_path / "crank.toml"
    path.write_text(CRANK.format(coordinates=coordinates))
    return path


def expected(mass, gravity=9.81, r=0.4, rate=3.0):
    """Columns of `OUTPUTS` for a center of mass on a circle: F = m (a − g), M = m g r cos θ."""
    t = np.linspace(0, 2, 41)
    x, y = np.cos(rate * t), np.sin(rate * t)
    force = mass * np.hypot(rate**2 * r * x, gravity - rate**2 * r * y)
    effort = mass * gravity * r * x
    return [force.max(), force[-1], effort.min(), abs(effort).max()]


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_forces_of_joints_are_those_of_newton(coordinates, tmp_path):
    mechanism = read(crank(tmp_path, coordinates))
    start = mechanism.start_state
    study = zw.sweep(
        mechanism.model, {"crank.mass": [1.0, 2.0, 5.0]}, (start.q, start.v), duration=2.0,
        samples=41, outputs=OUTPUTS,
    )  # fmt: skip
    assert list(study.table["result"]) == ["SUCCESS"] * 3
    for row, mass in zip(study.table[OUTPUTS].to_numpy(), study.table["crank.mass"], strict=True):
        np.testing.assert_allclose(row, expected(mass), rtol=1e-8)
    units = [study.dataset[x].attrs["units"] for x in OUTPUTS]
    assert units == ["N", "N", "N m", "N m"]


def test_a_joint_that_is_not_there_is_refused_before_anything_runs(tmp_path):
    mechanism = read(crank(tmp_path))
    start = (mechanism.start_state.q, mechanism.start_state.v)
    for asked, meant in (("pim.force.max", "pin.force"), ("pin.effort.max", "pin.force")):
        with pytest.raises(zw.ModelError, match=f"no joint's force.*'{meant}'"):
            zw.sweep(mechanism.model, {"crank.mass": "1:2:2"}, start, duration=1.0, outputs=[asked])


def test_the_command_line_takes_the_same_names(tmp_path):
    words = ["--over", "crank.mass=1,2", "--samples", "41", "--out", str(tmp_path / "out"), "-q"]
    asked = [word for name in OUTPUTS for word in ("--output", name)]
    done = zwang("sweep", str(crank(tmp_path)), *words, *asked)
    assert done.code == 0, done
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    found = [[float(row[name]) for name in OUTPUTS] for row in rows]
    np.testing.assert_allclose(found, [expected(1.0), expected(2.0)], rtol=1e-7)
