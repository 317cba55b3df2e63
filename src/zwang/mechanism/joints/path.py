"""Path: the second point stays on a curve or surface of the first."""

from zwang.mechanism.joint_kind import Example, JointEquations, JointKind, Option


def position(pose, options):
    """The equation at the position of the second point."""
    return options["equation"](**dict(zip("xyz", pose.displacement, strict=False)))


_EXAMPLE = Example(displacement=(2.0, 0.0, 0.4))

JOINT = JointKind(
    name="path",
    summary="a point on a curve of the plane or a surface in space",
    plane=JointEquations(removes=1, position=position, example=_EXAMPLE),
    space=JointEquations(removes=1, position=position, example=_EXAMPLE, blind="second"),
    options=(
        Option(
            name="equation",
            meaning="formula in x, y (and z) of the second point, in the axes of the first, that "
            "stays zero",
            kind="formula",
            variables=("x", "y", "z"),
        ),
    ),
    rubs=("sliding",),
    symbol="contact",
    guide="curve",
    example={"equation": "x**2/4 + y**2 - 1"},
)
