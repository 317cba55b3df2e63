"""A chain of N uniform rods on a pin, in the plane.

    N pins, 2 N rows on 3 N coordinates; M = diag(m, m, m l²/12) per rod

N degrees of freedom. One vectorized function contains all pins, so that N may be ten thousand. No
exact solution is known; the energy is constant.
Source: textbook. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage, paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.scene import array_namespace

ENTRY = Entry(
    "rod-chain",
    "a pendulum of N rods, each with three coordinates; any N, its cost is linear",
    5.0,
    {
        "N": Setting(10, "number of rods"),
        "length": Setting(1.0, "length of the whole chain", "m"),
        "mass": Setting(1.0, "mass of the whole chain, uniform", "kg"),
        "angle": Setting(
            60.0,
            "start angle of the straight chain from hanging down, released from rest",
            "deg",
        ),
        "gravity": GRAVITY,
    },
    "textbook",
    ("plane", "large"),
)


def build(*, N, length, mass, angle, gravity) -> Example:
    """The model, straight and released from rest."""
    if N < 1 or not length > 0 or not mass > 0:
        raise ModelError(
            f"rod-chain got N = {N}, length = {length} and mass = {mass}; expected ≥ 1, > 0 and "
            "> 0."
        )
    # mass and length of the chain do not depend on the number of rods
    m, l = mass / N, length / N
    rods = PlanarBodies(
        [Body(f"rod {i + 1}", m, m * l**2 / 12) for i in range(N)], gravity=(0.0, -gravity)
    )
    left, right = np.array([-0.5, 0.0]), np.array([0.5, 0.0])

    def pins(q, t, p):
        ends = rods.point(q, slice(None), p["rod"] * right)
        return (
            rods.point(q, slice(None), p["rod"] * left)
            - jnp.concatenate([jnp.zeros((1, 2)), ends[:-1]])
        ).ravel()

    a = np.radians(angle) - np.pi / 2
    middle = (np.arange(N) + 0.5) * l
    return Example(
        Model(
            rods.system,
            [Holonomic(pins, name="pins")],
            {**rods.params, "rod": l},
            name=f"rod-chain {N}",
        ),
        q0=np.stack([middle * np.cos(a), middle * np.sin(a), a + 0 * middle], axis=1).ravel(),
        v0=np.zeros(3 * N),
        duration=5.0,
        description=f"A straight chain of {N} rod{'s' * (N > 1)}, released from rest {angle:g}° "
        "from hanging down.",
        figures={
            "Tip": paths(lambda q: [_ends(q, l)[..., 1, :][..., -1, :].T], ["tip"]),
            "Chain": Linkage(lambda q: _ends(q, l), until=1.0),
        },
    )


def _ends(q, length):
    """Ends of all rods, shape (..., N, 2, 2)."""
    pose, xp = q.reshape(*np.shape(q)[:-1], -1, 3), array_namespace(q)
    half = 0.5 * length * xp.stack([xp.cos(pose[..., 2]), xp.sin(pose[..., 2])], axis=-1)
    return xp.stack([pose[..., :2] - half, pose[..., :2] + half], axis=-2)
