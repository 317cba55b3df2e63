"""A condition that ends a motion."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx

from zwang.arguments import function, label


class Stop(eqx.Module):
    """A condition that ends a run where a function crosses zero.

    Attributes:
        function: `(q, v, t, p)` → a number that changes sign or becomes zero; the instant is found
            to 1e-12 of the run's duration.
        name: name in messages.
    """

    function: Callable
    name: str = "stop"

    def __check_init__(self):
        label(self.name, "Stop: name")
        function(self.function, f"Stop {self.name!r}: function", "(q, v, t, p) → number")

    def __repr__(self) -> str:
        return f"Stop({self.name!r})"
