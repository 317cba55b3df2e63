"""A particle driven along a logarithmic spiral by two constraints, which leave no degree of
freedom.

    M = diag(m, m r²),  F = (m r θ̇² − m g sin θ, −2 m r ṙ θ̇ − m g r cos θ)
    r = exp(0.1 θ),  θ = 30 − t;   exact:  r = exp(3 − t/10)

Source: review of the Udwadia-Kalaba approach, section 8.1. Errata: eq. (9) has M = diag(m, m) with
    the force m (…)/r in the θ row. Its accelerations are right, but it is not the Lagrangian form:
    its force along θ is m times an angular acceleration. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.gallery.drawing import one
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.plots import Curve
from zwang.scene import array_namespace, particles_scene

ENTRY = Entry(
    "log-spiral",
    "a particle driven along a logarithmic spiral: two constraints, no freedom",
    30.0,
    {"mass": Setting(1.0, "mass", "kg"), "gravity": GRAVITY},
    "review of the Udwadia-Kalaba approach, section 8.1",
    ("plane", "rheonomic", "paper", "exact"),
)


def build(*, mass, gravity) -> Example:
    """The model, started at θ = 30 rad."""

    def force(q, v, t, p):
        (r, theta), (dr, dtheta) = q, v
        radial = r * dtheta**2 - p["gravity"] * jnp.sin(theta)
        around = -2 * r * dr * dtheta - p["gravity"] * r * jnp.cos(theta)
        return p["mass"] * jnp.stack([radial, around])

    system = System(
        2,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.stack([1.0, q[0] ** 2]),
        force=force,
        potential=lambda q, t, p: p["mass"] * p["gravity"] * q[0] * jnp.sin(q[1]),
        coordinates=["r", "theta"],
        units=["m", "rad"],
    )
    spiral = Holonomic(lambda q, t, p: q[0] - jnp.exp(0.1 * q[1]), name="spiral")
    clock = Holonomic(lambda q, t, p: q[1] + t - 30.0, name="clock")
    return Example(
        Model(system, [spiral, clock], {"mass": mass, "gravity": gravity}, name="log-spiral"),
        q0=np.array([np.exp(3.0), 30.0]),
        v0=np.array([-0.1 * np.exp(3.0), -1.0]),
        duration=30.0,
        description="A particle is driven inward along a logarithmic spiral; two constraints on "
        "two coordinates fix the motion.",
        figures={"Path": _path},
        exact=lambda t: {"r": np.exp(3 - t / 10), "theta": 30 - t},
        scene=particles_scene(
            _place,
            ("particle",),
            along=("spiral",),
        ),
    )


def _place(q):
    xp = array_namespace(q)
    return q[0] * xp.stack([xp.cos(q[1:]), xp.sin(q[1:])], axis=1)


def _path(run):
    r, theta = run.q.T
    # the exact curve on a fine grid, because samples may be far apart
    fine = np.interp(np.linspace(0, 1, 1500), np.linspace(0, 1, len(theta)), theta)
    spiral = Curve(
        np.exp(0.1 * fine) * np.cos(fine), np.exp(0.1 * fine) * np.sin(fine), "spiral", width=0.8
    )
    samples = Curve(r * np.cos(theta), r * np.sin(theta), "samples", width=0, marker="o", size=1.5)
    return one([spiral, samples], "x [m]", "y [m]", equal=True)
