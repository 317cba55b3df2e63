"""A Stewart platform: a platform in space on six legs, each a cylinder and a piston with a spring.

    level 1   twelve bodies of the legs and the platform: 13 · 6 velocities
    level 2   leg = cylinder and piston on one axis, without relative rotation: 5 rows each
    level 3   universal joint of each cylinder on the base, 4 rows;
              ball joint of each piston on the platform, 3 rows

78 − 30 − 42 = 6 degrees of freedom, those of the platform. The axis of a leg is the third axis of
its bodies.
Source: textbook. Units: m, kg, s.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from zwang.dynamics.model import Model
from zwang.equations.constraint import Holonomic
from zwang.gallery.drawing import curve
from zwang.gallery.example import Example
from zwang.gallery.hierarchies.space import attitude, direction, frame, module, point, rigid_body
from zwang.gallery.index.entry import GRAVITY, Entry, Setting
from zwang.hierarchy import Hierarchy, Module
from zwang.scene import Bar, Mark, Plate, Scene, Seen, array_namespace

ENTRY = Entry(
    "stewart",
    "a Stewart platform: six legs of cylinder and piston, each on a spring, carry a "
    "platform in space",
    10.0,
    {
        "base": Setting(1.0, "radius of the lower joints", "m"),
        "top": Setting(0.6, "radius of the upper joints", "m"),
        "height": Setting(1.2, "height of the platform at the start", "m"),
        "platform_mass": Setting(10.0, "mass of the platform, a disk", "kg"),
        "leg_mass": Setting(0.5, "mass of each cylinder and each piston", "kg"),
        "stiffness": Setting(4000.0, "stiffness of each leg's spring", "N/m"),
        "speed": Setting(0.3, "start speed of the platform, along x", "m/s"),
        "spin": Setting(0.8, "start angular velocity of the platform about the vertical", "rad/s"),
        "gravity": GRAVITY,
    },
    "textbook",
    ("space", "hierarchy", "parallel robot"),
)

LEGS = tuple(f"leg {i + 1}" for i in range(6))
LOWER = np.radians([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0])
UPPER = np.radians([-50.0, 50.0, 70.0, 170.0, 190.0, 290.0])
"""Directions of the joints on the base and on the platform [rad]."""
HALF_GAP = 0.35
"""Distance of the centers of mass of cylinder and piston from the joints at their ends [m]."""
Z = np.array([0.0, 0.0, 1.0])


def build(
    *, base, top, height, platform_mass, leg_mass, stiffness, speed, spin, gravity
) -> Example:
    """The model, started with a horizontal platform, which moves along x and rotates; the springs
    carry the weight.
    """
    bodies = rigid_body(gravity)
    slender = (leg_mass * HALF_GAP**2 / 3, leg_mass * HALF_GAP**2 / 3, leg_mass * 0.05**2 / 2)
    part = module(bodies, leg_mass, slender, "part")
    disk = platform_mass * top**2
    lower, upper = (
        r * np.stack([np.cos(a), np.sin(a), 0 * a], axis=1)
        for r, a in ((base, LOWER), (top, UPPER))
    )
    axes = upper + height * Z - lower
    # first axis of each universal joint
    crossed = np.cross(axes, Z) / np.linalg.norm(np.cross(axes, Z), axis=1)[:, None]
    length = np.linalg.norm(axes, axis=1)

    leg = _leg(part, stiffness)

    def on_base(q, t, p):
        cylinders = q[[f"{n}.cylinder" for n in LEGS]]
        turned = jnp.sum(crossed * direction(cylinders, np.eye(3)[1]), axis=1)
        return jnp.concatenate([(point(cylinders, -HALF_GAP * Z) - lower).ravel(), turned])

    def on_platform(q, t, p):
        return (
            point(q[[f"{n}.piston" for n in LEGS]], HALF_GAP * Z) - point(q["platform"], upper)
        ).ravel()

    # approximate force of a leg
    weight = gravity * (platform_mass + 6 * leg_mass) / np.sum(axes[:, 2] / length)
    plate = module(bodies, platform_mass, (disk / 4, disk / 4, disk / 2), "platform")
    legs = [
        # springs are precompressed by the weight, so that the platform starts near equilibrium
        Module(leg, name=n, params={"relaxed": length[i] + weight / stiffness})
        for i, n in enumerate(LEGS)
    ]
    joints = [
        Holonomic(on_base, name="universal joints"),
        Holonomic(on_platform, name="ball joints"),
    ]
    model = Hierarchy([[*legs, plate], joints], name="stewart")
    turns = [attitude(frame(a, c)) for a, c in zip(axes, crossed, strict=True)]
    # cylinder and piston are aligned with the leg, each at distance HALF_GAP from its end
    unit = axes / length[:, None]
    q0 = np.concatenate(
        [
            *(
                np.r_[
                    lower[i] + HALF_GAP * unit[i],
                    turns[i],
                    lower[i] + axes[i] - HALF_GAP * unit[i],
                    turns[i],
                ]
                for i in range(6)
            ),
            height * Z,
            [1.0, 0.0, 0.0, 0.0],
        ]
    )
    along, omega = np.array([speed, 0.0, 0.0]), spin * Z
    legs_v = [
        _leg_velocity(a, c, along + np.cross(omega, r))
        for a, c, r in zip(axes, crossed, upper, strict=True)
    ]
    return Example(
        model,
        q0,
        np.concatenate([*legs_v, along, omega]),
        duration=10.0,
        rtol=1e-9,
        description=f"Six legs on springs carry a platform that starts with {speed:g} m/s and "
        f"{spin:g} rad/s.",
        figures={
            "Path from above": curve("platform.x", "platform.y", equal=True),
            "Heave": curve("platform.z", "d/dt platform.vz"),
        },
        scene=_scene(lower, upper),
    )


def _leg(part: Model, stiffness: float) -> Model:
    """A cylinder with its piston, and the spring between them."""

    def prismatic(q, t, p):
        cylinder, piston = q["cylinder"], q["piston"]
        # the piston moves along the cylinder's axis and rotates with it: five rows
        x, y = direction(cylinder, np.eye(3)[0]), direction(cylinder, np.eye(3)[1])
        apart, axis = piston[:3] - cylinder[:3], direction(piston, Z)
        return jnp.stack(
            [x @ apart, y @ apart, x @ axis, y @ axis, x @ direction(piston, np.eye(3)[1])]
        )

    def spring(q, t, p):
        extension = (
            direction(q["cylinder"], Z) @ (q["piston"][:3] - q["cylinder"][:3])
            + 2 * HALF_GAP
            - p["relaxed"]
        )
        return 0.5 * p["stiffness"] * extension**2

    return Hierarchy(
        [
            [Module(part, name="cylinder"), Module(part, name="piston")],
            [Holonomic(prismatic, name="prismatic")],
        ],
        potential=spring,
        params={"stiffness": stiffness, "relaxed": 1.0},
        name="leg",
    )


def _scene(lower, upper) -> Scene:
    """Cylinders and pistons along the third axes of their bodies, and the platform through its
    joints.
    """
    ends = [
        (f"{leg}.{part}", f"{leg}.{end}")
        for leg in LEGS
        for part, end in (("base", "cylinder"), ("piston", "top"))
    ]
    names, joints = tuple(x for pair in ends for x in pair), [*(f"joint {i + 1}" for i in range(6))]

    def seen(q):
        poses, xp = q.reshape(len(q), -1, 7), array_namespace(q)
        legs, plate = poses[:, :12], poses[:, 12:]
        axes = HALF_GAP * xp.asarray(direction(legs, Z))
        both = xp.stack([legs[..., :3] - axes, legs[..., :3] + axes], axis=2).reshape(len(q), -1, 3)
        return Seen(
            xp.concatenate(
                [
                    both,
                    xp.asarray(point(plate, upper)),
                    xp.tile(lower, (len(q), 1, 1)),
                    plate[..., :3],
                ],
                axis=1,
            )
        )

    bars = tuple(
        Bar(pair, leg, kind)
        for pair, leg, kind in zip(ends, np.repeat(LEGS, 2), ("bar", "rod") * 6, strict=True)
    )
    return Scene(
        (*names, *joints, *(f"base {i + 1}" for i in range(6)), "platform"),
        seen,
        bars,
        (Plate(tuple(joints), "platform"),),
        traces=("platform",),
        joints=(
            *(Mark(x, x, "ball", constraints=("ball joints",)) for x in joints),
            *(
                Mark(f"base {i + 1}", f"base {i + 1}", "ball", True, ("universal joints",))
                for i in range(6)
            ),
        ),
    )


def _leg_velocity(axis, crossed, u) -> np.ndarray:
    """v of cylinder and piston if the upper end moves with velocity u."""
    length = np.linalg.norm(axis)
    n, R = axis / length, frame(axis, crossed)
    omega = np.cross(n, u) / length
    # the spin that keeps the second axis of the joint orthogonal to the first
    omega = omega + n * (crossed @ np.cross(omega, R[:, 1]))
    swing = HALF_GAP * np.cross(omega, n)
    return np.r_[swing, R.T @ omega, u - swing, R.T @ omega]
