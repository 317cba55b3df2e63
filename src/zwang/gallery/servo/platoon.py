"""Cars in a row whose distances stay within limits at all times, whatever their errors are.

    car 1: x₁ = speed t                                            servo, relative degree 2
    cars i, i + 1: T(xᵢ − xᵢ₊₁) = T(target),   T(y) = log((y − low)/(high − y))
    exact: T − T(target) decays as (1 + k t) exp(−k t), k the rate of the gain

T maps the distances between the limits onto all real numbers, so that a bounded error keeps every
distance within its limits. The cars are a graph without cycles, whose edges are the distances.

Source: arXiv:2512.07137 (constraints on graphs of agents by diffeomorphism); the cars and their
    numbers are chosen here. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.gallery.servo.checks import lengths, not_negative, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.gallery.servo.tracking import decay
from zwang.scene import array_namespace
from zwang.servo import Servo, within

ENTRY = Entry(
    "platoon",
    "five cars in a row that keep their distances within limits at all times",
    10.0,
    {
        "mass": Setting(1000.0, "mass of each car", "kg"),
        "drag": Setting(40.0, "drag of each car", "N s/m"),
        "speed": Setting(1.5, "speed of the first car", "m/s"),
        "low": Setting(2.5, "least distance of two cars", "m"),
        "high": Setting(14.0, "largest distance of two cars", "m"),
        "target": Setting(6.0, "desired distance", "m"),
        "gaps": Setting((11.0, 2.8, 8.0, 4.0), "distances at the start", "m"),
        "rate": Setting(1.0, "k, the rate of errors", "1/s"),
    },
    "arXiv:2512.07137",
    ("servo", "limits", "agents", "exact"),
)

NAME = "platoon"
CARS = 5
HALF_CAR = 0.9
"""Half the length of a car in pictures [m]."""


def build(*, mass, drag, speed, low, high, target, gaps, rate) -> Example:
    """The model, started with all cars at the speed of the first one."""
    lengths(NAME, CARS - 1, gaps=gaps)
    positive(NAME, mass=mass, rate=rate)
    not_negative(NAME, drag=drag)
    if not all(low < x < high for x in (target, *gaps)):
        raise ModelError(
            f"{NAME}: target is {target} and gaps are {gaps}, expected distances between low = "
            f"{low} and high = {high}."
        )
    system = System(
        CARS,
        lambda q, t, p: p["mass"] * jnp.ones(CARS),
        lambda q, v, t, p: -p["drag"] * v,
        coordinates=[f"car {i}" for i in range(1, CARS + 1)],
        units=["m"] * CARS,
    )
    rows = [Holonomic(lambda q, t, p: q[0] - p["speed"] * t, name="first car", unit="m")]
    rows += [
        within(
            lambda q, t, p, i=i: q[i] - q[i + 1],
            low,
            high,
            target,
            name=f"cars {i + 1} and {i + 2}",
        )
        for i in range(CARS - 1)
    ]
    servo = Servo(
        rows,
        np.eye(CARS),
        actuators=[f"drive {i}" for i in range(1, CARS + 1)],
        actuator_units=["N"] * CARS,
        gains=rate,
    )
    stretched = lambda y: np.log((y - low) / (high - y))
    start = np.array(gaps, float)

    def distances(t) -> np.ndarray:
        """Exact distances, shape (cars − 1, …)."""
        errors = [decay(rate, (x, 0.0), t)[0] for x in stretched(start) - stretched(target)]
        ratio = np.exp(np.array(errors)) * (target - low) / (high - target)
        return (low + ratio * high) / (1 + ratio)

    def exact(t) -> dict[str, np.ndarray]:
        t = np.asarray(t, float)
        behind = np.concatenate([np.zeros((1, *t.shape)), np.cumsum(distances(t), axis=0)])
        return dict(zip(system.coordinates, speed * t - behind, strict=True))

    def drawn(q):
        xp = array_namespace(q)
        ends = [xp.stack([q + x, 0 * q], axis=-1) for x in (-HALF_CAR, HALF_CAR)]
        return xp.stack(ends, axis=1)

    def gaps_of(run) -> dict[str, np.ndarray]:
        found = {c.name: -np.diff(run.q)[:, i] for i, c in enumerate(rows[1:])}
        ends = {"least": low, "largest": high}
        return found | {name: np.full(len(run.t), x) for name, x in ends.items()}

    return Example(
        Model(system, [], {"mass": mass, "drag": drag, "speed": speed}, servo=servo, name=NAME),
        -np.concatenate([[0.0], np.cumsum(start)]),
        np.full(CARS, speed),
        duration=10.0,
        description=f"Five cars reach distances of {target:g} m, always between {low:g} and "
        f"{high:g} m.",
        exact=exact,
        figures={
            "Distances": over_time("distance [m]", gaps_of, dashed=["least", "largest"]),
            "Drives": controls("force [N]"),
            "Cars": Linkage(drawn),
        },
    )
