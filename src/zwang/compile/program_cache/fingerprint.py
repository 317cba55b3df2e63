"""Digest of everything that a program depends on, except for the numbers of its arguments.

The digest is the same in every process. A function contributes its bytecode, constants, defaults,
closure, and the objects that its global names refer to, recursively down to the libraries that are
identified by their version. Two rules make the digest safe:

- content that cannot be determined raises `NotCacheableError`, and the program is compiled
  without the cache;
- nothing is identified by its name or address alone, except for members of a library in
  `LIBRARIES`, whose versions are part of every key, and of zwang, whose sources are.
"""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from zwang.compile.flat import FixedArray, NotCacheableError
from zwang.compile.program_cache.objects import add_class, add_object
from zwang.compile.program_cache.purity import (
    BUILTINS,
    IMPURE,
    LIBRARIES,
    OWN,
    STANDARD,
    global_names,
    is_known,
    is_written_in_package,
    root,
)


class Fingerprint:
    """A digest to which objects are added one after the other.

    An object that was added before is replaced by its number, so that reference cycles end.

    Attributes:
        modules: zwang's modules among the added objects.
    """

    def __init__(self):
        self._hash = hashlib.blake2b(digest_size=20)
        self._met: dict[int, int] = {}
        self._alive: list[Any] = []
        self.modules: set[str] = set()

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def token(self, *parts: str | bytes) -> None:
        """Add parts, each with its length, so that different sequences have different digests."""
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            self._hash.update(b"%d:" % len(data) + data)

    def add(self, x: object) -> None:
        """Add any object, or raise `NotCacheableError`."""
        kind = type(x)
        if kind in _PLAIN:
            self.token(kind.__name__, _PLAIN[kind](x))
        elif id(x) in self._met:
            self.token("again", str(self._met[id(x)]))
        else:
            self._met[id(x)] = len(self._met)
            self._alive.append(x)  # kept alive, as its `id` could be reused
            handler = _HANDLERS.get(kind)
            if handler is not None:
                handler(self, x)
            elif isinstance(x, type):
                add_class(self, x)
            elif isinstance(x, jax.Array):
                self._jax_array(x)
            else:
                add_object(self, x)

    def structure(self, tree) -> None:
        """Add the structure of a pytree: its classes and their data apart from leaves."""
        about = tree.node_data()
        if about is None:
            self.token("leaf")
            return
        kind, aux = about
        children = tree.children()
        self.token("node", str(len(children)))
        self.add(kind)
        self.add(aux)
        for child in children:
            self.structure(child)

    def named(self, x) -> None:
        """Add an object of a library or of zwang by its name."""
        self.token("named", x.__module__, x.__qualname__)
        self._met_module(x.__module__)

    def _met_module(self, name: str) -> None:
        if root(name) == OWN:
            self.modules.add(name)

    def sequence(self, x) -> None:
        self.token(type(x).__name__, str(len(x)))
        for item in x:
            self.add(item)

    def _set(self, x) -> None:
        if not all(type(item) in _PLAIN for item in x):
            raise NotCacheableError("a set of objects, which has no order")
        self.sequence(
            [type(x).__name__, *sorted(x, key=lambda item: (type(item).__name__, repr(item)))]
        )

    def dictionary(self, x) -> None:
        self.token("dict", str(len(x)))
        for key, value in x.items():  # in insertion order, which functions may depend on
            self.add(key)
            self.add(value)

    def _array(self, x) -> None:
        if x.dtype.hasobject:
            raise NotCacheableError("an array of objects")
        self.token("array", repr(x.dtype.descr), repr(x.shape), np.ascontiguousarray(x).tobytes())

    def _scalar(self, x) -> None:
        self.token("scalar")
        self._array(np.asarray(x))

    def _jax_array(self, x) -> None:
        if (
            isinstance(x, Tracer)
            or not x.is_fully_addressable
            or jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
        ):
            raise NotCacheableError("an array that is no plain numbers")
        self.token("jax", str(x.weak_type))
        self._array(np.asarray(x))

    def _function(self, f: types.FunctionType) -> None:
        if is_known(f):
            self.named(f)
            return
        self.token("function")
        self._code(f.__code__)
        self.add(f.__defaults__)
        self.add(f.__kwdefaults__)
        self.token(str(len(f.__closure__ or ())))
        for cell in f.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:
                self.token("empty")
        self.dictionary({k: f.__dict__[k] for k in sorted(f.__dict__)})
        if is_written_in_package(f):
            self._met_module(f.__globals__["__name__"])
        else:
            self._globals(f)

    def _code(self, code: types.CodeType) -> None:
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        self.token("code", repr(counts), code.co_code, code.co_exceptiontable)
        for names in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            self.token(repr(names))
        self.token(str(len(code.co_consts)))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant)
            else:
                self._constant(constant)

    def _constant(self, x) -> None:
        """Add a constant of a code object.

        Constants are not numbered, as the Python compiler may or may not share equal ones.
        """
        if isinstance(x, (tuple, frozenset)):
            items = (
                x
                if isinstance(x, tuple)
                else sorted(x, key=lambda item: (type(item).__name__, repr(item)))
            )
            self.token(type(x).__name__, str(len(x)))
            for item in items:
                self._constant(item)
        else:
            self.add(x)

    def _globals(self, f: types.FunctionType) -> None:
        names = global_names(f.__code__, frozenset(f.__code__.co_freevars))
        for name in sorted(names):
            self.token(name)
            if name in f.__globals__:
                self.add(f.__globals__[name])
                continue
            builtin = f.__builtins__.get(name)
            is_exception = isinstance(builtin, type) and issubclass(builtin, BaseException)
            if name not in BUILTINS and not is_exception:
                undefined = "" if builtin is not None else ", which is not defined"
                raise NotCacheableError(f"the built-in name {name!r}{undefined}")

    def _method(self, x: types.MethodType) -> None:
        self.token("method")
        self.add(x.__func__)
        self.add(x.__self__)

    def _partial(self, x: functools.partial) -> None:
        self.token("partial")
        for part in (x.func, x.args, x.keywords, dict(vars(x))):
            self.add(part)

    def _builtin(self, x) -> None:
        owner = getattr(x, "__self__", None)
        if isinstance(owner, types.ModuleType) or owner is None:
            module = x.__module__ or ""
            if (
                root(module) not in LIBRARIES | STANDARD
                or x.__name__ in IMPURE
                or (module == "builtins" and x.__name__ not in BUILTINS)
            ):
                raise NotCacheableError(f"the function {x.__name__} of {module or 'no module'}")
            self.token("builtin", module, x.__qualname__)
        else:
            self.token("bound", x.__name__)
            self.add(owner)

    def _wrapper(self, x) -> None:
        """Add a descriptor of a class."""
        self.token(type(x).__name__)
        if isinstance(x, property):
            functions = [x.fget, x.fset, x.fdel]
        else:
            functions = [x.func if hasattr(x, "func") else x.__func__]
        for f in functions:
            self.add(f)

    def _ufunc(self, x: np.ufunc) -> None:
        if getattr(np, x.__name__, None) is not x:
            raise NotCacheableError("a ufunc that is not NumPy's")
        self.token("ufunc", x.__name__)

    def _module(self, x: types.ModuleType) -> None:
        home = root(x.__name__)
        if home in LIBRARIES | {OWN} or x.__name__ in STANDARD | {"collections.abc"}:
            if x.__name__.rpartition(".")[2] in IMPURE:
                raise NotCacheableError(f"the module {x.__name__}")
            self.token("library", x.__name__)
            self._met_module(x.__name__)
            return
        self.token("module")  # a user's module: its present content, whatever its file says now
        namespace = {
            k: v for k, v in vars(x).items() if not (k.startswith("__") and k.endswith("__"))
        }
        self.dictionary({k: namespace[k] for k in sorted(namespace)})


