"""A run that survives its process: its steps are written to a folder as they are computed.

The folder also has all that the next step depends on. If the process ends for any reason, the same
call or `resume` continues from the last commit. The steps are bitwise identical to those of a run
without interruption.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zwang.archive import load
from zwang.archive.growing import GrowingRun
from zwang.archive.load import STRATEGIES
from zwang.archive.sources import rebuilt
from zwang.dynamics.model import Model
from zwang.errors import ModelError, Result
from zwang.files.reading import file_name, shown_path
from zwang.inputs.arguments import (
    count,
    host_only,
    instance,
    number,
    optional,
    optional_function,
    real_array,
)
from zwang.inputs.arrays import require_float64
from zwang.inputs.call import misfits_named
from zwang.objects.provenance import Source
from zwang.remedy import resume_call
from zwang.simulation.listener import Listener
from zwang.simulation.results import Run
from zwang.simulation.results.stored import PARAMETER, leaves_by_name, with_leaves
from zwang.simulation.results.strategies import described, made
from zwang.simulation.simulate import simulate
from zwang.study.content import content_digest
from zwang.study.keeper import RunKeeper
from zwang.thresholds import DEFAULT_RTOL

EVERY = 10.0
"""Default time between two commits [s], which is the most that a kill can cost."""
FUNCTIONS = ("loop", "stop", "switches")
"""Options that contain functions, which a folder cannot hold."""
OURS = ("throw", "keeper", "progress")
"""Options of `zw.simulate` that a long run sets itself."""
ROWS_READ = 4096
"""Number of steps that are read at a time."""


class LongRun:
    """A run in its folder, up to its present end.

    Attributes:
        folder: its path.
        model: the model.
        computed: number of steps that the call which returned it has computed.
    """

    def __init__(self, folder: Path, model: Model, computed: int = 0):
        self.folder, self.model, self.computed = folder, model, computed
        self._store = GrowingRun(folder)

    def __len__(self) -> int:
        """Number of committed steps, including the start."""
        marker = self._store.marker
        return 0 if marker is None else marker.steps

    @property
    def time(self) -> float:
        """Simulated time that is committed [s]."""
        marker = self._store.marker
        return float("nan") if marker is None else marker.time

    @property
    def result(self) -> Result:
        """Result of the run; `INTERRUPTED` while it has not ended."""
        marker = self._store.marker
        ended = marker is not None and marker.result
        return Result[marker.result] if marker is not None and ended else Result.INTERRUPTED

    def run(self) -> Run:
        """Load all steps into memory as a `Run`."""
        return load(self.folder, model=self.model)

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield times, q and v at the samples in blocks of some thousand, for very long runs."""
        nq = self.model.system.nq
        for first in range(0, len(self), ROWS_READ):
            rows = self._store.rows(first, first + ROWS_READ)
            at = rows.sample >= 0
            yield rows.t[at], rows.y[at, :nq], rows.y[at, nq:]

    def states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, q and v at all samples."""
        t, q, v = zip(*self.blocks(), strict=True)
        return np.concatenate(t), np.concatenate(q), np.concatenate(v)

    def __repr__(self) -> str:
        return (
            f"<zwang.LongRun of {self.model.name} in {shown_path(self.folder)}: {len(self)} steps "
            f"to t = {self.time:.6g} s, {self.result.sentence}>"
        )


@host_only("run it on the host")
def long_run(
    model: Model,
    q0,
    v0,
    *,
    out: Path | str,
    duration: float | None = None,
    times=None,
    samples: int = 201,
    every: float = EVERY,
    progress: Callable[[float], None] | None = None,
    **options,
) -> LongRun:
    """Simulate, and write the steps to a folder while the run grows.

    The same call, or `zw.study.resume`, continues a run that was ended. Every step has the digits
    that `zw.simulate` gives, whether the run was interrupted or not.

    Args:
        model, q0, v0: as in `zw.simulate`.
        out: folder of the run. `zw.load(out)` opens the committed part, also while the run goes on.
        duration, samples, times: as in `zw.simulate`.
        every: least time between two commits [s]; a kill loses what was computed since the last
            one. Memory holds uncommitted steps, at most 4096.
        progress: as in `zw.simulate`.
        options: further options of `zw.simulate`.

    Returns:
        A `LongRun`, also if the motion ended early.

    Raises:
        ModelError: for a wrong argument, or a folder that holds another run.
        OutputError: if the folder cannot be written to; earlier commits are unchanged.
        KeyboardInterrupt: at Ctrl-C, after the steps up to the last chunk have been committed.
        SimulationError: if `progress` fails, after the same commit.

    Example:
        >>> long = zw.study.long_run(model, q0, v0, duration=3600.0, out="results/hour")
        >>> long = zw.study.resume("results/hour")         # after a crash
    """
    instance(model, Model, "long_run: model", "a zw.Model")
    optional_function(progress, "progress", "(fraction)")
    require_float64()
    every = number(every, "every", least=0, infinite=True, unit="s")
    # Raising at a stop, or another keeper, would break the guarantees of the folder.
    for name in OURS:
        if name in options:
            raise ModelError(f"long_run cannot take {name}; use zw.simulate for the whole run.")
    options["t0"] = t0 = number(options.get("t0", 0.0), "t0", unit="s")
    if (duration is None) == (times is None):
        raise ModelError("long_run needs either duration (s) or times (instants, s), not both.")
    if times is None:
        length = number(duration, "duration", above=0, unit="s")
        times = t0 + np.linspace(0.0, length, count(samples, "samples", least=2))
    asked = _Asked.of(model, q0, v0, np.asarray(real_array(times, "times", "instants")), options)
    out = file_name(out, "long_run: out")
    store, long = GrowingRun(out), LongRun(out, model)
    # The digest covers everything that affects the digits, so that no two runs mix in one folder.
    if store.exists and store.manifest.get("digest") != asked.digest:
        raise ModelError(
            f"{shown_path(out)} holds another run: its model, start, times or options differ; give "
            "another folder."
        )
    # called again after the end, as by a script that is started again
    if long.result is not Result.INTERRUPTED:
        return long
    keeper = RunKeeper(store, every, asked.manifest, asked.start, asked.settings)
    heard = Listener.of(progress)
    run = simulate(
        model, q0, v0, times=times, throw=False, progress=heard, keeper=keeper, **options
    )
    keeper.finish(run)
    if run.result is Result.INTERRUPTED:
        way = resume_call(str(out))
        kept = f"the run is kept up to t = {long.time:.6g} s, and {way} goes on from there"
        heard.refuse(model.name, kept)
        raise KeyboardInterrupt(f"interrupted; {kept}")
    long.computed = keeper.computed
    return long


@misfits_named
def resume(
    out: Path | str,
    *,
    model: Model | None = None,
    trust: bool = False,
    every: float = EVERY,
    progress: Callable[[float], None] | None = None,
    **options,
) -> LongRun:
    """Continue a run that `zw.study.long_run`, or `zwang run --stream`, has begun.

    Args:
        out: its folder.
        model: its model, if the folder does not say how to build it.
        trust: whether the Python file or module that the folder names may be executed.
        every, progress: as in `long_run`.
        options: `loop`, `stop`, `switches` or methods of your own, which contain functions and
            cannot be stored in a folder, as the run was begun with.

    Returns:
        A `LongRun`; a run that has ended is returned unchanged.

    Raises:
        ModelError: if the folder holds no such run, or the model or the options are not those that
            it was begun with.
        OutputError, KeyboardInterrupt, SimulationError: as in `long_run`.
    """
    optional(model, Model, "resume: model", "a zw.Model")
    out = file_name(out, "resume: out")
    store = GrowingRun(out)
    manifest = store.manifest
    brought: Mapping[str, Any] = {}
    if model is None:
        source = manifest["record"]["model"]["source"]
        if source is None:
            raise ModelError(
                f"{shown_path(out)} does not say how to make its model again; give it: "
                "zw.study.resume(out, model=...)."
            )
        found = rebuilt(Source.from_record(source), trust)
        model, brought = found.model, found.options
    given = dict(options)
    for name in manifest["unwritten"]:
        if name not in given and name not in brought:
            raise ModelError(
                f"the run was begun with {name}, which contains functions and is not in the "
                f"folder; give it: zw.study.resume(out, {name}=...)."
            )
        given.setdefault(name, brought.get(name))
    for name, x in manifest["options"].items():
        given[name] = made(x, STRATEGIES[name], name) if name in STRATEGIES else x
    start = store.start
    own = {n.removeprefix(PARAMETER): x for n, x in start.items() if n.startswith(PARAMETER)}
    if own:
        given["params"] = with_leaves(model.parameters(), own, "parameter")
    return long_run(
        model,
        start["q0"],
        start["v0"],
        out=out,
        times=start["times"],
        every=every,
        progress=progress,
        **given,
    )


@dataclasses.dataclass(frozen=True)
class _Asked:
    """The requested run, as a folder records it.

    Attributes:
        start: start, sample times and parameters.
        recorded: options as JSON holds them.
        unwritten: options that contain functions.
        digest: of everything that the steps depend on, the same in every process.
    """

    start: dict[str, np.ndarray]
    recorded: dict[str, Any]
    unwritten: dict[str, Any]
    digest: str

    @classmethod
    def of(cls, model: Model, q0, v0, times: np.ndarray, options: Mapping[str, Any]) -> _Asked:
        """Make the record of the arguments."""
        start = {name: np.asarray(real_array(x, name)) for name, x in (("q0", q0), ("v0", v0))}
        start["times"] = times
        p = leaves_by_name(model.parameters(options.get("params")))
        start |= {f"{PARAMETER}{name}": x for name, x in p}
        recorded, unwritten = {}, {}
        for name, x in options.items():
            if name == "params" or x is None:
                continue
            found = None if name in FUNCTIONS else described(x)
            # A user's own method is not a class of this package.
            (unwritten if found is None else recorded)[name] = x if found is None else found
        digest = hashlib.sha256(content_digest(model).encode())
        for name in sorted(start):
            digest.update(f"{name}{start[name].shape}".encode() + start[name].tobytes())
        digest.update(json.dumps(recorded, sort_keys=True).encode())
        for name in sorted(unwritten):
            digest.update(f"{name}{content_digest(unwritten[name])}".encode())
        return cls(start, recorded, unwritten, digest.hexdigest())

    @property
    def settings(self) -> dict[str, Any]:
        """Attributes of the run that are known before it."""
        plain = {n: x for n, x in self.recorded.items() if isinstance(x, (int, float, str))}
        return {
            "rtol": DEFAULT_RTOL,
            **plain,
            "loop": repr(self.unwritten.get("loop") or "").strip("'"),
        }

    def manifest(self, record: dict[str, Any]) -> dict[str, Any]:
        """The manifest of the folder."""
        return {
            "digest": self.digest,
            "options": self.recorded,
            "unwritten": sorted(self.unwritten),
            "record": record,
        }
