"""A tram on a circular track that moves from rest to rest with a prescribed jerk: constraints of
third order.

    track       x² + y² = R², differentiated three times
    programme   s⃛ = τ·r⃛ + ṡ³/R² = j cos ωt,  ω = 2π/T, a constraint on third derivatives
    free        M r⃛ = 0: the least jerk that satisfies the constraints

Exact motion: s = D (ωt − sin ωt) / 2π, with j = D ω²/T. Source: textbook (cycloidal programme).
Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.higher_order import HigherOrder, Relation
from zwang.gallery.drawing import curve, one
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.plots import Curve
from zwang.scene import particles_scene

ENTRY = Entry(
    "jerk-track",
    "a tram on a circular track, from rest to rest by a programme of its jerk: third order",
    4.0,
    {
        "radius": Setting(2.0, "radius of the track", "m"),
        "distance": Setting(4.0, "way along the track", "m"),
        "time": Setting(4.0, "time that it takes", "s"),
    },
    "textbook; orders as in Orsino, recursive modular modelling, section 2",
    ("plane", "third order", "exact"),
)


def build(*, radius, distance, time) -> Example:
    """The model, at rest at the right end of the circle."""
    omega = 2 * np.pi / time

    def programme(x, t, p):
        (X, vx, _, jx), (Y, vy, _, jy) = x["x"], x["y"]
        along = lambda a, b: (X * b - Y * a) / p["radius"]
        return (
            along(jx, jy)
            + along(vx, vy) ** 3 / p["radius"] ** 2
            - p["jerk"] * jnp.cos(p["omega"] * t)
        )

    model = HigherOrder(
        {"x": 3, "y": 3},
        mass_matrix=lambda x, t, p: jnp.ones(2),
        force=lambda x, t, p: jnp.zeros(2),
        relations=[
            Relation(
                lambda x, t, p: x["x"][0] ** 2 + x["y"][0] ** 2 - p["radius"] ** 2, name="track"
            ),
            Relation(programme, name="programme"),
        ],
        params={"radius": radius, "jerk": distance * omega**2 / time, "omega": omega},
        units={"x": "m", "y": "m"},
        energy_unit="m²/s⁴",
        name="jerk-track",
    )

    def exact(t):
        angle = distance * (omega * t - np.sin(omega * t)) / (2 * np.pi * radius)
        return {"x": radius * np.cos(angle), "y": radius * np.sin(angle)}

    return Example(
        model,
        q0=np.array([radius, 0.0, 0.0, 0.0]),
        v0=np.zeros(2),
        duration=time,
        description=f"A tram moves {distance:g} m along a circle in {time:g} s, from rest to "
        "rest, by a programme of its jerk.",
        figures={"Path": curve("x", "y", equal=True), "Speed and acceleration": _picture},
        exact=exact,
        scene=particles_scene(lambda q: q[None, np.array([0, 2])], ("tram",)),
    )


def _picture(run):
    """Along the track."""
    t, (x, vx, y, vy, ax, ay) = run.steps.t, run.steps.y.T
    radius = np.hypot(x, y)
    speed, acceleration = (x * vy - y * vx) / radius, (x * ay - y * ax) / radius
    return one(
        [Curve(t, speed, "speed"), Curve(t, acceleration, "acceleration")],
        "time [s]",
        "along the track [m/s], [m/s²]",
    )
