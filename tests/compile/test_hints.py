"""What numerics tell the compiler changes no result."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.compile.engine import native_trace
from zwang.compile.hints import for_any_member, over_rows, set_row, while_loop, with_batch_rule

TURNS = 7


def powers(x, kind, max_steps=20):
    """x, x², … until `TURNS`, every second one written to a buffer."""

    def body(carry):
        k, y, rows = carry
        return k + 1, y * x, set_row(rows, k, y[None] * jnp.ones(2), k % 2 == 0)

    start = (jnp.asarray(0), x, jnp.zeros((TURNS, 2)))
    return while_loop(
        lambda carry: carry[0] < TURNS,
        body,
        start,
        max_steps=max_steps,
        buffer=lambda c: c[2],
        kind=kind,
    )


def as_native(function):
    """A function as it is traced for native code, compiled by XLA all the same."""

    def traced(*arrays):
        with native_trace():
            return function(*arrays)

    return jax.jit(traced)


@pytest.mark.parametrize("kind", ["lax", "checkpointed"])
@pytest.mark.parametrize("max_steps", [20, 3, 1])
def test_a_loop_of_native_code_is_the_loop_of_equinox(kind, max_steps):
    usual = jax.jit(lambda x: powers(x, kind, max_steps))(1.5)
    plain = as_native(lambda x: powers(x, kind, max_steps))(1.5)
    jax.tree_util.tree_map(np.testing.assert_array_equal, plain, usual)
    assert int(plain[0]) == min(TURNS, max_steps)


def test_reverse_mode_passes_through_a_loop_of_native_code():
    total = lambda x: (lambda end: end[1] + jnp.sum(end[2]))(powers(x, "checkpointed"))
    found = as_native(jax.grad(total))(1.5)
    written = 2 * sum((k + 1) * 1.5**k for k in range(0, TURNS, 2))
    np.testing.assert_allclose(found, (TURNS + 1) * 1.5**TURNS + written, rtol=1e-13)


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
