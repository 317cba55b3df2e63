"""The wall time of a command by phase."""

from __future__ import annotations

import contextlib
import threading
import time


class WallTime:
    """Wall time by phase; compilation is counted separately from the phase in which it happens.

    Attributes:
        phases: seconds by name, in the order in which they ended.
    """

    def __init__(self, started: float):
        self.phases: dict[str, float] = {}
        self._mark = started
        self._pieces: list[tuple[float, float]] = []

    @property
    def total(self) -> float:
        return sum(self.phases.values())

    @property
    def compiled(self) -> float:
        """Seconds of compilation in the present phase."""
        return covered(self._pieces)

    def ends(self, phase: str) -> None:
        """End a phase, which began when the previous one ended."""
        now = time.perf_counter()
        compiled, self._pieces = covered(self._pieces), []
        self.phases[phase] = self.phases.get(phase, 0.0) + now - self._mark - compiled
        self.phases["compilation"] = self.phases.get("compilation", 0.0) + compiled
        self._mark = now

    @contextlib.contextmanager
    def watching_compilation(self):
        """Measure the time in which JAX traces, lowers and compiles, or reads compiled programs."""
        import jax

        jax.monitoring.register_event_duration_secs_listener(self._heard)
        try:
            yield self
        finally:
            jax.monitoring.unregister_event_duration_listener(self._heard)

    def _heard(self, event: str, duration_secs: float, **_: str | int) -> None:
        from zwang.compile import LOADED  # imported here, because it imports JAX

        if threading.current_thread() is not threading.main_thread():
            return  # compilation in the background delays nothing
        if event.startswith("/jax/core/compile/") or event == LOADED:
            now = time.perf_counter()
            self._pieces.append((max(now - duration_secs, self._mark), now))


def covered(pieces: list[tuple[float, float]]) -> float:
    """Length of the union of intervals; JAX traces and compiles programs within programs."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(pieces):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total
