"""What the list says of a member."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Setting:
    """A number or word that a model is built with.

    Attributes:
        default: its value if none is given; its type is the setting's type.
        description: what it is.
        unit: its unit; empty for a pure number or a word.
    """

    default: Any
    description: str
    unit: str = ""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A model of the gallery.

    Attributes:
        name: as in `zwang run NAME`.
        summary: a line.
        duration: length of its run [s].
        settings: by name.
        source: where the model comes from.
        tags: words to find it by.
        module: where its `build` is; the list fills it in.
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
