"""Functions whose zeros end a step: stop conditions and conditions of switches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from zwang.inputs.arrays import without_derivative
from zwang.thresholds import AGREEMENT, LAST_DIGIT, MARGIN, SHORT_WAY, SMALL_PART

LOOKS, GOLDEN = 24, (math.sqrt(5) - 1) / 2
"""Most looks between the ends of a step, and what each leaves of the interval: 1e-5 of the step."""
INSIDE, OFF_CUBIC = (1 / 3, 2 / 3), 1e-2
"""Where forces are evaluated within a step, and the part of their range by which they may be off a
cubic: an oscillation is then resolved by steps of a quarter of its period."""


class EventFunctions(Protocol):
    """Functions whose zeros end the loop: those that are `rising` where they leave zero or what is
    below it upward, the others wherever they reach or cross it.

    `peaks` are rising ones that are also looked for where they come and go within one step, as a
    gap between a fast body and a small one does: (t, y) → their values, and −inf of all others;
    None if there are none. `forces` are those that depend on the forces of rows that hold, and
    whether any row holds: the error of a step does not see a load that changes while nothing moves.
    """

    @property
    def rising(self) -> np.ndarray:
        raise NotImplementedError

    def __call__(self, flow, controller_state, t, y) -> Float[Array, " e"]:
        raise NotImplementedError

    def peaks(self, flow, controller_state) -> Callable[[Array, Array], Array] | None:
        raise NotImplementedError

    def forces(
        self, flow, controller_state
    ) -> tuple[Callable[[Array, Array], Array], Array] | None:
        raise NotImplementedError


class Crossed(NamedTuple):
    """What the event functions did along a step.

    Attributes:
        values, largest: as in `Progress`, at the end of the step.
        crossed: which of them crossed zero, shape (e,).
        secant: where the first of them did, as a part of the step that is tried next.
        located: whether all that crossed are zero by round-off at both ends.
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
    between its `start` and there; `before` and `largest_before` are those of `Progress` at its
    beginning.
    """
    if not len(events.rising):
        nothing = jnp.zeros(0)
        return Crossed(nothing, nothing, nothing > 0, jnp.asarray(1.0), jnp.asarray(False))
    at = lambda t, y: without_derivative(events(flow, controller_state, t, y))
    values = at(*end)
    largest = jnp.maximum(largest_before, jnp.abs(values))
    # a step may end on zero itself, from which no later one would cross it
    met = (before != 0) & (jnp.sign(values) * jnp.sign(before) <= 0)
    crossed = jnp.where(events.rising, (before <= 0) & (values > 0), met)
    inside, path = jnp.asarray(1.0), _path(flow, start, end)
    if not np.all(events.rising):
        within, inside = _between(events.rising, lambda s: at(*path(s)), before, values)
        crossed = crossed | within
    if (peaks := events.peaks(flow, controller_state)) is not None:
        inner = lambda s: without_derivative(peaks(*path(s)))
        slopes, order = _slopes(inner, before, values), 2 if flow.moves_by_velocity else 1
        within, where = _peaks(inner, before, values, slopes, order)
        crossed, inside = crossed | within, jnp.minimum(inside, where)
    if (forces := events.forces(flow, controller_state)) is not None:
        inner, holds = lambda s: without_derivative(forces[0](*path(s))), forces[1]
        missed = lambda: _missed(inner, before, values, largest)
        none = lambda: (jnp.zeros_like(crossed), jnp.asarray(1.0))
        within, where = jax.lax.cond(holds, missed, none)
        crossed, inside = crossed | within, jnp.minimum(inside, where)
    # A rising event that has taken effect must fall below this before it can take effect again,
    # relative to the largest value of its function so far: on its own constraint it is zero up to
    # round-off
    values = jnp.where(jnp.isinf(before) & (values > -AGREEMENT * largest), jnp.inf, values)
    # where the line through both ends is zero, and a little before it, so that the approach stays
    # on this side
    beyond = crossed & (jnp.sign(values) * jnp.sign(before) <= 0)
    change = jnp.where(beyond, before - values, 1.0)
    secant = jnp.min(jnp.where(beyond, before / change, 1.0), initial=1.0)
    secant = jnp.minimum(secant, inside)
    size = jnp.maximum(jnp.abs(before), jnp.abs(values))
    # an event whose function is within this part of its largest value on both sides of zero is
    # located as well as the function can tell, however long the step is: a gap that closes slowly
    located = jnp.all(~crossed | (size <= LAST_DIGIT * largest))
    return Crossed(values, largest, crossed, jnp.clip(secant * (1 - 1e-3), 1e-3, 0.8), located)


def _path(flow, start, end):
    """s from 0 to 1 ↦ (t, y) between the ends of a step: by the cubic with the velocities at both
    ends where these are the rates of the coordinates, else on the line.
    """
    (t0, y0), (t1, y1) = start, end
    (q0, v0), (q1, v1), h = flow.split(y0), flow.split(y1), t1 - t0

    def between(s):
        if not flow.moves_by_velocity:
            return t0 + s * h, y0 + s * (y1 - y0)
        r = 1 - s
        q = r * r * ((1 + 2 * s) * q0 + s * h * v0) + s * s * ((1 + 2 * r) * q1 - r * h * v1)
        return t0 + s * h, jnp.concatenate([q, r * v0 + s * v1])

    return between


def _peaks(values, before, after, slopes, order: float):
    """Which functions rise above zero and fall below it again within a step, and where the first of
    them does: of those that may, by their slopes at both ends, the largest value is looked for by
    golden sections.

    The path between the ends is off the motion by less than the slopes times (s (1 − s))ᵏ, k the
    `order` to which both agree at the ends. A largest value that is nearer to zero than this is not
    known yet, as that of a stop just before a dead point: the step is to end at its place.
    """
    rises, falls = slopes
    # one that is farther from zero than it would move by these slopes in the whole step is not
    far = jnp.maximum(before, after) + jnp.maximum(rises, falls) <= 0
    may = (before < 0) & (after <= 0) & (rises > 0) & (falls > 0) & ~far
    size = lambda s: jnp.max(jnp.where(may, values(s), -jnp.inf))
    most, place = _largest(size, -jnp.inf, jnp.any(may), lambda most: most > 0)
    known = -jnp.maximum(rises, falls) * (place * (1 - place)) ** order
    found = jnp.where(jnp.any(may), values(place), -1.0)
    within = may & (found > known)
    share = before / jnp.where(within, before - jnp.maximum(found, 0.0), 1.0)
    return within, jnp.min(jnp.where(within, place * share, 1.0), initial=1.0)


def _missed(values, before, after, largest):
    """Which functions rise above zero and fall below it again within a step, or vary too much to
    tell, and where the step is to end instead.

    They are evaluated at two places inside the step and compared with the cubic that has their
    values and slopes at both ends. A function is resolved where it is off the cubic by less than
    `OFF_CUBIC` of its range; it then has one peak at most, which `_peaks` finds.
    """
    slopes = _slopes(values, before, after)
    looks = jnp.stack([values(s) for s in INSIDE])
    s, r = np.array(INSIDE)[:, None], 1 - np.array(INSIDE)[:, None]
    ends = (1 + 2 * s) * before + s * slopes[0], (1 + 2 * r) * after + r * slopes[1]
    cubic = r * r * ends[0] + s * s * ends[1]
    off = jnp.max(jnp.abs(looks - cubic), axis=0)
    seen = jnp.stack([before, *looks, after])
    high, low = jnp.max(seen, axis=0), jnp.min(seen, axis=0)
    below = (before <= 0) & (after <= 0) & jnp.all(jnp.isfinite(looks), axis=0)
    rough = below & (off > OFF_CUBIC * (high - low)) & (off > AGREEMENT * largest)
    rough = rough & (high + MARGIN * off > 0)  # or it cannot reach zero
    above = below & (jnp.max(looks, axis=0) > 0)
    first = jnp.min(jnp.where(above & (looks > 0), s, 1.0), initial=1.0)
    # where nothing moves, the path between the ends of the step is exact
    peak, where = _peaks(values, before, after, slopes, np.inf)
    where = jnp.minimum(where, jnp.where(jnp.any(rough), 0.5, first))
    return rough | above | peak, where


def _slopes(values, before, after):
    """How functions rise at the beginning of a step and fall at its end, per length of the step."""
    rises = (values(SHORT_WAY) - before) / SHORT_WAY
    return rises, (values(1 - SHORT_WAY) - after) / SHORT_WAY


def _between(rising: np.ndarray, state, before, after):
    """Which functions cross zero and come back within a step, and where the first of them does.

    `state` gives the values between, for s from 0 to 1. A function has a crossing to be looked
    for if at both ends it has one sign and its size falls into the step; the least size is then
    found by golden sections. What has no such slopes (a narrow peak on a plain) is missed.
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
    """The largest value of a function of s from 0 to 1 that golden sections find, and where: more
    than `least`, which stands for s = 1; no longer than until it is `enough`, nor unless `asked`.
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
