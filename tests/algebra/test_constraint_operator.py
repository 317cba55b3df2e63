"""Every home of A⊕ gives the same: dense and sparse in a program, and the host."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang import gallery
from zwang.algebra.kernel import WeightedPseudoinverse
from zwang.algebra.mass_matrix import factor_mass
from zwang.algebra.operator.host import HostMass, HostOperator
from zwang.algebra.pseudoinverse import Proximal
from zwang.dynamics.evaluation import evaluate


def masses(n):
    random = np.random.default_rng(n)
    blocks = random.standard_normal((n // 3, 3, 3))
    blocks = blocks @ blocks.transpose(0, 2, 1) + np.eye(3)
    full = random.standard_normal((n, n))
    return {
        "diagonal": random.uniform(0.5, 2.0, n),
        "blocks": blocks,
        "dense": full @ full.T + np.eye(n),
    }


@pytest.mark.parametrize("m, n", [(5, 9), (12, 12), (40, 48)])
@pytest.mark.parametrize("kind", ["diagonal", "blocks", "dense"])
def test_the_host_corrects_as_a_program_does(m, n, kind):
    random, M = np.random.default_rng(m), masses(n)[kind]
    A = random.standard_normal((m, n))
    A[-1] = A[0] + A[1]  # a redundant row
    r, R = A @ random.standard_normal(n), A @ random.standard_normal((n, 3))
    program = WeightedPseudoinverse(factor_mass(jnp.asarray(M)), jnp.asarray(A), Proximal())
    host = HostOperator(HostMass(M), A, Proximal())
    for mine, theirs in (
        (host.correct(r), program.correct(jnp.asarray(r))),
        (host.columns(R), program.columns(jnp.asarray(R))),
        (host.units(), program.units()),
        (host.scale, program.scale),
        (host.mass.apply(A[0]), program.mass.apply(jnp.asarray(A[0]))),
        (host.mass.solve(A[0]), program.mass.solve(jnp.asarray(A[0]))),
    ):
        size = np.max(np.abs(theirs))
        assert np.max(np.abs(mine - np.asarray(theirs))) <= 1e-8 * size
    assert np.allclose(A @ host.correct(r), r, atol=1e-9 * np.abs(r).max())
    # of a redundant row the damping is left, 1e-10, which float64 knows to 1e-6
    assert abs(host.log_det() - float(program.log_det())) <= 1e-4


def test_a_mass_that_is_not_positive_gives_nan_on_the_host():
    assert np.all(np.isnan(HostMass(np.array([[1.0, 2.0], [2.0, 1.0]])).root))


def test_the_sparse_home_corrects_as_the_dense_one_does():
    import zwang as zw

    example = gallery.load("n-four-bar")
    s = example.model.state(example.q0, example.v0)
    found = []
    for method in (Proximal(), zw.Sparse()):
        dynamics = example.model.dynamics(pseudoinverse=method)

        @jax.jit
        def corrected(s, dynamics=dynamics):
            A = dynamics.matrix(s)
            weighted = dynamics.weighted(dynamics.mass(s, A), A)
            r = A @ jnp.arange(1.0, example.model.system.nv + 1)
            return r, weighted.correct(r), weighted.log_det()

        r, *answer = (np.asarray(x) for x in corrected(s))
        found.append(answer)
    at = evaluate(example.model.dynamics(), s)
    host = HostOperator(HostMass(np.asarray(at.M)), np.asarray(at.A), Proximal())
    found.append((host.correct(r), host.log_det()))
    for correction, log_det in found[1:]:
        assert np.allclose(correction, found[0][0], atol=1e-8)
        assert abs(log_det - found[0][1]) <= 1e-4
