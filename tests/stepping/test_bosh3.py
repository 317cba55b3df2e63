"""Bogacki and Shampine's method: its order conditions, and SciPy's steps with the same pair."""

import jax.numpy as jnp
import numpy as np
from scipy.integrate import RK23

import zwang as zw
from zwang.stepping.bosh3 import TABLEAU, Bosh3


def slope(t, y):
    return np.array([y[1], -np.sin(y[0]) + 0.1 * np.cos(t)])


def test_the_weights_meet_the_conditions_of_order_three_and_the_embedded_ones_of_order_two():
    A, c, b = TABLEAU.matrix, np.asarray(TABLEAU.c), np.asarray(TABLEAU.b)
    embedded = b - np.asarray(TABLEAU.b_error)
    np.testing.assert_allclose(A.sum(axis=1), c, atol=1e-15)
    np.testing.assert_allclose(
        [b.sum(), b @ c, b @ c**2, b @ A @ c], [1, 1 / 2, 1 / 3, 1 / 6], atol=1e-15
    )
    np.testing.assert_allclose([embedded.sum(), embedded @ c], [1, 1 / 2], atol=1e-15)
    assert abs(embedded @ c**2 - 1 / 3) > 1e-3  # no higher, or it would estimate nothing


def test_the_coefficients_are_those_of_scipy():
    np.testing.assert_allclose(TABLEAU.matrix[:3, :3], RK23.A, atol=1e-15)
    np.testing.assert_allclose(TABLEAU.b[:3], RK23.B, atol=1e-15)
    np.testing.assert_allclose(TABLEAU.c[:3], RK23.C, atol=1e-15)
    # SciPy takes the embedded solution minus this one
    np.testing.assert_allclose(TABLEAU.b_error, -RK23.E, atol=1e-15)


def test_a_step_is_that_of_scipy():
    y, h = np.array([0.7, -0.3]), 0.2
    reference = RK23(slope, 0.0, y, 1.0, first_step=h, rtol=1.0, atol=1.0)
    reference.step()
    pendulum = zw.System(
        1, lambda q, t, p: np.ones(1), lambda q, v, t, p: -jnp.sin(q) + 0.1 * jnp.cos(t)
    )
    run = zw.simulate(zw.Model(pendulum), y[:1], y[1:], times=[h], step=h, integrator=Bosh3())
    assert reference.t == h and len(run.steps.t) == 2
    np.testing.assert_allclose(run.steps.y[-1], reference.y, rtol=0, atol=1e-15)
