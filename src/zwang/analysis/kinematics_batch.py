"""Many certified paths at once: one mechanism with many sets of parameters over its input.

Each step is that of `curve.py`, compiled once for all batch members. A member ends at the end of
the range, at a limit position, or where no step can be certified.
"""

from __future__ import annotations

import dataclasses
from typing import Generic, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from zwang.algebra.decomposition import solve_square
from zwang.algebra.pseudoinverse.proximal import Proximal
from zwang.analysis.curve import (
    bounds,
    carried,
    chart,
    growth,
    krawczyk,
    point_at,
    split_by,
)
from zwang.analysis.kinematics import scales
from zwang.analysis.path import FIRST
from zwang.analysis.subject import subject_of, with_inputs
from zwang.compile import Many
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.errors import ModelError
from zwang.inputs.arguments import host_only, real_array
from zwang.inputs.arrays import AnyArray
from zwang.objects.record import replace
from zwang.thresholds import CONVERGED, RESOLVED, SOLUTION_ERROR


class _Ends(NamedTuple, Generic[AnyArray]):
    """One step of one member: the residual at its start, its end, and the tangent at its start."""

    off: AnyArray
    good: AnyArray
    ratio: AnyArray
    q: AnyArray
    t: AnyArray
    tangent: AnyArray
    start: AnyArray


