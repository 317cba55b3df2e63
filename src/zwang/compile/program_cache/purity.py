"""Purity of functions: objects that a fingerprint may identify by name.

These are members of libraries, identified by version, of zwang, identified by its sources, and pure
computations of Python itself. Access to files, devices or state is refused.
"""

from __future__ import annotations

import dis
import functools
import sys
import types

from zwang.compile.flat import NotCacheableError

OWN = "zwang"
LIBRARIES = frozenset({"jax", "jaxlib", "numpy", "equinox", "jaxtyping"})
"""Packages identified by their versions; a user's classes may be Equinox's."""
STANDARD = frozenset(
    (
        "__future__ abc builtins cmath collections dataclasses enum functools itertools math "
        "numbers operator types typing"
    ).split()
)
"""Modules of Python's standard library that only compute, identified by Python's version."""
BUILTINS = frozenset(
    (
        "abs all any bool bytes complex dict divmod enumerate filter float frozenset int "
        "isinstance issubclass iter len list map max min next object pow property range reversed "
        "round set slice sorted staticmethod str sum super tuple type zip NotImplemented Ellipsis "
        "__name__"
    ).split()
)
"""Built-in functions that depend on their arguments only; exceptions are added to them."""
IMPURE = frozenset(
    (
        "load loadtxt genfromtxt fromfile fromregex memmap open_memmap DataSource random lib "
        "ctypeslib f2py testing io_callback pure_callback callback debug config read robot gallery "
        "robots environ _src experimental monitoring profiler devices util sys os __dict__ "
        "__globals__ __builtins__ __loader__ __closure__ __code__ __subclasses__ __getattribute__ "
        "__import__"
    ).split()
)
"""Attributes by which a function may access files, devices or anything else outside of a
fingerprint.
"""


def root(module: str | None) -> str:
    """Return the top-level package of a module."""
    return (module or "").partition(".")[0]


def _resolves(x) -> bool:
    """Return whether a loaded module has this object under its own name."""
    here = sys.modules.get(x.__module__)
    for name in x.__qualname__.split("."):
        here = getattr(here, "__dict__", {}).get(name)
    return here is x


def is_known(x) -> bool:
    """Return whether an object is a member of zwang or a library under its name.

    Sources and versions then determine its behavior.
    """
    module, name = getattr(x, "__module__", None), getattr(x, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(name, str)):
        return False
    trusted = root(module) in LIBRARIES or root(module) == OWN or module in STANDARD - {"builtins"}
    if not trusted or not _resolves(x):
        return False
    if name.rpartition(".")[2] in IMPURE and root(module) != OWN:
        raise NotCacheableError(f"{module}.{name}")
    return True


def is_written_in_package(f: types.FunctionType) -> bool:
    """Return whether a function's code is in the file of a module of zwang or of a library."""
    name = f.__globals__.get("__name__", "")
    if root(name) != OWN and root(name) not in LIBRARIES and name not in STANDARD:
        return False
    module = sys.modules.get(name)
    return (
        module is not None
        and vars(module) is f.__globals__
        and getattr(module, "__file__", None) == f.__code__.co_filename
    )


def is_in_python(kind: type) -> bool:
    """Return whether a class is written in Python, so that its objects hide no data."""
    if root(kind.__module__) == "jaxlib" or kind.__module__ in STANDARD - {
        "abc",
        "enum",
        "typing",
        "dataclasses",
        "types",
    }:
        return False
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is None or file.endswith(".py")


@functools.lru_cache(maxsize=4096)
def global_names(code: types.CodeType, free: frozenset[str]) -> frozenset[str]:
    """Return the global names that a function reads.

    Raises `NotCacheableError` for code that may access anything else.
    """
    found = set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            found.add(step.argval)
        elif step.opname == "IMPORT_NAME":
            if (
                root(step.argval) not in LIBRARIES
                and root(step.argval) != OWN
                and step.argval not in STANDARD
            ):
                raise NotCacheableError(f"a function that imports {step.argval}")
        elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
            step.opname == "STORE_DEREF" and step.argval in free
        ):
            raise NotCacheableError(
                f"a function that assigns to {step.argval}, which is not its own"
            )
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM") and step.argval in IMPURE:
            raise NotCacheableError(f"a function that uses .{step.argval}")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= global_names(constant, free)
    return frozenset(found)
