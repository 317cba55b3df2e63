"""Functions of many arrays as functions of one."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.compile import BoundProgram
from zwang.compile.packing import Packed, PackedFunction, Unpacking


class Result(NamedTuple):
    number: object
    matrix: object
    counts: object
    nested: dict


def function(scale, x, n, A):
    return Result(x.sum() * scale, A * x[:, None], n + jnp.arange(3), {"b": A[0], "a": x < 0})


GIVEN = np.array([1.0, -2.0]), np.int64(4), np.arange(6.0).reshape(2, 3)


def test_a_bound_program_gives_the_functions_result_on_the_host():
    bound = BoundProgram(function, (np.float64(3.0),), tuple(np.zeros_like(x) for x in GIVEN))
    found, expected = bound(*GIVEN), function(3.0, *GIVEN)
    assert isinstance(found, Result)
    leaves = jax.tree_util.tree_leaves
    for got, want in zip(leaves(found), leaves(expected), strict=True):
        assert isinstance(got, np.ndarray)
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype


def test_a_second_call_leaves_the_first_result_alone():
    bound = BoundProgram(function, (np.float64(3.0),), GIVEN)
    first = bound(*GIVEN)
    kept = first.matrix.copy()
    bound(2 * GIVEN[0], *GIVEN[1:])
    np.testing.assert_array_equal(first.matrix, kept)


@pytest.mark.parametrize("tree", [(), np.zeros((0, 3)), {"a": np.arange(3)}, [1.0, (np.ones(2),)]])
def test_what_is_packed_can_be_unpacked(tree):
    packed = Packed.of(tree)
    found = Unpacking(packed.skeleton)(packed)
    jax.tree_util.tree_map(np.testing.assert_array_equal, tree, found)
    assert jax.tree_util.tree_structure(found) == jax.tree_util.tree_structure(tree)


def test_the_same_function_of_other_shapes_is_another_one():
    same, other = PackedFunction(function, 1, GIVEN), PackedFunction(function, 1, GIVEN[:2])
    assert same == PackedFunction(function, 1, GIVEN) and hash(same) == hash(
        PackedFunction(function, 1, GIVEN)
    )
    assert same != other
