"""Screw: rotation about the z axis of the first point advances the second point along it."""

import numpy as np

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import Freedom, JointEquations, JointKind, Option, is_nonzero
from zwang.mechanism.relative_pose import SLIDE, angle, axes_parallel, wrapped


def position(pose, options):
    """x, y, the axes, and the angle minus that of the advance, which counts whole turns."""
    turns = 2 * np.pi * pose.displacement[2] / options["pitch"]
    ahead = wrapped(angle(pose) - turns)
    return xp.concatenate([pose.displacement[:2], axes_parallel(pose.rotation), ahead[None]])


JOINT = JointKind(
    name="screw",
    summary="rotation about the axis z that advances along it",
    space=JointEquations(
        removes=5,
        units=("m", "m", "rad", "rad", "rad"),
        position=position,
        freedoms=(Freedom(SLIDE),),
        holds="axis",
    ),
    options=(
        Option(
            name="pitch",
            meaning="advance in a turn, negative for a left-handed thread",
            unit="m",
            check=is_nonzero,
        ),
    ),
    coordinate=SLIDE,
    symbol="pin",
    formats={"sdf": ("screw",)},
    example={"pitch": 0.2},
)
