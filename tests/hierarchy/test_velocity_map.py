"""N of a hierarchy, as a whole and leaf by leaf."""

import numpy as np

from zwang import gallery


def test_products_with_the_velocity_map_go_leaf_by_leaf():
    example = gallery.load("stewart")
    system, p = example.model.system, example.model.params
    dv = np.random.default_rng(3).standard_normal(system.nv)
    N = system.velocity_map(example.q0, 0.0, p)
    assert N.shape == (91, 78)
    np.testing.assert_allclose(system.along(example.q0, dv, 0.0, p), N @ dv, atol=1e-14)
