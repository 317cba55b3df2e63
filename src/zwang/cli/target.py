"""MODEL on the command line: a gallery name, a user's `.py` file, a mechanism or a robot file, with
its `--set` values.
"""

from __future__ import annotations

import dataclasses
import os
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zwang.cli.failure import UserError
from zwang.cli.values import assignments, number_or_list, settings_like
from zwang.errors import ModelError, OutputError
from zwang.files import is_file, make_folder
from zwang.files.reading import shown_path
from zwang.inputs.suggestions import did_you_mean
from zwang.objects.provenance import Source, file_digest, remember

if TYPE_CHECKING:
    import numpy as np

    from zwang.dynamics.model import Model
    from zwang.mechanism.mechanism import Mechanism
    from zwang.scene import Scene
    from zwang.symbolic.derivation import Derivation

ROBOTS = (".urdf", ".xml", ".mjcf", ".sdf", ".usda", ".yaml", ".yml")
"""Extensions of robot files that `zwang.robots` reads. They are listed here as well, so that a
misspelled name is reported before JAX is imported.
"""
FILES = (".py", ".toml", *ROBOTS)
ROBOT_DURATION = 2.0
"""Duration of the run of a robot file, which does not state one [s]."""


@dataclasses.dataclass
class Target:
    """The subject of a command.

    Attributes:
        name: short name, for folders.
        model, q0, v0: the model and its start.
        options: keyword arguments of `zw.simulate` that belong to the model.
        params: parameters set on the command line; None if there are none.
        settings: all values that were set, by name; units: their units, if known.
        description: one or two sentences.
        figures, exact: as in `zwang.output.report.write_report`.
        reactions: for a mechanism, a run → the reactions of each joint.
        scene: the scene of the model, a `zw.Scene`; None if it has none.
        mechanism: the mechanism that the model was built from, if there is one.
        warnings: a sentence for each part of the file that the model lacks, and for each value that
            looks wrong.
        start: values of a case → (q0, v0), for `zwang sweep`; None for q0 and v0 in all cases.
        derivation: the symbolic equation of motion, if the report prints it.
        outputs: additional functions of a motion that `zwang sweep` can store, as `zw.sweep`
            accepts them.
    """

    name: str
    model: Model
    q0: np.ndarray
    v0: np.ndarray
    options: dict[str, Any]
    params: dict[str, Any] | None = None
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    units: dict[str, str] = dataclasses.field(default_factory=dict)
    description: str = ""
    figures: Mapping[str, Callable] = dataclasses.field(default_factory=dict)
    exact: Callable | None = None
    scene: Scene | None = None
    reactions: Callable | None = None
    mechanism: Mechanism | None = None
    warnings: tuple[str, ...] = ()
    start: Callable | None = None
    outputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    derivation: Derivation | None = None

    @property
    def own_model(self) -> Model:
        """The model with the parameters of the command line as its own; formulas and code contain
        them.
        """
        return self.model if self.params is None else self.model.with_params(self.params)


def locate(model: str) -> Path | None:
    """The file of MODEL, or None for a gallery name. It needs no JAX, so that a misspelled name is
    reported at once.

    Raises:
        UserError: for a missing file, a file of another kind, or an unknown name.
    """
    path, shown = Path(model), shown_path(model)
    from zwang.gallery.index import ENTRIES

    # a name with a slash or an extension means a file, even if it does not exist; a folder of
    # results may have the name of a model of the gallery
    there = model not in ENTRIES and os.path.lexists(path)
    if path.suffix in FILES or is_file(path) or len(path.parts) > 1 or there:
        if not os.path.lexists(path):
            own = (
                f"; the gallery has {path.stem}, without an ending" if path.stem in ENTRIES else ""
            )
            raise UserError(f"there is no file {shown}{own}.")
        if not is_file(path):
            raise UserError(
                f"{shown} is no regular file; a folder, a pipe or a device is not read."
            )
        if path.suffix.lower() not in FILES:
            raise UserError(
                f"{shown} is no .py file; MODEL is a gallery name, a .py file that defines "
                f"model, q0 and v0, a .toml mechanism, or a robot file ({', '.join(ROBOTS)})."
            )
        return path
    if model not in ENTRIES:
        hint = f"`zwang list` shows all; a file's name ends in {', '.join(FILES)}"
        raise UserError(f"unknown model {model!r:.100}{did_you_mean(model, ENTRIES)} {hint}.")
    return None


