"""The parallel linkage of `five-bar` with motors on one, two or all three cranks, which oscillate.

    six pins, 12 rows of rank 11: one degree of freedom             passive, react to the motors
    crank 1:  θ = middle + swing sin ω t                            servo, relative degree 2
    exact:    the cranks at θ(t), the coupler level;
              Σ uᵢ = (3 (J + m l²/4) + m₂ l²) θ̈ + (3 m/2 + m₂) g l cos θ,  l = 1 m

Every torque acts on the same degree of freedom, so only their sum is determined. `choice`
distributes it among the `driven` cranks: `least` evenly, `weighted` in proportion to 1/weights,
`preferred` by adding the same amount to each of the given torques; torques that oppose each other
preload the linkage. The linkage passes the collinear configuration, with an error of 1e-5 rad each
time.
Source: de Falco, Pennestrì and Vita, Figure 1, with motors. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage
from zwang.gallery.example import Example
from zwang.gallery.five_bar import drawn, mechanism, parallel
from zwang.gallery.index.entry import GRAVITY, RATE, Entry, Setting
from zwang.gallery.servo.checks import lengths, not_negative, null_space, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.gallery.servo.tracking import along, decay
from zwang.servo import Servo

ENTRY = Entry(
    "five-bar-driven",
    "the linkage of five-bar with motors on one, two or all three cranks: preload and "
    "shared effort",
    5.0,
    {
        "driven": Setting(3, "number of cranks with a motor: 1, 2 or 3"),
        "choice": Setting(
            "weighted", "which of the torques that work: least, weighted or preferred"
        ),
        "weights": Setting((1.0, 2.0, 4.0), "weights of the torques, for weighted"),
        "preferred": Setting((20.0, 0.0, -20.0), "torques to stay near to, for preferred", "N m"),
        "middle": Setting(90.0, "middle of the cranks' path, above the horizontal", "deg"),
        "swing": Setting(40.0, "amplitude of the cranks' path", "deg"),
        "frequency": Setting(2.0, "angular frequency", "rad/s"),
        "rate": RATE,
        "offset": Setting(10.0, "start error of the cranks", "deg"),
        "crank_mass": Setting(1.0, "mass of each crank", "kg"),
        "crank_inertia": Setting(0.1, "inertia of each crank about its center", "kg m²"),
        "coupler_mass": Setting(2.0, "mass of the coupler", "kg"),
        "coupler_inertia": Setting(0.2, "inertia of the coupler about its center", "kg m²"),
        "gravity": GRAVITY,
    },
    "de Falco, Pennestrì and Vita, Figure 1, with motors",
    ("servo", "redundant", "plane", "linkage", "parallel robot", "exact"),
)

NAME = "five-bar-driven"
CRANK_ANGLES = [2, 5, 8]
"""Indices of the angles of the cranks among the coordinates."""


def build(
    *,
    driven,
    choice,
    weights,
    preferred,
    middle,
    swing,
    frequency,
    rate,
    offset,
    crank_mass,
    crank_inertia,
    coupler_mass,
    coupler_inertia,
    gravity,
) -> Example:
    """The model, started with its cranks `offset` [deg] ahead of their path, at the velocity of the
    path.
    """
    if driven not in (1, 2, 3):
        raise ModelError(f"{NAME}: driven = {driven}, expected 1, 2 or 3 cranks.")
    lengths(NAME, 3, weights=weights, preferred=preferred)
    positive(
        NAME,
        frequency=frequency,
        crank_mass=crank_mass,
        crank_inertia=crank_inertia,
        coupler_mass=coupler_mass,
        coupler_inertia=coupler_inertia,
    )
    not_negative(NAME, rate=rate)
    start, amplitude, ahead = np.radians([middle, swing, offset])
    bars, pins = mechanism(crank_mass, crank_inertia, coupler_mass, coupler_inertia, gravity)

    def path(q, t, p):
        return q[CRANK_ANGLES[0]] - p["middle"] - p["swing"] * jnp.sin(p["frequency"] * t)

    def turned(t):
        return start + amplitude * np.sin(frequency * t) + decay(rate, (ahead, 0.0), t)[0]

    choose = null_space(
        NAME, ("least", "weighted", "preferred"), choice, weights[:driven], preferred[:driven]
    )
    # a motor acts between the ground and its crank
    actuation = np.eye(12)[:, CRANK_ANGLES[:driven]]
    servo = Servo(
        [Holonomic(path, name="crank angle")],
        actuation,
        actuators=[f"motor {i + 1}" for i in range(driven)],
        actuator_units=["N m"] * driven,
        gains=rate or None,
        null_space=choose,
    )
    params = {**bars.params, "middle": start, "swing": amplitude, "frequency": frequency}
    q0, v0 = along(lambda t: parallel(turned(t)), 0.0)
    return Example(
        Model(bars.system, pins, params, servo=servo, name=NAME),
        q0,
        v0,
        duration=5.0,
        description=(
            f"Three parallel cranks and a coupler, turned to and fro by {driven} "
            f"motor{'s' * (driven > 1)} through {swing:g}° about {middle:g}°; the torques are "
            f"chosen {choice!r}."
        ),
        figures={
            "Linkage": Linkage(drawn, until=np.pi / frequency / 2),
            "Crank angle": over_time(
                "angle [deg]",
                lambda run: {
                    "crank 1": np.degrees(run.q[:, CRANK_ANGLES[0]]),
                    "asked for": middle + swing * np.sin(frequency * run.t),
                },
                dashed=["asked for"],
            ),
            "Torques": controls("torque [N m]"),
        },
        exact=lambda t: dict(
            zip(bars.system.coordinates, parallel(turned(np.asarray(t, float))), strict=True)
        ),
    )
