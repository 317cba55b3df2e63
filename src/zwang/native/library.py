"""Addresses of the LAPACK and BLAS routines in SciPy, which native code calls."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType

from zwang.native.errors import NotNativeError

MODULES = ("cython_blas", "cython_lapack")
"""Extension modules of `scipy.linalg`: importing the package takes 0.1 s, these two alone 0.02 s.
"""


def address_of(name: str) -> int:
    """Address of a routine in this process.

    Raises:
        NotNativeError: if SciPy has no such routine.
    """
    return _address(name.removeprefix("zwang."))


def lapack_routines() -> ModuleType:
    """The module of LAPACK's functions (`dpotrf`, `dgtsv`, …) for Python."""
    return _module("scipy.linalg._flapack")


@functools.cache
def _address(name: str) -> int:
    for module in MODULES:
        routines = getattr(_module(f"scipy.linalg.{module}"), "__pyx_capi__", {})
        if name in routines:
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            signature = ctypes.pythonapi.PyCapsule_GetName
            signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
            return pointer(routines[name], signature(routines[name]))
    raise NotNativeError(f"the routine {name}, which this version of SciPy lacks")


@functools.cache
def _module(name: str) -> ModuleType:
    if "scipy.linalg" not in sys.modules:
        # Another version of SciPy may keep the extension elsewhere; the ordinary import then finds
        # it.
        with contextlib.suppress(ImportError, AttributeError):
            return _alone(name)
    importlib.import_module("scipy.linalg")
    return importlib.import_module(name)


def _alone(name: str) -> ModuleType:
    """Import an extension module of `scipy.linalg` without `scipy.linalg` itself."""
    import scipy

    if name in sys.modules:
        return sys.modules[name]
    spec = PathFinder.find_spec(name, [f"{folder}/linalg" for folder in scipy.__path__])
    if spec is None or spec.loader is None:
        raise ImportError(f"SciPy {scipy.__version__} has no {name}.")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module
