"""Outputs of each motion: numbers by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.arguments import function, label, refuse
from zwang.inputs.suggestions import did_you_mean
from zwang.inputs.tracing import called
from zwang.simulation.results.presentation import presentation_of_model

if TYPE_CHECKING:
    from zwang.mechanism import Reaction

REDUCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "final": lambda x: x[:, -1],
    "max": lambda x: x.max(axis=1),
    "min": lambda x: x.min(axis=1),
    "mean": lambda x: x.mean(axis=1),
    "rms": lambda x: np.sqrt(np.mean(x**2, axis=1)),
    "range": lambda x: np.ptp(x, axis=1),
}
"""Reductions over the samples, shape (cases, samples), by the suffix of a name as in `x.max`."""
RATE = "rate"
"""Suffix between a coordinate's name and the reduction that selects its rate, `x.rate.max`."""
SIZES = {"force": "N", "torque": "N m"}
"""Loads that every joint and drive transmits, by the suffix of its name, with the unit."""


@dataclasses.dataclass(frozen=True)
class Output:
    """One number of each motion.

    Attributes:
        name: its column.
        unit: its unit; empty if it is not known.
        entry: index in (q, v), or −1 for a function.
        reduction: of `REDUCTIONS`, for an entry or a transmitted load.
        function: `(t, q, v)` → a number, for a function.
        transmitted: joint or drive of a mechanism, and "force", "torque" (their sizes) or "effort"
            (of a drive, with its sign); empty for others.
    """

    name: str
    unit: str = ""
    entry: int = -1
    reduction: str = ""
    function: Callable | None = None
    transmitted: tuple[str, ...] = ()

    def of_reactions(self, found: Mapping[str, Reaction]) -> float:
        """The number for a motion with these reactions, for an output about a transmitted load."""
        joint, what = self.transmitted
        x = np.asarray(getattr(found[joint], what))
        size = x if x.ndim == 1 else np.linalg.norm(x, axis=-1)
        size = size if what == "effort" else abs(size)
        return float(REDUCTIONS[self.reduction](size[None])[0])

    def of(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The number for each case; q and v have shapes (cases, samples, …)."""
        if self.function is None:
            nq = q.shape[2]
            x = q[..., self.entry] if self.entry < nq else v[..., self.entry - nq]
            return REDUCTIONS[self.reduction](x)
        what = f"outputs[{self.name!r}]"
        found = [called(self.function, what, t, *x) for x in zip(q, v, strict=True)]
        for x in found:
            if not isinstance(x, float) and (np.shape(x) != () or not _is_number(x)):
                refuse(f"what {what} returns", x, "a number for (t, q, v) of one motion")
        return np.asarray(found, float)


def _is_number(x: object) -> bool:
    return np.asarray(x).dtype.kind in "biuf"


def outputs_of(given: object, model: Model) -> tuple[Output, ...]:
    """Make the outputs of a study.

    Args:
        given: None for the last value of every coordinate; names such as "x.max"; or a dictionary
            by name of functions `(t, q, v)` → number, q of shape (samples, nq).
    """
    if given is None:
        given = [f"{name}.final" for name in model.system.coordinates]
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        return tuple(
            _named(model, x, label(name, "outputs"))
            if isinstance(x, str)
            else Output(
                label(name, "outputs"),
                function=function(x, f"outputs[{name!r}]", "(t, q, v) → number"),
            )
            for name, x in given.items()
        )
    if not isinstance(given, Iterable):
        refuse("outputs", given, "names such as 'x.max', or functions (t, q, v) by name")
    return tuple(_named(model, str(name), str(name)) for name in given)


def _named(model: Model, text: str, name: str) -> Output:
    """Parse `x.max`, or `x.rate.max` for a velocity, or `pin.force.max` for a joint."""
    what, _, reduction = text.rpartition(".")
    if reduction not in REDUCTIONS:
        raise ModelError(
            f"output {text!r} ends in {reduction!r}, expected one of "
            f"{', '.join(f'.{x}' for x in REDUCTIONS)}."
        )
    system = model.system
    rates = {f"{v}.{RATE}": i for i, v in enumerate(system.velocities)}
    if what in system.coordinates:
        entry = system.coordinates.index(what)
        return Output(name, system.units[entry], entry, reduction)
    if what in rates:
        return Output(name, system.velocity_units[rates[what]], system.nq + rates[what], reduction)
    transmitted = _transmitted(presentation_of_model(model).mechanism)
    if what in transmitted:
        joint, _, size = what.rpartition(".")
        return Output(name, transmitted[what], -1, reduction, transmitted=(joint, size))
    known = [*system.coordinates, *rates, *transmitted]
    or_joint = " and no joint's force" if transmitted else ""
    raise ModelError(f"output {text!r} names no coordinate{or_joint}{did_you_mean(what, known)}")


def _transmitted(mechanism: object) -> dict[str, str]:
    """Units of the loads that joints and drives of a mechanism transmit, by name."""
    from zwang.mechanism import Mechanism
    from zwang.mechanism.reactions import transmitting

    if not isinstance(mechanism, Mechanism):
        return {}
    parts = transmitting(mechanism)
    found = {f"{part}.{what}": unit for part in parts for what, unit in SIZES.items()}
    return found | {f"{part}.effort": unit for part, unit in parts.items() if unit}
