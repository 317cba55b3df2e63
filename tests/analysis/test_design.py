"""Designs compared with dimensions that are known to give the desired motion."""

from __future__ import annotations

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis.models import LENGTHS, closed_form, four_bar
from zwang.analysis.design import Design
from zwang.analysis.design_problem import DesignProblem, variables_of
from zwang.analysis.design_targets import (
    DrivingEffort,
    OutputValues,
    PathThrough,
    TransmissionAngle,
    Within,
)
from zwang.analysis.subject import subject_of
from zwang.errors import ModelError
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism import read

OVER = (0.3, 2.3)
WANTED = np.array([1.0, 3.2, 2.3, 3.3])


@pytest.fixture(scope="module")
def wanted() -> np.ndarray:
    """The rocker's angle of a linkage with other lengths, from its closed form."""
    return np.array([closed_form(WANTED, t, 1)[2] for t in np.linspace(*OVER, 21)])


def designed(targets, **options):
    vary = {"lengths[1]": (2.5, 3.6), "lengths[2]": (2.0, 3.0), "lengths[3]": (3.0, 4.0)}
    start = closed_form(LENGTHS, 0.3, 1)
    ask = {"input": "crank", "over": OVER, "q": start, "samples": 21, **options}
    return zw.analysis.design(four_bar(), vary, targets, **ask)


@pytest.fixture(scope="module")
def found(wanted) -> Design:
    return designed([OutputValues("rocker", wanted)], output="rocker")


@pytest.mark.slow
def test_a_function_that_a_linkage_has_is_found_again(found, wanted):
    assert found.converged and found.cost < 1e-10 < 1e-3 < found.first_cost
    values = [found.values[f"lengths[{i}]"] for i in (1, 2, 3)]
    np.testing.assert_allclose(values, WANTED[1:], atol=2e-3)
    np.testing.assert_allclose(found.after.q[:, 2], wanted, atol=1e-4)
    assert found.same_branch and found.clearance > 0.02


@pytest.mark.slow
def test_a_design_prints_plots_and_saves(found, tmp_path):
    import xarray as xr

    assert "rocker off its values" in str(found) and "every step certified" in str(found)
    found.plot().save(tmp_path / "design.svg")
    with xr.open_dataset(found.save(tmp_path / "design.nc")) as data:
        np.testing.assert_allclose(data["design"], list(found.values.values()))


@pytest.mark.slow
def test_a_limit_is_kept_and_costs_something(found, wanted):
    angle = 1.0
    limit = TransmissionAngle(("coupler", "rocker"), angle)
    limited = designed([OutputValues("rocker", wanted), limit])
    apart = limited.after.q[:, 1] - limited.after.q[:, 2]
    assert np.min(np.abs(np.sin(apart))) > np.sin(angle) - 1e-6
    free = found.after.q[:, 1] - found.after.q[:, 2]
    assert np.min(np.abs(np.sin(free))) < np.sin(angle) and limited.cost > 1e3 * found.cost


@pytest.mark.slow
def test_a_limit_that_cannot_be_kept_is_reported(wanted):
    impossible = TransmissionAngle(("coupler", "rocker"), 1.2)
    tried = designed([OutputValues("rocker", wanted), impossible])
    assert not tried.converged and "violated" in str(tried) and "stopped early" in str(tried)


