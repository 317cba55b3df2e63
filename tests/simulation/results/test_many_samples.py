"""Samples and states between steps, by native code and one at a time by XLA."""

import jax
import numpy as np
import pytest

import zwang as zw


@pytest.fixture(scope="module")
def example():
    return zw.gallery.load("pendulum", angle=80.0)


@pytest.mark.slow
def test_samples_and_states_between_steps_are_the_same_by_either_engine(example, monkeypatch):
    """Round-off of a few operations on numbers of the size of 30."""
    between = np.linspace(0.013, 1.987, 30)
    one = example.run(duration=2.0, samples=41)
    native, states = one.observation, one.at(between)
    monkeypatch.setenv("ZWANG_ENGINE", "xla")
    other = example.run(duration=2.0, samples=41)
    for a, b in zip(other.at(between), states, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)
    both = (jax.tree_util.tree_leaves(x) for x in (other.observation, native))
    for a, b in zip(*both, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["five-bar", "knife-edge"])
def test_states_between_steps_are_on_the_constraints(name):
    run = zw.gallery.load(name).run(duration=1.0, samples=11, rtol=1e-6)
    times = np.linspace(0.013, 0.987, 17)
    q, v = run.at(times)
    near = run.near(times)[0]
    c, p = run.model.constraints, run.flow.dynamics.p
    for x, w, t in zip(q, v, times, strict=True):
        assert np.max(np.abs(c.position_residual(x, t, p)), initial=0.0) < 1e-14
        assert np.max(np.abs(c.velocity_residual(x, w, t, p)), initial=0.0) < 1e-13
    assert np.max(np.abs(q - near)) < 1e-4
    few = run.at(times[:3])
    for a, b in zip((q, v), few, strict=True):
        np.testing.assert_array_equal(a[:3], b)
