"""A point mass on a massless rod, in the plane.

    m ẍ = 0,  m ÿ = −m g,    x² + y² = l²

One mass, one constraint, two coordinates: the smallest constrained system. Source: textbook. Units:
m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.gallery.drawing import curve, one
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.swing import swing
from zwang.plots import Curve
from zwang.scene import array_namespace, bars_scene

ENTRY = Entry(
    "pendulum",
    "a point mass on a rod in the plane, in Cartesian coordinates",
    10.0,
    {
        "length": Setting(1.0, "length of the rod", "m"),
        "mass": Setting(1.0, "mass", "kg"),
        "angle": Setting(90.0, "start angle from hanging down, released from rest", "deg"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("plane", "exact"),
)


def build(*, length: float, mass: float, angle: float, gravity: float) -> Example:
    """The model, released from rest at `angle` [deg] from hanging down."""
    system = System(
        2,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.ones(2),
        force=lambda q, v, t, p: p["mass"] * p["gravity"] * jnp.array([0.0, -1.0]),
        potential=lambda q, t, p: p["mass"] * p["gravity"] * q[1],
        coordinates=["x", "y"],
        units=["m", "m"],
    )
    rod = Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name="rod")
    model = Model(
        system, [rod], {"length": length, "mass": mass, "gravity": gravity}, name="pendulum"
    )
    start = np.radians(angle)

    def exact(t):
        alpha = swing(gravity / length, start, 0.0, t)
        return {"x": length * np.sin(alpha), "y": -length * np.cos(alpha)}

    return Example(
        model,
        q0=length * np.array([np.sin(start), -np.cos(start)]),
        v0=np.zeros(2),
        duration=10.0,
        description=f"A point mass on a rod of {length:g} m, released from rest at {angle:g}° "
        "from hanging down.",
        figures={"Path": curve("x", "y", equal=True), "Phase portrait": _phase_portrait},
        exact=exact,
        scene=bars_scene(
            lambda q: array_namespace(q).stack([0 * q, q])[None], ("rod",), traces=("rod.end",)
        ),
    )


def _phase_portrait(run):
    """Angular velocity over the angle from hanging down."""
    (x, y), (vx, vy) = run.q.T, run.v.T
    angle, rate = np.unwrap(np.arctan2(x, -y)), (vy * x - vx * y) / (x**2 + y**2)
    return one([Curve(angle, rate)], "angle from hanging down [rad]", "angular velocity [rad/s]")
