"""Operations outside compiled programs, computed by NumPy instead of one XLA program each.

JAX compiles an operation outside a program for each shape, which takes 25 ms of processor time;
tests and references use thousands of these operations once. NumPy computes the first calls of such
an operation of `jax.numpy` or `jax.lax`. Programs that a test or the library compiles are not
affected: `jit`, loops, factorizations, and everything with `ZWANG_ENGINE=xla`.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax._src import array, pjit
from jax.extend.core import Literal

FEW = 100
"""Calls by NumPy, at some 0.1 ms each, after which an operation is compiled."""
FOLDER = str(Path(jax.__file__).parent)
TYPES = {np.dtype(name) for name in ("bool", "int32", "int64", "float32", "float64")}

PLAIN: dict[str, Callable] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "abs")},
    **{name: getattr(np, name) for name in ("sign", "floor", "ceil", "tanh", "sinh", "cosh")},
    **{name: getattr(np, name) for name in ("log1p", "expm1", "square", "nextafter")},
    **{"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2},
    **{"is_finite": np.isfinite, "not": np.invert, "neg": np.negative},
    **{"copy": np.copy, "copy_p": np.copy, "stop_gradient": np.copy},
    **{"add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply},
    **{"pow": np.power, "max": np.maximum, "min": np.minimum},
    **{"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal},
    **{"gt": np.greater, "ge": np.greater_equal, "and": np.bitwise_and, "or": np.bitwise_or},
    **{"xor": np.bitwise_xor, "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high)},
}
REDUCED = {
    **{"reduce_sum": np.sum, "reduce_max": np.max, "reduce_min": np.min},
    **{"reduce_prod": np.prod, "reduce_and": np.all, "reduce_or": np.any},
}
CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr"}
"""Operations that call an inner program, with the name of its parameter."""


def _slices(params: dict) -> tuple[slice, ...]:
    begin, end = params["start_indices"], params["limit_indices"]
    strides = params["strides"] or [1] * len(begin)
    return tuple(slice(*each) for each in zip(begin, end, strides, strict=True))


def _window(shape: tuple, sizes: tuple, begin: tuple) -> tuple[slice, ...]:
    """Where a slice of some sizes lies, which is moved to lie within the array."""
    first = [
        min(max(int(k) + (n if k < 0 else 0), 0), n - size)
        for k, n, size in zip(begin, shape, sizes, strict=True)
    ]
    return tuple(slice(k, k + size) for k, size in zip(first, sizes, strict=True))


def _updated(x: np.ndarray, new: np.ndarray, begin: tuple) -> np.ndarray:
    x = x.copy()
    x[_window(x.shape, new.shape, begin)] = new
    return x


def _broadcast(places: tuple, shape: tuple, x: np.ndarray) -> np.ndarray:
    ones = [1] * len(shape)
    for place, size in zip(places, x.shape, strict=True):
        ones[place] = size
    return np.broadcast_to(x.reshape(ones), shape)


def _counted(shape: tuple, axis: int) -> np.ndarray:
    ones = [-1 if k == axis else 1 for k in range(len(shape))]
    return np.broadcast_to(np.arange(shape[axis]).reshape(ones), shape)


def _converted(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "i" and x.dtype.kind == "f":  # NumPy leaves open what becomes of what is large
        ends = np.iinfo(dtype)
        inside = (x > ends.min) & (x < ends.max)
        outside = np.where(x > 0, ends.max, np.where(x < 0, ends.min, 0))
        return np.where(inside, np.where(inside, x, 0).astype(dtype), outside)
    return x.astype(dtype)


def _product(numbers: tuple, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Matrix products over axes that are named, for each index along others."""
    ((of_x, of_y), (batch_x, batch_y)) = numbers
    rest_x = [k for k in range(x.ndim) if k not in {*of_x, *batch_x}]
    rest_y = [k for k in range(y.ndim) if k not in {*of_y, *batch_y}]
    batch = [x.shape[k] for k in batch_x]
    shape = [*batch, *(x.shape[k] for k in rest_x), *(y.shape[k] for k in rest_y)]
    size = lambda a, places: math.prod(a.shape[k] for k in places)
    left = x.transpose([*batch_x, *rest_x, *of_x]).reshape(*batch, size(x, rest_x), size(x, of_x))
    right = y.transpose([*batch_y, *of_y, *rest_y]).reshape(*batch, size(y, of_y), size(y, rest_y))
    return (left @ right).reshape(shape)


def _power(x: np.ndarray, n: int) -> np.ndarray:
    return np.power(x, n) if n >= 0 else 1 / np.power(x, -n)


MOVED = {
    "broadcast_in_dim": lambda e, x: _broadcast(e["broadcast_dimensions"], e["shape"], x),
    "concatenate": lambda e, *x: np.concatenate(x, e["dimension"]),
    "convert_element_type": lambda e, x: _converted(x, np.dtype(e["new_dtype"])),
    "dot_general": lambda e, x, y: _product(e["dimension_numbers"], x, y),
    "dynamic_slice": lambda e, x, *at: x[_window(x.shape, e["slice_sizes"], at)],
    "dynamic_update_slice": lambda e, x, new, *at: _updated(x, new, at),
    "integer_pow": lambda e, x: _power(x, e["y"]),
    "iota": lambda e: _counted(e["shape"], e["dimension"]),
    "reshape": lambda e, x: x.reshape(e["new_sizes"]),
    "rev": lambda e, x: np.flip(x, e["dimensions"]),
    "select_n": lambda e, which, *x: np.where(which, *reversed(x)),
    "slice": lambda e, x: x[_slices(e)],
    "squeeze": lambda e, x: np.squeeze(x, e["dimensions"]),
    "stack": lambda e, *x: np.stack(x, e["axis"]),
    "transpose": lambda e, x: x.transpose(e["permutation"]),
}
"""Operations with parameters, as functions of these and of arrays."""
SEVERAL = {
    "split": lambda e, x: np.split(x, np.cumsum(e["sizes"])[:-1], e["axis"]),
    "unstack": lambda e, x: [*np.moveaxis(x, e["axis"], 0)],
}
"""Operations with several results."""


