"""Event functions, whose zeros end a step: stop conditions and conditions of switches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.compile.compatibility import depends_on
from zwang.inputs.arrays import without_derivative
from zwang.thresholds import AGREEMENT, LAST_DIGIT, MARGIN, SHORT_WAY, SMALL_PART

LOOKS, GOLDEN = 24, (math.sqrt(5) - 1) / 2
"""Maximum number of evaluations within a step, and the fraction of the interval that each leaves:
1e-5 of the step.
"""


class EventFunctions(Protocol):
    """Functions whose zeros end the loop. A `rising` function ends it where it becomes positive,
    any other function where it reaches or crosses zero.

    `peaks` are rising functions that are also searched for a zero within a step, such as the gap
    between a fast body and a small one: (t, y) → their values, and −inf for all others, and whether
    positions alone determine them; None if there are none. `forces` are rising functions of the
    forces of active rows, and whether any row is active: the error estimate of a step does not see
    a load that these rows carry.
    """

    @property
    def rising(self) -> np.ndarray:
        raise NotImplementedError

    def __call__(self, flow, controller_state, t, y) -> Float[Array, " e"]:
        raise NotImplementedError

    def peaks(self, flow, controller_state) -> tuple[Callable[[Array, Array], Array], bool] | None:
        raise NotImplementedError

    def forces(
        self, flow, controller_state
    ) -> tuple[Callable[[Array, Array], Array], Array] | None:
        raise NotImplementedError


class Crossed(NamedTuple):
    """Zero crossings of the event functions along a step.

    Attributes:
        values, largest: as in `Progress`, at the end of the step.
        crossed: mask of the functions that crossed zero, shape (e,).
        secant: estimate of the first crossing, as a fraction of the step, used for the next
            attempt.
        located: whether all functions that crossed are zero up to round-off at both ends.
    """

    values: Float[Array, " e"]
    largest: Float[Array, " e"]
    crossed: Bool[Array, " e"]
    secant: Float[Array, ""]
    located: Bool[Array, ""]


def crossed_events(
    events: EventFunctions, flow, controller_state, start, end, before, largest_before
) -> Crossed:
    """Evaluate the event functions at the end (t, y) of a step, and those that are not rising also
    within the step; `before` and `largest_before` are the values of `Progress` at its `start`.
    """
    if not len(events.rising):
        nothing = jnp.zeros(0)
        return Crossed(nothing, nothing, nothing > 0, jnp.asarray(1.0), jnp.asarray(False))
    at = lambda t, y: without_derivative(events(flow, controller_state, t, y))
    values = at(*end)
    largest = jnp.maximum(largest_before, jnp.abs(values))
    # a step may end exactly on zero, and the next step would then not cross it
    met = (before != 0) & (jnp.sign(values) * jnp.sign(before) <= 0)
    crossed = jnp.where(events.rising, (before <= 0) & (values > 0), met)
    inside, path = jnp.asarray(1.0), _path(flow, start, end)
    if not np.all(events.rising):
        within, inside = _between(events.rising, lambda s: at(*path(s)), before, values)
        crossed = crossed | within
    if (peaks := events.peaks(flow, controller_state)) is not None:
        inner = lambda s: without_derivative(peaks[0](*path(s)))
        slopes = _slopes(inner, before, values)
        order = 2 if flow.moves_by_velocity and peaks[1] else 1
        within, where = _peaks(inner, before, values, slopes, order)
        crossed, inside = crossed | within, jnp.minimum(inside, where)
    if (forces := events.forces(flow, controller_state)) is not None:
        t, y = path(0.5)
        if depends_on(lambda t: forces[0](t, y), t):
            load = lambda s: without_derivative(forces[0](path(s)[0], y))
            missed = lambda: _missed(load, before, values, largest)
            none = lambda: (jnp.zeros_like(crossed), jnp.asarray(1.0))
            within, where = jax.lax.cond(forces[1] & ~jnp.any(crossed), missed, none)
            crossed, inside = crossed | within, jnp.minimum(inside, where)
    # a rising event that has taken effect must fall below this fraction of its largest value so far
    # before it can take effect again: on its own constraint it is zero up to round-off
    values = jnp.where(jnp.isinf(before) & (values > -AGREEMENT * largest), jnp.inf, values)
    # the zero of the line through both ends, and a little before it, so that the approach stays on
    # this side
    beyond = crossed & (jnp.sign(values) * jnp.sign(before) <= 0)
    change = jnp.where(beyond, before - values, 1.0)
    secant = jnp.min(jnp.where(beyond, before / change, 1.0), initial=1.0)
    secant = jnp.minimum(secant, inside)
    size = jnp.maximum(jnp.abs(before), jnp.abs(values))
    # an event whose function is within this fraction of its largest value on both sides of zero is
    # located as accurately as possible, however long the step is: a gap that closes slowly
    located = jnp.all(~crossed | (size <= LAST_DIGIT * largest))
    return Crossed(values, largest, crossed, jnp.clip(secant * (1 - 1e-3), 1e-3, 0.8), located)


def _path(flow, start, end):
    """Return the function s ↦ (t, y) from 0 to 1 within a step: a cubic with the velocities at both
    ends if these are the rates of the coordinates, otherwise a straight line.
    """
    (t0, y0), (t1, y1) = start, end
    (q0, v0), (q1, v1), h = flow.split(y0), flow.split(y1), t1 - t0

    def between(s):
        if not flow.moves_by_velocity:
            return t0 + s * h, y0 + s * (y1 - y0)
        q = _cubic(s, q0, q1, h * v0, h * v1)
        return t0 + s * h, jnp.concatenate([q, (1 - s) * v0 + s * v1])

    return between


def _cubic(s, begin, end, rise, rise_at_end):
    """Return the cubic on [0, 1] with given values and slopes at both ends."""
    r = 1 - s
    return r * r * ((1 + 2 * s) * begin + s * rise) + s * s * ((1 + 2 * r) * end - r * rise_at_end)


def _peaks(values, before, after, slopes, order: float):
    """Find the functions that rise above zero and fall below it again within a step, and the first
    instant of such a rise. If the slopes at both ends permit this, the maximum is found by
    golden-section search.

    The interpolated path differs from the motion by less than the slopes times (s (1 − s))ᵏ, where
    k is the `order` to which both agree at the ends. A maximum that is nearer to zero than this is
    not known yet, such as that of a stop just before a dead point: the step is to end there.
    """
    rises, falls = slopes
    # excluded if it is farther from zero than it would move with these slopes in the whole step
    far = jnp.maximum(before, after) + jnp.maximum(rises, falls) <= 0
    may = (before < 0) & (after <= 0) & (rises > 0) & (falls > 0) & ~far
    size = lambda s: jnp.max(jnp.where(may, values(s), -jnp.inf))
    most, place = _largest(size, -jnp.inf, jnp.any(may), lambda most: most > 0)
    known = -jnp.maximum(rises, falls) * (place * (1 - place)) ** order
    found = jnp.where(jnp.any(may), values(place), -1.0)
    within = may & (found > known)
    share = before / jnp.where(within, before - jnp.maximum(found, 0.0), 1.0)
    return within, jnp.min(jnp.where(within, place * share, 1.0), initial=1.0)


def _missed(load, before, after, largest):
    """Find the functions that rise above zero and fall below it again within a step because of a
    load that depends on time, or vary too much to decide, and the fraction of the step to take
    instead.

    `load` gives the functions for s from 0 to 1 at one state in the middle of the step. What they
    change with the state is resolved by the error of the step, and is taken to be linear: the path
    within the step is not known as exactly as its ends.

    The functions are evaluated at two instants within the step and compared with the cubic that has
    their values and slopes at both ends. A function is resolved if it differs from the cubic by
    less than 1e-2 of its range, as an oscillation is within a quarter of its period; it then has at
    most one maximum, which `_peaks` finds.
    """
    ends = before - load(0.0), after - load(1.0)
    begin, end = (jnp.where(jnp.isfinite(x), x, 0.0) for x in ends)
    values = lambda s: load(s) + (1 - s) * begin + s * end
    slopes = _slopes(values, before, after)
    inside = np.array([[1 / 3], [2 / 3]])
    looks = jnp.stack([values(s) for s in inside[:, 0]])
    cubic = _cubic(inside, before, after, slopes[0], -slopes[1])
    off = jnp.max(jnp.abs(looks - cubic), axis=0)
    seen = jnp.stack([before, *looks, after])
    high, low = jnp.max(seen, axis=0), jnp.min(seen, axis=0)
    below = (before <= 0) & (after <= 0) & jnp.all(jnp.isfinite(looks), axis=0)
    noise = AGREEMENT * largest
    rough = below & (off > MARGIN * SMALL_PART * (high - low)) & (off > noise)
    rough = rough & (high + MARGIN * off > 0)  # or it cannot reach zero
    above = below & (jnp.max(looks, axis=0) > noise)
    first = jnp.min(jnp.where(above & (looks > noise), inside, 1.0), initial=1.0)
    # they are known within the step as exactly as at its ends
    peak, where = _peaks(lambda s: values(s) - noise, before - noise, after - noise, slopes, np.inf)
    where = jnp.minimum(where, jnp.where(jnp.any(rough), 0.5, first))
    return rough | above | peak, where


def _slopes(values, before, after):
    """Return the rise of functions at the start of a step and their fall at its end, per step."""
    rises = (values(SHORT_WAY) - before) / SHORT_WAY
    return rises, (values(1 - SHORT_WAY) - after) / SHORT_WAY


def _between(rising: np.ndarray, state, before, after):
    """Find the functions that cross zero and return within a step, and the first such crossing.

    `state` gives the values within the step, for s from 0 to 1. A function is searched if it has
    the same sign at both ends and its absolute value decreases into the step from both; the minimum
    is then found by golden-section search. A function without such slopes (a narrow peak on a
    plain) is missed.
    """
    sign = jnp.sign(before)
    first, last = state(SMALL_PART), state(1 - SMALL_PART)
    into = (sign * first < jnp.abs(before)) & (sign * last < sign * after)
    into = into & (sign * after > 0) & ~rising & jnp.isfinite(before)
    found, where = [], jnp.asarray(1.0)
    for i in range(len(rising)):
        if rising[i]:
            found.append(into[i] & False)
            continue
        size = lambda s, i=i: -sign[i] * state(s)[i]
        most, place = _largest(size, -jnp.abs(before[i]), into[i], lambda most: most >= 0)
        within = into[i] & (most >= 0)
        found.append(within)
        share = jnp.abs(before[i]) / jnp.where(within, jnp.abs(before[i]) + most, 1.0)
        where = jnp.minimum(where, jnp.where(within, place * share, 1.0))
    return jnp.stack(found), where


def _largest(size: Callable, least, asked, enough: Callable) -> tuple:
    """Find the maximum of a function of s from 0 to 1, and its place, by golden-section search. The
    result is at least `least`, the value for s = 1. The search ends when the value is `enough`, and
    does not begin unless `asked`.
    """

    def unfinished(carry):
        _, _, most, _, k = carry
        return ~enough(most) & (k < LOOKS)

    def look(carry):
        low, high, most, place, k = carry
        first, second = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        left, right = size(first), size(second)
        earlier = left > right
        low, high = jnp.where(earlier, low, first), jnp.where(earlier, second, high)
        best, spot = jnp.maximum(left, right), jnp.where(earlier, first, second)
        place = jnp.where(best > most, spot, place)
        return low, high, jnp.maximum(best, most), place, k + 1

    zero, one = jnp.asarray(0.0), jnp.asarray(1.0)
    begun = zero, one, least * one, one, jnp.where(asked, 0, LOOKS)
    _, _, most, place, _ = jax.lax.while_loop(unfinished, look, begun)
    return most, place
