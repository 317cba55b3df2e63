"""Bricard's linkage with its joints as plain functions: five rods along the edges of a cube, six
hinges, 35 coordinates, 30 rows of rank 29, one degree of freedom (IFToMM benchmark A02)."""

import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang.bodies import Body, RigidBodies

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], float)
"""Places of the hinges [m], and so ends of the rods; the ground joins the last to the first."""
HINGES = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], float)
"""Axes of the hinges: across both rods that meet there."""
LENGTHWISE = 1e-4
"""Moment of inertia of a rod about its own axis [kg m²]; across it 1/12."""

along = np.diff(CORNERS, axis=0)
centers = CORNERS[:-1] + along / 2
rods = RigidBodies(
    [
        Body(f"rod {i + 1}", 1.0, tuple(np.where(np.abs(u) > 0.5, LENGTHWISE, 1 / 12)))
        for i, u in enumerate(along)
    ],
    gravity=(0.0, -9.81, 0.0),
)


def hinge(i):
    """The hinge at corner i, between rod i and the one before; all rods start unturned."""
    axis = HINGES[i]
    first, second = (x for x in np.eye(3) if x @ axis == 0)

    def place(q, body):
        on_ground = body in (-1, 5)
        return CORNERS[i] if on_ground else rods.point(q, body, CORNERS[i] - centers[body])

    def turned(q, body, u):
        return jnp.asarray(u) if body in (-1, 5) else rods.direction(q, body, u)

    def phi(q, t, p):
        across = turned(q, i, axis)
        return jnp.concatenate(
            [
                place(q, i - 1) - place(q, i),
                jnp.stack([across @ turned(q, i - 1, u) for u in (first, second)]),
            ]
        )

    return zw.Holonomic(phi, name=f"hinge {i + 1}", unit=("m", "m", "m", "1", "1"))


model = zw.Model(rods.system, [hinge(i) for i in range(6)], rods.params, name="bricard")
q0 = np.concatenate([np.r_[c, 1.0, 0.0, 0.0, 0.0] for c in centers])
v0 = np.zeros(30)
duration = 5.0
