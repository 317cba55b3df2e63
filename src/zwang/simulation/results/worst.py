"""The largest value of a quantity along a run, with its constraint and instant."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from zwang.simulation.results.variables import Variables


@dataclasses.dataclass(frozen=True)
class Worst:
    """The largest value of a quantity along a run, and where it is."""

    value: float
    constraint: str
    time: float


def worst(data: Variables, name: str, among: Sequence[int] | np.ndarray) -> Worst | None:
    """The largest value of a variable (time, constraint) in some of its columns; NaN is worse than
    any number.
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
