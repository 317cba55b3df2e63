"""Choice of a branch for a start at rest where branches of motion meet.

At rest in a singular configuration the constraints admit accelerations that belong to no motion,
`Lᵀ b(u) ≠ 0` (`zwang.dynamics.tangent_cone`), and in general the forces have a component along one
of them. Along each branch, with tangent u of kinetic energy ½, the equations of motion have a
solution with the acceleration (uᵀ F) u. Among these, Gauss's principle of least constraint selects
the one of largest |uᵀ F|. A small step along it leads to a configuration where the rows have full
rank again.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from zwang.algebra.metric import metric_of
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.evaluation import moved
from zwang.dynamics.initial_conditions import Start, begin
from zwang.dynamics.model import Model
from zwang.dynamics.tangent_cone import TangentCone, may_branch, tangent_cone
from zwang.equations.state import State
from zwang.inputs.arrays import on_device
from zwang.remedy import Remedy, advice
from zwang.thresholds import AGREEMENT, SHORT_WAY


def onto_branch(model: Model, dynamics: Dynamics, start: Start, span: float) -> tuple[Start, str]:
    """Return the start with which the run begins, and a sentence that reports a choice of branch
    ("" without one).
    """
    state = start.placement.state
    # if no row depends on others, the motion from a state is unique
    if not start.verdict.redundant or not may_branch(dynamics):
        return start, ""
    F, v = np.asarray(start.there.F), np.asarray(state.v)
    metric = metric_of(start.there.M, start.there.A, dynamics.singular_mass)
    pushed, speed = metric.speed(metric.solve(F)), metric.speed(v)
    distance = SHORT_WAY / float(start.scales.inverse_length)
    # if the speed is larger than the forces could produce over that distance, momentum selects the
    # branch
    if not pushed or 0.5 * speed**2 > pushed * distance:
        return start, ""
    cone = tangent_cone(dynamics, state.q, state.t)
    if not len(cone.tangents) or cone.rank == dynamics.system.nv - 1:
        return start, ""
    work = cone.tangents @ F
    # a velocity selects its branch, however small it is; at rest, the branch of most work
    i, angle = cone.taken(v) if speed > 0 else (0, np.inf)
    # [rad] largest angle up to which a velocity selects a branch
    i = i if angle < 0.1 else int(np.argmax(np.abs(work)))
    # relative to the force, the work along a branch below which it is round-off
    if abs(work[i]) <= AGREEMENT * pushed:
        return start, ""
    along = np.copysign(distance, work[i]) * cone.tangents[i]
    # rows, scales and method are assessed where the run begins
    there = moved(dynamics, state.q, along, state.t)
    aside = begin(dynamics, State(on_device(there), state.v, state.t), span)
    of_the_given = ("moved_q", "moved_v", "violation_before", "velocity_violation_before")
    before = {x: getattr(start.placement, x) for x in of_the_given}
    aside = dataclasses.replace(aside, placement=dataclasses.replace(aside.placement, **before))
    return aside, _sentence(model, cone, i, aside.placement.state.q - state.q)


def _sentence(model: Model, cone: TangentCone, i: int, moved_q) -> str:
    tangent, names = cone.tangents[i], model.system.velocities
    order = [j for j in np.argsort(-np.abs(tangent))[:4] if abs(tangent[j]) > 1e-7]
    shown = ", ".join(f"{names[j]} {tangent[j]:+.3g}" for j in order)
    by = float(np.max(np.abs(np.asarray(moved_q))))
    with_speed = Remedy(
        "start with a little speed, zw.analysis.branches(model, q0).start(i, energy=1e-9)",
        (("", "start with a little speed along it (`zwang branches` lists all)"),),
    )
    return (
        f"the start is at rest where {len(cone.tangents)} branches of motion meet, and the "
        f"equations of motion hold along each: the run leaves on branch {i} ({shown}), displaced "
        f"by {by:.1g} along it; to leave on another one {advice(with_speed)}"
    )


def meeting(dynamics: Dynamics, q, t) -> str:
    """Return a sentence about branches that meet in a configuration where a run could not continue,
    "" if it is regular: if its speed is too small for its momentum to select one, the run drifts
    between branches.
    """
    if not may_branch(dynamics):
        return ""
    cone = tangent_cone(dynamics, q, t)
    if len(cone.tangents) < 2 or cone.rank == dynamics.system.nv - 1:
        return ""
    return (
        f"{len(cone.tangents)} branches of motion meet there, and the speed is too small for "
        "momentum to choose one: start slightly off this configuration, on the intended branch "
        "(zw.analysis.branches lists them), or pass it with more speed"
    )
