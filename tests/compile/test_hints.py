"""Hints of the numerics to the compiler do not change results."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np

from zwang.compile import program
from zwang.compile.engine import native_trace, one_trace
from zwang.compile.hints import for_any_member, over_rows, traced_once, with_batch_rule


def as_native(function):
    """A function as it is traced for native code, compiled by XLA all the same."""

    def traced(*arrays):
        with native_trace():
            return function(*arrays)

    return jax.jit(traced)


def test_a_batch_has_the_rule_for_it():
    seen = []

    @with_batch_rule(lambda x: (seen.append(("batch", x.shape)), 2 * x)[1])
    def double(x):
        seen.append(("one", x.shape))
        return 2 * x

    x = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(jax.jit(jax.vmap(double))(x), 2 * x)
    np.testing.assert_array_equal(double(x[0]), 2 * x[0])
    assert ("batch", (4, 3)) in seen and ("one", (3,)) in seen


def test_rows_one_after_the_other_are_rows_side_by_side():
    function = over_rows(lambda a, b: {"sum": a + b[0], "product": a * b})
    rows = np.arange(5.0), np.arange(10.0).reshape(5, 2)
    beside = jax.jit(function)(*rows)
    made = lambda *x: over_rows(lambda a, b: {"sum": a + b[0], "product": a * b})(*x)
    after = as_native(made)(*rows)
    jax.tree_util.tree_map(np.testing.assert_array_equal, after, beside)
    assert "scan" in str(jax.make_jaxpr(as_native(made))(*rows))


def test_a_branch_is_taken_by_all_members_of_nested_batches_or_by_none():
    either = lambda x: jax.lax.cond(for_any_member(x > 2), lambda: x + 10, lambda: x)
    x = np.arange(4.0).reshape(2, 2)
    inner = jax.vmap(jax.vmap(either))
    np.testing.assert_array_equal(jax.jit(inner)(x), x + 10)
    np.testing.assert_array_equal(jax.jit(inner)(x - 1), x - 1)
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: jnp.sum(inner(x))))(x), 1.0)


def test_a_trace_calls_a_function_once_for_equal_operands():
    """Frictions of many contacts read parts of one result; other operands are another call."""
    both = traced_once(lambda x, y: x * jnp.sin(y), always=True)

    def parts(x, y):
        inner = jax.vmap(lambda z: both(x, y)[0] + both(x, z)[1])(jnp.stack([y, 2 * y]))
        return [both(x, y)[0], both(x, y)[1], both(y, x)[0], *inner]

    x, y = np.arange(1.0, 3.0), np.arange(3.0, 5.0)
    with one_trace():
        program = jax.make_jaxpr(parts)(x, y)
    assert sum(eqn.primitive.name in ("jit", "pjit") for eqn in program.eqns) <= 4
    expected = [*(x * np.sin(y)), y[0] * np.sin(x[0])]
    expected += [x[0] * np.sin(y[0]) + x[1] * np.sin(k * y[1]) for k in (1, 2)]
    np.testing.assert_allclose(jax.jit(parts)(x, y), expected, rtol=1e-15)


def test_a_result_does_not_leave_the_branch_that_computed_it():
    double = traced_once(lambda x: 2 * x, always=True)
    either = lambda x: jax.lax.cond(x > 0, lambda: double(x) + 1, lambda: double(x) - 1)
    with one_trace():
        found = [jax.jit(either)(x) for x in (1.0, -1.0)]
    np.testing.assert_array_equal(found, [3.0, -3.0])


def test_no_traced_value_outlives_its_trace():
    """The last call of a function that is traced once holds its operands only during a trace."""
    double, operands = traced_once(lambda x: 2 * x, always=True), []

    def function(x):
        operands.append(weakref.ref(x))
        return double(x) + double(x)

    x = np.ones(())
    assert as_native(function)(x) == jax.jit(function)(x) == program(function)(x) == 4.0
    gc.collect()
    assert [x() for x in operands] == [None] * 3
