"""A condition that ends a motion."""

from __future__ import annotations

from collections.abc import Callable

from zwang.inputs.arguments import function, label
from zwang.objects.record import Record


class Stop(Record):
    """A condition that ends a run where a function crosses zero.

    Attributes:
        function: `(q, v, t, p)` → a number that changes sign or becomes zero; the instant is
            located to 1e-14 of the run's duration. It is evaluated after every step, and within a
            step if its slopes at the ends indicate two crossings: a gate of 2 mm in steps of meters
            is found. A function without slope at the ends (a narrow peak on a plateau) and all but
            one of several gates within a step are missed (use `longest_step`).
        name: name in messages.
    """

    function: Callable
    name: str = "stop"

    def __post_init__(self):
        label(self.name, "Stop: name")
        function(self.function, f"Stop {self.name!r}: function", "(q, v, t, p) → number")

    def __repr__(self) -> str:
        return f"Stop({self.name!r})"
