"""Loops and branches in native code give the results of XLA, including changes in place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.lax import dynamic_slice, dynamic_update_slice

from tests.native.beside import assert_equal
from tests.native.loops import LOOPS
from zwang.native.rules.control_flow import indexed


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop(name):
    f, *arrays = LOOPS[name]
    before = [np.copy(x) for x in arrays]
    assert_equal(f, *arrays, close=1e-12)
    for x, y in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, y)  # arguments are not written to


@pytest.mark.parametrize(
    ("change", "is_known"),
    [
        (lambda a, x, i: a.at[jnp.array([0, 2]), 1].set(x[:2]), True),
        (lambda a, x, i: a.at[i, 1].add(x[0]), False),
        (lambda a, x, i: dynamic_update_slice(a, x[None], (1, 0)), True),
        (lambda a, x, i: dynamic_update_slice(a, x[None], (i, 0)), False),
        (lambda a, x, i: a[jnp.array([0, 2])] * x[0], True),
        (lambda a, x, i: dynamic_slice(a, (i, 0), (1, 3)) * x[0], False),
    ],
)
def test_an_array_lies_in_memory_where_its_places_are_not_known(change, is_known):
    """Whatever is written there: an array of known places keeps its zeros, and what a loop does
    with them is left out.
    """
    program = jax.make_jaxpr(change)(np.zeros((3, 3)), np.ones(3), 1)
    assert indexed(program.jaxpr) == (set() if is_known else {0})
