"""A run that outlives its process: segments, each a file of its own that is complete or not there.

A segment begins at the state that the file before it holds, and depends on nothing else: whatever
ends the process, the same call goes on with the first segment that is missing, and gives the files
that a call without interruption gives, bit for bit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from zwang.archive import load
from zwang.arguments import count, host_only, instance, number, optional_function
from zwang.dynamics.model import Model
from zwang.errors import ModelError, Result
from zwang.files import is_file, make_folder, read_text, write_text
from zwang.files.reading import shown_path
from zwang.simulation.results import Run
from zwang.simulation.simulate import simulate
from zwang.study.content import content_digest

MANIFEST = "long_run.json"
STATEFUL = ("loop", "switches")
"""Options whose state at the end of a segment is not that of the motion alone."""
OURS = ("times", "duration", "samples", "t0", "throw", "progress")
"""Options of `zw.simulate` that a segment decides."""


class LongRun:
    """The segments of a run that are there.

    Attributes:
        folder: where they are.
        model: the model.
        segments: how many segments the whole run has.
        computed: how many this call computed.
    """

    def __init__(self, folder: Path, model: Model, segments: int, computed: int):
        self.folder, self.model, self.segments, self.computed = folder, model, segments, computed

    def __len__(self) -> int:
        """Segments that are there."""
        return next((i for i in range(self.segments) if not is_file(self.file(i))), self.segments)

    def file(self, segment: int) -> Path:
        """The file of a segment."""
        return self.folder / f"segment-{segment:06d}.nc"

    def segment(self, index: int) -> Run:
        """One segment as a run."""
        if not 0 <= index < len(self):
            raise ModelError(f"there is no segment {index}; expected 0 … {len(self) - 1}.")
        return load(self.file(index), model=self.model)

    def __iter__(self) -> Iterator[Run]:
        """Segments in order, one in memory at a time."""
        return (self.segment(i) for i in range(len(self)))

    @property
    def result(self) -> Result:
        """How the last segment that is there has ended."""
        return self.segment(len(self) - 1).result

    def states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, q and v at all samples, each instant once."""
        parts = [(run.t, run.q, run.v) for run in self]
        first = [0, *([1] * (len(parts) - 1))]
        t, q, v = (
            np.concatenate([part[i][a:] for part, a in zip(parts, first, strict=True)])
            for i in range(3)
        )
        return t, q, v


@host_only("run it on the host")
def long_run(
    model: Model,
    q0,
    v0,
    *,
    duration: float,
    segment: float,
    out: Path | str,
    samples: int = 201,
    progress: Callable[[float], None] | None = None,
    **options,
) -> LongRun:
    """Simulate in segments, each written when it is finished; the same call goes on where it was
    stopped.

    Args:
        model, q0, v0: as in `zw.simulate`.
        duration: length of the whole run [s].
        segment: length of a segment [s]; memory holds one of them. Step control begins anew in
            each, so that a segment should be many steps long.
        out: folder of the files, `segment-000000.nc` and so on, each of which `zw.load` opens.
        samples: sample times of a segment, both ends included.
        progress: called with the fraction done, between segments.
        options: further options of `zw.simulate`, except `loop` and `switches`, whose state at the
            end of a segment is more than q and v.

    Returns:
        A `LongRun`. A segment that ends early for a reason of the motion is kept and ends the run.

    Raises:
        ModelError: for a wrong argument, or a folder that holds another run.
        OutputError: if a segment cannot be written; the finished ones stay.
        KeyboardInterrupt: at Ctrl-C; finished segments stay.
    """
    instance(model, Model, "long_run: model", "a zw.Model")
    optional_function(progress, "progress", "(fraction)")
    duration = number(duration, "duration", above=0, unit="s")
    segment = number(segment, "segment", above=0, most=duration, unit="s")
    samples = count(samples, "samples", least=2)
    for name in options:
        if name in STATEFUL or name in OURS:
            raise ModelError(
                f"long_run cannot take {name}: a segment begins at q, v and t alone; use "
                "zw.simulate for the whole run."
            )
    # where steps are taken must not depend on how fast this computer compiles
    options.setdefault("execution", "compiled")
    state = model.state(q0, v0, 0.0)
    total = int(np.ceil(duration / segment * (1 - 1e-12)))
    ends = np.append(np.arange(total) * segment, duration)
    made = LongRun(Path(out), model, total, 0)
    _claim(made, (model, np.asarray(state.q), np.asarray(state.v), ends, samples, options))
    at = len(made)
    y = (np.asarray(state.q), np.asarray(state.v)) if at == 0 else _end(made.segment(at - 1))
    while at < total and (at == 0 or made.segment(at - 1).result is Result.SUCCESS):
        times = np.linspace(ends[at], ends[at + 1], samples)
        run = simulate(model, *y, times=times.tolist(), t0=float(ends[at]), throw=False, **options)
        if run.result is Result.INTERRUPTED:
            raise KeyboardInterrupt
        run.save(made.file(at))
        y = run.q[-1], run.v[-1]
        at, made.computed = at + 1, made.computed + 1
        if progress is not None:
            progress(at / total)
    return made


def _end(run: Run) -> tuple[np.ndarray, np.ndarray]:
    return run.q[-1], run.v[-1]


def _claim(made: LongRun, content: tuple[Any, ...]) -> None:
    """Say in the folder which run it holds, and refuse one that holds another."""
    make_folder(made.folder)
    manifest, digest = made.folder / MANIFEST, content_digest(content)
    if is_file(manifest):
        if json.loads(read_text(manifest, "toml_size")).get("digest") != digest:
            raise ModelError(
                f"{shown_path(made.folder)} holds another run: its model, start, times or options "
                "differ; give another folder."
            )
        return
    record = {"digest": digest, "model": made.model.name, "segments": made.segments}
    write_text(manifest, json.dumps(record, indent=1))
