"""The planar 3RRR parallel mechanism as a hierarchy: ten modules, three levels.

    level 1   motors A-C, pivoted bars A-C, links A-C and the platform, each by itself:
              18 coordinates, no constraint
    level 2   chain K = motor, bar and link: φ = θ; link's near end on the bar's tip: + 9 rows
    level 3   mechanism = three chains and the platform: links' far ends on its vertices: + 6 rows,
              3 degrees of freedom

Source: Orsino (2017), recursive modular modelling, Figures 2-4. Its parameters are in a supplement;
    those used here are our own.
Units: m, kg, s.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.gallery.drawing import Linkage, curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import Entry, Setting
from zwang.hierarchy import Hierarchy, Module
from zwang.scene import array_namespace

ENTRY = Entry(
    "3rrr",
    "a planar parallel robot from ten modules on three levels: parts, chains, mechanism",
    2.0,
    {
        "base": Setting(0.5, "distance of the motors from the center", "m"),
        "bar": Setting(0.25, "length of the driven bars", "m"),
        "link": Setting(0.35, "length of the links", "m"),
        "platform": Setting(0.1, "radius of the platform", "m"),
        "motor_inertia": Setting(0.004, "inertia of each motor", "kg m²"),
        "bar_mass": Setting(0.8, "mass of each driven bar, uniform", "kg"),
        "link_mass": Setting(0.6, "mass of each link, uniform", "kg"),
        "platform_mass": Setting(1.2, "mass of the platform, a disk", "kg"),
        "torque": Setting(1.0, "factor of the motors' torques"),
        "gravity": Setting(0.0, "acceleration of gravity in the plane", "m/s²"),
    },
    "Orsino, recursive modular modelling, Figures 2-4",
    ("plane", "hierarchy", "parallel robot", "paper"),
)

CHAINS = ("A", "B", "C")
ANGLES = np.radians([90.0, 210.0, 330.0])
"""Directions of the pivots, and of the platform's vertices in its own axes."""
TORQUES = ((0.03, 4.0, 0.0), (0.02, 3.0, np.pi / 2), (-0.025, 5.0, 0.0))
"""Amplitude [N m], angular frequency [rad/s] and phase [rad] of each motor's torque; a phase of π/2
gives a cosine.
"""


def build(
    *, base, bar, link, platform, motor_inertia, bar_mass, link_mass, platform_mass, torque, gravity
) -> Example:
    """The model, started with the platform at (0.02, −0.01, 0.3 rad) moving by (0.03, −0.03,
    −0.1).
    """
    motor, pivoted, free = (
        _motor(motor_inertia),
        _pivoted(bar, bar_mass, gravity),
        PlanarBodies([Body("body")], gravity=(0.0, -gravity)),
    )
    body = dataclasses.replace(
        free.system, coordinates=("x", "y", "angle"), velocities=("x", "y", "angle")
    )
    rod = Model(
        body,
        (),
        {**free.params, "mass": [link_mass], "inertia": [link_mass * link**2 / 12], "length": link},
    )
    disc = Model(
        body,
        (),
        {
            **free.params,
            "mass": [platform_mass],
            "inertia": [platform_mass * platform**2 / 2],
            "radius": platform,
        },
    )
    chain = _chain(motor, pivoted, rod)
    a, w, phase = np.array(TORQUES).T
    chains = [
        Module(
            chain,
            name=f"chain {k}",
            params={
                "motor.amplitude": torque * a[i],
                "motor.frequency": w[i],
                "motor.phase": phase[i],
                "bar.pivot": base * _unit(ANGLES[i]),
            },
        )
        for i, k in enumerate(CHAINS)
    ]

    def wrists(q, t, p):
        links = [f"chain {k}.link" for k in CHAINS]
        ends = _end(q[links], p[links]["length"][:, None], 0.5)
        vertices = free.point(
            q["platform"],
            0,
            p["platform.radius"] * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1),
        )
        return (ends - vertices).ravel()

    model = Hierarchy(
        [[*chains, Module(disc, name="platform")], [Holonomic(wrists, name="wrists")]], name="3rrr"
    )
    q0, v0 = start(base, bar, link, platform)
    return Example(
        model,
        q0,
        v0,
        duration=2.0,
        description="Three motors move a platform through two bars each. Ten modules, three "
        "levels: parts, chains, mechanism.",
        figures={
            "Mechanism": Linkage(lambda q: _lines(q, base, bar, link, platform)),
            "Path of the platform": curve("platform.x", "platform.y", equal=True),
        },
    )


