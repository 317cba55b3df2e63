"""Bogacki and Shampine's method: its order conditions, and SciPy's steps of the same pair."""

import jax.numpy as jnp
import numpy as np
from scipy.integrate import RK23

from zwang.stepping.bosh3 import TABLEAU, Bosh3


class Falling:
    """ẏ of a flow without constraints, as `AbstractIntegrator.step` takes it."""

    @staticmethod
    def slope(t, y):
        return np.array([y[1], -np.sin(y[0]) + 0.1 * np.cos(t)])

    def rate_and_residual(self, t, y):
        return jnp.array([y[1], -jnp.sin(y[0]) + 0.1 * jnp.cos(t)]), jnp.zeros(())


def test_the_weights_meet_the_conditions_of_order_three_and_the_embedded_ones_of_order_two():
    A, c, b = TABLEAU.matrix, np.asarray(TABLEAU.c), np.asarray(TABLEAU.b)
    embedded = b - np.asarray(TABLEAU.b_error)
    np.testing.assert_allclose(A.sum(axis=1), c, atol=1e-15)
    np.testing.assert_allclose(
        [b.sum(), b @ c, b @ c**2, b @ A @ c], [1, 1 / 2, 1 / 3, 1 / 6], atol=1e-15
    )
    np.testing.assert_allclose([embedded.sum(), embedded @ c], [1, 1 / 2], atol=1e-15)
    assert abs(embedded @ c**2 - 1 / 3) > 1e-3  # no higher, or it would estimate nothing


def test_a_step_and_its_error_are_those_of_scipy():
    y, h = np.array([0.7, -0.3]), 0.2
    reference = RK23(Falling.slope, 0.0, y, 1.0, first_step=h, rtol=1.0, atol=1.0)
    reference.step()
    step = Bosh3().step(Falling(), jnp.asarray(0.0), jnp.asarray(y), jnp.asarray(h), jnp.ones(2))
    assert reference.t == h
    np.testing.assert_allclose(step.y, reference.y, rtol=0, atol=1e-15)
    estimated = reference.K.T @ reference.E * h  # of SciPy the embedded solution minus this one
    np.testing.assert_allclose(np.abs(step.error), np.abs(estimated), rtol=0, atol=1e-15)
