"""Two bodies in space that turn together about a tilted axis, whatever their control does not know.

    J ω̇ + ω × J ω = τ + springs + load        of each body, in its own axes
    2 vec(p(t)* q) = 0                        attitude q on the prescribed one, p; servo, degree 2
    exact: q = p = exp(t speed · axis), whatever spring and load are

Springs couple the attitudes, and six torques act on the bodies. A controller whose moments of
inertia, springs and loads are wrong keeps |error| ≤ layer/rate by its sliding surface:

    zw.simulate(model, q0, v0, ..., params={"scale_a": 0.9, "load": 0.3},
        loop=zw.Loop(model=member.model))

The problem is of the kind of Koganti and Udwadia (2017), Dynamics and precision control of
uncertain tumbling multibody systems, J. Guidance, Control, and Dynamics 40, doi 10.2514/1.G002212;
bodies and numbers are chosen here. Units: m, kg, s.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, RigidBodies, Shape, rotation
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.gallery.servo.checks import positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.objects.record import replace
from zwang.scene import bodies_scene
from zwang.servo import Servo, SlidingSurface

ENTRY = Entry(
    "tumbling-bodies",
    "two bodies that turn together in space, whatever their control does not know",
    20.0,
    {
        "speed": Setting(0.4, "of the prescribed rotation", "rad/s"),
        "scale_a": Setting(1.0, "factor of the moments of inertia of body a"),
        "scale_b": Setting(1.0, "the same of body b"),
        "spring": Setting(0.5, "stiffness between the attitudes", "N m"),
        "load": Setting(0.0, "amplitude of a torque about every axis, sin t", "N m"),
        "rate": Setting(1.0, "k of the sliding surface", "1/s"),
        "bound": Setting(0.5, "of what the controller does not know", "rad/s²"),
        "layer": Setting(0.02, "of the sliding surface", "rad/s"),
    },
    "Koganti and Udwadia (2017)",
    ("servo", "space", "quaternion", "uncertain", "exact"),
)

NAME = "tumbling-bodies"
AXIS = np.array([0.48, 0.6, 0.64])
BODIES = Body("a", 10.0, (2.0, 3.0, 4.0)), Body("b", 8.0, (1.5, 1.5, 2.0))
APART = 3.0
"""Distance of their centers, which rest [m]."""
TORQUES = tuple(f"torque {axis} of {body.name}" for body in BODIES for axis in "xyz")


def build(*, speed, scale_a, scale_b, spring, load, rate, bound, layer) -> Example:
    """The model, started on the prescribed attitude with its angular velocity."""
    positive(NAME, scale_a=scale_a, scale_b=scale_b, rate=rate, bound=bound, layer=layer)
    bodies = RigidBodies(BODIES, gravity=(0.0, 0.0, 0.0), wrench=_wrench)
    inertia = lambda p: p["inertia"] * jnp.stack([p["scale_a"], p["scale_b"]])[:, None]
    own = bodies.system
    system = replace(
        own,
        mass_matrix=lambda q, t, p: own.mass_matrix(q, t, {**p, "inertia": inertia(p)}),
        force=lambda q, v, t, p: own.force(q, v, t, {**p, "inertia": inertia(p)}),
    )
    prescribed = lambda t: rotation.exponential(t * speed * jnp.asarray(AXIS))
    servo = Servo(
        [Holonomic(_off(prescribed, i), name=f"attitude of {'ab'[i]}") for i in range(2)],
        np.eye(12)[:, [3, 4, 5, 9, 10, 11]],
        actuators=TORQUES,
        actuator_units=["N m"] * 6,
        # moments that are a sixth smaller than assumed increase the effect of the torques by a
        # fifth
        gains=SlidingSurface(rate, bound=bound, layer=layer, mismatch=0.2),
    )
    params = {"scale_a": scale_a, "scale_b": scale_b, "spring": spring, "load": load}
    q0, v0 = np.zeros((2, 7)), np.zeros((2, 6))
    q0[:, 3], q0[1, 0], v0[:, 3:] = 1.0, APART, speed * AXIS

    def exact(t) -> dict[str, np.ndarray]:
        half = 0.5 * speed * np.asarray(t, float)
        turned = np.stack([np.cos(half), *(np.sin(half) * AXIS[:, None])], axis=1)
        rest = np.broadcast_to(q0[:, None, :3], (2, len(half), 3))
        q = np.concatenate([np.concatenate([x, turned], axis=1) for x in rest], axis=1)
        return dict(zip(system.coordinates, q.T, strict=True))

    def errors(run) -> dict[str, np.ndarray]:
        off = zip(exact(run.t).items(), run.q.T, strict=True)
        return {name: q - wanted for (name, wanted), q in off if ".q" in name}

    return Example(
        Model(system, [], {**bodies.params, **params}, servo=servo, name=NAME),
        q0.ravel(),
        v0.ravel(),
        duration=20.0,
        description=f"Two bodies, {APART:g} m apart, turn together at {speed:g} rad/s.",
        exact=exact,
        figures={
            "Error": over_time("error of quaternions [1]", errors),
            "Torques": controls("torque [N m]"),
        },
        scene=bodies_scene(
            {"a": (Shape("box", (1.2, 0.9, 0.5)),), "b": (Shape("box", (0.9, 0.9, 0.6)),)},
            {"corner a": ("a", (0.6, 0.45, 0.25)), "corner b": ("b", (0.45, 0.45, 0.3))},
            traces=("corner a", "corner b"),
        ),
    )


def _off(prescribed: Callable, i: int) -> Callable:
    """Rotation of body i from the prescribed attitude: 2 × the vector part of its quaternion."""
    return lambda q, t, p: (
        2 * rotation.product(rotation.conjugate(prescribed(t)), q[7 * i + 3 : 7 * i + 7])[1:]
    )


def _wrench(q, v, t, p):
    """Torques of the springs, which turn each body towards the other one, and the load."""
    between = rotation.product(rotation.conjugate(q[3:7]), q[10:14])
    twist = p["spring"] * between[1:] * jnp.sign(between[0])
    back = -rotation.rotation_matrix(between).T @ twist
    torques = jnp.stack([twist, back]) + p["load"] * jnp.sin(t)
    return jnp.concatenate([jnp.zeros((2, 3)), torques], axis=1)
