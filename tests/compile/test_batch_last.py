"""Members side by side in memory give what `jax.vmap` gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.compile.test_fusion import OPERATIONS
from zwang.algebra import cholesky
from zwang.compile import fusion, lowering
from zwang.compile.batch_last import vmap_last
from zwang.compile.events import NOT_FUSED

MEMBERS = 3
random = np.random.default_rng(5)
x, k = random.standard_normal((MEMBERS, 5, 4)), np.array([3, 0, 2])
spd = np.einsum("bik,bjk->bij", x, x) + np.eye(5)
L = jax.lax
SPARSE = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0]], bool)


def looped(x, k):
    """Turns that differ in number, one in the other, with a value that all share."""
    inner = lambda y, n: L.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.sin(c[1]) + c[0]), (0, y)
    )[1]
    return L.while_loop(
        lambda c: c[0] < k, lambda c: (c[0] + 1, inner(c[1], c[0]), c[2] + 1), (0, x, jnp.zeros(2))
    )


def stored(x, k):
    """Where each member wants it."""
    return (
        x.at[k].set(0.0),
        x.at[k, 1].add(2.0),
        L.dynamic_update_slice(x, x[:2] + 1, (k, 0)),
        x[k],
        L.dynamic_slice(x, (k, 1), (2, 2)),
    )


long = lambda y: (
    jnp.cumsum(jnp.sort(jnp.tanh(y) + 1, axis=0), axis=0) * jnp.sum(y**2)
    + jnp.max(y, axis=1, keepdims=True)
    - jnp.min(y)
)
FUNCTIONS = {
    **{name: (lambda x, k, f=f: f(x)) for name, f in OPERATIONS.items()},
    "turns that differ in number": looped,
    "places that differ": stored,
    "a branch for each": lambda x, k: L.switch(
        k % 3, [lambda y: y, long, lambda y: y[::-1] - 1], x
    ),
    "a branch that some take": lambda x, k: L.cond(k == 0, long, lambda y: y, x),
    "a branch that none takes": lambda x, k: L.cond(k > 7, long, lambda y: y, x),
    "a branch for all": lambda x, k: L.switch(
        jnp.argmax(jnp.arange(3)), [lambda y: y, lambda y: y, long], x
    ),
    "a scan of members": lambda x, k: L.scan(
        lambda c, row: (c + row * k, (c @ row, jnp.ones(2))), jnp.zeros(4), x, reverse=True
    ),
    "a scan that some turns make differ": lambda x, k: L.scan(
        lambda c, i: ((c[1], c[1] * k), c[0]), (1.0, 2.0), jnp.arange(3)
    ),
    "products of members and shared": lambda x, k: (
        x @ np.ones((4, 2)),
        np.ones((2, 5)) @ x,
        x.T @ x,
        np.ones(5) @ x @ x[0],
        k * k,
    ),
    "a product over two axes": lambda x, k: (
        jnp.einsum("ij,kij->k", x, np.arange(40.0).reshape(2, 5, 4)) + jnp.tensordot(x, x, 2)
    ),
    "sums": lambda x, k: (
        jnp.sum(x, axis=(0, 1)),
        jnp.sum(x[:0]),
        jnp.prod(x, axis=0),
        jnp.any(x > 1),
        jnp.all(x > -9, axis=1),
    ),
    "terms that are no array": lambda x, k: jnp.sum(
        x[:, None, :] * x[None, :, :] - x[:, None, :], axis=(0, 2)
    ),
    "shapes": lambda x, k: (
        x.reshape(2, 10),
        x.T.ravel(),
        x[1:4:2, ::-1],
        jnp.pad(x, ((1, 0), (2, 1)), constant_values=7.0),
        jnp.stack([x, x], 1),
    ),
    "shared alone": lambda x, k: (
        jnp.sin(jnp.arange(3.0)),
        L.fori_loop(0, 3, lambda i, y: y + i, 0),
    ),
    "once for all": lambda x, k: jnp.sin(x) + jnp.sin(x) * jnp.cos(2.0) - jnp.cos(2.0),
    "chance": lambda x, k: (
        jax.random.normal(jax.random.key(0), (3,)) + k,
        jax.random.uniform(jax.random.fold_in(jax.random.key(1), k)),
    ),
    "a choice for all entries": lambda x, k: L.select(k > 1, x, -x) + L.clamp(0.0, x, 1.0),
    "a Cholesky factor": lambda x, k: cholesky.inverse_factor(x @ x.T + jnp.eye(5)),
    "a factor that is none": lambda x, k: cholesky.inverse_factor(x @ x.T - 9 * jnp.eye(5)),
    "C Cᵀ": lambda x, k: cholesky.gram(x),
    "C Cᵀ of known entries": lambda x, k: cholesky.gram(
        jnp.where(SPARSE, x, 0), cholesky.pairs(SPARSE) or ((), (), ())
    ),
    "a derivative of the factor": lambda x, k: jax.jacfwd(
        lambda s: cholesky.inverse_factor(s * x @ x.T + jnp.eye(5))
    )(2.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_numbers(name):
    expected, got = (jax.jit(way(FUNCTIONS[name], (0, 0)))(x, k) for way in (jax.vmap, vmap_last))
    assert jax.tree_util.tree_structure(got) == jax.tree_util.tree_structure(expected)
    for e, g in zip(*map(jax.tree_util.tree_leaves, (expected, got)), strict=True):
        assert g.dtype == e.dtype and g.shape == e.shape
        np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-13)


def test_what_all_share_has_no_axis():
    f = lambda p, y: (p["a"] * y, p["b"] + 1)
    shared = {"a": 2.0, "b": k}
    for axes in [({"a": None, "b": 0}, None), (None, 0), ({"a": None, "b": None}, 0)]:
        expected, got = (
            way(f, axes)(shared, x[0] if axes[1] is None else x) for way in (jax.vmap, vmap_last)
        )
        jax.tree_util.tree_map(np.testing.assert_array_equal, got, expected)


def test_sines_are_computed_once():
    f = lambda y: jnp.sin(y[0]) + L.fori_loop(0, 3, lambda i, s: s + jnp.sin(y[0]), jnp.zeros(4))
    text = str(jax.make_jaxpr(vmap_last(f, (0,)))(x))
    assert str(jax.make_jaxpr(jax.vmap(f))(x)).count("= sin ") == 2 and text.count("= sin ") == 1


def test_terms_of_a_product_are_not_kept():
    """All of them together would leave the processor's cache."""
    f = lambda c: jnp.sum(c[:, :, None] * c[:, None, :], axis=0)
    jax.config.update("jax_disable_most_optimizations", False)  # or what nothing uses is left in
    text = jax.jit(vmap_last(f, (0,))).lower(np.ones((8, 30, 20))).compile().as_text()
    assert "f64[20,20,8]" in text and "f64[30,20,20,8]" not in text


