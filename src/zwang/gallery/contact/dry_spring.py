"""A mass on a spring with dry friction: its amplitude decreases in equal steps, until it sticks.

    m ẍ = −k x − F sign ẋ,    |f| ≤ F at rest
    exact:  |x| decreases by 2F/k from turning point to turning point; the mass sticks within F/k

Source: textbook. Units: m, kg, s.
"""

from __future__ import annotations

import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import DryFriction
from zwang.gallery.contact.bodies import mass_on_spring, spring_scene
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting

ENTRY = Entry(
    "dry-spring",
    "a mass on a spring with dry friction loses its amplitude in equal steps, and sticks",
    6.0,
    {
        "mass": Setting(2.0, "mass", "kg"),
        "stiffness": Setting(50.0, "stiffness", "N/m"),
        "friction": Setting(3.0, "force of friction", "N"),
        "start": Setting(1.0, "where it is let go", "m"),
    },
    "textbook",
    ("line", "friction", "exact"),
)


def build(*, mass, stiffness, friction, start) -> Example:
    """The model, released from rest."""
    rubs = DryFriction(
        lambda q, v, t, p: v[0], load="friction", static=1.0, name="friction", unit="m/s"
    )
    params = {"mass": mass, "stiffness": stiffness, "friction": friction}
    omega, off = np.sqrt(stiffness / mass), friction / stiffness

    def exact(t):
        half = np.floor(omega * t / np.pi)
        turns = np.ceil((abs(start) / off - 1) / 2)
        half = np.minimum(half, turns)
        # half swings about ±F/k, from turning point to turning point
        size, sign = abs(start) - 2 * off * half, np.sign(start) * (-1.0) ** half
        swings = sign * off + sign * (size - off) * np.cos(omega * t - np.pi * half)
        return {"x": np.where(half < turns, swings, sign * size)}

    return Example(
        Model(mass_on_spring(), [rubs], params, name="dry-spring"),
        q0=np.array([start]),
        v0=np.zeros(1),
        duration=6.0,
        description=f"A mass on a spring is let go at {start:g} m against {friction:g} N of dry "
        "friction.",
        figures={"Phase portrait": curve("x", "d/dt x")},
        exact=exact,
        scene=spring_scene(-2.0 * abs(start)),
    )
