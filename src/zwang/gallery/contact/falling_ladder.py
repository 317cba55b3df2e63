"""A ladder slides down a smooth wall and along a smooth floor, and loses contact with the wall.

    0 ≤ x − (l/2) cos θ,    0 ≤ y − (l/2) sin θ
    exact:  from rest at θ₀ it leaves the wall where sin θ = ⅔ sin θ₀

Source: textbook. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Inequality
from zwang.gallery.contact.bodies import body_in_plane
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import array_namespace, bars_scene

ENTRY = Entry(
    "falling-ladder",
    "a ladder slides down a smooth wall and leaves it at two thirds of its height",
    0.7,
    {
        "length": Setting(2.0, "length", "m"),
        "mass": Setting(3.0, "mass", "kg"),
        "angle": Setting(1.2, "angle to the floor at the start", "rad"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("plane", "contact"),
)


def build(*, length, mass, angle, gravity) -> Example:
    """The model, released from rest."""
    half = length / 2
    wall = Inequality(lambda q, t, p: q[0] - half * jnp.cos(q[2]), name="wall", unit="m")
    floor = Inequality(lambda q, t, p: q[1] - half * jnp.sin(q[2]), name="floor", unit="m")

    def ends(q):
        xp = array_namespace(q)
        arm = half * xp.stack([xp.cos(q[2]), -xp.sin(q[2])])
        return xp.stack([q[:2] - arm, q[:2] + arm])[None]

    return Example(
        Model(
            body_in_plane(length / np.sqrt(12)),
            [wall, floor],
            {"mass": mass, "gravity": gravity},
            name="falling-ladder",
        ),
        q0=np.array([half * np.cos(angle), half * np.sin(angle), angle]),
        v0=np.zeros(3),
        duration=0.7,
        description=f"A ladder of {length:g} m slides from rest at {angle:g} rad.",
        figures={"Center": curve("x", "y", equal=True), "Angle": curve("angle", "d/dt angle")},
        scene=bars_scene(ends, ("ladder",)),
    )
