"""A sphere that is thrown along a floor slides first, and then rolls.

    0 ≤ y,    |f| ≤ μ N,   f against the slip v + r ω
    exact:  rolls from t = 2 v₀/(7 μ g) on with 5/7 of its speed

Source: textbook. Units: m, kg, s.
"""

from __future__ import annotations

import numpy as np

from zwang.bodies.shape import Shape
from zwang.dynamics.model import Model
from zwang.equations.constraint import DryFriction, Inequality
from zwang.gallery.contact.bodies import body_in_plane
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import Mark, Scene, Seen, array_namespace

ENTRY = Entry(
    "thrown-sphere",
    "a sphere thrown along a floor slides, then rolls with five sevenths of its speed",
    1.0,
    {
        "radius": Setting(0.1, "radius", "m"),
        "mass": Setting(2.0, "mass", "kg"),
        "mu": Setting(0.3, "coefficient of friction"),
        "speed": Setting(4.0, "speed at the start", "m/s"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("plane", "contact", "friction", "exact"),
)


def build(*, radius, mass, mu, speed, gravity) -> Example:
    """The model, started without spin."""
    floor = Inequality(lambda q, t, p: q[1] - radius, name="floor", unit="m")
    grip = DryFriction(
        lambda q, v, t, p: v[0] + radius * v[2],
        load="floor",
        static="mu",
        name="grip",
        unit="m/s",
    )

    def seen(q):
        xp = array_namespace(q)
        low = xp.stack([q[:, 0], q[:, 1] - radius], axis=1)
        return Seen(xp.stack([q[:, :2], low], axis=1), poses=q[:, None])

    params = {"mass": mass, "mu": mu, "gravity": gravity}
    rolls = 2 * speed / (7 * mu * gravity)

    def exact(t):
        slid, rolled = np.minimum(t, rolls), np.maximum(t - rolls, 0.0)
        spin = -2.5 * mu * gravity / radius
        return {
            "x": speed * slid - mu * gravity * slid**2 / 2 + 5 / 7 * speed * rolled,
            "y": np.full_like(t, radius),
            "angle": spin * slid**2 / 2 - 5 / 7 * speed / radius * rolled,
        }

    return Example(
        Model(body_in_plane(np.sqrt(0.4) * radius), [floor, grip], params, name="thrown-sphere"),
        q0=np.array([0.0, radius, 0.0]),
        v0=np.array([speed, 0.0, 0.0]),
        duration=1.0,
        description=f"A sphere is thrown with {speed:g} m/s on a floor with friction {mu:g}.",
        figures={"Speed": curve("x", "d/dt x"), "Spin": curve("x", "d/dt angle")},
        exact=exact,
        scene=Scene(
            ("sphere", "lowest point"),
            seen,
            joints=(Mark("floor", "lowest point", "contact", constraints=("floor",)),),
            bodies={"sphere": (Shape("cylinder", (radius, radius)),)},
            traces=("sphere",),
        ),
    )
