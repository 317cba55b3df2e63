"""The swarm: the printed law requires β̇ = 0, which keeps ‖β‖ constant; with two other
interpretations it decreases.
"""

from __future__ import annotations

import numpy as np

import zwang.gallery
from zwang.gallery.swarm import PENTAGON, error, slope
from zwang.papers.claim import Claim, Part, Verdict, compared
from zwang.papers.drawing import curves
from zwang.simulation.results import Run

GATHERED = 0.01
"""‖β‖ that is reached according to the paper [m/s]."""
PULL = 2.0
"""k of b = φ − k β [1/s]."""
ERROR_KEPT = 1e-8
"""Deviations that count as zero: ten seconds at rtol 1e-10, for values up to 57."""


def reproduced() -> Part:
    """Eq. (60)-(65), Figures 7 and 8."""
    rest, scattered = (_run(start, 0.0) for start in ("rest", "scattered"))
    pulled, consistent = _run("rest", PULL), _run("consistent", 0.0, duration=20.0)
    names = [f"robot {i}" for i in range(1, 6)]
    places = consistent.steps.y[:, :10].reshape(-1, 5, 2).transpose(1, 2, 0)
    slopes = np.array([np.linalg.norm(slope(q)) for q in consistent.steps.y[:, :10]])
    figures = [
        curves(
            "figure7",
            "Figure 7: paths of the five robots",
            "From a start that obeys eq. (61); they end on a regular pentagon.",
            ("x [m]", "y [m]"),
            {name: tuple(place) for name, place in zip(names, places, strict=True)},
            path=True,
        ),
        curves(
            "figure8",
            "Figure 8: ‖β‖ over time",
            "The printed law keeps it. With b = φ − kβ it falls as exp(−kt); from a start with "
            "β = 0 it is round-off, and what falls is the slope ‖Σ∇G‖, the speed asked for.",
            ("time [s]", "‖β‖, ‖Σ∇G‖ [m/s]"),
            {
                "‖β‖, printed law, from rest": (rest.steps.t, error(rest)),
                "‖β‖, printed law, scattered": (scattered.steps.t, error(scattered)),
                "‖β‖, b = φ − 2β, from rest": (pulled.steps.t, error(pulled)),
                "‖Σ∇G‖, start with β = 0": (consistent.steps.t, slopes),
                "‖β‖, start with β = 0": (consistent.steps.t, error(consistent)),
            },
            logarithmic=True,
        ),
    ]
    return Part(_claims(rest, scattered, pulled, consistent, slopes), charts=figures)


def _run(start: str, pull: float, **when) -> Run:
    return zwang.gallery.load("swarm", start=start, pull=pull).run(**when)


def _claims(
    rest: Run, scattered: Run, pulled: Run, consistent: Run, slopes: np.ndarray
) -> list[Claim]:
    # the printed law keeps the error constant, so a change is the error of the integrator
    kept = max(float(np.ptp(error(run))) for run in (rest, scattered))
    moved = float(np.abs(rest.q[-1] - rest.q[0]).max())
    printed = Claim(
        "eq. (64), Figure 8",
        "‖β‖ falls from a large value below 0.01 under eq. (64)",
        "below 0.01 m/s",
        f"stays at {error(rest)[-1]:.4f} and {error(scattered)[-1]:.4f} m/s",
        compared(min(error(rest)[-1], error(scattered)[-1]) < GATHERED),
        f"b = φ asks for β̇ = 0 alone: ‖β‖ changes by {kept:.0e} in 10 s, and robots at rest "
        f"move by {moved:.0e} m.",
        Verdict.NOT,
    )
    law = "b = φ − k β in place of b = φ, k = 2/s."
    beta = error(pulled)
    decay = float(np.abs(beta - beta[0] * np.exp(-PULL * pulled.steps.t)).max())
    reached = float(np.log(beta[0] / GATHERED) / PULL)
    first = Claim(
        "Figure 8",
        "‖β‖ falls below 0.01, first reading: the error is fed back",
        "rapidly",
        f"β₀ exp(−kt) to {decay:.0e}, below 0.01 m/s at {reached:.1f} s",
        compared(decay < ERROR_KEPT, law),
        law,
        Verdict.CORRECTED,
    )
    meaning = "A start with β = 0, and the slope ‖Σ∇G‖ in place of ‖β‖."
    falls, held = slopes[-1], float(error(consistent).max())
    second = Claim(
        "Figure 8",
        "‖β‖ falls below 0.01, second reading: the figure shows the slope",
        "rapidly",
        f"‖Σ∇G‖ from {slopes[0]:.1f} to {falls:.0e} m/s, ‖β‖ ≤ {held:.0e}",
        compared(bool(falls < GATHERED and held < ERROR_KEPT), meaning),
        meaning,
        Verdict.CORRECTED,
    )
    # relative to their center, which the law keeps fixed
    places = consistent.q[-1].reshape(5, 2)
    radius = np.linalg.norm(places - places.mean(axis=0), axis=1)
    off = float(np.abs(radius - PENTAGON).max())
    # the distance of a robot from itself does not count
    apart = np.linalg.norm(
        consistent.q.reshape(-1, 5, 1, 2) - consistent.q.reshape(-1, 1, 5, 2), axis=-1
    ) + 9 * np.eye(5)
    return [
        printed,
        first,
        second,
        Claim(
            "Figure 7",
            "the robots gather and never collide",
            "that",
            f"never closer than {apart.min():.3f} m",
            compared(bool(apart.min() > 0.3)),
        ),
        Claim(
            "Figure 7",
            "where they come to rest",
            "around the center",
            f"regular pentagon of radius {radius.mean():.6f} m, off by {off:.0e}",
            compared(off < 1e-6),
            "0.1/tan(π/10), where Σ(1 − 0.5/d) d vanishes.",
        ),
    ]
