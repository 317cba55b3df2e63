"""A drum winds a rope up and down: the rope becomes taut and lifts a load from the floor with a
jerk, and the load flies freely when the rope is slack.

    0 ≤ y,    0 ≤ y + slack − s(t),    s(t) = stroke (1 − cos ω t),    e = 0
    exact:  taut from s = slack on, free flight from cos ω t = −g/(stroke ω²) on, along a parabola

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
from zwang.scene import Bar, Mark, Scene, Seen, array_namespace

ENTRY = Entry(
    "rope-hoist",
    "a drum plucks a load from the floor by a slack rope, which slackens again as it slows down",
    1.5,
    {
        "stroke": Setting(0.5, "half of the way of the rope", "m"),
        "rate": Setting(6.0, "ω of the drum", "rad/s"),
        "slack": Setting(0.1, "length by which the rope is slack at the start", "m"),
        "mass": Setting(20.0, "mass of the load", "kg"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("line", "contact"),
)


def build(*, stroke, rate, slack, mass, gravity) -> Example:
    """The model, with the load at rest on the floor."""
    system = System(
        1,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.ones(1),
        force=lambda q, v, t, p: -p["mass"] * p["gravity"] * jnp.ones(1),
        potential=lambda q, t, p: p["mass"] * p["gravity"] * q[0],
        coordinates=["y"],
        units=["m"],
    )
    wound = lambda t, p: p["stroke"] * (1 - jnp.cos(p["rate"] * t))
    rope = lambda q, t, p: q[0] + p["slack"] - wound(t, p)
    constraints = [
        Inequality(lambda q, t, p: q[0], name="floor", unit="m"),
        Inequality(rope, name="rope", unit="m"),
    ]
    high = 3 * stroke

    def seen(q):
        xp = array_namespace(q)
        y = xp.stack([0 * q[:, 0] + high, q[:, 0]], axis=1)
        return Seen(xp.stack([0 * y, y], axis=2))

    params = {"stroke": stroke, "rate": rate, "slack": slack, "mass": mass, "gravity": gravity}
    return Example(
        Model(system, constraints, params, name="rope-hoist"),
        q0=np.zeros(1),
        v0=np.zeros(1),
        duration=1.5,
        description=f"A load of {mass:g} kg hangs on a rope that is wound up and down.",
        figures={"Load": curve("y", "d/dt y")},
        scene=Scene(
            ("drum", "load"),
            seen,
            (Bar(("drum", "load"), kind="rod"),),
            joints=(
                Mark("drum", "drum", "pin", True, constraints=("rope",)),
                Mark("load", "load", "block", constraints=("floor",)),
            ),
        ),
    )
