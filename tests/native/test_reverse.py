"""Derivatives in reverse mode as native code: factors, loops of `checkpoint`, long blocks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.models import pendulum
from zwang.algebra.cholesky import Cholesky
from zwang.compile.engine import NATIVE, native_trace
from zwang.native.text import LONGEST
from zwang.native.translation import function


def positive(n: int) -> np.ndarray:
    """A positive definite matrix whose rows are eliminated in another order than given."""
    M = np.diag(np.arange(2.0, n + 2))
    M[0, 1:] = M[1:, 0] = 0.3
    return M


def test_derivatives_of_a_factor_have_its_order():
    M, r = positive(5), jnp.arange(1.0, 6.0)

    def value(M):
        factor = Cholesky(M)
        return r @ factor.solve(r) + factor.log_det() + jnp.sum(factor.forward(r) ** 2)

    with native_trace():
        slope = function(jax.grad(value), M)(M)
        along = function(lambda M: jax.jvp(value, (M,), (M,))[1], M)(M)
        program = jax.make_jaxpr(jax.jit(lambda M: Cholesky(M).order))(M)
    assert "zwang_ordered_factor" in str(program)
    inverse = np.linalg.inv(M)
    # only the lower triangle is read, which stands for both
    full = inverse - 2 * np.outer(inverse @ r, inverse @ r)
    expected = np.tril(full + full.T) - np.diag(np.diag(full))
    np.testing.assert_allclose(slope, expected, rtol=1e-13, atol=1e-14)
    assert along == pytest.approx(np.sum(full * M), rel=1e-13)


def test_a_loop_around_checkpoint_stays_a_loop():
    """Its content counts as operations, of which an unrolled loop would be a hundred times."""

    def turn(x, _):
        x = jax.checkpoint(lambda x: jnp.sin(x) + 0.1 * jnp.cos(x) * x)(x)
        return x, None

    f = lambda x: jax.lax.scan(turn, x, None, length=100)[0]
    code = function(f, np.ones(7))
    assert code.code.instructions < 1000
    np.testing.assert_allclose(code(np.ones(7)), jax.jit(f)(np.ones(7)), rtol=1e-13)


def test_a_block_begins_with_more_values_of_branches_than_a_part_of_it_has():
    n = LONGEST // 8 + 10

    def f(x):
        ways = lambda x: [k * x for k in range(n)], lambda x: [x - k for k in range(n)]
        return jax.lax.cond(x[0] > 0, *ways, x)

    code, x = function(f, np.ones(8)), np.linspace(-1.0, 2.0, 8)
    for given in (x, -x):
        np.testing.assert_array_equal(code(given), jax.jit(f)(given))


@pytest.mark.slow
def test_both_modes_of_a_trajectory_are_native():
    def end(length, mode):
        run = zw.trajectory(
            pendulum(),
            jnp.array([1.0, 0.0]),
            jnp.zeros(2),
            np.linspace(0.0, 1.0, 5),
            params={"length": length},
            gradient=mode,
        )
        return run.q[-1, 1] * run.v[-1, 0]

    made = [
        zw.program(lambda x: jax.grad(end)(x, "reverse")),
        zw.program(lambda x: jax.jacfwd(end)(x, "forward")),
    ]
    (reverse, first), (forward, second) = (vars(f)["answer"]((1.0,), {}) for f in made)
    assert first == second == NATIVE
    assert reverse == pytest.approx(forward, rel=1e-9)
