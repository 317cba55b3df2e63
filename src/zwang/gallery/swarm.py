"""Five robots that gather without collisions: each moves along the negative gradient of a potential
shared with the others.

    β_i = q̇_i + Σ_j ∇_i G(q_i − q_j) = 0,    G(d) = ½ |d|² − ½ |d| + 50

This nonholonomic constraint leaves no degree of freedom. Robots attract each other beyond 0.5 m and
repel each other below; they end on a regular pentagon of radius 0.1/tan(π/10) m around their
initial center. An initial state with β ≠ 0 violates the constraints. The printed law requires only
β̇ = 0, which keeps the violation: robots at rest stay at rest forever. With β̇ = −k β the error
decays as exp(−k t).

Source: review of the Udwadia-Kalaba approach, section 8.2; its Table 1 of initial states is
    missing, so positions and velocities are our own.
Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.drift import BaumgarteGains, Stabilized
from zwang.dynamics.model import Model
from zwang.equations.constraint import Nonholonomic
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.gallery.drawing import one, paths
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.plots import Curve, Label
from zwang.plots.data import MUTED
from zwang.scene import particles_scene

ENTRY = Entry(
    "swarm",
    "five robots that gather without colliding, each with its velocity prescribed",
    10.0,
    {
        "mass": Setting(2.0, "mass of each robot", "kg"),
        "start": Setting(
            "rest", "velocities at the start: rest, consistent (no error), or scattered"
        ),
        "pull": Setting(
            2.0,
            "rate at which the error of the start decays; 0 as printed keeps it for ever",
            "1/s",
        ),
    },
    "review of the Udwadia-Kalaba approach, section 8.2",
    ("plane", "nonholonomic", "paper"),
)

PLACES = np.array([[4.0, 3.0], [-3.0, 5.0], [-5.0, -2.0], [2.0, -4.0], [6.0, -1.0]])
SCATTERED = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0], [1.0, 1.0], [0.0, -1.0]])
STARTS = ("rest", "consistent", "scattered")
COMFORT = 0.5
"""Distance [m] at which two robots neither attract nor repel each other."""
PENTAGON = 0.1 / np.tan(np.pi / 10)
"""Radius on which five robots come to rest [m], at which `Σ (1 − 0.5/d) d` vanishes."""


def build(*, mass, start, pull) -> Example:
    """The model, started at rest, with β = 0 or with scattered velocities."""
    if start not in STARTS:
        raise ModelError(f"swarm got start = {start!r}; expected one of: {', '.join(STARTS)}.")
    if not pull >= 0:
        raise ModelError(f"swarm got pull = {pull}; expected a number of at least 0 per second.")
    n = len(PLACES)
    system = System(
        2 * n,
        mass_matrix=lambda q, t, p: p["mass"] * jnp.ones(2 * n),
        force=lambda q, v, t, p: jnp.zeros(2 * n),
        coordinates=[f"robot {i}.{x}" for i in range(1, n + 1) for x in "xy"],
        units=["m"] * (2 * n),
    )
    robots = [
        Nonholonomic(
            lambda q, v, t, p, i=i: v[2 * i : 2 * i + 2] + slope(q)[i], name=f"robot {i + 1}"
        )
        for i in range(n)
    ]
    # the initial velocity that the constraint prescribes for every robot
    downhill = -np.asarray(slope(PLACES.ravel()))
    v0 = {"rest": np.zeros((n, 2)), "consistent": downhill, "scattered": SCATTERED}[start]
    return Example(
        Model(system, robots, {"mass": mass}, name="swarm"),
        q0=PLACES.ravel(),
        v0=v0.ravel(),
        duration=10.0,
        description="Five robots are to move down the slope of a shared potential: they gather, "
        "and keep their distance. They start "
        f"{'with' if start == 'consistent' else 'off'} that velocity.",
        figures={
            "Paths (Figure 7)": paths(
                lambda q: q.reshape(-1, n, 2).transpose(1, 2, 0),
                [f"robot {i + 1}" for i in range(n)],
            ),
            "Error of the swarm (Figure 8)": _error,
        },
        scene=particles_scene(
            lambda q: q.reshape(n, 2),
            tuple(c.name for c in robots),
            along=tuple(c.name for c in robots),
        ),
        simulate={}
        if start == "consistent"
        else {"drift": Stabilized(BaumgarteGains(pull, 0.0)), "start_tolerance": np.inf},
    )


def slope(q):
    """`Σ_j ∇_i G` of each robot [m/s], shape (…, robots, 2) for q of shape (…, 2 robots)."""
    q = jnp.asarray(q)
    place = q.reshape(*q.shape[:-1], -1, 2)
    apart = place[..., :, None, :] - place[..., None, :, :]
    others = ~np.eye(place.shape[-2], dtype=bool)
    # 1 on the diagonal, where the square root of 0 has no derivative
    square = jnp.where(others, jnp.sum(apart**2, axis=-1), 1.0)
    return jnp.sum(
        jnp.where(others, 1 - COMFORT / jnp.sqrt(square), 0.0)[..., None] * apart, axis=-2
    )


def error(run):
    """`‖β‖` [m/s] at every accepted step, shape (steps,)."""
    q, v = np.split(run.steps.y, [run.model.system.nq], axis=1)
    return np.linalg.norm(v + np.asarray(slope(q)).reshape(v.shape), axis=1)


def _error(run):
    t = run.steps.t
    paper = Curve(t, 0.01, color=MUTED, width=0.8, dash=(3.0, 1.5))
    limit = Label((t[0], 0.01), "the paper's 0.01 m/s", MUTED, (0.0, 3.0))
    return one(
        [Curve(t, np.maximum(error(run), 1e-16)), paper],
        "time [s]",
        "‖β‖ [m/s]",
        logarithmic=True,
        labels=[limit],
    )
