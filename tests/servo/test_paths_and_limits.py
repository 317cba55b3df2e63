"""Paths followed by a vector field, quantities within limits, energy as a row, gains by slopes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo import uncertain
from zwang.errors import ModelError


def point(n, force=None, mass=1.0, params=None):
    """A mass in n directions."""
    F = (lambda q, v, t, p: jnp.zeros(n)) if force is None else force
    return zw.Model(
        zw.System(n, lambda q, t, p: mass * jnp.ones(n), F, coordinates=("x", "y", "z")[:n]),
        params=params,
        name="point",
    )


def following(model, task, along, stiffness, gains, speed):
    """A law that runs along the curve of a task."""
    options = {"stiffness": stiffness, "gains": gains, "speed": speed}
    actuation = np.eye(model.system.nv)
    return zw.servo.law("path following", model, actuation, task=task, along=along, **options)


def test_a_circle_is_approached_as_the_field_says_and_run_at_the_speed():
    """φ = φ(0) exp(−k t) of the exact field, and a speed of 0.5 along the circle."""
    model = point(2, lambda q, v, t, p: jnp.stack([-3.0 * q[1], 1.0]))
    circle = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="circle")
    law = following(model, circle, ("x", "y"), stiffness=2.0, gains=20.0, speed=0.5)
    loop = zw.Model(model.system, servo=law)
    q0 = np.array([1.5, 0.0])
    v0 = np.array([-2.0 * 1.25 / 3.0, 0.5])
    run = zw.simulate(loop, q0, v0, duration=3.0, samples=31, rtol=1e-10)
    phi = np.sum(run.q**2, axis=1) - 1.0
    np.testing.assert_allclose(phi, 1.25 * np.exp(-2.0 * run.t), atol=1e-8)
    tangent = np.stack([-run.q[:, 1], run.q[:, 0]], 1) / np.linalg.norm(run.q, axis=1)[:, None]
    np.testing.assert_allclose(np.sum(tangent * run.v, 1), 0.5, atol=1e-8)


def test_a_curve_in_space_is_two_rows():
    model = point(3)
    helix = zw.Holonomic(
        lambda q, t, p: jnp.stack([q[0] - jnp.cos(q[2]), q[1] - jnp.sin(q[2])]), name="helix"
    )
    law = following(model, helix, ("x", "y", "z"), stiffness=3.0, gains=10.0, speed=1.0)
    loop = zw.Model(model.system, servo=law)
    run = zw.simulate(loop, [1.3, 0.0, 0.0], [0.0, 0.0, 0.0], duration=8.0, samples=9, rtol=1e-9)
    end = run.q[-1]
    np.testing.assert_allclose(end[:2], [np.cos(end[2]), np.sin(end[2])], atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(run.v[-1]), 1.0, atol=1e-8)
    with pytest.raises(ModelError, match="has 2 rows and along= names 2 coordinates"):
        following(model, helix, ("x", "y"), stiffness=3.0, gains=1.0, speed=1.0)


def test_beyond_its_bound_it_stays_within_its_limits():
    """A load that moves it past its start does not bring it to the limits."""
    row = zw.servo.within(lambda q, t, p: q, -0.1, 0.1, 0.0)
    assert float(row.phi.reached(np.log(0.12 / 0.08))[1]) == pytest.approx(0.02)
    assert 0.02 < uncertain.limits().outside()[0] < 0.1


def test_agents_on_a_circle_of_edges_keep_their_distances_within_limits():
    """Three edges of three agents; the redundant one changes nothing."""
    model = point(3, lambda q, v, t, p: jnp.stack([jnp.sin(3 * t), 0.5, -jnp.cos(t)]))
    edges = [(0, 1, 1.0), (1, 2, 0.5), (0, 2, 1.5)]
    rows = [
        zw.Holonomic(
            zw.servo.within(lambda q, t, p, i=i, j=j: q[j] - q[i], 0.1, 3.0, d).phi,
            name=f"{i} to {j}",
        )
        for i, j, d in edges
    ]
    led = zw.Servo(rows[:2], np.eye(3), gains=3.0)
    run = zw.simulate(
        zw.Model(model.system, servo=led), [0.0, 2.9, 3.05], np.zeros(3), duration=5.0, samples=61
    )
    for i, j, distance in edges[:2]:
        apart = run.q[:, j] - run.q[:, i]
        assert 0.1 < apart.min() and apart.max() < 3.0
        np.testing.assert_allclose(apart[-1], distance, atol=1e-4)
    at = [0.0, 1.0, 1.5], np.array([0.1, -0.2, 0.3]) * 0.0
    one, two = (
        zw.control(model, zw.Servo(x, np.eye(3), gains=3.0), *at).u for x in (rows[:2], rows)
    )
    np.testing.assert_allclose(one, two, atol=1e-8)


def test_an_energy_beside_other_rows_keeps_it_where_steps_are_coarse():
    """A rod that turns for 100 s at rtol 1e-4: by Baumgarte's term the correction that Braun and
    Goldfarb (2009) embed, by projection to round-off.
    """
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
    of = lambda q, v: 0.5 * np.sum(v**2, axis=-1) + 9.81 * q[..., 1]
    q0, v0 = np.array([0.8, -0.6]), 8.0 * np.array([0.6, 0.8])
    E = float(of(q0, v0))
    energy = zw.Nonholonomic(lambda q, v, t, p: 0.5 * v @ v + 9.81 * q[1] - E, name="energy")
    off = {}
    for name, rows, drift in (
        ("rod", [rod], zw.methods.Projection()),
        ("projected", [rod, energy], zw.methods.Projection()),
        ("embedded", [rod, energy], zw.methods.Baumgarte(20.0, 20.0)),
    ):
        run = zw.simulate(
            zw.Model(system, rows), q0, v0, duration=50.0, rtol=1e-4, samples=51, drift=drift
        )
        off[name] = np.abs(of(run.q, run.v) - E).max()
    assert off["rod"] > 0.05 and off["projected"] < 1e-12 and off["embedded"] < 1e-3


@pytest.mark.slow
def test_the_slope_of_a_cost_of_the_closed_loop_is_that_of_the_closed_form():
    """Of y(0) = 1, ∫ y² + r u² dt is 5/(4 k) + r k³/4 with gains k, least at k⁴ = 5/(3 r); a batch
    of masses that the controller does not know has the mean of their slopes.
    """
    r, times = 1e-2, np.linspace(0.0, 6.0, 301)
    system = zw.System(1, lambda q, t, p: p["m"] * jnp.ones(1), lambda q, v, t, p: jnp.zeros(1))
    simpson = np.array([1.0, *[4.0, 2.0] * 149, 4.0, 1.0]) * times[1] / 3

    def cost(k, m):
        law = zw.servo.Feedback(lambda q, v, t, p: -(k**2) * q - 2 * k * v, [[1.0]])
        model = zw.Model(system, params={"m": 1.0}, servo=law)
        run = zw.trajectory(
            model, [1.0], [0.0], times, rtol=1e-9, params={"m": m}, gradient="reverse"
        )
        y, v = run.q[:, 0], run.v[:, 0]
        return simpson @ (y**2 + r * (k**2 * y + 2 * k * v) ** 2)

    slope = jax.jit(jax.grad(cost))
    best = (5 / (3 * r)) ** 0.25
    for k in (2.0, best):
        np.testing.assert_allclose(slope(k, 1.0), -5 / (4 * k**2) + 0.75 * r * k**2, atol=2e-5)
    masses = jnp.array([0.8, 1.2])
    both = jax.jit(jax.grad(lambda k: jnp.mean(jax.vmap(cost, (None, 0))(k, masses))))
    np.testing.assert_allclose(both(2.0), 0.5 * (slope(2.0, 0.8) + slope(2.0, 1.2)), rtol=1e-7)
