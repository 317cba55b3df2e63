"""The arguments and options of `zwang run`: types, names, help and panels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.options import Drift, Formulation, Integrator, Pseudoinverse, listed
from zwang.cli.quantities import seconds
from zwang.thresholds import DEFAULT_RTOL

METHODS, OUTPUT = "Methods", "Output"

Duration = Annotated[
    float | None,
    typer.Option(
        help="Length of the run \\[s], or as 500ms. Default: the model's own.",
        metavar="S",
        parser=seconds,
    ),
]
Rtol = Annotated[
    float | None,
    typer.Option(
        help=f"Relative error of one step. Default: the model's own, or {DEFAULT_RTOL:.0e}.",
        metavar="R",
    ),
]
Atol = Annotated[
    str | None,
    typer.Option(
        help="Absolute error of one step: a number, or one per coordinate, 1e-9,1e-6. "
        "Default: rtol.",
        metavar="A",
    ),
]
Samples = Annotated[
    int | None, typer.Option(help="Number of saved instants. Default: 201.", metavar="N")
]
StartTolerance = Annotated[
    float | None,
    typer.Option(
        help="Largest relative violation of the start that is projected away; inf moves every "
        "start. Default: 1e-6.",
        metavar="X",
    ),
]
IntegratorName = Annotated[
    Integrator | None,
    typer.Option(
        help=f"{listed(Integrator)}. Default: dopri8; tsit5 for loose tolerances, kvaerno5 for "
        "stiff systems, rattle for long runs and moreau for dense impacts (with --step).",
        metavar="NAME",
        rich_help_panel=METHODS,
    ),
]
MaxSteps = Annotated[
    int | None,
    typer.Option(
        help="Limit of attempted steps. Default: 1000000.",
        min=1,
        metavar="N",
        rich_help_panel=METHODS,
    ),
]
Step = Annotated[
    float | None,
    typer.Option(
        help="Fixed step \\[s], or as 1ms, in place of error control.",
        metavar="H",
        parser=seconds,
        rich_help_panel=METHODS,
    ),
]
DriftName = Annotated[
    Drift | None,
    typer.Option(
        help=f"{listed(Drift)}. Default: projection.", metavar="NAME", rich_help_panel=METHODS
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(help="Baumgarte: b − 2α ψ − β² φ \\[1/s].", metavar="α", rich_help_panel=METHODS),
]
Beta = Annotated[
    float | None,
    typer.Option(help="Baumgarte, as above \\[1/s].", metavar="β", rich_help_panel=METHODS),
]
PseudoinverseName = Annotated[
    Pseudoinverse | None,
    typer.Option(
        help=f"{listed(Pseudoinverse)}. Default: proximal.",
        metavar="NAME",
        rich_help_panel=METHODS,
    ),
]
FormulationName = Annotated[
    Formulation | None,
    typer.Option(
        help=f"Equation of motion as a paper states it: {listed(Formulation)}. Default: none of "
        "them, but the library's own.",
        metavar="NAME",
        rich_help_panel=METHODS,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for what is written. Default: results/MODEL.",
        metavar="DIR",
        rich_help_panel=OUTPUT,
    ),
]
NoReport = Annotated[
    bool, typer.Option("--no-report", help="Write run.nc only.", rich_help_panel=OUTPUT)
]
Phase = Annotated[
    list[str] | None,
    typer.Option(
        help="Draw a coordinate's rate over it; repeat for more.",
        metavar="COORDINATE",
        rich_help_panel=OUTPUT,
    ),
]
Formulas = Annotated[
    bool,
    typer.Option(
        "--formulas",
        help="Derive the explicit equation of motion, as zwang derive does, and print it in the "
        "report.",
        rich_help_panel=OUTPUT,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print errors and warnings only.", rich_help_panel=OUTPUT),
]
Stream = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Keep every step in DIR while the run grows, so that --resume DIR goes on after a "
        "crash, a kill or a full disk.",
        rich_help_panel=OUTPUT,
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        help="Go on with the run in DIR that --stream has begun, with the options that it was "
        "begun with.",
        metavar="DIR",
        rich_help_panel=OUTPUT,
    ),
]
