"""A progress bar on stderr, for what takes more than a second."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable

from zwang.cli.terminal import cleared
from zwang.objects.reporting import listening

DELAY = 1.0
"""Seconds before the bar appears."""
SPEED_KNOWN = 2.0
"""Seconds from the first part of a study on, after which its speed is known."""


class Bar:
    """Says what is going on, and how far it is; nothing where stderr is no terminal.

    Use as a context manager. The bar is drawn by its own thread, so that it moves while the main
    one compiles.
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
            # shown late, so that short commands do not flicker
            self._timer = threading.Timer(DELAY, self._show)
            self._timer.daemon = True

    def __enter__(self) -> Bar:
        if self._progress is not None:
            self._timer.start()
        return self

    def __exit__(self, *_) -> None:
        self.ends()

    def ends(self) -> None:
        """Leave the terminal to others; nothing is shown any more."""
        if self._progress is None or self._closed:
            return
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._shown:
                self._progress.stop()

    def says(self, what: str) -> None:
        """Something of unknown length begins."""
        if self._progress is not None:
            self._progress.update(self._task, description=what, total=None, reached="")

    def reaches(self, fraction: float, text: str) -> None:
        """Part of something is done."""
        if self._progress is not None:
            self._progress.update(
                self._task, description="running", total=1.0, completed=fraction, reached=text
            )

    def hears(self, what: str, fraction: float | None) -> None:
        """What a computation reports (`zwang.objects.reporting`)."""
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
    """A command that shows what it computes until it has something to say."""

    @functools.wraps(command)
    def shown(*args, **kwargs) -> int:
        with Bar(True) as bar, cleared(bar.ends), listening(bar.hears):
            bar.says("compiling and computing")
            return command(*args, **kwargs)

    return shown


def progress_text(reached, duration: float) -> str:
    """Simulated time, speed, violation and the time that is left of a run
    (`zwang.simulation.reached.Reached`).
    """
    left = "" if not reached.left < 1e8 else f", {_clock(reached.left)} left"
    return (
        f"t = {reached.time:.4g} of {duration:.4g} s, {reached.speed:.3g} s/s, "
        f"violation {reached.violation:.0e}{left}"
    )


class SweepProgress:
    """Says how many cases of a study are done, and the time that is left."""

    _first: tuple[float, float] | None = None

    def text(self, fraction) -> str:
        """The words for what is done now (`zwang.study.sweep.Done`)."""
        now = time.perf_counter()
        # parts found in the folder and compiling say nothing of the speed
        first, since = self._first = self._first or (fraction, now)
        left = ""
        # parts side by side end together, and two that have say little
        if fraction > first and now - since > SPEED_KNOWN:
            left = f", {_clock((1 - fraction) * (now - since) / (fraction - first))} left"
        return f"{fraction.cases} of {fraction.total} cases{left}"


def _clock(seconds: float) -> str:
    """`0:07`, `1:02:33`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
