"""A ball that bounces with decreasing height and comes to rest in finite time.

    0 ≤ y,    ẏ⁺ = −e ẏ⁻
    exact:  impacts at √(2h/g) (1 + 2e (1 − eᵏ)/(1 − e)), rest from √(2h/g) (1 + e)/(1 − e) on

Source: textbook; the limit is an accumulation of impacts (Zeno behavior). Units: m, kg, s.
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
    "bouncing-ball",
    "a ball bounces ever lower on a floor and comes to rest in a finite time",
    2.0,
    {
        "height": Setting(1.0, "height of the start", "m"),
        "restitution": Setting(0.5, "part of the speed that an impact leaves"),
        "speed": Setting(0.3, "speed along the floor", "m/s"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("plane", "contact", "exact"),
)
BOUNCES = 60
"""Number of flights in the exact solution; later flights are below round-off."""


def build(*, height, restitution, speed, gravity) -> Example:
    """The model, dropped with a horizontal velocity only."""
    system = System(
        2,
        mass_matrix=lambda q, t, p: jnp.ones(2),
        force=lambda q, v, t, p: p["gravity"] * jnp.array([0.0, -1.0]),
        potential=lambda q, t, p: p["gravity"] * q[1],
        coordinates=["x", "y"],
        units=["m", "m"],
    )
    floor = Inequality(lambda q, t, p: q[1], name="floor", restitution="restitution", unit="m")
    params = {"restitution": restitution, "gravity": gravity}
    fall = np.sqrt(2 * height / gravity)

    def exact(t):
        y = height - gravity * t**2 / 2
        begun, rise = fall, restitution * gravity * fall
        for _ in range(BOUNCES):
            since = t - begun
            y = np.where(since > 0, np.maximum(rise * since - gravity * since**2 / 2, 0.0), y)
            begun, rise = begun + 2 * rise / gravity, restitution * rise
        return {"x": speed * t, "y": np.where(t >= begun, 0.0, y)}

    return Example(
        Model(system, [floor], params, name="bouncing-ball"),
        q0=np.array([0.0, height]),
        v0=np.array([speed, 0.0]),
        duration=2.0,
        description=f"A ball falls from {height:g} m and keeps {restitution:g} of its speed at "
        "each impact.",
        figures={"Path": curve("x", "y", equal=True), "Phase portrait": curve("y", "d/dt y")},
        exact=exact,
        scene=particles_scene(lambda q: q[None], ("ball",), along=("floor",)),
    )
