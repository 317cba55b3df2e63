"""Equal balls on a rail that transfer a velocity from one to the next, as in Newton's cradle.

    0 ≤ xᵢ₊₁ − xᵢ − d,    Newton's law with e = 1: neighbors exchange their velocities
    exact:  without their diameters, the balls are free points in a fixed order

The balls collide one after another. If three balls touch at the same time, the impact law
determines the distribution of the impulse, and Moreau's law does not transmit it through the middle
ball.

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
from zwang.gallery.index.entry import Entry, Setting
from zwang.scene import particles_scene

ENTRY = Entry(
    "balls-on-a-rail",
    "equal balls on a rail pass a velocity on from one to the next, between two that move",
    2.0,
    {
        "diameter": Setting(0.1, "diameter", "m"),
        "gap": Setting(0.03, "distance between balls at the start", "m"),
        "first": Setting(1.0, "velocity of the first ball", "m/s"),
        "last": Setting(-0.4, "velocity of the last ball", "m/s"),
    },
    "textbook",
    ("line", "contact", "exact"),
)
BALLS = 5


def build(*, diameter, gap, first, last) -> Example:
    """The model, with all balls at rest except the first and the last."""
    names = [f"x{i + 1}" for i in range(BALLS)]
    system = System(
        BALLS,
        mass_matrix=lambda q, t, p: jnp.ones(BALLS),
        force=lambda q, v, t, p: jnp.zeros(BALLS),
        coordinates=names,
        units=["m"] * BALLS,
    )
    apart = Inequality(
        lambda q, t, p: jnp.diff(q) - p["diameter"],
        name="apart",
        restitution=1.0,
        parts=[f"gap {i + 1}" for i in range(BALLS - 1)],
        unit="m",
    )
    q0 = (diameter + gap) * np.arange(BALLS)
    v0 = np.array([first, *(0.0,) * (BALLS - 2), last])

    def exact(t):
        order = diameter * np.arange(BALLS)[:, None]
        free = np.sort(q0[:, None] - order + v0[:, None] * t, axis=0) + order
        return dict(zip(names, free, strict=True))

    return Example(
        Model(system, [apart], {"diameter": diameter}, name="balls-on-a-rail"),
        q0=q0,
        v0=v0,
        duration=2.0,
        description=f"The first of {BALLS} balls moves at {first:g} m/s, the last at {last:g} m/s.",
        figures={"First and last": curve("x1", f"x{BALLS}")},
        exact=exact,
        scene=particles_scene(lambda q: q[:, None] * np.array([1.0, 0.0]), tuple(names)),
    )
