"""Examples of Siconos with pendulums, blocks and rods on joints."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from verification.siconos.impact import Impacting


def rope_pendulum() -> Impacting:
    """A mass inside a circle of 1 m, on it at 60° at the start; y downwards."""
    return Impacting(
        lambda q, t: jnp.eye(2),
        lambda q, v, t: jnp.array([0.0, 9.81]),
        lambda q, t: 1.0 - (q @ q)[None],
        [0.9],
        [np.sin(np.pi / 3), np.cos(np.pi / 3)],
        [0.0, 0.0],
    )


def wall_pendulum() -> Impacting:
    """A pendulum of one angle beside a wall."""
    return Impacting(
        lambda q, t: jnp.eye(1),
        lambda q, v, t: -10.0 * jnp.sin(q),
        lambda q, t: jnp.sin(q),
        [0.9],
        [1.0],
        [0.0],
    )


def double_pendulum() -> Impacting:
    """Two point masses on rods beside a wall; the upper one is thrown back, the lower is not."""

    def mass(q, t):
        c = jnp.cos(q[0] - q[1])
        return jnp.array([[2.0, c], [c, 1.0]])

    def force(q, v, t):
        s = jnp.sin(q[0] - q[1])
        return jnp.array([-s * v[1] ** 2 - 20 * jnp.sin(q[0]), s * v[0] ** 2 - 10 * jnp.sin(q[1])])

    wall = lambda q, t: jnp.array([jnp.sin(q[0]), jnp.sin(q[0]) + jnp.sin(q[1])])
    return Impacting(mass, force, wall, [1.0, 0.0], [0.1, 0.2], [0.0, 0.0])


def slider_pendulum() -> Impacting:
    """A pendulum on a slider between two walls; nothing presses the slider on its guide, so that
    the friction there is zero.
    """

    def mass(q, t):
        c = jnp.cos(q[2])
        return jnp.array([[2.0, 0.0, c], [0.0, 1.0, 0.0], [c, 0.0, 1.0]])

    force = lambda q, v, t: jnp.array(
        [v[2] ** 2 * jnp.sin(q[2]), -9.81 * q[1], -9.81 * jnp.sin(q[2])]
    )
    walls = lambda q, t: jnp.array([0.25 - q[0] - 0.0125, q[0] - 0.0125])
    return Impacting(mass, force, walls, [0.5, 0.5], [0.1, 0.0, 0.1], [2.0, 0.0, 0.0], size=0.1)


def rocking_block() -> Impacting:
    """A block of 1 m by 0.5 m, let go at 60°, whose points of contact are those of a block of 0.2 m
    by 0.1 m, as in the program of the example.
    """
    angle, length, height = np.pi / 3, 0.2, 0.1
    start = [
        0.5 * np.cos(angle) - 0.25 * np.sin(angle),
        0.5 * np.sin(angle) + 0.25 * np.cos(angle),
        angle,
    ]

    def corners(q, t):
        s, c = length / 2 * jnp.sin(q[2]), height / 2 * jnp.cos(q[2])
        return jnp.array([q[1] - s - c, q[1] + s - c])

    inertia = (1.0 + 0.25) / 12
    return Impacting(
        lambda q, t: jnp.diag(jnp.array([1.0, 1.0, inertia])),
        lambda q, v, t: jnp.array([0.0, -9.81, 0.0]),
        corners,
        [0.9, 0.9],
        start,
        [0.0] * 3,
    )


def flight(place: Sequence[float], velocity: Sequence[float], guided: bool = False) -> Impacting:
    """The center of a body that flies, or falls along a vertical guide; no contact."""
    place = jnp.asarray(place, float)
    return Impacting(
        lambda q, t: jnp.eye(3),
        lambda q, v, t: jnp.array([0.0, 0.0, -9.81]),
        lambda q, t: jnp.zeros(0),
        [],
        place,
        velocity,
        joints=(lambda q, t: (q - place)[:2]) if guided else None,
    )


def rods(spring: bool = False, driven: bool = False) -> Impacting:
    """Three rods of 1 m, hinged to each other and to the world, the last one on a vertical guide
    above a floor; x, z and the angle about y of each.

    Args:
        spring: the center of the first hangs on springs of 10⁴ N/m from the origin, and a spring of
            10³ N·m turns it to 1 rad.
        driven: the first turns at cos(πt/2) rad/s, whatever that needs.
    """
    side = np.sqrt(0.5)
    q0 = np.array(
        [
            [side / 2, -side / 2, np.pi / 4],
            [side / 2, -1.5 * side, -np.pi / 4],
            [0.0, -np.sqrt(2.0) - 0.5, np.pi / 2],
        ]
    )
    end = lambda q, i, way: (
        q[3 * i : 3 * i + 2] + way / 2 * jnp.array([jnp.cos(q[3 * i + 2]), -jnp.sin(q[3 * i + 2])])
    )

    def joints(q, t):
        found = [
            end(q, 0, -1.0),
            end(q, 0, 1.0) - end(q, 1, 1.0),
            end(q, 1, -1.0) - end(q, 2, -1.0),
            jnp.array([q[6], q[8] - np.pi / 2]),
        ]
        if driven:
            found.append(jnp.array([q[2] - np.pi / 4 - jnp.sin(np.pi / 2 * t) / (np.pi / 2)]))
        return jnp.concatenate(found)

    def force(q, v, t):
        weight = jnp.tile(jnp.array([0.0, -9.81, 0.0]), 3)
        if not spring:
            return weight
        # Siconos takes the angle from the quaternion, which is that of a planar turn here
        return weight.at[:3].add(-jnp.array([1e4 * q[0], 1e4 * q[1], 1e3 * (q[2] - 1.0)]))

    return Impacting(
        lambda q, t: jnp.eye(9),
        force,
        lambda q, t: (q[7] + 2.3)[None],
        [0.9],
        q0.ravel(),
        np.zeros(9),
        joints=joints,
    )
