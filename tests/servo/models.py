"""Systems of the servo paper and the review paper, shared by the tests of servo control."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang import Servo


def closed(model: zw.Model, servo: Servo) -> zw.Model:
    """The closed loop of a passive model."""
    return zw.Model(
        model.system, model.constraints.members, model.params, servo=servo, name=model.name
    )


def with_other_numbers(model: zw.Model, q, v, duration: float, params, **options):
    """A run whose parameters are not those that the controller believes."""
    loop = zw.Loop(model=model)
    return zw.simulate(model, q, v, duration=duration, params=params, loop=loop, **options)


@functools.cache
def two_masses() -> zw.Model:
    """Two masses on a line with a spring between them (servo paper, section V)."""

    def force(q, v, t, p):
        tension = p["k"] * (q[1] - q[0] - p["l"])
        return jnp.stack([tension, -tension])

    system = zw.System(
        2,
        lambda q, t, p: jnp.stack([p["m1"], p["m2"]]),
        force,
        coordinates=("x1", "x2"),
        units=("m", "m"),
    )
    return zw.Model(system, params={"m1": 1.0, "m2": 2.0, "k": 10.0, "l": 1.0}, name="two masses")


DISTANCE = zw.Holonomic(lambda q, t, p: q[1] - q[0] - 2 * p["l"], name="distance")
SPEED = zw.Nonholonomic(lambda q, v, t, p: v[0] - 0.3, name="speed")
PUSH_FIRST = np.array([[1.0], [0.0]])


def distance_servo(**options) -> Servo:
    """The first mass is pushed so that x2 − x1 = 2l."""
    return Servo([DISTANCE], PUSH_FIRST, actuators=["F"], **options)


@functools.cache
def robots() -> zw.Model:
    """Two planar robots that carry one object: a chain of five bars hinged to the ground at both
    ends (servo paper, section VI).
    """

    def centers(theta):
        x, y = jnp.cumsum(jnp.cos(theta)), jnp.cumsum(jnp.sin(theta))
        return jnp.stack([x - 0.5 * jnp.cos(theta), y - 0.5 * jnp.sin(theta)])

    def kinetic(q, v, t, p):
        c, s = -jnp.sin(q) * v, jnp.cos(q) * v
        x, y = jnp.cumsum(c) - 0.5 * c, jnp.cumsum(s) - 0.5 * s
        return 0.5 * p["m"] * (x @ x + y @ y) + 0.5 * p["I"] * v @ v

    system = zw.Lagrangian(kinetic, lambda q, t, p: p["m"] * p["g"] * jnp.sum(centers(q)[1]), nq=5)
    hinge = zw.Holonomic(
        lambda q, t, p: jnp.stack([jnp.sum(jnp.cos(q)) - p["L"], jnp.sum(jnp.sin(q))]), name="hinge"
    )
    return zw.Model(
        system, [hinge], {"m": 1.0, "I": 1.0, "g": 9.8, "L": 3.0}, name="coordinated robots"
    )


ROBOTS_B = np.array(
    [
        [1, -1, 0, 0, 0, 0],
        [0, 1, -1, 0, 0, 0],
        [0, 0, 1, 1, 0, 0],
        [0, 0, 0, -1, 1, 0],
        [0, 0, 0, 0, -1, 1],
    ],
    float,
)
"""Actuation matrix, eq. (70)."""


def lifted(q, t, p):
    """Bar 3, the object, is lifted straight up and down without turning, eq. (64)."""
    x = jnp.cos(q[0]) + jnp.cos(q[1]) + 0.5 * jnp.cos(q[2]) - 1.5
    y = jnp.sin(q[0]) + jnp.sin(q[1]) + 0.5 * jnp.sin(q[2]) - 0.5 * (1 - jnp.cos(t))
    return jnp.stack([x, y, q[2]])


OBJECT = zw.Holonomic(lifted, name="object")


def object_servo(**options) -> Servo:
    """Six torques at five bars move the object."""
    return Servo([OBJECT], ROBOTS_B, **options)


@functools.cache
def flexible_arm() -> zw.Model:
    """Two links whose joints are springs; motors turn the other end (review paper, section 8.3).

    q = (link angle from the vertical, relative link angle, motor 1, motor 2).
    """

    def mass_matrix(q, t, p):
        c = jnp.cos(q[1])
        links = jnp.stack(
            [jnp.stack([3.5 + c, 1.25 + 0.5 * c]), jnp.stack([1.25 + 0.5 * c, jnp.asarray(1.25)])]
        )
        return jnp.eye(4).at[:2, :2].set(links)

    def force(q, v, t, p):
        h = 0.5 * jnp.sin(q[1])
        lower = 0.5 * 9.81 * jnp.sin(q[0] + q[1])
        links = jnp.stack(
            [
                h * (2 * v[0] * v[1] + v[1] ** 2) - 1.5 * 9.81 * jnp.sin(q[0]) - lower,
                -h * v[0] ** 2 - lower,
            ]
        )
        spring = p["K"] * (q[:2] - q[2:])
        return jnp.concatenate([links - spring, spring])

    system = zw.System(
        4, mass_matrix, force, coordinates=("link 1", "link 2", "motor 1", "motor 2")
    )
    return zw.Model(system, params={"K": 1.0}, name="flexible arm")


MOTORS = np.array([[0, 0], [0, 0], [1, 0], [0, 1]], float)
"""Actuation matrix of the flexible arm."""
