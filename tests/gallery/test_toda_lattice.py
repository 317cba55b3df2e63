"""200 masses brought to a given energy by 10 actuators."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.equations.state import State


@pytest.mark.slow
def test_the_energy_goes_where_it_is_asked_and_pushes_are_proportional_to_velocities():
    """H* + (H₀ − H*) exp(−α t), and u = −α (H − H*) v / Σ v² of the pushed masses."""
    member = zw.gallery.load("toda-lattice", masses=200, actuators=10, energy=100.0)
    run = zw.simulate(member.model, member.q0, member.v0, duration=6.0, samples=7, rtol=1e-9)
    H, m = run.dataset["energy"].values, member.model.params["m"]
    r = np.diff(run.q, prepend=0.0, append=0.0, axis=1)
    by_hand = 0.5 * run.v**2 @ m + np.sum(np.expm1(r) - r, axis=1)
    np.testing.assert_allclose(H, by_hand, rtol=1e-12)
    np.testing.assert_allclose(H - 100.0, (H[0] - 100.0) * np.exp(-0.5 * run.t), atol=1e-6)
    B = np.asarray(member.model.servo.actuation(member.q0, 0.0, None))
    v = run.v @ B
    u = -0.5 * ((H - 100.0) / np.sum(v**2, axis=1))[:, None] * v
    np.testing.assert_allclose(run.dataset["control"], u, rtol=1e-6, atol=1e-9)
    assert run.warnings == ()


def operations(masses):
    """Operations of one acceleration with its control, as XLA counts them."""
    member = zw.gallery.load("toda-lattice", masses=masses, actuators=10, energy=100.0)
    dynamics, at = member.model.dynamics(), (jnp.asarray(member.q0), jnp.asarray(member.v0))
    moved = lambda q, v: dynamics.acceleration(dynamics.equation_at(State(q, v, jnp.zeros(()))))
    return jax.jit(moved).lower(*at).compile().cost_analysis()["flops"]


def test_the_cost_is_linear_in_the_number_of_masses():
    counts = [operations(masses) for masses in (100, 200, 400)]
    assert all(1.8 < more / less <= 2.0 for less, more in itertools.pairwise(counts))
