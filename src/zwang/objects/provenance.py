"""Provenance of a model: the data that a result records so that the model can be made again.

A source is data: a name and its settings, a text, or a path with the digest of its content. Nothing
here builds or executes anything; `zwang.archive` does.
"""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zwang.errors import ModelError
from zwang.files import read_bytes
from zwang.objects.by_identity import ByIdentity

PACKAGES = ("zwang", "jax", "jaxlib", "numpy", "scipy")
"""Packages whose versions may change the digits of a result."""


@dataclasses.dataclass(frozen=True)
class Source:
    """Instructions to make a model again.

    Attributes:
        kind: "gallery" (a name), "mechanism" (a TOML text), "robot" (a file), "script" (a Python
            file) or "import" (a name in an importable module).
        name: gallery name, path, or "module:name".
        settings: arguments it was built with, by name.
        digest: SHA-256 of the file that `name` is or belongs to; empty for the gallery.
        text: the content of a mechanism file, which is data; empty for all others.
    """

    kind: str
    name: str
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    digest: str = ""
    text: str = ""

    def as_record(self) -> dict[str, Any]:
        """Convert the source to a dictionary for JSON."""
        return {**dataclasses.asdict(self), "settings": dict(self.settings)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Source:
        """Convert a record to a source; unknown entries are ignored."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in record.items() if name in known})

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


_SOURCES: ByIdentity[Source] = ByIdentity()


def remember(thing: object, source: Source | None) -> None:
    """Record the source of an object for its lifetime."""
    if source is not None:
        _SOURCES.keep(thing, source)


def source_of(thing: object) -> Source | None:
    """Return the source of an object: a recorded one, or the module variable that holds it."""
    return _SOURCES.get(thing) or _variable_that_holds(thing)


def file_digest(path: Path | str) -> str:
    """SHA-256 of a file; empty if it cannot be read."""
    try:
        return hashlib.sha256(read_bytes(path, "script_size")).hexdigest()
    except ModelError:
        return ""


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute."""
    import importlib.metadata  # importing it takes a twentieth of the time of `zwang --help`

    found = {"python": platform.python_version()}
    for name in PACKAGES:
        # For imported packages the attribute is faster than the metadata.
        if (version := getattr(sys.modules.get(name), "__version__", None)) is None:
            try:
                version = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
        found[name] = str(version)
    return found


def _variable_that_holds(thing: object) -> Source | None:
    """The module-level name of an object in a user's module, or None."""
    for module_name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or module_name.split(".")[0] in (*sys.stdlib_module_names, "zwang"):
            if module_name != "__main__" or file is None:
                continue
        for name, value in list(vars(module).items()):
            if value is thing:
                kind = "script" if module_name == "__main__" else "import"
                place = file if kind == "script" else f"{module_name}:{name}"
                settings = {"variable": name} if kind == "script" else {}
                return Source(kind, str(place), settings, digest=file_digest(file))
    return None
