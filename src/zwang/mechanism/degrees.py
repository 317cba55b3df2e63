"""Detection of angles of a mechanism that are probably in degrees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zwang.mechanism.field_types import FromFormula
from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.schema import Point

if TYPE_CHECKING:
    from zwang.mechanism.mechanism import Mechanism


TURN = 2 * math.pi
"""Largest plausible angle in a drawing; a larger one is probably in degrees."""


def in_degrees(mechanism: Mechanism) -> Iterator[str]:
    """Yield a sentence for each initial angle of a body, a point or a joint of more than a turn."""
    angles = {f"bodies.{name}.angle": body.angle for name, body in mechanism.bodies.items()}
    owners = {f"bodies.{name}.points": body.points for name, body in mechanism.bodies.items()}
    for owner, points in {**owners, "ground": mechanism.ground}.items():
        angles |= {f"{owner}.{k}.angle": p.angle for k, p in points.items() if isinstance(p, Point)}
    for name, begin in mechanism.start.items():
        joint = mechanism.joints.get(name)
        own = None if joint is None else JOINT_KINDS[joint.kind].coordinate
        if own is not None and own.name == "angle" and begin.value is not None:
            angles[f"start.{name}.value"] = begin.value
    for where, x in angles.items():
        if not isinstance(x, FromFormula) and abs(x) > TURN:
            written = f"'{x:g}*deg' in a file, and math.radians({x:g}) in Python"
            yield f"{where} is {as_radians(x)}{written}"


def as_radians(x: float) -> str:
    """Describe a number as an angle in radians; the notation for degrees is to follow."""
    return f"{x:g} rad, {abs(x) / TURN:.3g} turns, as angles are radians; {x:g}° is "
