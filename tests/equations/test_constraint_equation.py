"""A and b from functions, for every kind of constraint."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.models import every_kind, free_particle, pendulum, random_state
from zwang.equations.constraint.level import rows_of


def test_velocity_level_rows_differentiate_to_A_vdot_minus_b():
    """dψ/dt along any (v, v̇) equals A v̇ − b; central differences with step 1e-6 are good to
    1e-8.
    """
    model = every_kind()
    q, v, t = (jnp.asarray(x) for x in random_state(model))
    c, p = model.constraints, model.params
    vdot = jnp.asarray(np.random.default_rng(2).standard_normal(5))
    h = 1e-6

    def psi(s):
        return c.velocity_residual(q + s * v + 0.5 * s**2 * vdot, v + s * vdot, t + s, p)

    rows = c.velocity_rows
    derivative = (psi(h) - psi(-h)) / (2 * h)
    assert np.allclose(
        (c.matrix(q, v, t, p) @ vdot - c.rhs(q, v, t, p))[rows], derivative, atol=1e-8
    )


def test_velocity_residual_of_a_holonomic_constraint_is_the_rate_of_its_position_residual():
    model = every_kind()
    q, v, t = (jnp.asarray(x) for x in random_state(model))
    c, h = model.constraints, 1e-6
    rate = (
        c.position_residual(q + h * v, t + h, None) - c.position_residual(q - h * v, t - h, None)
    ) / (2 * h)
    assert np.allclose(
        c.velocity_residual(q, v, t, None)[:2], rate, atol=1e-8
    )  # central differences at 1e-6


def test_rows_keep_the_order_of_the_constraints():
    model = every_kind()
    q, v, t = (jnp.asarray(x) for x in random_state(model))
    assert model.constraints.row_slices == {
        "acceleration": slice(0, 1),
        "moving": slice(1, 3),
        "rolling": slice(3, 4),
        "speed": slice(4, 5),
    }
    A, b = model.constraints.matrix(q, v, t, None), model.constraints.rhs(q, v, t, None)
    assert np.array_equal(A[0], [0.0, 0.0, 1.0, 0.0, float(q[0])]) and np.isclose(
        b[0], v[0] * np.sin(t), rtol=1e-15
    )
    assert np.allclose(A[4], [2 * v[0], 2 * v[1], 0, 0, 0], rtol=1e-15)


def test_pendulum_rows_are_the_textbook_ones():
    model = pendulum()
    q, v = jnp.array([0.6, -0.8]), jnp.array([0.8, 0.6])
    t = jnp.zeros(())
    assert np.allclose(model.constraints.matrix(q, v, t, model.params), [[1.2, -1.6]], rtol=1e-15)
    assert np.allclose(model.constraints.rhs(q, v, t, model.params), [-2.0], rtol=1e-15)


def test_a_velocity_map_enters_A_and_b():
    """Polar coordinates with v in Cartesian components: φ = r − 1 gives A = (cos θ, sin θ) and b =
    −v_θ²/r.
    """

    def N(q, t, p):
        c, s = jnp.cos(q[1]), jnp.sin(q[1])
        return jnp.array([[c, s], [-s / q[0], c / q[0]]])

    system = zw.System(
        2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2), velocity_map=N
    )
    model = zw.Model(system, [zw.Holonomic(lambda q, t, p: q[0] - 1.0, name="circle")])
    q, v, t = jnp.array([1.0, 0.4]), jnp.array([-np.sin(0.4), np.cos(0.4)]) * 1.7, jnp.zeros(())
    assert np.allclose(
        model.constraints.matrix(q, v, t, None), [[np.cos(0.4), np.sin(0.4)]], atol=1e-15
    )
    assert np.allclose(model.constraints.rhs(q, v, t, None), [-(1.7**2)], atol=1e-14)


@pytest.mark.parametrize(
    ("constraint", "sentence"),
    [
        (zw.Holonomic(lambda q, t, p: q @ jnp.ones(7)), "phi(q, t, p) failed"),
        (zw.Holonomic(lambda q, t, p: jnp.outer(q, q)), "expected a scalar or a vector"),
        (zw.Nonholonomic(lambda q, v, t, p: v @ jnp.ones(7)), "psi(q, v, t, p) failed"),
        (
            zw.AccelerationConstraint(lambda q, v, t, p: jnp.ones(2), lambda q, v, t, p: 0.0),
            "A has shape (1, 2)",
        ),
    ],
)
def test_a_wrong_constraint_function_is_named_in_one_sentence(constraint, sentence):
    with pytest.raises(zw.ModelError) as caught:
        zw.Model(free_particle(), [constraint])
    assert (
        sentence in str(caught.value)
        and repr(constraint.name) in str(caught.value)
        and "\n" not in str(caught.value)
    )


def test_a_constraint_function_with_an_argument_missing_is_refused_when_it_is_given():
    with pytest.raises(zw.ModelError, match=r"'rod': phi takes \(q, t\), expected .*\(q, t, p\)"):
        zw.Holonomic(lambda q, t: q[0], name="rod")


def test_two_constraints_cannot_share_a_name():
    rod = zw.Holonomic(lambda q, t, p: q[0], name="rod")
    with pytest.raises(zw.ModelError, match="'rod' is used 2 times"):
        zw.Model(free_particle(), [rod, rod])


def test_a_constraint_is_asked_once_for_its_rows():
    asked = []

    def phi(q, t, p):
        asked.append(len(q))
        return q[:1] - p

    mass, force = lambda q, t, p: jnp.ones(len(q)), lambda q, v, t, p: 0 * v
    one, other = (zw.System(n, mass, force) for n in (2, 3))
    held = zw.Holonomic(phi, name="held")
    for system, p, times in (
        (one, 1.0, 1),
        (one, 2.0, 1),
        (other, 1.0, 2),
        (other, jnp.ones(1), 3),
    ):
        assert rows_of(held, system, jnp.asarray(p)) == 1
        assert len(asked) == times
