"""The sparse path gives the results of the dense path."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK
from zwang import gallery
from zwang.dynamics.motion import motion_of
from zwang.dynamics.sparse_structure import sparsity_of

from .models import bars

METHODS = (zw.methods.Sparse(), zw.methods.Proximal())
SMALL = 1e-10
"""Both factor the same matrix, of condition 1e4 at most, in another order; where rows repeat, μ =
1e-10 leaves 1e-12.
"""


def both(model, q, v):
    """Motion by both paths."""
    answers = []
    for method in METHODS:
        dynamics = model.dynamics(pseudoinverse=method)
        answers.append(
            jax.jit(lambda s, d=dynamics: _shown(motion_of(d, s)), compiler_options=QUICK)(
                model.state(q, v)
            )
        )
    return answers


def _shown(m):
    return {
        "v̇": m.acceleration,
        "Q": m.ideal_force,
        "λ": m.multipliers,
        "b": m.rhs,
        "rank": m.rank,
        "residual": m.residual,
    }


def assert_equal(sparse, dense):
    assert sparse.keys() == dense.keys()
    assert sparse["rank"] == dense["rank"]
    assert sparse["residual"] < 1e-9 and dense["residual"] < 1e-9
    for name in ("v̇", "Q", "λ", "b"):
        scale = np.max(np.abs(dense[name]))
        np.testing.assert_allclose(
            sparse[name] / scale, dense[name] / scale, rtol=0, atol=SMALL, err_msg=name
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "N"),
    [
        ("ladder", 12),
        pytest.param("redundant", 12, marks=pytest.mark.slow),
        *(
            pytest.param(name, 40, marks=pytest.mark.slow)
            for name in ("chain", "tree", "ladder", "redundant")
        ),
    ],
)
def test_sparse_equals_dense(name, N):
    model, q, v = bars(name, N)
    if name == "ladder":
        v = 0 * v  # loops that do not close ask contradictory things of moving bars
    assert_equal(*both(model, q, v))


@pytest.mark.slow
def test_rows_that_touch_no_other_row():
    """Each is eliminated by itself; nothing is left to the dense rest."""
    N = 40
    rods = zw.Holonomic(lambda q, t, p: jnp.sum(q.reshape(N, 2) ** 2, axis=1) - 1.0, name="rods")
    system = zw.System(
        2 * N,
        lambda q, t, p: jnp.ones(2 * N),
        lambda q, v, t, p: jnp.tile(jnp.array([0.0, -9.81]), N),
    )
    angle = np.random.default_rng(2).uniform(0, 6, N)
    q = np.stack([np.cos(angle), np.sin(angle)], axis=1).ravel()
    model = zw.Model(system, [rods])
    assert sparsity_of(model).structure.plan.elimination.rest == 0
    assert_equal(*both(model, q, 0 * q))


@pytest.mark.slow
def test_sparse_equals_dense_at_a_singular_configuration():
    """All bars of twenty four-bar loops collinear: 122 rows of rank 102."""
    example = gallery.load("n-four-bar", N=20)
    q = example.q0.reshape(-1, 3).copy()
    q[:21] = np.stack([np.arange(21.0) + 0.5, np.zeros(21), np.zeros(21)], axis=1)
    q[21:] = np.stack([np.arange(20.0) + 1.5, np.zeros(20), np.zeros(20)], axis=1)
    sparse, dense = both(example.model, q.ravel(), 0 * q.ravel())
    assert dense["rank"] == 102
    assert_equal(sparse, dense)


@pytest.mark.slow
def test_sparse_equals_dense_for_a_hierarchy_of_modules():
    """Twelve loops of crank and coupler, each a module of modules, with a diagonal mass matrix."""
    example = gallery.load("four-bars", N=12)
    assert_equal(*both(example.model, example.q0, example.v0))


@pytest.mark.slow
def test_sparse_equals_dense_for_rigid_bodies_in_space():
    """Blocks of six in the mass matrix, joints of three rows."""
    from zwang.bodies import Body, RigidBodies

    bodies = RigidBodies([Body(f"link {i}", 1.0, np.array([0.1, 0.2, 0.3])) for i in range(24)])
    up, down = np.array([0.0, 0.0, 0.5]), np.array([0.0, 0.0, -0.5])

    def balls(q, t, p):
        ends = bodies.point(q, slice(None), up), bodies.point(q, slice(None), down)
        return (ends[0] - jnp.concatenate([jnp.zeros((1, 3)), ends[1][:-1]])).ravel()

    model = zw.Model(bodies.system, [zw.Holonomic(balls, name="balls")], bodies.params)
    random = np.random.default_rng(3)
    q = random.standard_normal((24, 7))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    assert_equal(*both(model, q.ravel(), random.standard_normal(144)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain", "redundant"])
def test_derivatives_of_sparse_and_dense_agree_in_both_modes(name):
    model, q, v = bars(name)
    along = jnp.asarray(np.random.default_rng(7).standard_normal(len(q)))

    def seen(mass, q, method):
        m = motion_of(model.dynamics({"mass": mass}, method), model.state(q, v))
        return jnp.sum(m.acceleration**2) + 1e-3 * jnp.sum(m.multipliers**2)

    gradients = []
    for method in METHODS:
        f = functools.partial(seen, method=method)
        reverse = jax.jit(jax.grad(f, argnums=(0, 1)), compiler_options=QUICK)(
            jnp.asarray(1.3), jnp.asarray(q)
        )
        forward = jax.jit(
            lambda x, f=f: jax.jvp(lambda q: f(1.3, q), (x,), (along,))[1], compiler_options=QUICK
        )(jnp.asarray(q))
        np.testing.assert_allclose(
            reverse[1] @ along, forward, rtol=1e-7
        )  # round-off over μ where rows repeat
        gradients.append(reverse)
    (m1, q1), (m2, q2) = gradients
    np.testing.assert_allclose(q1, q2, atol=1e-7 * np.max(np.abs(q2)))
    np.testing.assert_allclose(m1, m2, rtol=1e-6)
