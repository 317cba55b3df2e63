"""zwang's own part of every key: its sources, and whether its loaded modules still match them."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
import sysconfig
import time
import types
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zwang.compile.flat import NotCacheableError
from zwang.compile.program_cache.purity import OWN, root

IMPORTED = time.time()
"""Modules were loaded before or soon after this instant: newer sources may differ from the loaded
code.
"""
NOT_IN_PROGRAMS = tuple(
    f"zwang.compile.{x}" for x in ("interface", "making", "folder", "program_cache")
)
"""Modules that programs do not depend on, including their submodules."""
FOLDER = Path(__file__).resolve().parents[2]
INSTALLED = tuple(
    sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_specs = map(importlib.util.find_spec, ("equinox", "jax", "jaxtyping", "numpy"))
DEPENDENCIES = tuple(str(Path(x.origin).parent) + os.sep for x in _specs if x and x.origin)
"""Folders of the libraries that zwang's programs call; `PYTHONPATH` may name any folder."""
NUMBERS = (bool, int, float, complex, str, tuple, np.ndarray, np.generic)


def source_digest() -> str:
    """Digest of all sources of zwang on disk.

    Raises:
        NotCacheableError: if one was written after this process began.
    """
    # There are six hundred files: without `Path` objects this takes half as long.
    names = [
        os.path.join(folder, name)
        for folder, _, files in os.walk(FOLDER)
        for name in files
        if name.endswith(".py")
    ]
    states = []
    for name in sorted(names):
        state = os.stat(name)
        if state.st_mtime >= IMPORTED:
            raise NotCacheableError(
                f"{os.path.basename(name)} was changed since zwang was imported"
            )
        states.append((name, state.st_size, state.st_ctime_ns))
    return _digest(tuple(states))


@functools.lru_cache(1)
def _digest(states: tuple[tuple[str, int, int], ...]) -> str:
    """Digest of files, which are read again only if a size or modification time has changed."""
    found, start = hashlib.blake2b(digest_size=20), len(str(FOLDER)) + 1
    for name, *_ in states:
        with open(name, "rb", buffering=0) as file:
            data = file.readall()
        found.update(f"{name[start:].replace(os.sep, '/')}:{len(data)}:".encode() + data)
    return found.hexdigest()


class _Module(NamedTuple):
    """A module as it was last examined.

    Attributes:
        entries: of the module and of its classes: namespace, name, value.
        constants: its numbers as a string.
        uses: zwang's modules that it takes names from.
    """

    entries: tuple[tuple[types.MappingProxyType | dict, str, Any], ...]
    constants: str
    uses: tuple[str, ...]


class ModuleConstants:
    """Numbers in zwang's modules, which may have been changed at run time."""

    def __init__(self):
        self._seen: dict[str, _Module] = {}

    def digest(self, names: set[str]) -> str:
        """Numbers of modules and of all modules that they use, as a string.

        Raises:
            NotCacheableError: if one of their functions has been replaced.
        """
        pending, reached = list(names), set(names)
        while pending:
            for name in self._module(pending.pop()).uses:
                if name not in reached:
                    reached.add(name)
                    pending.append(name)
        return "\n".join(f"{name} {self._seen[name].constants}" for name in sorted(reached))

    def _module(self, name: str) -> _Module:
        seen = self._seen.get(name)
        if seen is None or not all(space.get(key) is value for space, key, value in seen.entries):
            seen = self._seen[name] = _look_through(sys.modules[name])
        return seen


def _look_through(module: types.ModuleType) -> _Module:
    space, entries, constants, uses = vars(module), [], [], set()
    for key, value in sorted(space.items()):
        home = _home(value)
        if _is_used(module, value, home):
            uses.add(home)
        if isinstance(value, (types.FunctionType, type)):
            _refuse_foreign(value, f"{module.__name__}.{key}")
            entries.append((space, key, value))
            if isinstance(value, type) and home == module.__name__:
                for name, inner in vars(value).items():
                    if isinstance(inner, (types.FunctionType, property, staticmethod, classmethod)):
                        _refuse_foreign(inner, f"{home}.{key}.{name}")
                        entries.append((vars(value), name, inner))
        elif isinstance(value, NUMBERS) and not key.startswith("__"):
            entries.append((space, key, value))
            if not isinstance(value, tuple) or all(
                isinstance(x, (bool, int, float, str)) for x in value
            ):
                content = value.tobytes() if isinstance(value, np.ndarray) else value
                constants.append(f"{key}={content!r}")
    return _Module(tuple(entries), ";".join(constants), tuple(sorted(uses)))


def _home(value: object) -> str | None:
    """Return the module that a value comes from, or that it is."""
    is_module = isinstance(value, types.ModuleType)
    return value.__name__ if is_module else getattr(value, "__module__", None)


def _is_used(module: types.ModuleType, value, home) -> bool:
    """Return whether a value in a module makes programs depend on another module of zwang."""
    if not isinstance(home, str) or root(home) != OWN or home not in sys.modules:
        return False
    if home == module.__name__ or f"{home}.".startswith(tuple(f"{x}." for x in NOT_IN_PROGRAMS)):
        return False
    # A package holds its submodules, but uses only those that its names come from.
    return not isinstance(value, types.ModuleType) or vars(module).get("__path__") is None


def _refuse_foreign(x: object, name: str) -> None:
    """Raise if a function in a module of zwang is from neither zwang nor an installed library."""
    f = x.fget if isinstance(x, property) else getattr(x, "__func__", x)
    home = getattr(f, "__module__", None) or ""
    if root(home) == OWN or not isinstance(f, (types.FunctionType, type)):
        return
    file = (
        f.__code__.co_filename
        if isinstance(f, types.FunctionType)
        else getattr(sys.modules.get(home), "__file__", None)
    )
    if file and not file.startswith((*INSTALLED, *DEPENDENCIES, "<")):
        raise NotCacheableError(f"{name} has been replaced")
