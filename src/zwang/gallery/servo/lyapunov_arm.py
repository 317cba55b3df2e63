"""An arm of two links that two motors bring upright: the Lyapunov function of each joint decays at
a prescribed rate.

    V = ½ a e² + b e v + ½ c v²,   e = q − goal,      V̇ = −(2 b/c) V

Exact: ë + (2 b/c) ė + (a/c) e = 0 for each joint, independent of the arm's weight and inertia, and
V(t) = V(0) exp(−2 b t/c).
Source: Udwadia and Koganti (2014), doi 10.1115/1.4024874. Units: m, kg, s.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

from zwang.dynamics.model import Model
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.servo.checks import positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.gallery.servo.two_links import two_links, two_links_scene
from zwang.servo import Servo
from zwang.servo.lyapunov import Lyapunov

ENTRY = Entry(
    "lyapunov-arm",
    "two links brought upright by two motors: Lyapunov functions fall as they say",
    5.0,
    {
        "mass": Setting(1.0, "mass at the end of each link", "kg"),
        "length": Setting(0.5, "length of each link", "m"),
        "a": Setting(5.0, "weight of the error in V", "1/s^2"),
        "b": Setting(1.0, "weight of error times rate", "1/s"),
        "c": Setting(1.0, "weight of the rate"),
        "gravity": GRAVITY,
    },
    "Udwadia and Koganti (2014)",
    ("servo", "exact"),
)

NAME = "lyapunov-arm"


def build(*, mass, length, a, b, c, gravity) -> Example:
    """The model, started at rest with the arm hanging to the side."""
    positive(NAME, mass=mass, length=length, b=b, c=c, **{"a c - b^2": a * c - b**2})

    system = two_links()

    def falling(name: str, i: int, goal: float) -> Lyapunov:
        def V(q, v, t, p):
            e = q[i] - goal
            return 0.5 * p["a"] * e**2 + p["b"] * e * v[i] + 0.5 * p["c"] * v[i] ** 2

        return Lyapunov(V, lambda q, v, t, p: 2 * p["b"] / p["c"] * V(q, v, t, p), name=name)

    goals = np.array([0.5 * np.pi, 0.0])
    servo = Servo(
        [falling(f"V of {n}", i, goals[i]) for i, n in enumerate(system.coordinates)],
        np.eye(2),
        actuators=["shoulder motor", "elbow motor"],
        actuator_units=["N m", "N m"],
    )
    params = {"mass": mass, "length": length, "a": a, "b": b, "c": c, "gravity": gravity}
    params["load"] = 0.0
    q0, v0 = np.array([-0.3, 0.8]), np.zeros(2)

    def exact(t):
        motion = np.array([[0.0, 1.0], [-a / c, -2 * b / c]])
        e = expm(np.asarray(t, float)[:, None, None] * motion)[:, 0, 0]
        names = zip(system.coordinates, goals, q0, strict=True)
        return {name: goal + (start - goal) * e for name, goal, start in names}

    def functions(run) -> dict:
        e, v = run.q - goals, run.v
        found = (0.5 * a * e**2 + b * e * v + 0.5 * c * v**2).T
        asked = np.sum(found, axis=0)[0] * np.exp(-2 * b / c * run.t)
        return {**dict(zip(system.coordinates, found, strict=True)), "sum asked for": asked}

    return Example(
        Model(system, [], params, servo=servo, name=NAME),
        q0,
        v0,
        duration=5.0,
        description="Two links, brought upright so that Lyapunov functions fall as asked for.",
        exact=exact,
        figures={
            "Lyapunov functions": over_time("V [rad²/s²]", functions, dashed=["sum asked for"]),
            "Torques": controls("torque [N m]"),
        },
        scene=two_links_scene(length),
    )
