"""Zeros in a model's tables of numbers are part of its programs; other zeros give another
program.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.compile import BoundProgram, Many, keep_programs, model_program
from zwang.compile.events import MADE
from zwang.compile.flat import with_known_zeros

SPARSE = np.diag([2.0, 3.0, 4.0])
OTHER = SPARSE + [[0.0, 0.0, 0.5], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
FULL = SPARSE + 0.25


def table(x: np.ndarray) -> jax.Array:
    return with_known_zeros(jnp.asarray(x))


def image(K, x):
    return K @ x


X = np.array([1.0, -2.0, 0.5])


@pytest.mark.native
def test_products_with_known_zeros_are_left_out():
    known, unknown = (BoundProgram(image, (K,), (X,)) for K in (table(SPARSE), SPARSE))
    np.testing.assert_array_equal(known(X), unknown(X))
    # three products in place of three sums of three
    assert known._program.instructions < unknown._program.instructions - 6


@pytest.fixture
def programs_made(tmp_path):
    assert keep_programs(tmp_path) == ""
    made: list[str] = []
    listen = lambda event, seconds, **_: made.append(event) if event == MADE else None
    jax.monitoring.register_event_duration_secs_listener(listen)
    yield made
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.mark.native
def test_other_numbers_in_place_of_zeros_are_taken_by_one_more_program(programs_made):
    compiled = model_program(image)
    for K in (SPARSE, 2 * SPARSE, SPARSE * [1.0, 0.0, 1.0]):
        np.testing.assert_allclose(compiled(table(K), X), K @ X, rtol=1e-15)
    assert len(programs_made) == 1
    for K in (OTHER, FULL, np.roll(SPARSE, 1, axis=0)):
        np.testing.assert_allclose(compiled(table(K), X), K @ X, rtol=1e-15)
    assert len(programs_made) == 2


def test_arguments_that_change_from_call_to_call_have_no_known_zeros():
    bound = BoundProgram(lambda x, K: K @ x, (X,), (table(SPARSE),))
    np.testing.assert_allclose(bound(FULL), FULL @ X, rtol=1e-15)


@pytest.mark.parametrize("axes", [(None, 0), (0, None)])
def test_members_have_their_own_zeros_and_later_calls_theirs(axes):
    each = lambda x, axis: table(np.stack([x, 0 * x, x + 1])) if axis == 0 else table(x)
    given = [each(x, axis) for x, axis in zip((SPARSE, OTHER), axes, strict=True)]
    later = [each(x, axis) for x, axis in zip((FULL, FULL), axes, strict=True)]
    many = Many(image, axes, tuple(given))
    for arguments in (given, later, given):
        expected = np.matmul(*map(np.asarray, arguments))
        np.testing.assert_allclose(many(*arguments), expected, rtol=1e-15)


def test_derivatives_by_numbers_that_are_zero_are_not_zero():
    energy = lambda K: 0.5 * jnp.sum((K @ X) ** 2)
    found = model_program(lambda K: jax.grad(energy)(K))(table(SPARSE))
    np.testing.assert_allclose(found, np.outer(SPARSE @ X, X), rtol=1e-15)
