"""What numerics tell the compiler changes no result."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.compile.batch_last import vmap_last
from zwang.compile.compilers import plain_trace
from zwang.compile.hints import row_major, set_row, while_loop, with_batch_rules

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


@pytest.mark.parametrize("kind", ["lax", "checkpointed"])
@pytest.mark.parametrize("max_steps", [20, 3, 1])
def test_a_plain_loop_is_the_loop_of_equinox(kind, max_steps):
    usual = jax.jit(lambda x: powers(x, kind, max_steps))(1.5)
    with plain_trace():
        plain = jax.jit(lambda x: powers(x, kind, max_steps))(1.5)
    jax.tree_util.tree_map(np.testing.assert_array_equal, plain, usual)
    assert int(plain[0]) == min(TURNS, max_steps)


def test_reverse_mode_passes_through_a_plain_loop():
    total = lambda x: (lambda end: end[1] + jnp.sum(end[2]))(powers(x, "checkpointed"))
    with plain_trace():
        found = jax.jit(jax.grad(total))(1.5)
    written = 2 * sum((k + 1) * 1.5**k for k in range(0, TURNS, 2))
    np.testing.assert_allclose(found, (TURNS + 1) * 1.5**TURNS + written, rtol=1e-13)


def test_each_batch_axis_has_the_rule_for_it():
    seen = []

    @with_batch_rules(
        leading=lambda x: (seen.append(("leading", x.shape)), 2 * x)[1],
        trailing=lambda x: (seen.append(("trailing", x.shape)), 2 * x)[1],
    )
    def double(x):
        seen.append(("one", x.shape))
        return 2 * x

    x = np.arange(12.0).reshape(4, 3)
    for way in (jax.vmap, vmap_last):
        np.testing.assert_array_equal(jax.jit(way(double, (0,)))(x), 2 * x)
    np.testing.assert_array_equal(double(x[0]), 2 * x[0])
    assert ("leading", (4, 3)) in seen and ("trailing", (3, 4)) in seen and ("one", (3,)) in seen


def test_row_major_changes_no_number():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jax.jit(lambda x: row_major(x.T))(x), x.T)
    assert "layout_constraint" in str(jax.make_jaxpr(row_major)(x))
    with plain_trace():
        assert "layout_constraint" not in str(jax.make_jaxpr(lambda x: row_major(x))(x))
