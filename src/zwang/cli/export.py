"""`zwang export`."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from zwang.cli.failure import UserError
from zwang.cli.model_options import ModelName, OutFolder, Settings, States
from zwang.cli.options import listed
from zwang.cli.target import Target, results_folder, target_of
from zwang.cli.terminal import say
from zwang.errors import ModelError


class Form(enum.StrEnum):
    c = "c"
    fmu2 = "fmu2"
    fmu3 = "fmu3"
    fmu2_python = "fmu2-python"
    fmu3_python = "fmu3-python"
    stablehlo = "stablehlo"
    page = "page"


C = {Form.c, Form.fmu2, Form.fmu3}
"""Forms that are C or contain it."""
VERSIONS = {Form.fmu2: 2, Form.fmu2_python: 2, Form.fmu3: 3, Form.fmu3_python: 3}
SECONDS_OF_A_PAGE = 10.0
"""Duration of the run on a page if the model does not state one [s]."""
KEPT = ("rtol", "atol", "loop", "switches", "integrator", "step", "longest_step")
"""Options of a run that an FMU with Python keeps."""


def command(
    model: ModelName,
    form: Annotated[
        list[Form] | None,
        typer.Option(
            "--as",
            help=f"{listed(Form)}: C99, an FMU of FMI 2.0 or 3.0 (fmu2-python, fmu3-python: for "
            "what C cannot hold), StableHLO, or a page that simulates in a browser; repeat for "
            "more.",
            metavar="FORM",
        ),
    ] = None,
    set_: Settings = None,
    out: OutFolder = None,
    states: States = 100,
) -> int:
    """Write a model of any size as code for other programs: C without allocation, an FMU,
    StableHLO, or one HTML file that simulates it.

    C, also that inside an FMU, is executed and compared with the numeric model before it is
    written. An FMU with Python inside holds what C cannot: switches, sampled controllers, limits of
    actuators, singular mass matrices. For formulas see [bold]zwang derive[/], which takes the same
    options.

    Examples:

    [cyan]zwang export 3rrr[/]

    [cyan]zwang export cart-pole-track --as c --as fmu2[/]

    [cyan]zwang export latching-pendulums --as fmu3-python[/]
    """
    target = target_of(model, set_)
    forms = form or [Form.c]
    if C & set(forms):
        try:
            say(_compared(target.own_model, target.q0, target.v0, states))
        except ModelError as error:
            hint = " An FMU with Python can hold it: --as fmu3-python."
            raise UserError(f"{error}{hint if VERSIONS.keys() & set(forms) else ''}") from None
    for kind in forms:
        if sentence := _left_out(target.options, kind):
            say(sentence)
        for path in written(target, kind, results_folder(out, target.name)):
            say(str(path))
    return 0


def _compared(model, q0, v0, states: int) -> str:
    """State in words how well the C agrees with the numeric model.

    Raises:
        ModelError: if it does not.
    """
    from zwang.codegen.c import agreement, c_code, compiler

    if compiler() is None:
        return "The C was not executed: there is no C compiler here."
    found = agreement(c_code(model, q0, v0), q0, v0, states)
    shown = [f"  {name:32s} {error:.1e}" for name, error in found.items()]
    return "\n".join([f"C compared with the numeric model at {states} random states:", *shown])


def _left_out(options: Mapping[str, Any], form: Form) -> str:
    """A sentence that names the parts of a model's runs that a form lacks; empty if it lacks
    none.
    """
    kept = KEPT if form in VERSIONS and form not in C else ()
    lost = [name for name in ("switches", "loop", "stop") if options.get(name) and name not in kept]
    if not lost:
        return ""
    hint = "; an FMU with Python keeps switches and loop" if form in C else ""
    return f"{form.value}: omits {' and '.join(lost)} of the model{hint}."


def written(target: Target, form: Form, folder: Path) -> list[Path]:
    """Write the files of a model in a form."""
    model, q0, v0 = target.own_model, target.q0, target.v0
    if form is Form.c:
        from zwang.codegen.c import c_code

        return c_code(model, q0, v0).write(folder)
    if form is Form.stablehlo:
        from zwang.codegen.stablehlo import stablehlo

        return stablehlo(model).write(folder)
    if form is Form.page:
        return [_page(target, folder)]
    from zwang.codegen.fmu import fmu

    python = form not in C
    options = {k: x for k, x in target.options.items() if python and k in KEPT}
    unit = fmu(model, q0, v0, version=VERSIONS[form], python=python, **options)
    return [unit.write(folder / f"{unit.name}_{form.value.replace('-', '_')}.fmu")]


def _page(target: Target, folder: Path) -> Path:
    """Write one HTML file that plays a run and continues the simulation where the user releases a
    body.
    """
    from zwang.files import make_folder
    from zwang.output.viewer import write_view
    from zwang.simulation.simulate import simulate

    model = target.own_model
    if target.scene is None:
        raise UserError(
            f"{model.name} has no scene that a page could show; declare one: scene = zw.Scene(...)."
        )
    duration = target.options.get("duration", SECONDS_OF_A_PAGE)
    run = simulate(model, target.q0, target.v0, duration=duration)
    path = make_folder(folder) / "page.html"
    write_view(run, target.scene, path, description=target.description, simulates=True)
    return path
