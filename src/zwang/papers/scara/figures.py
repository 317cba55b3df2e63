"""Figures 2-10 redrawn, and what is beyond them: the same run by a loose integrator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np

from zwang.papers.scara import robot, runs
from zwang.papers.scara.runs import Outcome
from zwang.report.figures import Chart
from zwang.report.tables import Table
from zwang.run.plot import INK, PALETTE, STYLE, Picture, arrange, legend, lines, stacked

EXACT = {"color": INK, "ls": (0, (1.5, 2.5)), "lw": 1.5}
"""What theory says is drawn over the computed line, dotted."""


def charts(outcomes: Mapping[str, Outcome], loose: Mapping[float, Outcome]) -> list[Chart]:
    """In the paper's order; those of the start with exact angles and printed speeds."""
    free, held = outcomes["paper, none"], outcomes["paper, Baumgarte"]
    with matplotlib.rc_context(STYLE):
        return [
            _joints(free, "figure2", "Figure 2: joints without stabilization, and on the path"),
            _path(free, "figure3", "Figure 3: path of the hand without stabilization, and asked for"),
            _errors([free], "figure4", "Figure 4: errors of the joints without stabilization", joints=True),
            _errors([free], "figure5", "Figure 5: errors of the hand without stabilization", joints=False),
            _joints(held, "figure6", "Figure 6: joints with Baumgarte's stabilization, and on the path"),
            _path(held, "figure7", "Figure 7: path of the hand with Baumgarte's stabilization, and asked for"),
            _errors([free, held], "figure8", "Figure 8: errors of the joints without and with stabilization", joints=True),
            _errors([free, held], "figure9", "Figure 9: errors of the hand without and with stabilization", joints=False),
            _torques(outcomes),
            _loose(free, loose),
        ]


def _joints(run: Outcome, key: str, title: str) -> Chart:
    figure, panels = stacked(2)
    exact = runs.theory(run.t)
    lines(panels[0], run.t, run.q[:3].T, ["q1", "q2", "q3"], "angle [rad]")
    lines(panels[1], run.t, run.q[3:].T, ["q4"], "q4 [m]")
    for axes, rows in zip(panels, ([0, 1, 2], [3]), strict=True):
        drawn = [axes.plot(run.t, exact[row], **EXACT)[0] for row in rows]
        handles = [line for line in axes.get_lines() if line not in drawn]
        legend(axes, [*handles, drawn[0]], [*(f"q{row + 1}" for row in rows), "on the path"])
    arrange(figure, panels)
    caption = "(a) angles, (b) the lift. Dotted: the joints of a hand that is on its path."
    return _chart(key, title, caption, figure, run, [("q1", "rad"), ("q2", "rad"), ("q3", "rad"), ("q4", "m")], run.q)


def _path(run: Outcome, key: str, title: str) -> Chart:
    figure = Picture(figsize=(9.2, 4.4))
    p = robot.numbers()
    w = float(p["frequency"])
    asked = [p["radius"] * np.sin(w * run.t), p["middle"] + p["radius"] * np.cos(w * run.t), p["climb"] * run.t]
    hand = [a + off for a, off in zip(asked, run.off[[0, 1, 3]], strict=True)]
    space = figure.add_axes((0.0, 0.02, 0.5, 0.96), projection="3d")
    space.plot(*hand, color=PALETTE[0])
    space.plot(*asked, **EXACT)
    space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", xticks=[-0.05, 0, 0.05], yticks=[0.3, 0.35, 0.4])
    space.set_box_aspect((1, 1, 1.5), zoom=0.82)  # type: ignore[call-arg]
    for axis in (space.xaxis, space.yaxis, space.zaxis):  # type: ignore[attr-defined]
        axis.pane.set_visible(False)  # type: ignore[attr-defined]
    plane = figure.add_axes((0.6, 0.12, 0.38, 0.8))
    (drawn,) = plane.plot(hand[0], hand[1])
    (dotted,) = plane.plot(asked[0], asked[1], **EXACT)
    plane.set(xlabel="x [m]", ylabel="y [m]")
    plane.set_aspect("equal", adjustable="datalim")
    legend(plane, [drawn, dotted], ["hand", "asked for"])
    caption = "The helix in space, z stretched by half, and from above."
    return _chart(key, title, caption, figure, run, [("x", "m"), ("y", "m"), ("z", "m")], np.stack(hand))


