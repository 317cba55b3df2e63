"""Detection of constant indices beyond the end of an array in a traced function.

JAX raises no IndexError for `q[7]` of two entries: the index is clamped to the last entry without
notice. Such an index is a constant of the traced program. This module propagates integer constants
through the program by NumPy and checks every operation that reads or writes at a constant index.
Indices that depend on the state are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, Literal

LARGEST_INDICES = 1_000_000
"""Number of entries up to which a constant array is propagated."""
IN_BOUNDS = jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS
"""Mode that JAX uses for a read whose author has not chosen one (`mode="clip"`, `mode="fill"`)."""


def beyond(closed: ClosedJaxpr) -> tuple[int, int] | None:
    """Return the first constant index beyond its axis, with the length of that axis; else None.

    Args:
        closed: a traced function (`jax.make_jaxpr`).
    """
    found: list[tuple[int, int]] = []
    _interpreted(closed.jaxpr, [_constant(x) for x in closed.consts], [], found)
    return found[0] if found else None


def _constant(value) -> np.ndarray | None:
    """Return a concrete array of integers or truth values, None for anything else."""
    if isinstance(value, (bool, int)):  # such as literals of a traced program
        return np.asarray(bool(value) if isinstance(value, bool) else int(value))
    if isinstance(value, Tracer) or not hasattr(value, "dtype"):
        return None
    if getattr(value.dtype, "kind", "") not in "biu" or value.size > LARGEST_INDICES:
        return None
    return np.asarray(value)


def _interpreted(jaxpr, consts: Sequence, inputs: Sequence, found: list) -> list:
    """Propagate constants to a program's outputs; indices beyond the end are added to `found`."""
    values: dict[Any, np.ndarray | None] = {}
    values.update(zip(jaxpr.constvars, consts, strict=False))
    values.update(zip(jaxpr.invars, inputs, strict=False))

    def known(x):
        return _constant(x.val) if isinstance(x, Literal) else values.get(x)

    for eqn in jaxpr.eqns:
        given = [known(x) for x in eqn.invars]
        _judge(eqn, given, found)
        values.update(zip(eqn.outvars, _results(eqn, given, found), strict=False))
    return [known(x) for x in jaxpr.outvars]


def _results(eqn, given: list, found: list) -> list:
    """Propagate constants through one operation."""
    name, params = eqn.primitive.name, eqn.params
    inner = [x for x in (params.get(k) for k in ("jaxpr", "call_jaxpr", "fun_jaxpr")) if x]
    if inner or "branches" in params or "cond_jaxpr" in params:
        return _inside(name, params, inner, given, found)
    rule = RULES.get(name)
    # An operation may have no results (a barrier of no values).
    if rule is None or not eqn.outvars:
        return []
    out = eqn.outvars[0].aval
    if (
        rule is None
        or any(x is None for x in given)
        or getattr(out, "size", LARGEST_INDICES) > LARGEST_INDICES
    ):
        return []
    try:
        return [np.asarray(rule(params, *given)).reshape(out.shape).astype(out.dtype)]
    except (TypeError, ValueError, OverflowError):  # an operation on types that are not indices
        return []


def _inside(name: str, params, inner: list, given: list, found: list) -> list:
    """Propagate constants through an operation with inner programs."""
    if name == "cond":
        for branch in params["branches"]:
            _opened(branch, given[1:], found)
        return []
    if name == "while":
        first, second = params["cond_nconsts"], params["body_nconsts"]
        _opened(params["cond_jaxpr"], given[:first], found)
        _opened(params["body_jaxpr"], given[first : first + second], found)
        return []
    if name == "scan":
        _opened(inner[0], given[: params["num_consts"]], found)
        return []
    return _opened(inner[0], given, found)


