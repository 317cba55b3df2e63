"""A `progress` function of a user's: where it fails, what was computed until then is kept."""

from __future__ import annotations

from collections.abc import Callable

from zwang.errors import Result, SimulationError
from zwang.inputs.tracing import raised


class Listener:
    """Calls a `progress` function. What it raises ends the work as Ctrl-C does, by a
    `KeyboardInterrupt`, since all that a Ctrl-C must not lose is then kept as well.

    Args:
        function: of the user's, or None.

    Attributes:
        failure: what the function has raised, or None.
    """

    def __init__(self, function: Callable[..., object] | None):
        self.function = function
        self.failure: Exception | None = None

    @classmethod
    def of(cls, function: Callable[..., object] | None) -> Listener:
        """A listener that calls a function; a listener is returned as it is."""
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
        """What the function has raised, as a part of a sentence; empty if nothing."""
        return "" if self.failure is None else f"progress {raised(self.failure)}"

    def refuse(self, what: str, kept: str) -> None:
        """Raise if the function has failed; return if it was the user who pressed Ctrl-C.

        Args:
            what: what was being computed; it begins the sentence.
            kept: what is kept, as a part of the sentence.
        """
        if self.failure is not None:
            sentence = f"{what}: {self.sentence}{f'; {kept}' if kept else ''}."
            raise SimulationError(sentence, Result.INTERRUPTED) from self.failure
