"""Crossings of singular configurations by a run: instants, numbers of lost ranks, and dependent
rows.

The loop records the log-determinant of the rows at unit length after every step; it has a dip
wherever the rank drops. Each dip is then refined: the smallest relevant singular value is minimized
over time, with states that are interpolated between the steps and projected onto the constraints.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator

import numpy as np

from zwang.algebra.singular import AbstractRows
from zwang.thresholds import AGREEMENT, SINGULAR_ROWS

PROMINENCE = 1.0
"""Smallest depth of a dip of the log-determinant that is refined; a loss of one rank causes a dip
by 2 log(distance), e.g. 5 at a distance of 0.1 from the step."""
FIRST = np.linspace(0.0, 1.0, 9)
"""First places within a dip at which it is evaluated, relative to its width."""
NEAR = np.array([-1.0, 0.0, 1.0])
"""Next places, around the expected bottom, in units of `CLOSE` of the width. After each correct
prediction the next places are closer, because the error of a parabola decreases with its width."""
CLOSE = 1 / 32
"""Distance of these places at first; its square at last."""
FAR = np.concatenate([-(16.0 ** -np.arange(1, 4)), [0.0], 16.0 ** -np.arange(3, 0, -1)])
"""Places after a wrong prediction: they narrow the dip by a factor of at least eight."""


@dataclasses.dataclass(frozen=True)
class Crossing:
    """A passage through a singular configuration.

    Attributes:
        time: instant [s].
        rank_before, rank, rank_after: rank of the constraint matrix before, at and after it.
        rows: labels of the constraint rows that are dependent there and not before.
        constraints: the names of their constraints.
        smallest: the smallest singular value [1], rows at unit length.
        branches: number of branches of motion that meet there, 0 if unknown.
        before, after: indices of the branches on which the run arrived and left, in the order of
            `zw.analysis.branches`; None if unknown.
    """

    time: float
    rank_before: int
    rank: int
    rank_after: int
    rows: tuple[str, ...]
    constraints: tuple[str, ...]
    smallest: float
    branches: int = 0
    before: int | None = None
    after: int | None = None

    @property
    def lost(self) -> bool:
        """Whether a rank is lost there; otherwise the motion stepped across a gap."""
        return self.rank < max(self.rank_before, self.rank_after)

    @property
    def changed(self) -> bool:
        """Whether the run left on another branch than that on which it arrived."""
        return self.before != self.after

    def __str__(self) -> str:
        kept = f"on branch {self.before}" if not self.changed else f"{self.before} → {self.after}"
        taken = f", {kept} of {self.branches}" if self.branches > 1 else ""
        return (
            f"t = {self.time:.6f} s: rank {self.rank_before} → {self.rank} → {self.rank_after} "
            f"({', '.join(self.constraints) or 'no single constraint'}){taken}"
        )

    __repr__ = __str__


def find_crossings(
    t: np.ndarray,
    log_det: np.ndarray,
    scaled_rows: Callable[..., AbstractRows],
    labels: list[tuple[str, str]],
) -> list[Crossing]:
    """Return the crossings along a run, and the instants at which it stepped across the gap between
    two branches that almost meet, where no rank is lost (`Crossing.lost`).

    Args:
        t, log_det: accepted steps and their log-determinants, shape (steps,).
        scaled_rows: times (k,) → rows at unit length in the metric of M⁻¹, on the constraints, or
            for a first estimate only near them.
        labels: (constraint, row) of every row.
    """
    dips = _dips(log_det) if len(t) >= 2 and len(labels) else np.zeros(0, int)
    if not len(dips):
        return []
    shoulders = np.array([[_shoulder(log_det, i, side) for i in dips] for side in (-1, 1)])
    rows_before, rows_after = scaled_rows(t[shoulders[0]]), scaled_rows(t[shoulders[1]])
    before, after = rows_before.rank(), rows_after.rank()
    # a switch may change the rank permanently; the larger rank is the reference
    generic = np.maximum(before, after)
    beside = np.maximum(rows_before.lowest(generic, 3), rows_after.lowest(generic, 3))
    # Up to three singular values that are below this on both sides of a dip stay small along it:
    # rows that are nearly parallel. They would hide one that vanishes until it is still smaller.
    many = 1 + int(np.max(np.sum(beside < 2e-2, axis=1)))
    height = lambda rows, rank: np.prod(rows.lowest(rank, many), axis=1)
    beside_it = t[np.maximum(dips - 1, 0)], t[np.minimum(dips + 1, len(t) - 1)]
    sides = np.stack([height(scaled_rows(x, True), generic) for x in beside_it], axis=1)

    def heights(dips: np.ndarray, times: np.ndarray, glance: bool) -> np.ndarray:
        return height(scaled_rows(times, glance), generic[dips])

    # accuracy of the time of a crossing, relative to the duration of the run
    precision = AGREEMENT * max(t[-1] - t[0], 1e-3)
    times = _bottoms(*beside_it, sides, heights, precision)
    rows_at = scaled_rows(times)
    rank, smallest = rows_at.rank(), rows_at.lowest(generic, 1)[:, 0]
    found = []
    # a run that begins or ends in a singular configuration does not cross it
    passed = (times > t[0] + precision) & (times < t[-1] - precision)
    gaps, kept = np.zeros(len(dips), bool), np.flatnonzero(~(rank < generic))
    gaps[kept] = _stepped_across(t, dips[kept], scaled_rows)
    for i in map(int, np.flatnonzero(((rank < generic) | gaps) & passed)):
        # rows that were redundant before are in the null space throughout, and are not named
        below = 2 * smallest[i] if gaps[i] else SINGULAR_ROWS
        share = rows_at.null_share(i, below) - rows_before.null_share(i)
        lost = np.flatnonzero(share > 0.05)
        found.append(
            Crossing(
                float(times[i]),
                int(before[i]),
                int(rank[i]),
                int(after[i]),
                tuple(labels[k][1] for k in lost),
                tuple(dict.fromkeys(labels[k][0] for k in lost)),
                float(smallest[i]),
            )
        )
    return found


def _stepped_across(
    t: np.ndarray, dips: np.ndarray, scaled_rows: Callable[..., AbstractRows]
) -> np.ndarray:
    """Return the dips at which the rows reverse their orientation: `det(C₀ C₁ᵀ)` changes its sign
    between two steps. Along one branch it passes through zero at a singular configuration only.

    Reference: Allgower, Georg (1990), Numerical Continuation Methods, ch. 8 (there as the test for
    a bifurcation point).
    """
    found = np.zeros(len(dips), bool)
    if not len(dips):
        return found
    around = [t[max(i - 1, 0) : i + 2] for i in dips]
    rows = scaled_rows(np.concatenate(around), True)
    sign = rows.turned()
    first = np.cumsum([0, *map(len, around)])
    for k, times in enumerate(around):
        if np.prod(sign[first[k] : first[k] + len(times) - 1]) < 0:
            # A fast motion may rotate its rows that far in one step; with more states they rotate
            # little by little. Their number is even, so that none is in the middle.
            between = np.linspace(times[0], times[-1], 16)
            found[k] = np.prod(scaled_rows(between).turned()) < 0
    return found


def _dips(log_det: np.ndarray) -> np.ndarray:
    """Return the steps where the log-determinant has a dip: its minima, without those shallower
    than `PROMINENCE`.

    The depth of a minimum is measured from the lower of the two maxima that separate it from lower
    values. An end of the run is not a maximum, because the motion beyond it is unknown, and a run
    may begin just before a singular configuration.
    """
    high = 1e300  # for an unknown log-determinant, at the ends of a run
    values = np.concatenate([[high], np.where(np.isnan(log_det), high, log_det), [high]])
    last = np.flatnonzero(np.diff(values, append=np.nan) != 0)  # last of equal values
    first, level = np.concatenate([[0], last[:-1] + 1]), values[last]
    slope = np.sign(np.diff(level))
    low = 1 + np.flatnonzero((slope[:-1] < 0) & (slope[1:] > 0))
    # before the first minimum, between two, after the last
    between = np.maximum.reduceat(np.where(level < high, level, -np.inf), np.append(0, low))
    left, at_start = _climbs(level[low], between[:-1])
    right, at_end = (x[::-1] for x in _climbs(level[low][::-1], between[:0:-1]))
    lower = np.minimum(np.where(at_start, np.inf, left), np.where(at_end, np.inf, right))
    climb = np.where(at_start & at_end, np.maximum(left, right), lower)
    deep = low[climb - level[low] >= PROMINENCE]
    return (first[deep] + last[deep]) // 2 - 1


def _shoulder(log_det: np.ndarray, dip: int, side: int) -> int:
    """Return the step before (side −1) or after a dip (1) whose rows represent the motion around
    it: the nearest that is 12 higher, whose singular values are e⁶ = 400 times those of the dip, or
    the highest one before a lower value.
    """
    # many steps, because they may be tiny near a singular configuration
    far = (log_det[dip + 1 :] if side > 0 else log_det[:dip][::-1])[:200]
    climb = np.where(np.isnan(far), -np.inf, far) - log_det[dip]
    lower, higher = np.flatnonzero(climb < 0), np.flatnonzero(climb >= 12)
    way = climb[: max(lower[0], 1)] if len(lower) else climb
    if not len(way):
        return dip
    found = higher[0] if len(higher) and higher[0] < len(way) else np.argmax(way)
    return dip + side * (1 + int(found))


def _climbs(minima: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each minimum the largest value between it and the previous lower minimum, given
    the largest value just before each; and whether there is no lower one, so that the search
    reaches the end of the run.
    """
    climbs, ended, lower = np.zeros(len(minima)), np.zeros(len(minima), bool), []
    for i, (minimum, climb) in enumerate(zip(minima.tolist(), before.tolist(), strict=True)):
        # a stack of ever lower minima: each is visited once, so that the time is linear in the
        # number of dips
        while lower and lower[-1][0] >= minimum:
            climb = max(climb, lower.pop()[1])
        ended[i] = not lower
        lower.append((minimum, climb))
        climbs[i] = climb
    return climbs, ended


