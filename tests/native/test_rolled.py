"""Elements with equal operations are computed in loops, bitwise identically for one member and for
several.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.native.beside import assert_equal
from tests.native.cases import ALIKE
from tests.native.lanes import assert_lanes_agree
from zwang.native import function, translate

CLOSE = 1e-12
"""Sums of 70 terms are added in another order than XLA's, their terms cancel in part."""


@pytest.mark.parametrize("name", ALIKE)
def test_loops_give_what_xla_gives(name):
    f, *arrays = ALIKE[name]
    assert_equal(f, *arrays, close=CLOSE)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ALIKE)
def test_loops_give_the_same_bits_at_both_levels_and_in_lanes(name):
    f, *arrays = ALIKE[name]
    quick, fast = (
        [x.tobytes() for x in jax.tree_util.tree_leaves(function(f, *arrays, level=level)(*arrays))]
        for level in (0, 1)
    )
    assert quick == fast
    assert_lanes_agree(f, *arrays)


@pytest.mark.parametrize("count", [64, 65, 71, 72, 100])
def test_the_last_register_is_full(count):
    x = np.random.default_rng(3).normal(size=count)
    assert_equal(lambda x: (x * x, jnp.sum(x), x[1:] - x[:-1] * x[0]), x, close=CLOSE)


def chain(x):
    """Forces between neighbors, and the matrix of their derivatives applied."""
    force = lambda q: jnp.diff(jnp.sin(jnp.diff(q, prepend=0.0, append=0.0)))
    return force(x), jax.jacfwd(force)(x) @ x


def test_code_does_not_grow_with_the_number_of_elements():
    few, many = (function(chain, np.ones(n)).code.instructions for n in (100, 300))
    assert many == few


def test_zeros_of_the_structure_are_not_multiplied():
    x = np.random.default_rng(5).normal(size=(2, 300))
    diagonal = function(lambda x, y: jnp.diag(x) @ jnp.diag(y) @ x, *x).code
    # two products of each element, in loops of which each has some ten instructions
    assert diagonal.instructions < 200
    (found,) = diagonal(*x)
    np.testing.assert_allclose(found, x[0] * x[1] * x[0], rtol=1e-15)


def test_what_nothing_reads_is_left_out():
    x = np.ones(100)
    with_it = lambda x: (x + 1.0) * 0.0 + jnp.sum(jnp.exp(x)[:0])
    assert function(with_it, x).code.instructions < 60


def test_numbers_that_were_read_far_before_are_read_again():
    """Not those that have been read just now, and not as operands of a phi."""
    near = [f"  %a{k} = fadd double %x1, 1.0" for k in range(translate.FAR_BEHIND - 1)]
    text = ["b1:", f"  %x1 = load double, ptr %in{translate.STEADY}", *near]
    text += ["  %y = fmul double %x1, %x1", "  %z = fmul double %x1, 2.0", "b2:"]
    text += ["  %p = phi double [ %x1, %b1 ]"]
    lines = translate._read_again("\n".join(text)).splitlines()
    assert lines[: len(near) + 2] == text[: len(near) + 2] and lines[-2:] == text[-2:]
    again = lines[len(near) + 2 : -2]
    assert again[0].endswith("(ptr %in)") and " = load double, ptr " in again[1]
    name = again[1].split()[0]
    assert again[2:] == [f"  %y = fmul double {name}, {name}", f"  %z = fmul double {name}, 2.0"]
