"""Where the wall time of a command goes."""

from __future__ import annotations

import contextlib
import threading
import time


class WallTime:
    """Seconds by phase, compilation counted apart from the phase it happens in.

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
        """Seconds of compiling in the phase that goes on."""
        return covered(self._pieces)

    def ends(self, phase: str) -> None:
        """A phase ends now; it began where the one before ended."""
        now = time.perf_counter()
        compiled, self._pieces = covered(self._pieces), []
        self.phases[phase] = self.phases.get(phase, 0.0) + now - self._mark - compiled
        self.phases["compilation"] = self.phases.get("compilation", 0.0) + compiled
        self._mark = now

    @contextlib.contextmanager
    def watching_compilation(self):
        """Count the time in which JAX traces, lowers and compiles, or compiled programs are
        read.
        """
        import jax

        jax.monitoring.register_event_duration_secs_listener(self._heard)
        try:
            yield self
        finally:
            jax.monitoring.unregister_event_duration_listener(self._heard)

    def _heard(self, event: str, duration_secs: float, **_: str | int) -> None:
        from zwang.compile import LOADED  # here, for it imports JAX

        if threading.current_thread() is not threading.main_thread():
            return  # what is compiled behind keeps no one waiting
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
