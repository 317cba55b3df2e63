"""Programs in one kernel give what they give operation by operation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.compile import compiler_options, fusion, program
from zwang.compile.fusion import KERNEL_OPTIONS, fits, one_kernel
from zwang.compile.lowering import Way, compile_flat

x = np.random.default_rng(3).standard_normal((5, 4))
OPERATIONS = {
    "entries set": lambda x: x.at[np.array([0, 3]), np.array([1, 2])].set(7.0),
    "entries added, some twice": lambda x: x.at[np.array([0, 3, 0]), np.array([1, 2, 1])].add(
        jnp.arange(3.0)
    ),
    "rows added from the end": lambda x: x.at[np.array([-1, 0])].add(2 * x[:2]),
    "a column": lambda x: x.at[:, 2].set(x[:, 0]),
    "blocks": lambda x: x.at[np.array([0, 2])[:, None], np.array([1, 3])].set(x[:2, :2]),
    "more entries than one turn takes": lambda x: x.at[np.arange(11) % 5, np.arange(11) % 4].add(
        jnp.arange(11.0)
    ),
    "more blocks, some outside": lambda x: x.at[np.array([4, 1, 9, 0, 7, 2])].add(
        jnp.outer(jnp.arange(6.0), x[0])
    ),
    "outside, dropped": lambda x: x.at[np.array([1, 9])].set(3.0),
    "outside, clipped": lambda x: x.at[np.array([1, 9])].set(3.0, mode="clip"),
    "subtracted": lambda x: x.at[np.array([1, 1])].subtract(1.0),
    "none": lambda x: x.at[np.zeros(0, int)].set(1.0),
    "where the argument says": lambda x: x.at[jnp.argmax(x[:, 0])].add(1.0),
    "a product": lambda x: x @ x.T,
    "products side by side": lambda x: jnp.einsum(
        "bij,bkj->bik", x.reshape(2, 5, 2), x.reshape(2, 5, 2) + 1
    ),
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
    compiled = (
        jax.jit(one_kernel(traced.jaxpr)).lower(x).compile(compiler_options() | KERNEL_OPTIONS)
    )
    assert 'xla_cpu_small_call="true"' in compiled.as_text()
    for wanted, got in zip(expected, compiled(x)[:-1], strict=True):
        assert wanted.dtype == got.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-14, atol=1e-15)


L = jax.lax
a, b, i, e, t = np.arange(6.0).reshape(2, 3), np.ones(3), np.array(2), np.zeros(0), np.array(True)
PROGRAMS = {
    "a branch that looks at nothing": lambda a, b, i, e, t: L.cond(
        t, lambda x, y: 1.0, lambda x, y: 2.0, a, b
    ),
    "branches that give what they got": lambda a, b, i, e, t: L.cond(
        t, lambda x, y: (y, x.sum()), lambda x, y: (x[0], 3.0), a, b
    ),
    "one of three": lambda a, b, i, e, t: L.switch(
        i, [lambda x: x, lambda x: 2 * x, jnp.zeros_like], a
    ),
    "a loop that swaps": lambda a, b, i, e, t: L.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[2], c[1]), (0, a, a + 1)
    ),
    "a loop that never turns": lambda a, b, i, e, t: L.while_loop(
        lambda c: False, lambda c: c, (a, b)
    ),
    "as often as an argument says": lambda a, b, i, e, t: L.fori_loop(0, i, lambda k, x: x + k, b),
    "a branch in a loop": lambda a, b, i, e, t: L.fori_loop(
        0, 3, lambda k, x: L.cond(k == 1, lambda x: x + b, lambda x: b, x), b
    ),
    "arguments as they are": lambda a, b, i, e, t: (a, a, a.T, a.ravel(), b, i, e, t),
    "nothing but constants": lambda a, b, i, e, t: (jnp.ones(3), jnp.zeros((0, 3)), e + 1),
    "a scan of nothing": lambda a, b, i, e, t: L.scan(lambda c, x: (c, ()), b, e),
    "an order": lambda a, b, i, e, t: jnp.argsort(b),
    "LAPACK": lambda a, b, i, e, t: jnp.linalg.solve(jnp.eye(3) + a.T @ a, b),
    "a table": lambda a, b, i, e, t: jnp.interp(0.3, b.cumsum(), b),
    "sums along": lambda a, b, i, e, t: jnp.cumsum(a, axis=1),
    "complex numbers": lambda a, b, i, e, t: (a + 1j * a) @ b,
    "whole numbers": lambda a, b, i, e, t: a.astype(int) @ b.astype(int),
    "half of the digits": lambda a, b, i, e, t: jnp.float32(a) @ jnp.float32(b),
    "chance": lambda a, b, i, e, t: jax.random.normal(jax.random.PRNGKey(0), (3,)),
    "reverse mode": lambda a, b, i, e, t: jax.jacrev(
        lambda b: L.fori_loop(0, 3, lambda k, x: jnp.cos(x) * b, b)
    )(b),
    "many functions": lambda a, b, i, e, t: (
        L.erf(b) + jnp.exp(b) + b**2.5 + jnp.arctan2(b, b) + jnp.linalg.norm(a)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_program_gives_the_same(name):
    """Kernel or not; and the compiler's emitter, which ends the process over what it does not
    expect, comes through.
    """
    wanted, got = (f(PROGRAMS[name])(a, b, i, e, t) for f in (jax.jit, program))
    for x, y in zip(jax.tree_util.tree_leaves(wanted), jax.tree_util.tree_leaves(got), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(y, x, rtol=1e-6 if x.dtype == np.float32 else 1e-13)


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
        lambda x: jnp.zeros(fusion.SMALL.largest + 1) + x[0, 0],
        lambda x: x[:1, :1] + jnp.full((40, 40), x[0, 0]) @ np.full((40, 40), 0.5),
        lambda x: jax.vmap(lambda row: row.at[jnp.argmax(row)].set(0.0))(
            x
        ),  # an index for each row
    ],
    ids=["SVD", "LAPACK", "callback", "large", "large product", "batched scatter"],
)
def test_what_does_not_fit_is_compiled_operation_by_operation(function):
    traced, lowered, compiled = compile_flat(lambda x: [function(x)], [x])
    assert not fits(traced.jaxpr)
    # as asked for: XLA may make a kernel of its own of a loop that it finds inside
    assert "xla_cpu_small_call" not in lowered.as_text()
    np.testing.assert_allclose(compiled(x)[0], jax.jit(function)(x), rtol=1e-13, atol=1e-13)


def test_larger_limits_allow_larger_kernels():
    product = lambda x: [x + jnp.full((40, 40), x[0, 0]) @ np.full((40, 40), 0.5)]
    small = lambda x: [product(x[:1, :1])[0].sum()]
    _, _, small_only = compile_flat(small, [x], Way(fusion.SMALL))
    _, _, large = compile_flat(small, [x], Way(fusion.LARGE))
    assert (
        "xla_cpu_small_call" not in small_only.as_text() and "xla_cpu_small_call" in large.as_text()
    )
    np.testing.assert_allclose(large(x)[0], small_only(x)[0], rtol=1e-13)
    for f in (program(small), program(small, compiler=zw.Fused())):
        np.testing.assert_allclose(f(x)[0], small_only(x)[0], rtol=1e-13)


def test_what_cannot_be_emitted_is_reported_and_compiled_operation_by_operation(monkeypatch):
    heard = []
    monkeypatch.setattr(fusion, "RUNTIME_CALLS", frozenset())
    jax.monitoring.register_event_listener(
        listener := lambda event, **about: heard.append((event, about))
    )
    try:
        _, _, compiled = compile_flat(
            lambda x: [jnp.linalg.cholesky(x @ x.T + 5 * jnp.eye(5))], [x]
        )
    finally:
        jax.monitoring.unregister_event_listener(listener)
    assert np.allclose(compiled(x)[0], np.linalg.cholesky(x @ x.T + 5 * np.eye(5)))
    assert any(event.endswith("/not_fused") and "reason" in about for event, about in heard)
