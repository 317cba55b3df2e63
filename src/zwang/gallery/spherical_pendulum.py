"""A rod on a ball joint, which swings in all directions, as a rigid body with a unit quaternion.

    p + R(q) (0, 0, l) = 0,  p the center of mass, l its distance from the joint
    I = J₁ + m l²,  k = m g l/I;  exact without spin about the rod, u = z/l:
        u̇² = 2 (e − k u)(1 − u²) − h²,   u = u₁ + (u₂ − u₁) sn²,   azimuth rate h/(1 − u²)

Source: Whittaker (1937), Analytical Dynamics, section 55. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, RigidBodies
from zwang.bodies.rotation import from_axis_angle
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.gallery.drawing import curve
from zwang.gallery.elliptic import first_kind, jacobi
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import array_namespace, bars_scene

ENTRY = Entry(
    "spherical-pendulum",
    "a rod on a ball joint, with a unit quaternion",
    10.0,
    {
        "length": Setting(1.0, "distance from the joint to the center of mass", "m"),
        "mass": Setting(1.0, "mass", "kg"),
        "inertia": Setting(
            0.1, "moment of inertia across the rod about the center of mass", "kg m²"
        ),
        "axial_inertia": Setting(0.01, "moment of inertia about the rod", "kg m²"),
        "angle": Setting(60.0, "start angle from hanging down", "deg"),
        "speed": Setting(1.5, "start speed of the center of mass, sideways", "m/s"),
        "spin": Setting(0.0, "spin about the rod; 0 for the exact solution", "rad/s"),
        "gravity": GRAVITY,
    },
    "textbook: Whittaker, section 55",
    ("space", "quaternion", "exact"),
)


def build(*, length, mass, inertia, axial_inertia, angle, speed, spin, gravity) -> Example:
    """The model, started `angle` [deg] from hanging down in the plane y = 0, moving along y at
    `speed` [m/s].
    """
    bodies = RigidBodies(
        [Body("rod", mass, (inertia, inertia, axial_inertia))], gravity=(0.0, 0.0, -gravity)
    )
    joint = Holonomic(
        lambda q, t, p: bodies.point(q, "rod", p["length"] * jnp.array([0.0, 0.0, 1.0])),
        name="joint",
    )
    model = Model(
        bodies.system, [joint], {**bodies.params, "length": length}, name="spherical-pendulum"
    )
    start = np.radians(angle)
    u0, h = -np.cos(start), np.sin(start) * speed / length
    k = mass * gravity * length / (inertia + mass * length**2)

    def exact(t):
        u, azimuth = _motion(k, u0, h, (speed / length) ** 2 / 2 + k * u0, np.asarray(t, float))
        around = length * np.sqrt(1 - u**2)
        return {
            "rod.x": around * np.cos(azimuth),
            "rod.y": around * np.sin(azimuth),
            "rod.z": length * u,
        }

    # the body's z axis points from the center of mass to the joint; the attitude is a rotation by
    # −angle about y
    return Example(
        model,
        q0=np.r_[
            length * np.array([np.sin(start), 0.0, u0]),
            np.asarray(from_axis_angle([0.0, 1.0, 0.0], -start)),
        ],
        v0=np.r_[0.0, speed, 0.0, speed / length, 0.0, spin],
        duration=10.0,
        description=f"A rod on a ball joint, started {angle:g}° from hanging down with {speed:g} "
        "m/s sideways.",
        figures={
            "Path from above": curve("rod.x", "rod.y", equal=True),
            "Height": curve("rod.x", "rod.z", equal=True),
        },
        exact=exact if spin == 0 and 0 < abs(h) and k > 0 else None,
        scene=bars_scene(
            lambda q: array_namespace(q).stack([0 * q[:3], q[:3]])[None],
            ("rod",),
            traces=("rod.end",),
        ),
    )


def _motion(k, u0, h, e, t):
    """Height u and azimuth at times t for a start at a turning point u0 of the height."""
    b = 2 * k * u0 - 2 * e
    root = np.sqrt(b**2 - 8 * k * (b * u0 - 2 * k))
    low, high = (-b - root) / (4 * k), (-b + root) / (4 * k)  # the two other roots of the cubic
    u1, u2, u3 = sorted([u0, low, high])
    parameter = (u2 - u1) / (u3 - u1)
    phase = first_kind(np.pi / 2, parameter) if u0 > u1 else 0.0

    def height(time):
        sn, _, _ = jacobi(np.sqrt(k * (u3 - u1) / 2) * time + phase, parameter)
        return u1 + (u2 - u1) * sn**2

    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = np.r_[0.0, t]
    pieces = np.linspace(0.0, 1.0, 33)[:-1]
    width = np.diff(edges)[:, None, None] / 32
    times = (edges[:-1, None] + np.diff(edges)[:, None] * pieces)[..., None] + width * (
        nodes + 1
    ) / 2
    rate = h / (1 - height(times) ** 2)
    return height(t), np.cumsum(np.sum(rate * weights * width / 2, axis=(1, 2)))