OF_MEMBERS = lowering.Way(fusion.BATCH, members=8)


def one_kernel(function, *arrays) -> list:
    """The arrays that a function returns, computed in one kernel."""
    *found, meaningless = lowering.compile_flat(function, [*arrays], OF_MEMBERS).compiled(*arrays)
    assert np.shape(meaningless) == () and len(found) == len(jax.eval_shape(function, *arrays))
    return found


def test_a_factor_that_all_share_takes_nothing_from_outside():
    """What was computed before the call, also within it, would be a number of another program
    there.
    """
    shared = lambda y, z: (
        jnp.sin(y[0, 0])
        + cholesky.inverse_factor(y.T @ y + jnp.eye(4) * jnp.sqrt(jnp.abs(y[0, 0])))[0] * z[0]
    )
    (found,) = one_kernel(lambda *given: [vmap_last(shared, (None, 0))(*given)], x[0], x)
    np.testing.assert_allclose(found, jax.vmap(shared, (None, 0))(x[0], x), rtol=1e-12)


def test_one_kernel():
    of_one = lambda x, k: [looped(x, k)[1], cholesky.inverse_factor(x @ x.T + jnp.eye(5))]
    expected = jax.vmap(of_one)(x, k)
    for e, g in zip(expected, one_kernel(vmap_last(of_one, (0, 0)), x, k), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-13)


def test_what_calls_the_runtime_is_no_kernel():
    heard = []
    jax.monitoring.register_event_listener(
        listener := lambda event, **about: heard.append((event, about))
    )
    try:
        svd = lambda x: [*vmap_last(jnp.linalg.svd, (0,))(x)]
        assert lowering.compile_flat(svd, [x], OF_MEMBERS).compiled.out_tree.num_leaves == 3
    finally:
        jax.monitoring.unregister_event_listener(listener)
    assert [about["reason"] for event, about in heard if event == NOT_FUSED]
