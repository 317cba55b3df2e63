"""Building of the model that a record names.

A Python file or an importable module that a record names is executed only if the caller trusts it.
"""

from __future__ import annotations

import dataclasses
import importlib
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import ArrayLike

from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.files import is_file
from zwang.files.reading import shown_path
from zwang.objects.provenance import Source, file_digest, remember
from zwang.simulation.results.presentation import Presentation

CODE = ("script", "import")
"""Kinds of sources that are executed."""
GIVE_MODEL = "give the model itself: zw.load(path, model=...)"


@dataclasses.dataclass(frozen=True)
class Rebuilt:
    """A model built from its source.

    Attributes:
        model: the model.
        q0, v0: its start; None if the source names none.
        options: arguments of `zw.simulate` that belong to it.
        presentation: its figures and scene.
    """

    model: Model
    q0: ArrayLike | None = None
    v0: ArrayLike | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    presentation: Presentation = Presentation()


def rebuilt(source: Source, trust: bool = False) -> Rebuilt:
    """Build the model of a source.

    Args:
        source: from the record of a file.
        trust: True if Python code that it names may be executed.

    Raises:
        ModelError: if code is not trusted, or the source no longer exists or has changed.
    """
    if source.kind not in _BUILDERS:
        raise ModelError(
            f"the model was made from {source}, which cannot be repeated; {GIVE_MODEL}."
        )
    # Opening a data file must not execute a program.
    if source.kind in CODE and not trust:
        raise ModelError(
            f"the model is Python code ({source}), which is not executed for a file that names it; "
            f"zw.load(path, trust=True) allows it, or {GIVE_MODEL}."
        )
    made = _BUILDERS[source.kind](source)
    remember(made.model, source)
    return made


def of_example(example: Any) -> Rebuilt:
    """Convert a member of the gallery, or a mechanism, to a `Rebuilt`."""
    options = {"duration": example.duration, "rtol": example.rtol, **(example.simulate or {})}
    return Rebuilt(
        example.model,
        np.asarray(example.q0),
        np.asarray(example.v0),
        {name: x for name, x in options.items() if x is not None},
        example.presentation(),
    )


def _gallery(source: Source) -> Rebuilt:
    import zwang.gallery

    return of_example(zwang.gallery.load(source.name, **source.settings))


def _mechanism(source: Source) -> Rebuilt:
    from zwang.gallery.mechanisms import assembled
    from zwang.mechanism.toml import parsed

    return of_example(assembled(parsed(source.text, Path(source.name), dict(source.settings))))


def _robot(source: Source) -> Rebuilt:
    from zwang.robots import read
    from zwang.robots.scene import scene

    _require_unchanged(source, source.name)
    robot = read(source.name)
    start = robot.start_state
    return Rebuilt(robot.model, start.q, start.v, {}, Presentation(scene=scene(robot)))


def _script(source: Source) -> Rebuilt:
    _require_unchanged(source, source.name)
    names = runpy.run_path(source.name, run_name="zwang_model")
    model = names.get(source.settings.get("variable", "model"))
    if not isinstance(model, Model):
        raise ModelError(f"{shown_path(source.name)} defines no model; {GIVE_MODEL}.")
    options = {n: names[n] for n in ("duration", "rtol", "switches") if names.get(n) is not None}
    shown = Presentation(
        description=" ".join((names.get("__doc__") or "").split()),
        figures=names.get("figures") or {},
        scene=names.get("scene"),
    )
    return Rebuilt(model, names.get("q0"), names.get("v0"), options, shown)


def _import(source: Source) -> Rebuilt:
    module_name, _, name = source.name.partition(":")
    try:
        module = importlib.import_module(module_name)
        model = getattr(module, name)
    except (ImportError, AttributeError) as error:
        raise ModelError(f"{source.name} cannot be imported ({error}); {GIVE_MODEL}.") from None
    # The file is known only after the import.
    _require_unchanged(source, module.__file__ or "")
    if not isinstance(model, Model):
        raise ModelError(f"{source.name} is no zw.Model; {GIVE_MODEL}.")
    return Rebuilt(model)


def _require_unchanged(source: Source, path: str) -> None:
    if not is_file(path):
        raise ModelError(
            f"the model was made from {shown_path(path)}, which is gone; {GIVE_MODEL}."
        )
    if source.digest and file_digest(path) != source.digest:
        raise ModelError(
            f"the model was made from {shown_path(path)}, which has changed since; {GIVE_MODEL}."
        )


_BUILDERS = {
    "gallery": _gallery,
    "mechanism": _mechanism,
    "robot": _robot,
    "script": _script,
    "import": _import,
}
