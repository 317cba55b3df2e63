"""Models that are mechanism files, which contain their own entries."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

from zwang.gallery.index.entry import Entry, Setting

FOLDER = Path(__file__).parents[1] / "mechanisms"
MECHANISMS = tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))
"""Names of the mechanisms; a file is read on first access."""


@functools.cache
def mechanism(name: str) -> Entry:
    """The entry of a mechanism."""
    # read without checks, because the list must not import the modules that a mechanism needs
    file = FOLDER / f"{name}.toml"
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    settings = {
        name: Setting(
            float(x["value"]) if not isinstance(x["value"], str) else x["value"],
            x["meaning"],
            x.get("unit", ""),
        )
        for name, x in content.get("parameters", {}).items()
    }
    return Entry(
        content["name"],
        content["description"],
        content["run"]["duration"],
        settings,
        content["source"],
        (*content.get("tags", ()), content.get("world", "plane"), "mechanism"),
        "zwang.gallery.mechanisms",
    )
