"""A boat that approaches a circle around a buoy and follows it, without a schedule in time.

    ẋ = speed τ − approach φ_x⁺ φ,   φ = (|x|² − R²)/(2 R)         servo, relative degree 1
    m v̇ = −c |v − w| (v − w) + u                                   w: current along x
    exact: r² = R² + (r₀² − R²) exp(−approach t)
           angle = speed (t + (2/approach) ln((r + R)/(r₀ + R)))/R

The velocity of the boat is controlled to a vector field that depends on its position alone; the
field leads to the circle, along which the speed is constant. A controller that does not know the
current errs by the current's effect divided by the rate of the gain:

    zw.simulate(model, q0, v0, ..., loop=zw.Loop(params={"current": 0.0}))

Source: Kapitanyuk, Proskurnikov and Cao (2018), IEEE Trans. Control Systems Technology 26,
    1372-1385 (guiding vector fields); the numbers are chosen here. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.gallery.drawing import paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.gallery.servo.checks import not_negative, positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.scene import Mark, Scene, Seen, array_namespace
from zwang.servo import law

ENTRY = Entry(
    "guided-boat",
    "a boat led onto a circle and along it by a vector field, without a schedule in time",
    20.0,
    {
        "mass": Setting(50.0, "mass of the boat", "kg"),
        "drag": Setting(20.0, "c: drag in the water", "N s²/m²"),
        "current": Setting(0.4, "speed of the water along x", "m/s"),
        "radius": Setting(5.0, "R: radius of the circle", "m"),
        "distance": Setting(9.0, "r₀: distance of the start from the buoy", "m"),
        "speed": Setting(1.5, "speed along the circle", "m/s"),
        "approach": Setting(0.4, "rate at which φ decays", "1/s"),
        "rate": Setting(2.0, "rate at which an error of the velocity decays", "1/s"),
    },
    "Kapitanyuk, Proskurnikov and Cao (2018)",
    ("servo", "nonholonomic", "path following", "plane", "exact"),
)

NAME = "guided-boat"


def build(*, mass, drag, current, radius, distance, speed, approach, rate) -> Example:
    """The model, started on the vector field."""
    positive(NAME, mass=mass, radius=radius, distance=distance, approach=approach, rate=rate)
    not_negative(NAME, drag=drag)

    def force(q, v, t, p):
        through = v - p["current"] * jnp.array([1.0, 0.0])
        return -p["drag"] * jnp.linalg.norm(through) * through

    system = System(
        2,
        lambda q, t, p: p["mass"] * jnp.ones(2),
        force,
        coordinates=["x", "y"],
        units=["m", "m"],
    )
    params = {"mass": mass, "drag": drag, "current": current}
    servo = law(
        "path following",
        Model(system, [], params, name=NAME),
        np.eye(2),
        task=Holonomic(lambda q, t, p: 0.5 * (q @ q - radius**2) / radius, name="circle", unit="m"),
        stiffness=approach,
        gains=rate,
        along=["x", "y"],
        speed=speed,
        actuators=["thrust x", "thrust y"],
        actuator_units=["N", "N"],
    )

    def exact(t) -> dict[str, np.ndarray]:
        t = np.asarray(t, float)
        r = np.sqrt(radius**2 + (distance**2 - radius**2) * np.exp(-approach * t))
        late = 2 / approach * np.log((r + radius) / (distance + radius))
        angle = speed * (t + late) / radius
        return {"x": r * np.cos(angle), "y": r * np.sin(angle)}

    def seen(q):
        xp = array_namespace(q)
        return Seen(xp.stack([0 * q, q], axis=1))

    turn = np.linspace(0.0, 2 * np.pi, 200)
    circle = radius * np.stack([np.cos(turn), np.sin(turn)])
    return Example(
        Model(system, [], params, servo=servo, name=NAME),
        np.array([distance, 0.0]),
        np.array([-0.5 * approach * (distance**2 - radius**2) / distance, speed]),
        duration=20.0,
        description=f"A boat approaches a circle of {radius:g} m and follows it at {speed:g} m/s.",
        exact=exact,
        figures={
            "Path": paths(lambda q: [q.T, circle], ["boat", "circle"]),
            "Distance": over_time(
                "distance [m]",
                lambda run: {
                    "from the buoy": np.hypot(*run.q.T),
                    "radius": np.full(len(run.t), radius),
                },
                dashed=["radius"],
            ),
            "Thrust": controls("force [N]"),
        },
        scene=Scene(
            ("buoy", "boat"),
            seen,
            joints=(
                Mark("buoy", "buoy", "pin", constraints=()),
                Mark("boat", "boat", "pin", constraints=()),
            ),
            traces=("boat",),
        ),
    )
