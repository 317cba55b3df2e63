"""Point masses in space: bodies whose attitude enters no part of a mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import jax

from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.relative_pose import DISTANCE

if TYPE_CHECKING:
    from zwang.mechanism.mechanism import Mechanism


def point_masses(mechanism: Mechanism) -> frozenset[str]:
    """Bodies in space with a mass, without inertia, and without points other than their center.

    Only joints, springs and forces that do not depend on their attitude are attached to them.
    """
    if mechanism.d == 2:
        return frozenset()
    bare = {name for name, body in mechanism.bodies.items() if _is_bare(body)}
    return frozenset(bare - set(_seen(mechanism))) if bare else frozenset()


def _is_bare(body) -> bool:
    none = all(x is None for x in (body.radius, body.length, body.turn, body.angular_velocity))
    moments = jax.tree.leaves(body.inertia)
    return bool(none and body.mass and not body.points and not any(moments))


def _seen(mechanism: Mechanism) -> Iterator[str]:
    """Bodies whose attitude enters a part."""
    for joint in mechanism.joints.values():
        kind = JOINT_KINDS.get(joint.kind)
        equations = None if kind is None else kind.space
        for side, point in enumerate(joint.between or ()):
            blind = None if equations is None else equations.blind
            if not (blind == "both" or (blind == "second" and side == 1)):
                yield _body(point)
    tables = (mechanism.springs, mechanism.actuators, mechanism.drives, mechanism.forces)
    for part in (x for table in tables for x in table.values()):
        if part.coordinate not in (None, DISTANCE.name):
            yield from map(_body, part.between or (getattr(part, "on", None) or "",))
    for part in mechanism.servo.values():
        if part.on is not None and part.coordinate is not None:
            yield _body(part.on)
    for part in (*mechanism.bushings.values(), *mechanism.contacts.values()):
        yield from map(_body, part.between)


def _body(point: str) -> str:
    return point.partition(".")[0]
