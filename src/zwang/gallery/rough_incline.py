"""A particle that slides down a rough plane: Coulomb friction as a nonideal constraint.

    x sin α + y cos α = 0,    c = −μ |Q_id| v/|v|
    exact:  s̈ = g (sin α − μ cos α) downward, g (sin α + μ cos α) against upward motion

Source: Liu et al., servo constraints, eq. (12)-(13), with the incline as its textbook case. Units:
    m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.constraint.nonideal import coulomb
from zwang.equations.system import System
from zwang.gallery.drawing import curve, one
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.plots import Curve
from zwang.scene import particles_scene
from zwang.simulation.stop import Stop

ENTRY = Entry(
    "rough-incline",
    "a particle slides down a rough plane: Coulomb friction as a nonideal constraint",
    2.0,
    {
        "angle": Setting(30.0, "slope of the plane", "deg"),
        "mu": Setting(0.2, "coefficient of friction"),
        "mass": Setting(2.0, "mass", "kg"),
        "speed": Setting(0.5, "start speed down the plane; negative for up", "m/s"),
        "gravity": GRAVITY,
    },
    "Liu et al., servo constraints, eq. (12)-(13)",
    ("plane", "nonideal", "friction", "paper", "exact"),
)


def build(*, angle, mu, mass, speed, gravity) -> Example:
    """The model, started at `speed` [m/s] down the plane (negative: up)."""
    slope = np.radians(angle)
    downhill = np.array([np.cos(slope), -np.sin(slope)])
    system = System(
        2,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.ones(2),
        force=lambda q, v, t, p: p["mass"] * p["gravity"] * jnp.array([0.0, -1.0]),
        potential=lambda q, t, p: p["mass"] * p["gravity"] * q[1],
        coordinates=["x", "y"],
        units=["m", "m"],
    )
    plane = Holonomic(
        lambda q, t, p: q @ jnp.stack([jnp.sin(p["slope"]), jnp.cos(p["slope"])]),
        name="plane",
        nonideal=coulomb("mu"),
    )
    params = {"mass": mass, "mu": mu, "slope": slope, "gravity": gravity}
    way = 1.0 if speed >= 0 else -1.0

    def exact(t):
        s = speed * t + gravity * (np.sin(slope) - way * mu * np.cos(slope)) * t**2 / 2
        return {"x": downhill[0] * s, "y": downhill[1] * s}

    at_rest = Stop(
        lambda q, v, t, p: v[0] * jnp.cos(p["slope"]) - v[1] * jnp.sin(p["slope"]),
        name="the particle is at rest",
    )
    return Example(
        Model(system, [plane], params, name="rough-incline"),
        q0=np.zeros(2),
        v0=speed * downhill,
        duration=2.0,
        description=f"A particle slides on a plane of {angle:g}° with friction {mu:g}; the run "
        "ends if it comes to rest.",
        figures={"Path": curve("x", "y", equal=True), "Normal force and friction": _forces},
        exact=exact,
        scene=particles_scene(lambda q: q[None], ("particle",), along=("plane",)),
        simulate={"stop": [at_rest]},
    )


def _forces(run):
    """Magnitude of the ideal and of the nonideal part of the plane's force."""
    motion = run.observation.motion
    forces = {"normal": motion.ideal_force, "friction": motion.nonideal_force}
    sizes = [Curve(run.t, np.linalg.norm(force, axis=1), label) for label, force in forces.items()]
    return one(sizes, "time [s]", "force [N]", limits=(0, None))
