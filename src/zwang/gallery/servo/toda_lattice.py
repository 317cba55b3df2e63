"""A lattice of masses on exponentially stiffening springs, brought to a given energy by forces on a
few of them.

    m_i q̈_i = τ(q_{i+1} − q_i) − τ(q_i − q_{i−1}) + u_i,   τ(r) = a (exp(b r) − 1),   fixed ends
    H = Σ ½ m_i q̇_i² + Σ a/b (exp(b r) − b r − 1)
    energy: H − H* = 0 at velocity level, d/dt (H − H*) = −α (H − H*)         servo, one row
    exact:  H(t) = H* + (H(0) − H*) exp(−α t),   u = −α (H − H*) v / Σ v², of the pushed masses

Among all controls that meet the energy constraint, the control of least norm applies to each mass a
force in proportion to its velocity. An actuator at rest has no authority over the energy, so the
actuated masses must not all be at rest at the same time. All quantities are sums over the masses,
so the cost is proportional to their number.

Source: Udwadia and Mylapilli (2015), Energy control of nonhomogeneous Toda lattices, Nonlinear
    Dynamics 81, 1355-1380. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Nonholonomic
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.gallery.servo.checks import positive
from zwang.gallery.servo.drawing import controls, over_time
from zwang.scene import array_namespace
from zwang.servo import FirstOrder, Servo

ENTRY = Entry(
    "toda-lattice",
    "a lattice of many masses that a few actuators bring to a set energy",
    10.0,
    {
        "masses": Setting(40, "number of masses"),
        "actuators": Setting(4, "number of masses that are pushed, evenly spread"),
        "mass": Setting(1.0, "mean mass; masses lie between 0.7 and 1.3 of it", "kg"),
        "a": Setting(1.0, "force of the springs", "N"),
        "b": Setting(1.0, "how fast they stiffen", "1/m"),
        "energy": Setting(10.0, "energy that is asked for", "J"),
        "rate": Setting(0.5, "rate at which an error of the energy decays", "1/s"),
        "speed": Setting(0.3, "largest velocity at the start", "m/s"),
    },
    "Udwadia and Mylapilli (2015)",
    ("servo", "underactuated", "energy", "large"),
)

NAME = "toda-lattice"


def build(*, masses, actuators, mass, a, b, energy, rate, speed) -> Example:
    """The model, started at rest length with random velocities from a fixed seed."""
    positive(NAME, masses=masses, mass=mass, a=a, b=b, energy=energy, rate=rate, speed=speed)
    if not 1 <= actuators <= masses:
        raise ModelError(f"{NAME}: actuators = {actuators}, expected 1 to {masses}, of the masses.")
    rng = np.random.default_rng(2015)
    m = mass * rng.uniform(0.7, 1.3, masses)
    v0 = speed * rng.uniform(-1.0, 1.0, masses)
    pushed = np.round((np.arange(actuators) + 0.5) * masses / actuators - 0.5).astype(int)

    def stretch(q):
        return jnp.diff(q, prepend=0.0, append=0.0)

    def force(q, v, t, p):
        return jnp.diff(p["a"] * jnp.expm1(p["b"] * stretch(q)))

    def potential(q, t, p):
        x = p["b"] * stretch(q)
        return p["a"] / p["b"] * jnp.sum(jnp.expm1(x) - x)

    def off(q, v, t, p):
        return 0.5 * v @ (p["m"] * v) + potential(q, t, p) - p["energy"]

    system = System(
        masses,
        lambda q, t, p: p["m"],
        force,
        potential=potential,
        coordinates=[f"x{i + 1}" for i in range(masses)],
        units=["m"] * masses,
    )
    servo = Servo(
        [Nonholonomic(off, name="energy", unit="J")],
        np.eye(masses)[:, pushed],
        actuators=[f"push {i + 1}" for i in pushed],
        actuator_units=["N"] * actuators,
        gains=FirstOrder(rate),
    )
    params = {"m": m, "a": a, "b": b, "energy": energy}

    def drawn(q):
        xp = array_namespace(q)
        x = xp.concatenate([xp.zeros(1), np.arange(1, masses + 1) + q, xp.ones(1) * (masses + 1)])
        places = xp.stack([x, 0 * x], axis=1)
        return xp.stack([places[:-1], places[1:]], axis=1)

    start = 0.5 * m @ v0**2
    return Example(
        Model(system, [], params, servo=servo, name=NAME),
        np.zeros(masses),
        v0,
        duration=10.0,
        description=(
            f"{masses} masses at {start:.4g} J are brought to {energy:g} J by pushing {actuators} "
            "of them."
        ),
        figures={
            "Energy": over_time(
                "energy [J]",
                lambda run: {
                    "energy": run.dataset["energy"].values,
                    "asked for": energy + (start - energy) * np.exp(-rate * run.t),
                },
                dashed=["asked for"],
            ),
            "Pushes": controls("force [N]"),
            "Lattice": Linkage(drawn),
        },
    )
