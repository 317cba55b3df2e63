"""Coordinates of joints and their rates over a run, by name, in either kind of coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.relative_pose import PoseCoordinate, value_and_rate
from zwang.mechanism.resolution import Ends
from zwang.simulation.results.variables import Variables

if TYPE_CHECKING:
    from zwang.simulation.results import Run

RATE = " rate"
"""Ending of the name of a coordinate's rate."""


def joint_motion(mechanism: Mechanism, run: Run) -> Variables:
    """Coordinates of all joints and their rates at the samples of a run.

    A joint with one coordinate gives it its own name, `pin` and `pin rate`; one with several
    numbers them by name, `cylinder.angle` and `cylinder.slide`. Angles count whole turns. The
    attitude of a spherical joint, which has no angle, is left out.

    Args:
        mechanism: the mechanism.
        run: a run of its model.

    Returns:
        Variables over `time`, with units; `.to_xarray()` makes a dataset of them.
    """
    mechanism = mechanism.of_run(run)
    read = _coordinates(mechanism)
    if not read:
        return Variables({}, {"time": (("time",), run.t, {"units": "s"})}, {})
    nq, y, t = run.model.system.nq, run.steps.y, run.steps.t
    functions = [mechanism.compiled.joints.coordinate(ends) for ends in read.values()]
    p = mechanism.params

    @jax.jit
    @jax.vmap
    def at(q, v, t):
        rate = mechanism.compiled.rate(q, v, t, p)
        return value_and_rate(lambda q: jnp.stack([x(q, p) for x in functions]), q, rate)

    # at all steps, not at the samples: turns between two steps can be counted by their rates
    values, rates = (np.asarray(x) for x in at(y[:, :nq], y[:, nq:], t))
    data: dict[str, tuple] = {}
    for i, (name, ends) in enumerate(read.items()):
        unit, value = ends.coordinate.unit, values[:, i]
        if ends.coordinate.angular:
            value = _unwrapped(t, value, rates[:, i])
        shown = {
            "units": unit,
            "long_name": f"{ends.coordinate.name} of joint {name.split('.')[0]}",
        }
        data[name] = (("time",), value[run.saved], shown)
        shown = {"units": f"{unit}/s", "long_name": f"rate of {shown['long_name']}"}
        data[name + RATE] = (("time",), rates[run.saved, i], shown)
    return Variables(data, {"time": (("time",), run.t, {"units": "s"})}, {})


def _coordinates(mechanism: Mechanism) -> dict[str, Ends]:
    """The coordinates of all joints between two bodies, by name."""
    joints, found = mechanism.compiled.joints, {}
    for name in mechanism.joints:
        kind = joints.kind(name)
        equations = kind.equations(mechanism.d)
        endings: dict[str, PoseCoordinate] = {}
        if equations is not None and not kind.couples:
            endings = {end: x.coordinate for end, x in equations.endings().items()}
            if not endings and kind.coordinate is not None:
                endings = {"": kind.coordinate}
        a = joints.ends[name][0]
        found |= {f"{name}{end}": Ends(a.a, a.b, x) for end, x in endings.items() if x.unit != "1"}
    return found


def _unwrapped(t: np.ndarray, angle: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """An angle known up to whole turns at all steps of a run, as one that counts them: from step to
    step as near as possible to what its rate predicts.
    """
    predicted = np.diff(t) * (rate[1:] + rate[:-1]) / 2
    turns = np.round((predicted - np.diff(angle)) / (2 * np.pi))
    return angle + 2 * np.pi * np.concatenate([[0.0], np.cumsum(turns)])