def results_folder(out: Path | None, name: str, ending: str = "") -> Path:
    """The folder for the results of a model: the requested one, or one made from its name, which
    may contain blanks and slashes.
    """
    if out is not None:
        return out
    return Path("results") / ((re.sub(r"[^\w.-]+", "-", name).strip("-.") or "model") + ending)


def made_folder(path: Path) -> Path:
    """The folder for results, created if it does not exist.

    Raises:
        UserError: if it cannot be created or written to.
    """
    try:
        return make_folder(path)
    except OutputError as error:
        raise UserError(str(error)) from None


Drawn = Callable[[str, Callable[[], Any]], None]
"""A function of the name of a model and a function that draws it."""


def started(model: str, set_: list[str] | None) -> dict[str, str]:
    """The values of `--set`, after JAX has been prepared. The model is located before JAX is
    imported, so that a misspelled name is reported at once.
    """
    given = assignments(set_ or [])
    locate(model)
    from zwang.cli.startup import start_jax

    start_jax()
    return given


def target_of(model: str, set_: list[str] | None) -> Target:
    """The target of a command without its own progress bar."""
    return load_target(model, started(model, set_))


def load_target(model: str, given: Mapping[str, str], drawn: Drawn | None = None) -> Target:
    """The target of a command; JAX must have been prepared.

    Args:
        model: MODEL as typed.
        given: `--set` values by name, as text.
        drawn: receives a picture of the model as described, before anything is compiled.

    Raises:
        UserError, ModelError: if the model or a value is invalid.
    """
    path = locate(model)
    if path is not None and path.suffix == ".toml":
        target, names, rest = _from_file(path, given, drawn)
    elif path is not None and path.suffix.lower() in ROBOTS:
        target, names, rest = _from_robot(path), {}, given
    elif path is not None:
        from zwang.cli.script import load_script

        target, names, rest = load_script(path), {}, given
    else:
        target, names, rest = _from_gallery(model, given, drawn)
    if drawn is not None and target.mechanism is None and target.scene is not None:
        from zwang.output.start_picture import scene_picture

        found, q = target.scene, target.q0
        drawn(target.name, lambda: scene_picture(found, q))
    if path is not None and path.suffix != ".toml":
        kind = "robot" if path.suffix.lower() in ROBOTS else "script"
        # recorded with the run, so that a later change of the file can be detected
        digest = file_digest(path)
        remember(target.model, Source(kind, str(path.resolve()), digest=digest))
    placed = _parameters(target, rest, names)
    target.settings |= {name: number_or_list(rest[name], name) for name in rest}
    if placed:
        target.params = _whole(target.model, placed)
        target.exact = None  # it belongs to the settings, not to changed parameters
        if target.mechanism is not None:
            from zwang.mechanism.scene import scene

            target.mechanism = target.mechanism.with_params(target.params)
            target.scene = scene(target.mechanism)
    return target


def _from_gallery(
    name: str, given: Mapping[str, str], drawn: Drawn | None
) -> tuple[Target, Mapping, dict[str, str]]:
    """A model of the gallery, its settings, and the values that are not settings."""
    import zwang.gallery
    from zwang.gallery.index import ENTRIES
    from zwang.gallery.index.mechanisms import FOLDER

    entry = ENTRIES[name]
    known = entry.settings
    units = {key: setting.unit for key, setting in known.items()}
    chosen = settings_like(given, {key: x.default for key, x in known.items()}, units)
    if drawn is not None and (file := FOLDER / f"{name}.toml").is_file():
        from zwang.mechanism import read

        _draw(read(file, **chosen), name, drawn)
    example = zwang.gallery.load(name, **chosen)
    options = {"duration": example.duration, "rtol": example.rtol, **(example.simulate or {})}
    target = Target(
        name,
        example.model,
        example.q0,
        example.v0,
        {k: x for k, x in options.items() if x is not None},
        settings={**{key: setting.default for key, setting in known.items()}, **chosen},
        units=units,
        description=example.description or entry.summary,
        figures=example.figures or {},
        exact=example.exact,
        scene=example.scene,
        reactions=example.reactions,
        mechanism=example.mechanism,
    )
    return target, known, {key: text for key, text in given.items() if key not in known}


