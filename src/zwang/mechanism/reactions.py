"""Reaction of a joint: force and torque on its second body, at its second point, in joint axes.

    f = R_aᵀ F_b,    τ = R_aᵀ (τ_b − (r − r_b) × F_b)

where (F_b, τ_b) is the joint's part of the constraint force and R_a are the axes of the first
point.

In joint coordinates a joint that carries a body is not a constraint. Its part is the remainder in
the balance of all bodies that it carries, summed from the leaves on:

    w_b = M_b a_b − F_b − Σ A_bᵀλ,    W = Σ w_b over the bodies that the joint carries

Reference: Luh, Walker and Paul (1980), J. Dyn. Sys., Meas., Control 102, 69-76 (Newton and Euler
    from the leaves).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import jax
import numpy as np

from zwang.algebra.metric import dense_rows
from zwang.bodies.rotation import rotation_matrix
from zwang.compile import BoundProgram
from zwang.dynamics import functions
from zwang.dynamics.evaluation import evaluate
from zwang.dynamics.motion import Motion
from zwang.equations.state import host_state
from zwang.inputs.arithmetic import on_host, xp
from zwang.inputs.text import counted
from zwang.mechanism.field_types import PartError
from zwang.mechanism.joint_constraints import RATES
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.relative_pose import Frames
from zwang.mechanism.tree import SpanningTree
from zwang.objects.display import present

if TYPE_CHECKING:
    from zwang.simulation.results import Run

Axes = Literal["joint", "world"]
Side = Literal["first", "second"]


@dataclasses.dataclass(frozen=True)
class Reaction:
    """The reaction of a joint or drive, in the joint's own axes.

    Attributes:
        force: [N], shape (..., d).
        torque: [N·m], a number (...) in the plane or (..., 3).
        effort: of a drive at the samples of a run, its force along its coordinate x, with its
            sign: `effort · ẋ` is the power that it supplies; None for others.
        unit: of `effort`, "N m" or "N".
    """

    force: np.ndarray
    torque: np.ndarray
    effort: np.ndarray | None = None
    unit: str = ""

    def __repr__(self) -> str:
        return present("text_of", self, "reaction")


class Shares(NamedTuple):
    """Forces of joints and drives on the bodies.

    Attributes:
        q: coordinates of all bodies, shape (n, nq) of `Mechanism.maximal`.
        by_constraint: generalized force of each joint and drive by name, shape (n, nv) of
            `Mechanism.maximal`.
    """

    q: np.ndarray
    by_constraint: dict[str, np.ndarray]

    def __repr__(self) -> str:
        return f"shares of {', '.join(self.by_constraint)} at {counted(len(self.q), 'instant')}"


def reactions(
    mechanism: Mechanism, run: Run, *, axes: Axes = "joint", on: Side = "second"
) -> dict[str, Reaction]:
    """`reaction` of every joint between two bodies, and of every drive, at the samples of a run.

    Both kinds of coordinates are supported; `axes` and `on` are as in `reaction`. A drive also has
    its signed `effort`: the multiplier of its row, which is the force conjugate to its coordinate.

    Raises:
        PartError: as in `reaction`.
    """
    mechanism, seen = mechanism.of_run(run), run.observation
    control = None if seen.control is None else seen.control.u
    found = shares(mechanism, run.q, run.v, run.t, seen.motion, control)
    units = transmitting(mechanism)
    maximal = mechanism.maximal
    _check(maximal, axes, on)
    at = maximal.placed(found.q).points  # once for all joints
    made = {name: _reaction(maximal, at, *found, name, axes, on) for name in units}
    rows, multipliers = run.model.constraints.row_slices, np.asarray(seen.motion.multipliers)
    for name in mechanism.drives:
        effort = multipliers[:, rows[name]][:, 0]
        made[name] = dataclasses.replace(made[name], effort=effort, unit=units[name])
    return made


def transmitting(mechanism: Mechanism) -> dict[str, str]:
    """Joints and drives that `reactions` reports, with the unit of a drive's effort.

    The unit is empty for joints. A coupling of two joints exerts no force of its own between two
    bodies.
    """
    units = {
        name: "" for name, joint in mechanism.joints.items() if not JOINT_KINDS[joint.kind].couples
    }
    for name, drive in mechanism.drives.items():
        ends = mechanism.compiled.joints.acted_on(drive, ("drives", name))
        units[name] = "N m" if ends.coordinate.angular else "N"
    return units


def reaction(
    mechanism: Mechanism,
    q,
    by_constraint,
    joint: str,
    *,
    axes: Axes = "joint",
    on: Side = "second",
) -> Reaction:
    """Force and torque of a joint, or of a drive at it, on its second body at its second point.

    The first body gets the opposite force, and the opposite torque about the same point. Reactions
    of redundant joints are those of least norm. A joint that couples two others reports its
    reaction at the first one.

    Args:
        mechanism: the mechanism, in all coordinates of its bodies.
        q: coordinates, shape (..., nq).
        by_constraint: generalized force of each constraint by name, shape (..., nv):
            `zw.motion(...).by_constraint`, or of a run
            `run.dataset["constraint_force"].sel(constraint=name)`.
        joint: name of the joint or drive.
        axes: "joint", those of the joint's first point; or "world".
        on: "second", or "first" for the reaction on the first body, about its own point.

    Raises:
        PartError: if there is no such joint, `axes` or `on` is another word, or the mechanism is in
            joint coordinates: take `reactions` of a run, or `reaction(mechanism.maximal,
            *shares(...), joint)`.
    """
    _check(mechanism, axes, on)
    q = np.asarray(q, float)
    at = mechanism.placed(q.reshape(-1, q.shape[-1])).points
    q = q[..., : mechanism.compiled.joints.turns.bodies]
    return _reaction(mechanism, at, q, by_constraint, joint, axes, on)


def _check(mechanism: Mechanism, axes: Axes, on: Side) -> None:
    """Refuse joint coordinates, and unknown words for `axes` and `on`."""
    if mechanism.coordinates == "joint":
        raise PartError(
            (),
            f"{mechanism.name} is in joint coordinates, in which joints that carry bodies are no "
            "constraints; take reactions(mechanism, run), or reaction(mechanism.maximal, "
            "*shares(mechanism, q, v, t, motion), joint).",
        )
    for word, known in ((axes, ("joint", "world")), (on, ("first", "second"))):
        if word not in known:
            raise PartError((), f"got {word!r}, expected {known[0]!r} or {known[1]!r}.")


def _reaction(
    mechanism: Mechanism, at: Frames, q, by_constraint, joint: str, axes: Axes, on: Side
) -> Reaction:
    """`reaction`, for known positions `at` of the points in the configurations q."""
    geometry, d = mechanism.geometry, mechanism.d
    ends = mechanism.ends(joint)
    # A joint that also constrains rates (rolling) has a second constraint.
    names = [n for n in (joint, joint + RATES) if n in by_constraint]
    share = sum(np.asarray(by_constraint[n], float) for n in names)
    shape, q = q.shape[:-1], q.reshape(-1, q.shape[-1])
    share = np.reshape(share, (-1, np.shape(share)[-1]))
    # If the ground is the second body, the reaction is the opposite of that on the first body.
    carried = geometry.carrier[ends.b] < len(geometry.bodies)
    body, sign = (geometry.carrier[ends.b], 1.0) if carried else (geometry.carrier[ends.a], -1.0)
    own = sign * share.reshape(len(q), len(geometry.bodies), -1)[:, body]
    arm = np.asarray(at.place)[:, ends.b] - q.reshape(len(q), len(geometry.bodies), -1)[:, body, :d]
    attitude = np.asarray(at.attitude)[:, ends.a]
    force = own[:, :d]
    if d == 3:
        turned = np.asarray(rotation_matrix(q.reshape(len(q), -1, 7)[:, body, 3:]))
        torque = np.einsum("nij,nj->ni", turned, own[:, 3:]) - np.cross(arm, force)
    else:
        torque = own[:, 2] - _cross(arm, force)
    if on == "first":
        # The opposite force acts at the second point and has a moment about the first one.
        apart = np.asarray(at.place)[:, ends.b] - np.asarray(at.place)[:, ends.a]
        moment = np.cross(apart, force) if d == 3 else _cross(apart, force)
        force, torque = -force, -(torque + moment)
    if axes == "joint" and d == 2:
        c, s = np.cos(attitude), np.sin(attitude)
        x, y = force.T
        force = np.stack([c * x + s * y, c * y - s * x], axis=1)
    elif axes == "joint":
        back = np.swapaxes(attitude, 1, 2)
        force, torque = (np.einsum("nij,nj->ni", back, x) for x in (force, torque))
    about = shape if d == 2 else (*shape, 3)
    return Reaction(force.reshape((*shape, d)), torque.reshape(about))


def _cross(arm: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Moment of forces in the plane."""
    return arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]


