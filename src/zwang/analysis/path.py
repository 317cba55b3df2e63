"""Path following along a branch of configurations by certified steps: limit positions, where the
parameter turns back, singular configurations, where branches meet, and the configurations at given
values of the parameter.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.optimize import fminbound, root_scalar

from zwang.algebra.decomposition import Decomposition
from zwang.analysis.curve import Curve, Frame, FreedomError, LostError, Segment, growth
from zwang.thresholds import (
    AGREEMENT,
    ALIKE,
    DERIVED,
    FACTOR_ROUND_OFF,
    RESOLVED,
    ROOT_OF_ROUND_OFF,
    ROUND_OFF,
    SMALL_PART,
)

FIRST = 0.2
"""Length of the first attempted step [1, in scaled directions]."""
STRIDES = (0.01, 0.02, 0.05, 0.1)
"""Distances behind a singular configuration at which a path is continued."""


@dataclasses.dataclass(frozen=True)
class Limit:
    """A limit position: the parameter turns back here; the input cannot go further.

    Attributes:
        q, t: configuration and parameter.
        maximum: True if t has a maximum here, False for a minimum.
    """

    q: np.ndarray
    t: float
    maximum: bool


@dataclasses.dataclass(frozen=True)
class Meeting:
    """A singular configuration on the path, where branches may meet.

    Attributes:
        q, t: configuration and parameter.
        before, after: unit tangents in scaled directions on both sides.
        smallest: smallest singular value of the rows there.
    """

    q: np.ndarray
    t: float
    before: np.ndarray
    after: np.ndarray
    smallest: float


@dataclasses.dataclass
class Path:
    """Result of `follow_branch`.

    Attributes:
        q, t: configurations at the requested values, in the order of the path, shapes (n, nq),
            (n,).
        limits, meetings: limit positions and singular configurations, in order.
        zeros: for each watched function, the points where it changes sign.
        steps: number of steps.
        certified: True if every step between singular configurations was certified.
        ended: reason why it ended: "range", "limit", "singular", "closed", or "lost".
    """

    q: list[np.ndarray]
    t: list[float]
    limits: list[Limit]
    meetings: list[Meeting]
    zeros: list[list[Frame]]
    steps: int = 0
    certified: bool = True
    ended: str = "range"


def follow_branch(
    curve: Curve,
    q: np.ndarray,
    t: float,
    wanted: np.ndarray,
    *,
    watch: tuple[Callable[[Frame], float], ...] = (),
    at_limit: str = "stop",
    at_singular: str = "straight",
) -> Path:
    """Follow the branch through a configuration until t has reached the last requested value.

    Args:
        curve: the configurations.
        q, t: a point of it.
        wanted: values of t at which the configuration is requested, monotone.
        watch: functions of a point whose changes of sign are located.
        at_limit: "stop", or "follow" the curve through all limits until the range ends or the curve
            closes.
        at_singular: "stop", or continue "straight" along the smooth branch.

    Raises:
        FreedomError: if the configurations do not form a curve.
    """
    wanted = np.asarray(wanted, float)
    # a path to a single value may run in either direction; increasing t is chosen
    ahead = np.sign(wanted[-1] - t) or 1.0
    along = np.append(np.zeros(curve.dynamics.system.nv), ahead)
    frame = curve.frame(q, t, along)
    path = Path([], [], [], [], [[] for _ in watch])
    if t == wanted[0]:
        path.q.append(frame.q)
        path.t.append(t)
    first, widest, tried, h = frame, frame.smallest, np.inf, FIRST
    # largest number of steps of a path
    for _ in range(20_000):
        segment, end, h = _next(path, frame, h)
        # the search for a singular configuration ahead is expensive, so it is made only where rank
        # is being lost: if the smallest singular value is far below its maximum so far, or if steps
        # are short
        near = frame.smallest < 0.02 * widest or h < SMALL_PART
        if segment is None or (near and frame.smallest < 0.5 * tried):
            tried = frame.smallest
            # at a singular configuration no step can be certified; the path jumps over it along the
            # tangent
            landed = _beyond(curve, path, frame, at_singular)
            if landed is not None:
                if path.ended != "singular" and _sampled(path, frame, landed, wanted):
                    frame = landed
                    break
                frame, h, tried = landed, FIRST, np.inf
                if path.ended == "singular":
                    break
                continue
            if segment is None:
                path.ended = "lost"
                break
        if _finished(path, segment, end, wanted, watch, at_limit, first, ahead):
            break
        frame = end
        widest = max(widest, frame.smallest)
    path.certified = curve.bounded
    return path


def _next(path: Path, frame: Frame, h: float) -> tuple[Segment | None, Frame, float]:
    """The longest certified step near h, its end, and the length to try after it."""
    # the curve is lost if no step longer than this can be certified
    while h > RESOLVED:
        segment, ratio = frame.attempt(h)
        if segment is not None:
            # near a singular configuration a box may be narrower than round-off, which makes its
            # certificate useless
            with contextlib.suppress(LostError, FreedomError, np.linalg.LinAlgError):
                end = segment.at(h)
                path.steps += 1
                return segment, end, h * float(growth(True, ratio))
        h *= float(growth(False, ratio))
    return None, frame, h


def _finished(path, segment, end, wanted, watch, at_limit, first, ahead) -> bool:
    """Record the events and values on a segment; True if the path ends on it."""
    start, stop = segment.frame, segment.length
    turn = None
    # the parameter turns back inside the segment
    if start.tangent[-1] * end.tangent[-1] < 0:
        place = zero_between(lambda s: segment.at(s).tangent[-1], 0.0, stop)
        turn = place, segment.at(place)
        if at_limit == "stop":
            stop, end = turn
    pieces = (
        [(0.0, start, stop, end)]
        if turn is None or at_limit == "stop"
        else [
            (0.0, start, *turn),
            (*turn, stop, end),
        ]
    )
    last, done = wanted[-1], False
    for a, before, b, after in pieces:
        grid = np.unique(wanted)
        # values at the start of a segment were recorded with the previous segment
        low, high = min(before.t, after.t), max(before.t, after.t)
        inside = (
            grid[(grid > low) & (grid <= high)]
            if after.t > before.t
            else grid[(grid >= low) & (grid < high)][::-1]
        )
        for t in inside:
            point = segment.at_parameter(t, a + (b - a) * (t - before.t) / (after.t - before.t))
            path.q.append(point.q)
            path.t.append(float(t))
            if t == last and (t - wanted[0]) * ahead >= 0:
                end, stop, done = point, b, True
                break
        if done:
            break
    for function, found in zip(watch, path.zeros, strict=True):
        # a zero of a watched function, such as a dead point of the output
        if function(start) * function(end) < 0 and stop > 0:
            most = stop if not done else _place(segment, end)
            place = zero_between(lambda s, f=function: f(segment.at(s)), 0.0, most)
            found.append(segment.at(place))
    if done:
        return True
    if turn is not None:
        path.limits.append(Limit(turn[1].q, turn[1].t, start.tangent[-1] > 0))
        if at_limit == "stop":
            path.ended = "limit"
            return True
    # the path can return to its start only after a limit
    if path.limits and _passes(segment, first, end):
        path.ended = "closed"
        return True
    return False


def _place(segment: Segment, point: Frame) -> float:
    """σ of a point of a segment, from its parameter t."""
    if point.t == segment.frame.t:
        return 0.0
    return zero_between(lambda s: segment.at(s).t - point.t, 0.0, segment.length)


def _passes(segment: Segment, first: Frame, end: Frame) -> bool:
    """True if a segment contains the first point of the path and has the same orientation there."""
    start = segment.frame
    if not min(start.t, end.t) <= first.t <= max(start.t, end.t) or start.t == end.t:
        return False
    if start.tangent[-1] * first.tangent[-1] < 0:
        return False
    there = segment.at_parameter(first.t, 0.5 * segment.length)
    apart = there.q - first.q
    apart -= 2 * np.pi * np.round(apart / (2 * np.pi))  # angles are equal modulo whole turns
    return bool(np.max(np.abs(apart)) < ROOT_OF_ROUND_OFF * (1 + np.max(np.abs(first.q))))


def zero_between(function: Callable, low: float, high: float) -> float:
    """A zero between two points of opposite sign."""
    fine = {"xtol": ROUND_OFF, "rtol": ROUND_OFF}
    return float(root_scalar(function, bracket=(low, high), method="brentq", **fine).root)


# --- singular configurations


def _beyond(curve: Curve, path: Path, frame: Frame, at_singular: str) -> Frame | None:
    """The frame behind a singular configuration straight ahead, or None if there is none."""
    for distance in STRIDES:
        try:
            q, t, _ = _corrected(frame, distance)
            landed = curve.frame(q, t, frame.tangent)
        except (FreedomError, LostError, np.linalg.LinAlgError):
            continue
        # far enough behind the singular configuration for certified steps, on a branch in the same
        # direction
        if landed.smallest > 2 * frame.smallest and landed.tangent @ frame.tangent >= 0.9:
            break
    else:
        return None
    try:
        place = _least(frame, distance)
    except LostError:  # a path that starts near a singular configuration does not reach it
        return None
    if place is None:
        return None
    q, t, J = _corrected(frame, place)
    path.meetings.append(Meeting(q, t, frame.tangent, landed.tangent, curve.smallest(J)))
    if at_singular == "stop":
        path.ended = "singular"
    return landed


def _least(frame: Frame, distance: float) -> float | None:
    """The distance along the tangent, up to a limit, at which the smallest singular value is least;
    None if rank is not lost there.
    """
    away = lambda s: frame.curve.smallest(_corrected(frame, s)[2])
    place = float(np.asarray(fminbound(away, 0.0, distance, xtol=RESOLVED)))
    if away(place) > 0.5 * frame.smallest and away(place) > ALIKE:
        return None
    for near in (1e-2 * distance, 1e-4 * distance):  # it varies like |σ − place|
        low, high = away(place - near), away(place + near)
        place += near * (low - high) / (low + high)
    return place


def _sampled(path: Path, frame: Frame, landed: Frame, wanted: np.ndarray) -> bool:
    """Record the requested values between the two sides of a singular configuration; True if the
    last one was among them.
    """
    a, b = frame.t, landed.t
    inside = [t for t in np.unique(wanted) if min(a, b) < t <= max(a, b)]
    for t in inside if b > a else inside[::-1]:
        off = lambda s, t=t: _corrected(frame, s)[1] - t
        place = zero_between(off, 0.0, STRIDES[-1])
        path.q.append(_corrected(frame, place)[0])
        path.t.append(float(t))
        if t == wanted[-1]:
            return True
    return False


def _corrected(frame: Frame, distance: float) -> tuple[np.ndarray, float, np.ndarray]:
    """q, t and J of the point nearest to the tangent line at a given distance, at which rows may
    lose rank.
    """
    curve, tangent = frame.curve, frame.tangent
    n = np.zeros(frame.split.normal.shape[1])
    for _ in range(50):
        q, phi, J = curve.at(frame.q, frame.y(distance, n))
        unit = curve.unit_rows(J) @ frame.split.normal
        residual = phi / np.where(curve.length > 0, curve.length, 1.0)
        step = Decomposition(unit, DERIVED).solve(residual)
        n = n - step
        if np.max(np.abs(step)) < FACTOR_ROUND_OFF:
            break
    # a correction that is not small compared with the distance means that the curve bends or ends
    if not np.max(np.abs(n)) <= 0.2 * distance + AGREEMENT or not np.all(np.isfinite(tangent)):
        raise LostError("no branch goes straight on")
    y = frame.y(distance, n)
    q, _, J = curve.at(frame.q, y)
    return q, float(y[-1]), J
