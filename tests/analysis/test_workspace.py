"""Workspaces against the closed forms of a two-link arm and a five-bar."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis.models import CRANKS, UPRIGHT, five_bar_model
from zwang.analysis.workspace import Workspace

L1, L2 = 1.0, 0.7


@pytest.fixture(scope="module")
def arm() -> Workspace:
    """A two-link arm over a turn of its elbow and a part of its shoulder."""
    system = zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.zeros(2),
        coordinates=("shoulder", "elbow"),
        units=("rad", "rad"),
    )
    fixed = zw.Model(system, name="arm")

    def tip(q, t, p):
        a, b = q[0], q[0] + q[1]
        return jnp.stack([L1 * jnp.cos(a) + L2 * jnp.cos(b), L1 * jnp.sin(a) + L2 * jnp.sin(b)])

    ranges = {"shoulder": (-1.0, 1.0), "elbow": (-2.0, 2.5)}
    return zw.analysis.workspace(fixed, ranges, tip, q=[0.2, 0.7], samples=24)


def test_an_arm_reaches_all_of_its_grid_and_places_are_those_of_its_closed_form(arm):
    assert arm.reached.all() and arm.share == 1.0 and not len(arm.boundary[0])
    a, b = np.meshgrid(*arm.axes, indexing="ij")
    exact = np.stack(
        [L1 * np.cos(a) + L2 * np.cos(a + b), L1 * np.sin(a) + L2 * np.sin(a + b)], axis=-1
    )
    np.testing.assert_allclose(arm.places, exact, atol=1e-12)
    np.testing.assert_array_equal(arm.orientation, np.sign(np.sin(b)))


def test_an_arm_loses_a_direction_where_it_is_stretched(arm):
    inputs, places = arm.lost
    assert len(inputs) >= 24 and np.max(np.abs(inputs[:, 1])) < 1e-8
    np.testing.assert_allclose(np.linalg.norm(places, axis=1), L1 + L2, atol=1e-12)


def test_conditioning_is_that_of_the_closed_form(arm):
    b = arm.axes[1][5]
    J = np.array([[-L2 * np.sin(b), -L2 * np.sin(b)], [L1 + L2 * np.cos(b), L2 * np.cos(b)]])
    sigma = np.linalg.svd(J, compute_uv=False)
    np.testing.assert_allclose(arm.conditioning[:, 5], sigma[1] / sigma[0], rtol=1e-10)


@pytest.fixture(scope="module")
def five_bar() -> Workspace:
    """Two cranks of 1 m, 1.5 m apart, with two bars of 0.9 m that meet above."""

    def tip(q, t, p):
        return jnp.stack([jnp.cos(q[0]) + 0.9 * jnp.cos(q[2]), jnp.sin(q[0]) + 0.9 * jnp.sin(q[2])])

    return zw.analysis.workspace(five_bar_model(), CRANKS, tip, q=UPRIGHT, samples=22)


def elbows(u):
    return np.array([np.cos(u[..., 0]), np.sin(u[..., 0])]), np.array(
        [1.5 + np.cos(u[..., 1]), np.sin(u[..., 1])]
    )


@pytest.mark.slow
def test_a_five_bar_reaches_where_its_two_circles_meet(five_bar):
    a, b = elbows(np.stack(np.meshgrid(*five_bar.axes, indexing="ij"), axis=-1))
    apart = np.linalg.norm(a - b, axis=0)
    np.testing.assert_array_equal(five_bar.reached, (apart < 1.8) & (apart > 1e-9))
    assert 0.2 < five_bar.share < 0.95
    own = five_bar.reached
    middle, across = (a + b) / 2, np.array([-(b - a)[1], (b - a)[0]]) / apart
    tip = middle + across * np.sqrt(np.where(own, 0.81 - apart**2 / 4, 0.0))
    np.testing.assert_allclose(five_bar.places[own], np.moveaxis(tip, 0, -1)[own], atol=1e-9)


def test_a_five_bar_ends_where_its_bars_are_in_line(five_bar):
    inputs, places = five_bar.boundary
    a, b = elbows(inputs)
    np.testing.assert_allclose(np.linalg.norm(a - b, axis=0), 1.8, atol=1e-7)
    np.testing.assert_allclose(places.T, (a + b) / 2, atol=1e-3)  # as a square root
    assert np.nanmin(five_bar.smallest) < 0.2


def test_a_workspace_prints_plots_and_saves(five_bar, tmp_path):
    import xarray as xr

    assert "reached on this branch" in str(five_bar)
    five_bar.plot().save(tmp_path / "reach.svg")
    five_bar.plot_inputs().save(tmp_path / "inputs.svg")
    with xr.open_dataset(five_bar.save(tmp_path / "workspace.nc")) as data:
        assert int(data["reached"].sum()) == int(five_bar.reached.sum())


def test_wrong_ranges_are_one_sentence():
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
    model = zw.Model(system, name="two")
    with pytest.raises(zw.ModelError, match="outside of its range"):
        zw.analysis.workspace(model, {"q0": (1, 2), "q1": (0, 1)}, ["q0"], q=[0.0, 0.5], samples=4)
    with pytest.raises(zw.ModelError, match="1 degrees of freedom"):
        zw.analysis.workspace(model, {"q0": (0, 1)}, ["q0"], q=[0.5, 0.5], samples=4)
    with pytest.raises(zw.ModelError, match="first and its last value"):
        zw.analysis.workspace(model, {"q0": (1, 0)}, ["q0"], q=[0.5, 0.5])