def _errors(drawn: Sequence[Outcome], key: str, title: str, *, joints: bool) -> Chart:
    names = ["q1", "q2", "q3", "q4"] if joints else ["x", "y", "z"]
    units = ["mrad", "mrad", "mrad", "mm"] if joints else ["mm", "mm", "mm"]
    each = [1e3 * (run.q - runs.theory(run.t) if joints else run.off[[0, 1, 3]]) for run in drawn]
    figure, panels = stacked(len(names))
    for row, (axes, name, unit) in enumerate(zip(panels, names, units, strict=True)):
        labels = ["without", "with α = 0.5, β = 200"] if len(drawn) > 1 and row == 0 else []
        lines(axes, drawn[0].t, np.stack([off[row] for off in each], axis=1), labels, f"{name} error [{unit}]")
    arrange(figure, panels, height=1.3)
    if joints:
        caption = "Joints minus those of a hand on its path. The hand's linear errors, seen through the moving arm."
    else:
        caption = "Straight lines: without stabilization Φ(t) = Φ₀ + t Φ̇₀."
    if len(drawn) > 1:
        caption += " With it, errors of at most 0.04 swing twice a second and decay as exp(−t/4)."
    return _chart(key, title, caption, figure, drawn[-1], list(zip(names, units, strict=True)), each[-1])


def _torques(outcomes: Mapping[str, Outcome]) -> Chart:
    figure, panels = stacked(3)
    run, rounded = outcomes["paper, Baumgarte"], outcomes["rounded, Baumgarte"]
    lines(panels[0], run.t, run.torques[:3].T, ["Q1", "Q2", "Q3"], "torque [N·m]")
    lines(panels[1], run.t, run.torques[3:].T, ["Q4"], "Q4 [N]")
    lines(panels[2], rounded.t, rounded.torques[:3].T, ["Q1", "Q2", "Q3"], "torque [N·m]")
    arrange(figure, panels)
    caption = (
        "(a) torques of the three drives and (b) force of the lift, started with exact angles and printed speeds. Below: torques of the "
        "start with printed angles, 30°, −55°, 24°, where the stabilization first has to pull the hand onto its path."
    )
    columns = [("Q1", "N·m"), ("Q2", "N·m"), ("Q3", "N·m"), ("Q4", "N")]
    return _chart("figure10", "Figure 10: constraint torques", caption, figure, run, columns, run.torques)


def _loose(free: Outcome, loose: Mapping[float, Outcome]) -> Chart:
    figure, panels = stacked(2)
    for axes, row, name in zip(panels, (0, 1), "xy", strict=True):
        lines(axes, free.t, 1e3 * free.off[row][:, None], [], f"{name} error [mm]")
        for run in loose.values():
            axes.plot(run.t, 1e3 * run.off[row], color=PALETTE[1], lw=0.8, alpha=0.7, marker=".", ms=3)
        (axes.get_lines()[0]).set(zorder=5, lw=1.8)
        legend(
            axes, [axes.get_lines()[0], axes.get_lines()[1]], ["exact: linear", "ode45's default tolerances, nine first steps"]
        )
    arrange(figure, panels)
    caption = (
        "Why the printed errors in x and y do not come out: the same start, and the same equation, by Dormand and Prince's pair "
        "at rtol 1e−3, atol 1e−6, the defaults of MATLAB. The runs differ only by their first step, 1 to 200 ms. What the paper takes for "
        "constraint drift, 8e−4 m in x and 7e−3 m in y, is less than the error of such an integration."
    )
    return _chart("loose", "Beyond the paper: a loose integrator", caption, figure, free, [("x", "m"), ("y", "m")], free.off[:2])


def _chart(key: str, title: str, caption: str, figure, run: Outcome, columns: list[tuple[str, str]], values: np.ndarray) -> Chart:
    return Chart(key, title, caption, figure, {key: Table(run.t, columns, values.T)})
