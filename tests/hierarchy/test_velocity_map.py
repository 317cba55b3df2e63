"""N of a hierarchy, whole and leaf by leaf."""

import numpy as np
import pytest

import zwang as zw
from zwang import gallery


def test_products_with_the_velocity_map_go_leaf_by_leaf():
    example = gallery.load("stewart")
    system, p = example.model.system, example.model.params
    dv = np.random.default_rng(3).standard_normal(system.nv)
    N = system.velocity_map(example.q0, 0.0, p)
    assert N.shape == (91, 78)
    np.testing.assert_allclose(system.along(example.q0, dv, 0.0, p), N @ dv, atol=1e-14)


def test_a_product_of_another_shape_is_refused():
    class Map:
        def __call__(self, q, t, p):
            return np.eye(2)

        def along(self, q, dv, t, p):
            return dv[:1]

    ones = lambda *given: np.ones(2)
    with pytest.raises(zw.ModelError, match=r"velocity_map.along.* shape \(1,\), expected \(2,\)"):
        zw.Model(zw.System(2, ones, ones, velocity_map=Map()), [])
