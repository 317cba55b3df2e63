"""Every primitive gives in native code the result of XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import ClosedJaxpr, Jaxpr

import tests.native.cases as cases
from tests.crossed import crossed
from tests.native.beside import assert_equal
from tests.native.loops import LOOPS
from zwang.native import function
from zwang.native.walk import RULES

slow = lambda *types: [pytest.param(x, marks=pytest.mark.slow) for x in types]
FLOATS = (np.float64, *slow(np.float32))
INTEGERS = (np.int64, np.uint8, *slow(np.int32, np.uint64, np.uint32, np.int8))
ANY_ZERO = {"round away", "max", "min"}
"""Functions whose zeros XLA gives another sign than IEEE 754 has, or leaves open."""
FACTORS = 1e-11
"""Relative to the largest number: factors of a matrix with a condition number of about 100."""


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", cases.OF_ONE)
def test_a_function_of_floats(name, dtype):
    assert_equal(cases.OF_ONE[name], cases.one(dtype=dtype), signs=name not in ANY_ZERO)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_logarithm_of_the_gamma_function(dtype):
    """Near its zeros XLA rounds it to the size of its terms."""
    x = np.array([0.3, 1.0, 1.7, 2.0, 4.5, -0.5, 0.0, -1.0, np.inf, np.nan], dtype)
    assert_equal(jax.lax.lgamma, x, close=1e-14 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", cases.OF_TWO)
def test_a_function_of_two_floats(name, dtype):
    assert_equal(cases.OF_TWO[name], *cases.pairs(dtype=dtype), signs=name not in ANY_ZERO)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", cases.OF_INTEGERS)
def test_a_function_of_integers(name, dtype):
    assert_equal(cases.OF_INTEGERS[name], *cases.whole(dtype))


@pytest.mark.parametrize("name", cases.OF_TRUTHS)
def test_a_function_of_truth_values(name):
    x, y = cases.pairs((False, True), bool)
    assert_equal(cases.OF_TRUTHS[name], x, y)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", cases.CASES)
def test_a_function_of_arrays(name):
    f, *arrays = cases.CASES[name]
    assert_equal(f, *arrays, close=FACTORS if name.startswith("factored") else 1e-13)


def test_extrema_beside_constants():
    """What is larger than −∞ is the number itself, and no root is below zero."""

    def extrema(x):
        numbers = [-np.inf, np.inf, np.nan, 0.0, -0.0, 1.0]
        pairs = [(c, y) for c in numbers for y in (x, jnp.sqrt(x), jnp.abs(x))]
        both = [y for c, x in pairs for y in ((c, x), (x, c))]
        return jnp.stack([f(*pair) for pair in both for f in (jnp.maximum, jnp.minimum)])

    assert_equal(extrema, cases.one(), signs=False)
    assert function(lambda x: jnp.maximum(-np.inf, x), 1.0).code.instructions == (
        function(lambda x: x, 1.0).code.instructions
    )


def test_a_quotient_beside_its_own_choice():
    """Both ways of a choice, with divisors that are replaced where they are not to be used."""

    def quotients(x):
        fine = x > 0
        upper = jnp.where(fine, 3.0 / jnp.where(fine, x, 1.0), 0.5)
        return upper, jnp.where(fine, x, 2.0 / jnp.where(fine, 1.0, x))

    assert_equal(quotients, cases.one())


FLOATING = {"pad", "reduced precision"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", sorted({*cases.MOVED, *cases.INDEXED} - FLOATING))
def test_integers_are_moved_as_floats_are(name):
    f, x, *indices = cases.MOVED.get(name) or cases.INDEXED[name]
    assert_equal(f, np.round(10 * x).astype(np.int64), *indices)


BELOW_NORMAL = {
    "sum": (np.add, lambda x, y: x + y),
    "product": (np.multiply, lambda x, y: x * y),
    "quotient": (np.divide, lambda x, y: x / y),
    "root": (lambda x, y: np.sqrt(np.abs(x)), lambda x, y: jnp.sqrt(jnp.abs(x))),
    "order": (np.less, lambda x, y: x < y),
    "larger": (np.maximum, jnp.maximum),
    "sorted": (lambda x, y: np.sort(x), lambda x, y: jnp.sort(x)),
}


@pytest.mark.parametrize("name", BELOW_NORMAL)
def test_numbers_below_the_smallest_normal_one_are_numbers(name):
    known, f = BELOW_NORMAL[name]
    x, y = cases.pairs((*cases.SUBNORMAL, 0.0, 1.0))
    if name == "sorted":
        x = y = np.array([*cases.SUBNORMAL, 0.0, 1.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(function(f, x, y)(x, y), known(x, y))


CONSTANT = {
    **{name: (f, 1) for name, f in cases.OF_ONE.items()},
    **{name: (f, 2) for name, f in cases.OF_TWO.items()},
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CONSTANT)
def test_what_is_computed_of_constants_is_what_the_code_would_have_computed(name):
    f, count = CONSTANT[name]
    given = (cases.one(),) if count == 1 else cases.pairs()
    folded = function(lambda: f(*map(jnp.asarray, given)))()
    emitted = function(f, *given)(*given)
    if folded.dtype.kind != "f":
        np.testing.assert_array_equal(folded, emitted)
    np.testing.assert_allclose(folded.astype(float), emitted.astype(float), rtol=1e-15, atol=0)


@pytest.mark.parametrize(
    "dtype, f", crossed([np.int32, np.uint32, np.uint8, np.int64], cases.OF_INTEGERS)
)
def test_constants_of_integers_overflow_as_registers_do(dtype, f):
    given = cases.whole(dtype)
    folded = function(lambda: f(*map(jnp.asarray, given)))()
    # of what is known, more is to be computed: a number outside of its type would show
    further = function(
        lambda: jax.tree_util.tree_map(lambda x: x.astype(float), f(*map(jnp.asarray, given)))
    )()
    expected = function(f, *given)(*given)
    leaves = jax.tree_util.tree_leaves
    for a, b, c in zip(leaves(folded), leaves(expected), leaves(further), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(c, b.astype(float))


DEVIATIONS = {
    "a product with a constant zero": (lambda x: x * 0.0, 0.0),
    "a number without itself": (lambda x: x - x, 0.0),
    "zero divided by a number": (lambda x: 0.0 / x, 0.0),
}
"""What may differ from IEEE 754, of inf and NaN."""


@pytest.mark.parametrize("name", DEVIATIONS)
def test_deviations_are_those_that_are_written_down(name):
    f, expected = DEVIATIONS[name]
    x = np.array([np.inf, np.nan, 0.0, 1.0])
    np.testing.assert_array_equal(function(f, x)(x), np.full(4, expected))


def test_a_sum_with_a_constant_zero_is_the_number_itself():
    x = np.array([-0.0, 1.0, np.nan])
    found = function(lambda x: x + 0.0, x)(x)
    np.testing.assert_array_equal(found, x)
    assert np.signbit(found[0])


UNBOUND = {
    "add_any", "copy_p", "core_call", "closed_call", "custom_lin", "custom_vjp_call_jaxpr",
    "custom_vmap_call", "layout_constraint", "pjit", "remat", "remat2", "checkpoint", "run_state",
    "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub", "unstack",
    "zwang_forward_only", "copy", "stop_gradient", "expand_dims", "empty2",
}  # fmt: skip
"""Primitives that functions of arrays seldom meet, and the names of others in some versions."""


def primitives(jaxpr: Jaxpr) -> set[str]:
    found = set()
    for eqn in jaxpr.eqns:
        found.add(eqn.primitive.name)
        for x in jax.tree_util.tree_leaves(
            list(eqn.params.values()), is_leaf=lambda x: isinstance(x, (Jaxpr, ClosedJaxpr))
        ):
            if isinstance(x, (Jaxpr, ClosedJaxpr)):
                found |= primitives(x.jaxpr if isinstance(x, ClosedJaxpr) else x)
    return found


@pytest.mark.slow
def test_every_rule_is_tested():
    seen = set()
    calls = [(f, cases.one()) for f in (*cases.OF_ONE.values(), jax.lax.lgamma)]
    calls += [(f, *cases.pairs()) for f in cases.OF_TWO.values()]
    calls += [(f, *cases.whole()) for f in cases.OF_INTEGERS.values()]
    calls += [(f, *cases.pairs((False, True), bool)) for f in cases.OF_TRUTHS.values()]
    for f, *arrays in [*calls, *cases.CASES.values(), *LOOPS.values()]:
        seen |= primitives(jax.make_jaxpr(f)(*arrays).jaxpr)
    missing = set(RULES) - seen
    assert missing <= UNBOUND, f"no case uses {sorted(missing - UNBOUND)}"
