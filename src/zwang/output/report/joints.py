"""Reactions of joints in the joints' axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from zwang.output.report.figures import Chart, finished
from zwang.output.report.tables import Table
from zwang.simulation.results import Run
from zwang.simulation.results.plot import lines

if TYPE_CHECKING:
    from zwang.mechanism import Reaction


def joint_forces(run: Run, reactions: Mapping[str, Reaction]) -> Chart:
    """Size of each joint's force and torque; the tables have the components in the joint's axes."""
    names = list(reactions)
    forces = np.stack([np.linalg.norm(r.force, axis=-1) for r in reactions.values()], axis=1)
    torques = np.stack(
        [np.linalg.norm(_components(r.torque, r), axis=-1) for r in reactions.values()], axis=1
    )
    shown = [(forces, "force [N]"), (torques, "torque [N m]")]
    # A panel of zeros is left out, unless all are zero.
    shown = [(values, unit) for values, unit in shown if np.any(np.abs(values) > 0)] or shown[:1]
    panels = [lines(run.t, values, names, label) for values, label in shown]
    columns, values = [], []
    for name, r in reactions.items():
        d = r.force.shape[-1]
        # In the plane a torque has one component, in space three.
        torque = _components(r.torque, r)
        axes = "xyz"[:d]
        columns += [(f"{name} f{x}", "N") for x in axes] + [
            (f"{name} τ{x}", "N m") for x in ("z" if d == 2 else axes)
        ]
        values += [r.force, torque]
    caption = (
        "Size of what each joint exerts on its second body, force and torque. The numbers have "
        "the components in the joint's own axes, those of its first point; of redundant joints "
        "the shares are those of least norm."
    )
    table = Table(run.t, columns, np.concatenate(values, axis=1))
    return finished(run, "joints", "Joint forces", caption, panels, {"joint_forces": table})


def driving_efforts(run: Run, reactions: Mapping[str, Reaction]) -> list[Chart]:
    """The effort of each drive along its coordinate, with its sign; empty without a drive."""
    driven: dict[str, dict[str, np.ndarray]] = {}
    for name, r in reactions.items():
        if r.effort is not None:
            driven.setdefault(r.unit, {})[name] = r.effort
    if not driven:
        return []
    panels, columns, values = [], [], []
    for unit, of in driven.items():
        efforts = np.stack(list(of.values()), axis=1)
        what = "torque" if unit == "N m" else "force"
        panels.append(lines(run.t, efforts, list(of), f"driving {what} [{unit}]"))
        columns += [(f"{name} {what}", unit) for name in of]
        values.append(efforts)
    caption = (
        "What each drive exerts along its coordinate: positive where it pushes the coordinate "
        "forward, so that times the coordinate's rate it is the power that the drive gives. Where "
        "another joint or drive holds the same motion the shares are those of least norm."
    )
    table = Table(run.t, columns, np.concatenate(values, axis=1))
    tables = {"driving_efforts": table}
    return [finished(run, "drives", "Driving torques and forces", caption, panels, tables)]


def _components(torque: np.ndarray, r: Reaction) -> np.ndarray:
    return torque[:, None] if torque.ndim < r.force.ndim else torque
