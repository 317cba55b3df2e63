"""Identities of unit quaternions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from zwang.bodies import rotation
from zwang.compile.engine import native_trace

conjugate, exponential, moved, product, quaternion, rate_map, rotation_matrix, rotation_vector = (
    map(
        jax.jit,
        (
            rotation.conjugate,
            rotation.exponential,
            rotation.moved,
            rotation.product,
            rotation.quaternion,
            rotation.rate_map,
            rotation.rotation_matrix,
            rotation.rotation_vector,
        ),
    )
)
rate_of_matrix = jax.jit(
    lambda q, w: jax.jvp(rotation.rotation_matrix, (q,), (rotation.rate_map(q) @ w,))[1]
)
ROUND_OFF = 1e-13
number = st.floats(-3, 3, allow_subnormal=False)
vectors = st.tuples(number, number, number).map(np.array)
quaternions = (
    st.tuples(number, number, number, number)
    .map(np.array)
    .filter(lambda q: np.linalg.norm(q) > 0.1)
)


@given(quaternions)
def test_rotation_matrix_is_a_rotation_for_every_length_of_the_quaternion(q):
    R = rotation_matrix(q)
    assert np.allclose(R @ R.T, np.eye(3), atol=ROUND_OFF)
    assert np.isclose(np.linalg.det(R), 1.0, atol=ROUND_OFF)


@given(quaternions)
def test_rotation_matrix_agrees_with_scipy(q):
    assert np.allclose(
        rotation_matrix(q), Rotation.from_quat(np.roll(q, -1)).as_matrix(), atol=ROUND_OFF
    )


@given(quaternions)
def test_quaternion_is_that_of_the_matrix_up_to_its_sign(q):
    unit = q / np.linalg.norm(q)
    found = quaternion(rotation_matrix(q))
    assert np.allclose(found * np.sign(found @ unit), unit, atol=ROUND_OFF)


@given(quaternions, quaternions)
def test_product_of_quaternions_is_product_of_matrices(a, b):
    assert np.allclose(
        rotation_matrix(product(a, b)), rotation_matrix(a) @ rotation_matrix(b), atol=ROUND_OFF
    )


@given(quaternions)
def test_conjugate_undoes(q):
    assert np.allclose(product(q, conjugate(q)), [q @ q, 0, 0, 0], atol=1e-12)


@given(quaternions, vectors)
def test_rate_map_is_the_rate_of_turning_in_body_axes(q, w):
    """Against a central difference of q ∘ exp(h ω), whose error is h² |ω|³ |q| / 6."""
    h = 1e-4
    difference = (product(q, exponential(h * w)) - product(q, exponential(-h * w))) / (2 * h)
    assert np.allclose(rate_map(q) @ w, difference, atol=1e-6)


@given(quaternions, vectors)
def test_rate_of_the_matrix_is_matrix_times_cross_product(q, w):
    """Ṙ = R [ω]×."""
    assert np.allclose(
        rate_of_matrix(q, w), rotation_matrix(q) @ np.cross(np.eye(3), w), atol=1e-12
    )


@given(vectors.filter(lambda w: np.linalg.norm(w) < 3.1))
def test_rotation_vector_undoes_exponential(w):
    assert np.allclose(rotation_vector(exponential(w)), w, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-9, 0.0199999, 0.0200001, 1.0])
def test_exponential_is_exact_near_zero_and_across_its_series(angle):
    axis = np.array([0.6, 0.0, -0.8])
    expected = np.r_[np.cos(angle / 2), np.sin(angle / 2) * axis]
    assert np.allclose(exponential(jnp.asarray(angle * axis)), expected, rtol=1e-15, atol=1e-300)


def test_exponential_and_its_inverse_have_derivatives_at_zero():
    zero = jnp.zeros(3)
    assert np.allclose(jax.jacfwd(rotation.exponential)(zero), np.eye(4)[:, 1:] / 2, atol=1e-16)
    assert np.allclose(
        jax.jacrev(lambda w: rotation_vector(exponential(w)))(zero), np.eye(3), atol=1e-15
    )
    assert np.allclose(jax.hessian(lambda w: exponential(w)[0])(zero), -np.eye(3) / 4, atol=1e-16)


@given(quaternions, vectors)
def test_moving_keeps_unit_length(q, w):
    assert np.isclose(np.linalg.norm(moved(q, w)), 1.0, atol=1e-15)


def test_quarter_turn_about_z_takes_x_to_y():
    R = rotation_matrix(rotation.from_axis_angle([0.0, 0.0, 2.0], np.pi / 2))
    assert np.allclose(R @ np.array([1.0, 0.0, 0.0]), [0.0, 1.0, 0.0], atol=1e-15)


@pytest.mark.slow
def test_leading_axes_give_what_single_calls_give():
    q = jnp.asarray(np.random.default_rng(1).standard_normal((4, 4)))
    w = q[:, 1:]
    for function, args in [
        (rotation.rotation_matrix, (q,)),
        (rotation.rate_map, (q,)),
        (rotation.exponential, (w,)),
        (rotation.rotation_vector, (q,)),
        (rotation.product, (q, q)),
        (rotation.moved, (q, w)),
    ]:
        assert np.allclose(function(*args), jax.vmap(function)(*args), atol=1e-15)


def test_both_ways_to_write_a_rotation_agree():
    q = np.random.default_rng(0).normal(size=(2, 5, 4))
    for function in (rotation.rotation_matrix, rotation.rate_map):
        found, by_components = function(q), jax.jit(function)(q)
        assert isinstance(found, np.ndarray)  # nothing is compiled for NumPy's arrays
        np.testing.assert_allclose(found, by_components, atol=ROUND_OFF)
        with native_trace():
            by_table = jax.make_jaxpr(lambda q, f=function: f(q))(q)
        assert len(by_table.jaxpr.eqns) < 20
        values = jax.core.eval_jaxpr(by_table.jaxpr, by_table.consts, q)
        np.testing.assert_allclose(values[0], found, atol=ROUND_OFF)
