"""`zwang run`."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import typer

from zwang.cli.advice import fitted
from zwang.cli.explain import explained
from zwang.cli.failure import INTERRUPTED, RUN_FAILED, UserError, referred, sentence_of
from zwang.cli.interruption import Interruption
from zwang.cli.model_options import ModelNameIfAny, Settings
from zwang.cli.options import drift_treatment, method
from zwang.cli.progress import Bar, progress_text
from zwang.cli.run_options import (
    Alpha,
    Atol,
    Beta,
    DriftName,
    Duration,
    Formulas,
    FormulationName,
    IntegratorName,
    MaxSteps,
    NoReport,
    Out,
    Phase,
    PseudoinverseName,
    Quiet,
    Resume,
    Rtol,
    Samples,
    StartTolerance,
    Step,
    Stream,
)
from zwang.cli.streaming import remember, resumed, streamed
from zwang.cli.target import Target, load_target, locate, made_folder, results_folder
from zwang.cli.terminal import complain, say, warn
from zwang.cli.timing import WallTime
from zwang.cli.values import assignments, number_or_list
from zwang.inputs.suggestions import did_you_mean
from zwang.objects.families import FORMULATIONS, INTEGRATORS, PSEUDOINVERSES

UNITS = {"duration": " s", "step": " s"}
START = "start.svg"
"""File of the picture that is drawn before anything is compiled."""
PAGES = ("report.html", "view.html")


class Unfinished(NamedTuple):
    """The reason why the pages of a saved run are incomplete, and the exit code for it."""

    sentence: str
    code: int


def command(
    ctx: typer.Context,
    model: ModelNameIfAny = None,
    set_: Settings = None,
    duration: Duration = None,
    rtol: Rtol = None,
    atol: Atol = None,
    samples: Samples = None,
    start_tolerance: StartTolerance = None,
    integrator: IntegratorName = None,
    max_steps: MaxSteps = None,
    step: Step = None,
    drift: DriftName = None,
    alpha: Alpha = None,
    beta: Beta = None,
    pseudoinverse: PseudoinverseName = None,
    formulation: FormulationName = None,
    out: Out = None,
    no_report: NoReport = False,
    phase: Phase = None,
    formulas: Formulas = False,
    stream: Stream = False,
    resume: Resume = None,
    quiet: Quiet = False,
) -> int:
    """Simulate a model and write run.nc, report.html with its curves as CSV, and view.html.

    A .py file defines [bold]model[/], [bold]q0[/], [bold]v0[/], and optionally [bold]duration[/],
    [bold]rtol[/], [bold]atol[/], [bold]samples[/], [bold]stop[/], [bold]switches[/],
    [bold]integrator[/], [bold]figures[/], [bold]scene[/].

    Examples:

    [cyan]zwang run five-bar[/]

    [cyan]zwang run n-four-bar --set N=3 --duration 10 --rtol 1e-10[/]

    [cyan]zwang run my_model.py --set length=2 --out results/long[/]

    [cyan]zwang run five-bar --duration 1e4 --stream --out results/long[/], after a crash
    [cyan]zwang run --resume results/long[/]

    Exit code: 0 done, 2 wrong input, 3 stopped early (the part that was computed is written), 130
    interrupted (likewise).
    """
    if model is None or resume is not None:
        return resumed(ctx, resume, model)
    given = assignments(set_ or [])
    # before JAX is imported, so that a misspelled name is reported at once
    locate(model)
    wall = WallTime(ctx.obj["started"])
    asked = {
        "duration": duration,
        "rtol": rtol,
        "samples": samples,
        "max_steps": max_steps,
        "step": step,
        "start_tolerance": start_tolerance,
        "atol": None if atol is None else number_or_list(atol, "--atol"),
    }
    with Bar(not quiet) as bar, Interruption() as interruption, contextlib.ExitStack() as stack:
        from zwang.cli.startup import start_jax

        warnings = [start_jax()]
        stack.enter_context(wall.watching_compilation())
        drawn = None if no_report else _first_picture(out, bar)
        target = load_target(model, given, drawn)
        warnings += target.warnings
        asked |= _methods(integrator, pseudoinverse, formulation)
        asked["drift"] = drift_treatment(drift, alpha, beta)
        # options of the command line take precedence over those of the file
        options = target.options | {n: x for n, x in asked.items() if x is not None}
        _require_duration(target, options)
        phases = [_known_coordinate(target, name) for name in phase or ()]
        folder = made_folder(results_folder(out, target.name))
        kept = remember(folder, ctx.obj["words"]) if stream else None
        run = _simulated(target, options, bar, wall, interruption, kept)
        run.attrs["settings"] = {name: _shown(value) for name, value in target.settings.items()}
        run.attrs["command"] = shlex.join(["zwang", *ctx.obj["words"]])
        # save the run first, because writing the pages may fail or be interrupted
        summary = _save(run, target, folder, bar, wall, warnings)
        deriving = bar if formulas else None
        pages = lambda: _write_pages(
            run, summary, target, options, folder, phases, wall, warnings, deriving
        )
        unfinished = _finished(interruption, None if no_report else pages, folder)
    _say(summary, wall, folder, not (no_report or unfinished), quiet, warnings)
    if unfinished:
        complain(unfinished.sentence)
    if run.result.is_failure:
        complain(_stopped(summary, target.name, folder))
    return _exit_code(run, unfinished)


def _finished(
    interruption: Interruption, write: Callable | None, folder: Path
) -> Unfinished | None:
    """Write the pages, if any; returns the reason, Ctrl-C or a full disk, if this was not
    completed.
    """
    try:
        # remove the pages of an earlier run, which would not belong to this run if the new pages
        # cannot be written
        for page in PAGES:
            (folder / page).unlink(missing_ok=True)
        # from here on Ctrl-C ends the writing of the pages immediately
        interruption.release()
        if write is not None:
            write()
    except KeyboardInterrupt:
        return Unfinished(_left_out("interrupted after the integration", folder), INTERRUPTED)
    except (OSError, MemoryError) as error:
        sentence, code = sentence_of(error)
        return Unfinished(referred(_left_out(sentence.rstrip("."), folder), error), code)
    return None


def _methods(integrator, pseudoinverse, formulation) -> dict[str, Any]:
    """Methods by the names on the command line; None for methods without a name."""
    return {
        "integrator": method(INTEGRATORS, integrator),
        "pseudoinverse": method(PSEUDOINVERSES, pseudoinverse),
        "formulation": method(FORMULATIONS, formulation),
    }


def _exit_code(run, unfinished: Unfinished | None) -> int:
    if run.result.name == "INTERRUPTED":
        return INTERRUPTED
    if unfinished:
        return unfinished.code
    return RUN_FAILED if run.result.is_failure else 0


def _first_picture(out: Path | None, bar: Bar) -> Callable[[str, Callable], None]:
    """A function that saves a picture of the model before the equations are compiled."""

    def drawn(name: str, draw: Callable) -> None:
        path = made_folder(results_folder(out, name)) / START
        draw().save(path)
        bar.says(f"drawn as described: {path}; compiling its equations")

    return drawn


def _require_duration(target: Target, options: dict[str, Any]) -> None:
    if "duration" not in options:
        raise UserError(
            f"{target.name} does not say how long to run: give --duration S, or define "
            "duration in the file."
        )


def _stopped(summary, name: str, folder: Path) -> str:
    """The reason why a run ended early, and the path of the computed part."""
    here = f"t = {summary.reached:.6g} s of {summary.asked:.6g} s"
    why = explained(fitted(summary.sentence)).rstrip(".")
    return f"{name} stopped at {here}: {why}; what was reached is in {folder}."


def _left_out(why: str, folder: Path) -> str:
    """The files that exist if the pages could not be written after the run."""
    return f"{why}; the run is saved in {folder / 'run.nc'}, its report is not complete."


def _simulated(
    target: Target,
    options: dict[str, Any],
    bar: Bar,
    wall: WallTime,
    interruption: Interruption,
    folder: Path | None,
):
    """Simulate; a run with a `folder` is saved there while it grows."""
    from zwang.simulation.simulate import simulate

    wall.ends("start-up")
    system, rows = target.model.system, target.model.constraints.m
    bar.says(f"compiling the equations of {system.nv} velocities and {rows} constraint rows")

    def reached(fraction) -> None:
        # the last step is done: from here on Ctrl-C must not lose the run before it is saved
        if fraction >= 1:
            interruption.hold()
        bar.reaches(fraction, progress_text(fraction, options["duration"]))

    if folder is not None:
        run = streamed(target, folder, options, reached)
    else:
        run = simulate(
            target.model,
            target.q0,
            target.v0,
            params=target.params,
            progress=reached,
            throw=False,
            **options,
        )
    interruption.hold()
    wall.ends("integration")
    return run


def _save(run, target: Target, folder: Path, bar: Bar, wall: WallTime, warnings: list[str]):
    """Write run.nc, and summarize the run."""
    bar.says("writing results")
    from zwang.output.report import summarize

    summary = summarize(run, target.exact)
    warnings += run.warnings
    try:
        if target.mechanism is not None:
            from zwang.mechanism import applied_forces, joint_motion

            for more in (joint_motion, applied_forces):
                run.variables.add(more(target.mechanism, run))
    finally:  # an error in the evaluation of a run must not lose it
        run.save(folder / "run.nc")
    wall.ends("results")
    return summary


def _derivation(target: Target, bar: Bar, wall: WallTime, warnings: list[str]):
    """The symbolic equation of motion, or None with a warning that states the reason."""
    from zwang.errors import ModelError

    bar.says("deriving the equation of motion by symbols")
    try:
        from zwang.symbolic import derive

        return derive(target.own_model, target.q0, target.v0)
    except ModelError as error:
        warnings.append(f"the report has no formulas: {error}")
        return None
    finally:
        wall.ends("formulas")


def _write_pages(
    run,
    summary,
    target: Target,
    options,
    folder: Path,
    phases,
    wall: WallTime,
    warnings,
    deriving: Bar | None,
) -> None:
    """Write the view, and then the report, which names all other files. With `deriving`, the bar
    for its progress, the report contains the symbolic equation of motion.
    """
    from zwang.output.report import write_report

    if deriving is not None:
        target.derivation = _derivation(target, deriving, wall, warnings)
    if target.scene is not None:
        from zwang.output.viewer import write_view

        write_view(
            run,
            target.scene,
            folder / "view.html",
            description=target.description,
            report="report.html",
        )
        wall.ends("view")
    settings = {
        "Model": {n: f"{_shown(x)} {target.units.get(n, '')}" for n, x in target.settings.items()},
        "Run": {n.replace("_", " "): f"{_shown(x)}{UNITS.get(n, '')}" for n, x in options.items()},
    }
    warnings += write_report(
        run,
        folder / "report.html",
        summary=summary,
        figures=target.figures,
        exact=target.exact,
        description=target.description,
        settings=settings,
        command=run.attrs["command"],
        wall_time=wall.phases,
        reactions=target.reactions,
        phases=phases,
        view="" if target.scene is None else "view.html",
        derivation=target.derivation or None,
    )
    wall.ends("report")


def _known_coordinate(target: Target, name: str) -> str:
    coordinates = target.model.system.coordinates
    if name not in coordinates:
        raise UserError(
            f"--phase {name}: {target.name} has no such coordinate{did_you_mean(name, coordinates)}"
        )
    return name


def _say(
    summary, wall: WallTime, folder: Path, report: bool, quiet: bool, warnings: list[str]
) -> None:
    for warning in filter(None, warnings):
        warn(explained(warning))
    if quiet:
        return
    from zwang.cli.summary_table import print_closing

    print_closing(summary, wall)
    written = [
        folder / name
        for name in ("run.nc", *((*PAGES, START) if report else ()))
        if (folder / name).is_file()
    ]
    say(f"\nwritten: {', '.join(map(str, written))}")


def _shown(value) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(_shown(x) for x in value)
    return str(getattr(value, "name", getattr(value, "constraint", value)))
