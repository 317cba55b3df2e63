"""Presentation of a run: the parts that its model provides, and the page that shows them.

Pages are made in a layer above results (`zwang.output`), and are therefore found by name here.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from zwang.dynamics.model import Model
from zwang.errors import ModelError
from zwang.inputs.suggestions import did_you_mean
from zwang.objects.by_identity import ByIdentity
from zwang.objects.display import present
from zwang.objects.provenance import source_of

if TYPE_CHECKING:
    from zwang.scene import Scene
    from zwang.simulation.results.record import Run


@dataclasses.dataclass(frozen=True)
class Presentation:
    """Parts of the presentation of a run other than its variables.

    Attributes:
        description: a sentence or two about the model.
        figures: title → function of a run that draws it.
        exact: times → exact values by coordinate, or None.
        scene: the geometry to draw, a `zw.Scene`, or None.
        reactions: for a mechanism, a run → forces in its joints, or None.
        mechanism: the mechanism from which the model was made, or None.
        settings: settings of the run, as tables by heading.
        derivation: the model's equation of motion, as `zw.derive` returns it, or None.
    """

    description: str = ""
    figures: Mapping[str, Callable] = dataclasses.field(default_factory=dict)
    exact: Callable | None = None
    scene: Scene | None = None
    reactions: Callable | None = None
    settings: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    derivation: Any = None
    mechanism: object = None

    def __repr__(self) -> str:
        return present("text_of_presentation", self)


_PRESENTATIONS: ByIdentity[Callable[[], Presentation]] = ByIdentity()


def keep_presentation(model: Model, make: Callable[[], Presentation]) -> None:
    """Record the presentation of the runs of a model, for the lifetime of the model.

    Args:
        model: the model.
        make: creates the presentation on request; it must not refer to the model, which would then
            live as long as the process.
    """
    _PRESENTATIONS.keep(model, make)


def presentation_of(run: Run, changes: Mapping[str, Any], needed: str = "") -> Presentation:
    """Return the presentation of a run, with changes.

    Args:
        run: the run.
        changes: fields that differ.
        needed: the field that is required; empty for none.

    Raises:
        ModelError: for a change that is no field of `Presentation`, or if the required field is
            known only to a model that cannot be restored.
    """
    fields = [field.name for field in dataclasses.fields(Presentation)]
    for name in changes:
        if name not in fields:
            raise ModelError(f"there is no {name!r} to show of a run{did_you_mean(name, fields)}")
    found = vars(run).get("presentation")
    try:
        if found is None and needed not in changes:
            restore = vars(run).get("_restore", {}).get("presentation")
            found = presentation_of_model(run.model) if restore is None else restore()
            run.presentation = found
    except ModelError:
        if needed:
            raise
    return dataclasses.replace(found or Presentation(), **changes)


def presentation_of_model(model: Model) -> Presentation:
    """Return the presentation that the source of a model provides."""
    source = source_of(model)
    if source is None or source.kind in ("script", "import"):
        make = _PRESENTATIONS.get(model)
        return Presentation() if make is None else make()
    return importlib.import_module("zwang.archive.sources").rebuilt(source).presentation
