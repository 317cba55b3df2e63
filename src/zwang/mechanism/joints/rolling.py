"""Rolling without slip: in the plane a disk on a line, in space a thin disk on a plane.

The line is x, the plane z = 0 of the first point. The second point is the center of the disk, its z
axis the axle.
"""

import numpy as np

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import Example, JointEquations, JointKind, Option, is_positive
from zwang.mechanism.relative_pose import ANGLE, in_plane, rotation_sines

FLAT = 1e-12
"""Tilt of a disk [rad] below which it is round-off of its attitude: the disk has no lowest point.
"""


def rolled(pose, options):
    """Displacement of the center plus that of the rim, which is constant in the plane [m]."""
    if not in_plane(pose):
        return 0.0
    return pose.displacement[0] + options["radius"] * pose.rotation


def line_position(pose, options):
    """The height of the center above the line minus the radius, and the rolling condition."""
    return xp.stack(
        [pose.displacement[1] - options["radius"], rolled(pose, options) - options["phase"]]
    )


def to_contact(pose, radius):
    """From the center of a disk to its lowest point, in the axes of the plane it rolls on."""
    across, along = pose.rotation[:2, 2], pose.rotation[2, 2]
    # the squared component of the axle along the plane, without the cancellation in 1 − along²
    squared = across @ across
    flat = xp.sqrt(xp.where(squared > FLAT**2, squared, xp.nan))
    return radius * xp.stack([along * across[0] / flat, along * across[1] / flat, -flat])


def plane_position(pose, options):
    """Height of the lowest point."""
    return pose.displacement[2] + to_contact(pose, options["radius"])[2]


def plane_velocity(pose, rate, options):
    """Velocity of the material point at the contact, along the plane."""
    # Ṙ Rᵀ is antisymmetric: its entries are the angular velocity
    spin = rotation_sines(rate.rotation @ pose.rotation.T)
    return (rate.displacement + xp.cross(spin, to_contact(pose, options["radius"])))[:2]


JOINT = JointKind(
    name="rolling",
    summary="a disk with the axle z rolls without slip: on the line x, or on the plane z = 0",
    plane=JointEquations(
        removes=2,
        units=("m",),
        position=line_position,
        example=Example(displacement=(0.3, 0.5, 0.0)),
    ),
    space=JointEquations(
        removes=3,
        units=("m",),
        position=plane_position,
        velocity=plane_velocity,
        example=Example(displacement=(0.3, 0.2, 0.5), rotation=(np.pi / 2, 0.0, 0.0)),
        undefined="the disk lies flat, so that no point of its rim is the lowest one; tilt its z "
        "axis, the axle, away from that of the plane.",
    ),
    options=(
        Option(name="radius", meaning="of the disk", unit="m", check=is_positive),
        Option(name="phase", meaning="way of the center and of the rim", unit="m", as_drawn=rolled),
    ),
    coordinate=ANGLE,
    symbol="contact",
    guide="floor",
    mark=None,
    example={"radius": 0.5},
)
