"""The sparsity pattern of A: it never misses a nonzero entry, and contains no unnecessary ones if
all operations have rules.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang import gallery
from zwang.algebra.sparsity_pattern import dependencies, grouped

INDEX = np.array([2, 0, 1])


def functions():
    """Linear functions of three variables, with the dependencies that a reader sees in them."""
    incidence = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 2.0]])
    return {
        "slices": (lambda w, a: w[1:] - 2 * w[:2], [[1, 1, 0], [0, 1, 1]]),
        "gather": (lambda w, a: w[INDEX], [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
        "gather by index from the end": (
            lambda w, a: w[jnp.array([-1, -3])],
            [[0, 0, 1], [1, 0, 0]],
        ),
        "unknown index": (lambda w, a: w[jnp.argmax(a)][None], [[1, 1, 1]]),
        "update": (lambda w, a: jnp.zeros(3).at[1].set(w[2]), [[0, 0, 0], [0, 0, 1], [0, 0, 0]]),
        "columns": (
            lambda w, a: jnp.ones((2, 3)).at[:, jnp.array([2, 0])].set(w[:2]).ravel(),
            [[0, 1, 0], [0, 0, 0], [1, 0, 0]] * 2,
        ),
        "block": (
            lambda w, a: jnp.zeros((3, 2)).at[1:].set(jnp.stack([w[:2], w[1:]])).ravel(),
            [[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]],
        ),
        "entries": (
            lambda w, a: jnp.zeros((2, 2)).at[INDEX % 2, np.array([0, 1, 0])].set(w).ravel(),
            None,
        ),
        "dropped beyond the end": (
            lambda w, a: jnp.zeros(2).at[jnp.array([1, 5])].set(w[:2], mode="drop"),
            [[0, 0, 0], [1, 0, 0]],
        ),
        "added in place": (
            lambda w, a: jnp.zeros(2).at[0].add(w[2]),
            [[0, 0, 1], [0, 0, 1]],
        ),  # not followed: the second is too full
        "known matrix": (lambda w, a: incidence @ w, [[1, 1, 0], [0, 0, 1]]),
        "matrix filled from arguments": (lambda w, a: jnp.diag(a) @ w, np.eye(3)),
        "unknown matrix": (lambda w, a: jnp.outer(a, a)[:2] @ w, np.ones((2, 3))),
        "masked": (lambda w, a: a * w * np.array([1.0, 0.0, 1.0]), np.diag([1, 0, 1])),
        "selected": (lambda w, a: jnp.where(a > 0, w, w[::-1]), [[1, 0, 1], [0, 1, 0], [1, 0, 1]]),
        "sum, stack, reshape": (
            lambda w, a: jnp.stack([w[:2], w[1:]]).sum(axis=0),
            [[1, 1, 0], [0, 1, 1]],
        ),
        "pad and roll": (
            lambda w, a: jnp.roll(jnp.pad(w, (1, 0)), 1)[:3],
            [[0, 0, 1], [0, 0, 0], [1, 0, 0]],
        ),
        "broadcast": (lambda w, a: jnp.broadcast_to(w[1], (2,)) / a[:2], [[0, 1, 0], [0, 1, 0]]),
        "cumulated": (lambda w, a: jnp.cumsum(w), np.ones((3, 3))),  # not followed: too full
        "compiled": (lambda w, a: jax.jit(lambda x: x[:1])(w), [[1, 0, 0]]),
        "loop": (lambda w, a: jax.lax.fori_loop(0, 3, lambda i, x: x * a, w), np.ones((3, 3))),
        "batched": (lambda w, a: jax.vmap(lambda x, y: x * y)(w, a), np.eye(3)),
        "products": (
            lambda w, a: jnp.einsum("ij,j->i", jnp.stack([a, 0 * a]) * incidence, w),
            [[1, 1, 0], [0, 0, 0]],
        ),
        "constant": (lambda w, a: 0 * a, np.zeros((3, 3))),
    }


@pytest.mark.parametrize("name", functions())
def test_dependencies_are_those_of_the_function(name):
    function, expected = functions()[name]
    expected = jax.jacfwd(function)(np.ones(3), np.ones(3)) != 0 if expected is None else expected
    found = dependencies(function, 3, jax.ShapeDtypeStruct((3,), np.float64))
    np.testing.assert_array_equal(found, np.asarray(expected, bool))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "name",
    [
        "five-bar",
        "rolling-disk",
        "spherical-pendulum",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("3rrr", "scissor-lift", "bicycle", "motor-linkage", "stewart")
        ),
    ],
)
def test_no_entry_is_missed_and_A_is_the_derivative(name):
    example = gallery.load(name)
    dynamics = example.model.dynamics()
    rows, pattern = dynamics.constraints, dynamics.constraints.entries.pattern
    group = rows.entries.group
    assert all(pattern[:, group == k].sum(axis=1).max() <= 1 for k in range(group.max() + 1))
    assert group.max() + 1 < pattern.shape[1]
    s = example.model.state(example.q0, example.v0)
    both = jax.jit(
        lambda q, v: (
            rows.matrix(q, v, s.t, dynamics.p),
            jax.jacfwd(lambda v: rows.velocity_residual(q, v, s.t, dynamics.p))(v),
        ),
        compiler_options={"xla_backend_optimization_level": 0},
    )
    random = np.random.default_rng(1)
    for _ in range(3):
        A, expected = both(s.q + 0.3 * random.normal(size=s.q.shape), random.normal(size=s.v.shape))
        np.testing.assert_allclose(A, expected, rtol=1e-13, atol=1e-13 * np.abs(expected).max())
        assert np.all(pattern[np.abs(expected) > 0])


def test_columns_of_a_long_chain_fall_into_few_groups():
    pattern = np.eye(60, dtype=bool) | np.eye(60, k=1, dtype=bool) | np.eye(60, k=2, dtype=bool)
    assert grouped(pattern).max() + 1 == 3
