"""Members that are mechanism files: what the list says of them stands in the files."""

from __future__ import annotations

import tomllib
from pathlib import Path

from zwang.gallery.index.entry import Entry, Setting

FOLDER = Path(__file__).parents[1] / "mechanisms"


def _entry(file: Path) -> Entry:
    # read directly, without checks: the list must not import what a mechanism needs
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


MECHANISMS = tuple(_entry(file) for file in sorted(FOLDER.glob("*.toml")))
