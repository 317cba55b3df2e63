"""A woodpecker toy moves down a pole: its sleeve jams and slips, and its beak hits the pole.

    three gaps (the beak, the upper and the lower edge of the sleeve), each with dry friction
    constant M, spring moment K (φ_M − φ_S), small angles: linear between two events

The motion is periodic: from jam to jam the angles repeat, some millimetres further down.

Source: Glocker (1995), Dynamik von Starrkörpersystemen mit Reibung und Stößen, VDI-Verlag, 162 ff.,
    with the data of the examples of Siconos.
Units: m, kg, s; y upwards along the pole.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import DryFriction, Inequality
from zwang.equations.system import System
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import array_namespace, bars_scene

ENTRY = Entry(
    "woodpecker",
    "a toy runs down a pole, as its sleeve jams and its beak hits the pole in turn",
    0.6,
    {
        "mu": Setting(0.3, "coefficient of friction"),
        "beak": Setting(0.5, "part of its speed that the beak keeps"),
        "stiffness": Setting(0.0056, "of the spring between sleeve and bird", "N m/rad"),
        "gravity": GRAVITY,
    },
    "Glocker 1995",
    ("plane", "contact", "friction"),
)
SLEEVE, BIRD = 3e-4, 4.5e-3
"""Masses of sleeve and bird [kg]."""
TURNED_SLEEVE, TURNED_BIRD = 5e-9, 7e-7
"""Moments of inertia of sleeve and bird about their centers [kg m²]."""
POLE, HOLE, EDGE = 2.5e-3, 3.1e-3, 5.8e-3
"""Radii of the pole and of the hole of the sleeve, and half of its height [m]."""
SPRING, CENTER = 1.0e-2, 1.5e-2
"""Distances from the sleeve to the spring, and from the spring to the bird's center [m]."""
UP, BACK = 2.0e-2, 2.01e-2
"""Position of the beak relative to the bird's center: above it, and toward the pole [m]."""


def build(*, mu, beak, stiffness, gravity) -> Example:
    """The model just after the sleeve has jammed, with its lower edge on the pole."""
    way = np.array([1.0, SPRING, CENTER])
    M = BIRD * np.outer(way, way) + np.diag([SLEEVE, TURNED_SLEEVE, TURNED_BIRD])
    # gaps and sliding velocities of the beak, and of the lower and the upper edge of the sleeve
    open_by = np.array([SPRING + CENTER - BACK - POLE, HOLE - POLE, HOLE - POLE])
    closing = np.array([[0.0, 0.0, -UP], [0.0, EDGE, 0.0], [0.0, -EDGE, 0.0]])
    sliding = np.array([[1.0, SPRING, CENTER - BACK], [1.0, HOLE, 0.0], [1.0, HOLE, 0.0]])
    names = "beak", "lower edge", "upper edge"

    def force(q, v, t, p):
        turn = p["stiffness"] * (q[1] - q[2])
        return (
            jnp.stack([0.0 * turn, -turn, turn])
            - BIRD * p["gravity"] * way
            - jnp.array([SLEEVE * p["gravity"], 0.0, 0.0])
        )

    constraints = []
    for i, name in enumerate(names):
        gap = lambda q, t, p, i=i: open_by[i] + closing[i] @ q
        slip = lambda q, v, t, p, i=i: sliding[i] @ v
        e = "beak" if i == 0 else 0.0
        constraints += [
            Inequality(gap, name=name, restitution=e, unit="m"),
            DryFriction(slip, load=name, static="mu", name=f"{name} grip", unit="m/s"),
        ]

    def parts(q):
        xp = array_namespace(q)
        axes = lambda c, s: xp.stack([xp.stack([c, -s]), xp.stack([s, c])])
        sleeve, bird = (axes(xp.cos(a), xp.sin(a)) for a in (q[1], q[2]))
        at = xp.stack([0 * q[0], q[0]])
        edges = np.array([[HOLE, -EDGE], [HOLE, EDGE], [-HOLE, -EDGE], [-HOLE, EDGE]])
        e = at + edges @ sleeve.T
        hinge = at + sleeve @ np.array([SPRING, 0.0])
        center = hinge + bird @ np.array([CENTER, 0.0])
        tip = center + bird @ np.array([-BACK, UP])
        ends = e[0], e[1], e[2], e[3], at, hinge, hinge, center, center, tip
        return xp.stack(ends).reshape(5, 2, 2)

    energy = lambda q, t, p: (
        p["stiffness"] * (q[1] - q[2]) ** 2 / 2 + p["gravity"] * (BIRD * way @ q + SLEEVE * q[0])
    )
    system = System(
        3,
        mass_matrix=lambda q, t, p: jnp.asarray(M),
        force=force,
        potential=energy,
        coordinates=["y", "sleeve", "bird"],
        units=["m", "rad", "rad"],
    )
    return Example(
        Model(
            system,
            constraints,
            {"stiffness": stiffness, "gravity": gravity, "mu": mu, "beak": beak},
            name="woodpecker",
        ),
        q0=np.array([0.0, -(HOLE - POLE) / EDGE, -0.2788]),
        v0=np.array([-0.3411, 0.0, -7.4583]),
        duration=0.6,
        description="A woodpecker runs down a pole of 5 mm.",
        figures={"Sleeve": curve("bird", "sleeve"), "Bird": curve("bird", "d/dt bird")},
        scene=bars_scene(parts, ("sleeve, right", "sleeve, left", "arm", "bird", "beak")),
    )
