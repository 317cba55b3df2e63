"""A run of very many samples is looked at by compiled programs, one of few on the host: the same
numbers, and no more memory than they need.
"""

import jax
import numpy as np
import pytest

import zwang as zw
from zwang.simulation.results import host_samples, interpolate, observe


@pytest.fixture(scope="module")
def example():
    return zw.gallery.load("pendulum", angle=80.0)


def test_samples_and_states_between_steps_are_the_same_compiled_and_on_the_host(
    example, monkeypatch
):
    """Round-off of a few operations on numbers of the size of 30."""
    few = example.run(duration=2.0, samples=41)
    between = np.linspace(0.013, 1.987, 30)
    on_host, states = few.observation, few.at(between)
    monkeypatch.setattr(observe, "MOST_ON_HOST", 0)
    monkeypatch.setattr(interpolate, "MOST_ON_HOST", 0)
    many = example.run(duration=2.0, samples=41)
    for a, b in zip(many.at(between), states, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)
    both = (jax.tree_util.tree_leaves(x) for x in (many.observation, on_host))
    for a, b in zip(*both, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_what_was_compiled_between_steps_takes_as_many_instants_as_pay(example, monkeypatch):
    run, between = example.run(duration=2.0, samples=41), np.linspace(0.013, 1.987, 30)
    run.compile_between()
    taken, host = [], interpolate.Interpolant._projected_on_host
    monkeypatch.setattr(
        interpolate.Interpolant,
        "_projected_on_host",
        lambda self, times, *x: taken.append(len(times)) or host(self, times, *x),
    )
    many, few = run.at(between), run.at(between[:3])
    assert taken == [3]
    for a, b in zip(many, few, strict=True):
        np.testing.assert_allclose(a[:3], b, atol=1e-13)


def test_samples_on_the_host_are_evaluated_a_part_at_a_time(example, monkeypatch):
    run = example.run(duration=1.0, samples=21)
    sizes, whole = [], run.observation
    plain = host_samples.observe_on_host
    monkeypatch.setattr(observe, "HOST_BLOCK", 8)
    monkeypatch.setattr(
        host_samples, "observe_on_host", lambda *x: sizes.append(len(x[1])) or plain(*x)
    )
    parts = observe.observe_all(run.flow, run.t, run.q, run.v, run.steps.applied[run.saved])
    assert sizes == [8, 8, 5]
    for a, b in zip(*map(jax.tree_util.tree_leaves, (parts, whole)), strict=True):
        np.testing.assert_array_equal(a, b)
