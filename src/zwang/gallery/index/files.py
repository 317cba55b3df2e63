"""The source files of the models of the gallery."""

from __future__ import annotations

from pathlib import Path

from zwang.gallery.index.entry import Entry
from zwang.gallery.index.mechanisms import FOLDER

PACKAGE = Path(__file__).parents[3]


def file_of(entry: Entry) -> Path:
    """A mechanism's TOML file, or the Python file that builds the model."""
    mechanism = FOLDER / f"{entry.name}.toml"
    if mechanism.exists():
        return mechanism
    return PACKAGE.joinpath(*entry.module.split(".")).with_suffix(".py")
