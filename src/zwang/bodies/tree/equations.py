"""Kinematics and dynamics of a tree, by recursions along its branches, level by level.

    P_i = P_parent(i) e^(ξ̂ᵢ qᵢ)                    the motion of joint i since q = 0
    S_j = Ad_P ξ_j                                 twist of velocity j in space
    V_i = V_parent(i) + Σ_j S_j v_j                twist of joint i, over its velocities j
    A_i = A_parent(i) + Σ_j [V_i, S_j] v_j         its acceleration at v̇ = 0, that of the ground −g
    I_i = (m, m d, J)                              inertia of the bodies on joint i: J about the
                                                   point, d from there to the center of mass
    Iᶜ_i = Σ I_k,    f_i = Σ (I_k A_k + V_k ×* I_k V_k)      of all joints k that joint i moves
    M_ij = S_i · Iᶜ_j S_j                          where joint i moves joint j (composite bodies)
    h_j = S_j · f_j                                bias, M v̇ + h = F (Newton-Euler)

Twists and forces are vectors in space, (v, ω) and (force, moment), about one point, the place of
the first body at this instant: far from it moments of inertia would lose their digits. There
inertias add, and no recursion transforms anything. `p["twist"]` holds ξ = (velocity at the origin,
angular velocity) of every velocity at q = 0, in base axes; a ball joint has three, about its axes
through its center.

Reference: Featherstone (2008), Rigid Body Dynamics Algorithms, chapters 2, 5 and 6; Park, Bobrow
    and Ploen (1995), Int. J. Robotics Research 14, 609-618 (products of exponentials).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.rotation import rotation_matrix
from zwang.bodies.screws.twist import bracket, exponential, motion
from zwang.bodies.tree.branching import Branching
from zwang.compile.hints import written_out
from zwang.inputs.arithmetic import xp
from zwang.inputs.arrays import without_derivative

ROWS, COLUMNS = np.triu_indices(3)
"""Entries of a symmetric matrix that stand for all."""
FULL = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
"""Which of them stands where."""


def times(X: Float[Array, "... n m"], Y: Float[Array, "... m k"]) -> Float[Array, "... n k"]:
    """`X Y` of many small matrices; written as sums it takes a fifth of the time of XLA's batched
    product.
    """
    return xp.sum(X[..., :, :, None] * Y[..., None, :, :], axis=-2)


def applied(X: Float[Array, "... n m"], y: Float[Array, "... m"]) -> Float[Array, "... n"]:
    """`X y` of many small matrices and vectors."""
    return xp.sum(X * y[..., None, :], axis=-1)


def downward(tree: Branching, X: Array, joined: Callable = lambda a, b: a + b) -> Array:
    """X of each joint joined to all before it on its branch, from the ground on; the entries of X
    are those of the joints.
    """
    found = [X[tree.levels[0]]]
    for level, parents in zip(tree.levels[1:], tree.parents, strict=True):
        found.append(joined(found[-1][parents], X[level]))
    return xp.concatenate(found)[np.argsort(np.concatenate(tree.levels))]


def upward(tree: Branching, X: Array) -> Array:
    """Sums of X over each joint and all that it moves."""
    found = [X[tree.levels[-1]]]
    for level, parents in zip(tree.levels[-2::-1], tree.parents[::-1], strict=True):
        children = (np.arange(len(level))[:, None] == parents).astype(float)
        found.append(X[level] + xp.tensordot(children, found[-1], 1))
    return xp.concatenate(found[::-1])[np.argsort(np.concatenate(tree.levels))]


def motions(tree: Branching, q: Float[Array, " nq"], p) -> Float[Array, "n 4 4"]:
    """P of each joint, and of the ground, which comes last."""
    P = downward(tree, elementary(tree, q, p), composed)
    return xp.concatenate([P, xp.eye(4)[None]])


def composed(P: Float[Array, "n 4 4"], E: Float[Array, "n 4 4"]) -> Float[Array, "n 4 4"]:
    """`P E` of rigid motions."""
    R, x = P[:, :3, :3], P[:, :3, 3]
    return motion(times(R, E[:, :3, :3]), applied(R, E[:, :3, 3]) + x)


def elementary(tree: Branching, q: Float[Array, " nq"], p) -> Float[Array, "n 4 4"]:
    """e^(ξ̂ q) of each joint alone. The quaternion of a ball joint turns about its own axes, the
    angular parts of its twists.
    """
    twists, entries = tree.places(1, 3), tree.places(1, 4)
    scalar, ball = ([i for i, b in enumerate(tree.balls) if b is kind] for kind in (False, True))
    made = []
    if scalar:
        x = q[np.concatenate([entries[i] for i in scalar])]
        made.append(exponential(p["twist"][np.concatenate([twists[i] for i in scalar])], x))
    if ball:
        x, rate = (
            q[np.stack([entries[i] for i in ball])],
            p["twist"][np.stack([twists[i] for i in ball])],
        )
        center = 0.5 * xp.sum(xp.cross(rate[..., 3:], rate[..., :3]), axis=1)
        R = rotation_matrix(
            xp.concatenate([x[:, :1], xp.einsum("bkx,bk->bx", rate[..., 3:], x[:, 1:])], axis=1)
        )
        made.append(motion(R, center - applied(R, center)))
    return xp.concatenate(made)[np.argsort([*scalar, *ball])]


def screws(tree: Branching, P: Float[Array, "n 4 4"], p, about=None) -> Float[Array, "nv 6"]:
    """S about a point in space, the origin by default."""
    now = P[tree.joint_of]
    R, place = now[:, :3, :3], now[:, :3, 3] - (xp.zeros(3) if about is None else about)
    turning = applied(R, p["twist"][:, 3:])
    way = applied(R, p["twist"][:, :3]) + xp.cross(place, turning)
    return xp.concatenate([way, turning], axis=1)


class Moving(NamedTuple):
    """A tree where it is, about the place of its first body.

    Attributes:
        S: twist of each velocity, shape (nv, 6).
        inertia: (m, m d, J) of the bodies on each joint [kg, kg·m, kg·m²], J by `ROWS` and
            `COLUMNS`, shape (n, 10).
        own: of each joint with bodies m, shape (k, 1); the place d of its first body's center; the
            moment m d of all bodies about it; J about it in the axes of q = 0, by `ROWS` and
            `COLUMNS`; and R.
    """

    S: Float[Array, "nv 6"]
    inertia: Float[Array, "n 10"]
    own: tuple[Float[Array, "..."], ...]


def recursion(function: Callable) -> Callable:
    """A recursion along branches, whose native code is written out up to `MOST_WRITTEN_OUT`
    velocities: joints of one level lie anywhere.
    """
    out = written_out(function)

    @functools.wraps(function)
    def called(tree: Branching, *args):
        return (out if tree.nv <= MOST_WRITTEN_OUT else function)(tree, *args)

    return called


MOST_WRITTEN_OUT = 64
"""Inverse dynamics of Talos (32 joints), Solo12 and Panda take 3.5, 0.49 and 0.45 µs in loops over
64 elements and more, and 2.2, 0.32 and 0.29 written out."""


@recursion
def motions_apart(
    tree: Branching, pairs: tuple[tuple[int, int], ...], q: Float[Array, " nq"], p
) -> tuple[Float[Array, "k 4 4"], Float[Array, "k 4 4"]]:
    """P of the two joints of each pair, as the last joint that moves both of them sees it: what
    happens between two joints depends on no other coordinate.
    """
    ways = [tree.apart(i, j) for i, j in pairs]
    E = xp.concatenate([elementary(tree, q, p), xp.eye(4)[None]])

    def along(side: int):
        longest = max((len(way[side]) for way in ways), default=0)
        at = np.full((len(ways), longest), len(tree.parent))
        for row, way in zip(at, ways, strict=True):
            row[: len(way[side])] = way[side]
        return functools.reduce(lambda P, k: composed(P, E[k]), at.T[1:], E[at.T[0]])

    return along(0), along(1)


@recursion
def moving(tree: Branching, q: Float[Array, " nq"], p) -> Moving:
    """The tree at q, of the parameters of its bodies."""
    P, first = motions(tree, q, p), tree.first_bodies
    on, others = tree.on_joints
    # all bodies on a joint as one, about the center of its first one
    m, c = p["mass"], p["center"]
    near = c - c[first][tree.places_of_bodies]
    moment = others @ (m[:, None] * near)
    around = on @ p["inertia"][:, ROWS, COLUMNS] + others @ steiner(m[:, None] * near, near)
    mass = on @ m
    R, place = P[tree.carrying][:, :3, :3], P[tree.carrying][:, :3, 3]
    place = place + applied(R, c[first])
    # M and h are those about any point
    about = without_derivative(place[0])
    d, moment = place - about, applied(R, moment)
    total = moment + mass[:, None] * d
    half = times(R, around[:, FULL])
    J = xp.sum(half[:, ROWS] * R[:, COLUMNS], axis=-1) + steiner(total, d) + steiner(d, moment)
    inertia = xp.concatenate([mass[:, None], total, J], axis=1)
    own = mass[:, None], d, moment, around, R
    return Moving(screws(tree, P, p, about), xp.tensordot(tree.carriers, inertia, 1), own)


def steiner(x: Float[Array, "n 3"], y: Float[Array, "n 3"]) -> Float[Array, "n 6"]:
    """x · y − x yᵀ, by `ROWS` and `COLUMNS`, where that is symmetric."""
    return xp.sum(x * y, axis=1)[:, None] * (ROWS == COLUMNS) - x[:, ROWS] * y[:, COLUMNS]


def momentum(inertia: Float[Array, "n 10"], V: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    """`I V`."""
    m, first, J = inertia[:, :1], inertia[:, 1:4], inertia[:, 4:][:, FULL]
    v, w = V[:, :3], V[:, 3:]
    turning = applied(J, w) + xp.cross(first, v)
    return xp.concatenate([m * v + xp.cross(w, first), turning], axis=1)


@recursion
def mass_matrix(tree: Branching, at: Moving) -> Float[Array, "nv nv"]:
    """M [kg, kg·m, kg·m²]."""
    composite = upward(tree, at.inertia)[tree.joint_of]
    H = momentum(composite, at.S) @ at.S.T  # row: the farther joint
    farther = xp.asarray(tree.before)
    return farther * H + (farther.T * (1 - farther)) * H.T


def rates(
    tree: Branching,
    at: Moving,
    v: Float[Array, " nv"],
    acceleration: Float[Array, " nv"] | None,
    gravity: Float[Array, "3"],
) -> tuple[Float[Array, "n 6"], Float[Array, "n 6"]]:
    """V and A of each joint, A at v̇ = `acceleration`, or at 0 where it is None."""
    own = at.S * v[:, None]
    V = downward(tree, xp.tensordot(tree.owners, own, 1))
    turned = bracket(V[tree.joint_of], own)
    if acceleration is not None:
        turned = turned + at.S * acceleration[:, None]
    A = downward(tree, xp.tensordot(tree.owners, turned, 1))
    return V, A - xp.concatenate([gravity, xp.zeros(3)])


def wrench_rate(V: Float[Array, "n 6"], f: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    """`V ×* f`, the rate of a wrench that turns with V."""
    turning = V[:, 3:]
    spun = xp.cross(turning, f[:, :3])
    twisted = xp.cross(V[:, :3], f[:, :3]) + xp.cross(turning, f[:, 3:])
    return xp.concatenate([spun, twisted], axis=1)


@recursion
def inverse_dynamics(
    tree: Branching,
    at: Moving,
    v: Float[Array, " nv"],
    acceleration: Float[Array, " nv"] | None,
    gravity: Float[Array, "3"],
) -> Float[Array, " nv"]:
    """`M v̇ + h` [N·m, N] by Newton-Euler; the bias h, weights included, without an
    acceleration.
    """
    V, A = rates(tree, at, v, acceleration, gravity)
    wrench = xp.tensordot(tree.carriers, _wrench(at, V[tree.carrying], A[tree.carrying]), 1)
    return xp.sum(at.S * upward(tree, wrench)[tree.joint_of], axis=1)


def _wrench(at: Moving, V: Float[Array, "k 6"], A: Float[Array, "k 6"]) -> Float[Array, "k 6"]:
    """The wrench that moves the bodies on each joint, by the motion of their first one's center.
    In the bodies' own axes J has zeros, and needs no turning.
    """
    m, d, h, J, R = at.own
    (v, w), (a, turning) = xp.split(V, 2, axis=1), xp.split(A, 2, axis=1)
    a = a + xp.cross(turning, d) + xp.cross(w, v + xp.cross(w, d))
    back = xp.swapaxes(R, 1, 2)
    w_own, J = applied(back, w), J[:, FULL]
    spun = applied(J, applied(back, turning)) + xp.cross(w_own, applied(J, w_own))
    force = m * a + xp.cross(turning, h) + xp.cross(w, xp.cross(w, h))
    return xp.concatenate([force, applied(R, spun) + xp.cross(h, a) + xp.cross(d, force)], axis=1)
