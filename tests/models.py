"""Small models for the tests of the core, shared so that each compiles once."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np

import zwang as zw


@functools.cache
def pendulum() -> zw.Model:
    """A point mass on a rod in the plane, with parameters."""
    system = zw.System(
        nq=2,
        mass_matrix=lambda q, t, p: p["m"] * jnp.ones(2),
        force=lambda q, v, t, p: jnp.array([0.0, -p["m"] * 9.81]),
        potential=lambda q, t, p: p["m"] * 9.81 * q[1],
        coordinates=("x", "y"),
        units=("m", "m"),
    )
    rod = zw.Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name="rod")
    return zw.Model(system, [rod], {"m": 1.0, "length": 1.0}, name="pendulum")


def free_particle(n: int = 3, M=None, F=None) -> zw.System:
    """A system with constant M and F."""
    M = jnp.ones(n) if M is None else jnp.asarray(M)
    F = jnp.zeros(n) if F is None else jnp.asarray(F)
    return zw.System(n, lambda q, t, p: M, lambda q, v, t, p: F)


@functools.cache
def every_kind() -> zw.Model:
    """Three particles' worth of coordinates under one constraint of each kind, the mass matrix
    dense and configuration dependent.
    """

    def mass_matrix(q, t, p):
        return jnp.diag(jnp.arange(1.0, 6.0)) + 0.1 * jnp.outer(jnp.sin(q), jnp.sin(q))

    system = zw.System(5, mass_matrix, lambda q, v, t, p: -q - 0.1 * v + jnp.cos(t))
    return zw.Model(
        system,
        [
            zw.AccelerationConstraint(
                lambda q, v, t, p: jnp.array([0.0, 0.0, 1.0, 0.0, q[0]]),
                lambda q, v, t, p: v[0] * jnp.sin(t),
            ),
            zw.Holonomic(
                lambda q, t, p: jnp.stack([q[0] * q[1] - 0.3 * t, jnp.sin(q[2]) + q[0] ** 2]),
                name="moving",
            ),
            zw.Nonholonomic(lambda q, v, t, p: v[3] - q[0] * v[4] + 0.1 * t, name="rolling"),
            zw.Nonholonomic(
                lambda q, v, t, p: v[0] ** 2 + v[1] ** 2 - 2.0 - 0.1 * q[3], name="speed"
            ),
        ],
        name="every kind",
    )


def random_state(model: zw.Model, seed: int = 1):
    random = np.random.default_rng(seed)
    return random.standard_normal(model.system.nq), random.standard_normal(model.system.nv), 0.7
