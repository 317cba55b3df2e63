"""LAPACK as SciPy has it, without the rest of SciPy.

Compiled programs and the host both factor matrices by SciPy's LAPACK. Importing `scipy.linalg` for
it takes 0.1 s, a tenth of a short command, most of which goes into modules that a factorization
does not need; its three extension modules alone take 0.02 s. They are the same modules under the
same names, so that importing `scipy.linalg` later finds them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

EXTENSIONS = ("cython_blas", "cython_lapack", "_flapack")
"""Of `scipy.linalg`: what jaxlib takes its LAPACK from, and the routines for Python."""


@functools.cache
def lapack_routines() -> Any:
    """The module whose functions are LAPACK's (`dpotrf`, `dpotrs`, …), loaded for jaxlib too."""
    if "scipy.linalg" not in sys.modules:
        # an extension that another version of SciPy has elsewhere is left to its own import
        with contextlib.suppress(ImportError, AttributeError):
            for name in EXTENSIONS:
                _load(f"scipy.linalg.{name}")
            return sys.modules["scipy.linalg._flapack"]
    return importlib.import_module("scipy.linalg.lapack")


def _load(name: str) -> None:
    """Import an extension module of `scipy.linalg` without `scipy.linalg` itself."""
    import scipy

    if name in sys.modules:
        return
    spec = PathFinder.find_spec(name, [f"{folder}/linalg" for folder in scipy.__path__])
    if spec is None or spec.loader is None:
        raise ImportError(f"SciPy {scipy.__version__} has no {name}.")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
