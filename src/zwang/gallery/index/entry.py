"""The data of a model in the list."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Setting:
    """A number or a word that is an argument of a model.

    Attributes:
        default: its value if none is given; its type is the setting's type.
        description: its meaning.
        unit: its unit; empty for a dimensionless number or a word.
    """

    default: Any
    description: str
    unit: str = ""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A model of the gallery.

    Attributes:
        name: as in `zwang run NAME`.
        summary: one line.
        duration: duration of its run [s].
        settings: its settings by name.
        source: the publication that the model is from.
        tags: keywords for searches.
        module: module of its `build`, set by the list.
    """

    name: str
    summary: str
    duration: float
    settings: Mapping[str, Setting]
    source: str
    tags: tuple[str, ...] = ()
    module: str = ""


GRAVITY = Setting(9.81, "acceleration of gravity", "m/s²")
RATE = Setting(5.0, "rate at which an error decays, all poles at -rate; 0 keeps it", "1/s")
