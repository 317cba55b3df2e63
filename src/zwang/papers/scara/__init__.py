"""Xu and Liu: a SCARA robot on a helix, by the product of exponentials, with and without
stabilization.

| file | content |
|---|---|
| `robot.py` | the robot as a chain of screws, in the paper's closed form, and on its path |
| `misprints.py` | misprinted equations with their errors |
| `runs.py` | the runs of the paper, with projection, and with a loose integrator |
| `claims.py` | the paper's statements compared with our results |
| `figures.py` | Figures 2-10 |
"""

from __future__ import annotations

from collections.abc import Callable

from zwang.papers.claim import Page
from zwang.papers.scara import claims, figures, runs

RUNS = [
    (start, elbow)
    for start, elbow in (
        ("paper", "right"),
        ("rounded", "right"),
        ("exact", "right"),
        ("rounded", "left"),
    )
]
"""Initial states of runs with and without stabilization."""


def reproduce(progress: Callable[[float, str], None]) -> Page:
    """Recompute eq. (7)-(54) and Figures 2-10."""
    outcomes: dict[str, runs.Outcome] = {}
    progress(0.0, "runs")
    for number, (start, elbow) in enumerate(RUNS):
        label = start if elbow == "right" else f"{start} {elbow}"
        outcomes[f"{label}, none"] = runs.servoed(start, elbow, stabilized=False)
        outcomes[f"{label}, Baumgarte"] = runs.servoed(start, elbow, stabilized=True)
        progress(0.3 + 0.05 * number, label)
    for start in ("paper", "rounded"):
        outcomes[f"{start}, projection"] = runs.projected(start)
        progress(0.7, f"{start}, projection")
    loose = {first: runs.loose("paper", first_step=first) for first in runs.FIRST_STEPS}
    progress(0.8, "equations")
    found = claims.claims(outcomes, loose)
    progress(0.95, "figures")
    return Page(
        "scara",
        lead=(
            "The paper writes a SCARA robot by the product of exponentials, asks its hand to "
            "follow a helix, and finds that errors grow unless Baumgarte's stabilization is "
            "added. The equations hold once eight misprints are put right. Without "
            "stabilization the errors are those of the start, exactly linear in time: the robot "
            "has as many constraints as coordinates, and a speed that is 5e−4 m/s off stays so. "
            "The printed errors in x and y are no such drift but of the size of a loose "
            "integrator's error. Stabilization lets a start's error swing for seconds, and "
            "costs torque; projection removes it before the first step."
        ),
        choices=(
            "The start: angles on the path, 30.75°, −54.90°, 24.15°, fitted to the path "
            "itself, and the printed speeds. The printed angles, 30°, 55°, 24°, are not on the "
            "path with any rounding; with the sign of q₂ reversed they are, to 6 mm and 1°.",
            "The end of the runs, 20 s: fitted to the printed error of 0.01 m in z.",
            "g = 9.81 m/s².",
            "zwang runs by Dopri8 at rtol 1e−11; runs at ode45's defaults by SciPy's RK45: the "
            "same pair, another step control.",
        ),
        claims=found,
        grids=claims.grids(outcomes),
        charts=figures.charts(outcomes, loose),
    )
