"""A mass on a spring, carried by a moving belt: it sticks and slips alternately.

    s = ẋ − v,    |f| ≤ μ₀ N while it sticks, f = −μ N sign s while it slips
    exact:  with a = (μ₀ − μ) N/k, ω² = k/m it slips for (2/ω)(π − atan(aω/v)) and sticks for 2a/v

Source: textbook (stick-slip). Units: m, kg, s.
"""

from __future__ import annotations

import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import DryFriction
from zwang.gallery.contact.bodies import mass_on_spring, spring_scene
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting

ENTRY = Entry(
    "belt-oscillator",
    "a mass on a spring that a moving belt takes along sticks and slips in turn",
    6.0,
    {
        "mass": Setting(1.0, "mass", "kg"),
        "stiffness": Setting(20.0, "stiffness", "N/m"),
        "static": Setting(0.5, "coefficient of friction while it sticks"),
        "kinetic": Setting(0.3, "coefficient of friction while it slips"),
        "speed": Setting(0.2, "speed of the belt", "m/s"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("line", "friction", "exact"),
)


def build(*, mass, stiffness, static, kinetic, speed, gravity) -> Example:
    """The model, started at the velocity of the belt with a relaxed spring."""
    belt = DryFriction(
        lambda q, v, t, p: v[0] - p["speed"],
        load=lambda p: p["mass"] * p["gravity"],
        static="static",
        kinetic="kinetic",
        name="belt",
        unit="m/s",
    )
    params = {"mass": mass, "stiffness": stiffness, "static": static, "kinetic": kinetic}
    params |= {"speed": speed, "gravity": gravity}
    omega, weight = np.sqrt(stiffness / mass), mass * gravity / stiffness
    wide, slides = (static - kinetic) * weight, kinetic * weight
    slips = 2 / omega * (np.pi - np.arctan2(wide * omega, speed))

    def exact(t):
        begins = static * weight / speed  # the first slip
        since = np.where(t < begins, 0.0, (t - begins) % (slips + 2 * wide / speed))
        slip = slides + wide * np.cos(omega * since) + speed / omega * np.sin(omega * since)
        sticks = slides - wide + speed * (since - slips)
        return {"x": np.where(t < begins, speed * t, np.where(since < slips, slip, sticks))}

    return Example(
        Model(mass_on_spring(), [belt], params, name="belt-oscillator"),
        q0=np.zeros(1),
        v0=np.array([speed]),
        duration=6.0,
        description=f"A belt at {speed:g} m/s takes a mass on a spring along, with friction of "
        f"{static:g} and {kinetic:g}.",
        figures={"Phase portrait": curve("x", "d/dt x")},
        exact=exact,
        scene=spring_scene(-2.0 * slides),
    )