def _chain(motor: Model, pivoted: Model, rod: Model) -> Model:
    """Three modules with the joints between them."""
    return Hierarchy(
        [
            [Module(motor, name="motor"), Module(pivoted, name="bar"), Module(rod, name="link")],
            [
                Holonomic(lambda q, t, p: q["motor.angle"] - q["bar.angle"], name="coupling"),
                Holonomic(
                    lambda q, t, p: (
                        _end(q["link"], p["link.length"], -0.5) - _tip(q["bar.angle"], p["bar"])
                    ),
                    name="elbow",
                ),
            ],
        ],
        name="chain",
    )


def _motor(inertia: float) -> Model:
    system = System(
        1,
        lambda q, t, p: p["inertia"][None],
        lambda q, v, t, p: (p["amplitude"] * jnp.sin(p["frequency"] * t + p["phase"]))[None],
        coordinates=["angle"],
        units=["rad"],
    )
    return Model(
        system,
        (),
        {"inertia": inertia, "amplitude": 0.0, "frequency": 1.0, "phase": 0.0},
        name="motor",
    )


def _pivoted(length: float, mass: float, gravity: float) -> Model:
    """A uniform bar on a fixed pivot, with its angle as the only coordinate."""
    weight = lambda q, p: p["mass"] * p["gravity"] * p["length"] / 2
    system = System(
        1,
        lambda q, t, p: (p["mass"] * p["length"] ** 2 / 3)[None],
        lambda q, v, t, p: -weight(q, p) * jnp.cos(q),
        potential=lambda q, t, p: weight(q, p) * jnp.sin(q[0]),
        coordinates=["angle"],
        units=["rad"],
    )
    return Model(
        system,
        (),
        {"mass": mass, "length": length, "gravity": gravity, "pivot": [0.0, 0.0]},
        name="bar",
    )


def _end(q, length, side):
    """An end of one or several links: `side` −0.5 is the near end, 0.5 the far end."""
    direction = jnp.stack([jnp.cos(q[..., 2]), jnp.sin(q[..., 2])], axis=-1)
    return q[..., :2] + side * length * direction


def _tip(angle, p):
    return p["pivot"] + p["length"] * jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def _unit(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def start(base, bar, link, platform, pose=(0.02, -0.01, 0.3), rate=(0.03, -0.03, -0.1)):
    """q and v of the whole mechanism for a pose and a rate of the platform, from the geometry of
    each chain, with the elbow to the left.
    """
    x, y, chi = pose
    q, v = [], []
    for angle in ANGLES:
        pivot = base * _unit(angle)
        arm = platform * _unit(chi + angle)
        # from the pivot to the vertex of the platform, which bar and link must reach
        d = np.array([x, y]) + arm - pivot
        speed = np.array(rate[:2]) + rate[2] * np.array([-arm[1], arm[0]])
        reach = np.linalg.norm(d)
        # the law of cosines; the sign chooses on which side the elbow is
        theta = np.arctan2(d[1], d[0]) + np.arccos(
            (reach**2 + bar**2 - link**2) / (2 * reach * bar)
        )
        far = d - bar * _unit(theta)
        psi = np.arctan2(far[1], far[0])
        normal = lambda a: np.array([-np.sin(a), np.cos(a)])
        # rates of bar and link from the velocity of the vertex
        turning = np.linalg.solve(
            np.stack([bar * normal(theta), link * normal(psi)], axis=1), speed
        )
        center = pivot + bar * _unit(theta) + 0.5 * far
        q += [theta, theta, *center, psi]
        v += [
            turning[0],
            turning[0],
            *(bar * turning[0] * normal(theta) + 0.5 * link * turning[1] * normal(psi)),
            turning[1],
        ]
    return np.array([*q, *pose]), np.array([*v, *rate])


def _lines(q, base, bar, link, platform):
    """Ends of all bars and of the platform's sides."""
    xp, chains, chi = array_namespace(q), q[:15].reshape(3, 5), q[17]
    along = lambda angle: xp.stack([xp.cos(angle), xp.sin(angle)], axis=1)
    pivots = base * along(ANGLES + 0 * chi)
    tips = pivots + bar * along(chains[:, 1])
    half = 0.5 * link * along(chains[:, 4])
    vertices = q[15:17] + platform * along(chi + ANGLES)
    sides = xp.stack([vertices, xp.roll(vertices, 1, axis=0)], axis=1)
    return xp.concatenate(
        [
            xp.stack([pivots, tips], 1),
            xp.stack([chains[:, 2:4] - half, chains[:, 2:4] + half], 1),
            sides,
        ]
    )
