"""Scales of a model: typical lengths of its rows, and their curvature.

They are measured once before a run: on the host in NumPy, around one small compiled program that
evaluates the functions of the model, or inside a program (`zwang.simulation.placed_start`).
"""

from __future__ import annotations

import functools

import numpy as np

from zwang.algebra.metric import metric_of, rows_of
from zwang.algebra.rank import PLACED
from zwang.dynamics.equation_of_motion import Dynamics, Scales
from zwang.dynamics.evaluation import evaluate, evaluate_along, moved
from zwang.dynamics.number_range import of_typical_length
from zwang.equations.state import State, host_state
from zwang.objects.record import replace
from zwang.thresholds import ALL_BUT_ZERO, MARGIN

UNTYPICAL = 30.0
"""If the direction of rows changes this many times faster than that of the motion, this state may
not be typical of their lengths, and neighboring states are measured; their lengths are used if they
differ by this factor from those of this state. Along a generic motion of one rigid body the two are
within ten of each other.
"""
NEIGHBOURS = (0, 1, -1)
"""States at which rows are measured, in steps along a tangent direction; 0 is the state itself."""


def measure(dynamics: Dynamics, s: State, span: float = 0.0) -> Scales:
    """Return the scales of a motion that starts at a state (`_measured`), with a length of 0 for
    rows that are round-off and not short because of their units.
    """
    found = _measured(dynamics, s, span)
    here = evaluate(dynamics, s)
    A, length = rows_of(here.A), np.asarray(found.row_length)
    length = np.array(of_typical_length(dynamics, s, A, length))
    if len(gaps := dynamics.constraints.one_sided_rows):
        # a gap that turns far faster than the motion, as that of a pin in its hole, keeps its own
        # length, because the limit below which it counts as closed is relative to that length
        own = metric_of(here.M, here.A, dynamics.singular_mass).lengths(A)[gaps]
        length[gaps] = np.where(own > ALL_BUT_ZERO * length[gaps], own, length[gaps])
    # one length for both tangents of a disk, or the least norm would depend on their axes
    for x in dynamics.constraints.frictions:
        length[x.rows] = np.max(length[x.rows])
    return replace(found, row_length=length)


def _measured(dynamics: Dynamics, s: State, span: float) -> Scales:
    """Measure typical row lengths and curvature near a state, from A and from the quadratic form of
    each row's Hessian.

    For eight fixed random directions w of unit variance in the mass metric, `½ (b(w) + b(−w)) −
    b(0) = −wᵀHᵢ w`, whose root mean square estimates ‖Hᵢ‖. The typical curvature is the median of
    ‖Hᵢ‖/‖Aᵢ‖. A row that is short at this state but curved gets the length that it has nearby.

    Rows may be short at this state only, as the rows of a slender body's hinge along its arm: they
    then seem to turn far faster than the motion itself, and their lengths one radius of the
    motion's curvature away are used (`neighbourhood`).

    Linear constraints have no curvature: their violation is measured relative to the extent of the
    motion within `span` seconds (`extent_of`).
    """
    here = evaluate(dynamics, s)
    metric = metric_of(here.M, here.A, dynamics.singular_mass)
    rows = rows_of(here.A)
    length = metric.lengths(rows)
    directions = (metric.W @ directions_of(dynamics.system.nv).T).T

    # The part that is even in w is quadratic: constant and linear parts of b cancel. If there is no
    # linear part along one random direction, there is none along the others.
    asked = np.vstack([np.zeros_like(directions[:1]), -directions[:1], directions])
    rates = lambda w: np.asarray(evaluate_along(dynamics, s, w).b)
    still, back, *b = rates(asked)
    even = np.array_equal(b[0], back)

    def forms(w):
        if even:
            return rates(w)
        return 0.5 * np.sum(np.split(rates(np.vstack([w, -w])), 2), axis=0)

    curved = (np.stack(b) if even else forms(directions)) - still
    q, unit = np.asarray(s.q), metric.typical
    place = metric.speed(q) if len(q) == len(s.v) else size_of(np, q, unit)
    free = metric.solve(np.asarray(here.F))
    extent = extent_of(np, place, metric.speed(np.asarray(s.v)), metric.speed(free), unit, span)
    scales = scales_of(np, length, curved, extent)
    if not scales.curvature > 0:
        return scales
    w, unit = directions[0], metric.rows(rows, length, threshold=PLACED)
    along = tangent_of(np, metric.speed, w - unit.correct(rows @ w), len(length))
    turning = metric.speed(unit.correct(forms(along[None])[0] - still))
    step = neighbourhood(np, turning, len(length), extent)
    if not step * scales.curvature > UNTYPICAL:
        return scales
    places = [(metric, rows)]
    for sign in NEIGHBOURS[1:]:
        dq = sign * step * along
        at = evaluate(dynamics, host_state(moved(dynamics, s.q, dq, s.t), s.v, s.t))
        places.append((metric_of(at.M, at.A, dynamics.singular_mass), rows_of(at.A)))
    lengths = np.stack([metric.lengths(A) for metric, A in places])
    typical, residual = beside(np, lengths)
    nearby = scales_of(np, typical, curved, extent)
    if not is_curved_beside(nearby, scales):  # the rest factors the rows at each place
        return scales
    reach = np.stack(
        [m.speed(m.rows(A, typical, threshold=PLACED).correct(residual)) for m, A in places]
    )
    return nearby if are_typical(np, nearby, scales, lengths, reach) else scales


