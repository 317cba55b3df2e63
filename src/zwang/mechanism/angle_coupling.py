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
        sense: 1 where the angles turn against each other, −1 where they turn alike.
        phase: what the option `phase` means.
    """

    def combination(first, second, options):
        """What stays as it is."""
        return options["ratio"][0] * first + sense * options["ratio"][1] * second

    def plane(first, second, options):
        """The combination less its value at the start."""
        return combination(first, second, options) - options["phase"]

    def space(first, second, options):
        """Likewise for angles known up to whole turns, which whole numbers of teeth leave zero."""
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