_PLAIN: dict[type, Callable[[Any], str | bytes]] = {
    type(None): repr,
    bool: repr,
    int: repr,
    str: lambda x: x.encode("utf-8", "surrogatepass"),
    bytes: bytes,
    float: float.hex,
    complex: lambda x: f"{x.real.hex()} {x.imag.hex()}",
    type(Ellipsis): repr,
    type(NotImplemented): repr,
    slice: repr,
    range: repr,
}
_HANDLERS: dict[type, Callable[[Fingerprint, Any], None]] = {
    tuple: Fingerprint.sequence,
    list: Fingerprint.sequence,
    dict: Fingerprint.dictionary,
    set: Fingerprint._set,
    frozenset: Fingerprint._set,
    np.ndarray: Fingerprint._array,
    np.ufunc: Fingerprint._ufunc,
    types.FunctionType: Fingerprint._function,
    types.MethodType: Fingerprint._method,
    functools.partial: Fingerprint._partial,
    types.BuiltinFunctionType: Fingerprint._builtin,
    types.ModuleType: Fingerprint._module,
    FixedArray: lambda f, x: f._array(x.array),
    property: Fingerprint._wrapper,
    staticmethod: Fingerprint._wrapper,
    classmethod: Fingerprint._wrapper,
    functools.cached_property: Fingerprint._wrapper,
    types.MappingProxyType: lambda f, x: f.dictionary(dict(x)),
    jax.tree_util.PyTreeDef: Fingerprint.structure,
    jax.ShapeDtypeStruct: lambda f, x: f.token(
        "shape", repr(x.shape), str(x.dtype), str(x.weak_type)
    ),
}
_HANDLERS |= {kind: Fingerprint._scalar for kind in set(np.sctypeDict.values()) - {np.object_}}
