"""What numerics tell the compiler changes no result."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.compile.engine import native_trace
from zwang.compile.hints import for_any_member, over_rows, while_loop, with_batch_rule

TURNS = 7


def powers(x, kind, max_steps=20, turns=TURNS):
    """x, x², … for some turns, every second one written to a buffer."""

    def body(carry):
        k, y, rows = carry
        return k + 1, y * x, rows.at[k].set(jnp.where(k % 2 == 0, y, rows[k]))

    start = (jnp.asarray(0), x, jnp.zeros((TURNS, 2)))
    return while_loop(lambda carry: carry[0] < turns, body, start, max_steps=max_steps, kind=kind)


def as_native(function):
    """A function as it is traced for native code, compiled by XLA all the same."""

    def traced(*arrays):
        with native_trace():
            return function(*arrays)

    return jax.jit(traced)


@pytest.mark.parametrize("kind", ["lax", "checkpointed"])
@pytest.mark.parametrize("max_steps", [20, 3, 1])
def test_a_loop_ends_at_its_limit_and_where_its_condition_no_longer_holds(kind, max_steps):
    turns, end, rows = jax.jit(lambda x: powers(x, kind, max_steps))(1.5)
    assert turns == min(TURNS, max_steps)
    powered = 1.5 ** np.arange(1, TURNS + 2)
    np.testing.assert_allclose(end, powered[turns], rtol=1e-15)
    written = (np.arange(TURNS) % 2 == 0) & (np.arange(TURNS) < turns)
    np.testing.assert_allclose(rows, np.where(written, powered[:-1], 0.0)[:, None] * [1, 1])


@pytest.mark.parametrize("over_members", [lambda f: f, jax.vmap])
def test_reverse_mode_passes_through_a_loop_of_members_that_end_apart(over_members):
    """d/dx of xⁿ⁺¹ and twice each xᵏ⁺¹ that was written."""
    several = over_members is jax.vmap
    total = lambda x, n: (lambda end: end[1] + jnp.sum(end[2]))(powers(x, "checkpointed", 20, n))
    of_each = over_members(jax.grad(total))
    x, n = (np.array([1.5, 0.7]), np.array([TURNS, 3])) if several else (1.5, TURNS)
    slope = lambda x, n: (n + 1) * x**n + 2 * sum((k + 1) * x**k for k in range(0, n, 2))
    expected = np.vectorize(slope)(x, n)
    np.testing.assert_allclose(jax.jit(of_each)(x, n), expected, rtol=1e-13)
    if several:  # a turn after the last member's end is not computed
        assert "cond" in str(jax.make_jaxpr(of_each)(x, n))


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
