"""Methods by their names on the command line."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from zwang.cli.failure import UserError
from zwang.objects.families import DRIFTS, FORMULATIONS, INTEGRATORS, PSEUDOINVERSES, Family

NAMED_DRIFTS = ("projection", "baumgarte", "none")
"""Drift treatments by their names in the literature; `drift_treatment` constructs them."""
if TYPE_CHECKING:  # a type checker does not know classes that are created at run time
    Integrator = Pseudoinverse = Formulation = Drift = enum.StrEnum
else:

    def _choice(name: str, words) -> type[enum.StrEnum]:
        return enum.StrEnum(name, {word: word for word in words})

    Integrator = _choice("Integrator", INTEGRATORS.members)
    Pseudoinverse = _choice("Pseudoinverse", PSEUDOINVERSES.members)
    Formulation = _choice("Formulation", FORMULATIONS.members)
    # `Stabilized` is omitted, because "baumgarte" and "none" are its two kinds
    _drifts = [name for name in DRIFTS.members if name != "stabilized"]
    Drift = _choice("Drift", dict.fromkeys((*NAMED_DRIFTS, *_drifts)))


def listed(choices: type[enum.StrEnum]) -> str:
    """Choices for a help text; in the list of options typer would break them within words."""
    return ", ".join(choices)


def method(family: Family, choice: enum.StrEnum | None):
    """The chosen member of a family; None for None."""
    return None if choice is None else family.members[choice.value].load()()


def drift_treatment(choice: enum.StrEnum | None, alpha: float | None, beta: float | None):
    """The drift treatment; None if all arguments are None.

    Args:
        choice: one of `NAMED_DRIFTS`, or a member of the family, with its default settings.
        alpha, beta: rates of Baumgarte's term [1/s], which `projection` adds at the stages.

    Raises:
        UserError: for alpha without beta or the reverse, for `baumgarte` without them, and for any
            choice other than `projection` and `baumgarte` with them.
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
