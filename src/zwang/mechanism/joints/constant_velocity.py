"""Constant-velocity joint: two shafts that meet at a point have equal angular speeds at any bend.

The relative rotation, about n by the bend, has no component about the axis z of the first shaft:

    R₁₀ − R₀₁ = 2 n_z sin(bend) = 0
"""

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import JointEquations, JointKind
from zwang.mechanism.relative_pose import rotation_sines


def position(pose, options):
    """The displacement, and the component of the rotation about z."""
    return xp.append(pose.displacement, rotation_sines(pose.rotation)[2])


JOINT = JointKind(
    name="constant-velocity",
    summary="two shafts with the axes z that meet in a point turn alike at any bend",
    space=JointEquations(removes=4, units=("m", "m", "m", "rad"), position=position),
    symbol="ball",
)
