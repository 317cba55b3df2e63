"""A block rocks from edge to edge on a rough floor with decreasing amplitude, and comes to rest.

    0 ≤ y of both edges,    plastic impacts, no sliding
    exact:  each impact multiplies the angular velocity by 1 − (3/2) sin²α, tan α = width / height

Source: Housner (1963), Bull. Seismol. Soc. Am. 53, 403-417. Units: m, kg, s.
"""

from __future__ import annotations

import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import DryFriction, Inequality
from zwang.gallery.contact.bodies import body_in_plane, point_of_body, slip_of
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import array_namespace, bars_scene

ENTRY = Entry(
    "rocking-block",
    "a block rocks from edge to edge, and each impact leaves a known part of its rate",
    2.6,
    {
        "width": Setting(0.4, "width", "m"),
        "height": Setting(1.0, "height", "m"),
        "mass": Setting(3.0, "mass", "kg"),
        "tilt": Setting(-0.2, "angle at the start, less than zero", "rad"),
        "mu": Setting(5.0, "coefficient of friction"),
        "gravity": GRAVITY,
    },
    "Housner 1963",
    ("plane", "contact", "friction"),
)


def build(*, width, height, mass, tilt, mu, gravity) -> Example:
    """The model, released from rest on its right edge."""
    b, h = width / 2, height / 2
    constraints = []
    for name, x in (("left", -b), ("right", b)):
        edge = point_of_body(x, -h)
        constraints += [
            Inequality(lambda q, t, p, edge=edge: edge(q)[1], name=name, unit="m"),
            DryFriction(slip_of(edge), load=name, static="mu", name=f"{name} grip", unit="m/s"),
        ]
    corners = np.array([[-b, -h], [b, -h], [b, h], [-b, h]])

    def sides(q):
        xp = array_namespace(q)
        c, s = xp.cos(q[2]), xp.sin(q[2])
        turn = xp.stack([xp.stack([c, s]), xp.stack([-s, c])])
        places = q[:2] + corners @ turn
        return xp.stack([places, xp.roll(places, -1, axis=0)], axis=1)

    c, s = np.cos(tilt), np.sin(tilt)
    return Example(
        Model(
            body_in_plane(np.sqrt((b**2 + h**2) / 3)),
            constraints,
            {"mass": mass, "gravity": gravity, "mu": mu},
            name="rocking-block",
        ),
        q0=np.array([b - b * c - h * s, h * c - b * s, tilt]),
        v0=np.zeros(3),
        duration=2.6,
        description=f"A block of {width:g} m × {height:g} m is let go at {tilt:g} rad.",
        figures={"Phase portrait": curve("angle", "d/dt angle"), "Center": curve("x", "y")},
        scene=bars_scene(sides, ("floor side", "right side", "top", "left side")),
    )
