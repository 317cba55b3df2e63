"""Placement of initial states with some coordinates fixed."""

import numpy as np
import pytest

import zwang as zw
from zwang.gallery.mechanisms import FOLDER


@pytest.fixture(scope="module")
def linkage():
    return zw.mechanism.read(FOLDER / "four-bar.toml")


@pytest.mark.slow
def test_a_crank_keeps_its_angle_and_rate_and_the_others_close_the_loop(linkage):
    model, start = linkage.model, linkage.start_state
    i = model.system.coordinates.index("crank.angle")
    q, v = np.array(start.q), np.array(start.v)
    q[i] += 0.2
    found = zw.consistent_state(model, q, v, keep=("crank.angle",))
    assert found.state.q[i] == pytest.approx(q[i], abs=1e-14)
    assert found.state.v[i] == pytest.approx(v[i], abs=1e-13)
    at_the_drive = zw.consistent_state(model, q, keep=("crank.angle",)).state
    assert at_the_drive.q[i] == pytest.approx(q[i], abs=1e-14)
    assert at_the_drive.v[i] == pytest.approx(v[i], abs=1e-13)  # a motor gives the rate
    free = zw.consistent_state(model, q, v).state
    assert abs(free.q[i] - q[i]) > 0.01  # which moves it, too
    report = zw.check(model, found.state.q, found.state.v)
    assert report.position_violation < 1e-14 and report.velocity_violation < 1e-13


def test_what_cannot_be_kept_is_said(linkage):
    model, q = linkage.model, np.array(linkage.start_state.q)
    with pytest.raises(zw.ModelError, match="no coordinate 'crank.angel'; did you mean 'crank.ang"):
        zw.consistent_state(model, q, keep=("crank.angel",))
    q[model.system.coordinates.index("crank.x")] = 3.0
    with pytest.raises(zw.ModelError, match="with crank.x kept; keep fewer coordinates"):
        zw.consistent_state(model, q, keep=("crank.x",))
