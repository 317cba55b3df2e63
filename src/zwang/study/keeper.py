"""The monitor that writes a run to its folder."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from zwang.archive.growing import ROWS_OF_A_CHUNK, GrowingRun
from zwang.dynamics.vector_field import ConstrainedVectorField
from zwang.errors import OutputError, Result
from zwang.files.reading import shown_path
from zwang.remedy import resume_call
from zwang.simulation.monitor import AbstractMonitor, RunState
from zwang.simulation.results import Run, Steps
from zwang.simulation.results.stored import record_of
from zwang.stepping.step import Progress
from zwang.study.checkpoint import restore, state_of

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class _Latest:
    """A snapshot of a run after a chunk of steps and the events at its end."""

    here: Progress
    done: int
    parts: list[Steps]
    turned: list
    changes: list[str]
    flow: ConstrainedVectorField
    memory: dict[str, Any]

    @classmethod
    def of(cls, run: RunState) -> _Latest:
        """Take a snapshot of a run."""
        lists = list(run.parts), list(run.turned), list(run.changes)
        return cls(run.here, run.done, *lists, run.flow, run.memory())

    def put_back(self, run: RunState) -> None:
        """Reset a run to the snapshot."""
        run.here, run.done, run.flow = self.here, self.done, self.flow
        run.parts, run.turned = list(self.parts), list(self.turned)
        run.changes = list(self.changes)
        run.recall(self.memory)


class RunKeeper(AbstractMonitor):
    """Writes a run to a folder, and starts it from the last commit.

    The steps of such a run, and the chunks they are computed in, do not depend on the speed of the
    computer, so that every step has the same digits.

    Args:
        store: the folder.
        every: least time between two commits [s].
        manifest: makes the folder's manifest from a record of the run.
        start: start, sample times and parameters.
        settings: attributes of the run that are known before it.

    Attributes:
        computed: committed steps of this process.
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
        self._run: RunState | None = None
        self._committed_at = time.perf_counter()

    def begin(self, run: RunState) -> None:
        self._run = run
        if not self.store.exists:
            probe = Run(
                run.model,
                run.flow,
                run.parts[0],
                run.instants,
                Result.INTERRUPTED,
                self.settings,
                integrator=run.integrator,
            )
            self.store.begin(self.manifest(record_of(probe)), self.start)
        # After a crash the run is started again and reset to the last commit.
        if self.marker is not None:
            restore(run, self.store.checkpoint(self.marker))
            run.dropped = self.marker.steps - sum(len(part.t) for part in run.parts)
            self._turns_dropped = self.marker.turns - len(run.turned)
        self._latest = _Latest.of(run)

    def settle(self, run: RunState) -> None:
        self._latest = _Latest.of(run)
        waiting = run.dropped + sum(len(part.t) for part in run.parts) - self._steps
        if waiting >= ROWS_OF_A_CHUNK or time.perf_counter() >= self._committed_at + self.every:
            self._commit()

    def end(self, run: RunState, result: Result) -> None:
        if result is not Result.INTERRUPTED:
            self._latest = _Latest.of(run)
        elif self._latest is not None:
            run.here = self._latest.here

    def finish(self, run: Run) -> None:
        """Write the end of a run; of an interrupted run, the latest complete state.

        Raises:
            OutputError: if it cannot be written; earlier commits are unchanged.
        """
        if run.result is Result.INTERRUPTED:
            # After Ctrl-C during a commit the commit before is valid.
            if self._latest is not None and not self._committing:
                self._commit()
            return
        self._guarded(lambda: self.store.describe(self.manifest(record_of(run))))
        self._commit(run.result.name, run.stopped_by or "")

    @property
    def _steps(self) -> int:
        return 0 if self.marker is None else self.marker.steps

    def _commit(self, result: str = "", stopped_by: str = "") -> None:
        """Commit the latest complete state and free its steps."""
        run, latest = self._run, self._latest
        assert run is not None and latest is not None
        self._committing = True
        # The run may have advanced since; the commit takes the state that was complete.
        latest.put_back(run)
        rows = _raw(run.parts)
        # The run keeps the last steps of earlier commits, which are not written again.
        known = self._steps - run.dropped
        added = Steps(*(getattr(rows, f.name)[known:] for f in dataclasses.fields(Steps)))
        counted = 0 if self.marker is None else self.marker.turns
        turns = run.turned[counted - self._turns_dropped :]
        state = state_of(run)
        self.marker = self._guarded(
            lambda: self.store.commit(self.marker, added, turns, state, result, stopped_by)
        )
        self.computed += len(added.t)
        # Memory stays bounded; the steps that switches and chattering detection need are kept.
        run.forget()
        self._turns_dropped = self.marker.turns - len(run.turned)
        # Without this, a Ctrl-C before the next chunk would commit the same steps again.
        self._latest = _Latest.of(run)
        self._committed_at = time.perf_counter()
        self._committing = False

    def _guarded(self, write: Callable[[], T]) -> T:
        """Call a writing function; the error of its failure says what has been committed."""
        try:
            return write()
        except OutputError as error:
            kept = "nothing of the run is kept"
            if self.marker is not None:
                kept = (
                    f"the run is kept up to t = {self.marker.time:.6g} s, and "
                    f"{resume_call(shown_path(self.store.folder))} goes on from there"
                )
            raise OutputError(error.errno, f"{str(error).rstrip('.')}; {kept}.") from None


def _raw(parts: list[Steps]) -> Steps:
    """Concatenate parts unchanged; `Steps.joined` is for complete runs."""
    return Steps(
        *(np.concatenate([getattr(x, f.name) for x in parts]) for f in dataclasses.fields(Steps))
    )
