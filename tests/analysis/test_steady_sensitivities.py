"""Eigenvalues and gains about steady motions as functions of parameters and of the speed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.analysis.systems import G, rolling_disk, rolling_state
from tests.analysis.test_sensitivities import governor_on_a_rod

pytestmark = pytest.mark.slow


def only_oscillation(modes, values):
    (i,) = [i for i, mode in enumerate(modes) if mode.eigenvalue.imag]
    return values[i]


def test_the_swing_of_a_governor_moves_as_its_closed_form():
    model = governor_on_a_rod()
    modes = zw.analysis.equilibrium(model, [0.0, 1.0], v=[5.0, 0.0]).linearization.modes()

    def exact(length, speed):  # the momentum about the axis is kept, cos θ = g/(l ω²)
        cosine = G / (length * speed**2)
        sine = 1 - cosine**2
        return speed * jnp.sqrt(sine + 4 * sine * cosine**2 / (sine + 0.3))

    def swing(length, speed):
        v = jnp.stack([speed, 0.0])
        return only_oscillation(modes, modes.eigenvalues({"length": length}, v)).imag

    both = jax.jit(jax.value_and_grad(swing, argnums=(0, 1)))
    value, slopes = both(0.7, 5.0)
    np.testing.assert_allclose(value, exact(0.7, 5.0), rtol=1e-12)
    np.testing.assert_allclose(slopes, jax.grad(exact, argnums=(0, 1))(0.7, 5.0), rtol=1e-10)
    # without v the rate of turning stays, too
    kept = lambda x: only_oscillation(modes, modes.eigenvalues({"length": x})).imag
    np.testing.assert_allclose(jax.jit(jax.grad(kept))(0.7), slopes[0], rtol=1e-10)


def test_the_wobble_of_a_disk_moves_as_its_closed_form():
    """ω² = (12/5) v²/r² − (4/5) g/r of a thin disk that rolls upright, its rows stated twice."""
    q, v = rolling_state(2.0)
    disk = rolling_disk(2)
    modes = zw.analysis.linearize(disk, q, v).modes()

    def wobble(speed, gravity):
        params = {**disk.params, "gravity": jnp.stack([0.0, 0.0, -gravity])}
        return only_oscillation(modes, modes.eigenvalues(params, speed / 2.0 * jnp.asarray(v))).imag

    exact = lambda speed, gravity: jnp.sqrt(2.4 * speed**2 / 0.25 - 0.8 * gravity / 0.5)
    value, slopes = jax.jit(jax.value_and_grad(wobble, argnums=(0, 1)))(2.0, G)
    np.testing.assert_allclose(value, exact(2.0, G), rtol=1e-10)
    np.testing.assert_allclose(slopes, jax.grad(exact, argnums=(0, 1))(2.0, G), rtol=1e-8)


def governor_of_points() -> zw.Model:
    """A hub, and a bob on a rod that is stated twice, in the plane that turns with the hub."""

    def force(q, v, t, p):
        return jnp.stack([p["torque"], 0.0, 0.0, -1.3 * G])

    system = zw.System(
        4,
        lambda q, t, p: jnp.stack([p["hub"], 1.3, 1.3, 1.3]),
        force,
        coordinates=("spin", "x", "y", "z"),
    )
    rows = [
        zw.Holonomic(lambda q, t, p: q[1:] @ q[1:] - p["length"] ** 2, name=name)
        for name in ("rod", "rod again")
    ]
    plane = lambda q, t, p: jnp.sin(q[0]) * q[1] - jnp.cos(q[0]) * q[2]
    rows.append(zw.Holonomic(plane, name="plane"))
    return zw.Model(system, rows, {"torque": 0.0, "hub": 0.4, "length": 0.8}, name="governor")


def test_gains_about_a_steady_motion_move_as_differences_do():
    model, at, h = governor_of_points(), {"hub": 0.4, "length": 0.8, "speed": 5.0}, 1e-4

    def regulator(hub, length, speed):
        cosine = G / (speed**2 * length)
        r, angle = length * np.sqrt(1 - cosine**2), 0.7
        x, y = r * np.cos(angle), r * np.sin(angle)
        linear = zw.analysis.linearize(
            model,
            [angle, x, y, -length * cosine],
            [speed, -speed * y, speed * x, 0.0],
            params={"hub": hub, "length": length},
            inputs=["torque"],
        )
        return zw.analysis.lqr(linear, R=0.1)

    found = regulator(**at)
    v = jnp.asarray(found.linearization.v)

    def gains(x):
        moved = dict(zip(at, x, strict=True))
        speed = moved.pop("speed")
        return jnp.stack(found.gains(moved, v * speed / 5.0))

    values, slope = (jax.jit(f)(jnp.array([*at.values()])) for f in (gains, jax.jacfwd(gains)))
    np.testing.assert_allclose(values, [found.K_q, found.K_v], atol=1e-10)
    for i, name in enumerate(at):
        ends = [regulator(**{**at, name: at[name] + s}) for s in (-h, h)]
        low, high = (np.stack([x.K_q, x.K_v]) for x in ends)
        np.testing.assert_allclose(slope[..., i], (high - low) / (2 * h), atol=2e-7)
