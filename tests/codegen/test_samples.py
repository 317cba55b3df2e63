"""States at which formulas and code are compared."""

import jax
import numpy as np

from zwang.codegen.samples import matrices, samples
from zwang.gallery import load


def test_states_of_redundant_rows_are_on_their_constraints_and_regular():
    """The five-bar linkage has twelve rows of rank eleven."""
    given = load("five-bar")
    found = samples(given.model, given.q0, given.v0, count=40)
    rows, p = given.model.constraints, given.model.params
    phi = jax.vmap(lambda q, t: rows.position_residual(q, t, p))(found.q, found.t)
    psi = jax.vmap(lambda q, v, t: rows.velocity_residual(q, v, t, p))(found.q, found.v, found.t)
    assert len(found.q) == 40 and found.projected
    np.testing.assert_allclose(phi, 0.0, atol=1e-12)
    np.testing.assert_allclose(psi, 0.0, atol=1e-12)
    sigma = np.linalg.svd(matrices(found), compute_uv=False)
    assert np.all(sigma[:, 10] > 1e-3) and np.all(sigma[:, 11] < 1e-10)
