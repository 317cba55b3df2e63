"""Rolling ball: a ball on the plane z = 0 of the first point, in space, without slip.

It may spin about the normal. The second point is its center.
"""

from zwang.inputs.arithmetic import xp
from zwang.mechanism.joint_kind import Example, JointEquations, JointKind, Option, is_positive
from zwang.mechanism.relative_pose import rotation_sines


def velocity(pose, rate, options):
    """Velocity of the material point at the contact, along the plane."""
    # Ṙ Rᵀ is antisymmetric: its entries are the angular velocity
    spin = rotation_sines(rate.rotation @ pose.rotation.T)
    down = xp.stack([0.0, 0.0, -options["radius"]])
    return (rate.displacement + xp.cross(spin, down))[:2]


JOINT = JointKind(
    name="rolling-ball",
    summary="a ball rolls without slip on the plane z = 0",
    space=JointEquations(
        removes=3,
        units=("m",),
        position=lambda pose, options: pose.displacement[2] - options["radius"],
        velocity=velocity,
        example=Example(displacement=(0.3, 0.2, 0.5)),
    ),
    options=(Option(name="radius", meaning="of the ball", unit="m", check=is_positive),),
    symbol="contact",
    guide="floor",
    mark=None,
    example={"radius": 0.5},
)
