"""An arm whose two motors keep its hand at one height with the least cost of control: in the metric
of the inverse mass matrix they act as a rail without friction.

    hand(q).y = height                                             servo, relative degree 2
    u: least uᵀ N(q) u,   N = M⁻¹: the force of an ideal rail;  N = I: the least torques
    energy: constant for N = M⁻¹, because the rail does no work

Two motors act on one row, so that the choice among the torques decides how the hand moves along the
rail. Source: Udwadia (2008), Optimal tracking control of nonlinear dynamical systems, Proc. R. Soc.
A 464, 2341-2363; the arm is chosen here. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.errors import ModelError
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.servo.checks import not_negative, one_of, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.gallery.servo.two_links import two_links, two_links_scene
from zwang.servo import LeastNorm, Servo, WeightedNorm

ENTRY = Entry(
    "arm-on-rail",
    "two motors that keep a hand at one height with least cost, as a rail would",
    5.0,
    {
        "mass": Setting(1.0, "mass at the end of each link", "kg"),
        "length": Setting(0.5, "length of each link", "m"),
        "load": Setting(0.0, "mass in the hand", "kg"),
        "angle": Setting(30.0, "start angle of the upper link from hanging down", "deg"),
        "depth": Setting(0.3, "height of the shoulder above the hand", "m"),
        "metric": Setting("mass", "N: mass, the inverse mass matrix, or torque, the identity"),
        "gravity": GRAVITY,
    },
    "Udwadia (2008)",
    ("servo", "redundant", "metric"),
)

NAME = "arm-on-rail"


def build(*, mass, length, load, angle, depth, metric, gravity) -> Example:
    """The model, started at rest."""
    positive(NAME, mass=mass, length=length)
    not_negative(NAME, load=load)
    one_of(NAME, ("mass", "torque"), metric=metric)
    shoulder = np.radians(angle) - np.pi / 2
    risen = -depth / length - np.sin(shoulder)
    if not abs(risen) < 1:
        raise ModelError(
            f"{NAME}: from an elbow at {length * np.sin(shoulder):.3g} m, a link of {length:g} m "
            f"does not reach a hand at {-depth:g} m; expected another angle or depth."
        )
    system = two_links()

    def height(q, t, p):
        return p["length"] * (jnp.sin(q[0]) + jnp.sin(q[0] + q[1])) + p["depth"]

    inverse = lambda q, v, t, p: jnp.linalg.inv(system.mass_matrix(q, t, p))
    servo = Servo(
        [Holonomic(height, name="rail", unit="m")],
        np.eye(2),
        actuators=["shoulder motor", "elbow motor"],
        actuator_units=["N m", "N m"],
        null_space=WeightedNorm(inverse) if metric == "mass" else LeastNorm(),
    )
    params = {"mass": mass, "length": length, "load": load, "gravity": gravity, "depth": depth}

    def place(run) -> dict[str, np.ndarray]:
        turned = np.cos(run.q[:, 0]) + np.cos(run.q[:, 0] + run.q[:, 1])
        return {"hand": length * turned}

    def energy(run) -> dict[str, np.ndarray]:
        return {"energy": run.variables["energy"].values}

    return Example(
        Model(system, [], params, servo=servo, name=NAME),
        np.array([shoulder, np.arcsin(risen) - shoulder]),
        np.zeros(2),
        duration=5.0,
        description=f"Two motors keep a hand at one height; the metric of their cost is {metric}.",
        figures={
            "Hand": over_time("place along the rail [m]", place),
            "Torques": controls("torque [N m]"),
            "Energy": over_time("energy [J]", energy),
        },
        scene=two_links_scene(length),
    )
