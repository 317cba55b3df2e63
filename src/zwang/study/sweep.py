"""`zw.sweep`: a study from its arguments to its result."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zwang.dynamics.control_law import AbstractLoop
from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.files.reading import file_name, shown_path
from zwang.inputs.arguments import (
    choice,
    count,
    flag,
    function,
    host_only,
    instance,
    items,
    known,
    labels,
    mapping,
    number,
    optional,
    optional_function,
)
from zwang.inputs.arrays import require_float64
from zwang.objects.extras import require
from zwang.simulation.batch import CHUNK_OF_MEMBERS, OPTIONS
from zwang.simulation.listener import Listener
from zwang.simulation.parameter_names import place_of, read_of
from zwang.simulation.results.presentation import presentation_of_model
from zwang.simulation.sample_times import checked_times
from zwang.simulation.stop import Stop
from zwang.simulation.switching import Switch, declared_switches
from zwang.study.engine import in_process, on_cluster
from zwang.study.folder import PartFolder
from zwang.study.outputs import outputs_of
from zwang.study.plan import ONE_BY_ONE, Plan
from zwang.study.result import Sweep
from zwang.study.sampling import DRAWN, Sample, axis, grid
from zwang.study.success import conditions

PART, FEWEST_PARTS = 1024, 64
"""Largest number of cases of a part by default, and least number of parts if there are enough
cases: many cores and workers then share the study evenly, and a kill costs little.
"""
SAMPLES = 201
"""Default number of sample times."""


class Done(float):
    """The fraction of a study that is done, from 0 to 1.

    Attributes:
        cases: number of cases that are done; it may be too large by those that the last part lacks.
        total: number of cases.
    """

    cases: int
    total: int

    def __new__(cls, cases: int, total: int):
        made = super().__new__(cls, cases / total)
        made.cases, made.total = cases, total
        return made


@host_only("zw.trajectory can, with jax.vmap over many parameters")
def sweep(
    model: Model,
    over: Mapping[str, Any],
    start,
    *,
    duration: float | None = None,
    times=None,
    samples: int = SAMPLES,
    sample: Sample | None = None,
    outputs=None,
    success=(),
    inputs=(),
    units: Mapping[str, str] | None = None,
    out: Path | str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    part: int | None = None,
    trajectories: bool = False,
    progress: Callable[[float], None] | None = None,
    **options,
) -> Sweep:
    """Run one model for many values of its parameters, and store some numbers of each motion.

    **Main arguments**

    Args:
        model: the model.
        over: varied quantities by name: parameters as in `zw.fit` and `--set` (`length`, `mass[1]`,
            `crank.mass`). Each takes values `[0.5, 1.0]`, a range `"0.5:2:40"` or
            `"log:0.1:10:50"`, or a frozen distribution of `scipy.stats`.
        start: (q0, v0) for all cases, or a function of a case's values by name → (q0, v0), or
            (q0, v0, further parameters by name).
        duration, samples, times: as in `zw.simulate`.
        sample: `zw.study.grid()`, `zw.study.sobol(4096)` or `zw.study.draws(1000)`.
        outputs: names such as "x.max" or "x.rate.final", with final, max, min, mean, rms or range
            over the samples; of a mechanism also "pin.force.max", "pin.torque.max" and
            "motor.effort.max" for the loads of joints and drives; or functions `(t, q, v)` →
            number by name. By default the last value of every coordinate.
        success: conditions such as "x.max < 1.2" for a success, in addition to reaching the end;
            the text and the report of the result count them.
        out: folder of the parts, each a Parquet file that is written when it is finished. The same
            call with the same folder computes only the missing parts.
        workers: number of workers of one thread on this computer; or
        cluster: address of a scheduler of dask.distributed. Both need the extra `cluster`; without
            them all cases run in this process on all cores.

    **Other arguments**

    Args:
        units: of quantities and outputs by name, if the model has none; values of `over` that
            are typed with another unit are converted.
        inputs: names in `over` that are not parameters: only `start` and `loop` read them.
        part: cases of a part; by default a 64th of all, at least 32 and at most 1024.
        trajectories: whether q and v of every case are stored, too (`Sweep.motion`); needs `out`.
        progress: called with the fraction done, a `Done`, between parts.
        options: options of `zw.batch`; or `loop`, `stop`, `switches` of `zw.simulate`, or functions
            of a case's values that return them; with these, cases run one after another.

    Returns:
        A `Sweep`. A case that fails is a row with its sentence.

    Raises:
        ModelError: for a wrong argument, or a folder that holds another study.
        OutputError: if a part cannot be written; finished parts are kept, and the same call
            continues from them.
        KeyboardInterrupt: at Ctrl-C; the message says which parts are kept.

    Example:
        >>> study = zw.sweep(model, {"length": "0.5:2:40"}, (q0, v0), duration=5.0,
        ...                  outputs=["x.max"], out="results/lengths")
        >>> study.table
    """
    require_float64()
    require("pyarrow", "sweep", "a study")
    instance(model, Model, "sweep: model", "a zw.Model")
    sample = grid() if sample is None else sample
    instance(sample, Sample, "sweep: sample", f"zw.study.grid(), {DRAWN.words}")
    optional_function(progress, "progress", "(fraction)")
    units = {} if units is None else mapping(units, "units", "{'length': 'm'}")
    plan = _plan(
        model,
        over,
        units,
        start,
        _instants(duration, times, samples),
        sample,
        inputs,
        outputs,
        part,
        flag(trajectories, "trajectories"),
        {"switches": declared, **options} if (declared := declared_switches(model)) else options,
    )
    named = (*plan.values, *(x.name for x in plan.outputs))
    out = None if out is None else file_name(out, "sweep: out")
    for name in units:
        known(name, named, "units names what the study has not:")
    plan = dataclasses.replace(plan, said_units=units)
    # before anything is computed
    asked = conditions(success, named)
    if plan.trajectories and out is None:
        raise ModelError("trajectories=True needs out=, the folder that they are written to.")
    if workers is not None and cluster is not None:
        raise ModelError("sweep takes workers= to start here or cluster= to use, and not both.")
    workers = None if workers is None else count(workers, "workers", least=1, most=10_000)
    folder, tables = None if out is None else PartFolder(plan, out), {}
    missing = list(range(plan.parts)) if folder is None else folder.missing
    done = plan.parts - len(missing)
    here = workers is None and cluster is None
    computed = in_process(plan, missing) if here else on_cluster(plan, missing, workers, cluster)
    heard = Listener.of(progress)
    # Workers and threads end with the study, however it ends.
    try:
        with contextlib.closing(computed):
            for index, made in computed:
                if folder is None:
                    tables[index] = plan.table(made.columns)
                else:
                    folder.write(index, made)
                done += 1
                heard(Done(min(done * plan.size, plan.cases), plan.cases))
    except KeyboardInterrupt as stop:
        kept = "nothing is kept of a sweep without out="
        if out is not None:
            kept = f"{shown_path(out)} keeps what is done, and the same call goes on"
        heard.refuse(f"sweep of {model.name}", kept)
        raise KeyboardInterrupt(f"interrupted; {kept}") from stop
    # Parts of an earlier call are read as well, so that the result does not depend on
    # interruptions.
    read = tables.__getitem__ if folder is None else folder.read
    found = list(map(read, range(plan.parts)))
    return Sweep(plan, sample, found, folder, len(missing), asked)


def _plan(
    model: Model,
    over: Mapping[str, Any],
    units: Mapping[str, str],
    start,
    instants: np.ndarray,
    sample: Sample,
    inputs,
    outputs,
    part,
    trajectories: bool,
    options: dict[str, Any],
) -> Plan:
    """Validate the arguments and make the study."""
    given = mapping(over, "over", "{'length': '0.5:2:40'}")
    axes = {n: axis(n, x, units.get(n, "")) for n, x in given.items()}
    inputs = labels(inputs, "inputs")
    if not axes:
        raise ModelError("over is empty; name a quantity to vary, e.g. {'length': '0.5:2:40'}.")
    for name in inputs:
        known(name, axes, "inputs names what is not in over:")
    for name in axes:
        if name in inputs:
            continue
        # An unknown parameter is refused before anything is computed.
        place_of(model, name)
        if np.shape(read_of(model, name)) != ():
            raise ModelError(
                f"over[{name!r}] is an array of shape {np.shape(read_of(model, name))}; name one "
                f"entry of it, e.g. {name}[0]."
            )
    if declared := declared_switches(model):
        options = {"switches": declared, **options}
    _refuse_options(options)
    # One start for all cases is checked once, here; a function is checked for each case.
    if not callable(start):
        if not isinstance(start, (tuple, list)) or len(start) != 2:
            raise ModelError("start is expected as (q0, v0), or a function of a case's values.")
        state = model.state(start[0], start[1], float(instants[0]))
        start = np.asarray(state.q), np.asarray(state.v)
    values = sample.cases(axes)
    cases = len(next(iter(values.values())))
    size = min(-(-cases // FEWEST_PARTS), PART) if part is None else count(part, "part", least=1)
    # Whole chunks have the same shapes, and so the same digits, whatever the number of cores.
    size = min(-(-size // CHUNK_OF_MEMBERS) * CHUNK_OF_MEMBERS, cases)
    made = outputs_of(outputs, model)
    sampling = dataclasses.asdict(sample)
    given = model, values, inputs, start, instants, made, options, size, trajectories, sampling
    asks = any(x.transmitted for x in made)
    return Plan(*given, mechanism=presentation_of_model(model).mechanism if asks else None)


def _refuse_options(options: Mapping[str, Any]) -> None:
    """Raise for an option that does not exist, or that is invalid in every case."""
    for name, x in options.items():
        known(name, (*OPTIONS, *ONE_BY_ONE), "sweep has no option")
        if name in ONE_BY_ONE and callable(x):
            function(x, name, "(values)")
        elif name == "loop":
            optional(x, AbstractLoop, "loop", "zw.Loop(...), or a function of a case's values")
        elif name == "stop":
            items(x, Stop, "stop", "zw.Stop(function)")
        elif name == "switches":
            items(x, Switch, "switches", "zw.Switch(constraint, on=..., off=...)")


def _instants(duration, times, samples) -> np.ndarray:
    if (duration is None) == (times is None):
        raise ModelError("sweep needs either duration (s) or times (instants, s), and not both.")
    if times is None:
        duration = number(duration, "duration", above=0, unit="s")
        return np.linspace(0.0, duration, count(samples, "samples", least=2))
    return np.asarray(checked_times(times))


def sample_of(text: str, seed: int = 0) -> Sample:
    """Return a sample by its name on the command line, `sobol:4096`.

    Raises:
        ModelError: for another text.
    """
    from zwang.study.sampling import KINDS

    kind, _, size = text.partition(":")
    choice(kind, "sample", KINDS)
    if kind == "grid":
        return KINDS[kind](0, seed)
    if not size.isdigit():
        raise ModelError(f"sample {text!r:.60} names no number of cases; expected {kind}:1024.")
    return KINDS[kind](int(size), seed)
