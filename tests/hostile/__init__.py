"""Hostile input: one line for each case, with its error sentence and exit code."""

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType


def _catalogues() -> dict[str, ModuleType]:
    names = (x.name for x in pkgutil.iter_modules(__path__) if x.name.startswith("catalogue_"))
    return {
        name.removeprefix("catalogue_"): importlib.import_module(f"{__name__}.{name}")
        for name in sorted(names)
    }


def __getattr__(name: str) -> Mapping[str, ModuleType]:
    """`CATALOGUES`: by their names, imported where they are asked for."""
    if name == "CATALOGUES":
        return _catalogues()
    raise AttributeError(name)
