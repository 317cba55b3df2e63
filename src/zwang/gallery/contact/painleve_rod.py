"""A rod slides on its lower end along a rough floor, up to a friction for which no solution exists
(Painlevé's paradox).

    0 ≤ y − (l/2) sin θ,    f = −μ N sign s
    exact:  N accelerates the end away from the floor only if 1 + 3 cos θ (cos θ − μ sin θ) > 0;
            this holds for all θ up to μ = 4/3, and fails first at tan θ = 2

Source: Painlevé (1895), C. R. Acad. Sci. 121, 112-115. Units: m, kg, s.
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
    "painleve-rod",
    "a rod slides along a rough floor; from a coefficient of 4/3 on rigid bodies have no answer",
    0.3,
    {
        "length": Setting(2.0, "length", "m"),
        "mass": Setting(1.0, "mass", "kg"),
        "mu": Setting(1.2, "coefficient of friction"),
        "slope": Setting(2.0, "tangent of the angle at the start"),
        "speed": Setting(3.0, "speed at the start", "m/s"),
        "gravity": GRAVITY,
    },
    "Painlevé 1895",
    ("plane", "contact", "friction"),
)


def build(*, length, mass, mu, slope, speed, gravity) -> Example:
    """The model, which slides away from the side to which the rod leans."""
    half, angle = length / 2, -np.arctan(slope)
    end = point_of_body(half, 0.0)
    floor = Inequality(lambda q, t, p: end(q)[1], name="floor", unit="m")
    grip = DryFriction(slip_of(end), load="floor", static="mu", name="grip", unit="m/s")

    def ends(q):
        xp = array_namespace(q)
        arm = half * xp.stack([xp.cos(q[2]), xp.sin(q[2])])
        return xp.stack([q[:2] - arm, q[:2] + arm])[None]

    return Example(
        Model(
            body_in_plane(length / np.sqrt(12)),
            [floor, grip],
            {"mass": mass, "gravity": gravity, "mu": mu},
            name="painleve-rod",
        ),
        q0=np.array([0.0, -half * np.sin(angle), angle]),
        v0=np.array([speed, 0.0, 0.0]),
        duration=0.3,
        description=f"A rod of {length:g} m slides at {speed:g} m/s with friction {mu:g}.",
        figures={"Center": curve("x", "y"), "Angle": curve("angle", "d/dt angle")},
        scene=bars_scene(ends, ("rod",)),
    )
