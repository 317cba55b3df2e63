"""A direct-current motor drives a slider-crank through a gear: equations of first and second order,
in two levels.

    level 1   motor    L i' + R i + k ω = U(t)  (order 1),   J ω' = k i − c ω  (order 2)
              bars     crank, rod and slider
    level 2   joints   the linkage is pinned;   gear   motor angle = ratio · crank angle

One quadratic form ½ vᵀ M v contains ½ L i² and ½ J ω². Source: textbook; orders as in Orsino,
recursive modular modelling, section 2. Units: m, kg, s, A, V.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.higher_order import HigherOrder
from zwang.equations.constraint import Holonomic
from zwang.gallery.drawing import Linkage
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.hierarchy import Hierarchy, Module
from zwang.plots import Curve, Panel, Picture
from zwang.scene import array_namespace

ENTRY = Entry(
    "motor-linkage",
    "a motor's circuit, of first order, drives a slider-crank, of second order, through a gear",
    2.0,
    {
        "crank": Setting(0.1, "length of the crank", "m"),
        "rod": Setting(0.3, "length of the rod", "m"),
        "crank_mass": Setting(0.5, "mass of the crank, uniform", "kg"),
        "rod_mass": Setting(0.4, "mass of the rod, uniform", "kg"),
        "slider_mass": Setting(1.0, "mass of the slider", "kg"),
        "inductance": Setting(0.01, "inductance of the motor", "H"),
        "resistance": Setting(0.5, "resistance of the motor", "Ω"),
        "torque_constant": Setting(0.1, "torque per current, and voltage per speed", "N m/A"),
        "rotor": Setting(2e-4, "inertia of the rotor", "kg m²"),
        "friction": Setting(1e-4, "friction of the rotor", "N m s"),
        "ratio": Setting(5.0, "turns of the motor per turn of the crank"),
        "voltage": Setting(24.0, "voltage, from t = 0", "V"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("plane", "hierarchy", "electromechanical", "first order"),
)


def build(
    *,
    crank,
    rod,
    crank_mass,
    rod_mass,
    slider_mass,
    inductance,
    resistance,
    torque_constant,
    rotor,
    friction,
    ratio,
    voltage,
    gravity,
):
    """The model at rest, with the crank to the right and without current, when the voltage is
    switched on.
    """
    motor = _motor(inductance, rotor, resistance, torque_constant, friction, voltage)
    bars = PlanarBodies(
        [
            Body("crank", crank_mass, crank_mass * crank**2 / 12),
            Body("rod", rod_mass, rod_mass * rod**2 / 12),
            Body("slider", slider_mass, 0.01 * slider_mass),
        ],
        gravity=(0.0, -gravity),
    )

    def joints(q, t, p):
        at = lambda body, x: bars.point(q["bars"], body, (x, 0.0))
        guided = jnp.stack([q["bars.slider.y"], q["bars.slider.angle"]])
        pins = [
            at("crank", -crank / 2),
            at("crank", crank / 2) - at("rod", -rod / 2),
            at("rod", rod / 2) - at("slider", 0.0),
        ]
        return jnp.concatenate([*pins, guided])

    gear = Holonomic(
        lambda q, t, p: q["motor.angle"] - p["ratio"] * q["bars.crank.angle"], name="gear"
    )
    linkage_module = Module(bars.system, (), "bars", bars.params)
    model = Hierarchy(
        [[Module(motor, name="motor"), linkage_module], [Holonomic(joints, name="joints"), gear]],
        params={"ratio": ratio},
        name="motor-linkage",
    )
    bar_starts = [crank / 2, 0.0, 0.0, crank + rod / 2, 0.0, 0.0, crank + rod, 0.0, 0.0]

    def ends(q):
        poses, xp = q[1:].reshape(3, 3)[:2], array_namespace(q)
        along = xp.stack([xp.cos(poses[:, 2]), xp.sin(poses[:, 2])], axis=1)
        half = 0.5 * np.array([[crank], [rod]]) * along
        return xp.stack([poses[:, :2] - half, poses[:, :2] + half], axis=1)

    return Example(
        model,
        q0=np.array([0.0, *bar_starts]),
        v0=np.zeros(11),
        duration=2.0,
        description=f"A motor on {voltage:g} V drives a slider-crank through a gear of {ratio:g}, "
        "from rest.",
        figures={"Current": _picture, "Linkage": Linkage(ends, until=0.6)},
    )


def _motor(inductance, rotor, resistance, torque_constant, friction, voltage):
    """A motor: its circuit, of first order, and its rotor, of second order."""
    return HigherOrder(
        {"current": 1, "angle": 2},
        mass_matrix=lambda x, t, p: jnp.stack([p["inductance"], p["rotor"]]),
        force=lambda x, t, p: jnp.stack(
            [
                p["voltage"] - p["resistance"] * x["current"][0] - p["constant"] * x["angle"][1],
                p["constant"] * x["current"][0] - p["friction"] * x["angle"][1],
            ]
        ),
        params={
            "inductance": inductance,
            "rotor": rotor,
            "resistance": resistance,
            "constant": torque_constant,
            "friction": friction,
            "voltage": voltage,
        },
        potential=lambda x, t, p: jnp.zeros(()),
        units={"current": "C/s", "angle": "rad"},
        name="motor",
    )


def _picture(run):
    """Current and speed of the motor."""
    v = dict(zip(run.model.system.velocities, run.steps.y[:, run.model.system.nq :].T, strict=True))
    current, speed = Curve(run.steps.t, v["motor.current"]), Curve(run.steps.t, v["motor.angle"])
    return Picture(
        [Panel([current], "current [A]"), Panel([speed], "speed of the motor [rad/s]")], height=1.3
    )
