"""Dry friction in a joint, loaded by the joint's own reaction, without sticking.

`slipping.py` has friction with sticking. Here the friction is Coulomb's law of sliding:

    c = −(∂s/∂v)ᵀ μ N s/√(s² + ε²),    N = |Q_id|

s is the velocity [m/s] with which the second point slides in the axes of the first, and `r ω` for a
pin of radius r. Q_id is the force of the joint's rows in the presence of c. Moments across a slide,
which jam it between two edges of its guide, do not contribute to N.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from zwang.equations.constraint.nonideal import length, sliding
from zwang.inputs.arithmetic import xp
from zwang.mechanism.field_types import PartError
from zwang.mechanism.joint_kind import JointKind
from zwang.mechanism.relative_pose import RelativePose, in_plane, rotation_sines, value_and_rate

if TYPE_CHECKING:
    from zwang.mechanism.geometry import Geometry
    from zwang.mechanism.resolution import Ends
    from zwang.mechanism.schema import Friction, Joint

NUMBERS = ("kinetic", "radius", "rest_speed", "static", "stribeck")
"""Numbers of a joint's friction that its law uses."""


def check_friction(name: str, joint: Joint, kind: JointKind) -> None:
    """Refuse friction of a kind of joint that has none, and invalid numbers.

    Raises:
        PartError: for the first of them.
    """
    given, where = joint.friction, ("joints", name, "friction")
    if given is None:
        return
    if kind.rubs is None:
        raise PartError(
            where, f"a {kind.name} joint has no surfaces that slide on each other in this model."
        )
    for field in NUMBERS:
        if (value := getattr(given, field)) is not None and not 0 <= value < np.inf:
            raise PartError((*where, field), f"is {value:g}, expected a number from 0 up.")
    if given.static is None:
        if given.stribeck is not None:
            raise PartError((*where, "stribeck"), "needs static, which it leads down from.")
    else:
        if given.rest_speed:
            raise PartError(
                (*where, "rest_speed"), "is of friction that does not stick: leave static out."
            )
        if given.stribeck is not None and not given.stribeck > 0:
            raise PartError((*where, "stribeck"), "is 0, expected a positive speed [m/s].")
    if "turning" in kind.rubs and not given.radius > 0:
        raise PartError(where, "needs radius, at which the pin rubs [m].")
    if "turning" not in kind.rubs and given.radius:
        raise PartError((*where, "radius"), f"a {kind.name} joint slides and has no pin.")


def friction_numbers(given: Friction) -> dict:
    """The numbers of a friction that a run may change."""
    return {
        name: xp.asarray(value, float)
        for name in NUMBERS
        if (value := getattr(given, name)) is not None
    }


def joint_friction(
    name: str, kind: JointKind, geometry: Geometry, ends: Ends, pose: Callable, rate: Callable
) -> Callable:
    """The force c of a joint, `(q, v, t, p, ideal_force)` → (nv,), in the coordinates of bodies.

    Args:
        name: of the joint.
        kind: its kind, which determines the sliding velocity.
        geometry: the points.
        ends: the joint's points.
        pose: `(q, p)` → their relative pose.
        rate: `(q, v, t, p)` → q̇.
    """
    d, rubs = geometry.d, kind.rubs or ()
    bodies = [int(geometry.carrier[x]) for x in (ends.b, ends.a)]
    # The ground is the last carrier, and has no velocities.
    body = next(x for x in bodies if x < len(geometry.bodies))
    start = body * 3 * (d - 1)
    force_on = slice(start, start + d)

    def slip(here: RelativePose, moving: RelativePose, radius):
        parts = [moving.displacement] if "sliding" in rubs else []
        if "turning" in rubs:
            spin = moving.rotation
            if not in_plane(here):
                spin = rotation_sines(moving.rotation @ here.rotation.T)
            parts.append(radius * jnp.atleast_1d(spin))
        return jnp.concatenate(parts)

    def friction(q, v, t, p, ideal_force):
        given = p["friction"][name]

        def slides(v):
            here, moving = value_and_rate(lambda q: pose(q, p), q, rate(q, v, t, p))
            return slip(here, moving, given["radius"])

        # s is linear in v: the pullback of a force on it is the generalized force.
        s, pull = jax.vjp(slides, v)
        load = given["kinetic"] * length(ideal_force[force_on])
        return pull(-load * sliding(s, given["rest_speed"]))[0]

    return friction
