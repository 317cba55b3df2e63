"""Papers recomputed, and members of the gallery whose motion is known in closed form."""

from __future__ import annotations

import math

import zwang as zw
from verification.line import AGREES, DIFFERS, Line, judged
from zwang.gallery.index import ENTRIES
from zwang.papers import PAPERS, reproduce
from zwang.papers.claim import Verdict

ALLOWED = 1e-6
"""Largest error of a coordinate of a gallery member beside its exact solution, in m or rad, at
`RTOL`.
"""
RTOL = 1e-10


def lines(suite: str) -> list[Line]:
    """The lines of one suite."""
    return exact() if suite == "exact" else claims(suite)


def claims(name: str) -> list[Line]:
    """Every claim of a paper, as `zwang reproduce` judges it."""
    page = reproduce(name, lambda share, what: None)
    return [
        Line(
            PAPERS[name].citation,
            claim.place,
            claim.what,
            claim.printed,
            claim.ours,
            math.nan,
            math.nan,
            DIFFERS if claim.verdict is Verdict.NOT else AGREES,
            claim.why,
            f"zwang reproduce {name}",
        )
        for claim in page.claims
    ]


def exact() -> list[Line]:
    """Every member of the gallery that knows its exact motion."""
    made = []
    for entry in ENTRIES.values():
        example = zw.gallery.load(entry.name)
        if example.exact is None:
            continue
        errors = example.errors(example.run(rtol=RTOL))
        worst = max(errors, key=lambda name: errors[name])
        made.append(
            Line(
                "Closed forms",
                entry.name,
                f"{entry.summary} ({entry.source})",
                "exact",
                f"{errors[worst]:.1e} in {worst}",
                errors[worst],
                ALLOWED,
                judged(errors[worst], ALLOWED),
                "",
                f"zwang run {entry.name} --rtol {RTOL:g}",
            )
        )
    return made
