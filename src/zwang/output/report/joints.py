"""What the joints transmit, in their own axes."""

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
    """Size of each joint's force and torque; the numbers have the components in the joint's own
    axes.
    """
    names = list(reactions)
    forces = np.stack([np.linalg.norm(r.force, axis=-1) for r in reactions.values()], axis=1)
    torques = np.stack(
        [np.linalg.norm(_components(r.torque, r), axis=-1) for r in reactions.values()], axis=1
    )
    shown = [(forces, "force [N]"), (torques, "torque [N m]")]
    # a panel of zeros says nothing; one is kept so that the figure exists
    shown = [(values, unit) for values, unit in shown if np.any(np.abs(values) > 0)] or shown[:1]
    panels = [lines(run.t, values, names, label) for values, label in shown]
    columns, values = [], []
    for name, r in reactions.items():
        d = r.force.shape[-1]
        # in the plane a torque is a number, in space it has three components
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


def _components(torque: np.ndarray, r: Reaction) -> np.ndarray:
    return torque[:, None] if torque.ndim < r.force.ndim else torque
