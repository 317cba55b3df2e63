"""Accelerations are differentiable, even with redundant rows."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.algebra.pseudoinverse.matrices import QUICK
from zwang.algebra.pseudoinverse import SVD
from zwang.objects.families import FORMULATIONS

from .problems import kkt_solution, random_mass, random_rows

STEP = 1e-6

MEMBERS = FORMULATIONS.classes()


def path(s):
    """M, F, A, b of four redundant rows of rank two on five coordinates, smooth in s."""
    random = np.random.default_rng(3)
    left, right = random_rows(random, 4, 2, 2), random_rows(random, 2, 5, 2)
    M, F, w = random_mass(random, 5, 5), random.standard_normal(5), random.standard_normal(5)
    A = (left + s * random_rows(random, 4, 2, 2)) @ (right + s * random_rows(random, 2, 5, 2))
    return M + s * random_mass(random, 5, 5), F * (1 + s), A, A @ (w + s)


@pytest.mark.slow
def test_the_derivative_is_that_of_the_multiplier_equations():
    """Forward and reverse mode, by one pseudoinverse: all share its derivative rule."""

    def all_of_them(s):
        return jnp.stack([member().acceleration(*path(s), SVD()) for member in MEMBERS])

    weights = np.random.default_rng(4).standard_normal((len(MEMBERS), 5))

    @functools.partial(jax.jit, compiler_options=QUICK)
    def derivatives(s):
        return jax.jvp(all_of_them, (s,), (1.0,))[1], jax.vjp(all_of_them, s)[1](weights)[0]

    before, after = (kkt_solution(*map(np.asarray, path(s))) for s in (-STEP, STEP))
    expected = (after - before) / (2 * STEP)
    forward, reverse = derivatives(0.0)
    for member, found in zip(MEMBERS, forward, strict=True):
        # central differences: STEP², and round-off of 1e-16·κ/STEP
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7, err_msg=member.__name__)
    assert reverse == pytest.approx(
        np.sum(weights * np.asarray(forward)), rel=1e-10
    )  # the transpose, to round-off
