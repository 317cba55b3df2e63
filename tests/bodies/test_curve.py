"""Contact with a plane curve compared with closed forms of circles and lines."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.bodies import Curve

CIRCLE = Curve(
    lambda s, p: jnp.stack([p["x"] + jnp.cos(s), jnp.sin(s)]),
    0.0,
    2 * np.pi,
    closed=True,
    free="right",
)
EXACT = lambda at: jnp.sqrt((at[0] - at[2]) ** 2 + at[1] ** 2) - 1.2


@pytest.mark.slow
def test_a_gap_has_derivatives_of_any_order():
    """By place and by parameters of the curve: implicit, from one Newton iteration."""
    gap = lambda at: CIRCLE.touch(at[:2], 0.2, {"x": at[2]}).gap[0]
    at = jnp.array([-0.7, 2.1, 0.4])
    for order in range(4):
        ours, exact = gap, EXACT
        for _ in range(order):
            ours, exact = jax.jacfwd(ours), jax.jacfwd(exact)
        np.testing.assert_allclose(jax.jit(ours)(at), exact(at), atol=1e-11)


def test_the_nearest_point_is_that_of_the_whole_curve():
    """Places around a wavy circle, beside a fine search."""
    radius = lambda s: 1 + 0.3 * np.cos(5 * s)
    curve = Curve(
        lambda s, p: (1 + 0.3 * jnp.cos(5 * s)) * jnp.stack([jnp.cos(s), jnp.sin(s)]),
        0.0,
        2 * np.pi,
        closed=True,
        free="right",
    )
    s = np.linspace(0, 2 * np.pi, 200001)
    line = radius(s) * np.stack([np.cos(s), np.sin(s)])
    places = np.random.default_rng(5).uniform(-2, 2, (100, 2))
    found = jax.jit(jax.vmap(lambda x: curve.touch(x).gap[0]))(places)
    exact = [np.min(np.hypot(*(line - x[:, None]))) for x in places]
    np.testing.assert_allclose(np.abs(found), exact, atol=1e-8)
    inside = np.hypot(*places.T) < radius(np.arctan2(places[:, 1], places[:, 0]))
    np.testing.assert_array_equal(np.asarray(found) < 0, inside)


def test_a_contact_ends_where_its_curve_or_piece_does():
    line = Curve(lambda s, p: jnp.stack([2 * s, 0 * s]), 0.0, 1.0, pieces=2)
    found = jax.vmap(lambda x: line.touch(x))(jnp.array([[0.5, 0.1], [1.5, 0.1], [2.25, 0.1]]))
    np.testing.assert_allclose(found.gap, np.full((3, 2), 0.1), atol=1e-15)
    np.testing.assert_allclose(found.way, [[0.5, -0.5], [-0.5, 0.5], [-1.25, -0.25]], atol=1e-12)


@pytest.mark.parametrize(
    "given, why",
    [
        ({"last": -1.0}, "expected a number above first"),
        ({"free": "up"}, "expected"),
        ({"pieces": 0}, "expected"),
        ({"place": 1.0}, "expected"),
    ],
)
def test_a_curve_that_is_none_is_refused(given, why):
    with pytest.raises(zw.ModelError, match=why):
        Curve(**{"place": lambda s, p: s, "first": 0.0, "last": 1.0} | given)
