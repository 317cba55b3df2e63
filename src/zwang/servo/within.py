"""A servo constraint that keeps a quantity strictly between limits."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from zwang.equations.constraint import Holonomic
from zwang.inputs.arguments import function, real_array
from zwang.inputs.call import misfits_named
from zwang.objects.record import Record


@misfits_named
def within(
    y: Callable,
    low: ArrayLike | Callable,
    high: ArrayLike | Callable,
    target: ArrayLike | Callable,
    *,
    name: str = "within",
) -> Holonomic:
    """A servo constraint that brings y to a target and keeps it between two limits at all times.

        φ = T(y) − T(target),    T(y) = log((y − low)/(high − y))

    T maps the interval between the limits onto all real numbers, so that y is within the limits as
    long as φ is bounded: from `|φ| ≤ c` it follows that y is within `T⁻¹(T(target) ± c)`
    (`WithinLimits.reached`), however large c is. A gain with a stated error bound therefore gives a
    bound of y; a disturbance of ÿ disturbs φ̈ by T′(y) times its size. Outside the limits φ is NaN,
    which ends a run.

    Args:
        y: `(q, t, p)` → a number, or several rows.
        low, high, target: numbers, one for all rows or one each, or functions of time.
        name: name in results.

    Returns:
        A `zw.Holonomic` whose `phi` is a `WithinLimits`, dimensionless.

    Applied to the distances of agents along the edges of a graph, it keeps the agents connected and
    apart. Edges that close a cycle are redundant rows, which are met like the others.

    Example:
        >>> gap = zw.servo.within(lambda q, t, p: q[1] - q[0], 0.2, 2.0, 1.0, name="gap")
        >>> servo = zw.Servo([gap], B, gains=3.0)
    """
    function(y, "within: y", "(q, t, p) → a number or rows")
    given = [
        x if callable(x) else jnp.asarray(real_array(x, f"within: {n}"), float)
        for n, x in (("low", low), ("high", high), ("target", target))
    ]
    return Holonomic(WithinLimits(y, *given), name=name)


class WithinLimits(Record):
    """φ of `within`, and the bounds of y that follow from a bound of φ."""

    y: Callable
    low: ArrayLike | Callable
    high: ArrayLike | Callable
    target: ArrayLike | Callable

    def __call__(self, q, t, p):
        low, high, target = self._at(t)
        y = jnp.atleast_1d(jnp.asarray(self.y(q, t, p)))
        return jnp.log((y - low) / (high - y)) - jnp.log((target - low) / (high - target))

    def reached(self, c, t=0.0):
        """The least and the largest y with `|φ| ≤ c`."""
        low, high, target = self._at(t)
        ratio = (target - low) / (high - target)
        ends = (ratio * jnp.exp(x * c) for x in (-1.0, 1.0))
        return tuple((low + r * high) / (1 + r) for r in ends)

    def _at(self, t) -> list[Array]:
        given = self.low, self.high, self.target
        return [jnp.asarray(x(t) if callable(x) else x) for x in given]
