"""Figures of a run's dataset."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from zwang.errors import ModelError

LOGARITHMIC = ("violation", "velocity_violation", "relative_violation", "residual")
MOST_LINES = 12


def plot(data: xr.Dataset, variables: tuple[str, ...]) -> Figure:
    """One panel per variable over time; residuals on a logarithmic axis."""
    unknown = [v for v in variables if v not in data]
    if unknown:
        raise ModelError(f"the run has no variable {unknown[0]!r}; it has: {', '.join(map(str, data.data_vars))}.")
    figure = Figure(figsize=(8, 2.4 * len(variables)), layout="constrained")
    for axes, name in zip(np.atleast_1d(figure.subplots(len(variables), 1, sharex=True)), variables, strict=True):
        draw(axes, data, name)
    axes.set_xlabel("time [s]")
    figure.suptitle(data.attrs.get("model", ""))
    return figure


def draw(axes, data: xr.Dataset, name: str) -> None:
    """Draw one variable into axes, a line per entry, with names in the legend and units on the axis."""
    variable = data[name]
    lines = variable.stack(line=[d for d in variable.dims if d != "time"]) if variable.ndim > 1 else variable
    values = lines.values.reshape(len(data.time), -1)
    labels = _labels(variable)
    shown = np.argsort(-np.ptp(values, axis=0), kind="stable")[:MOST_LINES] if values.shape[1] > MOST_LINES else range(values.shape[1])
    for i in sorted(shown):
        axes.plot(data.time, np.where(values[:, i] > 0, values[:, i], np.nan) if name in LOGARITHMIC else values[:, i], label=labels[i], lw=1.2)
    if name in LOGARITHMIC:
        axes.set_yscale("log")
    if variable.ndim > 1:
        axes.legend(fontsize=7, ncols=3, loc="best")
    units = unit_of(data, name)
    left_out = values.shape[1] - len(list(shown))
    axes.set_ylabel(f"{name}{f' [{units}]' if units else ''}")
    if left_out:
        axes.set_title(f"{len(list(shown))} of {values.shape[1]} shown, those that vary most", fontsize=8, loc="right")
    axes.grid(alpha=0.3)


def unit_of(data: xr.Dataset, name: str) -> str:
    """The unit of a variable, or of its entries where they share a few."""
    own = data[name].attrs.get("units", "")
    for dim, source in (("coordinate", "coordinate_unit"), ("velocity", "velocity_unit")):
        if not own and dim in data[name].dims:
            units = list(dict.fromkeys(str(u) for u in data[source].values if u))
            suffix = "/s" if name in ("acceleration", "free_acceleration") else ""
            if name == "constraint_force":
                units, suffix = list(dict.fromkeys(str(u) for u in data["force_unit"].values if u)), ""
            own = ", ".join(u.replace("/s", "/s²") if suffix and u.endswith("/s") else u + suffix for u in units)
    return own


def _labels(variable: xr.DataArray) -> list[str]:
    dims = [d for d in variable.dims if d != "time"]
    if not dims:
        return [str(variable.name)]
    names = [[str(x) for x in variable[d].values] for d in dims]
    return names[0] if len(names) == 1 else [f"{a}: {b}" for a in names[0] for b in names[1]]
