"""Names of methods on the command line, and the methods."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from zwang.cli.failure import UserError
from zwang.objects.families import DRIFTS, FORMULATIONS, INTEGRATORS, PSEUDOINVERSES, Family

NAMED_DRIFTS = ("projection", "baumgarte", "none")
"""Ways to treat drift under the names that they have in the literature; `drift_treatment` makes
them.
"""
if TYPE_CHECKING:  # a type checker knows no class that is made while running
    Integrator = Pseudoinverse = Formulation = Drift = enum.StrEnum
else:

    def _choice(name: str, words) -> type[enum.StrEnum]:
        return enum.StrEnum(name, {word: word for word in words})

    Integrator = _choice("Integrator", INTEGRATORS.members)
    Pseudoinverse = _choice("Pseudoinverse", PSEUDOINVERSES.members)
    Formulation = _choice("Formulation", FORMULATIONS.members)
    # `Stabilized` is left out, because "baumgarte" and "none" are its two kinds
    _drifts = [name for name in DRIFTS.members if name != "stabilized"]
    Drift = _choice("Drift", dict.fromkeys((*NAMED_DRIFTS, *_drifts)))


def listed(choices: type[enum.StrEnum]) -> str:
    """Names to choose from, for a help text: among its options they would be cut inside words."""
    return ", ".join(choices)


def method(family: Family, choice: enum.StrEnum | None):
    """The member of a family that was chosen; None for None."""
    return None if choice is None else family.members[choice.value].load()()


def drift_treatment(choice: enum.StrEnum | None, alpha: float | None, beta: float | None):
    """The drift treatment; None for None of all.

    Args:
        choice: one of `NAMED_DRIFTS`, or a member of the family, with its default settings.
        alpha, beta: rates of Baumgarte's term [1/s], which `projection` adds at the stages.

    Raises:
        UserError: for alpha without beta or the reverse, `baumgarte` without either, any other
            choice than `projection` and `baumgarte` with them.
    """
    name = None if choice is None else choice.value
    if (alpha is None) != (beta is None):
        raise UserError(
            f"--alpha and --beta belong together: --{'beta' if beta is None else 'alpha'} is "
            "missing."
        )
    if name not in (None, "projection", "baumgarte") and alpha is not None:
        raise UserError(f"--drift {name} takes no --alpha and --beta.")
    if name == "baumgarte" and alpha is None:
        raise UserError("--drift baumgarte needs its rates, for example --alpha 5 --beta 5 [1/s].")
    if name is None and alpha is None:
        return None
    from zwang.dynamics.drift import Baumgarte, BaumgarteRates, NoStabilization, Projection

    if alpha is None or beta is None:
        return NoStabilization() if name == "none" else method(DRIFTS, choice)
    return (
        Baumgarte(alpha, beta)
        if name == "baumgarte"
        else Projection(stabilization=BaumgarteRates(alpha, beta))
    )
