"""Gear: the angles of two joints turn in opposite directions with a ratio of teeth or radii."""

from zwang.mechanism.angle_coupling import angle_coupling

JOINT = angle_coupling(
    name="gear",
    summary="couples the angles of two joints, which turn against each other",
    sense=1,
    phase="Σ ratio·angle",
    example={"ratio": (20, 30)},
)
