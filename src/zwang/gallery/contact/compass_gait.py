"""Two straight legs that walk down a slope without a drive.

    0 ≤ y of both feet,    plastic impacts, no foot slides
    published:  the periodic step, which Newton's method finds from a run over one step

Straight legs are too long to swing through above the ground. As in McGeer's experiments, the swing
foot therefore passes through holes: the ground is a checkerboard, with half of the tiles for each
foot.

Source: Garcia, Chatterjee, Ruina and Coleman (1998), The simplest walking model: stability,
    complexity, and scaling, J. Biomech. Eng. 120, 281-288 (legs' masses small and at the feet);
Goswami, Thuilot and Espiau (1998), A study of the passive gait of a compass-like biped robot, Int.
J. Robotics Research 17, 1282-1301 (masses at half of the legs).
Units: m, kg, s; x down the slope, y across it, angles from its normal.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import DryFriction, Inequality
from zwang.equations.system import System
from zwang.gallery.contact.bodies import slip_of
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import array_namespace, bars_scene

ENTRY = Entry(
    "compass-gait",
    "two straight legs walk down a slope without a drive, by plastic impacts of their feet",
    6.0,
    {
        "slope": Setting(0.05235987755982989, "angle of the slope", "rad"),
        "hip": Setting(10.0, "mass of the hip", "kg"),
        "leg": Setting(5.0, "mass of each leg", "kg"),
        "length": Setting(1.0, "length of a leg", "m"),
        "down": Setting(0.5, "distance of the mass of a leg from the hip", "m"),
        "angle": Setting(0.27105, "angle of the front leg at the start of a step", "rad"),
        "front": Setting(-1.0918, "its rate", "rad/s"),
        "back": Setting(-0.3772, "rate of the leg behind", "rad/s"),
        "step": Setting(0.535, "distance of the tiles of one foot from those of the other", "m"),
        "mu": Setting(1.0, "coefficient of friction"),
        "gravity": GRAVITY,
    },
    "Goswami et al. 1998",
    ("plane", "contact", "friction", "robot"),
)
TILE = 0.4
"""Half of the length of a tile, relative to the distance between the tiles of the two feet."""


def build(*, slope, hip, leg, length, down, angle, front, back, step, mu, gravity) -> Example:
    """The model at the start of a step: leg 1 in front, with its foot at x = 0."""
    whole = hip + 2 * leg

    def mass_matrix(q, t, p):
        M = jnp.diag(jnp.array([whole, whole, leg * down**2, leg * down**2]))
        across = leg * down * jnp.stack([jnp.cos(q[2:]), jnp.sin(q[2:])])
        return M.at[:2, 2:].set(across).at[2:, :2].set(across.T)

    def force(q, v, t, p):
        g = p["gravity"] * jnp.array([jnp.sin(p["slope"]), -jnp.cos(p["slope"])])
        c, s = jnp.cos(q[2:]), jnp.sin(q[2:])
        turned = leg * down * jnp.stack([s, -c]) @ v[2:] ** 2
        return jnp.concatenate([whole * g + turned, leg * down * (c * g[0] + s * g[1])])

    def potential(q, t, p):
        g = p["gravity"] * jnp.array([jnp.sin(p["slope"]), -jnp.cos(p["slope"])])
        masses = whole * q[:2] + leg * down * jnp.sum(
            jnp.stack([jnp.sin(q[2:]), -jnp.cos(q[2:])]), axis=1
        )
        return -g @ masses

    def foot(q, i):
        return q[:2] + length * jnp.stack([jnp.sin(q[2 + i]), -jnp.cos(q[2 + i])])

    def hole(x):
        beside = jnp.cos(np.pi * TILE) - jnp.cos(np.pi * x / step)
        return 0.2 * length * jnp.maximum(beside, 0.0) ** 3

    constraints = []
    for i in range(2):
        name = f"foot {i + 1}"
        gap = lambda q, t, p, i=i: foot(q, i)[1] + hole(foot(q, i)[0] - i * step)
        slip = slip_of(lambda q, i=i: foot(q, i))
        constraints += [
            Inequality(gap, name=name, unit="m"),
            DryFriction(slip, load=name, static="mu", name=f"{name} grip", unit="m/s"),
        ]

    def legs(q):
        xp = array_namespace(q)
        ends = q[:2] + length * xp.stack([xp.sin(q[2:]), -xp.cos(q[2:])], axis=1)
        return xp.stack([xp.stack([q[:2], q[:2]]), ends], axis=1)

    s, c = np.sin(angle), np.cos(angle)
    system = System(
        4,
        mass_matrix=mass_matrix,
        force=force,
        potential=potential,
        coordinates=["x", "y", "leg 1", "leg 2"],
        units=["m", "m", "rad", "rad"],
    )
    return Example(
        Model(
            system,
            constraints,
            {"slope": slope, "gravity": gravity, "mu": mu},
            name="compass-gait",
        ),
        q0=np.array([-length * s, length * c, angle, -angle]),
        v0=np.array([-length * c * front, -length * s * front, front, back]),
        duration=6.0,
        description=f"Two legs of {length:g} m walk down a slope of {np.rad2deg(slope):g}°.",
        figures={"Leg 1": curve("leg 1", "d/dt leg 1"), "Hip": curve("x", "y")},
        scene=bars_scene(legs, ("leg 1", "leg 2")),
    )
