"""Factorizations whose batches are processed member by member: values and derivatives are those of
JAX's own, and no call of LAPACK in a compiled batch contains more than one matrix.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import zwang as zw
from zwang.algebra import lapack

RANDOM = np.random.default_rng(11)
MEMBERS, N = 4, 6
A = RANDOM.standard_normal((MEMBERS, N, N))
M = jnp.asarray(A @ A.swapaxes(1, 2) + np.eye(N))
B = jnp.asarray(RANDOM.standard_normal((MEMBERS, N, 3)))

symmetric = lambda M: (M + M.T) / 2
CASES = {
    "cholesky": (
        lambda M, b: lapack.cholesky(symmetric(M)) @ b,
        lambda M, b: jnp.linalg.cholesky(M) @ b,
    ),
    "lower": (
        lambda M, b: lapack.solve_triangular(M, b, lower=True),
        lambda M, b: jax.scipy.linalg.solve_triangular(M, b, lower=True),
    ),
    "lower transposed": (
        lambda M, b: lapack.solve_triangular(M, b, lower=True, trans=1),
        lambda M, b: jax.scipy.linalg.solve_triangular(M, b, lower=True, trans=1),
    ),
    "upper": (lapack.solve_triangular, jax.scipy.linalg.solve_triangular),
    "solve": (lapack.solve, jnp.linalg.solve),
    "singular values": (
        lambda M, b: lapack.singular_values(M[:4]) @ b[:4],
        lambda M, b: jnp.linalg.svd(M[:4], compute_uv=False) @ b[:4],
    ),
}


def every_way(f):
    """A function of one matrix and one right-hand side, in every order of vmap and derivatives."""
    number = lambda M, b: jnp.sum(jnp.sin(f(M, b)))
    return lambda M, B: {
        "alone": f(M[0], B[0]),
        "vector": f(M[0], B[0, :, 0]),
        "batch": jax.vmap(f)(M, B),
        "one matrix": jax.vmap(f, (None, 0))(M[0], B),
        "one right-hand side": jax.vmap(f, (0, None))(M, B[0]),
        "batch of batches": jax.vmap(jax.vmap(f, (None, 0)), (0, None))(M, B),
        "vmap of grad": jax.vmap(jax.grad(number, (0, 1)))(M, B),
        "grad of vmap": jax.grad(lambda M, B: jnp.sum(jax.vmap(number)(M, B)), (0, 1))(M, B),
        "vmap of hessian": jax.vmap(jax.hessian(number))(M, B),
    }


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", CASES)
def test_values_and_derivatives_in_batches_are_those_of_jax(case):
    ours, jaxs = (jax.jit(every_way(f))(M, B) for f in CASES[case])
    for way, expected in jaxs.items():
        for x, y in zip(jax.tree.leaves(ours[way]), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10, err_msg=way)


def test_orthogonal_factors_in_batches_are_those_of_each_member():
    C = jnp.asarray(RANDOM.standard_normal((MEMBERS, 4, N)))
    U, sigma, Vt = jax.vmap(lapack.svd)(C)
    np.testing.assert_allclose((U * sigma[:, None]) @ Vt, C, atol=1e-14)
    np.testing.assert_allclose(jax.vmap(lapack.singular_values)(C), sigma, atol=1e-14)
    Q, R = jax.vmap(lapack.qr)(C)
    np.testing.assert_allclose(Q @ R, C, atol=1e-14)
    Q, R, order = jax.vmap(lapack.pivoted_qr)(C)
    for k in range(MEMBERS):
        np.testing.assert_array_equal(order[k], scipy.linalg.qr(C[k], pivoting=True)[2])
        np.testing.assert_allclose(Q[k] @ R[k], C[k][:, order[k]], atol=1e-14)
    np.testing.assert_allclose(jax.vmap(lapack.determinant)(M), np.linalg.det(M), rtol=1e-12)


ROWS = 38
SPREAD = np.cos(np.outer(np.arange(ROWS), np.arange(ROWS))) / ROWS
LARGE = zw.Model(
    zw.System(
        ROWS,
        lambda q, t, p: jnp.eye(ROWS) + (1 + jnp.cos(q[0])) * SPREAD @ SPREAD.T,
        lambda q, v, t, p: -jnp.sin(q),
    ),
    [zw.Holonomic(lambda q, t, p: q[:-1] - q[1:])],
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        zw.methods.Proximal(),
        zw.methods.SVD(),
        zw.methods.CompleteOrthogonal(),
        zw.methods.Householder(),
        zw.methods.Varga(),
    ],
)
def test_a_compiled_batch_of_motions_calls_lapack_for_one_matrix_at_a_time(method):
    """jaxlib 0.10 never returns from several calls for many matrices at once."""
    one = lambda q: zw.motion(LARGE, q, 0 * q, pseudoinverse=method, throw=False).acceleration
    both = lambda q: (jax.vmap(one)(q), jax.vmap(jax.grad(lambda q: jnp.sum(one(q))))(q))
    lowered = jax.jit(both).lower(jnp.zeros((5, ROWS))).as_text()
    calls = re.findall(r"custom_call @lapack_\w+\(.*?: \((.*?)\) ->", lowered)
    assert calls
    ranks = {len(shape.split("x")) - 1 for call in calls for shape in re.findall(r"<(.*?)>", call)}
    assert max(ranks) <= 2
