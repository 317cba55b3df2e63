"""A⊕ of dense and of sparse rows are equal, and agree with NumPy's pseudoinverse."""

import jax
import jax.numpy as jnp
import numpy as np

from zwang import gallery
from zwang.algebra.pseudoinverse import Proximal
from zwang.dynamics.evaluation import evaluate


def test_the_sparse_home_corrects_as_the_dense_one_does():
    import zwang as zw

    example = gallery.load("n-four-bar")
    s = example.model.state(example.q0, example.v0)
    found = []
    for method in (Proximal(), zw.methods.Sparse()):
        dynamics = example.model.dynamics(pseudoinverse=method)

        @jax.jit
        def corrected(s, dynamics=dynamics):
            gauss = dynamics.gauss_at(s)
            r = gauss.A @ jnp.arange(1.0, example.model.system.nv + 1)
            return r, gauss.correct(r), gauss.log_det()

        r, *answer = (np.asarray(x) for x in corrected(s))
        found.append(answer)
    at = evaluate(example.model.dynamics(), s)
    root = 1 / np.sqrt(np.asarray(at.M))
    C = np.asarray(at.A) * root
    length = np.linalg.norm(C, axis=1)
    exact = root * (np.linalg.pinv(C / length[:, None], rcond=1e-8) @ (r / length))
    assert np.allclose(found[0][0], exact, atol=1e-8)
    for correction, log_det in found[1:]:
        assert np.allclose(correction, found[0][0], atol=1e-8)
        assert abs(log_det - found[0][1]) <= 1e-4
