"""What keeps a run in its folder while it goes on."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from zwang.archive.growing import ROWS_OF_A_CHUNK, GrowingRun
from zwang.errors import OutputError, Result
from zwang.files.reading import shown_path
from zwang.simulation.driver import RunDriver
from zwang.simulation.results import Run, Steps
from zwang.simulation.results.stored import record_of
from zwang.simulation.turning import RECENT_TURNS
from zwang.stepping.step import Progress
from zwang.study.checkpoint import LOOKED_BACK, restore, state_of


@dataclasses.dataclass(frozen=True)
class _Latest:
    """A run after a chunk of steps and all that was due at its end."""

    here: Progress
    done: int
    parts: list[Steps]
    turned: list
    changes: list[str]
    flow: Any


class RunKeeper:
    """Keeps a run in a folder (`zwang.simulation.driver.Keeper`), and begins where it was left.

    Args:
        store: the folder.
        every: seconds between two commits, at least.
        manifest: a record of the run → what the folder says of it.
        start: start, sample times and parameters.
        settings: attributes of the run that are known before it.

    Attributes:
        computed: steps of this process that count.
    """

    def __init__(
        self,
        store: GrowingRun,
        every: float,
        manifest: Callable[[dict[str, Any]], dict[str, Any]],
        start: Mapping[str, np.ndarray],
        settings: dict[str, Any],
    ):
        self.store, self.every = store, every
        self.manifest, self.start, self.settings = manifest, start, settings
        self.marker, self.computed = store.marker, 0
        self._turns_dropped = 0
        self._latest: _Latest | None = None
        self._committing = False
        self._driver: RunDriver | None = None
        self._committed_at = time.perf_counter()

    def begin(self, driver: RunDriver, here: Progress, done: int) -> tuple[Progress, int]:
        self._driver = driver
        if not self.store.exists:
            probe = Run(
                driver.model,
                driver.flow,
                driver.parts[0],
                driver.instants,
                Result.INTERRUPTED,
                self.settings,
                integrator=driver.integrator,
            )
            self.store.begin(self.manifest(record_of(probe)), self.start)
        # after a crash the driver starts anew and is put where the last commit was
        if self.marker is not None:
            here, done = restore(driver, here, self.store.checkpoint(self.marker))
            driver.dropped = self.marker.steps - _count(driver.parts)
            self._turns_dropped = self.marker.turns - len(driver.turned)
        self._note(driver, here, done)
        return here, done

    def settle(self, driver: RunDriver, here: Progress, done: int) -> None:
        self._note(driver, here, done)
        waiting = driver.dropped + _count(driver.parts) - self._steps
        if waiting >= ROWS_OF_A_CHUNK or time.perf_counter() >= self._committed_at + self.every:
            self._commit()

    def end(self, driver: RunDriver, here: Progress, result: Result) -> Progress:
        if result is not Result.INTERRUPTED:
            done = self._latest.done if self._latest is not None else 0
            self._note(driver, here, done)
            return here
        return here if self._latest is None else self._latest.here

    def finish(self, run: Run) -> None:
        """Keep how a run has ended; or, of one that was interrupted, what is complete.

        Raises:
            OutputError: if it cannot be written; what was kept before still is.
        """
        if run.result is Result.INTERRUPTED:
            # a Ctrl-C in the middle of a commit: the one before counts
            if self._latest is not None and not self._committing:
                self._commit()
            return
        self._guarded(lambda: self.store.describe(self.manifest(record_of(run))))
        self._commit(run.result.name, run.stopped_by or "")

    @property
    def _steps(self) -> int:
        return 0 if self.marker is None else self.marker.steps

    def _note(self, driver: RunDriver, here: Progress, done: int) -> None:
        lists = list(driver.parts), list(driver.turned), list(driver.changes)
        self._latest = _Latest(here, done, *lists, driver.flow)

    def _commit(self, result: str = "", stopped_by: str = "") -> None:
        """Write the latest complete state, and let go of it."""
        driver, latest = self._driver, self._latest
        assert driver is not None and latest is not None
        self._committing = True
        # the driver may have gone on since; a commit takes the state that was complete
        driver.parts, driver.turned = list(latest.parts), list(latest.turned)
        driver.changes, driver.flow = list(latest.changes), latest.flow
        rows = _raw(driver.parts)
        # the driver keeps the last steps of earlier commits, which are not written twice
        known = self._steps - driver.dropped
        added = Steps(*(getattr(rows, f.name)[known:] for f in dataclasses.fields(Steps)))
        counted = 0 if self.marker is None else self.marker.turns
        turns = driver.turned[counted - self._turns_dropped :]
        state = state_of(driver, latest.here, latest.done)
        self.marker = self._guarded(
            lambda: self.store.commit(self.marker, added, turns, state, result, stopped_by)
        )
        self.computed += len(added.t)
        # memory stays bounded, and what switches and chattering look back at stays
        driver.parts = driver.parts[-LOOKED_BACK:]
        driver.dropped = self._steps - _count(driver.parts)
        driver.turned = driver.turned[-RECENT_TURNS:]
        self._turns_dropped = self.marker.turns - len(driver.turned)
        # or a Ctrl-C before the next chunk would commit the same steps again
        self._note(driver, latest.here, latest.done)
        self._committed_at = time.perf_counter()
        self._committing = False

    def _guarded(self, write: Callable[[], Any]) -> Any:
        """What a write returns; its failure says what is kept."""
        try:
            return write()
        except OutputError as error:
            kept = "nothing of the run is kept"
            if self.marker is not None:
                kept = (
                    f"the run is kept up to t = {self.marker.time:.6g} s, and "
                    f"zw.resume({shown_path(self.store.folder)!r}) goes on from there"
                )
            raise OutputError(error.errno, f"{str(error).rstrip('.')}; {kept}.") from None


def _count(parts: list[Steps]) -> int:
    return sum(len(part.t) for part in parts)


def _raw(parts: list[Steps]) -> Steps:
    """Parts one after another, as they are; `Steps.joined` is for all of them."""
    return Steps(
        *(np.concatenate([getattr(x, f.name) for x in parts]) for f in dataclasses.fields(Steps))
    )
