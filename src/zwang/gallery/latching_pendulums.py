"""Two uniform rods on one pivot that latch when they meet, and are released at a given time.

    pins       2 rows each, always
    latch      φ = angle₁ − angle₂, switched on when φ = 0 and off at `release`
    impact     ω = (I₁ω₁ + I₂ω₂) / (I₁ + I₂),  energy lost ½ I₁I₂ / (I₁ + I₂) (ω₁ − ω₂)²

An example of a change of topology. Exact motion: separate or joined pendulums, by elliptic
functions between the changes.
Source: textbook (plastic impact). Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from scipy.optimize import root_scalar

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.gallery.drawing import Linkage
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.gallery.swing import swing
from zwang.plots import Curve, Mark, Panel, Picture
from zwang.scene import array_namespace
from zwang.simulation.switching import Switch

ENTRY = Entry(
    "latching-pendulums",
    "two rods on one pivot that latch where they meet and let go later: a constraint "
    "switched on and off",
    5.0,
    {
        "length1": Setting(1.0, "length of the first rod", "m"),
        "length2": Setting(0.6, "length of the second rod", "m"),
        "mass1": Setting(1.0, "mass of the first rod, uniform", "kg"),
        "mass2": Setting(2.0, "mass of the second rod, uniform", "kg"),
        "angle1": Setting(80.0, "start angle of the first rod from hanging down, from rest", "deg"),
        "angle2": Setting(-40.0, "start angle of the second rod from hanging down", "deg"),
        "release": Setting(1.7, "time at which the latch opens", "s"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("plane", "switched", "impact", "exact"),
)


def build(*, length1, length2, mass1, mass2, angle1, angle2, release, gravity) -> Example:
    """The model, released from rest at angles [deg] from hanging down."""
    length, mass = np.array([length1, length2]), np.array([mass1, mass2])
    rods = PlanarBodies(
        [
            Body(f"rod {i + 1}", m, m * l**2 / 12)
            for i, (m, l) in enumerate(zip(mass, length, strict=True))
        ],
        gravity=(0.0, -gravity),
    )

    def pin(rod):
        return lambda q, t, p: rods.point(q, rod, jnp.stack([-p["length"][rod] / 2, 0.0]))

    apart = lambda q, v, t, p: q[2] - q[5]
    constraints = [
        Holonomic(pin(0), name="pin 1"),
        Holonomic(pin(1), name="pin 2"),
        Holonomic(lambda q, t, p: q[2] - q[5], name="latch"),
    ]
    start = np.radians([angle1, angle2])
    place = np.stack([np.sin(start), -np.cos(start)], axis=1) * length[:, None] / 2
    # about the pivot
    inertia, moment = mass * length**2 / 3, mass * gravity * length / 2

    def exact(t):
        angles = _angles(np.asarray(t, float), start, inertia, moment, release)
        return {f"rod {i + 1}.angle": angles[i] - np.pi / 2 for i in range(2)}

    def ends(q):
        xp, angle = array_namespace(q), q[2::3]
        tips = length[:, None] * xp.stack([xp.cos(angle), xp.sin(angle)], axis=1)
        return xp.stack([0 * tips, tips], axis=1)

    return Example(
        Model(
            rods.system, constraints, {**rods.params, "length": length}, name="latching-pendulums"
        ),
        q0=np.concatenate([place, start[:, None] - np.pi / 2], axis=1).ravel(),
        v0=np.zeros(6),
        duration=5.0,
        description=f"Two rods on one pivot, released from rest {angle1:g}° and {angle2:g}° from "
        f"hanging down; they latch where they meet and let go at t = {release:g} s.",
        figures={"Angles": _picture, "Rods": Linkage(ends)},
        exact=exact,
        simulate={"switches": [Switch("latch", on=[apart, lambda *at: -apart(*at)], off=release)]},
    )


def _angles(t: np.ndarray, angle, inertia, moment, release: float) -> np.ndarray:
    """Both angles from hanging down, shape (2, samples), phase by phase."""
    now, rate, joined, end = 0.0, np.zeros(2), False, np.max(t, initial=0.0)
    angles = np.zeros((2, len(t)))
    while True:
        k = np.full(2, moment.sum() / inertia.sum()) if joined else moment / inertia
        at = lambda when, k=k, now=now, angle=angle, rate=rate: np.stack(
            [swing(k[i], angle[i], rate[i], when - now) for i in (0, 1)]
        )
        after = t >= now
        angles[:, after] = at(t[after])
        if joined:
            following = release if now < release <= end else np.inf
        else:
            grid = np.linspace(now, end, 2001)[1:]
            apart = np.subtract(*at(grid))
            cross = np.flatnonzero(apart[:-1] * apart[1:] < 0)
            meet = lambda when, at=at: float(np.subtract(*at(np.array([when])))[0])
            around = [grid[cross[0]], grid[cross[0] + 1]] if len(cross) else []
            following = (
                float(root_scalar(meet, bracket=around, xtol=1e-15).root) if around else np.inf
            )
        if following > end:
            return angles
        before, step = angle, 1e-5
        angle = at(np.array([following]))[:, 0]
        way = np.sign(np.diff(at(np.array([following - step, following])), axis=1)[:, 0])
        rate = way * np.sqrt(np.maximum(rate**2 + 2 * k * (np.cos(angle) - np.cos(before)), 0.0))
        joined = not joined
        now, rate = following, np.full(2, inertia @ rate / inertia.sum()) if joined else rate


def _picture(run):
    """Both angles over time, which coincide while the rods are latched."""
    angles = run.steps.y[:, [2, 5]].T + np.pi / 2
    rods = [Curve(run.steps.t, angle, f"rod {i}") for i, angle in enumerate(angles, start=1)]
    switches = Mark([s.time for s in run.switches], [s.what for s in run.switches])
    return Picture([Panel(rods, "angle from hanging down [rad]", marks=[switches])], height=2.0)
