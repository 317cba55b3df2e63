"""Dead code of a traced program is not emitted, and no inner program is emitted twice; dense
factors are computed by LAPACK.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra.cholesky import zwang_ordered_factor
from zwang.native import function, walk

X = np.array([1.0, 2.0, 3.0])


def forbid(monkeypatch, name):
    monkeypatch.setitem(walk.RULES, name, lambda call: pytest.fail(f"{name} is emitted"))


def test_what_no_result_depends_on_is_not_emitted(monkeypatch):
    forbid(monkeypatch, "cholesky")
    forbid(monkeypatch, "exp")

    @jax.jit
    def both(x, y):
        return 2 * x, jnp.linalg.cholesky(jnp.outer(y, y) + jnp.eye(3))

    f = function(lambda x: both(x, jnp.exp(x))[0] + 1, X)
    np.testing.assert_array_equal(f(X), 2 * X + 1)


def test_a_loop_is_emitted_whole(monkeypatch):
    def turn(carry, x):
        return (carry[0] + x, carry[1] * carry[0]), carry[1]

    f = lambda x: jax.lax.scan(turn, (0.0, 1.0), x)[0][1]
    np.testing.assert_array_equal(function(f, X)(X), 0.0)
    g = lambda x: jax.lax.scan(turn, (1.0, 1.0), x)[1]
    np.testing.assert_array_equal(function(g, X)(X), [1.0, 1.0, 2.0])


def test_an_inner_program_is_emitted_once_for_the_same_operands(monkeypatch):
    """Also in both ways of a branch, which do not know each other's values; 0 and −0 differ."""
    emitted, own = [], walk.RULES["exp"]
    monkeypatch.setitem(walk.RULES, "exp", lambda call: emitted.append(call) or own(call))
    inner = jax.jit(lambda x, y: jnp.exp(x) + jnp.arctan2(y, -x))

    def outer(x):
        ways = lambda k: jax.lax.cond(x[0] > k, lambda: inner(3 * x, 1.0), lambda: inner(x, 1.0))
        return inner(x, 0.0), inner(x, 0.0), inner(x, -0.0), ways(0.5), ways(1.5)

    np.testing.assert_allclose(function(outer, X)(X), outer(jnp.asarray(X)), rtol=1e-14)
    assert len(emitted) == 6


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [39, 40])
def test_a_factor_without_zeros_is_the_same_by_lapack(n):
    C = np.random.default_rng(n).normal(size=(n, n))
    M = C @ C.T + np.eye(n)
    f = function(lambda M: (zwang_ordered_factor(M), jnp.linalg.cholesky(M)), M)
    (L, reciprocals, order), found = f(M)
    np.testing.assert_allclose(L / reciprocals @ L.T, M[np.ix_(order, order)], atol=1e-12)
    np.testing.assert_allclose(found, np.linalg.cholesky(M), atol=1e-12)
    assert (f.code.instructions < n**3 / 6) == (n >= 40)
    (_, reciprocals, _), found = f(-M)
    assert np.isnan(reciprocals).all() and np.isnan(found[0, 0])
