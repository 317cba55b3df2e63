"""Joints that couple the angles of two other joints by a ratio: gears and belts."""

from __future__ import annotations

from typing import Literal

from zwang.mechanism.joint_kind import JointEquations, JointKind, Option, is_ratio
from zwang.mechanism.relative_pose import ANGLE, wrapped


def angle_coupling(
    *, name: str, summary: str, sense: Literal[1, -1], phase: str, example: dict, **more
) -> JointKind:
    """The joint `ratio₁ · angle₁ + sense · ratio₂ · angle₂ = phase`.

    Args:
        name, summary, example: as in `JointKind`; `more` is passed on to it.
        sense: 1 for opposite rotations, −1 for equal ones.
        phase: meaning of the option `phase`.
    """

    def combination(first, second, options):
        """The constant combination of the angles."""
        return options["ratio"][0] * first + sense * options["ratio"][1] * second

    def plane(first, second, options):
        """The combination minus its value at the start."""
        return combination(first, second, options) - options["phase"]

    def space(first, second, options):
        """The same for angles modulo 2π; whole turns of whole numbers of teeth contribute zero."""
        return wrapped(plane(first, second, options)) / options["ratio"][0]

    return JointKind(
        name=name,
        summary=summary,
        plane=JointEquations(removes=1, units=("rad",), position=plane),
        space=JointEquations(removes=1, units=("rad",), position=space),
        options=(
            Option(
                name="ratio",
                meaning="numbers of teeth, or radii",
                kind="pair",
                check=is_ratio,
            ),
            Option(name="phase", meaning=phase, as_drawn=combination),
        ),
        couples=(ANGLE, ANGLE),
        example=example,
        **more,
    )
