"""Detection of runs that would not finish within their number of steps, and of the reason why steps
are short.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zwang.algebra.metric import metric_of, rows_of
from zwang.dynamics.control_law import AbstractControlLaw
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import ModelEvaluation, evaluate, moved
from zwang.equations.state import host_state
from zwang.errors import Result
from zwang.simulation.monitor import AbstractMonitor, Chunk, RunState
from zwang.thresholds import MARGIN

FOLLOWED = 0.01
"""Steps follow a gain if its error decays by this exponent or more within one step, and follow a
gradient if it turns by this angle [rad] or more.
"""
AROUND = 2.0 ** np.arange(-3, 7)
"""Distances to either side of the last step at which a jump is searched, in lengths of that step.
"""
HALVED = 30
"""Number of bisections of an interval around a jump; a smooth change has then become 1e-9 of its
size.
"""

NOT_SMOOTH = (
    ": end the run before it by stop=, or state the constraint by a function that is smooth there"
)


class Pace(AbstractMonitor):
    """Ends a run that would take far more steps than it may: steps of constant length, such as
    stability imposes on an explicit integrator in a stiff system.

    Attributes:
        growth: a run whose steps become longer by this factor from one window to the next has not
            reached its step length yet.
        most: a run ends if the rest takes more than this factor times its remaining steps.
        hopeless: reason why the run cannot finish, or "".
    """

    growth, most = 2.0, 1e3

    def __init__(self):
        self.hopeless = ""
        self.last, self.before = (0, 0.0), None

    def begin(self, run: RunState) -> None:
        self.last, self.before = (run.tried, run.t), None

    def judge(self, run: RunState, chunk: Chunk, result: Result) -> Result:
        # a run that a stop condition ends may have any length
        if result is not Result.SUCCESS or run.events.stops:
            return result
        self.hopeless = self._hopeless(run)
        return Result.TOO_MANY_STEPS if self.hopeless else result

    def _hopeless(self, run: RunState) -> str:
        (tried, since), before = self.last, self.before
        count = run.tried - tried
        if count < 1024:  # attempted steps over which the pace is measured
            return ""
        length = (run.t - since) / count
        self.last, self.before = (run.tried, run.t), length
        left = (float(run.instants[-1]) - run.t) / max(length, 1e-300)
        grows = before is None or length > self.growth * before
        if grows or not left > self.most * (int(run.limit) - run.tried):
            return ""
        return (
            f"the last {count} steps took {length:.1e} s each; at this length the rest would take "
            f"{left:.0e} steps"
        )

    def memory(self) -> dict[str, Any]:
        return {"last": self.last, "before": self.before}

    def recall(self, memory: dict[str, Any]) -> None:
        self.last, self.before = tuple(memory["last"]), memory["before"]


def why_short(
    dynamics: Dynamics,
    t: np.ndarray,
    y: np.ndarray,
    step: float,
    law: AbstractControlLaw | None,
    not_finite: bool,
) -> str:
    """Return a sentence that states why the steps of a run are short, or which function is NaN or
    infinite where it ends; empty if the cause is unknown.
    """
    if not_finite:
        return no_number_ahead(dynamics, t, y, step)
    jumps, gain = jumping_force(dynamics, t, y), stiff_gain(law, step)
    turns = "" if jumps or gain else turning_rows(dynamics, t, y, step)
    return "; ".join(filter(None, (jumps, gain, turns)))


def stiff_gain(law: AbstractControlLaw | None, step: float) -> str:
    """Return a sentence about the gain that keeps steps short; empty if none does."""
    rates = {} if law is None else law.decay_rates()
    name = max(rates, key=rates.__getitem__, default="")
    if not name or not rates[name] * step > FOLLOWED:
        return ""
    return (
        f"the gain of {name!r} makes its error decay at {rates[name]:.1e} 1/s, which steps of "
        f"{step:.1e} s follow: give a smaller one"
    )


def turning_rows(dynamics: Dynamics, t: np.ndarray, y: np.ndarray, step: float) -> str:
    """Return a sentence about the constraint whose gradient turns so quickly that steps follow it;
    empty if none does, as in a stiff system.

    Args:
        dynamics: the equation of motion.
        t, y: the last two instants and states, shapes (2,) and (2, n).
        step: length of the latest steps [s].
    """
    if not dynamics.constraints.m or dynamics.structure.sparse or not t[1] > t[0]:
        return ""
    nq, units = dynamics.system.nq, []
    for at, x in zip(t, y, strict=True):
        found = evaluate(dynamics, host_state(x[:nq], x[nq:], at))
        units.append(_unit_rows(dynamics, found))
    rates = np.linalg.norm(units[1] - units[0], axis=1) / (t[1] - t[0])
    if not np.all(np.isfinite(rates)):
        return ""
    row = int(np.argmax(rates))
    name, rate = dynamics.constraints.owner(row)[0], float(rates[row])
    if not rate * step > FOLLOWED:
        return ""
    return (
        f"the gradient of constraint {name!r} turns at {rate:.1e} rad/s, which steps of "
        f"{step:.1e} s follow: the motion is fast, not stiff"
    )


def no_number_ahead(dynamics: Dynamics, t: np.ndarray, y: np.ndarray, step: float) -> str:
    """Return a sentence about a function that is NaN or infinite at the last state, or has no
    derivative at a place that its velocity reaches within a few steps; empty if none is. The
    arguments are those of `turning_rows`.
    """
    if dynamics.structure.sparse or not np.all(np.isfinite(y)):
        return ""
    nq = dynamics.system.nq
    before, last = y[:, nq:]
    # The last step may have ended just before or behind a jump, which removes the velocity across
    # it. If the velocity before was affected as well, its direction and the speed of the last step
    # remain.
    way = [last, before, -before]
    if (speed := float(np.linalg.norm(before))) > 0 and t[1] > t[0]:
        across = before * (float(np.linalg.norm(y[1, :nq] - y[0, :nq])) / (t[1] - t[0]) / speed)
        way += [across, -across]
    found = (_no_number_along(dynamics, t, y, v, step) for v in way)
    return next(filter(None, found), "")


def _no_number_along(
    dynamics: Dynamics, t: np.ndarray, y: np.ndarray, v: np.ndarray, step: float
) -> str:
    """Return the sentence of `no_number_ahead` for one velocity at the last state."""
    c, now, q = dynamics.constraints, float(t[-1]), y[-1, : dynamics.system.nq]

    def at(ahead: float):
        return evaluate(dynamics, host_state(moved(dynamics, q, ahead * v, now), v, now + ahead))

    # a unit row that changes by more than this across the last interval is discontinuous there
    jump, places, rows = 0.5, (0.0, *(step * np.geomspace(1e-3, 1e3, 61))), []
    for ahead in places:
        found = at(ahead)
        if said := _no_number(dynamics, found):
            return said
        rows.append(_unit_rows(dynamics, found))
    turned = np.linalg.norm(np.diff(np.array(rows), axis=0), axis=2)
    if not np.max(turned, initial=0.0) > jump:
        return ""
    k, row = np.unravel_index(np.argmax(turned), turned.shape)
    (low, high), (before, after) = places[k : k + 2], rows[k : k + 2]
    for _ in range(HALVED):
        middle = (low + high) / 2
        found = at(middle)
        if said := _no_number(dynamics, found):
            return said
        between = _unit_rows(dynamics, found)
        if np.linalg.norm((between - before)[row]) > np.linalg.norm((after - between)[row]):
            high, after = middle, between
        else:
            low, before = middle, between
    change = (after - before)[row]
    if not np.linalg.norm(change) > jump:
        return ""
    name, _ = c.owner(int(row))
    along = dynamics.system.velocities[int(np.argmax(np.abs(change)))]
    return f"the gradient of constraint {name!r} jumps there, most along {along!r}{NOT_SMOOTH}"


def _no_number(dynamics: Dynamics, at: ModelEvaluation) -> str:
    """Return a sentence about a function that is NaN or infinite at a state; empty if none is."""
    c, names = dynamics.constraints, dynamics.system.velocities
    A = rows_of(at.A)
    finite = np.isfinite(abs(A) @ np.ones(len(names))) if c.m else np.ones(0, bool)
    finite &= np.isfinite(np.asarray(at.b))
    finite[c.position_rows] &= np.isfinite(np.asarray(at.phi))
    finite[c.velocity_rows] &= np.isfinite(np.asarray(at.psi))
    for name, rows in c.row_slices.items():
        if not finite[rows].all():
            missing = np.flatnonzero(~np.isfinite(np.asarray(A[rows])).all(axis=0))
            along = f" along {names[missing[0]]!r}" if len(missing) else ""
            return (
                f"constraint {name!r} is NaN or infinite there, or has no finite "
                f"derivative{along}{NOT_SMOOTH}"
            )
    forces = ~np.isfinite(np.asarray(at.F))
    if forces.any():
        return f"the force along {names[int(np.argmax(forces))]!r} is NaN or infinite there"
    return ""


def _unit_rows(dynamics: Dynamics, at: ModelEvaluation) -> np.ndarray:
    """Return the rows of A at unit length in the metric of M⁻¹."""
    A, metric = rows_of(at.A), metric_of(at.M, at.A, dynamics.singular_mass)
    return np.asarray(metric.rows(A).C)


def jumping_force(dynamics: Dynamics, t: np.ndarray, y: np.ndarray) -> str:
    """Return a sentence about a force that jumps near the end of a run; empty if none does.

    Args:
        dynamics: the equation of motion.
        t, y: the last two instants and states, shapes (2,) and (2, n); outside their interval the
            motion is extrapolated along a straight line.
    """
    system = dynamics.system

    def force(s: float) -> np.ndarray:
        q, v = np.split(y[1] + s * (y[1] - y[0]), [system.nq])
        return np.asarray(evaluate(dynamics, host_state(q, v, t[1] + s * (t[1] - t[0]))).F)

    places = np.concatenate([-AROUND[::-1], [0.0], AROUND])
    forces = np.array([force(s) for s in places])
    size = np.max(np.abs(forces), axis=0)
    if not np.all(np.isfinite(forces)) or not np.any(size):
        return ""
    change = np.abs(np.diff(forces, axis=0)) / np.where(size > 0, size, 1.0)
    k, i = np.unravel_index(np.argmax(change), change.shape)
    (low, high), (before, after) = places[k : k + 2], forces[k : k + 2]
    for _ in range(HALVED):
        middle = (low + high) / 2
        between = force(middle)
        if np.abs(between[i] - before[i]) > np.abs(after[i] - between[i]):
            high, after = middle, between
        else:
            low, before = middle, between
    # a force that is round-off of others changes by as much as itself
    jump = np.abs(after[i] - before[i])
    if not MARGIN * jump > size[i] or jump < np.spacing(np.max(size)):
        return ""
    return (
        f"the force along {system.velocities[i]!r} jumps there from {before[i]:.3g} to "
        f"{after[i]:.3g} and no step can cross this jump: make it continuous, such as tanh(v/v0) "
        "in place of sign(v)"
    )
