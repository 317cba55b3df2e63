"""Functions whose zeros end a step: stop conditions and conditions of switches."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.arithmetic import without_derivative, xp

EVENT_BAND = 1e-9
"""A rising event that has taken effect must fall below this before it can take effect again,
relative to the largest value of its function so far: on its own constraint it is zero up to
round-off.
"""


class EventFunctions(Protocol):
    """Functions whose zeros end the loop: those that are `rising` where they leave zero or what is
    below it upward, the others wherever they reach or cross it.
    """

    @property
    def rising(self) -> np.ndarray:
        raise NotImplementedError

    def __call__(self, flow, controller_state, t, y) -> Float[Array, " e"]:
        raise NotImplementedError


class Crossed(NamedTuple):
    """What the event functions did along a step.

    Attributes:
        values, largest: as in `Progress`, at the end of the step.
        crossed: which of them crossed zero, shape (e,).
        secant: where the first of them did, as a part of the step that is tried next.
    """

    values: Float[Array, " e"]
    largest: Float[Array, " e"]
    crossed: Bool[Array, " e"]
    secant: Float[Array, ""]


def crossed_events(
    events: EventFunctions, flow, controller_state, t, y, before, largest_before
) -> Crossed:
    """Evaluate the event functions at the end (t, y) of a step; `before` and `largest_before` are
    those of `Progress` at its beginning.
    """
    if not len(events.rising):
        nothing = xp.zeros(0)
        return Crossed(nothing, nothing, nothing > 0, xp.asarray(1.0))
    values = without_derivative(events(flow, controller_state, t, y))
    largest = xp.maximum(largest_before, xp.abs(values))
    # a step may end on zero itself, from which no later one would cross it
    met = (before != 0) & (xp.sign(values) * xp.sign(before) <= 0)
    crossed = xp.where(events.rising, (before <= 0) & (values > 0), met)
    values = xp.where(xp.isinf(before) & (values > -EVENT_BAND * largest), xp.inf, values)
    # where the line through both ends is zero, and a little before it, so that the approach stays
    # on this side
    change = xp.where(crossed, before - values, 1.0)
    secant = xp.min(xp.where(crossed, before / change, 1.0), initial=1.0)
    return Crossed(values, largest, crossed, xp.clip(secant * (1 - 1e-3), 1e-3, 0.8))
