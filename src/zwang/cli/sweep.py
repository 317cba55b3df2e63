"""`zwang sweep`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from zwang.cli.advice import fitted
from zwang.cli.failure import RUN_FAILED, UserError
from zwang.cli.model_options import ModelName, Settings
from zwang.cli.progress import Bar, SweepProgress
from zwang.cli.run_options import Duration, MaxSteps, Quiet, Rtol, StartTolerance
from zwang.cli.sweep_options import (
    Case,
    Cluster,
    Out,
    Output,
    Over,
    Part,
    Sample,
    Samples,
    Seed,
    Success,
    Trajectories,
    Workers,
)
from zwang.cli.target import Target, load_target, locate, made_folder, results_folder
from zwang.cli.terminal import complain, say, warn
from zwang.cli.values import assignments
from zwang.errors import OutputError
from zwang.thresholds import DEFAULT_RTOL

INTERRUPTED = 130


def command(
    ctx: typer.Context,
    model: ModelName,
    over: Over = None,
    sample: Sample = "grid",
    seed: Seed = 0,
    output: Output = None,
    success: Success = None,
    set_: Settings = None,
    duration: Duration = None,
    rtol: Rtol = None,
    samples: Samples = 201,
    start_tolerance: StartTolerance = None,
    max_steps: MaxSteps = None,
    part: Part = None,
    case: Case = None,
    trajectories: Trajectories = False,
    workers: Workers = None,
    cluster: Cluster = None,
    out: Out = None,
    quiet: Quiet = False,
) -> int:
    """Run a model for many values of its parameters, and write a table and a report.

    The same command with the same folder computes only what is missing.

    Examples:

    [cyan]zwang sweep pendulum --over mass=1:2:8 --over gravity=1:10:10 --output x.min[/]

    [cyan]zwang sweep five-bar --over mass\\[3]=0.5:4 --sample sobol:4096 --workers 2[/]

    Exit code: 0 done, 2 wrong input, 130 interrupted (finished parts are kept).
    """
    ranges = assignments(over or [], "--over", "length=0.5:2:40")
    if not ranges:
        raise UserError("nothing is varied: give --over NAME=RANGE, e.g. --over length=0.5:2:40.")
    given = assignments(set_ or [])
    locate(model)
    with Bar(not quiet) as bar:
        from zwang.cli.startup import start_jax

        warnings = [start_jax()]
        target = load_target(model, given)
        folder = made_folder(results_folder(out, target.name, "-sweep"))
        asked = {"rtol": rtol, "start_tolerance": start_tolerance, "max_steps": max_steps}
        options = _options(target, **asked)
        length = duration if duration is not None else target.options.get("duration")
        if length is None:
            raise UserError(f"{target.name} does not say how long to run: give --duration S.")
        from zwang.study.sweep import sample_of, sweep

        bar.says("compiling")
        reached = SweepProgress()
        start, inputs = _start(model, target, given, list(ranges))
        try:
            study = sweep(
                target.model,
                ranges,
                start,
                duration=length,
                samples=samples,
                sample=sample_of(sample, seed),
                outputs=_outputs(target, output),
                success=success or (),
                inputs=inputs,
                units={name: unit for name, unit in target.units.items() if name in ranges},
                out=folder,
                workers=workers,
                cluster=cluster,
                part=part,
                trajectories=trajectories,
                progress=lambda done: bar.reaches(done, reached.text(done)),
                **options,
            )
        except KeyboardInterrupt:
            complain(f"interrupted; {_kept(folder)}")
            return INTERRUPTED
        except OutputError as error:
            raise OutputError(error.errno, f"{str(error).rstrip('.')}; {_kept(folder)}") from None
        study.again = _again(ctx.obj["words"])
        if case is not None:
            bar.says(f"running case {case}")
            return _one_case(study, case, target, folder, quiet)
        study.save(table := _beside(folder, ".csv"))
        study.report(report := _beside(folder, ".html"))
    for warning in filter(None, [*warnings, *target.warnings]):
        warn(warning)
    if not quiet:
        say(fitted(str(study)))
        say(f"\nwritten: {folder}, {report}, {table}")
    return 0


def _beside(folder: Path, ending: str) -> Path:
    """A path next to the folder of the table; other programs expect only the table in that
    folder.
    """
    folder = folder if folder.name not in ("", "..") else folder.resolve()
    return folder.with_name(folder.name + ending)


def _kept(folder: Path) -> str:
    """The saved part of a study that ended early."""
    return f"finished parts are in {folder}, and the same command goes on from them."


def _options(target: Target, **given) -> dict[str, Any]:
    """Options of the study: those of the model, and those of the command line."""
    options: dict[str, Any] = {"rtol": target.options.get("rtol", DEFAULT_RTOL)}
    brought = {name: target.options.get(name) for name in ("switches", "stop", "loop")}
    return options | {name: x for name, x in {**brought, **given}.items() if x}


def _outputs(target: Target, asked: list[str] | None) -> Mapping[str, Any] | None:
    """The outputs to store: the requested ones, otherwise those of the file, otherwise the final
    coordinates.
    """
    if not asked:
        return target.outputs or None
    return {name: target.outputs.get(name, name) for name in asked}


def _again(words: Sequence[str]) -> str:
    """The command line of the study without `--case`."""
    kept = list(words)
    if "--case" in kept:
        del kept[kept.index("--case") : kept.index("--case") + 2]
    return shlex.join(["zwang", *(x for x in kept if not x.startswith("--case="))])


def _one_case(study, case: int, target: Target, folder: Path, quiet: bool) -> int:
    """Run one case, and write the files of `zwang run`."""
    run = study.run(case)
    run.attrs["command"] = study.command(case)
    below = made_folder(_beside(folder, f"-case-{case:06d}"))
    written = [run.save(below / "run.nc")]
    parts = {"description": target.description, "figures": target.figures}
    written.append(run.report(below / "report.html", **parts))
    if target.scene is not None:
        written.append(run.view(below / "view.html", scene=target.scene, **parts))
    if not quiet:
        values = ", ".join(f"{n} = {x:.6g}" for n, x in study.plan.case(case).items())
        say(f"{values}\n{run}\n\nwritten: {', '.join(map(str, written))}")
    return RUN_FAILED if run.result.is_failure else 0


def _start(model: str, target: Target, given: dict[str, str], varied: list[str]):
    """The start of a case, and the names of values that only the start reads.

    If settings are varied, the model is built again for each case, and gives its start and
    parameters.
    """
    from zwang.errors import ModelError
    from zwang.simulation.parameter_names import names, place_of, read, written

    inputs, kept = [], []
    reads = target.start is not None or callable(target.options.get("loop"))
    for name in varied:
        try:
            place_of(target.model, name)
            if name not in target.units and name not in target.settings:
                continue
            # a setting that is also a parameter: the start may depend on it
            inputs.append(name)
        except ModelError:
            if name not in target.settings and not reads:
                raise
            (inputs if name in target.settings else kept).append(name)
    if target.start is not None:
        return target.start, tuple(kept)
    if not inputs:
        if target.params:
            params = dict(target.params)
            return (lambda values: (target.q0, target.v0, params)), tuple(kept)
        return (target.q0, target.v0), tuple(kept)
    keys = names(target.model.params)

    def start(values: dict[str, Any]):
        words = {**given, **{name: repr(values[name]) for name in inputs}}
        built = load_target(model, words)
        params = written(built.model, built.params) if built.params else built.model.params
        return built.q0, built.v0, {name: read(params, name) for name in keys}

    return start, (*inputs, *kept)
