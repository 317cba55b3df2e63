"""`zwang sweep`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from zwang.cli import sweep_options as option
from zwang.cli.failure import UserError
from zwang.cli.progress import Bar
from zwang.cli.target import Target, load_target, locate, made_folder
from zwang.cli.terminal import complain, say, warn
from zwang.cli.values import assignments

INTERRUPTED = 130


def command(
    ctx: typer.Context,
    model: option.ModelName,
    over: option.Over = None,
    sample: option.SampleKind = "grid",
    seed: option.Seed = 0,
    output: option.Outputs = None,
    set_: option.Settings = None,
    duration: option.Duration = None,
    rtol: option.Rtol = None,
    samples: option.Samples = 201,
    start_tolerance: option.StartTolerance = None,
    part: option.Part = None,
    trajectories: option.Trajectories = False,
    workers: option.Workers = None,
    cluster: option.Cluster = None,
    out: option.Out = None,
    quiet: option.Quiet = False,
) -> int:
    """Run a model for many values of its parameters, and write a table and a report.

    The same command with the same folder computes only what is missing.

    Examples:

    [cyan]zwang sweep pendulum --over mass=1:2:8 --over gravity=1:10:10 --output x.min[/]

    [cyan]zwang sweep five-bar --over mass\\[3]=0.5:4 --sample sobol:4096 --workers 2[/]

    Exit code: 0 done, 2 wrong input, 130 interrupted (finished parts are kept).
    """
    ranges = assignments(over or [])
    if not ranges:
        raise UserError("nothing is varied: give --over NAME=RANGE, e.g. --over length=0.5:2:40.")
    given = assignments(set_ or [])
    locate(model)
    with Bar(not quiet) as bar:
        from zwang.cli.startup import start_jax

        warnings = [start_jax(task=f"sweep {model}")]
        target = load_target(model, given)
        folder = made_folder(_folder(out, target.name))
        options: dict[str, Any] = {"rtol": target.options.get("rtol", 1e-8)}
        for name in ("switches", "stop"):
            if target.options.get(name):
                options[name] = target.options[name]
        options |= {n: x for n, x in (("rtol", rtol), ("start_tolerance", start_tolerance)) if x}
        length = duration if duration is not None else target.options.get("duration")
        if length is None:
            raise UserError(f"{target.name} does not say how long to run: give --duration S.")
        from zwang.study.sweep import sample_of, sweep

        bar.says("compiling")
        start, inputs = _start(model, target, given, list(ranges))
        try:
            study = sweep(
                target.model,
                ranges,
                start,
                duration=length,
                samples=samples,
                sample=sample_of(sample, seed),
                outputs=output or None,
                inputs=inputs,
                out=folder,
                workers=workers,
                cluster=cluster,
                part=part,
                trajectories=trajectories,
                progress=lambda fraction: bar.reaches(fraction, f"{100 * fraction:.0f} %"),
                **options,
            )
        except KeyboardInterrupt:
            complain(
                f"interrupted; finished parts are in {folder}, and the same command goes on from "
                "them."
            )
            return INTERRUPTED
        study.save(folder / "cases.csv")
        study.report(folder / "report.html")
    for warning in filter(None, [*warnings, *target.warnings]):
        warn(warning)
    if not quiet:
        say(str(study))
        say(f"\nwritten: {folder / 'report.html'}, {folder / 'cases.csv'}")
    return 0


def _start(model: str, target: Target, given: dict[str, str], varied: list[str]):
    """The start of a case, and the names that only it reads: settings that a model is built with.

    Where settings are varied, each case is built anew, and takes its start and parameters.
    """
    from zwang.errors import ModelError
    from zwang.simulation.parameter_names import place_of, written

    inputs = []
    for name in varied:
        try:
            place_of(target.model, name)
            if name not in target.units and name not in target.settings:
                continue
            # a setting that is a parameter, too: the start may depend on it
            inputs.append(name)
        except ModelError:
            if name not in target.settings:
                raise
            inputs.append(name)
    if not inputs:
        if target.params:
            params = dict(target.params)
            return (lambda values: (target.q0, target.v0, params)), ()
        return (target.q0, target.v0), ()
    keys = _leaf_names(target.model)

    def start(values: dict[str, Any]):
        words = {**given, **{name: repr(values[name]) for name in inputs}}
        built = load_target(model, words)
        params = written(built.model, built.params) if built.params else built.model.params
        return built.q0, built.v0, {name: _read(params, name) for name in keys}

    return start, tuple(inputs)


def _leaf_names(model) -> list[str]:
    from zwang.simulation.parameter_names import names

    return names(model.params)


def _read(params, name: str):
    from zwang.simulation.parameter_names import read

    return read(params, name)


def _folder(out: Path | None, name: str) -> Path:
    if out is not None:
        return out
    return (
        Path("results") / f"{re.sub(r'[^-.0-9A-Za-z_]+', '-', name).strip('-.') or 'model'}-sweep"
    )