def tangent_of(xp, speed, along, rows: int):
    """Return a tangent direction of unit variance, from a random one that may be short by
    chance.
    """
    size = speed(along)
    unit = np.sqrt(max(len(along) - rows, 1)) / xp.where(size > 0, size, 1.0)
    return along * xp.where(size > 0, unit, 1.0)


def neighbourhood(xp, turning, rows: int, extent):
    """Return the distance along a tangent direction of unit variance within which a motion changes
    its direction: one radius of its curvature, which is the correction `turning` of the rows for
    that direction per row, and at most the extent of the motion.
    """
    radius = np.sqrt(rows) / xp.where(turning > 0, turning, 1.0)
    return xp.where(turning > 0, xp.minimum(radius, extent), extent)


def beside(xp, lengths):
    """Return the root mean square of row lengths at a state and at its neighbours, from those at
    each of them, shape (places, m), and a random residual of that size.
    """
    typical = xp.sqrt(xp.mean(xp.where(xp.isfinite(lengths), lengths, lengths[0]) ** 2, axis=0))
    return typical, typical * np.random.default_rng(1992).standard_normal(lengths.shape[1])


def are_typical(xp, nearby: Scales, here: Scales, lengths, reach):
    """Return whether scales with the lengths of the neighbours are to replace those of the state.

    Args:
        nearby, here: both.
        lengths: of the rows, at the state and at the neighbours, shape (places, m).
        reach: size of the correction for a residual at each place, shape (places,): it shows
            whether the rows have the same rank there as at the state (`MARGIN`).
    """
    there = xp.max(reach[1:], initial=0.0, where=xp.isfinite(reach[1:]))
    typical, _ = beside(xp, lengths)
    # relative to its own length the round-off of φ would be an error of the size of the mechanism
    lost = xp.any((lengths[0] > 0) & (lengths[0] < ALL_BUT_ZERO * typical))
    held = (reach[0] <= MARGIN * there) | lost
    return held & is_curved_beside(nearby, here)


def is_curved_beside(nearby: Scales, here: Scales):
    """Return whether rows turn so much faster here than their lengths at the neighbours indicate
    that the lengths here may not be typical.
    """
    return here.curvature > UNTYPICAL * nearby.curvature


@functools.lru_cache(maxsize=8)
def directions_of(nv: int) -> np.ndarray:
    """Return the eight directions of unit variance of `measure`, shape (8, nv)."""
    found = np.random.default_rng(1992).standard_normal((8, nv))
    found.flags.writeable = False
    return found


def extent_of(xp, place, speed, acceleration, unit, span):
    """Return the size of a motion in the mass metric [m √kg …]: the size of its coordinates, the
    distance at its speed within `span` seconds, and that of its free acceleration; one unit of a
    typical coordinate if nothing moves at the start.
    """
    extent = place + speed * span + 0.5 * acceleration * span**2
    return xp.where(extent > 1e-12 * unit, extent, unit)


def size_of(xp, q, unit):
    """Return the size of coordinates whose rates are not velocities (a quaternion's), in the
    metric.
    """
    return xp.max(xp.abs(q), initial=0.0) * unit


def scales_of(xp, length, curved, extent) -> Scales:
    """Return the scales from row lengths (m,), `wᵀHᵢw` of the directions (8, m) and the extent of
    the motion, with the functions of `xp`: NumPy's or JAX's.
    """
    if not len(length):
        return Scales(length, xp.zeros(()), xp.zeros(()))
    hessian = xp.sqrt(xp.mean(curved**2, axis=0) / 2)
    # a row that vanishes here has no curvature of its own and is excluded from the median
    ratio = xp.where(length > 0, hessian / xp.where(length > 0, length, 1.0), 0.0)
    known = ratio > 1e-12 * xp.max(ratio, initial=0.0)
    # the median is computed directly, because that of NumPy takes as long as everything else
    count, ranked = xp.sum(known), xp.sort(xp.where(known, ratio, xp.inf))
    middle = 0.5 * (ranked[xp.maximum(count - 1, 0) // 2] + ranked[count // 2])
    curvature = xp.where(count > 0, middle, 0.0)
    inverse = xp.where(curvature > 0, curvature, 1 / extent)
    nearby = hessian / inverse
    return Scales(xp.sqrt(length**2 + nearby**2), xp.asarray(curvature), xp.asarray(inverse))
