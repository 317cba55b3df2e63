"""Coordinates of joints and their rates over a run, by name, in either kind of coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from zwang.compile import BoundProgram
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.relative_pose import PoseCoordinate, value_and_rate
from zwang.mechanism.resolution import Ends
from zwang.simulation.results.variables import Variables

if TYPE_CHECKING:
    from zwang.simulation.results import Run

RATE = " rate"
"""Suffix of the name of a coordinate's rate."""
MOST_ONE_BY_ONE = 5000
"""Number of states from which on a program for all of them is compiled, which takes twice as long.
"""


def joint_motion(mechanism: Mechanism, run: Run) -> Variables:
    """Coordinates of all joints and their rates at the samples of a run.

    The only coordinate of a joint has the joint's name, `pin` and `pin rate`; several have names of
    their own, `cylinder.angle` and `cylinder.slide`. Angles count whole turns. The attitude of a
    spherical joint, which has no angle, is left out.

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
    # All steps, not the samples: turns between two steps can be counted by their rates.
    values, rates = _at_states(mechanism, y[:, :nq], y[:, nq:], t)
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


def _at_states(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> tuple:
    """Coordinates of all joints and their rates at many states, shapes (k, coordinates)."""
    if len(t) > MOST_ONE_BY_ONE:
        over_states = jax.jit(jax.vmap(_values_and_rates(mechanism), in_axes=(None, 0, 0, 0)))
        return tuple(np.asarray(x) for x in over_states(mechanism.params, q, v, t))
    program = coordinates_program(mechanism, q[0], v[0])
    return tuple(np.stack(x) for x in zip(*map(program, q, v, t), strict=True))


def coordinates_program(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> BoundProgram:
    """The program for the coordinates of all joints and their rates at one state.

    q and v are examples.
    """
    given = mechanism.params, q, v, np.zeros(())
    return BoundProgram(_values_and_rates(mechanism), given[:1], given[1:])


def _values_and_rates(mechanism: Mechanism) -> Callable:
    """`(p, q, v, t)` → the coordinates of all joints and their rates."""
    functions = [mechanism.compiled.joints.coordinate(x) for x in _coordinates(mechanism).values()]
    along = mechanism.compiled.rate

    def values_and_rates(p, q, v, t):
        return value_and_rate(
            lambda q: jnp.stack([x(q, p) for x in functions]), q, along(q, v, t, p)
        )

    return values_and_rates


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
    """Unwrap an angle modulo 2π at all steps of a run.

    From step to step it is as close as possible to the prediction of its rate.
    """
    predicted = np.diff(t) * (rate[1:] + rate[:-1]) / 2
    turns = np.round((predicted - np.diff(angle)) / (2 * np.pi))
    return angle + 2 * np.pi * np.concatenate([[0.0], np.cumsum(turns)])
