"""Review of the Udwadia-Kalaba approach: constraints, pseudoinverse, and three systems.

| file | content |
|---|---|
| `basics.py` | kinds of constraints, Lemma 1, Examples 2-4; Propositions 1-5 |
| `comparison.py` | section 6: comparison with Newton and Euler, Lagrange, and Kane |
| `misprints.py` | misprinted equations with their errors |
| `spiral.py` | the particle on a logarithmic spiral, eq. (51)-(59), Figures 2-5 |
| `gathering.py` | the swarm of five robots, eq. (60)-(65), Figures 7 and 8 |
| `arm.py` | the flexible-joint arm, eq. (66)-(72), Figures 10 and 11 |
"""

from __future__ import annotations

from collections.abc import Callable

from zwang.papers.claim import Page, gathered
from zwang.papers.review import arm, basics, comparison, gathering, misprints, spiral


def reproduce(progress: Callable[[float, str], None]) -> Page:
    """Recompute the examples, propositions and systems."""
    found = gathered(
        {
            "constraints and pseudoinverse": basics.reproduced,
            "other methods": comparison.reproduced,
            "misprints": misprints.reproduced,
            "log-spiral": spiral.reproduced,
            "swarm": gathering.reproduced,
            "flexible-joint": arm.reproduced,
        },
        progress,
    )
    return Page(
        "review",
        lead=(
            "The equation and its examples come out, and so do the comparisons of section 6 once "
            "eq. (37) and (40) are put right; that multipliers have no closed form does not hold. "
            "The errors of the spiral are those of the "
            "integrator alone. The printed law of the swarm keeps its error for ever, and the "
            "printed control of the arm makes it unstable where it is applied to the motors; "
            "both do what the figures show after one more term or one more derivative."
        ),
        choices=(
            "Swarm: Table 1 of starts is lost; five places and three sets of velocities are ours.",
            "Arm: all angles zero and motors at rest; the gain P⁻¹, which is not given, takes "
            "1, 2 and 5 per second.",
            "Spiral: the integrator's settings are not given; those of MATLAB's ode45 (rtol "
            "1e-3, atol 1e-6, steps up to a tenth of the time) the steps being the sharpest of "
            "them, and others.",
        ),
        claims=found.claims,
        grids=found.grids,
        charts=found.charts,
    )
