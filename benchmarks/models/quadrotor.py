"""A quadrotor in space that follows a circle: thrust and three torques track place and heading
through two integrators before the thrust (dynamic extension)."""

import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang.bodies import Body, RigidBodies

MASS, GRAVITY, SPEED = 1.2, 9.81, 1.0

body = RigidBodies([Body("frame", MASS, (0.012, 0.012, 0.02))], gravity=(0, 0, -GRAVITY))


def rotors(q, t, p):
    """Thrust along the body's third axis, torques about its axes; shape (6, 4)."""
    up = body.direction(q, 0, (0.0, 0.0, 1.0))
    force = jnp.concatenate([up, jnp.zeros(3)])[:, None]
    return jnp.concatenate([force, jnp.concatenate([jnp.zeros((3, 3)), jnp.eye(3)])], axis=1)


def place(i, wanted):
    return zw.Holonomic(lambda q, t, p: q[i] - wanted(t), name="xyz"[i], unit="m")


def heading(q, t, p):
    forward = body.direction(q, 0, (1.0, 0.0, 0.0))
    return jnp.arctan2(forward[1], forward[0])


path = [
    place(0, lambda t: 1 - jnp.cos(SPEED * t)),
    place(1, lambda t: jnp.sin(SPEED * t)),
    place(2, lambda t: 0.2 * t),
    zw.Holonomic(heading, name="heading", unit="rad"),
]
servo = zw.Servo(
    path,
    rotors,
    actuators=["thrust", "roll", "pitch", "yaw"],
    actuator_units=["N", "N m", "N m", "N m"],
    gains=3.0,
)
hovering = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.zeros(6)
found = zw.servo.dynamic_extension(
    zw.Model(body.system, [], body.params, name="quadrotor"), servo, *hovering
)
model, q0, v0 = found.model, found.q, found.v
duration = 6.0
