"""The largest value of a quantity along a run, with its constraint and instant."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from zwang.simulation.results.variables import Variables


@dataclasses.dataclass(frozen=True)
class Worst:
    """The largest value of a quantity along a run, and its place."""

    value: float
    constraint: str
    time: float


def worst(data: Variables, name: str, among: Sequence[int] | np.ndarray) -> Worst | None:
    """Return the largest value of a variable (time, constraint) in some of its columns; NaN is
    larger than any number.
    """
    among = np.asarray(among, int)
    values = data[name].values[:, among]
    if not values.size:
        return None
    i, k = np.unravel_index(
        int(np.argmax(np.where(np.isnan(values), np.inf, values))), values.shape
    )
    constraint = data[name].labels[data[name].dims[1]][among[k]]
    return Worst(float(values[i, k]), str(constraint), float(data["time"].values[i]))


def tracking(data: Variables) -> str:
    """Return the variable that shows the error of servo constraints: φ, or ψ if none of them is
    given at position level.
    """
    return (
        "servo_violation"
        if bool(np.isfinite(data["servo_violation"].values).any())
        else "servo_velocity_violation"
    )


def tracking_error(data: Variables) -> str:
    """Return a sentence with the largest error of the servo constraints and the largest at the end;
    empty if none of them has a residual.
    """
    name = tracking(data)
    values = data[name].values
    known = np.flatnonzero(np.isfinite(values).any(axis=0))
    found = worst(data, name, known)
    if found is None:
        return ""
    end = float(np.max(values[-1, known]))
    where = f"servo constraint {found.constraint}, t = {found.time:.4g} s"
    return f"up to {found.value:.3g} ({where}), {end:.3g} at the end"


def contact_residuals(attrs: Mapping) -> dict[str, float]:
    """Return the largest residuals of gaps and dry friction over all steps of a run, by their kind;
    empty for a run without them.
    """
    kinds = "primal", "dual", "complementarity"
    return {x: float(attrs[f"contact_{x}"]) for x in kinds if f"contact_{x}" in attrs}