def _bottoms(
    low: np.ndarray,
    high: np.ndarray,
    sides: np.ndarray,
    heights: Callable[[np.ndarray, np.ndarray, bool], np.ndarray],
    precision: float,
) -> np.ndarray:
    """Return the minima of a function σ of time between `low` and `high`, for several dips at once,
    because evaluating many states costs little more than evaluating a few.

    Args:
        low, high: ends of the dips [s], shape (k,).
        sides: σ there, shape (k, 2).
        heights: dips (n,), times (n,) and whether they are first estimates → σ, shape (n,).
        precision: [s].
    """
    searches = dict(enumerate(map(_bottom, low, high, sides, [precision] * len(low))))
    asked, found, first = {i: next(search) for i, search in searches.items()}, {}, True
    while asked:
        dips = np.repeat(list(asked), [len(times) for times in asked.values()])
        sigma = heights(dips, np.concatenate(list(asked.values())), first)
        # a copy of the keys, because finished searches are removed
        for i in list(asked):
            try:
                asked[i] = searches[i].send(sigma[dips == i])
            except StopIteration as end:
                found[i] = end.value
                del asked[i]
        first = False
    return np.array([found[i] for i in range(len(low))])


def _bottom(
    low: float, high: float, sides: np.ndarray, precision: float
) -> Generator[np.ndarray, np.ndarray, float]:
    """Minimize σ between `low` and `high`. The generator yields instants, receives σ there, and
    narrows the dip to the neighbors of the smallest σ until its width is `precision`.

    Near its minimum σ² is a parabola over time, whether σ reaches zero or not: the next instants
    are chosen close to the minimum of this parabola.
    """
    width, close, crowd = high - low, CLOSE, FIRST
    times = low + width * FIRST
    while True:
        inner = yield times[1:-1]
        sigma = np.concatenate([sides[:1], inner, sides[1:]])
        best = int(np.argmin(sigma))
        if width <= precision:
            return times[best]
        three = np.clip(best, 1, len(times) - 2) + np.arange(-1, 2)
        bottom = _parabolas(times[None, three], sigma[None, three] ** 2, times[[best]])[0]
        ends = [max(best - 1, 0), min(best + 1, len(times) - 1)]
        (low, high), sides = times[ends], sigma[ends]
        expected = high - low <= 4 * close * width
        # there is no prediction before the first round
        if crowd is not FIRST and expected:
            close = max(close**2, CLOSE**2)
        crowd = FAR if crowd is NEAR and not expected else NEAR
        width = high - low
        near = bottom + width * (close * NEAR if crowd is NEAR else FAR)
        times = np.concatenate([[low], np.clip(near, low, high), [high]])


def _parabolas(t: np.ndarray, y: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Return the minima of parabolas through three points, shapes (k, 3) → (k,); `otherwise` where
    a parabola has none between its points.
    """
    left, right = t[:, 1] - t[:, 0], t[:, 2] - t[:, 1]
    fall, rise = left * (y[:, 2] - y[:, 1]), right * (y[:, 0] - y[:, 1])
    with np.errstate(invalid="ignore", divide="ignore"):
        bottom = t[:, 1] + (right * rise - left * fall) / (2 * (rise + fall))
    return np.where((bottom > t[:, 0]) & (bottom < t[:, 2]), bottom, otherwise)
