"""Efforts of springs, dampers, bushings and forces over a run, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.relative_pose import value_and_rate
from zwang.simulation.results.variables import Variables

if TYPE_CHECKING:
    from zwang.simulation.results import Run

AXES = {
    ("plane", 2): ("x", "y"),
    ("plane", 3): ("x", "y", "angle"),
    ("space", 3): ("x", "y", "z"),
    ("space", 6): ("x", "y", "z", "about x", "about y", "about z"),
}
"""Names of the components of a force and of a bushing."""
MEANINGS = {"": "effort of {}", " value": "coordinate of {}", " rate": "rate of {}"}
"""Suffix of a variable's name → its description, for a spring or force."""


def applied_forces(mechanism: Mechanism, run: Run) -> Variables:
    """Efforts of all springs, bushings and forces at the samples of a run.

    A spring or force named `strut` has the effort `strut`, and `strut value` and `strut rate`, the
    coordinate that it acts on and its rate. A positive effort increases its coordinate: it pushes
    two points apart. A bushing, and a force with components, has an entry for each.

    Args:
        mechanism: the mechanism.
        run: a run of its model.

    Returns:
        Variables over `time`, and over `NAME component` if there are several, with units if all
        components have the same.
    """
    mechanism = mechanism.of_run(run)
    p, laws = mechanism.params, mechanism.compiled.forces.laws()
    time = {"time": (("time",), run.t, {"units": "s"})}
    if not laws:
        return Variables({}, time, {})

    # One program for all samples and all forces, as compilation takes most of the time.
    @jax.jit
    @jax.vmap
    def at(q, v, t):
        rate = mechanism.compiled.rate(q, v, t, p)
        found = {}
        for name, (ends, law) in laws.items():
            coordinate = mechanism.compiled.joints.coordinate(ends)
            x, xdot = value_and_rate(lambda q, f=coordinate: f(q, p), q, rate)
            found[name] = law(x, xdot, t, p), x, xdot
        return found

    data: dict[str, tuple] = {}
    labels: dict[str, tuple] = dict(time)
    for name, values in at(run.q, run.v, run.t).items():
        angular = laws[name][0].coordinate.angular
        units = ("N m", "rad", "rad/s") if angular else ("N", "m", "m/s")
        for (ending, meaning), value, unit in zip(MEANINGS.items(), values, units, strict=True):
            if value.ndim == 1:
                shown = {"units": unit, "long_name": meaning.format(name)}
                data[name + ending] = (("time",), np.asarray(value), shown)
                continue
            axes, along = AXES[mechanism.world, value.shape[1]], f"{name} component"
            labels[along] = ((along,), np.asarray(axes), {})
            # A bushing has forces and torques in one array.
            same = {"units": unit} if len(axes) == mechanism.d else {}
            shown = {**same, "long_name": meaning.format(name)}
            data[name + ending] = (("time", along), np.asarray(value), shown)
    return Variables(data, labels, {})
