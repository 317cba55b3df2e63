"""Nonideal constraints: friction that depends on the ideal force, in cases with closed forms."""

from __future__ import annotations

import zwang.gallery
from zwang.papers.claim import Claim, Part, compared
from zwang.papers.drawing import figures_of

CASES = {
    "incline, downhill": ("rough-incline", {}, "s̈ = g (sin α − μ cos α)"),
    "ring lying flat": ("rough-circle", {}, "speed = v₀/(1 + μ v₀ t/R)"),
}
AGREES = 1e-9
"""Largest error of runs over a few seconds at rtol 1e-10."""


def reproduced() -> Part:
    """Eq. (12), (13) for models of the gallery."""
    claims, charts = [], []
    for what, (name, settings, law) in CASES.items():
        member = zwang.gallery.load(name, **settings)
        run = member.run()
        error = member.error(run)
        claims.append(
            Claim(
                "eq. (12), (13)",
                f"nonideal constraint, Coulomb friction: {what}",
                law,
                f"differs by {error:.0e} m",
                compared(error < AGREES),
                "The paper gives the equation; the case and its closed form are of textbooks.",
            )
        )
        charts += figures_of(
            member,
            run,
            name,
            {title: f"Beyond the paper: {what}, {title.lower()}" for title in member.figures},
        )
    return Part(claims, charts=charts)
