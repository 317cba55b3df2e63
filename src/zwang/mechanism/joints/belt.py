"""Belt: the angles of two joints turn in the same direction with a ratio of radii or teeth."""

from zwang.mechanism.angle_coupling import angle_coupling

JOINT = angle_coupling(
    name="belt",
    summary="couples the angles of two joints, which turn alike",
    sense=-1,
    phase="difference of ratio·angle",
    line="belt",
    example={"ratio": (20, 10)},
)
