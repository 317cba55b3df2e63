"""Projection of a state onto the constraints as a differentiable layer, compared with closed
forms.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.eager import compilations
from tests.hostile.given import system


def circle(rows: int = 1) -> zw.Model:
    """A point on a circle, held by one constraint or by several that say the same."""
    rods = [
        zw.Holonomic(lambda q, t, p, i=i: (i + 1) * (q @ q - p["r"] ** 2), name=f"rod {i}")
        for i in range(rows)
    ]
    return zw.Model(system(), rods, {"r": 2.0}, name="circle")


GIVEN = jnp.array([1.3, 0.9]), jnp.array([0.4, -1.1])


def nearest(q, v, r=2.0):
    """On a circle, with a velocity along it."""
    u = q / jnp.linalg.norm(q)
    return r * u, v - u * (u @ v)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_point_goes_to_the_nearest_point_of_a_circle(rows):
    model = circle(rows)
    zw.project(model, [1.0, 1.0], [0.0, 0.0])
    with compilations() as seen:
        found = zw.project(model, *GIVEN)
    assert not seen  # a state in a loop of Python waited for XLA each time
    q, v = nearest(*GIVEN)
    np.testing.assert_allclose(found.q, q, atol=1e-14)
    np.testing.assert_allclose(found.v, v, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_its_derivatives_are_those_of_the_closed_form(mode):
    ours = lambda q, v, r: zw.project(circle(2), q, v, params={"r": r})[:2]
    for i in range(3):
        found, exact = (mode(f, argnums=i)(*GIVEN, 2.0) for f in (ours, nearest))
        for x, y in zip(found, exact, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_many_at_once_and_what_does_not_converge():
    model = circle()
    many = jnp.array([[3.0, 0.1], [-1.0, 1.0], [1e-9, 0.0]])
    found = jax.jit(jax.vmap(lambda q: zw.project(model, q).q))(many)
    np.testing.assert_allclose(jnp.linalg.norm(found[:2], axis=1), 2.0, atol=1e-14)
    assert np.all(np.isnan(found[2]))  # a correction of 2e9 from there, and eight are not enough
    with pytest.raises(zw.ModelError, match="8 corrections do not put the state onto"):
        zw.project(model, many[2])
    np.testing.assert_allclose(zw.project(model, many[2], corrections=60).q, [2.0, 0.0], atol=1e-13)


def test_a_linkage_closes():
    example = zw.gallery.load("five-bar")
    found = zw.project(example.model, example.q0 + 1e-2 * np.sin(np.arange(len(example.q0))))
    assert zw.check(example.model, found.q, found.v).position_violation < 1e-13


def test_constraints_that_may_let_go_are_refused():
    model = zw.Model(system(), [zw.Inequality(lambda q, t, p: q[0], name="wall")])
    with pytest.raises(zw.ModelError, match="'wall' is an inequality"):
        zw.project(model, [1.0, 0.0])
