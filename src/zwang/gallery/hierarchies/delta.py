"""A delta robot: three arms on springs, two rods each, and a platform that moves without rotation.

    level 1   arms by their angle below the horizontal; rods and platform as free bodies
    level 2   arm and its two rods: ball joints at the arm's end, 6 rows
    level 3   ball joints of the rods on the platform, 18 rows

45 − 18 − 18 = 9 degrees of freedom: three of the platform, and the spin of each rod about itself.
The axis of each rod is its third body axis.
Source: Clavel (1988), the delta robot; the parameters are our own. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.hierarchies.space import attitude, frame, module, point, rigid_body
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.hierarchy import Hierarchy, Module
from zwang.scene import Bar, Mark, Plate, Scene, Seen, array_namespace

ENTRY = Entry(
    "delta",
    "a delta robot: three arms with two rods each carry a platform that moves without turning",
    5.0,
    {
        "base": Setting(0.3, "distance of the arms' axes from the center", "m"),
        "platform": Setting(0.1, "distance of the rods' joints from the platform's center", "m"),
        "arm": Setting(0.4, "length of the arms", "m"),
        "rod": Setting(0.8, "length of the rods", "m"),
        "gap": Setting(0.12, "distance between the two rods of an arm", "m"),
        "arm_mass": Setting(0.8, "mass of each arm, uniform", "kg"),
        "rod_mass": Setting(0.2, "mass of each rod, uniform", "kg"),
        "platform_mass": Setting(1.0, "mass of the platform", "kg"),
        "angle": Setting(20.0, "start angle of the arms below the horizontal", "deg"),
        "stiffness": Setting(30.0, "stiffness of the spring at each arm's axis", "N m"),
        "gravity": GRAVITY,
    },
    "Clavel (1988), the delta robot; numbers ours",
    ("space", "hierarchy", "parallel robot"),
)

ARMS, RODS = ("arm 1", "arm 2", "arm 3"), ("rod a", "rod b")
ANGLES = np.radians([0.0, 120.0, 240.0])
SIDES = np.array([-0.5, 0.5])
Z = np.array([0.0, 0.0, 1.0])
TWIST = 0.15
"""Differences between the springs at the start [rad], so that the platform does not only move
vertically.
"""


def build(
    *, base, platform, arm, rod, gap, arm_mass, rod_mass, platform_mass, angle, stiffness, gravity
) -> Example:
    """The model, started from rest with equal angles of the arms; their springs are relaxed at
    different angles.
    """
    start = np.radians(angle)
    drop = rod**2 - (base + arm * np.cos(start) - platform) ** 2
    if drop <= 0:
        raise ModelError(
            f"delta: rods of {rod} m do not reach from the arms to the platform at angle = "
            f"{angle}; lengthen rod."
        )
    bodies = rigid_body(gravity)
    rods = module(
        bodies,
        rod_mass,
        (rod_mass * rod**2 / 12, rod_mass * rod**2 / 12, rod_mass * 0.01**2 / 2),
        "rod",
    )
    plate = module(
        bodies,
        platform_mass,
        (platform_mass * platform**2 / 2,) * 2 + (platform_mass * platform**2,),
        "platform",
    )
    swing = _arm(arm, arm_mass, gravity, stiffness)
    radial = np.stack([np.cos(ANGLES), np.sin(ANGLES), 0 * ANGLES], axis=1)
    across = np.stack([-np.sin(ANGLES), np.cos(ANGLES), 0 * ANGLES], axis=1)

    def shoulder(q, t, p):
        along, beside, down = p["arm.radial"], p["arm.across"], q["arm.angle"]
        end = (base + arm * jnp.cos(down)) * along - arm * jnp.sin(down) * Z
        return (point(q[list(RODS)], 0.5 * rod * Z) - end - gap * SIDES[:, None] * beside).ravel()

    limb = Hierarchy(
        [
            [Module(swing, name="arm"), *(Module(rods, name=n) for n in RODS)],
            [Holonomic(shoulder, name="ball joints")],
        ],
        name="limb",
    )
    vertices = (platform * radial[:, None] + gap * SIDES[:, None] * across[:, None]).reshape(-1, 3)

    def wrists(q, t, p):
        lower = point(q[[f"{a}.{r}" for a in ARMS for r in RODS]], -0.5 * rod * Z)
        return (lower - point(q["platform"], vertices)).ravel()

    limbs = [
        Module(
            limb,
            name=n,
            params={
                "arm.radial": radial[i],
                "arm.across": across[i],
                "arm.relaxed": start + TWIST * (i - 1),
            },
        )
        for i, n in enumerate(ARMS)
    ]
    model = Hierarchy([[*limbs, plate], [Holonomic(wrists, name="wrists")]], name="delta")
    ends = (base + arm * np.cos(start)) * radial - arm * np.sin(start) * Z
    center = -(arm * np.sin(start) + np.sqrt(drop)) * Z
    q0 = []
    for i in range(3):
        axis = ends[i] - (center + platform * radial[i])
        turn = attitude(frame(axis, across[i]))
        middles = ends[i] - 0.5 * axis + gap * SIDES[:, None] * across[i]
        q0 += [[start], *(np.r_[m, turn] for m in middles)]
    return Example(
        model,
        np.concatenate([*q0, center, [1.0, 0.0, 0.0, 0.0]]),
        np.zeros(model.system.nv),
        duration=5.0,
        rtol=1e-9,
        description="Three arms on springs and six rods carry a platform that moves in all "
        "directions but does not turn.",
        figures={
            "Path from above": curve("platform.x", "platform.y", equal=True),
            "Heave": curve("platform.z", "d/dt platform.vz"),
        },
        scene=_scene(base, arm, rod, radial, vertices),
    )


def _scene(base, arm, rod, radial, vertices) -> Scene:
    """Arms from the base to their ends, rods along their third axes, and the platform through its
    joints.
    """
    rods = [f"{limb}.{name}" for limb in ARMS for name in RODS]
    corners = tuple(f"{x}.low" for x in rods)
    points = (
        *(f"{x}.base" for x in ARMS),
        *(f"{x}.end" for x in ARMS),
        *(f"{x}.high" for x in rods),
        *corners,
        "platform",
    )

    def seen(q):
        limbs, plate, xp = q[:, :-7].reshape(len(q), 3, 15), q[:, None, -7:], array_namespace(q)
        down, poses = limbs[..., :1], limbs[..., 1:].reshape(len(q), 6, 7)
        ends = (base + arm * xp.cos(down)) * radial - arm * xp.sin(down) * Z
        high, corners = (
            xp.asarray(point(x, at)) for x, at in ((poses, 0.5 * rod * Z), (plate, vertices))
        )
        bases = xp.broadcast_to(base * radial, ends.shape)
        return Seen(xp.concatenate([bases, ends, high, corners, plate[..., :3]], axis=1))

    return Scene(
        points,
        seen,
        (
            *(Bar((f"{x}.base", f"{x}.end"), x) for x in ARMS),
            *(Bar((f"{x}.high", f"{x}.low"), x, "rod") for x in rods),
        ),
        (Plate(corners, "platform"),),
        traces=("platform",),
        joints=(
            *(Mark(f"{x}.base", f"{x}.base", "ball", True, ()) for x in ARMS),
            *(Mark(x, x, "ball", constraints=("wrists",)) for x in corners),
        ),
    )


def _arm(length: float, mass: float, gravity: float, stiffness: float) -> Model:
    """An arm by its angle below the horizontal, with a spring at its axis."""

    def energy(q, t, p):
        return (
            -p["mass"] * p["gravity"] * p["length"] / 2 * jnp.sin(q[0])
            + 0.5 * p["stiffness"] * (q[0] - p["relaxed"]) ** 2
        )

    def torque(q, v, t, p):
        return p["mass"] * p["gravity"] * p["length"] / 2 * jnp.cos(q) - p["stiffness"] * (
            q - p["relaxed"]
        )

    system = System(
        1,
        lambda q, t, p: (p["mass"] * p["length"] ** 2 / 3)[None],
        torque,
        potential=energy,
        coordinates=["angle"],
        units=["rad"],
    )
    zero = [0.0, 0.0, 0.0]
    params = {
        "mass": mass,
        "length": length,
        "gravity": gravity,
        "stiffness": stiffness,
        "relaxed": 0.0,
    }
    return Model(system, (), {**params, "radial": zero, "across": zero}, name="arm")