def shares(mechanism: Mechanism, q, v, t, motion: Motion, control=None) -> Shares:
    """Forces of every joint and drive on the bodies, in either kind of coordinates.

    Args:
        mechanism: the mechanism.
        q, v, t: states, shapes (n, nq), (n, nv) and (n,), or one without n.
        motion: its motion there, `zw.motion(...)`, or of a run `run.observation.motion`.
        control: controls of the actuators there, shape (n, nu), if it has any.
    """
    one = np.ndim(q) == 1
    n = 1 if one else len(q)
    rows = lambda x: np.reshape(np.asarray(x), (n, -1))
    many = [rows(x) for x in (q, v, motion.acceleration, motion.multipliers)]
    controls = np.zeros((n, 0)) if control is None else rows(control)
    if mechanism.coordinates == "maximal":
        found = Shares(
            np.asarray(many[0])[:, : mechanism.compiled.joints.turns.bodies],
            {k: np.reshape(x, (n, -1)) for k, x in motion.by_constraint.items()},
        )
    else:
        found = _at_bodies(mechanism, many, np.reshape(np.asarray(t), n), controls)
    return jax.tree.map(lambda x: x[0] if one else x, found)


def _at_bodies(
    mechanism: Mechanism, states: list[np.ndarray], t: np.ndarray, controls: np.ndarray
) -> Shares:
    """States in joint coordinates: q, v, v̇ and multipliers, each with a leading axis."""
    q, v, acceleration, multipliers = states
    m, tree = mechanism.maximal, mechanism.compiled.tree
    assert tree is not None
    bodies = _program(_bodies_of(mechanism), mechanism.params, q, v, t, acceleration)
    Q, V, a = (np.stack(x) for x in zip(*map(bodies, q, v, t, acceleration), strict=True))
    # This program has assembled the mechanism in the coordinates of its bodies.
    dynamics = m.model.dynamics().standing
    at = [evaluate(dynamics, host_state(*x)) for x in zip(Q, V, t, strict=True)]
    own, effort = mechanism.model.constraints.row_slices, [0.0] * len(t)
    if m.compiled.servo is not None:
        actuation = m.compiled.servo.actuation_matrix
        matrix = _program(lambda p, q, t: actuation(q, t, p), m.params, Q, t)
        effort = [matrix(*x) @ u for *x, u in zip(Q, t, controls, strict=True)]
    with on_host():
        found = [
            _carrying(
                mechanism,
                bodies_at,
                _inertial(np.asarray(x.M), rate) - x.F - u,
                dense_rows(x.A),
                {name: given[rows] for name, rows in own.items()},
            )
            for bodies_at, x, rate, u, given in zip(Q, at, a, effort, multipliers, strict=True)
        ]
    return jax.tree.map(lambda *x: np.stack(x), *found)


