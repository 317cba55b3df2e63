"""Rod: a massless link with a spherical joint at each end keeps two points at a distance."""

from zwang.mechanism.joint_kind import Example, JointEquations, JointKind, Option, is_positive


def position(pose, options):
    """(|d|² − l²)/2l, which is |d| − l to first order and smooth at d = 0."""
    displacement, length = pose.displacement, options["length"]
    return (displacement @ displacement - length**2) / (2 * length)


_PLANE = Example(displacement=(0.3, 0.4, 0.0))
_SPACE = Example(displacement=(0.3, 0.0, 0.4))

JOINT = JointKind(
    name="rod",
    summary="a constant distance of two points",
    plane=JointEquations(removes=1, units=("m",), position=position, example=_PLANE),
    space=JointEquations(removes=1, units=("m",), position=position, example=_SPACE, blind="both"),
    options=(Option(name="length", meaning="of the rod", unit="m", check=is_positive),),
    symbol="pin",
    line="rod",
    example={"length": 0.5},
)
