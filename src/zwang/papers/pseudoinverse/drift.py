"""The failure of the runs of Tables 7-9, explained in two steps, each computed and drawn.

At rank 11 the equation enforces `ψ̇ = 0` only along eleven of twelve directions. It does not
control the component of a violation along the twelfth, u₁₂(q), the left null vector of D = Ψ_q
M^-1/2. Because u₁₂ rotates, `η = u₁₂ᵀφ` obeys

    η̈ = |u̇₁₂|² η                 growth by about exp ∫ |u̇₁₂| dt

It grows from round-off, however small the violation along the other eleven directions is. The
singular value σ₁₂, which should be zero, becomes about as large as η. When it exceeds the
threshold, which the paper sets to TOL, the twelfth row counts as independent, and the linkage with
twelve coordinates stops.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from zwang.gallery.drawing import one
from zwang.output.report.figures import Chart
from zwang.output.report.tables import Table
from zwang.papers.claim import Claim, compared
from zwang.papers.drawing import across_the_page, told_apart
from zwang.papers.pseudoinverse.linkage import DURATION, METHODS, Outcome, linkage, matrices
from zwang.papers.pseudoinverse.printed import TOLERANCES
from zwang.papers.pseudoinverse.tables import Runs
from zwang.plots import Curve, Picture, joined
from zwang.plots.data import MUTED, PALETTE
from zwang.simulation.results.plot import lines

START_ROUND_OFF = 1e-16
"""Initial size of the violation."""
INSTANTS = 2001
"""Number of instants at which the null vector is computed."""


def turning(angle: float, t: np.ndarray) -> np.ndarray:
    """`∫ |u̇₁₂| dt` along the exact motion from rest at `angle` [deg], shape (k,), with chords in
    place of arcs.
    """
    exact = linkage(angle).exact
    assert exact is not None
    theta = exact(t)["crank 1.angle"]
    u = np.linalg.svd(matrices(configurations(theta)))[0][:, :, -1]
    # the sign of u₁₂ is arbitrary
    steps = np.minimum(
        np.linalg.norm(u[1:] - u[:-1], axis=1), np.linalg.norm(u[1:] + u[:-1], axis=1)
    )
    # chords approximate the arcs between close instants
    return np.concatenate([[0.0], np.cumsum(steps)])


def configurations(theta: np.ndarray) -> np.ndarray:
    """q of the parallel linkage for given crank angles, shape (k, 12)."""
    c, s, zero = np.cos(theta), np.sin(theta), 0 * theta
    cranks = [part for pivot in (0.0, 1.0, 2.0) for part in (pivot + c / 2, s / 2, theta)]
    return np.stack([*cranks, 1 + c, s, zero], axis=1)


def smallest(q: np.ndarray) -> np.ndarray:
    """σ₁₂ relative to σ₁, shape (k,)."""
    sigma = np.linalg.svd(matrices(q), compute_uv=False)
    return sigma[:, -1] / sigma[:, 0]


def locked_from(t: np.ndarray, ratio: np.ndarray, threshold: float) -> float:
    """The first instant at which σ₁₂ is above the threshold [s]; NaN if there is none."""
    above = np.flatnonzero(ratio > threshold)
    return float(t[above[0]]) if len(above) else float("nan")


def claims(runs: Runs) -> list[Claim]:
    """For methods with singular values, failure follows when σ₁₂ exceeds the threshold."""
    made = []
    for number, tolerance in enumerate(TOLERANCES, start=7):
        run = runs["SVD", False, tolerance]
        locked = locked_from(run.t, smallest(run.q), tolerance)
        # a tolerance of a quarter, because the size of the initial round-off is known only within a
        # factor
        agrees = locked <= run.t[-1] and abs(locked - run.correct_until) < 0.25 * run.correct_until
        made.append(
            Claim(
                f"Table {number}, drift mechanism",
                f"SVD at TOL {tolerance:g} fails when σ₁₂/σ₁ passes the threshold TOL",
                "failure not explained",
                f"passes at {locked:.1f} s, correct until {run.correct_until:.1f} s",
                compared(bool(agrees)),
                "Its share along the twelfth direction grows by exp ∫|u̇₁₂|dt from round-off; "
                "above the threshold the linkage locks.",
            )
        )
    sizes = np.linalg.svd(matrices(configurations(np.radians([-50.0, 0.0]))), compute_uv=False)
    ranks = (sizes > 1e-10 * sizes[:, :1]).sum(axis=1)
    made.append(
        Claim(
            "Simulation results",
            "rank of the Jacobian, m = n = 12",
            "11",
            f"{ranks[0]}; {ranks[1]} where all bars are collinear",
            compared(bool(ranks[0] == 11)),
            "The paper's rank is that of every other configuration.",
        )
    )
    return made


def charts(runs: Runs, defaults: Mapping[float, Outcome]) -> list[Chart]:
    """Figures 1 and 2 redrawn, and the mechanism."""
    return [
        _figure_1(defaults),
        *(_figure_2(runs, stabilized) for stabilized in (False, True)),
        _mechanism(runs),
    ]


def _figure_1(defaults: Mapping[float, Outcome]) -> Chart:
    run, curves = defaults[TOLERANCES[0]], []
    for share, t in zip((0.25, 0.5, 1.0), (0.0, 0.3, 0.6), strict=True):
        x, y, angle = run.q[np.argmin(abs(run.t - t))].reshape(4, 3).T
        half = np.array([0.5, 0.5, 0.5, 1.0])
        reach = half * np.stack([np.cos(angle), np.sin(angle)])
        bars = np.stack([np.stack([x, y]) - reach, np.stack([x, y]) + reach]).transpose(2, 0, 1)
        curves.append(joined(bars, color=PALETTE[0], alpha=share, marker="o"))
    curves.append(Curve([0, 1, 2], 0, color=MUTED, width=0, marker="^", size=7))
    caption = (
        "The five-bar linkage at 0, 0.3 and 0.6 s, later ones darker: three parallel cranks of 1 "
        "m on pivots 1 m apart, one coupler."
    )
    return Chart(
        "figure1",
        "Figure 1: the linkage",
        caption,
        across_the_page(one(curves, "x [m]", "y [m]", equal=True)),
        {},
    )


def _figure_2(runs: Runs, stabilized: bool) -> Chart:
    panels = []
    for tolerance in TOLERANCES:
        every = [runs[name, stabilized, tolerance] for name in METHODS]
        t = np.linspace(0, DURATION, 400)
        values = np.stack([_on(t, run.t, run.violation) for run in every], axis=1)
        panel = lines(t, values, list(METHODS), "ΣΨ² [m²]", logarithmic=True, span=12)
        panel = told_apart(panel)
        panels.append(dataclasses.replace(panel, heading=f"TOL {tolerance:.0e}"))
    part = "b" if stabilized else "a"
    what = "with Baumgarte, α = 1000, β = 100" if stabilized else "without stabilization"
    caption = (
        f"Sum of squares of the position residuals {what}. Lines end where a run was given up; "
        "those that coincide are drawn once, the longest of them."
    )
    return Chart(
        f"figure2{part}",
        f"Figure 2{part}: violation of the position constraints, {what}",
        caption,
        Picture(panels),
        {},
    )


def _on(t: np.ndarray, known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at other instants; NaN beyond the last one."""
    return np.exp(np.interp(t, known, np.log(np.maximum(values, 1e-40)), right=np.nan))