def _program(function: Callable, p, *example: np.ndarray) -> BoundProgram:
    """A function of parameters and of one state as a program; the examples have a leading axis."""
    return BoundProgram(function, (p,), tuple(x[0] for x in example))


def traced_shares(mechanism: Mechanism) -> Callable:
    """`(state, acting)` → `Shares` of one state, in operations of JAX.

    `acting` is a `zwang.dynamics.vector_field.Acting`.
    """
    m, tree = mechanism.maximal, mechanism.compiled.tree
    width = m.compiled.joints.turns.bodies
    if tree is None:
        return lambda state, acting: Shares(state.q[:width], acting.shares)
    bodies, system, constraints = _bodies_of(mechanism), m.model.system, m.model.constraints
    servo, own = m.compiled.servo, mechanism.model.constraints.row_slices

    def shares(state, acting):
        t, p = state.t, {**m.params, **tree.as_bodies(acting.params, m.params)[0]}
        Q, V, a = bodies(acting.params, state.q, state.v, t, acting.acceleration)
        asked = functions.inertial_force(system, Q, t, p, a) - functions.force(system, Q, V, t, p)
        if servo is not None:
            asked = asked - servo.actuation_matrix(Q, t, p) @ acting.control
        given = {name: acting.multipliers[name] for name in own}
        return _carrying(mechanism, Q, asked, constraints.matrix(Q, V, t, p), given)

    return shares


