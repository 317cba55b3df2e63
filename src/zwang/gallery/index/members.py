"""Models that are Python files: each contains its entry, as `ENTRY = Entry(...)`, and builds the
model by its function `build`.

The entry is parsed from the source without importing the file, so that `zwang list` does not have
to wait for JAX.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from zwang.gallery.index.entry import GRAVITY, RATE, Entry, Setting

GALLERY = Path(__file__).parents[1]
FOLDERS = ("", "servo", "hierarchies", "contact")
"""Folders below the gallery that contain models."""
STATED = re.compile(r"^ENTRY = (Entry\(\n.*?^\))$", re.MULTILINE | re.DOTALL)
NAMES = {"Entry": Entry, "Setting": Setting, "GRAVITY": GRAVITY, "RATE": RATE}
"""Names that an entry may use."""


def read_entry(text: str, module: str) -> Entry | None:
    """The entry in the source of a module, or None."""
    stated = STATED.search(text)
    if stated is None:
        return None
    return dataclasses.replace(eval(stated[1], {"__builtins__": {}, **NAMES}), module=module)


def _found():
    for folder in FOLDERS:
        package = ".".join(filter(None, ("zwang.gallery", folder)))
        for file in sorted((GALLERY / folder).glob("[!_]*.py")):
            entry = read_entry(file.read_text(encoding="utf-8"), f"{package}.{file.stem}")
            if entry is not None:
                yield entry


MEMBERS = tuple(sorted(_found(), key=lambda entry: entry.name != "pendulum"))
"""The simplest model first, the others by folder and file."""
