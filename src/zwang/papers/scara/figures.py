"""Redrawn Figures 2-10, and in addition the same run with a loose tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from zwang.output.report.figures import Chart
from zwang.output.report.tables import Table
from zwang.papers.scara import robot, runs
from zwang.papers.scara.runs import Outcome
from zwang.plots import Curve, Panel, Picture
from zwang.plots.data import INK, PALETTE
from zwang.simulation.results.plot import lines

EXACT = {"color": INK, "dash": (2.2, 3.8), "width": 1.5}
"""Style of theoretical curves: dotted, over the computed line."""


def charts(outcomes: Mapping[str, Outcome], loose: Mapping[float, Outcome]) -> list[Chart]:
    """The figures in the paper's order, for the initial state with exact angles and printed
    velocities.
    """
    free, held = outcomes["paper, none"], outcomes["paper, Baumgarte"]
    return [
        _joints(free, "figure2", "Figure 2: joints without stabilization, and on the path"),
        _path(free, "figure3", "Figure 3: path of the hand without stabilization, and asked for"),
        _errors(
            [free], "figure4", "Figure 4: errors of the joints without stabilization", joints=True
        ),
        _errors(
            [free], "figure5", "Figure 5: errors of the hand without stabilization", joints=False
        ),
        _joints(
            held, "figure6", "Figure 6: joints with Baumgarte's stabilization, and on the path"
        ),
        _path(
            held,
            "figure7",
            "Figure 7: path of the hand with Baumgarte's stabilization, and asked for",
        ),
        _errors(
            [free, held],
            "figure8",
            "Figure 8: errors of the joints without and with stabilization",
            joints=True,
        ),
        _errors(
            [free, held],
            "figure9",
            "Figure 9: errors of the hand without and with stabilization",
            joints=False,
        ),
        _torques(outcomes),
        _loose(free, loose),
    ]


def _joints(run: Outcome, key: str, title: str) -> Chart:
    exact = runs.theory(run.t)
    panels = []
    for rows, ylabel in (([0, 1, 2], "angle [rad]"), ([3], "lift [m]")):
        drawn = [Curve(run.t, run.q[row], f"q{row + 1}") for row in rows]
        dotted = [
            Curve(run.t, exact[row], "on the path" if row == rows[0] else "", **EXACT)
            for row in rows
        ]
        panels.append(Panel(drawn + dotted, ylabel))
    caption = "(a) angles, (b) the lift. Dotted: the joints of a hand that is on its path."
    return _chart(
        key,
        title,
        caption,
        panels,
        run,
        [("q1", "rad"), ("q2", "rad"), ("q3", "rad"), ("q4", "m")],
        run.q,
    )


def _path(run: Outcome, key: str, title: str) -> Chart:
    p = robot.numbers()
    w = float(p["frequency"])
    asked = [
        p["radius"] * np.sin(w * run.t),
        p["middle"] + p["radius"] * np.cos(w * run.t),
        p["climb"] * run.t,
    ]
    hand = [a + off for a, off in zip(asked, run.off[[0, 1, 3]], strict=True)]
    panels = [
        Panel(
            [
                Curve(hand[2], hand[up], "hand", dot=True),
                Curve(asked[2], asked[up], "asked for", **EXACT),
            ],
            f"{'xy'[up]} [m]",
        )
        for up in (0, 1)
    ]
    caption = "The helix, lying, from two sides; the dot is the start."
    table = Table(run.t, [("x", "m"), ("y", "m"), ("z", "m")], np.stack(hand).T)
    return Chart(
        key, title, caption, Picture(panels, "z [m]", height=2.0, equal=True), {key: table}
    )


def _errors(drawn: Sequence[Outcome], key: str, title: str, *, joints: bool) -> Chart:
    names = ["q1", "q2", "q3", "q4"] if joints else ["x", "y", "z"]
    units = ["mrad", "mrad", "mrad", "mm"] if joints else ["mm", "mm", "mm"]
    each = [1e3 * (run.q - runs.theory(run.t) if joints else run.off[[0, 1, 3]]) for run in drawn]
    panels = []
    for row, (name, unit) in enumerate(zip(names, units, strict=True)):
        labels = ["without", "with α = 0.5, β = 200"] if len(drawn) > 1 and row == 0 else []
        panels.append(
            lines(
                drawn[0].t,
                np.stack([off[row] for off in each], axis=1),
                labels,
                f"{name} error [{unit}]",
            )
        )
    if joints:
        caption = (
            "Joints minus those of a hand on its path. The hand's linear errors, seen through "
            "the moving arm."
        )
    else:
        caption = "Straight lines: without stabilization Φ(t) = Φ₀ + t Φ̇₀."
    if len(drawn) > 1:
        caption += " With it, errors of at most 0.04 swing twice a second and decay as exp(−t/4)."
    return _chart(
        key,
        title,
        caption,
        panels,
        drawn[-1],
        list(zip(names, units, strict=True)),
        each[-1],
        height=1.3,
    )


def _torques(outcomes: Mapping[str, Outcome]) -> Chart:
    run, rounded = outcomes["paper, Baumgarte"], outcomes["rounded, Baumgarte"]
    panels = [
        lines(run.t, run.torques[:3].T, ["Q1", "Q2", "Q3"], "torque [N·m]"),
        lines(run.t, run.torques[3:].T, ["Q4"], "Q4 [N]"),
        lines(rounded.t, rounded.torques[:3].T, ["Q1", "Q2", "Q3"], "torque [N·m]"),
    ]
    caption = (
        "(a) torques of the three drives and (b) force of the lift, started with exact angles "
        "and printed speeds. Below: torques of the start with printed angles, 30°, −55°, 24°, "
        "where the stabilization first has to pull the hand onto its path."
    )
    columns = [("Q1", "N·m"), ("Q2", "N·m"), ("Q3", "N·m"), ("Q4", "N")]
    return _chart(
        "figure10", "Figure 10: constraint torques", caption, panels, run, columns, run.torques
    )


def _loose(free: Outcome, loose: Mapping[float, Outcome]) -> Chart:
    style, panels = (
        {"color": PALETTE[1], "width": 0.8, "alpha": 0.7, "marker": "o", "size": 1.5},
        [],
    )
    for row, name in enumerate("xy"):
        labels = ["ode45's default tolerances, nine first steps"] + [""] * (len(loose) - 1)
        curves = [
            Curve(run.t, 1e3 * run.off[row], label, **style)
            for run, label in zip(loose.values(), labels, strict=True)
        ]
        curves.append(Curve(free.t, 1e3 * free.off[row], "exact: linear", PALETTE[0], 1.8))
        panels.append(Panel(curves, f"{name} error [mm]"))
    caption = (
        "Why the printed errors in x and y do not come out: the same start, and the same "
        "equation, by Dormand and Prince's pair at rtol 1e−3, atol 1e−6, the defaults of "
        "MATLAB. The runs differ only by their first step, 1 to 200 ms. What the paper takes "
        "for constraint drift, 8e−4 m in x and 7e−3 m in y, is less than the error of such an "
        "integration."
    )
    return _chart(
        "loose",
        "Beyond the paper: a loose integrator",
        caption,
        panels,
        free,
        [("x", "m"), ("y", "m")],
        free.off[:2],
    )


def _chart(
    key,
    title,
    caption,
    panels,
    run: Outcome,
    columns: list[tuple[str, str]],
    values: np.ndarray,
    **options,
) -> Chart:
    return Chart(
        key, title, caption, Picture(panels, **options), {key: Table(run.t, columns, values.T)}
    )
