"""Figures of a run's dataset: a panel per variable and unit, with at most `MOST_NAMED_CURVES`
curves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zwang.equations.constraint.units import MODEL_UNITS, per_second
from zwang.errors import ModelError
from zwang.inputs.suggestions import did_you_mean
from zwang.plots import Curve, Panel, Picture
from zwang.simulation.results.dataset import KINETIC_ALONE
from zwang.simulation.results.variables import Variable, Variables

LOGARITHMIC = ("violation", "velocity_violation", "relative_violation", "residual", "accuracy") + (
    "servo_violation",
    "servo_velocity_violation",
    "missed",
    "servo_residual",
)
UNITS_OF = {
    "q": "coordinate_unit",
    "constraint_force": "force_unit",
    "control": "actuator_unit",
    "multipliers": "multiplier_unit",
    "violation": "constraint_unit",
    "velocity_violation": "constraint_rate_unit",
    "servo_violation": "servo_constraint_unit",
    "servo_velocity_violation": "servo_constraint_rate_unit",
}
"""The coordinate that lists the units of a variable's entries."""
MOST_NAMED_CURVES = 12


def plot(data: Variables, variables: str | Sequence[str]) -> Picture:
    """Return one panel per variable and unit, or per coordinate, over time; residuals on a
    logarithmic axis.
    """
    variables = [variables] if isinstance(variables, str) else list(variables)
    coordinates = labels_of(data["q"])
    unknown = [v for v in variables if v not in data and v not in coordinates]
    if unknown:
        raise ModelError(
            f"the run has no variable and no coordinate {unknown[0]!r}"
            f"{did_you_mean(unknown[0], [*coordinates, *data])} Variables are the names in "
            "run.dataset."
        )
    panels: list[Panel] = []
    for name in variables:
        if name in data:
            panels += [panel(data, name, unit) for unit in dict.fromkeys(units_of(data, name))]
        else:
            i = coordinates.index(name)
            heading = f"{name} [{units_of(data, 'q')[i] or MODEL_UNITS}]"
            values = data["q"].values[:, i : i + 1]
            panels.append(lines(data["time"].values, values, [name], heading))
    return Picture(panels, title=str(data.attrs.get("model", "")))


def panel(data: Variables, name: str, unit: str | None = None) -> Panel:
    """Return the panel of a variable, or of those of its entries that have one unit; a curve per
    entry.

    Args:
        data: a run's dataset.
        name: a variable with a time axis.
        unit: the unit of the entries that are shown; by default all entries.
    """
    units, labels = units_of(data, name), labels_of(data[name])
    values = data[name].values.reshape(len(data["time"]), -1)
    chosen = [i for i, u in enumerate(units) if unit is None or u == unit]
    # without a potential the energy is kinetic energy
    alone = str(data[name].attrs.get("long_name", "")).endswith(KINETIC_ALONE)
    title = "kinetic energy" if alone else name.replace("_", " ")
    labels = [title] if alone else labels
    shown_unit = unit if unit is not None else ", ".join(dict.fromkeys(u for u in units if u))
    return lines(
        data["time"].values,
        values[:, chosen],
        [labels[i] for i in chosen],
        f"{title} [{shown_unit or MODEL_UNITS}]",
        logarithmic=name in LOGARITHMIC,
    )


def lines(
    t: np.ndarray,
    values: np.ndarray,
    labels: Sequence[str],
    ylabel: str,
    *,
    logarithmic: bool = False,
    span: float = 3,
) -> Panel:
    """Return a panel of columns over time, with a legend unless `ylabel` names the curve; if there
    are too many, those that vary most are shown.
    """
    shown = most_varying(values)
    named = len(labels) > 1 or (len(labels) == 1 and not ylabel.startswith(labels[0]))
    curves = [
        Curve(t, values[:, i], labels[i] if named else "", width=0.9 if logarithmic else 1.3)
        for i in shown
    ]
    left_out = len(shown) < values.shape[1]
    heading = f"{len(shown)} of {values.shape[1]}, those that vary most" if left_out else ""
    limits = (lowest(values, span) if logarithmic else None, None)
    return Panel(curves, ylabel, logarithmic=logarithmic, limits=limits, heading=heading)


def lowest(values: np.ndarray, span: float) -> float | None:
    """Return the lower end of a logarithmic axis: a whole decade, at most `span` below that of the
    median; None if no value is positive.
    """
    values = values.reshape(len(values), -1)
    with np.errstate(invalid="ignore"):
        peaks = np.max(np.where(np.isfinite(values), values, 0.0), axis=0, initial=0.0)
    # a curve that is far below the others at all times does not determine the axis
    values = values[:, peaks >= 10.0 ** (-2 * span) * np.max(peaks, initial=0.0)]
    positive = values[np.isfinite(values) & (values > 0)]
    if not positive.size:
        return None
    low, median = np.floor(np.log10([positive.min(), np.median(positive)]))
    return float(10.0 ** max(low, median - span))


def most_varying(values: np.ndarray, most: int = MOST_NAMED_CURVES) -> list[int]:
    """Return the indices of the columns to show, in their order."""
    if values.shape[1] <= most:
        return list(range(values.shape[1]))
    return sorted(np.argsort(-np.ptp(values, axis=0), kind="stable")[:most])


def units_of(data: Variables, name: str) -> list[str]:
    """Return the unit of each entry of a variable."""
    variable = data[name]
    count = int(np.prod(variable.shape[1:], dtype=int))
    source = UNITS_OF.get(name, "velocity_unit")
    if source not in data or data[source].dims[0] not in variable.dims:
        return [variable.attrs.get("units", "")] * count
    units = [str(u) for u in data[source].values]
    if name in ("acceleration", "free_acceleration"):
        units = [per_second(u) for u in units]
    return units * (count // max(len(units), 1))


def labels_of(variable: Variable) -> list[str]:
    """Return a name for each entry of a variable."""
    names = [[str(x) for x in variable.labels[d]] for d in variable.dims if d != "time"]
    if not names:
        return [str(variable.name).replace("_", " ")]
    return names[0] if len(names) == 1 else [f"{a}: {b}" for a in names[0] for b in names[1]]
