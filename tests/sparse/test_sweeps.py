"""Proximal iterations end when only round-off remains, and not before."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK
from zwang import gallery
from zwang.algebra.elimination.elimination import plan
from zwang.algebra.elimination.matrix import Layout
from zwang.algebra.elimination.pseudoinverse import SparsePseudoinverse
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


@pytest.mark.slow
@pytest.mark.parametrize("repeat", [1, 2])
def test_derivatives_beside_a_singular_configuration_lose_round_off_alone(repeat):
    """x₂ = s/t solves `x₁ = 1, x₁ + t x₂ = 1 + s`, with the multipliers `λ = (1 − s/t², s/t²)`; at
    t = s the derivatives are −1/s of x₂ and ±2/s² of λ, which repeated rows share.
    """
    color, shape = np.array([0, 1]), (2 * repeat, 2)
    row, block = np.repeat(np.arange(2 * repeat), 2), np.tile([0, 1], 2 * repeat)
    made = plan(row, block, color, shape, 1)
    layout = Layout(row, block, color, shape, 1)

    def answers(t, size):
        C = jnp.stack([jnp.array([1.0, 0.0]), jnp.stack([1.0, t])] * repeat)
        r = jnp.stack([1.0, 1.0 + size] * repeat)
        rows = layout.evaluate(lambda w: C @ w)
        inverse = SparsePseudoinverse(made, zw.methods.Proximal(), rows)
        certified = inverse.certified(r, jnp.abs(r))
        x = [inverse.solve(r)[1], inverse.estimate(r)[1], certified.solution[1]]
        return x, [inverse.multipliers(r), certified.multipliers]

    slopes = jax.jit(lambda s: jax.jvp(lambda t: answers(t, s), (s,), (1.0,))[1])
    for size in (1e-2, 1e-3, 3e-4):
        # round-off of C Cᵀ over the square of the smallest singular value, size/√2
        close = 1e-15 / size**2
        x, multipliers = slopes(size)
        np.testing.assert_allclose(-size * np.stack(x), 1.0, atol=close, rtol=0.0)
        exact = [np.tile([2.0, -2.0], repeat) / repeat] * 2
        np.testing.assert_allclose(size**2 * np.stack(multipliers), exact, atol=10 * close)
