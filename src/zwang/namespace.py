"""Public names of a package, loaded from the modules that define them on first access.

A package writes its public names once, as the imports that type checkers read:

    if TYPE_CHECKING:
        from zwang.analysis.linearize import linearize as linearize

    offer(__name__)
"""

from __future__ import annotations

import ast
import importlib
import sys
import types
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class Namespace(types.ModuleType):
    """A package whose public names are loaded on first access.

    Python binds a submodule to its package when it is imported. Where a public name is also that of
    its file, as `linearize` in `linearize.py`, the binding is ignored: the name is the function.
    """

    _homes: Mapping[str, tuple[str, str]]
    _modules: tuple[str, ...]
    _namespaces: tuple[str, ...]
    _families: tuple[str, ...]

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in self._homes and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name in (*self._modules, *self._namespaces):
            return importlib.import_module(f"{self.__name__}.{name}")
        if name not in self._homes and not (name[:1].isupper() and name in self._members()):
            raise AttributeError(_unknown(self, name))
        from zwang.inputs.call import class_of_users

        module, original = self._homes.get(name) or (self._members()[name].module, name)
        # a class says in a sentence which of its arguments are wrong, as functions do
        made = class_of_users(getattr(importlib.import_module(module), original))
        setattr(self, name, made)  # so that it is looked up once
        return made

    def __dir__(self) -> list[str]:
        return sorted({*self._homes, *self._modules, *self._namespaces, *self._members()})

    def _members(self) -> Mapping[str, Any]:
        """Members of families, which stand in their folders and in no list."""
        if not self._families:  # whose files are read only where there is one
            return {}
        families = importlib.import_module("zwang.objects.families")
        offered = (getattr(families, name) for name in self._families)
        return {x.name: x for family in offered for x in family.members.values()}


def offer(
    package: str,
    *,
    modules: tuple[str, ...] = (),
    namespaces: tuple[str, ...] = (),
    families: tuple[str, ...] = (),
) -> None:
    """Offer the names that a package imports for type checkers, from where they are defined.

    Args:
        package: its name.
        modules, namespaces: its modules that are public; namespaces are those that offer names,
            too.
        families: names in `zwang.objects.families` whose members the package offers, too.
    """
    made = sys.modules[package]
    homes = _imports(Path(str(made.__file__)))
    vars(made).update(_homes=homes, _modules=modules, _namespaces=namespaces, _families=families)
    vars(made)["__all__"] = [*homes, *modules, *namespaces]
    made.__class__ = Namespace


def _imports(file: Path) -> dict[str, tuple[str, str]]:
    """Names that a file imports for type checkers, with their modules and names there."""
    blocks = (x for x in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(x, ast.If))
    imports = (x for block in blocks for x in block.body if isinstance(x, ast.ImportFrom))
    return {y.asname or y.name: (str(x.module), y.name) for x in imports for y in x.names}


def _unknown(namespace: Namespace, name: str) -> str:
    """The sentence about a name that a namespace lacks: those of it, and of others in it, close."""
    from zwang.inputs.suggestions import close_to, did_you_mean

    said = f"module {namespace.__name__!r} has no attribute {name!r}"
    # Python and its tools ask for private names, and an import for a file that is still to be found
    package = "__path__" in vars(namespace)
    if name.startswith("_") or (package and find_spec(f"{namespace.__name__}.{name}")):
        return said
    own, law = dir(namespace), name.replace("_", " ")
    if law in importlib.import_module("zwang.servo.laws").LAWS:
        return f"{said}; it is a law by name, for robot.law({law!r}) or zw.servo.law({law!r}, ...)"
    inner = {x: dir(getattr(namespace, x)) for x in namespace._namespaces}
    close = {x: [name] if name in names else close_to(name, names) for x, names in inner.items()}
    for x, found in close.items():
        if found and (name in found or not close_to(name, own)):
            return f"{said}; did you mean {namespace.__name__}.{x}.{found[0]}?"
    return said + did_you_mean(name, own)
