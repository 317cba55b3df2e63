"""A table on four legs: its motion is unique, but the forces on its legs are not.

    0 ≤ z + yᵢ φ − xᵢ ψ  of each leg
    exact:  it rests; of all forces that balance it, those of least norm are returned, which weight
            and moments determine

Source: textbook (static indeterminacy). Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Inequality
from zwang.equations.system import System
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import Bar, Mark, Plate, Scene, Seen, array_namespace

ENTRY = Entry(
    "table-on-four-legs",
    "a loaded table rests on four legs, which share its weight by least norm",
    1.0,
    {
        "mass": Setting(4.0, "mass", "kg"),
        "inertia": Setting(0.5, "moment of inertia about both axes", "kg·m²"),
        "half": Setting(1.0, "half the distance of legs", "m"),
        "load_x": Setting(0.3, "moment of a load about the y axis", "N·m"),
        "load_y": Setting(-0.2, "moment of a load about the x axis", "N·m"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("space", "contact", "exact"),
)
NAMES = ("front left", "front right", "back right", "back left")


def build(*, mass, inertia, half, load_x, load_y, gravity) -> Example:
    """The model at rest, with small tilts."""
    legs = half * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
    twice = np.tile(legs, (2, 1))
    loads = lambda p: jnp.stack([-p["mass"] * p["gravity"], p["load_y"], p["load_x"]])
    system = System(
        3,
        mass_matrix=lambda q, t, p: jnp.stack([p["mass"], p["inertia"], p["inertia"]]),
        force=lambda q, v, t, p: loads(p),
        potential=lambda q, t, p: -loads(p) @ q,
        coordinates=["height", "roll", "pitch"],
        units=["m", "rad", "rad"],
    )
    heights = lambda q: q[0] + legs[:, 1] * q[1] - legs[:, 0] * q[2]

    def seen(q):
        xp = array_namespace(q)
        tall = xp.asarray([[0.0] * len(NAMES), [0.8 * half] * len(NAMES)]).reshape(-1, 1)
        heights = q[:, :1] + q[:, 1:2] * twice[:, 1] - q[:, 2:] * twice[:, 0] + tall[:, 0]
        level = xp.asarray(twice) + 0 * heights[..., None]
        return Seen(xp.concatenate([level, heights[..., None]], axis=2))

    feet = Inequality(lambda q, t, p: heights(q), name="leg", parts=NAMES, unit="m")
    params = {"mass": mass, "inertia": inertia, "load_x": load_x, "load_y": load_y}
    return Example(
        Model(system, [feet], {**params, "gravity": gravity}, name="table-on-four-legs"),
        q0=np.zeros(3),
        v0=np.zeros(3),
        duration=1.0,
        description=f"A table of {mass:g} kg stands on four legs under a load beside its center.",
        figures={"Tilt": curve("roll", "pitch")},
        exact=lambda t: dict.fromkeys(system.coordinates, np.zeros_like(t)),
        scene=Scene(
            (*NAMES, *(f"top {x}" for x in NAMES)),
            seen,
            tuple(Bar((x, f"top {x}"), "table") for x in NAMES),
            (Plate(tuple(f"top {x}" for x in NAMES), "table"),),
            tuple(Mark(x, x, "contact", constraints=(x,)) for x in NAMES),
        ),
    )
