"""Bodies in the plane."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.bodies import Body, PlanarBodies

RANDOM = np.random.default_rng(3)
Q, V = jnp.asarray(RANDOM.standard_normal(6)), jnp.asarray(RANDOM.standard_normal(6))
BODIES = PlanarBodies([Body("a", 1.0, 0.1), Body("b", 2.0, 0.3)])


def test_coordinates_carry_the_bodies_names():
    assert BODIES.system.coordinates == ("a.x", "a.y", "a.angle", "b.x", "b.y", "b.angle")
    assert BODIES.system.velocity_units == ("m/s", "m/s", "rad/s") * 2


def test_velocity_of_a_point_is_the_rate_of_its_place():
    rate = jax.jvp(lambda q: BODIES.point(q, "b", (0.3, -0.7)), (Q,), (V,))[1]
    assert np.allclose(BODIES.velocity(Q, V, "b", (0.3, -0.7)), rate, atol=1e-14)


def test_a_slice_of_bodies_gives_each_of_them():
    both = BODIES.point(Q, slice(None), (0.5, 0.2))
    assert np.array_equal(
        both, np.stack([BODIES.point(Q, name, (0.5, 0.2)) for name in ("a", "b")])
    )


def test_forces_are_the_slope_of_the_potential_and_the_wrench():
    def spring(q, t, p):
        stretch = BODIES.point(q, 0, (1.0, 0.0)) - BODIES.point(q, 1, (0.0, 1.0))
        return 5.0 * stretch @ stretch

    push = jnp.arange(6.0).reshape(2, 3)
    bodies = PlanarBodies(BODIES.bodies, potential=spring, wrench=lambda q, v, t, p: push)
    p = zw.Model(bodies.system, params=bodies.params).params
    expected = push.ravel() - jax.grad(bodies.system.potential)(Q, 0.0, p)
    assert np.allclose(bodies.system.force(Q, V, 0.0, p), expected, atol=1e-13)


def test_energy_is_that_of_mass_and_inertia():
    p = zw.Model(BODIES.system, params=BODIES.params).params
    kinetic, potential = BODIES.system.energy(Q, V, 0.0, p)
    v = V.reshape(2, 3)
    assert np.isclose(
        kinetic,
        0.5
        * (v[0, :2] @ v[0, :2] + 0.1 * v[0, 2] ** 2 + 2 * v[1, :2] @ v[1, :2] + 0.3 * v[1, 2] ** 2),
    )
    assert np.isclose(potential, 9.81 * (Q[1] + 2 * Q[4]))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: PlanarBodies([]), "no bodies"),
        (lambda: PlanarBodies([Body("a"), Body("a")]), "'a' is used 2 times"),
        (lambda: PlanarBodies([Body("a", 1.0, (1.0, 2.0, 3.0))]), "expected one number"),
        (lambda: BODIES.point(Q, "c"), "there is no body 'c'; there are: a, b"),
    ],
)
def test_a_wrong_body_is_told_in_a_sentence(make, says):
    with pytest.raises(zw.ModelError, match=says):
        make()