def test_derivatives_are_those_of_differences():
    model, start = four_bar(), closed_form(LENGTHS, 0.3, 1)
    motion = zw.analysis.kinematics(model, "crank", OVER, q=start, samples=7)
    subject = subject_of(model, start, None, "design")
    vary = {"lengths[1]": (2.5, 3.6), "lengths[3]": (3.0, 4.0)}
    variables = variables_of(model, subject.model, None, vary)
    limit = TransmissionAngle(("coupler", "rocker"), 0.1)
    problem = DesignProblem(subject, motion, variables, (DrivingEffort(),), (limit,), 2.0)
    here, h = problem.at(variables.start), 1e-5
    drive = zw.analysis.driving_torque(model, "crank", OVER, q=start, samples=7, rate=2.0)
    np.testing.assert_allclose(here.costs, [np.mean(drive.torque**2)], rtol=1e-10)
    for i in range(2):
        step = h * np.eye(2)[i]
        above, below = problem.at(variables.start + step), problem.at(variables.start - step)
        slope = lambda a, b: (np.asarray(a) - np.asarray(b)) / (2 * h)
        np.testing.assert_allclose(
            here.cost_slopes[:, i], slope(above.costs, below.costs), rtol=1e-6
        )
        np.testing.assert_allclose(
            here.limit_slopes[0][:, i], slope(above.limits[0], below.limits[0]), atol=1e-7
        )
        np.testing.assert_allclose(
            here.clear_slopes[:, i], slope(above.clear, below.clear), atol=1e-6
        )


@pytest.mark.slow
def test_a_design_does_not_leave_its_branch(wanted):
    """The rocker of the other branch is wanted, which no design on this one has."""
    other = np.array([closed_form(LENGTHS, t, -1)[2] for t in np.linspace(*OVER, 21)])
    found = designed([OutputValues("rocker", other)], steps=30)
    assert found.cost > 0.1 and found.same_branch
    for q in found.after.q:
        lengths = [1.0, *(found.values[f"lengths[{i}]"] for i in (1, 2, 3))]
        np.testing.assert_allclose(q, closed_form(lengths, q[0], 1), atol=1e-8)


def test_wrong_input_is_one_sentence():
    asked = {"input": "crank", "over": OVER, "q": closed_form(LENGTHS, 0.3, 1)}
    with pytest.raises(zw.ModelError, match="no cost"):
        designed([TransmissionAngle(("coupler", "rocker"), 0.5)])
    with pytest.raises(zw.ModelError, match="expected its lowest"):
        zw.analysis.design(four_bar(), {"lengths[1]": (3, 2)}, [lambda m: jnp.sum(m.q)], **asked)
    with pytest.raises(zw.ModelError, match="neither a parameter"):
        zw.analysis.design(four_bar(), {"length[1]": (2, 3)}, [lambda m: jnp.sum(m.q)], **asked)


@pytest.mark.slow
def test_a_quick_return_gets_its_time_ratio():
    from zwang.analysis.design_targets import Stroke, TimeRatio

    mechanism = read(FOLDER / "quick-return.toml")
    found = zw.analysis.design(
        mechanism,
        {"crank": (0.05, 0.3)},
        [TimeRatio("guide", 2.0), Stroke("guide", 0.2)],
        input="shaft",
        over=(0.0, 2 * np.pi),
        output="guide",
        samples=121,
    )
    # the arm's extreme positions are tangents to the crank's circle: ratio (π − β) / β, with
    # cos β = crank / distance of the pivots
    assert abs(found.values["crank"] - 0.4 * np.cos(np.pi / 3)) < 2e-3
    assert found.same_branch and found.limits["stroke of guide"] > 0


def test_a_path_and_limits_are_counted_as_said():
    """Mean square distance from places, and how far values are within their limits."""
    known = {"P": jnp.array([[0.0, 0.0], [1.0, 0.0]]), "x": jnp.array([0.2, 0.7])}
    motion = SimpleNamespace(value=known.get)
    assert PathThrough("P", [[3.0, 4.0], [1.0, 2.0]])(motion) == pytest.approx((25 + 4) / 2)
    np.testing.assert_allclose(Within("x", 0.0, 1.0)(motion), [0.2, 0.7, 0.8, 0.3], atol=1e-15)
    assert np.all(Within("x", low=0.0)(motion)[2:] > 0)
    with pytest.raises(ModelError, match="one for each sample"):
        PathThrough("P", [[0.0, 0.0]])(motion)
