"""The derivative of C⁺ r is that of a smooth function if the rank is constant, and finite
otherwise.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra.pseudoinverse import Proximal, Pseudoinverse

from .matrices import METHODS, QUICK, name, with_singular_values

every_method = pytest.mark.parametrize("method", METHODS, ids=name)
STEP = 1e-6
ACCURACY = (
    1e-7  # of central differences: STEP² and 1e-16·κ/STEP, at condition 10 and with 100 to spare
)


@functools.cache
def derivatives(method):
    """x = C⁺ r, (C⁺)ᵀ x along (dC, dr), and the gradient of g·x with respect to C and r; `x`
    differentiated both ways.
    """

    def both(C, r):
        P = Pseudoinverse(method, C)
        x = P.solve(r)
        return x, P.solve_transpose(x)

    @functools.partial(jax.jit, compiler_options=QUICK)
    def evaluate(C, r, dC, dr, g):
        value, forward = jax.jvp(both, (C, r), (dC, dr))
        reverse = jax.vjp(both, C, r)[1]((g, jnp.zeros_like(r)))
        return value, forward, reverse

    return evaluate


def check_path(method, C, r, seed):
    """Compare with central differences along a path C(s), r(s) of numpy arrays through s = 0."""
    (dC, dr), g = (
        ((f(1j * 1e-30) / 1e-30).imag for f in (C, r)),
        np.random.default_rng(seed).standard_normal(6),
    )
    at = [np.asarray(f(0.0)) for f in (C, r)]
    (x, y), (dx, dy), (gC, gr) = derivatives(method)(*at, dC, dr, g)
    pinv = [np.linalg.pinv(C(s), rcond=1e-6) for s in (-STEP, STEP)]
    solved = [p @ r(s) for p, s in zip(pinv, (-STEP, STEP), strict=True)]
    turned = [p.T @ z for p, z in zip(pinv, solved, strict=True)]
    for value, difference in ((dx, solved), (dy, turned)):
        expected = (difference[1] - difference[0]) / (2 * STEP)
        np.testing.assert_allclose(
            value, expected, rtol=0, atol=ACCURACY * (1 + np.abs(expected).max())
        )
    # reverse mode is the transpose of forward mode, to round-off
    assert np.sum(gC * dC) + gr @ dr == pytest.approx(g @ np.asarray(dx), rel=1e-9, abs=1e-9)


def straight(C0, C1):
    return lambda s: C0 + s * C1


@pytest.mark.one_in(8)
@every_method
def test_at_full_rank_and_equal_singular_values(method):
    """C has orthonormal rows: a differentiated singular value decomposition would give NaN."""
    random = np.random.default_rng(1)
    C = straight(with_singular_values((4, 6), np.ones(4)), random.standard_normal((4, 6)))
    check_path(method, C, straight(random.standard_normal(4), random.standard_normal(4)), 2)


@every_method
def test_at_a_constant_rank_below_full(method):
    """r stays in the range of C, as consistent constraints do."""
    random = np.random.default_rng(3)
    left = straight(with_singular_values((4, 2), [1, 0.5]), random.standard_normal((4, 2)))
    right = straight(with_singular_values((2, 6), [1, 0.5]), random.standard_normal((2, 6)))
    y = straight(random.standard_normal(6), random.standard_normal(6))
    check_path(method, lambda s: left(s) @ right(s), lambda s: left(s) @ (right(s) @ y(s)), 4)


@pytest.mark.parametrize("method", [m for m in METHODS if not isinstance(m, Proximal)], ids=name)
def test_at_a_constant_rank_with_r_outside_the_range(method):
    """The term of the rule with the residual r − C x, which consistent constraints never need."""
    random = np.random.default_rng(5)
    left = straight(with_singular_values((4, 2), [1, 0.5]), random.standard_normal((4, 2)))
    right = straight(with_singular_values((2, 6), [1, 0.5]), random.standard_normal((2, 6)))
    check_path(
        method,
        lambda s: left(s) @ right(s),
        straight(random.standard_normal(4), random.standard_normal(4)),
        6,
    )


@every_method
@pytest.mark.parametrize("rank", [0, 2, 3])
def test_it_is_finite_where_the_rank_is_lost(method, rank):
    """In a direction that raises the rank C⁺ itself has no limit; its derivative must not turn into
    NaN.
    """
    random = np.random.default_rng(7)
    C = with_singular_values((4, 6), np.ones(rank))
    dC, y = random.standard_normal((4, 6)), random.standard_normal(6)
    answer = derivatives(method)(C, C @ y, dC, dC @ y, random.standard_normal(6))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree_util.tree_leaves(answer))


@pytest.mark.one_in(8)
@every_method
@pytest.mark.parametrize("size", [1e-2, 1e-3, 3e-4])
@pytest.mark.parametrize("repeat", [1, 2])
def test_beside_a_singular_configuration_it_loses_round_off_alone(method, size, repeat):
    """x₂ = s/t solves `x₁ = 1, x₁ + t x₂ = 1 + s`; at t = s its derivative is −1/s."""

    @jax.jit
    def slope(t):
        def second(t):
            C = jnp.stack([jnp.array([1.0, 0.0]), jnp.stack([1.0, t])])
            r = jnp.array([1.0, 1.0 + size])
            again = jnp.concatenate([C] * repeat), jnp.concatenate([r] * repeat)
            return Pseudoinverse(method, again[0]).solve(again[1])[1]

        return jax.jvp(second, (t,), (1.0,))[1]

    # round-off of C Cᵀ over the square of the smallest singular value, size/√2
    assert -size * slope(size) == pytest.approx(1, abs=1e-15 / size**2)


@pytest.mark.slow
def test_second_derivatives_see_that_the_pseudoinverse_depends_on_the_matrix():
    """Along a curve C(s), against central differences of the first derivative: 1e-7 of the
    value.
    """
    from zwang.algebra.pseudoinverse import Proximal, Pseudoinverse

    random = np.random.default_rng(3)
    C, dC, r = (
        random.standard_normal((3, 5)),
        random.standard_normal((3, 5)),
        random.standard_normal(3),
    )

    def x(s):
        return Pseudoinverse(Proximal(), C + s * dC).solve(r)

    first = jax.jacfwd(x)
    numeric = (first(1e-5) - first(-1e-5)) / 2e-5
    assert np.allclose(jax.jacfwd(first)(0.0), numeric, rtol=1e-7, atol=1e-7)
    assert np.allclose(jax.jacfwd(jax.jacrev(x))(0.0), numeric, rtol=1e-7, atol=1e-7)
