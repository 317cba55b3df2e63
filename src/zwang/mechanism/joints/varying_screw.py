"""Screw with a varying pitch: the advance along z is a formula of the angle about z.

    z = s(θ) + k (s(π) − s(−π)),    pitch = 2π ds/dθ

In space θ is between −π and π, and k counts the turns, so that the thread of one turn repeats in
every turn; the pitch should be equal at −π and π.
"""

import jax
import jax.numpy as jnp

from zwang.mechanism.joint_kind import Freedom, JointEquations, JointKind, Option
from zwang.mechanism.relative_pose import ANGLE, SLIDE, angle, axes_parallel


def position(pose, options):
    """x, y, the axes, and the slide minus the advance, modulo whole turns."""
    advance = options["advance"]
    a_turn = advance(angle=jnp.pi) - advance(angle=-jnp.pi)
    error = pose.displacement[2] - advance(angle=angle(pose))
    # a thread without advance over a turn has no turns to count
    turns = jnp.where(a_turn != 0, jnp.round(error / jnp.where(a_turn != 0, a_turn, 1.0)), 0.0)
    row = error - jax.lax.stop_gradient(turns) * a_turn
    return jnp.concatenate([pose.displacement[:2], axes_parallel(pose.rotation), row[None]])


JOINT = JointKind(
    name="varying-screw",
    summary="rotation about the axis z that advances along it by a formula of the angle",
    space=JointEquations(
        removes=5,
        units=("m", "m", "rad", "rad", "m"),
        position=position,
        freedoms=(Freedom(ANGLE), Freedom(SLIDE)),
        holds="axis",
    ),
    options=(
        Option(
            name="advance",
            meaning="formula in `angle`: the slide over the angle, between −π and π",
            unit="m",
            kind="formula",
            variables=("angle",),
        ),
    ),
    coordinate=ANGLE,
    symbol="pin",
    example={"advance": "0.1*angle/pi + 0.02*sin(angle)"},
)
