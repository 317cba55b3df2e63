"""Liu et al.: nonideal constraints, and servo control of systems with too few and with too many
actuators.

| file | what |
|---|---|
| `friction.py` | nonideal constraints (12), (13) on a rough incline and two rough rings |
| `spring.py` | two masses and a spring, eq. (36)-(47) |
| `robots.py` | the coordinated robots, eq. (48)-(71), (A1)-(A4), Figures 3-14 |
"""

from __future__ import annotations

from collections.abc import Callable

from zwang.papers.claim import Page, gathered
from zwang.papers.servo import friction, robots, spring


def reproduce(progress: Callable[[float, str], None]) -> Page:
    """Recompute the nonideal constraints and both servo-controlled systems."""
    found = gathered(
        {
            "nonideal constraints": friction.reproduced,
            "two-mass-spring": spring.reproduced,
            "coordinated-robots": robots.reproduced,
        },
        progress,
    )
    return Page(
        "servo",
        lead=(
            "The equations hold, but for misprints. The printed force of the spring system "
            "keeps every error of its start, and the torques of the robots come out as printed "
            "when the hinge's force in eq. (71) is the one that really acts."
        ),
        choices=(
            "Masses, stiffness and lengths of the spring system; slopes, rings and friction "
            "coefficients of the nonideal constraints.",
            "Robots: Table I is missing. The start follows from Figure 3 and eq. (64): (60, "
            "−60, 0, 60, −60)°, at rest, 3 l between the bases; masses 1 kg, inertias 1 kg m², "
            "lengths 1 m, and the printed g = 9.8 m/s².",
        ),
        claims=found.claims,
        grids=found.grids,
        charts=found.charts,
    )
