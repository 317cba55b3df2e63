"""A particle whose vertical speed is proportional to its horizontal speed: a constraint nonlinear
in the velocities.

    ẋ² + ẏ² = c² ż²,    F = m (−Ω ẏ, Ω ẋ, −g)
    exact:  ẋ + i ẏ = w exp(i (φ₀ + Ω t)),  ż = ± w/c,  w = w₀ ∓ g c t/(1 + c²)

The force with Ω turns the path and does no work; with Ω = 0 the model is the simplest form of the
machine of Appell and Hamel. The matrix A = ∂ψ/∂v follows Chetaev's rule. The constraint loses rank
at rest, where the run ends.

Source: Appell (1911); Hamel (1949), Theoretische Mechanik, chapter VIII. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Nonholonomic
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import particles_scene
from zwang.simulation.stop import Stop

ENTRY = Entry(
    "appell-hamel",
    "a particle whose rate of climb is tied to its ground speed, nonlinear in the velocities",
    5.0,
    {
        "ratio": Setting(1.5, "ground speed over rate of climb"),
        "speed": Setting(1.0, "ground speed at the start", "m/s"),
        "direction": Setting("down", "up or down"),
        "turning": Setting(2.0, "rate at which a gyroscopic force turns the path", "rad/s"),
        "mass": Setting(1.0, "mass", "kg"),
        "gravity": GRAVITY,
    },
    "Appell 1911, Hamel 1949",
    ("space", "nonholonomic", "nonlinear", "exact"),
)


def build(*, ratio, speed, direction, turning, mass, gravity) -> Example:
    """The model, started along x and up or down."""
    if direction not in ("up", "down"):
        raise ModelError(f"appell-hamel got direction = {direction!r}, expected 'up' or 'down'.")

    def force(q, v, t, p):
        return p["mass"] * jnp.stack([-p["turning"] * v[1], p["turning"] * v[0], -p["gravity"]])

    system = System(
        3,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.ones(3),
        force=force,
        potential=lambda q, t, p: p["mass"] * p["gravity"] * q[2],
        coordinates=["x", "y", "z"],
        units=["m", "m", "m"],
    )
    climb = Nonholonomic(
        lambda q, v, t, p: v[0] ** 2 + v[1] ** 2 - (p["ratio"] * v[2]) ** 2, name="climb"
    )
    way = 1.0 if direction == "up" else -1.0
    gain = -way * gravity * ratio / (1 + ratio**2)
    model = Model(
        system,
        [climb],
        {"ratio": ratio, "turning": turning, "mass": mass, "gravity": gravity},
        name="appell-hamel",
    )

    def exact(t):
        ground = speed * t + gain * t**2 / 2
        plane = _turned(speed, gain, turning, t) if turning else ground + 0j
        return {"x": plane.real, "y": plane.imag, "z": way * ground / ratio}

    return Example(
        model,
        q0=np.zeros(3),
        v0=np.array([speed, 0.0, way * speed / ratio]),
        duration=5.0,
        description=f"A particle that must go {direction} at 1/{ratio:g} of its ground speed, "
        f"which turns at {turning:g} rad/s.",
        figures={"Path from above": curve("x", "y", equal=True), "Height": curve("x", "z")},
        exact=exact,
        scene=particles_scene(lambda q: q[None], ("particle",), along=("climb",)),
        simulate={
            "stop": [Stop(lambda q, v, t, p: v[2] - way * 1e-6, name="the particle is at rest")]
        },
    )


def _turned(speed, gain, turning, t):
    """∫₀ᵗ (speed + gain s) exp(i turning s) ds."""
    turn = np.exp(1j * turning * t)
    return ((speed + gain * t) * turn - speed) / (1j * turning) + gain * (turn - 1) / turning**2
