"""Common systems of this folder: a mass on a spring, and a rigid body in a vertical plane."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from zwang.equations.system import System
from zwang.scene import Bar, Mark, Scene, Seen, array_namespace


def mass_on_spring() -> System:
    """m ẍ = −k x, with the parameters mass and stiffness."""
    return System(
        1,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.ones(1),
        force=lambda q, v, t, p: -p["stiffness"] * q,
        potential=lambda q, t, p: p["stiffness"] * q[0] ** 2 / 2,
        coordinates=["x"],
        units=["m"],
    )


def spring_scene(wall: float) -> Scene:
    """A mass that slides along x, and its spring from a wall at some x [m]."""

    def seen(q):
        xp = array_namespace(q)
        x = xp.stack([0 * q[:, 0] + wall, q[:, 0]], axis=1)
        return Seen(xp.stack([x, 0 * x], axis=2))

    marks = Mark("wall", "wall", "none", True, ()), Mark("mass", "mass", "block", constraints=())
    return Scene(("wall", "mass"), seen, (Bar(("wall", "mass"), kind="spring"),), joints=marks)


def body_in_plane(gyration: float) -> System:
    """A body with weight, with its center at (x, y) and an angle, and the parameters mass and
    gravity.

    Args:
        gyration: radius of gyration about its center [m].
    """
    return System(
        3,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.array([1.0, 1.0, gyration**2]),
        force=lambda q, v, t, p: p["mass"] * p["gravity"] * jnp.array([0.0, -1.0, 0.0]),
        potential=lambda q, t, p: p["mass"] * p["gravity"] * q[1],
        coordinates=["x", "y", "angle"],
        units=["m", "m", "rad"],
    )


def point_of_body(along: float, across: float) -> Callable:
    """q → the position of a point of the body, given in the body's axes [m]."""

    def place(q):
        axis = jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
        return q[:2] + along * axis + across * jnp.stack([-axis[1], axis[0]])

    return place


def slip_of(place: Callable) -> Callable:
    """The velocity of a point along x, as the sliding velocity of a friction."""
    return lambda q, v, t, p: jax.jvp(lambda q: place(q)[0], (q,), (v,))[1]