def _carrying(mechanism: Mechanism, Q, asked, A, multipliers: Mapping[str, Any]) -> Shares:
    """Forces of joints on the bodies at one state, traced or not.

    The joints that carry the bodies provide the forces that no loop joint or drive provides.

    Args:
        Q: coordinates of all bodies.
        asked: force that their accelerations require, minus applied forces and actuators.
        A, multipliers: rows in these coordinates; multipliers of loop joints and drives by name.
    """
    m, tree = mechanism.maximal, mechanism.compiled.tree
    assert tree is not None
    rows = m.model.constraints.row_slices
    made = {name: A[rows[name]].T @ given for name, given in multipliers.items()}
    Q = Q[: m.compiled.joints.turns.bodies]
    return Shares(Q, made | _carried(tree, Q, asked - sum(made.values()), m.d))


def _bodies_of(mechanism: Mechanism) -> Callable:
    """`(p, q, v, t, v̇)` → coordinates, velocities and accelerations of all bodies.

    They are computed in one pass through the tree.
    """
    system, tree = mechanism.model.system, mechanism.compiled.tree
    assert tree is not None

    # angles that count turns are coordinates, too
    added = mechanism.maximal.compiled.joints.turns.added.values()
    turned = [mechanism.compiled.joints.coordinate(ends) for ends in added]

    def bodies(p, q, v, t, acceleration):
        state = lambda q, v: tree.body_state(q, v, p)
        (Q, V), (_, a) = jax.jvp(state, (q, v), (system.rate(q, v, t, p), acceleration))
        angles = [x(q, p) for x in turned]
        return xp.concatenate([Q, xp.asarray(angles, float)]), V, a

    return bodies


def _inertial(M: np.ndarray, a: np.ndarray) -> np.ndarray:
    """`M a` of bodies, whose M is diagonal or block diagonal."""
    if M.ndim == 1:
        return M * a
    blocks = M.reshape(-1, *M.shape[-2:])
    return np.einsum("bij,bj->bi", blocks, a.reshape(len(blocks), -1)).ravel()


def _carried(tree: SpanningTree, Q, missing, d: int) -> dict[str, Any]:
    """Generalized forces of the joints that carry bodies, from the missing forces at one state."""
    place, turned, force, torque = _in_space(Q, missing, d)
    carried, meets = np.asarray(tree.carried, float), np.asarray(tree.meets)[:, :, None]
    # about the origin
    force, torque = carried @ force, carried @ (torque + xp.cross(place, force))
    forces = meets * force[:, None]
    torques = meets * (torque[:, None] - xp.cross(place, force[:, None]))
    return {
        by.joint: xp.asarray(_of_bodies(turned, f, tau, d))
        for by, f, tau in zip(tree.carriers, forces, torques, strict=True)
        if by.joint is not None
    }


def _in_space(Q, own, d: int):
    """Positions and attitudes of all bodies, and their generalized forces as forces and torques.

    The torques are about these positions; everything is in space.
    """
    if d == 2:
        bodies, own = Q.reshape(-1, 3), own.reshape(-1, 3)
        flat, upright = ((0, 0), (0, 1)), ((0, 0), (2, 0))
        return (
            xp.pad(bodies[:, :2], flat),
            None,
            xp.pad(own[:, :2], flat),
            xp.pad(own[:, 2:], upright),
        )
    bodies, own = Q.reshape(-1, 7), own.reshape(-1, 6)
    turned = rotation_matrix(bodies[:, 3:])
    return bodies[:, :3], turned, own[:, :3], xp.einsum("nij,nj->ni", turned, own[:, 3:])


def _of_bodies(turned, force, torque, d: int):
    """Generalized forces of the bodies from forces and torques in space; inverts `_in_space`."""
    if d == 2:
        return xp.hstack([force[:, :2], torque[:, 2:]]).ravel()
    return xp.hstack([force, xp.einsum("nji,nj->ni", turned, torque)]).ravel()
