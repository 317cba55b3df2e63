"""Orsino: a recursive hierarchical modelling of constrained systems, and its similarity to the
Kalman filter.

| file | content |
|---|---|
| `problems.py` | random problems in three levels, and their solution by other methods |
| `claims.py` | equations (3.4)-(4.18) and their corollaries |
| `statements.py` | Proposition 3.1, Theorem 3.2, order k, a full R |
| `mechanism.py` | Figures 1-4: the 3RRR mechanism level by level |
"""

from __future__ import annotations

from collections.abc import Callable

from zwang.papers.claim import Page
from zwang.papers.recursive import claims, mechanism, statements
from zwang.papers.recursive.problems import PROBLEMS, ROWS, N


def reproduce(progress: Callable[[float, str], None]) -> Page:
    """Recompute the recursion, its corollaries, clearances, singular mass and the 3RRR
    mechanism.
    """
    progress(0.0, "recursion and corollaries")
    made, charts = claims.claims()
    progress(0.5, "Proposition 3.1, Theorem 3.2")
    stated = statements.claims()
    progress(0.7, "the 3RRR mechanism")
    more, grids, drawn = mechanism.claims()
    return Page(
        "recursive",
        lead=(
            "The paper enforces constraints level by level and finds that the recursion is a "
            "Kalman filter whose measurements are constraints. Both hold. Two cautions: the "
            "inverse in (4.16) needs independent rows, where the pseudoinverse of H̃P does not, "
            "and the recursion gives a {1,4}-inverse that is not Moore and Penrose's once rows "
            "depend on each other. The motion is the same, unless rows contradict each other: "
            "then the recursion keeps the lower level, and solving at once takes a mean."
        ),
        choices=(
            f"{PROBLEMS} random problems with {N} coordinates and levels of "
            f"{', '.join(map(str, ROWS))} rows; of the dependent ones, a row of level 2 is the "
            "sum of the rows of level 1.",
            "The stars of conjugate transposes, which the text at hand has lost: γ − φ = A*λ, "
            "S*γ = S*φ, [S*M; A], (I − K H̃)* and K R K*.",
            "The parameters of the mechanism, which stand in a supplement: pivots at 0.5 m, "
            "bars 0.25 m and 0.35 m, platform radius 0.1 m, no gravity, torques 0.03 sin 4t, "
            "0.02 cos 3t and −0.025 sin 5t N m.",
        ),
        claims=[*stated, *made, *more],
        grids=grids,
        charts=[*charts, *drawn],
    )
