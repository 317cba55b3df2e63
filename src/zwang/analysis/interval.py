"""Interval extension of a JAX function: an enclosure of all its values over a box.

The traced function is evaluated operation by operation with a lower and an upper bound of every
number that depends on the box. Every result is widened by a few units in the last place, which
covers rounding. Structural operations (slices, reshapes, gathers, sums) are applied to both bounds;
products, quotients and elementary functions have rules.

Reference: Moore, Kearfott and Cloud (2009), Introduction to Interval Analysis, chapters 2 and 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from zwang.compile.interpreter import JaxprInterpreter
from zwang.errors import ModelError
from zwang.inputs.arrays import AnyArray

WIDENING = 8 * np.finfo(float).eps
"""Relative widening of a result; elementary functions are accurate to a few units in the last
place."""


class NoIntervalRuleError(ModelError):
    """An operation of the model has no interval rule."""


class Interval(NamedTuple, Generic[AnyArray]):
    """Lower and upper bounds, entry by entry. For truth values, `lo` is what is certain and `hi`
    what is possible.
    """

    lo: AnyArray
    hi: AnyArray


def enclosure(function: Callable, box: Interval, *args) -> Interval:
    """Bounds of `function(x, *args)` for all x in a box; inside `jit` or not.

    Args:
        function: of arrays, returns one array.
        box: bounds of x, of one shape.
        args: further arguments, arrays with exact values.

    Raises:
        NoIntervalRuleError: for an operation without a rule, with its name.
    """
    traced = jax.make_jaxpr(function)(box.lo, *args)
    leaves = jax.tree_util.tree_leaves(args)
    (found,) = IntervalInterpreter()(traced.jaxpr, traced.consts, [box, *leaves])
    return _bounds(found)


class IntervalInterpreter(JaxprInterpreter):
    """Evaluates a program with an `Interval` for every value that depends on the box."""

    def operation(self, eqn, inputs: list):
        if not any(isinstance(x, Interval) for x in inputs):
            return super().operation(eqn, inputs)
        rule = RULES.get(eqn.primitive.name)
        if rule is None:
            raise NoIntervalRuleError(
                f"the operation {eqn.primitive.name!r} has no interval rule, so that its "
                "values over a box cannot be bounded."
            )
        found = rule(eqn, *inputs)
        # an interval is a tuple itself
        return [found] if isinstance(found, Interval) else found


def _bounds(x) -> Interval:
    return x if isinstance(x, Interval) else Interval(x, x)


def _widened(lo, hi) -> Interval:
    least = 1e-300  # because a relative widening is zero at zero
    return Interval(lo - WIDENING * jnp.abs(lo) - least, hi + WIDENING * jnp.abs(hi) + least)


# --- structural operations, applied to both bounds


def _on_both(eqn, values: tuple) -> tuple:
    """Apply an operation to the lower bounds and to the upper bounds."""
    lo, hi = (
        eqn.primitive.bind(
            *(getattr(x, end) if isinstance(x, Interval) else x for x in values), **eqn.params
        )
        for end in ("lo", "hi")
    )
    return lo, hi


def _structural(eqn, *values):
    lo, hi = _on_both(eqn, values)
    if eqn.primitive.multiple_results:
        return [Interval(a, b) for a, b in zip(lo, hi, strict=True)]
    return Interval(lo, hi)


def _increasing(eqn, *values):
    return _widened(*_on_both(eqn, values))


def _decreasing(eqn, x):
    return _widened(eqn.primitive.bind(x.hi, **eqn.params), eqn.primitive.bind(x.lo, **eqn.params))


# --- arithmetic


def _sub(eqn, x, y):
    x, y = _bounds(x), _bounds(y)
    return _widened(x.lo - y.hi, x.hi - y.lo)


def _times(x, y) -> Interval:
    if isinstance(x, Interval) and isinstance(y, Interval):
        ends = [a * b for a in x for b in y]
    else:
        x, y = (x, y) if isinstance(x, Interval) else (y, x)
        ends = [x.lo * y, x.hi * y]
    lo, hi = ends[0], ends[0]
    for end in ends[1:]:
        lo, hi = jnp.minimum(lo, end), jnp.maximum(hi, end)
    # exact zeros stay exact zeros, because most entries of a Jacobian are zero
    zero = (lo == 0) & (hi == 0)
    wide = _widened(lo, hi)
    return Interval(jnp.where(zero, 0.0, wide.lo), jnp.where(zero, 0.0, wide.hi))


def _inverse(y) -> Interval:
    y = _bounds(y)
    away = (y.lo > 0) | (y.hi < 0)
    safe = Interval(jnp.where(away, y.lo, 1.0), jnp.where(away, y.hi, 1.0))
    wide = _widened(1 / safe.hi, 1 / safe.lo)
    return Interval(jnp.where(away, wide.lo, -jnp.inf), jnp.where(away, wide.hi, jnp.inf))


def _div(eqn, x, y):
    return _times(x, _inverse(y) if isinstance(y, Interval) else 1 / y)


def _integer_pow(eqn, x):
    n = eqn.params["y"]
    if n < 0:
        return _inverse(_power(x, -n))
    return _power(x, n)


def _power(x: Interval, n: int) -> Interval:
    a, b = x.lo**n, x.hi**n
    if n % 2:
        return _widened(a, b)
    lo = jnp.where((x.lo <= 0) & (x.hi >= 0), 0.0, jnp.minimum(a, b))
    wide = _widened(lo, jnp.maximum(a, b))
    return Interval(jnp.maximum(wide.lo, 0.0), wide.hi)


def _pow(eqn, x, y):
    if isinstance(y, Interval) or not isinstance(x, Interval):
        raise NoIntervalRuleError("a power with a varying exponent has no interval rule.")
    ends = x.lo**y, x.hi**y  # for a positive base; otherwise NaN, which certifies nothing
    return _widened(jnp.minimum(*ends), jnp.maximum(*ends))


def _dot(eqn, x, y):
    """Products of matrices by midpoint and radius (Rump)."""
    bind = lambda a, b: eqn.primitive.bind(a, b, **eqn.params)
    x, y = _bounds(x), _bounds(y)
    mx, my = (x.lo + x.hi) / 2, (y.lo + y.hi) / 2
    rx, ry = (x.hi - x.lo) / 2, (y.hi - y.lo) / 2
    ax, ay = jnp.abs(mx), jnp.abs(my)
    middle = bind(mx, my)
    terms = np.prod([x.lo.shape[i] for i in eqn.params["dimension_numbers"][0][0]], initial=4)
    radius = bind(ax, ry) + bind(rx, ay + ry) + float(terms) * WIDENING * bind(ax + rx, ay + ry)
    return _widened(middle - radius, middle + radius)


def _reduce_sum(eqn, x):
    bind = lambda a: eqn.primitive.bind(a, **eqn.params)
    terms = np.prod([x.lo.shape[i] for i in eqn.params["axes"]], initial=1)
    slack = float(terms) * WIDENING * bind(jnp.maximum(jnp.abs(x.lo), jnp.abs(x.hi)))
    return Interval(bind(x.lo) - slack, bind(x.hi) + slack)


def _abs(eqn, x):
    most = jnp.maximum(jnp.abs(x.lo), jnp.abs(x.hi))
    least = jnp.minimum(jnp.abs(x.lo), jnp.abs(x.hi))
    return Interval(jnp.where((x.lo <= 0) & (x.hi >= 0), 0.0, least), most)


# --- elementary functions


def _wave(function: Callable, crest: float) -> Callable:
    """Sine and cosine, with a maximum of 1 at `crest` + 2 k π."""

    def holds(x: Interval, place: float):
        turn = 2 * np.pi
        # a bound that lies within round-off of an extremum counts as beyond it
        slack = 1e-12 * (1 + jnp.abs(x.lo) + jnp.abs(x.hi))
        return jnp.floor((x.hi + slack - place) / turn) >= jnp.ceil((x.lo - slack - place) / turn)

    def rule(eqn, x):
        a, b = function(x.lo), function(x.hi)
        wide = _widened(jnp.minimum(a, b), jnp.maximum(a, b))
        lo = jnp.where(holds(x, crest + np.pi), -1.0, jnp.maximum(wide.lo, -1.0))
        hi = jnp.where(holds(x, crest), 1.0, jnp.minimum(wide.hi, 1.0))
        return Interval(lo, hi)

    return rule


def _tan(eqn, x):
    turns = jnp.floor((x.lo - np.pi / 2) / np.pi) == jnp.floor((x.hi - np.pi / 2) / np.pi)
    wide = _widened(jnp.tan(x.lo), jnp.tan(x.hi))
    return Interval(jnp.where(turns, wide.lo, -jnp.inf), jnp.where(turns, wide.hi, jnp.inf))


def _atan2(eqn, y, x):
    y, x = _bounds(y), _bounds(x)
    corners = jnp.stack(jnp.broadcast_arrays(*(jnp.arctan2(a, b) for a in y for b in x)))
    wide = _widened(jnp.min(corners, axis=0), jnp.max(corners, axis=0))
    # the cut along the negative x axis
    cut = (x.lo <= 0) & (y.lo <= 0) & (y.hi >= 0)
    return Interval(jnp.where(cut, -np.pi, wide.lo), jnp.where(cut, np.pi, wide.hi))


# --- truth values: lower bounds are certain, upper bounds possible


def _less(strict: bool, swap: bool) -> Callable:
    def rule(eqn, x, y):
        x, y = _bounds(x), _bounds(y)
        x, y = (y, x) if swap else (x, y)
        if strict:
            return Interval(x.hi < y.lo, x.lo < y.hi)
        return Interval(x.hi <= y.lo, x.lo <= y.hi)

    return rule


def _equal(eqn, x, y):
    x, y = _bounds(x), _bounds(y)
    point = (x.lo == x.hi) & (y.lo == y.hi) & (x.lo == y.lo)
    return Interval(point, (x.lo <= y.hi) & (y.lo <= x.hi))


def _not(eqn, x):
    return Interval(~x.hi, ~x.lo)


def _unequal(eqn, x, y):
    return _not(eqn, _equal(eqn, x, y))


def _select(eqn, which, *cases):
    if not isinstance(which, Interval):
        return _structural(eqn, which, *cases)
    if len(cases) != 2:
        raise NoIntervalRuleError("a selection among several cases has no interval rule.")
    no, yes = (_bounds(x) for x in cases)
    both = Interval(jnp.minimum(no.lo, yes.lo), jnp.maximum(no.hi, yes.hi))
    pick = lambda a, b, c: jnp.where(which.lo, a, jnp.where(which.hi, c, b))
    return Interval(pick(yes.lo, no.lo, both.lo), pick(yes.hi, no.hi, both.hi))


RULES: dict[str, Callable] = {
    **dict.fromkeys(
        (
            *("reshape", "broadcast_in_dim", "squeeze", "expand_dims", "slice", "dynamic_slice"),
            *("gather", "concatenate", "transpose", "rev", "pad", "dynamic_update_slice", "copy"),
            *("split", "convert_element_type", "reduce_max", "reduce_min", "max", "min", "and"),
            *("or", "stop_gradient", "optimization_barrier", "scatter", "sign", "floor", "ceil"),
            *("stack", "unstack", "reduce_and", "reduce_or", "round", "clamp"),
        ),
        _structural,
    ),
    **dict.fromkeys(
        (
            *("add", "add_any", "scatter-add", "cumsum", "sqrt", "exp", "exp2", "log", "log1p"),
            *("expm1", "atan", "asin", "sinh", "tanh", "asinh", "logistic", "cbrt"),
        ),
        _increasing,
    ),
    "neg": lambda eqn, x: Interval(-x.hi, -x.lo),
    "sub": _sub,
    "mul": lambda eqn, x, y: _times(x, y),
    "div": _div,
    "integer_pow": _integer_pow,
    "square": lambda eqn, x: _power(x, 2),
    "pow": _pow,
    "dot_general": _dot,
    "reduce_sum": _reduce_sum,
    "abs": _abs,
    "sin": _wave(jnp.sin, np.pi / 2),
    "cos": _wave(jnp.cos, 0.0),
    "tan": _tan,
    "acos": _decreasing,
    "rsqrt": _decreasing,
    "atan2": _atan2,
    "lt": _less(True, False),
    "gt": _less(True, True),
    "le": _less(False, False),
    "ge": _less(False, True),
    "eq": _equal,
    "ne": _unequal,
    "not": _not,
    "select_n": _select,
}
"""The rule of each operation."""
