"""Numbers that all evaluations derive from the parameters of a tree, computed once: axes and points
of its joints, and moments of mass about them.

The rotation between the axes of a joint and those of the joint before is `C e^(û q)`, C constant.
In the axes of the base C is 1, and û has as many nonzero entries as the axis in the file. With
concrete numbers each joint has axes of its own: those of the joint before if its axis is along one
of them, as in parallel hinges, and otherwise the nearest axes that contain its own. Most rotations
then have four entries, axes one, and vectors between points two; native code omits the zeros.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, ArrayLike, Float

from zwang.bodies.screws.twist import hat
from zwang.bodies.tree.branching import GROUND, Branching
from zwang.inputs.arithmetic import xp
from zwang.inputs.arrays import AnyArray
from zwang.thresholds import ROUND_OFF

ROWS, COLUMNS = np.triu_indices(3)
"""Indices of the independent entries of a symmetric matrix."""
FULL = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
"""Position of each of them in the full matrix."""


def times(X: AnyArray, Y: AnyArray) -> AnyArray:
    """Return `X Y` of many small matrices, shapes (…, n, m) and (…, m, k). Written as sums it takes
    a fifth of the time of XLA's batched product.
    """
    return xp.sum(X[..., :, :, None] * Y[..., None, :, :], axis=-2)


def applied(X: AnyArray, y: AnyArray) -> AnyArray:
    """Return `X y` of many small matrices and vectors, shapes (…, n, m) and (…, m)."""
    return xp.sum(X * y[..., None, :], axis=-1)


def with_joint_numbers(tree: Branching, p, own_axes: bool = False) -> dict:
    """Return the parameters with `p["joints"]`, the numbers that all evaluations derive from them:
    `point` of each joint at q = 0 in the base's axes and `apart` from that of the joint before, in
    the axes of that joint, with `slide` along it; `axis`, `square` ω̂² of scalar joints, `way`,
    `mass`, `first` and `second` (`zwang.bodies.tree.equations.Joints`). If axes are not the base's,
    `home` are these axes at q = 0, and `turn` is C − 1, in the axes of the joint before.

    If p contains it already, evaluations do not compute it again, which saves a third of their
    operations.

    Args:
        own_axes: whether joints have axes of their own, for which p must consist of NumPy arrays.
    """
    if "joints" in p:
        return p
    L = points(tree, p)
    way, axis = xp.split(p["twist"], 2, axis=1)
    way = tree.sliding[tree.joint_of][:, None] * along_axis(way, axis)
    if own_axes:
        B = _home_axes(tree, axis)
        L = _with_ways_of_two(tree, B, axis, L)
        known = _turned(tree, B, _in_base_axes(tree, p, L, axis, way))
    else:
        known = _in_base_axes(tree, p, L, axis, way)
    turning = hat(known["axis"][tree.scalar_velocities])
    return {**p, "joints": {**known, "point": L, "square": times(turning, turning)}}


def _in_base_axes(tree: Branching, p, L: ArrayLike, axis: ArrayLike, way: ArrayLike) -> dict:
    mass, first, second = moments(tree, L, p)
    return {
        "apart": L - xp.concatenate([L, xp.zeros((1, 3))])[np.array(tree.parent)],
        "slide": xp.tensordot(tree.owners, way, 1),
        "axis": axis,
        "way": way,
        "mass": mass,
        "first": first,
        "second": second,
    }


def _turned(tree: Branching, B: np.ndarray, known: dict) -> dict:
    """Return the same numbers in axes of the joints, which are B at q = 0."""
    of_before = np.concatenate([B, np.eye(3)[None]])[np.array(tree.parent)]
    before, own = (np.swapaxes(x, 1, 2) for x in (of_before, B))
    apart, slide = (applied(before, known[x]) for x in ("apart", "slide"))
    axis, way = (applied(own[tree.joint_of], known[x]) for x in ("axis", "way"))
    size = float(np.max(np.abs(apart), initial=0.0))
    return {
        **known,
        "home": B,
        "turn": _without_noise(times(before, B) - np.eye(3)),
        "apart": _without_noise(apart, size),
        "slide": _without_noise(slide),
        "axis": _without_noise(axis),
        "way": _without_noise(way),
        "first": applied(own, known["first"]),
        "second": times(times(own, known["second"]), B),
    }


def _home_axes(tree: Branching, axis: AnyArray) -> Float[np.ndarray, "n 3 3"]:
    """Return the axes of each joint at q = 0, the columns of a rotation matrix, in those of the
    base: for a ball joint its own if they are a rotation's, and for a slide those of the joint
    before.
    """
    made: list[np.ndarray] = []
    places = zip(tree.parent, tree.places(1, 3), tree.balls, strict=True)
    for parent, own, is_ball in places:
        B, u = np.eye(3) if parent == GROUND else made[parent], axis[own]
        if is_ball:
            skewed = np.any(_without_noise(u @ u.T - np.eye(3))) or np.cross(u[0], u[1]) @ u[2] < 0
            B = B if skewed else np.asarray(u).T
        elif np.any(u):
            B = B @ _nearest_axes(B.T @ u[0] / np.linalg.norm(u[0]))
        made.append(B)
    return np.array(made)


def _nearest_axes(u: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3 3"]:
    """Return axes one of which is along u or against it, with few other nonzero entries."""
    u = _without_noise(u)
    along, across = int(np.argmax(np.abs(u))), int(np.argmin(np.abs(u)))
    if np.count_nonzero(u) == 1:
        return np.eye(3)
    Q = np.zeros((3, 3))
    Q[:, along] = np.copysign(1.0, u[along]) * u
    beside = np.eye(3)[across] - u[across] * u
    Q[:, across] = beside / np.linalg.norm(beside)
    third = 3 - along - across
    Q[:, third] = np.cross(Q[:, (third + 1) % 3], Q[:, (third + 2) % 3])
    return Q


def _with_ways_of_two(
    tree: Branching, B: Float[np.ndarray, "n 3 3"], axis: AnyArray, points: AnyArray
) -> Float[np.ndarray, "n 3"]:
    """Return points of joints such that of the vector from each to the next two of three entries
    are nonzero, if possible: the point of a revolute joint may be anywhere on its axis, that of a
    slide anywhere.
    """
    L, first = np.array(points), [x[0] for x in tree.places(1, 3)]
    free = [not ball and not np.any(axis[k]) for k, ball in zip(first, tree.balls, strict=True)]
    for i in reversed(range(len(L))):
        parent = tree.parent[i]
        if parent != GROUND and free[parent]:
            L[parent] = L[i]
    for i, parent in enumerate(tree.parent):
        if parent == GROUND or tree.balls[i]:
            continue
        if free[i]:
            L[i] = L[i] if free[parent] else L[parent]
            continue
        u = axis[first[i]]
        w, d = B[parent].T @ u, B[parent].T @ (L[i] - L[parent])
        k = np.argmax(np.abs(w))
        L[i] -= u * d[k] / w[k]
    return L


def _without_noise(x: AnyArray, size: float = 0.0) -> np.ndarray:
    """Return numbers of order one, or of order `size`, with zero in place of round-off."""
    return np.where(np.abs(x) <= 4 * ROUND_OFF * max(size, 1.0), 0.0, x)


def along_axis(way: Float[Array, "... 3"], axis: Float[Array, "... 3"]) -> Float[Array, "... 3"]:
    """Return the component of a velocity along an axis of unit length; all of it if the axis is
    zero.
    """
    along = (axis * way).sum(axis=-1, keepdims=True)
    return along * axis + (1 - (axis**2).sum(axis=-1, keepdims=True)) * way


def points(tree: Branching, p) -> Float[Array, "n 3"]:
    """Return a point of each joint at q = 0 [m]: for a revolute joint the point of its axis nearest
    to the center of the first body that it moves, for a ball joint its center, for a slide the
    center of the body.
    """
    center, places = p["center"][tree.first_moved], tree.places(1, 3)
    way, axis = xp.split(p["twist"][np.array([x[0] for x in places])], 2, axis=1)
    foot = xp.cross(axis, way) + axis * xp.sum(axis * center, axis=1)[:, None]
    beside = 1 - xp.sum(axis**2, axis=1)[:, None]
    found = foot + tree.sliding[:, None] * beside * center
    if any(tree.balls):
        balls = np.flatnonzero(tree.balls)
        middle = centers(p["twist"][np.stack([places[i] for i in balls])])
        where = (np.arange(len(places))[:, None] == balls).astype(float)
        found = (1 - where.sum(axis=1))[:, None] * found + xp.tensordot(where, middle, 1)
    return found


def centers(twist: Float[Array, "n 3 6"]) -> Float[Array, "n 3"]:
    """Return the centers of ball joints at q = 0 [m]."""
    return 0.5 * xp.sum(xp.cross(twist[..., 3:], twist[..., :3]), axis=1)


def moments(
    tree: Branching, L: ArrayLike, p
) -> tuple[Float[Array, " n"], Float[Array, "n 3"], Float[Array, "n 3 3"]]:
    """Return mass, first and second moments of mass about L, ∫ r dm and ∫ r rᵀ dm, of the bodies on
    each joint at q = 0.
    """
    on, m, J = tree.on_joints, p["mass"], p["inertia"]
    r = p["center"] - xp.concatenate([L, xp.zeros((1, 3))])[np.array(tree.bodies)]
    # m tr J / 2 minus J, only for the entries on and above the diagonal
    J = J[:, ROWS, COLUMNS][:, FULL]
    own = 0.5 * xp.trace(J, axis1=1, axis2=2)[:, None, None] * np.eye(3) - J
    second = own + m[:, None, None] * r[:, :, None] * r[:, None, :]
    return on @ m, on @ (m[:, None] * r), xp.tensordot(on, second, 1)