def _mechanism(runs: Runs) -> Chart:
    t = np.linspace(0, DURATION, INSTANTS)
    growth = START_ROUND_OFF * np.exp(turning(-50.0, t))
    sigma = [_on(t, runs["SVD", False, x].t, smallest(runs["SVD", False, x].q)) for x in TOLERANCES]
    labels = [*(f"TOL {x:.0e}" for x in TOLERANCES), "1e−16 exp ∫|u̇₁₂| dt"]
    above = lines(
        t, np.stack([*sigma, growth], axis=1), labels, "σ₁₂/σ₁ [1]", logarithmic=True, span=12
    )
    thresholds = [
        Curve(t[[0, -1]], x, color=color, width=0.8, dash=(4.0, 2.4))
        for color, x in zip(PALETTE, TOLERANCES, strict=False)
    ]
    violation = [
        _on(t, run.t, np.sqrt(run.violation)) for run in (runs["SVD", False, x] for x in TOLERANCES)
    ]
    labels = [f"TOL {x:.0e}" for x in TOLERANCES]
    below = lines(t, np.stack(violation, axis=1), labels, "|φ| [m]", logarithmic=True, span=12)
    picture = Picture([dataclasses.replace(above, curves=[*above.curves, *thresholds]), below])
    caption = (
        "SVD without stabilization. Above: the twelfth singular value, beside the growth from "
        "round-off that the turning of its null vector predicts; dashed, the threshold below "
        "which it counts as zero. Where a line passes its threshold, the linkage has twelve "
        "independent rows, and its motion is wrong from there on. Below: the violation, nearly "
        "all of it the integrator's error along the other eleven directions, which does not "
        "lock the linkage."
    )
    return Chart(
        "mechanism",
        "Drift: how round-off locks the linkage",
        caption,
        picture,
        {"growth": Table(t, [("growth", "m")], growth[:, None])},
    )
