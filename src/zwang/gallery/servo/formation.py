"""A satellite that flies in formation with another one, on a circle as seen from the Earth.

    r̈ + 2 n × ṙ + n × (n × (R + r)) = g(R + r) + u/m     in axes that rotate with the leader

The leader moves on a circular Kepler orbit; the follower is subject to gravity with the Earth's
oblateness (J₂) and to drag if `flattening` and `drag` are not zero. The controller of this model
includes all of them; a controller without them keeps |error| ≤ layer/rate by its sliding surface:

    zw.simulate(model, q0, v0, ..., params={"mass": 450.0, "flattening": 1.0},
        loop=zw.Loop(model=member.model))

Exact: r = spread (sin(n t)/2, cos(n t), sin(n t)). The problem is that of Udwadia, Wanichanon and
Cho (2014), J. Guidance, Control, and Dynamics 37, doi 10.2514/1.G000317; the numbers are chosen
here. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.gallery.servo.checks import positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.scene import Scene, Seen, array_namespace
from zwang.servo import Servo, SlidingSurface

ENTRY = Entry(
    "formation",
    "a satellite that keeps its place beside another one, whatever its model lacks",
    3000.0,
    {
        "mass": Setting(500.0, "mass of the follower", "kg"),
        "orbit": Setting(7.0e6, "radius of the leader's orbit", "m"),
        "inclination": Setting(50.0, "of the orbit", "deg"),
        "spread": Setting(1000.0, "radius of the circle that is seen from the Earth", "m"),
        "flattening": Setting(0.0, "share of the Earth's oblateness that acts"),
        "drag": Setting(0.0, "deceleration by drag", "m/s^2"),
        "rate": Setting(0.01, "k of the sliding surface", "1/s"),
        "bound": Setting(0.02, "of what the controller does not know", "m/s^2"),
        "layer": Setting(0.002, "of the sliding surface", "m/s"),
    },
    "Udwadia, Wanichanon and Cho (2014)",
    ("servo", "space", "uncertain", "exact"),
)

NAME = "formation"
MU, EARTH, OBLATENESS = 3.986004418e14, 6378137.0, 1.08263e-3
"""Gravitational parameter [m³/s²], equatorial radius [m] and J₂ of the Earth."""


def build(*, mass, orbit, inclination, spread, flattening, drag, rate, bound, layer) -> Example:
    """The model, started on the circle with its velocity."""
    positive(NAME, mass=mass, orbit=orbit, spread=spread, rate=rate, bound=bound, layer=layer)
    n = np.sqrt(MU / orbit**3)

    def axes(t, tilt):
        c, s = jnp.cos(n * t), jnp.sin(n * t)
        up, out = jnp.cos(tilt), jnp.sin(tilt)
        outward, forward = jnp.stack([c, s * up, s * out]), jnp.stack([-s, c * up, c * out])
        return jnp.stack([outward, forward, jnp.stack([0 * up, -out, up])])

    def force(q, v, t, p):
        turned = axes(t, p["inclination"])
        x = turned.T @ (q + jnp.array([orbit, 0.0, 0.0]))
        r = jnp.linalg.norm(x)
        polar = 5 * (x[2] / r) ** 2
        flat = jnp.stack([polar - 1, polar - 1, polar - 3])
        flat = 1.5 * OBLATENESS * MU * EARTH**2 / r**5 * flat * x
        pull = turned @ (p["flattening"] * flat - MU * x / r**3)
        turning = jnp.stack([2 * v[1] + n * (orbit + q[0]), -2 * v[0] + n * q[1], 0 * q[2]])
        return p["mass"] * (n * turning + pull - p["drag"] * jnp.array([0.0, 1.0, 0.0]))

    def place(xp, t):
        s, c = xp.sin(n * t), xp.cos(n * t)
        return spread * xp.stack([0.5 * s, c, s])

    names: tuple[str, ...] = ("outward", "forward", "across")
    system = System(
        3,
        lambda q, t, p: p["mass"] * jnp.ones(3),
        force,
        coordinates=names,
        units=["m"] * 3,
    )
    circle = Holonomic(lambda q, t, p: q - place(jnp, t), name="formation", unit="m")
    # a mass that is a tenth smaller than assumed increases the effect of the thrusters by a ninth
    surface = SlidingSurface(rate, bound=bound, layer=layer, mismatch=1 / 9)
    servo = Servo(
        [circle],
        np.eye(3),
        actuators=[f"thrust {name}" for name in names],
        actuator_units=["N"] * 3,
        gains=surface,
    )
    params = {"mass": mass, "flattening": flattening, "drag": drag}
    params["inclination"] = np.radians(inclination)

    def seen(q):
        xp = array_namespace(q)
        return Seen(xp.stack([0 * q, q], axis=1) / spread)

    def exact(t) -> dict[str, np.ndarray]:
        return dict(zip(names, place(np, np.asarray(t, float)), strict=True))

    def errors(run) -> dict:
        wanted = exact(run.t)
        return {x: run.q[:, i] - wanted[x] for i, x in enumerate(names)}

    return Example(
        Model(system, [], params, servo=servo, name=NAME),
        np.array([0.0, spread, 0.0]),
        spread * n * np.array([0.5, 0.0, 1.0]),
        duration=3000.0,
        description=f"A satellite of {mass:g} kg circles another one at {spread:g} m.",
        exact=exact,
        figures={"Error": over_time("error [m]", errors), "Thrust": controls("force [N]")},
        scene=Scene(("leader", "follower"), seen, traces=("follower",)),
    )
