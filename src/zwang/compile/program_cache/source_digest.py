"""What zwang itself says: its sources, and whether its modules still hold what these made them."""

from __future__ import annotations

import hashlib
import sys
import sysconfig
import time
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zwang.compile.program_cache.purity import OWN, UnknownError, root

IMPORTED = time.time()
"""Modules were read before or soon after this instant: sources that are younger may not be what
runs.
"""
HERE = tuple(
    f"zwang.compile.{name}"
    for name in (
        "interface",
        "folder",
        "program_cache.fingerprint",
        "program_cache.purity",
        "program_cache.source_digest",
        "program_cache.objects",
        "program_cache.environment",
        "program_cache.store",
    )
)
"""Modules that no program is made from."""
FOLDER = Path(__file__).resolve().parents[2]
INSTALLED = tuple(
    sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def sources() -> str:
    """Digest of all of zwang's sources as they are on disk.

    Raises:
        UnknownError: if one was written after this process began.
    """
    found = hashlib.blake2b(digest_size=20)
    for path in sorted(FOLDER.rglob("*.py")):
        if path.stat().st_mtime >= IMPORTED:
            raise UnknownError(f"{path.name} was changed since zwang was imported")
        data = path.read_bytes()
        found.update(f"{path.relative_to(FOLDER).as_posix()}:{len(data)}:".encode() + data)
    return found.hexdigest()


class _Module(NamedTuple):
    """A module as it was when it was last looked through: its entries and those of its classes, its
    numbers, and where it leads.
    """

    entries: tuple[tuple[types.MappingProxyType | dict, str, Any], ...]
    numbers: str
    leads: tuple[str, ...]


class OwnModules:
    """Numbers of zwang's modules; sources do not tell them where somebody has set other ones."""

    def __init__(self):
        self._looked: dict[str, _Module] = {}

    def numbers(self, names: set[str]) -> str:
        """Numbers of modules and of all that they lead to.

        Raises:
            UnknownError: if a function of theirs has been replaced.
        """
        open_, met = list(names), set(names)
        while open_:
            for name in self._of(open_.pop()).leads:
                if name not in met:
                    met.add(name)
                    open_.append(name)
        return "\n".join(f"{name} {self._looked[name].numbers}" for name in sorted(met))

    def _of(self, name: str) -> _Module:
        known = self._looked.get(name)
        if known is None or not all(space.get(key) is value for space, key, value in known.entries):
            known = self._looked[name] = _look_through(sys.modules[name])
        return known


def _look_through(module: types.ModuleType) -> _Module:
    space, entries, numbers, leads = vars(module), [], [], set()
    for key, value in sorted(space.items()):
        home = (
            value.__name__
            if isinstance(value, types.ModuleType)
            else getattr(value, "__module__", None)
        )
        if (
            isinstance(home, str)
            and root(home) == OWN
            and home in sys.modules
            and home not in (module.__name__, *HERE)
        ):
            if (
                not isinstance(value, types.ModuleType) or space.get("__path__") is None
            ):  # a package leads where its names come from
                leads.add(home)
        if isinstance(value, (types.FunctionType, type)):
            _refuse_foreign(value, f"{module.__name__}.{key}")
            entries.append((space, key, value))
            if isinstance(value, type) and home == module.__name__:
                for name, inner in vars(value).items():
                    if isinstance(inner, (types.FunctionType, property, staticmethod, classmethod)):
                        _refuse_foreign(inner, f"{home}.{key}.{name}")
                        entries.append((vars(value), name, inner))
        elif isinstance(
            value, (bool, int, float, complex, str, tuple, np.ndarray, np.generic)
        ) and not key.startswith("__"):
            entries.append((space, key, value))
            if not isinstance(value, tuple) or all(
                isinstance(x, (bool, int, float, str)) for x in value
            ):
                numbers.append(
                    f"{key}={value.tobytes()!r}"
                    if isinstance(value, np.ndarray)
                    else f"{key}={value!r}"
                )
    return _Module(tuple(entries), ";".join(numbers), tuple(sorted(leads)))


def _refuse_foreign(x: Any, name: str) -> None:
    """Raise if a function in zwang's place was written neither by zwang nor in an installed
    library.
    """
    f = x.fget if isinstance(x, property) else getattr(x, "__func__", x)
    home = getattr(f, "__module__", None) or ""
    if root(home) == OWN or not isinstance(f, (types.FunctionType, type)):
        return
    file = (
        f.__code__.co_filename
        if isinstance(f, types.FunctionType)
        else getattr(sys.modules.get(home), "__file__", None)
    )
    if file and not file.startswith((*INSTALLED, "<")):
        raise UnknownError(f"{name} has been replaced")
