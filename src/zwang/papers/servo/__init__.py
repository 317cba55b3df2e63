"""Liu et al.: nonideal constraints, and servo control of underactuated and redundantly actuated
systems.

| file | content |
|---|---|
| `friction.py` | nonideal constraints (12), (13) on a rough incline and two rough rings |
| `spring.py` | two masses and a spring, eq. (36)-(47) |
| `controllable.py` | Theorem 1, and the misprints as claims |
| `misprints.py` | misprinted equations with their errors |
| `chain.py` | the robots' equations as printed, in NumPy |
| `robots.py` | the coordinated robots, eq. (48)-(71), (A1)-(A4), Figures 3-14 |
"""

from __future__ import annotations

from collections.abc import Callable

from zwang.papers.claim import Page, gathered
from zwang.papers.servo import controllable, friction, robots, spring


def reproduce(progress: Callable[[float, str], None]) -> Page:
    """Recompute the nonideal constraints and both servo-controlled systems."""
    found = gathered(
        {
            "nonideal constraints": friction.reproduced,
            "Theorem 1 and misprints": controllable.reproduced,
            "two-mass-spring": spring.reproduced,
            "coordinated-robots": robots.reproduced,
        },
        progress,
    )
    return Page(
        "servo",
        lead=(
            "The equations hold once their misprints are put right. Section III.B is right, too: "
            "from a start on the constraint its second-order form loses nothing, and the "
            "stabilization that it names takes other errors away, which δ̈ = 0 keeps. Theorem 1 "
            "holds in one direction. The torques of the robots come out as printed when the "
            "hinge's force in eq. (71) is the one that really acts."
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
