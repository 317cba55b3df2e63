"""Programs in one kernel give what they give operation by operation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.programs import compiler_options, program, single
from zwang.programs.keep import _best
from zwang.programs.single import WITHOUT_LIBRARY, fits, one_kernel

x = np.random.default_rng(3).standard_normal((5, 4))
OPERATIONS = {
    "entries set": lambda x: x.at[np.array([0, 3]), np.array([1, 2])].set(7.0),
    "entries added, some twice": lambda x: x.at[np.array([0, 3, 0]), np.array([1, 2, 1])].add(jnp.arange(3.0)),
    "rows added from the end": lambda x: x.at[np.array([-1, 0])].add(2 * x[:2]),
    "a column": lambda x: x.at[:, 2].set(x[:, 0]),
    "blocks": lambda x: x.at[np.array([0, 2])[:, None], np.array([1, 3])].set(x[:2, :2]),
    "outside, dropped": lambda x: x.at[np.array([1, 9])].set(3.0),
    "outside, clipped": lambda x: x.at[np.array([1, 9])].set(3.0, mode="clip"),
    "subtracted": lambda x: x.at[np.array([1, 1])].subtract(1.0),
    "none": lambda x: x.at[np.zeros(0, int)].set(1.0),
    "where the argument says": lambda x: x.at[jnp.argmax(x[:, 0])].add(1.0),
    "a product": lambda x: x @ x.T,
    "products side by side": lambda x: jnp.einsum("bij,bkj->bik", x.reshape(2, 5, 2), x.reshape(2, 5, 2) + 1),
    "an inner and an outer product": lambda x: (x[:, 0] @ x[:, 1]) * jnp.outer(x[:, 0], x[0]),
    "sorted": lambda x: jnp.sort(x.at[1, 1].set(jnp.nan).at[2, 1].set(x[0, 1]), axis=0),
    "a median": lambda x: jnp.nanmedian(x.at[1, 1].set(jnp.nan)),
    "a barrier": lambda x: sum(jax.lax.optimization_barrier([jnp.sin(x), x[0], jnp.arange(4)])),
    "a loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y.at[i].set(jnp.cos(y[i + 1])), x),
    "a scan": lambda x: jax.lax.scan(lambda c, row: (c + row, c @ row), x[0], x),
    "a branch": lambda x: jax.lax.cond(x[0, 0] > 0, lambda x: x.at[0].set(1.0), lambda x: -x, x),
    "a derivative": lambda x: jax.jacfwd(lambda y: jnp.linalg.norm(y, axis=1))(x),
    "side by side": lambda x: jax.vmap(lambda row: row.at[1].set(row[0]))(x),
    "numbers of other kinds": lambda x: (jnp.argmin(x), x > 0, jnp.float32(x)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_same_numbers(name):
    function = lambda x: jax.tree_util.tree_leaves(OPERATIONS[name](x))
    expected = jax.jit(function)(x)
    traced = jax.jit(function).trace(x)
    assert fits(traced.jaxpr)
    compiled = jax.jit(one_kernel(traced.jaxpr)).lower(x).compile(compiler_options() | WITHOUT_LIBRARY)
    assert 'xla_cpu_small_call="true"' in compiled.as_text()
    for wanted, got in zip(expected, compiled(x)[:-1], strict=True):
        assert wanted.dtype == got.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-15)


def test_arguments_that_nothing_uses_and_empty_ones():
    """The compiler's emitter would end the process over them."""
    given = np.ones(3), np.zeros((0, 2)), np.arange(2), np.array(True)
    once = program(lambda a, b, c, d: (2 * a, b, c))
    a, b, c = once(*given)
    assert np.all(a == 2) and b.shape == (0, 2) and np.all(np.asarray(c) == np.arange(2))
    assert jnp.all(program(lambda a, b, c, d: jnp.zeros(2))(*given) == 0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.linalg.svd(x, compute_uv=False),
        lambda x: jnp.linalg.cholesky(x @ x.T + 5 * jnp.eye(5)),
        lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x),
        lambda x: jnp.zeros(single.LARGEST + 1) + x[0, 0],
        lambda x: sum(x.T @ (k * x) for k in range(single.PRODUCTS + 1)),
        lambda x: jax.vmap(lambda row: row.at[jnp.argmax(row)].set(0.0))(x),  # an index for each row
    ],
    ids=["SVD", "LAPACK", "callback", "large", "many products", "batched scatter"],
)
def test_what_does_not_fit_is_compiled_as_ever(function):
    traced, _, compiled = _best(lambda x: [function(x)], [x])
    assert not fits(traced.jaxpr)
    assert "xla_cpu_small_call" not in compiled.as_text()
    np.testing.assert_allclose(compiled(x)[0], jax.jit(function)(x), rtol=1e-13, atol=1e-13)


def test_what_cannot_be_emitted_is_told_and_compiled_as_ever(monkeypatch):
    told = []
    monkeypatch.setattr(single, "CALLS", frozenset())
    jax.monitoring.register_event_listener(listener := lambda event, **about: told.append((event, about)))
    try:
        _, _, compiled = _best(lambda x: [jnp.linalg.cholesky(x @ x.T + 5 * jnp.eye(5))], [x])
    finally:
        jax.monitoring.unregister_event_listener(listener)
    assert np.allclose(compiled(x)[0], np.linalg.cholesky(x @ x.T + 5 * np.eye(5)))
    assert any(event.endswith("/apart") and "reason" in about for event, about in told)
