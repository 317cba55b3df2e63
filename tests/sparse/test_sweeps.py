"""Sweeps end when nothing but round-off is left, and not before."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK
from zwang import gallery
from zwang.thresholds import ROUND_OFF


def test_sweeps_end_at_round_off():
    example = gallery.load("n-four-bar", N=3)
    dynamics = example.model.dynamics(pseudoinverse=zw.methods.Sparse())
    state = example.model.state(example.q0, example.v0)

    def answers(w, settings):
        gauss = dynamics.gauss_at(state)
        A = gauss.A
        r = A @ w
        size = gauss.mass.size(w)
        swept = [
            dataclasses.replace(gauss.C.sweeps, **change).solve(gauss.scale * r)[1]
            for change in settings
        ]
        refined = [gauss.refine(r * factor, w) for factor in (1.0, 1e-6)]
        left = [
            jnp.linalg.norm(gauss.scale * (r - gauss.A @ x)) / size
            for x in (gauss.estimate(r), refined[0])
        ]
        return [*(gauss.mass.unweigh(y) for y in swept), gauss.estimate(r), *refined], left

    w = np.random.default_rng(3).standard_normal(example.model.system.nv)
    settings = [{}, {"count": 2}, {"count": 3, "enough": jnp.nan}, {"count": 1}]
    program = jax.jit(lambda w: answers(w, settings), compiler_options=QUICK)
    found, (by_one, refined_left) = program(jnp.asarray(w))
    usual, two, all_three, one, estimate, refined, small = (np.asarray(x) for x in found)
    size = np.linalg.norm(usual)
    assert np.array_equal(usual, two)
    assert not np.array_equal(all_three, two)
    assert np.array_equal(estimate, one)
    assert np.linalg.norm(usual - all_three) < 1e-14 * size
    assert by_one > ROUND_OFF > refined_left
    assert np.array_equal(refined, two)
    # a correction a million times smaller than what it corrects takes one sweep
    assert np.linalg.norm(small - 1e-6 * one) < 1e-21 * size < 1e-6 * np.linalg.norm(one - two)
