"""Crossed slides (Oldham coupling): a massless slider on each of two perpendicular guides.

The second point moves in the plane of x and y without rotation.
"""

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import (
    DISPLACEMENT_X,
    DISPLACEMENT_Y,
    JointEquations,
    JointKind,
)
from zwang.mechanism.relative_pose import rotation_chords

JOINT = JointKind(
    name="crossed-slides",
    summary="slides along x and y without rotation, as in an Oldham coupling",
    plane=JointEquations(
        removes=1,
        units=("rad",),
        position=lambda pose, options: pose.rotation,
        freedoms=(DISPLACEMENT_X, DISPLACEMENT_Y),
    ),
    space=JointEquations(
        removes=4,
        units=("rad", "rad", "rad", "m"),
        position=lambda pose, options: xp.append(
            rotation_chords(pose.rotation), pose.displacement[2]
        ),
        freedoms=(DISPLACEMENT_X, DISPLACEMENT_Y),
        holds="attitude",
    ),
    symbol="slide",
    mark="square",
)
