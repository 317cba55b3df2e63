"""Rolling: in the plane a disk on the line x, in space a thin disk on the plane z = 0 of the first
point, both without slip. The second point is the center of the disk, its z axis the axle.
"""

import numpy as np

from zwang.arithmetic import xp
from zwang.mechanism.joint_kind import Example, JointEquations, JointKind, Option, is_positive
from zwang.mechanism.relative_pose import ANGLE, in_plane, rotation_sines


def rolled(pose, options):
    """Way of the center and of the rim, whose sum stays as it is in the plane [m]."""
    if not in_plane(pose):
        return 0.0
    return pose.displacement[0] + options["radius"] * pose.rotation


def line_position(pose, options):
    """The center at the radius above the line, and its way that of the rim."""
    return xp.stack(
        [pose.displacement[1] - options["radius"], rolled(pose, options) - options["phase"]]
    )


def to_contact(pose, radius):
    """From the center of a disk to its lowest point, in the axes of the plane it rolls on."""
    axle = pose.rotation[:, 2]
    up = xp.array([0.0, 0.0, 1.0])
    return -radius * (up - axle[2] * axle) / xp.sqrt(1 - axle[2] ** 2)


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
    ),
    options=(
        Option(name="radius", meaning="of the disk", unit="m", check=is_positive),
        Option(name="phase", meaning="way of the center and of the rim", unit="m", as_drawn=rolled),
    ),
    coordinate=ANGLE,
    symbol="contact",
    mark=None,
    example={"radius": 0.5},
)
