"""A crank drives a slider between two guides with clearance; its four corners hit the guides.

    four gaps of the corners, e = 0.4, μ = 0.01, the crank starts at 150 rad/s without a drive

The coordinates are the angles of crank, rod and slider, so the joints need no rows.

Source: Flores, Leine and Glocker (2010), Modeling and analysis of planar rigid multibody systems
    with translational clearance joints based on the non-smooth dynamics approach, Multibody Syst.
    Dyn. 23, 165-190, table 1, as in the examples of Siconos.
Units: m, kg, s.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import DryFriction, Inequality
from zwang.equations.system import System
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import array_namespace, bars_scene

ENTRY = Entry(
    "slider-crank-clearance",
    "the slider of a crank hits its guides, between which it has play",
    0.2,
    {
        "play": Setting(1e-3, "play on either side of the slider", "m"),
        "restitution": Setting(0.4, "part of the speed that an impact leaves"),
        "mu": Setting(0.01, "coefficient of friction"),
        "speed": Setting(150.0, "rate of the crank at the start", "rad/s"),
        "gravity": GRAVITY,
    },
    "Flores, Leine and Glocker 2010",
    ("plane", "linkage", "contact", "friction"),
)
LENGTHS = (0.153, 0.306)
"""Lengths of crank and rod [m]."""
SIDES = (0.1, 0.05)
"""Sides of the slider [m]."""
MASSES = (0.038, 0.038, 0.076)
"""Masses of crank, rod and slider [kg]."""
INERTIAS = (7.4e-5, 5.9e-4, 2.7e-6)
"""Moments of inertia of crank, rod and slider about their centers [kg m²]."""


def build(*, play, restitution, mu, speed, gravity) -> Example:
    """The model with crank and rod in line, and the slider in the middle between its guides."""
    first, second, third = MASSES
    length, (long, high) = np.array(LENGTHS), np.array(SIDES) / 2
    # from the mass at the end of a bar, and from its own mass at half its length
    at_end = np.array([second + third + first / 2, third + second / 2])
    own = np.array([second + third + first / 4, third + second / 4]) * length**2
    coupled = (third + second / 2) * LENGTHS[0] * LENGTHS[1]

    def mass_matrix(q, t, p):
        across = coupled * jnp.cos(q[1] - q[0])
        M = jnp.diag(jnp.append(own, 0.0) + jnp.array(INERTIAS))
        return M.at[0, 1].set(across).at[1, 0].set(across)

    def force(q, v, t, p):
        turned = coupled * jnp.sin(q[1] - q[0]) * jnp.stack([v[1] ** 2, -(v[0] ** 2)])
        return jnp.append(turned - p["gravity"] * at_end * length * jnp.cos(q[:2]), 0.0)

    def corner(q, along, up):
        c, s = jnp.cos(q[2]), jnp.sin(q[2])
        center = jnp.stack([length @ jnp.cos(q[:2]), length @ jnp.sin(q[:2])])
        return center + jnp.stack([along * c - up * s, along * s + up * c])

    constraints = []
    for side, up in (("upper", high), ("lower", -high)):
        for end, along in (("left", -long), ("right", long)):
            place = lambda q, along=along, up=up: corner(q, along, up)
            way = np.sign(up)
            gap = lambda q, t, p, place=place, way=way: high + p["play"] - way * place(q)[1]
            slip = lambda q, v, t, p, place=place: jax.jvp(lambda q: place(q)[0], (q,), (v,))[1]
            name = f"{side} {end}"
            constraints += [
                Inequality(gap, name=name, restitution="restitution", unit="m"),
                DryFriction(slip, load=name, static="mu", name=f"{name} rubs", unit="m/s"),
            ]

    def bars(q):
        xp = array_namespace(q)
        c, s = xp.cos(q), xp.sin(q)
        pin = LENGTHS[0] * xp.stack([c[0], s[0]])
        center = pin + LENGTHS[1] * xp.stack([c[1], s[1]])
        turn = xp.stack([xp.stack([c[2], s[2]]), xp.stack([-s[2], c[2]])])
        box = center + np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (long, high) @ turn
        sides = xp.stack([box, xp.roll(box, -1, axis=0)], axis=1)
        bars = xp.stack([xp.stack([0 * pin, pin]), xp.stack([pin, center])])
        return xp.concatenate([bars, sides])

    system = System(
        3,
        mass_matrix=mass_matrix,
        force=force,
        potential=lambda q, t, p: p["gravity"] * at_end * length @ jnp.sin(q[:2]),
        coordinates=["crank", "rod", "slider"],
        units=["rad"] * 3,
    )
    params = {"play": play, "restitution": restitution, "mu": mu, "gravity": gravity}
    names = "crank", "rod", "below", "right", "above", "left"
    return Example(
        Model(system, constraints, params, name="slider-crank-clearance"),
        q0=np.zeros(3),
        v0=np.array([speed, -speed * LENGTHS[0] / LENGTHS[1], 0.0]),
        duration=0.2,
        description=f"A crank at {speed:g} rad/s, whose slider has a play of {play:g} m.",
        figures={"Slider": curve("crank", "slider"), "Crank": curve("crank", "d/dt crank")},
        scene=bars_scene(bars, names),
    )
