"""N four-bar loops in a row as a hierarchy: the linkage of `n-four-bar`, assembled one loop at a
time.

    level 1   each bar by itself
    level 2   loop = crank and coupler, pinned to each other and the crank to the ground
    level 3   linkage = N loops and a last crank; right ends of couplers pinned to the next crank

Exact motion and start: those of `n-four-bar`. Source: IFToMM benchmark A02. Units: m, kg, s.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage, curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.swing import swing
from zwang.hierarchy import Hierarchy, Module
from zwang.scene import array_namespace

ENTRY = Entry(
    "four-bars",
    "N four-bar loops in a row as a hierarchy: bars, loops, linkage",
    10.0,
    {
        "N": Setting(2, "number of loops"),
        "length": Setting(1.0, "length of every bar", "m"),
        "mass": Setting(1.0, "mass of every bar, uniform", "kg"),
        "gravity": GRAVITY,
        "speed": Setting(1.0, "start speed of the crank tips", "m/s"),
    },
    "IFToMM benchmark A02",
    ("plane", "hierarchy", "linkage", "singular", "exact"),
)


def build(*, N, length, mass, gravity, speed) -> Example:
    """The model, started upright with its crank tips moving to the right."""
    if N < 1:
        raise ModelError(f"four-bars got N = {N}; expected at least 1.")
    bar = PlanarBodies([Body("bar", mass, mass * length**2 / 12)], gravity=(0.0, -gravity))
    free = dataclasses.replace(
        bar.system, coordinates=("x", "y", "angle"), velocities=("x", "y", "angle")
    )
    end = lambda q, side: bar.point(q, 0, np.array([0.5 * side * length, 0.0]))
    ground = Holonomic(lambda q, t, p: end(q, -1) - p["pivot"], name="ground")
    crank = Model(free, [ground], {**bar.params, "pivot": [0.0, 0.0]}, name="crank")
    pin = Holonomic(lambda q, t, p: end(q["crank"], 1) - end(q["coupler"], -1), name="pin")
    loop = Hierarchy([[crank, Module(free, (), "coupler", bar.params)], [pin]], name="loop")
    names = [f"loop {i + 1}" for i in range(N)]
    following = [f"{n}.crank" for n in names[1:]] + ["last crank"]

    def closed(q, t, p):
        place = lambda names, side: (
            q[names][:, :2]
            + 0.5
            * length
            * side
            * jnp.stack([jnp.cos(q[names][:, 2]), jnp.sin(q[names][:, 2])], axis=1)
        )
        return (place([f"{n}.coupler" for n in names], 1) - place(following, 1)).ravel()

    modules = [
        Module(loop, name=n, params={"crank.pivot": [i * length, 0.0]}) for i, n in enumerate(names)
    ]
    modules.append(Module(crank, name="last crank", params={"pivot": [N * length, 0.0]}))
    model = Hierarchy([modules, [Holonomic(closed, name="closing pins")]], name=f"four-bars {N}")
    upright, rate = (
        np.array([0.0, 0.5 * length, np.pi / 2]),
        np.array([0.5 * speed, 0.0, -speed / length]),
    )
    across, along = np.array([0.5 * length, length, 0.0]), np.array([speed, 0.0, 0.0])
    step = np.array([length, 0.0, 0.0])
    q0 = np.concatenate(
        [
            *(x for i in range(N) for x in (upright + i * step, across + i * step)),
            upright + N * step,
        ]
    )

    def exact(t):
        stiffness = (1.5 * N + 0.5) / ((4 * N + 1) / 3) * gravity / length
        theta = swing(stiffness, np.pi, -speed / length, t) - np.pi / 2
        return {**{f"{n}.crank.angle": theta for n in names}, "last crank.angle": theta}

    def bars(q):
        (x, y, angle), xp = q.reshape(-1, 3).T, array_namespace(q)
        half = 0.5 * length * xp.stack([xp.cos(angle), xp.sin(angle)], axis=1)
        center = xp.stack([x, y], axis=1)
        return xp.stack([center - half, center + half], axis=1)

    return Example(
        model,
        q0,
        np.concatenate([*[rate, along] * N, rate]),
        duration=10.0,
        description=f"{N} four-bar loop{'s' * (N > 1)}, assembled from equal loops of crank and "
        "coupler, started upright.",
        figures={
            "Linkage": Linkage(bars, until=1.0),
            "Phase portrait": curve("last crank.angle", "d/dt last crank.angle"),
        },
        exact=exact,
    )
