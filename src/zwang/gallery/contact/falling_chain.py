"""A vertical chain is released, and its beads fall onto a table, one after another.

    0 ≤ y of the lowest bead,  0 ≤ distances − diameter,  0 ≤ slack of each rope,  e = 0
    exact:  each bead falls freely until it lands on those below, after √(2 (h − i d)/g)

Each landing transmits its impulse, m g t, through all beads on the table. For a chain with many
beads, the table carries on average three times the weight that has landed.

Source: textbook. Units: m, kg, s.
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
from zwang.scene import particles_scene

ENTRY = Entry(
    "falling-chain",
    "a chain of beads falls on a table, one bead after another",
    0.7,
    {
        "height": Setting(0.5, "height of the lowest bead at the start", "m"),
        "rope": Setting(0.25, "distance of beads while the rope between them is taut", "m"),
        "diameter": Setting(0.02, "diameter of a bead", "m"),
        "mass": Setting(0.1, "mass of a bead", "kg"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("line", "contact", "exact"),
)
BEADS = 6


def build(*, height, rope, diameter, mass, gravity) -> Example:
    """The model, at rest with all ropes taut."""
    names = [f"y{i + 1}" for i in range(BEADS)]
    system = System(
        BEADS,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.ones(BEADS),
        force=lambda q, v, t, p: -p["mass"] * p["gravity"] * jnp.ones(BEADS),
        potential=lambda q, t, p: p["mass"] * p["gravity"] * jnp.sum(q),
        coordinates=names,
        units=["m"] * BEADS,
    )
    pairs = [f"{i + 1} and {i + 2}" for i in range(BEADS - 1)]
    constraints = [
        Inequality(lambda q, t, p: q[0], name="table", unit="m"),
        Inequality(
            lambda q, t, p: jnp.diff(q) - p["diameter"],
            name="beads",
            parts=[f"beads {pair}" for pair in pairs],
            unit="m",
        ),
        Inequality(
            lambda q, t, p: p["rope"] - jnp.diff(q),
            name="ropes",
            parts=[f"rope {pair}" for pair in pairs],
            unit="m",
        ),
    ]
    q0 = height + rope * np.arange(BEADS)
    lies = diameter * np.arange(BEADS)[:, None]

    def exact(t):
        places = np.maximum(q0[:, None] - gravity * t**2 / 2, lies)
        return dict(zip(names, places, strict=True))

    params = {"mass": mass, "gravity": gravity, "rope": rope, "diameter": diameter}
    return Example(
        Model(system, constraints, params, name="falling-chain"),
        q0=q0,
        v0=np.zeros(BEADS),
        duration=0.7,
        description=f"A chain of {BEADS} beads is let go {height:g} m above a table.",
        figures={"Lowest and highest bead": curve("y1", f"y{BEADS}")},
        exact=exact,
        scene=particles_scene(lambda q: q[:, None] * np.array([0.0, 1.0]), tuple(names)),
    )