@dataclasses.dataclass(frozen=True)
class KinematicsBatch:
    """Paths of all batch members; `str()` prints a summary.

    Attributes:
        ended: "range", "limit" (the input turned back) or "lost" (no step could be certified)
            for each member, shape (n,).
        steps: number of certified steps of each member, shape (n,).
        q, t: the last certified configuration of each member, shapes (n, nq) and (n,). At the end
            of the range it lies just beyond the last value.
        member, points, inputs: all ends of certified steps: index of the member, configuration and
            value of the input, shapes (k,), (k, nq), (k,).
    """

    ended: np.ndarray
    steps: np.ndarray
    q: np.ndarray
    t: np.ndarray
    member: np.ndarray
    points: np.ndarray
    inputs: np.ndarray

    def __len__(self) -> int:
        return len(self.ended)

    def of(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """The inputs and configurations of one member, in the order of its path."""
        own = self.member == i
        return self.inputs[own], self.points[own]

    def __str__(self) -> str:
        n = {kind: int(np.sum(self.ended == kind)) for kind in ("range", "limit", "lost")}
        return (
            f"{len(self)} paths of {int(self.steps.sum())} certified steps: {n['range']} reach the "
            f"last value, {n['limit']} end at a limit position, {n['lost']} where no step could be "
            "certified"
        )

    __repr__ = __str__


@host_only("follow the paths once, with numbers")
def kinematics_batch(model, input, over, *, q, params: PyTree) -> KinematicsBatch:
    """Certified paths of a mechanism over one input for many sets of parameters.

    Args:
        model: a `zw.Model` whose rows are holonomic and, with the input, as many as its
            velocities, in coordinates without quaternions.
        input: as in `zw.analysis.kinematics`, one coordinate or function.
        over: first and last value of the input.
        q: configurations at the first value, on the constraints, shape (n, nq).
        params: parameters as in `zw.analysis.kinematics`, each with a leading axis of n.

    Returns:
        A `KinematicsBatch`: `.ended`, `.q`, `.t`, `.of(i)`.

    Raises:
        ModelError: for starts that violate the constraints, redundant rows, or rotations in space,
            which `zw.analysis.kinematics` follows one at a time.
    """
    begin = np.asarray(real_array(q, "kinematics_batch: q"), float)
    first, last = (float(x) for x in np.asarray(real_array(over, "kinematics_batch: over")))
    if begin.ndim != 2 or len(begin) == 0:
        raise ModelError(
            f"kinematics_batch: q has shape {begin.shape}, expected (members, coordinates)."
        )
    subject = subject_of(model, begin[0], None, "kinematics_batch", place=False)
    system = subject.model.system
    if system.velocity_map is not None or system.retract is not None:
        raise ModelError(
            f"{subject.model.name} has rotations in space as quaternions; follow its members one "
            "by one with zw.analysis.kinematics."
        )
    held = with_inputs(subject.model, ((subject.quantity(input, "kinematics_batch: input"), None),))
    if held.constraints.m != system.nv:
        raise ModelError(
            f"kinematics_batch: {held.constraints.m} rows with the input for {system.nv} "
            "velocities, expected as many of both; zw.analysis.kinematics follows redundant rows."
        )
    dynamics, packed = held.dynamics(None, Proximal()), _packed(held, params, len(begin))
    scale = jnp.asarray(scales(dynamics, begin[0], first))
    return _run(dynamics, packed, scale, begin, first, last)


def _packed(held, params: PyTree, n: int) -> PyTree:
    """The parameters in the form that functions accept, with a leading axis of members."""
    wrong = [np.shape(x) for x in jax.tree_util.tree_leaves(params) if np.shape(x)[:1] != (n,)]
    if wrong:
        raise ModelError(
            f"kinematics_batch: a parameter has shape {wrong[0]}, expected a leading axis of {n}."
        )
    made = [held.parameters(jax.tree_util.tree_map(lambda x, i=i: x[i], params)) for i in range(n)]
    return jax.tree_util.tree_map(lambda *x: np.stack([np.asarray(y) for y in x]), *made)


def _run(dynamics, packed, scale, begin, first, last) -> KinematicsBatch:
    """Advance all members step by step; members that have ended leave the batch."""
    n, ahead = len(begin), 1.0 if last >= first else -1.0
    q, t, h = begin.copy(), np.full(n, first), np.full(n, FIRST)
    tangent = np.zeros((n, len(scale)))
    tangent[:, -1] = ahead
    ended, steps = np.full(n, "lost", dtype="<U5"), np.zeros(n, int)
    took, running = [(np.arange(n), q.copy(), t.copy())], np.arange(n)
    step = Many(_step, (None, None, 0, 0, 0, 0, 0), (dynamics, scale, packed, q, t, tangent, h))
    # a member that needs more steps counts as lost
    for i in range(5_000):
        if not len(running):
            break
        own = jax.tree_util.tree_map(lambda x, own=running: x[own], (packed, q, t, tangent, h))
        ends = _Ends(*step(dynamics, scale, *own))
        if i == 0 and not np.max(ends.off) < CONVERGED * 1e3:
            raise ModelError(
                f"kinematics_batch: a start is off its constraints by {np.max(ends.off):.1e} at "
                "the first value of the input; put each on its branch first."
            )
        good, ratio = np.asarray(ends.good), np.asarray(ends.ratio)
        turned = good & (ends.tangent[:, -1] * ends.start[:, -1] < 0)
        moved = running[good]
        q[moved], t[moved], tangent[moved] = ends.q[good], ends.t[good], ends.tangent[good]
        steps[moved] += 1
        took.append((moved, q[moved], t[moved]))
        h[running] *= growth(good, ratio)
        ended[running[turned]] = "limit"
        there = good & ~turned & ((t[running] - last) * ahead >= 0)
        ended[running[there]] = "range"
        running = running[~(turned | there | (h[running] < RESOLVED))]
    member, points, inputs = (np.concatenate([x[i] for x in took]) for i in range(3))
    order = np.argsort(member, kind="stable")
    return KinematicsBatch(ended, steps, q, t, member[order], points[order], inputs[order])


def _step(dynamics: Dynamics, scale, p, q, t, before, h) -> _Ends:
    """One step of length h, as in `curve.Frame.attempt`, with its corrected end, at parameters
    p.
    """
    dynamics = replace(dynamics, p=p)
    origin = jnp.append(jnp.zeros(dynamics.system.nv), t)
    _, phi, J = point_at(dynamics, q, origin, scale)
    split = split_by(jnp, J, before)
    start, ahead = jnp.abs(split.inverse @ phi), origin + scale * (h / 2 * split.tangent)
    over = lambda lower, upper: bounds(chart, dynamics, q, lower, upper, scale)
    good, ratio, width = krawczyk(jnp, split, scale, over, start, ahead, h)
    place = lambda n: origin + scale * (h * split.tangent + split.normal @ n)

    def correct(_, state):
        n, _ = state
        _, phi, J = point_at(dynamics, q, place(n), scale)
        step = solve_square(J @ split.normal, phi)
        return n - step, jnp.max(jnp.abs(step))

    # the corrector starts on the tangent inside a certified box
    n, left = jax.lax.fori_loop(0, 10, correct, (jnp.zeros(len(width)), jnp.inf))
    # the corrector must end inside the box, which contains no other branch
    good = good & (left < CONVERGED) & jnp.all(jnp.abs(n) <= width + SOLUTION_ERROR)
    end, _, J = point_at(dynamics, q, place(n), scale)
    after = split_by(jnp, J, carried(split, J)).tangent
    return _Ends(jnp.max(start), good, ratio, end, place(n)[-1], after, split.tangent)
