"""The additional options of `zwang sweep`: types, names, help and panels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zwang.cli.run_options import OUTPUT

CLUSTER = "Workers"

Over = Annotated[
    list[str] | None,
    typer.Option(
        "--over",
        metavar="NAME=RANGE",
        help="What is varied: 0.5:2:40, log:0.1:10:50 or 1,2,3; repeat for more.",
    ),
]
Sample = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="grid, sobol:4096, draws:1000, or sobol-indices:512 for Sobol indices.",
    ),
]
Seed = Annotated[int, typer.Option(help="Of sobol and draws.", min=0, metavar="N")]
Output = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        metavar="NAME",
        help="What is kept: x.max, x.rate.final, with final, max, min, mean, rms or range; "
        "of a mechanism also pin.force.max, pin.torque.max and motor.effort.max; "
        "or a name in the outputs of a .py file; repeat for more. Default: these, or every "
        "coordinate's last value.",
    ),
]
Success = Annotated[
    list[str] | None,
    typer.Option(
        "--success",
        metavar="CONDITION",
        help="What a case has to meet to count as a success, e.g. 'x.max < 1.2'; repeat for more.",
    ),
]
Samples = Annotated[
    int, typer.Option(help="Instants that outputs are taken over.", min=2, metavar="N")
]
Part = Annotated[
    int | None,
    typer.Option(help="Cases of a part, which is kept when it is finished.", min=1),
]
Case = Annotated[
    int | None,
    typer.Option(
        help="Run this case of the study alone, and write its run.nc, report.html and view.html.",
        min=0,
        metavar="N",
    ),
]
Trajectories = Annotated[bool, typer.Option("--trajectories", help="Keep the motions, too.")]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Workers of one thread on this computer, in place of this process.",
        min=1,
        metavar="N",
        rich_help_panel=CLUSTER,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Address of a dask.distributed scheduler.",
        metavar="ADDRESS",
        rich_help_panel=CLUSTER,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the table, with report and CSV beside it. Default: results/MODEL-sweep.",
        metavar="DIR",
        rich_help_panel=OUTPUT,
    ),
]
