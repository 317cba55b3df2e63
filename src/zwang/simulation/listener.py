"""Calls of a user's `progress` function; if it fails, the results computed so far are kept."""

from __future__ import annotations

from collections.abc import Callable

from zwang.errors import Result, SimulationError
from zwang.inputs.tracing import raised


class Listener:
    """Calls a `progress` function. An exception in it ends the computation with a
    `KeyboardInterrupt`, as Ctrl-C does, because everything that must survive Ctrl-C is then kept as
    well.

    Args:
        function: the user's function, or None.

    Attributes:
        failure: the exception that the function raised, or None.
    """

    def __init__(self, function: Callable[..., object] | None):
        self.function = function
        self.failure: Exception | None = None

    @classmethod
    def of(cls, function: Callable[..., object] | None) -> Listener:
        """Return a listener that calls a function; a listener is returned unchanged."""
        return function if isinstance(function, Listener) else cls(function)

    def __call__(self, *reached: float) -> None:
        if self.function is None:
            return
        try:
            self.function(*reached)
        except Exception as error:
            self.failure = error
            raise KeyboardInterrupt(self.sentence) from error

    @property
    def sentence(self) -> str:
        """The exception of the function, as a part of a sentence; empty without one."""
        return "" if self.failure is None else f"progress {raised(self.failure)}"

    def refuse(self, what: str, kept: str) -> None:
        """Raise if the function has failed; return if the user pressed Ctrl-C.

        Args:
            what: the computation; it begins the sentence.
            kept: the results that are kept, as a part of the sentence.
        """
        if self.failure is not None:
            sentence = f"{what}: {self.sentence}{f'; {kept}' if kept else ''}."
            raise SimulationError(sentence, Result.INTERRUPTED) from self.failure
