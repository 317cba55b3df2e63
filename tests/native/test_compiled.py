"""Results do not depend on the optimization level, the number of members or threads (bitwise), and
calls are safe.
"""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.native.cases import CASES
from tests.native.loops import LOOPS
from zwang.native import NativeFunction, NotNativeError, function, translated

SOME = {
    **{name: CASES[name] for name in list(CASES)[::4]},
    **{name: LOOPS[name] for name in list(LOOPS)[::3]},
}


def bits(tree):
    """Results bit for bit, but for what tells one NaN from another."""
    leaves = jax.tree_util.tree_leaves(tree)
    return [
        np.where(x != x, np.array(0, x.dtype), x).tobytes() + (x != x).tobytes() for x in leaves
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SOME)
def test_both_levels_give_the_same_bits(name):
    f, *arrays = SOME[name]
    found = [bits(function(f, *arrays, level=level)(*arrays)) for level in (0, 1)]
    assert found[0] == found[1]


def test_code_that_is_optimized_later_gives_the_same_bits():
    f, x = lambda x: jnp.linalg.solve(jnp.outer(x, jnp.sin(x)) + jnp.eye(5), x), np.arange(1.0, 6.0)
    made = function(f, x, level=0)
    stored = []
    made.code.optimized = stored.append
    before = bits(made(x))
    made.code.optimize()
    assert bits(made(x)) == before
    assert [s.level for s in stored] == [1] and made.code.stored.level == 1


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("level", [0, 1])
def test_members_are_single_calls(cores, level):
    def f(k, x, n):
        total = jax.lax.fori_loop(0, 3 + n, lambda i, c: c.at[i % 4].add(k * jnp.sin(c[i % 4])), x)
        return total, x @ total, n + 1, total > 0

    k, n = np.array(0.7), np.arange(9) % 4
    x = np.random.default_rng(3).normal(size=(9, 4))
    made = function(f, k, x[0], n[0], level=level).code
    many = made.members([k, x, n], [False, True, True], 9, cores)
    for i in range(9):
        alone = made(k, x[i], n[i])
        assert [a.tobytes() for a in alone] == [b[i].tobytes() for b in many]


def test_threads_may_call_one_function_at_once():
    def f(x):
        return jax.lax.fori_loop(
            0, 2000, lambda i, c: c.at[i % 100].add(jnp.sin(c[(i + 1) % 100])), x
        )

    made = function(f, np.zeros(100))
    given = np.random.default_rng(5).normal(size=(6, 100))
    expected, found = [made(x) for x in given], [None] * 6

    def call(i):
        for _ in range(20):
            found[i] = made(given[i])

    threads = [threading.Thread(target=call, args=(i,)) for i in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "given",
    [
        np.arange(24.0).reshape(4, 6)[:, ::2],
        np.asfortranarray(np.arange(12.0).reshape(4, 3)),
        np.arange(12.0).reshape(4, 3).astype(">f8"),
        np.arange(12).reshape(4, 3),
        jnp.arange(12.0).reshape(4, 3),
        np.arange(12.0).reshape(4, 3).tolist(),
    ],
    ids=["strided", "by columns", "big-endian", "integers", "of JAX", "a list"],
)
def test_arrays_that_lie_otherwise_are_taken(given):
    made = function(lambda x: x.T @ x, np.zeros((4, 3)))
    x = np.asarray(given, float)
    np.testing.assert_allclose(made(given), x.T @ x, rtol=1e-15)


def test_a_stored_function_is_called_as_the_one_it_was_made_from():
    f, x = lambda x: jnp.linalg.svd(x, compute_uv=False), np.arange(12.0).reshape(4, 3)
    stored = translated(jax.make_jaxpr(f)(x))
    np.testing.assert_array_equal(
        NativeFunction(type(stored)(*tuple(stored)))(x)[0], function(f, x)(x)
    )


UNKNOWN = {
    "callback": (
        lambda x: jax.pure_callback(np.sum, jax.ShapeDtypeStruct((), x.dtype), x),
        "callback",
    ),
    "debugging": (lambda x: (jax.debug.print("{}", x), x)[1], "effects|debug"),
    "random numbers": (lambda x: x + jax.random.normal(jax.random.key(0), (3,)), "random|key"),
    "complex numbers": (lambda x: jnp.exp(1j * x), "complex"),
    "half precision": (lambda x: x.astype(jnp.float16), "float16"),
    "convolution": (lambda x: jnp.convolve(x, x), "conv"),
    "long sort": (lambda x: jnp.sort(jnp.tile(x, 100)), "sort"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_emitted_is_named(name):
    f, says = UNKNOWN[name]
    with pytest.raises(NotNativeError, match=says):
        function(f, np.ones(3))


def test_zeros_of_a_matrix_are_written_in_a_loop():
    diagonal = jnp.arange(40)
    matrix = function(lambda x: jnp.zeros((40, 40)).at[diagonal, diagonal].set(x), np.ones(40))
    x = np.arange(40.0)
    np.testing.assert_array_equal(matrix(x), np.diag(x))
    assert matrix.code.instructions < 400  # 3300 for each element by itself


def test_a_negative_zero_among_zeros_keeps_its_sign():
    joined = function(lambda x: jnp.concatenate([jnp.zeros(20), -jnp.zeros(5), x]), np.ones(3))
    found = joined(np.array([1.0, -0.0, 2.0]))
    assert np.signbit(found).tolist() == [False] * 20 + [True] * 5 + [False, True, False]
