"""Names of methods on the command line, and the methods."""

from __future__ import annotations

import enum

from zwang.cli.failure import UserError


class Integrator(enum.StrEnum):
    dopri8 = "dopri8"
    tsit5 = "tsit5"
    kvaerno5 = "kvaerno5"
    rattle = "rattle"


class Drift(enum.StrEnum):
    projection = "projection"
    baumgarte = "baumgarte"
    none = "none"


class Pseudoinverse(enum.StrEnum):
    proximal = "proximal"
    complete_orthogonal = "complete-orthogonal"
    svd = "svd"
    varga = "varga"
    greville = "greville"
    householder = "householder"
    gram_schmidt = "gram-schmidt"


CLASS_NAMES = {
    "dopri8": "Dopri8",
    "tsit5": "Tsit5",
    "kvaerno5": "Kvaerno5",
    "rattle": "Rattle",
    "proximal": "Proximal",
    "complete-orthogonal": "CompleteOrthogonal",
    "svd": "SVD",
    "varga": "Varga",
    "greville": "Greville",
    "householder": "Householder",
    "gram-schmidt": "GramSchmidt",
}


def method(choice: enum.StrEnum | None):
    """The integrator or pseudoinverse of a name; None for None."""
    if choice is None:
        return None
    import zwang

    return getattr(zwang, CLASS_NAMES[choice.value])()


def drift_treatment(choice: Drift | None, alpha: float | None, beta: float | None):
    """The drift treatment; with `projection`, alpha and beta add a Baumgarte term at the stages;
    None for None of all.

    Raises:
        UserError: for alpha without beta or the reverse, `baumgarte` without either, `none` with
            them.
    """
    if (alpha is None) != (beta is None):
        raise UserError(
            f"--alpha and --beta belong together: --{'beta' if beta is None else 'alpha'} is "
            "missing."
        )
    if choice is Drift.none and alpha is not None:
        raise UserError("--drift none takes no --alpha and --beta.")
    if choice is Drift.baumgarte and alpha is None:
        raise UserError("--drift baumgarte needs its rates, for example --alpha 5 --beta 5 [1/s].")
    if choice is None and alpha is None:
        return None
    from zwang.dynamics.drift import Baumgarte, BaumgarteRates, NoStabilization, Projection

    if choice is Drift.none:
        return NoStabilization()
    if alpha is None or beta is None:
        return Projection()
    return (
        Baumgarte(alpha, beta)
        if choice is Drift.baumgarte
        else Projection(stabilization=BaumgarteRates(alpha, beta))
    )
