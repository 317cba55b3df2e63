"""A progress bar on stderr for commands that take more than a second."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable

from zwang.cli.terminal import cleared
from zwang.objects.reporting import listening

DELAY = 1.0
"""Time before the bar appears [s]."""
SPEED_KNOWN = 2.0
"""Time after the first part of a study from which its speed is known [s]."""


class Bar:
    """A bar that shows the present activity and its progress, if stderr is a terminal.

    It is used as a context manager. A separate thread draws it, so that it moves while the main
    thread compiles.
    """

    def __init__(self, wanted: bool):
        self._lock = threading.Lock()
        self._shown = self._closed = False
        self._progress = None
        if wanted and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeElapsedColumn,
            )

            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[reached]}"),
            )
            self._progress = Progress(
                *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
            )
            self._task = self._progress.add_task("loading", total=None, reached="")
            # shown after a delay, so that short commands do not flicker
            self._timer = threading.Timer(DELAY, self._show)
            self._timer.daemon = True

    def __enter__(self) -> Bar:
        if self._progress is not None:
            self._timer.start()
        return self

    def __exit__(self, *_) -> None:
        self.ends()

    def ends(self) -> None:
        """Remove the bar and leave the terminal to other output."""
        if self._progress is None or self._closed:
            return
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._shown:
                self._progress.stop()

    def says(self, what: str) -> None:
        """Show the beginning of an activity of unknown length."""
        if self._progress is not None:
            self._progress.update(self._task, description=what, total=None, reached="")

    def reaches(self, fraction: float, text: str) -> None:
        """Show the completed fraction of an activity."""
        if self._progress is not None:
            self._progress.update(
                self._task, description="running", total=1.0, completed=fraction, reached=text
            )

    def hears(self, what: str, fraction: float | None) -> None:
        """Show the report of a computation (`zwang.objects.reporting`)."""
        if fraction is None:
            self.says(what)
        else:
            self.reaches(fraction, what)

    def _show(self) -> None:
        with self._lock:
            if not self._closed and self._progress is not None:
                self._progress.start()
                self._shown = True


def with_bar(command: Callable[..., int]) -> Callable[..., int]:
    """Decorate a command so that it shows its progress until its first output."""

    @functools.wraps(command)
    def shown(*args, **kwargs) -> int:
        with Bar(True) as bar, cleared(bar.ends), listening(bar.hears):
            bar.says("compiling and computing")
            return command(*args, **kwargs)

    return shown


def progress_text(reached, duration: float) -> str:
    """Simulated time, speed, violation and remaining time of a run
    (`zwang.simulation.reached.Reached`).
    """
    left = "" if not reached.left < 1e8 else f", {_clock(reached.left)} left"
    return (
        f"t = {reached.time:.4g} of {duration:.4g} s, {reached.speed:.3g} s/s, "
        f"violation {reached.violation:.0e}{left}"
    )


class SweepProgress:
    """The progress of a study: completed cases, and the remaining time."""

    _first: tuple[float, float] | None = None

    def text(self, fraction) -> str:
        """The text for the completed fraction (`zwang.study.sweep.Done`)."""
        now = time.perf_counter()
        # parts found in the folder and the compilation do not show the speed
        first, since = self._first = self._first or (fraction, now)
        left = ""
        # concurrent parts end together, so that two ends say little about the speed
        if fraction > first and now - since > SPEED_KNOWN:
            left = f", {_clock((1 - fraction) * (now - since) / (fraction - first))} left"
        return f"{fraction.cases} of {fraction.total} cases{left}"


def _clock(seconds: float) -> str:
    """`0:07`, `1:02:33`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
