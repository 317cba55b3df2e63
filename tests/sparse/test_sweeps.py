"""Sweeps end when nothing but round-off is left, and not before."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang import gallery
from zwang.sparse.weighted import LEFT_TWICE

from ..pseudoinverse.matrices import QUICK


def test_sweeps_end_at_round_off():
    example = gallery.load("n-four-bar", N=3)
    dynamics = example.model.dynamics(pseudoinverse=zw.Sparse())
    state = example.model.state(example.q0, example.v0)

    def answers(w, settings):
        A = dynamics.matrix(state)
        weighted = dynamics.weighted(dynamics.mass(state, A), A)
        r = A @ w
        sweeps = lambda change: dataclasses.replace(weighted.sweeps, **change).solve(weighted.scale * r)[1]
        return [*(weighted._unweigh(sweeps(change)) for change in settings), weighted.refine(r)]

    w = np.random.default_rng(3).standard_normal(example.model.system.nv)
    settings = [{}, {"count": 2}, {"left": 0.0}, {"count": 1}]
    program = jax.jit(lambda w: answers(w, settings), compiler_options=QUICK)
    usual, two, all_three, one, refined = (np.asarray(x) for x in program(jnp.asarray(w)))
    size = np.linalg.norm(usual)
    assert np.array_equal(usual, two)
    assert not np.array_equal(all_three, two)
    assert np.linalg.norm(usual - all_three) < 1e-14 * size
    assert np.array_equal(refined, one)
    assert 1e-14 * size < np.linalg.norm(refined - all_three) < LEFT_TWICE * size
