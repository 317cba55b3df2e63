"""A scissor lift: equal stages of two crossed bars, one on top of the other, and a platform.

    level 1   each stage: two bars and the pin at their middle
    level 2   stages stacked: the upper ends of one are the lower ends of the next; foot, platform
    level 3   a rail that guides the left pins: one redundant row per stage

One degree of freedom, the angle θ of the bars: stage i has its middle at (½ l cos θ, (i + ½) l sin
θ). A spring across the foot of width l cos θ carries the lift. Exact: a quadrature of the energy
equation, without closed form. Source: textbook. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.bodies import Body, PlanarBodies
from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.errors import ModelError
from zwang.gallery.drawing import Linkage, curve
from zwang.gallery.example import Example
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.hierarchy import Hierarchy, Module
from zwang.scene import array_namespace

ENTRY = Entry(
    "scissor-lift",
    "a scissor lift of any number of stages, with guided pins: overconstrained everywhere",
    10.0,
    {
        "stages": Setting(5, "number of stages"),
        "length": Setting(1.0, "length of a bar", "m"),
        "bar_mass": Setting(0.5, "mass of a bar, uniform", "kg"),
        "platform_mass": Setting(5.0, "mass of the platform", "kg"),
        "angle": Setting(35.0, "start angle of the bars above the horizontal, from rest", "deg"),
        "rest_angle": Setting(
            45.0, "angle at which the spring across the foot carries the lift", "deg"
        ),
        "stiffness": Setting(
            4.0,
            "how fast the spring's force grows, over that of the load; more than about 1 is stable",
        ),
        "gravity": GRAVITY,
    },
    "textbook",
    ("plane", "hierarchy", "overconstrained", "scaling"),
)

LEFT, RIGHT = np.array([-0.5, 0.0]), np.array([0.5, 0.0])


def build(
    *, stages, length, bar_mass, platform_mass, angle, rest_angle, stiffness, gravity
) -> Example:
    """The model, released from rest. The bar "rising" extends from lower left to upper right,
    "falling" from upper left to lower right.
    """
    if stages < 1 or not 0 < angle < 90 or not 0 < rest_angle < 90 or stiffness <= 0:
        raise ModelError(
            f"scissor-lift got stages = {stages}, angle = {angle}, rest_angle = {rest_angle}, "
            f"stiffness = {stiffness}; expected ≥ 1, between 0 and 90 twice, and > 0."
        )
    bars = PlanarBodies(
        [Body(name, bar_mass, bar_mass * length**2 / 12) for name in ("rising", "falling")],
        gravity=(0.0, -gravity),
    )
    pin = Holonomic(
        lambda q, t, p: bars.point(q, "rising") - bars.point(q, "falling"), name="middle"
    )
    # one stage, used for all of them
    stage = Model(bars.system, [pin], bars.params, name="stage")
    top = PlanarBodies(
        [Body("plate", platform_mass, platform_mass * length**2 / 12)], gravity=(0.0, -gravity)
    )
    names = [f"stage {i + 1}" for i in range(stages)]
    joints = _joints(bars, top, names, length)
    rest = np.radians(rest_angle)
    # force across the foot at rest
    load = gravity * (2 * bar_mass * stages**2 / 2 + platform_mass * stages) / np.tan(rest)
    # stiffness is relative to that of the load, so that a value of about 1 separates stable from
    # unstable lifts
    spring = stiffness * load / (length * np.cos(rest))
    relaxed = length * np.cos(rest) - load / spring

    def energy(q, t, p):
        width = (
            bars.point(q[names[0]], "falling", RIGHT * length)[0]
            - bars.point(q[names[0]], "rising", LEFT * length)[0]
        )
        return 0.5 * p["spring"] * (width - p["relaxed"]) ** 2

    model = Hierarchy(
        [
            [
                *(Module(stage, name=n) for n in names),
                Module(top.system, (), "platform", top.params),
            ],
            *joints,
        ],
        potential=energy,
        params={"spring": spring, "relaxed": relaxed},
        name=f"scissor-lift {stages}",
    )
    return Example(
        model,
        start(stages, length, np.radians(angle)),
        np.zeros(model.system.nv),
        duration=10.0,
        rtol=1e-9,
        description=(
            f"A lift of {stages} stage{'s' * (stages > 1)} bounces on a spring across its foot, "
            f"released with its bars at {angle:g}°. {stages} of its rows are redundant "
            "everywhere."
        ),
        figures={
            "Lift": Linkage(lambda q: _bars(q, length), until=1.0),
            "Phase portrait": curve("stage 1.rising.angle", "d/dt stage 1.rising.angle"),
        },
    )


def _joints(bars: PlanarBodies, top: PlanarBodies, names: list[str], length: float) -> list[list]:
    """The joints between stages, and in a separate level the rail that guides their pins."""
    # for several stages at once
    place = lambda q, bar, side: bars.point(q.reshape(-1, 3), slice(bar, None, 2), side * length)

    def stacked(q, t, p):
        below, above = q[names[:-1]], q[names[1:]]
        right = place(below, 0, RIGHT) - place(above, 1, RIGHT)
        return jnp.concatenate(
            [(place(below, 1, LEFT) - place(above, 0, LEFT)).ravel(), right.ravel()]
        )

    def foot(q, t, p):
        # the left foot is pinned, the right one slides on the ground
        first = q[names[0]]
        return jnp.concatenate(
            [
                bars.point(first, "rising", LEFT * length),
                bars.point(first, "falling", RIGHT * length)[1:],
            ]
        )

    def platform(q, t, p):
        last, plate = q[names[-1]], q["platform"]
        left = bars.point(last, "falling", LEFT * length) - top.point(plate, "plate", LEFT * length)
        right = bars.point(last, "rising", RIGHT * length) - top.point(
            plate, "plate", LEFT * length
        )
        return jnp.concatenate(
            [left, jnp.array([jnp.cos(plate[2]) * right[1] - jnp.sin(plate[2]) * right[0]])]
        )

    def rail(q, t, p):
        return place(q[names], 1, LEFT)[:, 0]

    joints = [Holonomic(foot, name="foot"), Holonomic(platform, name="platform joints")]
    joints += [Holonomic(stacked, name="stacking")] if len(names) > 1 else []
    return [joints, [Holonomic(rail, name="rail")]]


def start(stages: int, length: float, angle: float) -> np.ndarray:
    """q at an angle of the bars."""
    x, y = 0.5 * length * np.cos(angle), (np.arange(stages) + 0.5) * length * np.sin(angle)
    each = np.stack([x + 0 * y, y, angle + 0 * y, x + 0 * y, y, -angle + 0 * y], axis=1)
    return np.r_[each.ravel(), 0.5 * length, stages * length * np.sin(angle), 0.0]


def _bars(q, length):
    """Ends of all bars and of the platform."""
    (x, y, angle), xp = q.reshape(-1, 3).T, array_namespace(q)
    half = 0.5 * length * xp.stack([xp.cos(angle), xp.sin(angle)], axis=1)
    center = xp.stack([x, y], axis=1)
    return xp.stack([center - half, center + half], axis=1)
