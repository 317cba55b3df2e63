"""A bead on a rough ring, which is horizontal or, with gravity, vertical: friction proportional to
the normal force.

    x² + y² = R²,    c = −μ |Q_id| v/|v|
    horizontal:  speed = v₀/(1 + μ v₀ t/R)
    vertical:    ω² = a cos θ + b sin θ + C exp(−2 μ θ)  while the bead presses outward,
                 θ from the lowest point,
                 a = 2 g (1 − 2 μ²)/(R (1 + 4 μ²)),  b = −6 g μ/(R (1 + 4 μ²))

Source: Liu et al., servo constraints, eq. (12)-(13), with the ring as the textbook case. Units: m,
    kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.constraint.nonideal import coulomb
from zwang.equations.system import System
from zwang.gallery.drawing import curve, one
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.plots import Curve
from zwang.scene import particles_scene
from zwang.simulation.stop import Stop

ENTRY = Entry(
    "rough-circle",
    "a bead on a rough ring, lying flat or, with gravity, standing upright",
    5.0,
    {
        "radius": Setting(1.5, "radius of the ring", "m"),
        "mu": Setting(0.2, "coefficient of friction"),
        "mass": Setting(2.0, "mass", "kg"),
        "speed": Setting(2.0, "start speed, counterclockwise", "m/s"),
        "angle": Setting(-60.0, "start angle from the lowest point", "deg"),
        "gravity": Setting(0.0, "acceleration of gravity in the plane of the ring", "m/s²"),
    },
    "Liu et al., servo constraints, eq. (12)-(13)",
    ("plane", "nonideal", "friction", "paper", "exact"),
)


def build(*, radius, mu, mass, speed, angle, gravity) -> Example:
    """The model, started `angle` [deg] from the lowest point, counterclockwise."""
    system = System(
        2,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.ones(2),
        force=lambda q, v, t, p: p["mass"] * p["gravity"] * jnp.array([0.0, -1.0]),
        potential=lambda q, t, p: p["mass"] * p["gravity"] * q[1],
        coordinates=["x", "y"],
        units=["m", "m"],
    )
    ring = Holonomic(lambda q, t, p: q @ q - p["radius"] ** 2, name="ring", nonideal=coulomb("mu"))
    params = {"mass": mass, "mu": mu, "radius": radius, "gravity": gravity}
    start = np.radians(angle)

    def exact(t):
        # without gravity the normal force is m v²/r, and ln v decreases linearly with the angle
        if gravity == 0:
            theta = (
                start + np.sign(speed) * np.log1p(mu * abs(speed) * t / radius) / mu
                if mu
                else start + speed * t / radius
            )
        else:
            theta = _upright(radius, mu, gravity, start, speed / radius, t)
        return {"x": radius * np.sin(theta), "y": -radius * np.cos(theta)}

    at_rest = Stop(lambda q, v, t, p: v[1] * q[0] - v[0] * q[1], name="the bead is at rest")
    return Example(
        Model(system, [ring], params, name="rough-circle"),
        q0=radius * np.array([np.sin(start), -np.cos(start)]),
        v0=speed * np.array([np.cos(start), np.sin(start)]),
        duration=5.0,
        description=(
            f"A bead on a {'flat' if gravity == 0 else 'standing'} ring with friction "
            f"coefficient {mu:g}; the run ends where it comes to rest."
        ),
        figures={"Path": curve("x", "y", equal=True), "Speed": _speed},
        exact=exact,
        scene=particles_scene(lambda q: q[None], ("bead",), along=("ring",)),
        simulate={"stop": [at_rest]},
    )


def _upright(radius, mu, gravity, angle, rate, t):
    """θ(t) of the vertical ring from its reduced equation `θ̈ = −(g/R) sin θ − μ sgn(θ̇) |θ̇² +
    (g/R) cos θ|` by DOP853 at 1e-13.
    """
    # friction opposes the motion until the bead rests; this is the solution for one direction of
    # motion
    k, way = gravity / radius, np.sign(rate)

    def slope(_, y):
        return [y[1], -k * np.sin(y[0]) - way * mu * abs(y[1] ** 2 + k * np.cos(y[0]))]

    return solve_ivp(
        slope,
        (0, max(t[-1], 1e-9)),
        [angle, rate],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
        t_eval=t,
    ).y[0]


def _speed(run):
    return one(
        [Curve(run.t, np.linalg.norm(run.v, axis=1))], "time [s]", "speed [m/s]", limits=(0, None)
    )
