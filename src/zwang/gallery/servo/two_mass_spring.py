"""Two masses on a line with a spring between them; a force on the first keeps their distance
constant.

    m₁ ẍ₁ = k s + u,   m₂ ẍ₂ = −k s,   s = x₂ − x₁ − l;      servo:  δ = x₂ − x₁ − d → 0
    u = −(1 + m₁/m₂) k s + m₁ (2 r δ̇ + r² δ)                  paper: the first term, d = 2 l

There is one actuator for two degrees of freedom: the distance is constant, and the stretched spring
accelerates the pair forever. At rate r = 0, as printed in the paper, an initial error does not
decay, and grows with an initial rate. Exact: linear with constant coefficients.
Source: Liu et al., servo constraints, section IV, eq. (36)-(47). Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from scipy.linalg import expm

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.gallery.servo.checks import not_negative, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.scene import Bar, Mark, Scene, Seen, array_namespace
from zwang.servo import Servo

ENTRY = Entry(
    "two-mass-spring",
    "two masses with a spring between them, and one force that keeps their distance",
    5.0,
    {
        "mass1": Setting(1.0, "mass that the force acts on", "kg"),
        "mass2": Setting(2.0, "mass that only the spring acts on", "kg"),
        "stiffness": Setting(10.0, "stiffness of the spring", "N/m"),
        "length": Setting(1.0, "length of the spring without force", "m"),
        "distance": Setting(2.0, "distance to keep; the paper has twice the length", "m"),
        "rate": Setting(
            5.0,
            "rate at which an error decays; 0 keeps it, as the paper prints the force",
            "1/s",
        ),
        "offset": Setting(0.3, "start error of the distance", "m"),
        "offset_rate": Setting(0.0, "rate of the start error", "m/s"),
        "speed": Setting(0.0, "start speed of the first mass", "m/s"),
    },
    "Liu et al., servo constraints, section IV",
    ("servo", "underactuated", "paper", "exact"),
)

NAME = "two-mass-spring"


def build(
    *, mass1, mass2, stiffness, length, distance, rate, offset, offset_rate, speed
) -> Example:
    """The model, started with a distance too long by `offset` [m] that grows at `offset_rate`
    [m/s].
    """
    positive(NAME, mass1=mass1, mass2=mass2)
    not_negative(NAME, rate=rate, stiffness=stiffness)

    def force(q, v, t, p):
        tension = p["stiffness"] * (q[1] - q[0] - p["length"])
        return jnp.stack([tension, -tension])

    system = System(
        2,
        mass_matrix=lambda q, t, p: jnp.stack([p["mass1"], p["mass2"]]),
        force=force,
        potential=lambda q, t, p: 0.5 * p["stiffness"] * (q[1] - q[0] - p["length"]) ** 2,
        coordinates=["x1", "x2"],
        units=["m", "m"],
    )
    kept = Holonomic(lambda q, t, p: q[1] - q[0] - p["distance"], name="distance")
    servo = Servo(
        [kept],
        np.array([[1.0], [0.0]]),
        actuators=["force on mass 1"],
        actuator_units=["N"],
        gains=rate or None,
    )
    params = {
        "mass1": mass1,
        "mass2": mass2,
        "stiffness": stiffness,
        "length": length,
        "distance": distance,
    }
    q0, v0 = np.array([0.0, distance + offset]), np.array([speed, speed + offset_rate])

    def exact(t):
        motion = _motion(stiffness / mass2, length, distance, rate)
        x1, x2 = (expm(np.asarray(t, float)[:, None, None] * motion) @ np.r_[q0, v0, 1.0]).T[:2]
        return {"x1": x1, "x2": x2}

    return Example(
        Model(system, [], params, servo=servo, name=NAME),
        q0,
        v0,
        duration=5.0,
        description=(
            "Two masses with a spring between them; a force on the first keeps them "
            f"{distance:g} m apart, from a start that is {offset:g} m off."
        ),
        figures={
            "Distance": over_time(
                "distance [m]",
                lambda run: {
                    "x2 − x1": run.q[:, 1] - run.q[:, 0],
                    "asked for": np.asarray(distance),
                },
                dashed=["asked for"],
            ),
            "Force on mass 1": controls("force [N]"),
            "Masses": over_time("position [m]", lambda run: {"x1": run.q[:, 0], "x2": run.q[:, 1]}),
        },
        exact=exact,
        scene=Scene(
            ("mass 1", "mass 2"),
            lambda q: Seen(array_namespace(q).stack([q, 0 * q], axis=-1)),
            bars=(Bar(("mass 1", "mass 2"), kind="spring"),),
            joints=(
                Mark("mass 1", "mass 1", "block", constraints=()),
                Mark("mass 2", "mass 2", "block", constraints=()),
            ),
        ),
    )


def _motion(k: float, length: float, distance: float, rate: float) -> np.ndarray:
    """A of `ż = A z`, z = (x₁, x₂, ẋ₁, ẋ₂, 1); k is stiffness over the second mass [1/s²]."""
    error = np.array([-1.0, 1.0, 0.0, 0.0, -distance])
    error_rate = np.array([0.0, 0.0, -1.0, 1.0, 0.0])
    second = -k * np.array([-1.0, 1.0, 0.0, 0.0, -length])
    first = second + 2 * rate * error_rate + rate**2 * error
    return np.array([[0, 0, 1, 0, 0], [0, 0, 0, 1, 0], first, second, np.zeros(5)], float)
