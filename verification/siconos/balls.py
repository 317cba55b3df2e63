"""Examples of Siconos in which balls, beads and followers move along a line."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from verification.siconos.impact import Impacting


def falling(height=1.0, speed=0.0, gravity=9.81, restitution=0.9, floor=0.0, **more) -> Impacting:
    """A ball that falls on a floor."""
    return Impacting(
        lambda q, t: jnp.eye(1),
        lambda q, v, t: jnp.array([-gravity]),
        lambda q, t: q - floor,
        [restitution],
        [height],
        [speed],
        **more,
    )


def slope() -> Impacting:
    """A ball of two coordinates above the plane x + y/10 = 0, without friction."""
    return Impacting(
        lambda q, t: jnp.eye(2),
        lambda q, v, t: jnp.array([-10.0, 0.0]),
        lambda q, t: q[:1] + 0.1 * q[1:],
        [0.9],
        [1.0, 0.0],
        [0.0, 0.0],
    )


def box() -> Impacting:
    """A ball between a floor and a ceiling."""
    return Impacting(
        lambda q, t: jnp.eye(1),
        lambda q, v, t: jnp.array([-10.0]),
        lambda q, t: jnp.concatenate([q, 1.5 - q]),
        [0.8, 0.8],
        [1.0],
        [10.0],
    )


def soft_floor() -> Impacting:
    """A ball of radius 0.1 m between a floor that is a spring of 100 N/m and a hard ceiling, above
    which it starts.
    """
    return Impacting(
        lambda q, t: jnp.eye(1),
        lambda q, v, t: -9.81 + 100.0 * jnp.maximum(0.1 - q, 0.0),
        lambda q, t: 0.7 - q,
        [1.0],
        [1.0],
        [0.0],
    )


def oscillator() -> Impacting:
    """A light mass on springs in two directions, with a floor in one of them."""
    mass, stiffness = 1e-3, 100.0
    return Impacting(
        lambda q, t: mass * jnp.eye(2),
        lambda q, v, t: -stiffness * q - jnp.array([mass * 9.81, 0.0]),
        lambda q, t: q[:1],
        [0.9],
        [1.0, 1e-3],
        [0.0, 0.0],
    )


def stack(heights, masses, radii, restitution, gravity=9.81, size=1.0) -> Impacting:
    """Balls above each other and a floor."""
    m, r = np.asarray(masses, float), np.asarray(radii, float)
    reach = np.r_[r[0], r[:-1] + r[1:]]
    before = lambda q: jnp.concatenate([jnp.zeros(1), q[:-1]])
    return Impacting(
        lambda q, t: jnp.diag(m),
        lambda q, v, t: -gravity * m,
        lambda q, t: q - before(q) - reach,
        np.full(len(m), restitution),
        heights,
        np.zeros(len(m)),
        size=size,
    )


def two_balls() -> Impacting:
    """Balls of 1 and 2 kg, a millimeter apart, whose lower one is a point to the floor."""
    return Impacting(
        lambda q, t: jnp.diag(jnp.array([1.0, 2.0])),
        lambda q, v, t: -9.81 * jnp.array([1.0, 2.0]),
        lambda q, t: jnp.array([q[0], q[1] - q[0] - 0.2]),
        [0.95, 0.95],
        [0.1, 0.301],
        [0.0, 0.0],
    )


def moving_plane(speed=0.0) -> Impacting:
    """A ball above a plane that rises with the velocity 2 + cos(πt/2)."""
    rate = np.pi / 2
    return Impacting(
        lambda q, t: jnp.eye(1),
        lambda q, v, t: jnp.array([-9.81]),
        lambda q, t: q - 2.0 * t - jnp.sin(rate * t) / rate,
        [0.9],
        [1.0],
        [speed],
    )


def follower(height, speed) -> Impacting:
    """The follower of a cam on its spring, above a floor that does not move."""
    return Impacting(
        lambda q, t: 1.221 * jnp.eye(1),
        lambda q, v, t: -1430.8 * q,
        lambda q, t: q,
        [0.8],
        [height],
        [speed],
    )


def bar() -> Impacting:
    """A bar of a hundred linear elements that meets a wall lengthwise."""
    n, modulus, area, length, density = 100, 210e9, 0.000314, 1.0, 7800.0
    part = length / n
    mass = (np.diag(np.full(n, 2 / 3)) + np.diag(np.full(n - 1, 1 / 6), 1)) * density * area * part
    stiffness = (2 * np.eye(n) - np.diag(np.ones(n - 1), 1)) * modulus * area / part
    mass, stiffness = (
        np.triu(mass) + np.triu(mass, 1).T,
        np.triu(stiffness) + np.triu(stiffness, 1).T,
    )
    for matrix in (mass, stiffness):
        matrix[0, 0] /= 2
        matrix[-1, -1] /= 2
    return Impacting(
        lambda q, t: jnp.asarray(mass),
        lambda q, v, t: -stiffness @ q,
        lambda q, t: q[:1],
        [0.0],
        np.full(n, 5e-5),
        np.full(n, -0.1),
        size=5e-5,
    )
