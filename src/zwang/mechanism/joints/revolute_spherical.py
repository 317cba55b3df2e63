"""Massless link with a revolute joint at the first point and a spherical joint at the second.

The link of length l turns about the z axis of the first point, perpendicular to it, so that the
second point stays on a circle:

    (|d|² − l²)/2l = 0,    d_z = 0
"""

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import (
    Example,
    Freedom,
    JointEquations,
    JointKind,
    Option,
    is_positive,
)
from zwang.mechanism.relative_pose import PoseCoordinate

SWING = PoseCoordinate(
    "swing", lambda pose: xp.arctan2(pose.displacement[1], pose.displacement[0]), "rad"
)
"""Angle of the link about the z axis of the first point."""


def position(pose, options):
    """The distance, smooth where the points coincide, and the height above the circle's plane."""
    displacement, length = pose.displacement, options["length"]
    excess = (displacement @ displacement - length**2) / (2 * length)
    return xp.stack([excess, displacement[2]])


JOINT = JointKind(
    name="revolute-spherical",
    summary="a massless link, a hinge with the axis z at one end and a ball joint at the other",
    space=JointEquations(
        removes=2,
        units=("m",),
        position=position,
        freedoms=(Freedom(SWING),),
        example=Example(displacement=(0.3, 0.4, 0.0)),
    ),
    options=(Option(name="length", meaning="of the link", unit="m", check=is_positive),),
    coordinate=SWING,
    symbol="pin",
    line="rod",
    example={"length": 0.5},
)
