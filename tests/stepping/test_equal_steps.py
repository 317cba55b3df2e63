"""The classical Runge-Kutta method: known results of one step for linear equations and a cubic."""

import jax.numpy as jnp
import numpy as np

from zwang.stepping.explicit import equal_steps


def test_steps_multiply_by_the_exponential_up_to_its_fourth_term():
    rates, z = np.array([1.0, -2.0]), np.array([1.0, -2.0]) * 0.25
    found = equal_steps(lambda t, y: rates * y, jnp.ones(2), 1.0, 4)
    factor = 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24
    np.testing.assert_allclose(found, factor ** np.arange(1, 5)[:, None], rtol=1e-14)


def test_a_cubic_of_time_is_integrated_exactly():
    found = equal_steps(lambda t, y: 4 * t[None] ** 3, jnp.zeros(1), 2.0, 3)
    np.testing.assert_allclose(found[:, 0], (2 / 3 * np.arange(1, 4)) ** 4, rtol=1e-14)
