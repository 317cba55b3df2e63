"""Common parts of the commands of analyses: options, subjects, output."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from zwang.cli.advice import fitted
from zwang.cli.failure import UserError
from zwang.cli.quantities import Typed, number
from zwang.cli.target import Target, load_target, locate, made_folder, started
from zwang.cli.terminal import say, warn
from zwang.cli.values import settings_like
from zwang.errors import ModelError

if TYPE_CHECKING:
    import numpy as np

    from zwang.analysis.result import AbstractResult
    from zwang.dynamics.model import Model
    from zwang.mechanism import Mechanism
    from zwang.plots import Picture

Value = TypeVar("Value")
Files = Mapping[str, Callable[[Path], object]]
"""Functions that write a file at a path, by the names of the files."""

Driven = Annotated[
    str,
    typer.Argument(metavar="INPUT", help="The name of the coordinate or joint that is driven."),
]
First = Annotated[
    float,
    typer.Option(
        "--from", parser=number, metavar="X", help="First value of the input \\[its unit]."
    ),
]
Last = Annotated[
    float,
    typer.Option("--to", parser=number, metavar="X", help="Last value of the input \\[its unit]."),
]
Rate = Annotated[
    float,
    typer.Option(parser=number, metavar="X", help="Rate of the input \\[unit/s], such as 60rpm."),
]
Steady = Annotated[
    bool, typer.Option("--steady", help="A steady motion at the start's velocities.")
]
Amplitude = Annotated[
    float, typer.Option(help="On these pages, of the coordinate that moves most.")
]


def folder(files: str):
    """The option --out for a folder with the named files."""
    return typer.Option("--out", metavar="DIR", help=f"Folder for {files}.")


def subject_of(
    model: str,
    set_: list[str] | None,
    typed: Mapping[str, Sequence[float]] | None = None,
    rate: float = 1.0,
) -> tuple[Any, dict[str, Any]]:
    """The mechanism of MODEL, or its model and start as arguments of an analysis. Angles that look
    like degrees cause a warning.

    Args:
        typed: values of each input.
        rate: rate of the inputs.
    """
    subject, options = _read_or_loaded(model, set_)
    refuse_other_units(subject, typed or {}, rate)
    warn_of_degrees(subject, typed or {})
    return subject, options


def _read_or_loaded(model: str, set_: list[str] | None) -> tuple[Any, dict[str, Any]]:
    given = started(model, set_)
    from zwang.gallery.index.mechanisms import FOLDER
    from zwang.mechanism import read
    from zwang.mechanism.toml import parameter_units

    path = locate(model)
    file = FOLDER / f"{model}.toml" if path is None else path
    if file.suffix == ".toml" and file.is_file():
        known = read(file).parameters
        chosen = settings_like(given, dict.fromkeys(known, 0.0), parameter_units(file))
        if len(chosen) == len(given):
            return read(file, **chosen), {}
    target = load_target(model, given)
    return target.model, {"q": target.q0, "params": target.params}


def refuse_other_units(
    subject: Mechanism | Model, typed: Mapping[str, Sequence[float]], rate: float = 1.0
) -> None:
    """Refuse values and rates of inputs whose unit measures another quantity.

    Args:
        typed: values of each input.
        rate: rate of the inputs.

    Raises:
        UserError: for such a value.
    """
    from zwang.mechanism.expression import refuse_other_unit

    for name, values in typed.items():
        unit = _unit(subject, name) or ""
        given = [(name, x, unit) for x in values]
        for what, x, expected in [*given, ("--rate", rate, unit and f"{unit}/s")]:
            try:
                refuse_other_unit(x.text if isinstance(x, Typed) else "", expected)
            except ModelError as error:
                raise UserError(f"{what}: {error}") from None


def warn_of_degrees(subject: Mechanism | Model, typed: Mapping[str, Sequence[float]]) -> None:
    """Warn of angles larger than a turn that are round numbers, because they are probably in
    degrees.

    Args:
        typed: values of each input.
    """
    from zwang.mechanism.degrees import TURN, as_radians

    for name, values in typed.items():
        large = max(map(float, values), key=abs)
        if abs(large) > TURN and large == round(large, 2) and _unit(subject, name) == "rad":
            warn(f"{name} goes to {as_radians(large)}{large:g}deg")


def _unit(subject: Mechanism | Model, name: str) -> str | None:
    """The unit of a joint or a coordinate; None for an unknown name."""
    from zwang.mechanism import Mechanism
    from zwang.mechanism.registry import JOINT_KINDS

    if isinstance(subject, Mechanism):
        joint = subject.joints.get(name)
        if joint is not None and (own := JOINT_KINDS[joint.kind].coordinate) is not None:
            return own.unit
        subject = subject.model
    return dict(zip(subject.system.coordinates, subject.system.units, strict=True)).get(name)


def publish(
    found: object,
    out: Path | None = None,
    files: Files | None = None,
    warnings: Sequence[str] = (),
) -> None:
    """Print the result of an analysis, and write files if a folder is given.

    Args:
        found: a result; its `str()` is printed.
        out: the folder.
        files: functions that write the files.
        warnings: of the model.
    """
    say(fitted(str(found)))
    for sentence in warnings:
        warn(sentence)
    if out is not None and files:
        write(out, files)


def write(out: Path, files: Files) -> None:
    """Write files to a folder, and print their paths."""
    made = made_folder(out)
    for name, save in files.items():
        save(made / name)
    say("written: " + ", ".join(str(made / name) for name in files))


def saved(name: str, found: AbstractResult, **pictures: Callable[[], Picture]) -> Files:
    """The files of a result: its data as NetCDF, tables also as CSV, and its pictures.

    Args:
        name: name of the data files.
        found: the result.
        pictures: functions that draw them, by their names.
    """
    data = {f"{name}{ending}": found.save for ending in found.formats if ending != ".parquet"}
    return data | {
        f"{name}.svg": lambda path, draw=draw: draw().save(path) for name, draw in pictures.items()
    }


def free_motion_pages(
    target: Target, model: Model, ways: Mapping[str, tuple[str, np.ndarray]], amplitude: float
) -> Files:
    """Pages that play a model along velocities from its start; none for a model without a scene.

    Args:
        ways: title of each page and its velocity, by the name of its file.
    """
    if target.scene is None:
        return {}
    from zwang.output.viewer import write_free_motion

    page = functools.partial(
        write_free_motion, model, target.q0, scene=target.scene, params=target.params
    )
    return {
        f"{name}.html": lambda path, title=title, way=way: page(
            direction=way, path=path, name=title, amplitude=amplitude
        )
        for name, (title, way) in ways.items()
    }


def ranges(given: Sequence[str], option: str) -> dict[str, tuple[float, float]]:
    """Parse several `NAME=LOW:HIGH`.

    Raises:
        UserError: for text of another form.
    """

    def span(text: str) -> tuple[float, float]:
        low, high = map(Typed.of, text.split(":"))
        return low, high

    return _read(given, option, "NAME=LOW:HIGH, such as left=0:3.1 or left=0:180deg", span)


def numbers(given: Sequence[str], option: str) -> dict[str, float]:
    """Parse several `NAME=VALUE`.

    Raises:
        UserError: for text of another form.
    """
    return _read(given, option, "NAME=VALUE, such as A=1.1 or A=60deg", Typed.of)


def _read(
    given: Sequence[str], option: str, form: str, read: Callable[[str], Value]
) -> dict[str, Value]:
    found = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            found[name] = read(value)
        except (ValueError, ModelError):
            name = ""
        if not name:
            raise UserError(f"{option} is {text!r:.80}, expected {form}")
    return found
