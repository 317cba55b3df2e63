"""Two uniform rods, one hanging from the other, in the plane.

    two pins, 4 rows on 6 coordinates; M = diag(m, m, m l²/12) per rod

Two degrees of freedom; the motion is chaotic at large amplitudes, and no exact solution is known.
Source: textbook. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.gallery.drawing import Linkage, curve, paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import array_namespace

ENTRY = Entry(
    "double-pendulum",
    "two rods in a chain, each with three coordinates",
    10.0,
    {
        "length1": Setting(1.0, "length of the upper rod", "m"),
        "length2": Setting(1.0, "length of the lower rod", "m"),
        "mass1": Setting(1.0, "mass of the upper rod, uniform", "kg"),
        "mass2": Setting(1.0, "mass of the lower rod, uniform", "kg"),
        "angle1": Setting(
            120.0, "start angle of the upper rod from hanging down, released from rest", "deg"
        ),
        "angle2": Setting(90.0, "start angle of the lower rod from hanging down", "deg"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("plane", "chaos"),
)


def build(*, length1, length2, mass1, mass2, angle1, angle2, gravity) -> Example:
    """The model, released from rest at angles [deg] from hanging down."""
    bodies = [
        Body("rod 1", mass1, mass1 * length1**2 / 12),
        Body("rod 2", mass2, mass2 * length2**2 / 12),
    ]
    rods = PlanarBodies(bodies, gravity=(0.0, -gravity))

    def end(q, p, rod, side):
        return rods.point(q, rod, jnp.stack([side * p["length"][rod] / 2, 0.0]))

    pins = [
        Holonomic(lambda q, t, p: end(q, p, 0, -1), name="upper pin"),
        Holonomic(lambda q, t, p: end(q, p, 0, 1) - end(q, p, 1, -1), name="lower pin"),
    ]
    params = {**rods.params, "length": np.array([length1, length2])}
    a, b = np.radians([angle1, angle2]) - np.pi / 2
    middle = length1 * np.array([np.cos(a), np.sin(a)])
    return Example(
        Model(rods.system, pins, params, name="double-pendulum"),
        q0=np.r_[middle / 2, a, middle + length2 / 2 * np.array([np.cos(b), np.sin(b)]), b],
        v0=np.zeros(6),
        duration=10.0,
        description=f"Two rods in a chain, released from rest {angle1:g}° and {angle2:g}° from "
        "hanging down.",
        figures={
            "Tip": paths(lambda q: _joints(q, length1, length2), ["lower pin", "tip"]),
            "Rods": Linkage(lambda q: _ends(q, length1, length2), until=1.0),
            "Angles": curve("rod 1.angle", "rod 2.angle"),
        },
    )


def _joints(q, length1, length2):
    """Lower pin and tip over time, shape (2, 2, samples)."""
    (x1, y1, a), (x2, y2, b), xp = q[:, :3].T, q[:, 3:].T, array_namespace(q)
    return [
        (x1 + length1 / 2 * xp.cos(a), y1 + length1 / 2 * xp.sin(a)),
        (x2 + length2 / 2 * xp.cos(b), y2 + length2 / 2 * xp.sin(b)),
    ]


def _ends(q, length1, length2):
    """Ends of the rods at one instant, shape (2, 2, 2)."""
    xp = array_namespace(q)
    pin, tip = (xp.stack(x)[:, 0] for x in _joints(q[None], length1, length2))
    return xp.stack([xp.stack([0 * pin, pin]), xp.stack([pin, tip])])
