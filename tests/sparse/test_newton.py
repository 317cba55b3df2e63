"""The Newton step of an implicit method on the sparse path is that of the dense path."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.long import stiff_chain

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK
from zwang.dynamics.sparse_structure import sparsity_of
from zwang.dynamics.vector_field import ConstrainedVectorField

RODS, STEP = 30, 1e-2


def newton_step(chain, method, params, r):
    model, q, v = chain
    flow = ConstrainedVectorField(
        model.dynamics(params, method, implicit=True), zw.methods.Projection(), jnp.asarray(1e-15)
    )
    y = jnp.asarray(
        np.concatenate([q, v]) + 0.1 * np.random.default_rng(2).standard_normal(2 * len(q))
    )
    A = flow.dynamics.matrix(flow.state(jnp.zeros(()), y))
    dy = flow.newton(jnp.zeros(()), y, jnp.asarray(STEP))(r)
    return dy, A @ (dy - r)[len(q) :]


@functools.cache
def compiled(method):
    return jax.jit(
        functools.partial(newton_step, stiff_chain(RODS), method), compiler_options=QUICK
    )


def residual(rods=RODS):
    return jnp.asarray(np.random.default_rng(3).standard_normal(6 * rods))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("spin", "accuracy"), [(0.0, 1e-7), (0.1, 2e-3)])
def test_newton_step_of_sparse_equals_dense(spin, accuracy):
    """Round-off over μ without gyroscopic forces; with them, a tenth of the mass over the step, a
    tenth is left by each sweep.
    """
    params = {"stiffness": 1e6, "damping": 1e3, "spin": spin / STEP}
    (sparse, along), (dense, _) = (
        compiled(method)(params, residual())
        for method in (zw.methods.Sparse(), zw.methods.Proximal())
    )
    change = np.abs(dense - residual()).max()
    assert change > 1.0, "the springs must matter"
    assert np.abs(sparse - dense).max() < accuracy * change
    assert np.abs(along).max() < 1e-9 * change, "what the springs change is along the constraints"


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [RODS, pytest.param(3 * RODS // 2, marks=pytest.mark.slow)])
def test_newton_step_with_a_mass_matrix_in_blocks(blocks):
    """Blocks of one body, and blocks of two coordinates that join those of two bodies."""
    model, q, v = stiff_chain(RODS)
    k = 3 * RODS // blocks
    mass = np.tile(np.eye(k) + 0.3 * np.ones((k, k)), (blocks, 1, 1))
    system = dataclasses.replace(model.system, mass_matrix=lambda q, t, p: jnp.asarray(mass))
    chain = (zw.Model(system, model.constraints.members, model.params), q, v)
    params = {"stiffness": 1e6, "damping": 1e3, "spin": 0.0}
    (sparse, along), (dense, _) = (
        jax.jit(functools.partial(newton_step, chain, method), compiler_options=QUICK)(
            params, residual()
        )
        for method in (zw.methods.Sparse(), zw.methods.Proximal())
    )
    change = np.abs(dense - residual()).max()
    assert change > 1.0, "the springs must matter"
    assert np.abs(sparse - dense).max() < 1e-7 * change
    assert np.abs(along).max() < 1e-9 * change


def test_an_indefinite_newton_matrix_is_seen_as_not_finite():
    """Springs that push, over a step that is too long for them: the integrator then rejects the
    step.
    """
    step, _ = compiled(zw.methods.Sparse())(
        {"stiffness": -1e7, "damping": 0.0, "spin": 0.0}, residual()
    )
    assert not np.all(np.isfinite(step))


def test_nothing_of_a_sparse_newton_step_is_velocities_by_velocities():
    rods = 60
    chain = stiff_chain(rods)
    seen = {
        method: str(
            jax.make_jaxpr(functools.partial(newton_step, chain, method, None))(residual(rods))
        )
        for method in (zw.methods.Sparse(), zw.methods.Proximal())
    }
    assert f"f64[{3 * rods},{3 * rods}]" in seen[zw.methods.Proximal()], (
        "the dense path is recognized"
    )
    assert f"[{3 * rods},{3 * rods}]" not in seen[zw.methods.Sparse()]


@pytest.mark.slow
def test_forces_between_all_bodies_leave_the_newton_step_dense():
    n = 160
    system = zw.System(n, lambda q, t, p: jnp.ones(n), lambda q, v, t, p: -(q - jnp.mean(q)))
    model = zw.Model(system, [zw.Holonomic(lambda q, t, p: jnp.diff(q), name="held")])
    assert sparsity_of(model).structure is not None and sparsity_of(model).newton is None


@pytest.mark.slow
def test_a_stiff_run_is_the_same_by_sparse_and_dense_newton_steps():
    model, q, v = stiff_chain(12)
    sparse, dense = (
        zw.simulate(
            model,
            q,
            v,
            duration=0.5,
            samples=2,
            rtol=1e-6,
            integrator=zw.methods.Kvaerno5(),
            pseudoinverse=method,
        )
        for method in (zw.methods.Sparse(), zw.methods.Proximal())
    )
    assert abs(sparse.attrs["steps_accepted"] - dense.attrs["steps_accepted"]) <= 3
    assert np.allclose(sparse.q[-1], dense.q[-1], rtol=0, atol=1e-7)
    assert sparse.attrs["steps_accepted"] < 1000