def _draw(mechanism: Mechanism, name: str, drawn: Drawn) -> None:
    """Draw a mechanism before assembly, from the approximate positions of its bodies."""
    from zwang.mechanism.drawing import picture

    drawn(name, lambda: picture(mechanism.maximal, mechanism.maximal.geometry.q))


def _from_file(
    path: Path, given: Mapping[str, str], drawn: Drawn | None
) -> tuple[Target, Mapping, dict[str, str]]:
    """A mechanism file, its parameters, and the values that are not parameters."""
    from zwang.gallery.mechanisms import assembled
    from zwang.mechanism import AssemblyError, read
    from zwang.mechanism.drawing import picture
    from zwang.mechanism.toml import parameter_units

    # the file is read twice, because the names of its parameters are needed to interpret the values
    known = read(path).parameters
    units = parameter_units(path)
    settings = settings_like(given, dict.fromkeys(known, 0.0), units)
    mechanism = read(path, **settings)
    if drawn is not None:
        _draw(mechanism, mechanism.name, drawn)
    try:
        with warnings.catch_warnings():
            # said below, in the form of all warnings of a command
            warnings.simplefilter("ignore", UserWarning)
            example = assembled(mechanism)
    except AssemblyError as error:
        # a picture shows the joint that stays open, which a sentence can only name
        shown = path.with_name(f"{path.stem}-assembly.svg")
        picture(mechanism, error.q, broken=error.joint).save(shown)
        raise UserError(f"{error} Its picture is in {shown}.") from error
    target = Target(
        mechanism.name,
        example.model,
        example.q0,
        example.v0,
        {"duration": example.duration, "rtol": example.rtol, **example.simulate},
        settings=dict(mechanism.parameters),
        units=units,
        description=example.description,
        figures=example.figures,
        scene=example.scene,
        reactions=example.reactions,
        warnings=tuple(
            f"{path.name}: {x}" for x in (*mechanism.compiled.warnings, *mechanism.notes)
        ),
        mechanism=example.mechanism,
    )
    return target, known, {key: text for key, text in given.items() if key not in known}


def _from_robot(path: Path) -> Target:
    """A robot file with closed loops, at rest."""
    import numpy as np

    from zwang.robots import read
    from zwang.robots.scene import scene

    with warnings.catch_warnings():
        # said below, in the form of all warnings of a command
        warnings.simplefilter("ignore", UserWarning)
        robot = read(path)
    start = robot.start_state
    told = [f"{path.name}: not part of the model: {sentence}" for sentence in robot.unsupported]
    told += [f"{path.name}: {sentence}" for sentence in (*robot.warnings, *robot.notes)]
    return Target(
        robot.name,
        robot.model,
        np.asarray(start.q),
        np.asarray(start.v),
        {"duration": ROBOT_DURATION},
        warnings=tuple(told),
        scene=scene(robot),
    )


def _whole(model, placed: Mapping[str, Any]) -> dict[str, Any]:
    """Whole entries of the model's parameters, as `zw.simulate` accepts them."""
    from zwang.simulation.parameter_names import write

    if all(name in model.params for name in placed):
        return dict(placed)
    # `mass[1]` changes one entry; `zw.simulate` needs the whole array
    changed = write(model.params, placed)
    return {x: changed[x] for x in {name.split(".")[0].split("[")[0] for name in placed}}


def _parameters(target: Target, given: Mapping[str, str], settings: Mapping) -> dict[str, Any]:
    """Parameters of the model with the shapes that it requires."""
    import numpy as np

    from zwang.simulation.parameter_names import known_names, place_of, read_of

    params = {}
    for name, text in given.items():
        try:
            own = read_of(target.model, name)
        except ModelError:
            known = dict.fromkeys([*settings, *known_names(target.model)])
            raise UserError(
                f"unknown setting {name!r:.100} of {target.name}{did_you_mean(name, known)}"
            ) from None
        value = number_or_list(text, f"--set {name}")
        try:
            shape = np.shape(value)
        except ValueError:
            raise UserError(
                f"--set {name} is {text!r:.60}, expected rows of equal length."
            ) from None
        if shape != np.shape(own):
            raise UserError(f"--set {name} has shape {shape}, expected {np.shape(own)}.")
        params[place_of(target.model, name)] = value
    return params
