"""Unit quaternions: the torque-free body and the spherical pendulum."""

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.gallery.examples import example, run
from zwang.bodies.rotation import rotation_matrix
from zwang.gallery.free_body import angular_velocity


def test_torque_free_body_meets_its_elliptic_functions():
    """Angular velocity and attitude over a tumble about the middle axis, where an error of 1e-10
    grows by e^(0.6 t) for 5 s.
    """
    member = example("free-body")
    reached = run("free-body")
    exact = angular_velocity(np.array([1.0, 2.0, 2.8]), np.array([0.02, 2.0, 0.0]), reached.t)
    assert np.allclose(reached.v[:, 3:].T, exact, atol=1e-9)
    assert member.error(reached) < 1e-9


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0), (0, 2, 1)])
@pytest.mark.parametrize("start", [(1.0, 0.3, -0.2), (-0.2, 0.4, 1.0), (0.1, -1.5, 0.05)])
def test_elliptic_functions_solve_eulers_equations(order, start):
    """In every order of the axes and sense of turning, against DOP853 at 1e-13; 1e-9 near the
    unstable axis.
    """
    J, w, t = np.array([1.0, 2.0, 2.8])[list(order)], np.array(start), np.linspace(0.0, 10.0, 21)
    euler = solve_ivp(
        lambda t, w: -np.cross(w, J * w) / J, (0, 10), w, "DOP853", rtol=1e-13, atol=1e-13, t_eval=t
    ).y
    assert np.allclose(angular_velocity(J, w, t), euler, atol=1e-9)


def test_torque_free_body_keeps_its_angular_momentum_in_space():
    reached = run("free-body")
    R = np.asarray(jax.vmap(rotation_matrix)(reached.q[:, 3:]))
    momentum = np.einsum("tij,j,tj->ti", R, np.array([1.0, 2.0, 2.8]), reached.v[:, 3:])
    assert np.max(np.abs(momentum - momentum[0])) < 1e-9


def test_an_energy_that_is_held_corrects_coarse_steps():
    """The row changes no acceleration, and the projection onto it removes the drift."""
    free, held = (
        example("free-body", energy=x).run(rtol=1e-4, samples=3) for x in ("free", "held")
    )
    J = np.array([1.0, 2.0, 2.8])
    off = [np.abs(0.5 * x.v[:, 3:] ** 2 @ J - 4.0002).max() for x in (free, held)]
    assert off[0] > 1e-5 and off[1] < 1e-13


def test_spin_about_a_principal_axis_stays():
    member = example("free-body", spin=(0.0, 0.0, 1.0))
    assert member.error(member.run()) < 1e-9


def test_spherical_pendulum_meets_its_elliptic_functions():
    """Path of the center of mass; 1e-9 is rtol 1e-10 over some 400 steps."""
    assert example("spherical-pendulum").error(run("spherical-pendulum")) < 1e-9


def test_spherical_pendulum_agrees_with_an_independent_integration_in_two_angles():
    """θ̈ = h² cos θ/sin³ θ − k sin θ, azimuth rate h/sin² θ, θ from hanging down, at 1e-13."""
    reached = run("spherical-pendulum")
    k, h = 9.81 / 1.1, np.sin(np.pi / 3) * 1.5

    def slope(t, y):
        return [
            y[1],
            h**2 * np.cos(y[0]) / np.sin(y[0]) ** 3 - k * np.sin(y[0]),
            h / np.sin(y[0]) ** 2,
        ]

    theta, _, around = solve_ivp(
        slope, (0, 10), [np.pi / 3, 0, 0], "DOP853", rtol=1e-13, atol=1e-13, t_eval=reached.t
    ).y
    expected = [np.sin(theta) * np.cos(around), np.sin(theta) * np.sin(around), -np.cos(theta)]
    assert np.allclose(reached.q[:, :3].T, expected, atol=1e-9)


@pytest.mark.slow
def test_spinning_pendulum_keeps_spin_energy_and_vertical_angular_momentum():
    """A symmetric top: three integrals, each to 1e-9."""
    member = example("spherical-pendulum", spin=40.0)
    reached = member.run()
    q, v, J = reached.q, reached.v, np.array([0.1, 0.1, 0.01])
    R = np.asarray(jax.vmap(rotation_matrix)(q[:, 3:]))
    vertical = q[:, 0] * v[:, 1] - q[:, 1] * v[:, 0] + np.einsum("tj,j,tj->t", R[:, 2], J, v[:, 3:])
    assert np.ptp(v[:, 5]) < 1e-9 * 40
    assert np.ptp(vertical) < 1e-9
    assert np.ptp(np.asarray(reached.observation.kinetic + reached.observation.potential)) < 1e-9
