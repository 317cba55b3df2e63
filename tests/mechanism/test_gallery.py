"""Runs of the mechanisms of the gallery."""

import numpy as np
import pytest

import zwang as zw
from zwang.gallery.index.mechanisms import MECHANISMS
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism import read
from zwang.mechanism.drawing import motion_picture, path

pytestmark = pytest.mark.slow


def ran(name, **changes):
    member = zw.gallery.load(name)
    return read(FOLDER / f"{name}.toml"), member.run(**changes)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "strandbeest"])
def test_a_member_runs_on_its_constraints_and_is_drawn(name):
    mechanism, run = ran(name)
    assert run.result is zw.Result.SUCCESS
    assert float(run.dataset["violation"].max()) < 1e-12
    picture = motion_picture(mechanism)(run)
    assert (
        picture.equal
        and picture.xlabel.endswith("[m]")
        and picture.panels[0].ylabel.endswith("[m]")
    )


def test_peaucellier_draws_a_straight_line():
    mechanism, run = ran("peaucellier")
    drawn = path(mechanism, run.steps.y[:, : run.model.system.nq], "c.end")
    assert np.ptp(drawn[:, 0]) < 1e-12 < 0.1 < np.ptp(drawn[:, 1])


def test_scotch_yoke_moves_as_a_cosine():
    _, run = ran("scotch-yoke")
    assert np.allclose(
        run.dataset["q"].sel(coordinate="yoke.x"), 0.2 * np.cos(5.0 * run.t), atol=1e-12
    )


def test_universal_joint_turns_its_output_unevenly():
    mechanism, run = ran("universal-joint-shaft")
    v = run.dataset["v"].sel(velocity="output.wx").values
    angle, bend, speed = 5.0 * run.t, 0.5, 5.0
    exact = speed * np.cos(bend) / (1 - (np.sin(bend) * np.cos(angle)) ** 2)
    assert np.allclose(v, exact, atol=1e-9)
    zw.motion(
        run.model, run.q[0], run.v[0]
    )  # evenly and without weight: round-off of accelerations is no contradiction


def test_bennett_is_overconstrained_and_moves():
    mechanism = read(FOLDER / "bennett.toml")
    found = zw.check(mechanism.model, mechanism.start_state.q, mechanism.start_state.v)
    assert (found.m, found.rank, found.nv) == (
        21,
        18,
        18,
    )  # its drive takes the one degree of freedom


def test_strandbeest_walks_for_a_minute():
    mechanism, run = ran("strandbeest")
    assert run.result is zw.Result.SUCCESS and run.t[-1] == 60.0
    assert float(run.dataset["violation"].max()) < 1e-12
