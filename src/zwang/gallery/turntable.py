"""A ball that rolls on a rotating table without slip.

    contact:  z = R                                                            holonomic
    rolling:  ṗ + ω × (−R e_z) = Ω e_z × p  horizontally                nonholonomic, affine in v
    with J = k m R² and a table that slopes down by β towards +x:

        v̇ = Ω k/(1 + k) e_z × v + g sin β/(1 + k) e_x

The velocity rotates at Ω k/(1 + k), which is 2/7 of the table's rate for a solid ball. On a level
table the ball moves in circles and is never thrown off; on a slope it drifts sideways, not down,
like a charge in crossed electric and magnetic fields. Source: Milne (1948), Vectorial Mechanics;
Weltner (1979), Am. J. Phys. 47, 984-986. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, RigidBodies, Shape
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic, Nonholonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import Mark, bodies_scene

ENTRY = Entry(
    "turntable",
    "a ball rolls on a turning table: in circles, or across the slope of a tilted one",
    20.0,
    {
        "radius": Setting(0.05, "radius of the ball", "m"),
        "mass": Setting(0.5, "mass of the ball", "kg"),
        "inertia": Setting(0.4, "moment of inertia over mass times radius², 2/3 if hollow"),
        "rate": Setting(2.0, "rate at which the table turns, counterclockwise", "rad/s"),
        "slope": Setting(0.0, "slope of the table, falling towards x", "deg"),
        "start": Setting((0.4, 0.0), "start of the center, from the table's axis", "m"),
        "speed": Setting((0.0, 0.3), "start velocity of the center", "m/s"),
        "spin": Setting(0.0, "start rate of turning about the normal of the table", "rad/s"),
        "gravity": GRAVITY,
    },
    "textbook: Milne, Vectorial Mechanics",
    ("space", "quaternion", "nonholonomic", "rheonomic", "exact"),
)


def build(*, radius, mass, inertia, rate, slope, start, speed, spin, gravity) -> Example:
    """The model, which rolls from the start."""
    if rate == 0 or not radius > 0 or not inertia > 0:
        raise ModelError(
            f"turntable got rate = {rate} rad/s, radius = {radius} m and inertia = {inertia}; "
            "expected a rate other than 0, and positive numbers."
        )
    beta = np.radians(slope)
    bodies = RigidBodies(
        [Body("ball", mass, 3 * (inertia * mass * radius**2,))],
        # the axes are fixed to the table plane, so that a slope tilts gravity and the contact stays
        # z = R
        gravity=(gravity * np.sin(beta), 0.0, -gravity * np.cos(beta)),
    )

    def slip(q, v, t, p):
        w = bodies.angular_velocity(q, v, "ball")
        ball = v[:2] + p["radius"] * jnp.stack([-w[1], w[0]])
        return ball - p["rate"] * jnp.stack([-q[1], q[0]])

    model = Model(
        bodies.system,
        [
            Holonomic(lambda q, t, p: q[2] - p["radius"], name="contact"),
            Nonholonomic(slip, name="rolling"),
        ],
        {**bodies.params, "radius": radius, "rate": rate},
        name="turntable",
    )
    (x, y), (vx, vy) = start, speed
    exact = _path(inertia, rate, gravity * np.sin(beta), complex(x, y), complex(vx, vy))
    return Example(
        model,
        q0=np.array([x, y, radius, 1.0, 0.0, 0.0, 0.0]),
        # the spin for rolling at the start
        v0=np.array([vx, vy, 0.0, (rate * x - vy) / radius, (vx + rate * y) / radius, spin], float),
        duration=20.0,
        description=f"A ball rolls on a table that turns at {rate:g} rad/s and slopes by "
        f"{slope:g}°.",
        figures={"Track": curve("ball.x", "ball.y", equal=True)},
        exact=lambda t: {**exact(t), "ball.z": np.full(np.shape(t), radius)},
        scene=bodies_scene(
            {"ball": (Shape("sphere", (radius,)),)},
            {"mark": ("ball", (radius, 0.0, 0.0))},
            traces=("ball",),
            joints=(Mark("contact", "ball", "none", constraints=("contact", "rolling")),),
        ),
    )


def _path(inertia, rate, downhill, start, speed):
    """t → x and y of the center, computed as the complex number x + iy."""
    turning = rate * inertia / (1 + inertia)
    # at the drift velocity, the rotation of the velocity balances the acceleration by the slope
    drift = 1j * downhill / (1 + inertia) / turning

    def exact(t):
        t = np.asarray(t, float)
        circle = (speed - drift) * np.expm1(1j * turning * t) / (1j * turning)
        z = start + drift * t + circle
        return {"ball.x": z.real, "ball.y": z.imag}

    return exact
