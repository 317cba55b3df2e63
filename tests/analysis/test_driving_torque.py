"""Driving torque compared with virtual power and the energy of the motion."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis.models import LENGTHS, closed_form, four_bar
from zwang.analysis.driving_torque import DrivingTorque


@pytest.fixture(scope="module")
def driven() -> DrivingTorque:
    return driven_at(samples=73)


def driven_at(samples: int) -> DrivingTorque:
    q = closed_form(LENGTHS, 0.3, 1)
    over = 0.3, 0.3 + 2 * np.pi
    return zw.analysis.driving_torque(four_bar(), "crank", over, q=q, rate=3.0, samples=samples)


@pytest.mark.slow
def test_torque_is_the_rate_of_energy_over_the_rate_of_the_input():
    driven = driven_at(samples=721)
    k = driven.motion
    mass, weight = np.array([1.0, 0.5, 2.0]), np.array([1.0, 0.7, 0.4])
    energy = 0.5 * k.v**2 @ mass + np.sin(k.q) @ weight
    slope = np.gradient(energy, k.input, edge_order=2)
    assert np.allclose(driven.torque[2:-2], slope[2:-2], atol=1e-3 * np.max(np.abs(slope)))
    assert abs(np.trapezoid(driven.torque, k.input)) < 1e-3  # a cycle gives its energy back


def test_input_and_reactions_balance_inertia_and_forces(driven):
    k, i = driven.motion, 10
    mass, weight = np.array([1.0, 0.5, 2.0]), np.array([1.0, 0.7, 0.4])
    needed = mass * k.a[i] + weight * np.cos(k.q[i])
    given = driven.by_constraint["loop"][i] + np.array([driven.torque[i], 0, 0])
    assert np.allclose(given, needed, atol=1e-10) and driven.unique.all()


def test_it_prints_plots_and_saves(driven, tmp_path):
    assert "largest torque" in str(driven)
    driven.plot().save(tmp_path / "torque.svg")
    driven.save(tmp_path / "torque.nc")


@pytest.mark.slow
def test_its_derivatives_by_parameters_are_those_of_differences(driven):
    given = lambda b: {"lengths": jnp.asarray(LENGTHS).at[1].set(b)}
    np.testing.assert_allclose(driven.torques(given(3.0)), driven.torque, rtol=1e-9, atol=1e-9)
    slope = jax.jit(jax.jacfwd(lambda b: driven.torques(given(b))))(3.0)
    ends = []
    for b in (3.0 + 1e-4, 3.0 - 1e-4):
        lengths = np.array([LENGTHS[0], b, *LENGTHS[2:]])
        start = closed_form(lengths, 0.3, 1)
        over = (0.3, 0.3 + 2 * np.pi)
        ends.append(
            zw.analysis.driving_torque(
                four_bar(), "crank", over, q=start, params={"lengths": lengths}, rate=3.0, samples=9
            ).torque
        )
    np.testing.assert_allclose(slope[::9], (ends[0] - ends[1]) / 2e-4, rtol=1e-5, atol=1e-5)