def _opened(program, inputs: list, found: list) -> list:
    jaxpr = getattr(program, "jaxpr", program)
    consts = [_constant(x) for x in getattr(program, "consts", ())]
    # Only the constants of a loop are passed on; its carried values are unknown.
    inputs = [*inputs, *[None] * (len(jaxpr.invars) - len(inputs))]
    if any(x is not None for x in inputs):
        return _interpreted(jaxpr, consts, inputs, found)
    # programs of many constraints call one inner program
    if (known := _OPENED.get(jaxpr)) is None:
        own: list[tuple[int, int]] = []
        known = _OPENED[jaxpr] = _interpreted(jaxpr, consts, inputs, own), own
    found += known[1]
    return known[0]


_OPENED: WeakKeyDictionary[Any, tuple[list, list[tuple[int, int]]]] = WeakKeyDictionary()
"""Results of inner programs without known operands, and their indices beyond the end."""


def _judge(eqn, given: list, found: list) -> None:
    """Add indices of one operation that lie beyond their axis."""
    name, params = eqn.primitive.name, eqn.params
    shape: tuple[int, ...] = getattr(eqn.invars[0].aval, "shape", ()) if eqn.invars else ()
    if name == "dynamic_slice":
        starts = zip(given[1:], shape, params["slice_sizes"], strict=True)
        places = [(x, length, size) for x, length, size in starts if x is not None]
    elif name == "gather" and params["mode"] == IN_BOUNDS and given[1] is not None:
        axes = params["dimension_numbers"].start_index_map
        places = [
            (given[1][..., i], shape[axis], params["slice_sizes"][axis])
            for i, axis in enumerate(axes)
        ]
    elif name.startswith("scatter") and given[1] is not None:
        numbers = params["dimension_numbers"]
        axes = numbers.scatter_dims_to_operand_dims
        # An index of a window may have several entries; only windows of one entry are checked.
        single = set(numbers.inserted_window_dims)
        places = [
            (given[1][..., i], shape[axis], 1) for i, axis in enumerate(axes) if axis in single
        ]
    else:
        return
    for start, length, size in places:
        wrong = (start < 0) | (start + size > length)
        if np.any(wrong):
            first = np.argmax(np.ravel(wrong))
            found.append((int(np.ravel(start)[first]), length))


def _select(params, which, *cases):
    return np.choose(which.astype(int), np.broadcast_arrays(*cases)) if cases else which


def _spread(params, x):
    shape = params["shape"]
    inner = [1] * len(shape)
    for axis, length in zip(params["broadcast_dimensions"], x.shape, strict=True):
        inner[axis] = length
    return np.broadcast_to(x.reshape(inner), shape)


def _cut(params, x):
    strides = params["strides"] or (1,) * x.ndim
    cuts = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return x[tuple(slice(a, b, c) for a, b, c in cuts)]


def _counted(params):
    shape, axis = params["shape"], params["dimension"]
    inner = [1] * len(shape)
    inner[axis] = shape[axis]
    return np.broadcast_to(np.arange(shape[axis]).reshape(inner), shape)


def _same(params, x):
    return x


RULES: dict[str, Callable] = {
    "lt": lambda _, x, y: x < y,
    "le": lambda _, x, y: x <= y,
    "gt": lambda _, x, y: x > y,
    "ge": lambda _, x, y: x >= y,
    "eq": lambda _, x, y: x == y,
    "ne": lambda _, x, y: x != y,
    "add": lambda _, x, y: x + y,
    "sub": lambda _, x, y: x - y,
    "mul": lambda _, x, y: x * y,
    "neg": lambda _, x: -x,
    "max": lambda _, x, y: np.maximum(x, y),
    "min": lambda _, x, y: np.minimum(x, y),
    "and": lambda _, x, y: x & y,
    "or": lambda _, x, y: x | y,
    "not": lambda _, x: ~x,
    "select_n": _select,
    "clamp": lambda _, low, x, high: np.clip(x, low, high),
    "broadcast_in_dim": _spread,
    "reshape": _same,
    "squeeze": _same,
    "convert_element_type": _same,
    "copy": _same,
    "stop_gradient": _same,
    "transpose": lambda params, x: np.transpose(x, params["permutation"]),
    "concatenate": lambda params, *x: np.concatenate(x, axis=params["dimension"]),
    "slice": _cut,
    "iota": _counted,
}
"""Operations on constant integers; shape and type of the result are those of the traced program."""