def by_numpy(eqn: Any) -> Callable | None:
    """An operation as a function of arrays of NumPy to a list of results; None if it is not known
    here.
    """
    name, params = eqn.primitive.name, eqn.params
    if name in PLAIN:
        return lambda *x: [PLAIN[name](*x)]
    if name in REDUCED and math.prod(eqn.invars[0].aval.shape):
        return lambda x: [REDUCED[name](x, axis=params["axes"])]
    if name == "div" and eqn.outvars[0].aval.dtype.kind == "f":
        return lambda x, y: [x / y]
    if name == "select_n" and len(eqn.invars) != 3:
        return None
    if name in MOVED:
        return lambda *x: [MOVED[name](params, *x)]
    if name in SEVERAL:
        return functools.partial(SEVERAL[name], params)
    return None


class Plan:
    """A program of JAX's own as calls of NumPy, and how often it was called.

    Attributes:
        steps: operations with functions of NumPy; None if the program is left to XLA.
    """

    def __init__(self, program: Any):
        file = str(program.jaxpr.debug_info.func_filename)
        own = file.startswith(FOLDER) and not program.effects
        self.calls, self.steps = 0, self._steps(program.jaxpr) if own else None

    def _steps(self, jaxpr: Any) -> list | None:
        steps = []
        for eqn in jaxpr.eqns:
            if any(x.aval.dtype not in TYPES for x in [*eqn.invars, *eqn.outvars]):
                return None
            name = eqn.primitive.name
            if name in CALLS:
                inner = eqn.params[CALLS[name]]
                under = self._steps(inner.jaxpr)
                if under is None or inner.consts:
                    return None
                steps.append((eqn, functools.partial(self._called, inner.jaxpr, under)))
                continue
            done = by_numpy(eqn)
            if done is None:
                return None
            steps.append((eqn, done))
        return steps

    def _called(self, jaxpr: Any, steps: list, *given: np.ndarray, constants: Any = ()) -> list:
        names = [*jaxpr.constvars, *jaxpr.invars]
        values: dict = dict(zip(names, [*constants, *given], strict=True))
        read = lambda v: np.asarray(v.val, v.aval.dtype) if isinstance(v, Literal) else values[v]
        for eqn, done in steps:
            found = done(*map(read, eqn.invars))
            values |= {
                v: np.asarray(x, v.aval.dtype) for v, x in zip(eqn.outvars, found, strict=True)
            }
        return [read(v) for v in jaxpr.outvars]

    def __call__(self, program: Any, given: tuple) -> list:
        self.calls += 1
        with np.errstate(all="ignore"):
            places = zip(given, program.jaxpr.invars, strict=True)
            arrays = [np.asarray(x, v.aval.dtype) for x, v in places]
            constants = [np.asarray(x) for x in program.consts]
            return self._called(program.jaxpr, self.steps, *arrays, constants=constants)


def _result(x: np.ndarray, like: Any) -> jax.Array:
    """An array of JAX, with the type of a number in Python where XLA's result has one."""
    found = jax.device_put(np.array(x, order="C"))  # which nothing else may change
    if not like.weak_type:
        return found
    return array.ArrayImpl(like, found.sharding, found._arrays, committed=False)


NONE = None, None, []
"""What `jit` returns beside results: no program of XLA, no profile of it, and no constants."""


@contextlib.contextmanager
def left_to_xla() -> Iterator[None]:
    """Within, XLA computes operations outside of programs, too."""
    global _few
    before, _few = _few, 0
    yield
    _few = before


@contextlib.contextmanager
def compilations() -> Iterator[list[dict]]:
    """What XLA compiles inside, on this thread; no operation that NumPy computes is handed to XLA
    there because it was computed often before.
    """
    global _few
    before, _few = _few, math.inf if _few else 0
    seen: list[dict] = []
    here = threading.get_ident()

    def listen(event: str, *_: Any, **about: Any) -> None:
        if "backend_compile" in event and threading.get_ident() == here:
            seen.append(about)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield seen
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
        _few = before


_few: float = 0 if os.environ.get("ZWANG_ENGINE") == "xla" else FEW


def compute_by_numpy() -> None:
    """From now on compute operations outside of programs by NumPy, in this process."""
    plans: Any = weakref.WeakKeyDictionary()
    by_xla = pjit._pjit_call_impl_python

    def called(*given: Any, jaxpr: Any, **settings: Any) -> Any:
        plan = plans.get(jaxpr)
        if plan is None:
            plan = plans[jaxpr] = Plan(jaxpr)
        if plan.calls >= _few or plan.steps is None or not _is_plain(given):
            return by_xla(*given, jaxpr=jaxpr, **settings)
        found = zip(plan(jaxpr, given), jaxpr.out_avals, strict=True)
        return [_result(x, like) for x, like in found], *NONE

    pjit._pjit_call_impl_python = called


def _is_plain(given: tuple) -> bool:
    on_a_device = any(isinstance(x, jax.Array) and x.committed for x in given)
    return not on_a_device and not jax.config.jax_debug_nans
