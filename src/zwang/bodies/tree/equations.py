"""Kinematics and dynamics of a tree, by recursions along its branches, level by level.

    P_i = P_parent(i) e^(ξ̂ᵢ qᵢ)                    the motion of joint i since q = 0
    S_j = Ad_P ξ_j                                 twist of velocity j in space
    I_i = (m, m d, J)                              inertia of the bodies on joint i: J about the
                                                   point, d from there to the center of mass

M and `M v̇ + h` are recursions in the axes of each joint (`Joints`), which need neither P nor S.
For derivatives, twists and forces are vectors in space, (v, ω) and (force, moment), about one
point, the present place of the first body: far from it moments of inertia would lose their digits.
There inertias add, and recursions transform nothing. `p["twist"]` contains ξ = (velocity at the
origin, angular velocity) of every velocity at q = 0, in base axes; a ball joint has three, about
its axes through its center.

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
from zwang.bodies.screws.twist import bracket, exponential, hat, motion
from zwang.bodies.tree.branching import GROUND, Branching
from zwang.bodies.tree.joint_numbers import (
    COLUMNS,
    FULL,
    ROWS,
    applied,
    centers,
    times,
    with_joint_numbers,
)
from zwang.compile.hints import written_out
from zwang.inputs.arithmetic import xp
from zwang.inputs.arrays import without_derivative


def downward(tree: Branching, X: Array, joined: Callable = lambda a, b: a + b) -> Array:
    """Return X of each joint combined with all joints before it on its branch, from the ground on;
    the entries of X are those of the joints.
    """
    found = [X[tree.levels[0]]]
    for level, parents in zip(tree.levels[1:], tree.parents, strict=True):
        found.append(joined(found[-1][parents], X[level]))
    return xp.concatenate(found)[tree.by_levels]


def upward(tree: Branching, X: Array) -> Array:
    """Return the sums of X over each joint and all joints that it moves."""
    found = [X[tree.levels[-1]]]
    for level, onto in zip(tree.levels[-2::-1], tree.onto_parents[::-1], strict=True):
        found.append(X[level] + xp.tensordot(onto, found[-1], 1))
    return xp.concatenate(found[::-1])[tree.by_levels]


def motions(tree: Branching, q: Float[Array, " nq"], p) -> Float[Array, "n 4 4"]:
    """Return P of each joint, and of the ground, which comes last."""
    P = downward(tree, elementary(tree, q, p), composed)
    return xp.concatenate([P, xp.eye(4)[None]])


def composed(P: Float[Array, "n 4 4"], E: Float[Array, "n 4 4"]) -> Float[Array, "n 4 4"]:
    """Return `P E` of rigid motions."""
    R, x = P[:, :3, :3], P[:, :3, 3]
    return motion(times(R, E[:, :3, :3]), applied(R, E[:, :3, 3]) + x)


def elementary(tree: Branching, q: Float[Array, " nq"], p) -> Float[Array, "n 4 4"]:
    """Return e^(ξ̂ q) of each joint alone. The quaternion of a ball joint rotates about its own
    axes, the angular parts of its twists.
    """
    twists, entries = tree.places(1, 3), tree.places(1, 4)
    (scalar, ball), made = tree.kinds, []
    if scalar:
        x = q[np.concatenate([entries[i] for i in scalar])]
        made.append(exponential(p["twist"][tree.scalar_velocities], x))
    if ball:
        x, rate = (
            q[np.stack([entries[i] for i in ball])],
            p["twist"][np.stack([twists[i] for i in ball])],
        )
        center = centers(rate)
        R = _ball_rotation(x, rate[..., 3:])
        made.append(motion(R, center - applied(R, center)))
    return xp.concatenate(made)[np.argsort([*scalar, *ball])]


def screws(tree: Branching, P: Float[Array, "n 4 4"], p, about=None) -> Float[Array, "nv 6"]:
    """Return S about a point in space, the origin by default."""
    now = P[tree.joint_of]
    R, place = now[:, :3, :3], now[:, :3, 3] - (xp.zeros(3) if about is None else about)
    turning = applied(R, p["twist"][:, 3:])
    way = applied(R, p["twist"][:, :3]) + xp.cross(place, turning)
    return xp.concatenate([way, turning], axis=1)


class Moving(NamedTuple):
    """A tree at its present coordinates, about the place of its first body.

    Attributes:
        S: twist of each velocity, shape (nv, 6).
        inertia: (m, m d, J) of the bodies on each joint [kg, kg·m, kg·m²], J by `ROWS` and
            `COLUMNS`, shape (n, 10).
    """

    S: Float[Array, "nv 6"]
    inertia: Float[Array, "n 10"]


def recursion(function: Callable) -> Callable:
    """Return a recursion along branches whose native code is unrolled up to `MOST_WRITTEN_OUT`
    velocities, because joints of one level are not contiguous.
    """
    out = written_out(function)

    @functools.wraps(function)
    def called(tree: Branching, *args):
        return (out if tree.nv <= MOST_WRITTEN_OUT else function)(tree, *args)

    return called


MOST_WRITTEN_OUT = 64
"""Number of velocities up to which recursions are unrolled: inverse dynamics of Talos (32 joints),
Solo12 and Panda take 3.5, 0.49 and 0.45 µs in loops over 64 elements and more, and 2.2, 0.32 and
0.29 unrolled."""


@recursion
def moving(tree: Branching, q: Float[Array, " nq"], p) -> Moving:
    """Return the tree at q, from the parameters of its bodies."""
    P, first = motions(tree, q, p), tree.first_bodies
    on = tree.on_joints[tree.carrying]
    others = on.copy()
    others[np.arange(len(on)), first] = 0.0
    # all bodies on a joint as one, about the center of its first one
    m, c = p["mass"], p["center"]
    near = c - c[first][tree.places_of_bodies]
    moment = others @ (m[:, None] * near)
    around = on @ p["inertia"][:, ROWS, COLUMNS] + others @ steiner(m[:, None] * near, near)
    mass = on @ m
    R, place = P[tree.carrying][:, :3, :3], P[tree.carrying][:, :3, 3]
    place = place + applied(R, c[first])
    # M is that about any point
    about = without_derivative(place[0])
    d, moment = place - about, applied(R, moment)
    total = moment + mass[:, None] * d
    half = times(R, around[:, FULL])
    J = xp.sum(half[:, ROWS] * R[:, COLUMNS], axis=-1) + steiner(total, d) + steiner(d, moment)
    inertia = xp.concatenate([mass[:, None], total, J], axis=1)
    return Moving(screws(tree, P, p, about), xp.tensordot(tree.carriers, inertia, 1))


def steiner(x: Float[Array, "n 3"], y: Float[Array, "n 3"]) -> Float[Array, "n 6"]:
    """Return x · y − x yᵀ, by `ROWS` and `COLUMNS`, where that is symmetric."""
    return xp.sum(x * y, axis=1)[:, None] * (ROWS == COLUMNS) - x[:, ROWS] * y[:, COLUMNS]


def momentum(inertia: Float[Array, "n 10"], V: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    """Return `I V`."""
    m, first, J = inertia[:, :1], inertia[:, 1:4], inertia[:, 4:][:, FULL]
    v, w = V[:, :3], V[:, 3:]
    turning = applied(J, w) + xp.cross(first, v)
    return xp.concatenate([m * v + xp.cross(w, first), turning], axis=1)


def rates(
    tree: Branching,
    at: Moving,
    v: Float[Array, " nv"],
    acceleration: Float[Array, " nv"] | None,
    gravity: Float[Array, "3"],
) -> tuple[Float[Array, "n 6"], Float[Array, "n 6"]]:
    """Return V and A of each joint, A at v̇ = `acceleration`, or at 0 if it is None."""
    own = at.S * v[:, None]
    V = downward(tree, xp.tensordot(tree.owners, own, 1))
    turned = bracket(V[tree.joint_of], own)
    if acceleration is not None:
        turned = turned + at.S * acceleration[:, None]
    A = downward(tree, xp.tensordot(tree.owners, turned, 1))
    return V, A - xp.concatenate([gravity, xp.zeros(3)])


def wrench_rate(V: Float[Array, "n 6"], f: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    """Return `V ×* f`, the rate of a wrench that rotates with V."""
    turning = V[:, 3:]
    spun = xp.cross(turning, f[:, :3])
    twisted = xp.cross(V[:, :3], f[:, :3]) + xp.cross(turning, f[:, 3:])
    return xp.concatenate([spun, twisted], axis=1)


class Joints(NamedTuple):
    """A tree at its present coordinates, each joint in axes that move with it
    (`zwang.bodies.tree.joint_numbers`).

    Attributes:
        E: rotation from these axes to those of the joint before, shape (n, 3, 3).
        d: from the point L of the joint before to its own, in the axes of that joint, shape (n, 3).
        axis, way: axis u of each velocity, and motion s along it, shapes (nv, 3).
        mass, first, second: m, ∫ r dm and ∫ r rᵀ dm of the bodies on each joint, about L, shapes
            (n,), (n, 3), (n, 3, 3).
    """

    E: Float[Array, "n 3 3"]
    d: Float[Array, "n 3"]
    axis: Float[Array, "nv 3"]
    way: Float[Array, "nv 3"]
    mass: Float[Array, " n"]
    first: Float[Array, "n 3"]
    second: Float[Array, "n 3 3"]


def joints(tree: Branching, q: Float[Array, " nq"], p) -> Joints:
    """Return the joints of a tree at q."""
    known = with_joint_numbers(tree, p)["joints"]
    along = q[np.array([x[0] for x in tree.places(1, 4)])]
    d = known["apart"] + known["slide"] * along[:, None]
    rest = (known[x] for x in ("axis", "way", "mass", "first", "second"))
    return Joints(rotations(tree, q, known), d, *rest)


def rotations(tree: Branching, q: Float[Array, " nq"], known) -> Float[Array, "n 3 3"]:
    """Return the rotation of each joint alone, from its axes to those of the joint before."""
    scalar, ball = tree.kinds
    places, made = tree.places(1, 4), []
    if scalar:
        angle = q[np.concatenate([places[i] for i in scalar])][:, None, None]
        turning = hat(known["axis"][tree.scalar_velocities])
        made.append(np.eye(3) + xp.sin(angle) * turning + (1 - xp.cos(angle)) * known["square"])
    if ball:
        axes = known["axis"][np.stack([tree.places(1, 3)[i] for i in ball])]
        made.append(_ball_rotation(q[np.stack([places[i] for i in ball])], axes))
    E = xp.concatenate(made)[np.argsort([*scalar, *ball])]
    return E + times(known["turn"], E) if "turn" in known else E


def _ball_rotation(x: Float[Array, "n 4"], axes: Float[Array, "n 3 3"]) -> Float[Array, "n 3 3"]:
    """Return the rotation of a quaternion about axes, which are rows."""
    turned = xp.einsum("bkx,bk->bx", axes, x[:, 1:])
    return rotation_matrix(xp.concatenate([x[:, :1], turned], axis=1))


@recursion
def mass_matrix(tree: Branching, q: Float[Array, " nq"], p) -> Float[Array, "nv nv"]:
    """Return M [kg·m², kg·m, kg] by composite bodies: the wrench that a joint's acceleration
    requires, along the joints before it.

        h ← h + E h_c + m_c d_c,    Θ ← Θ + E Θ_c Eᵀ + E h_c d_cᵀ + d_c (E h_c)ᵀ + m_c d_c d_cᵀ
        F = u × h + m s,    N = (tr Θ − Θ) u + h × s,    M_ij = u_i · N_j + s_i · F_j
    """
    at, levels, of = joints(tree, q, p), tree.levels, tree.joint_of
    whole = [(at.mass[x], at.first[x], at.second[x]) for x in levels]
    for k in range(len(levels) - 1, 0, -1):
        level, (m, h, second) = levels[k], whole[k]
        E, d = at.E[level], at.d[level]
        h, second = applied(E, h), times(times(E, second), xp.swapaxes(E, 1, 2))
        arm = h + 0.5 * m[:, None] * d
        both = arm[:, :, None] * d[:, None, :]
        carried = m, h + m[:, None] * d, second + both + xp.swapaxes(both, 1, 2)
        onto = tree.onto_parents[k - 1]
        pairs = zip(whole[k - 1], carried, strict=True)
        whole[k - 1] = tuple(x + xp.tensordot(onto, y, 1) for x, y in pairs)

    order = tree.by_levels[of]
    m, h, second = (xp.concatenate(x)[order] for x in zip(*whole, strict=True))
    u, s = at.axis, at.way
    turned = xp.trace(second, axis1=1, axis2=2)[:, None] * u - applied(second, u)
    force, moment = xp.cross(u, h) + m[:, None] * s, turned + xp.cross(h, s)

    # entries in the order of their computation, on the path from each velocity to the ground
    found, places = [xp.zeros(1)], np.zeros((tree.nv, tree.nv), int)
    moving, here, before = np.arange(tree.nv), of, np.array(tree.parent)
    while len(moving):
        i, j = np.nonzero((here[:, None] == of) & (moving[:, None] >= np.arange(tree.nv)))
        count = sum(len(x) for x in found)
        places[moving[i], j] = places[j, moving[i]] = count + np.arange(len(i))
        found.append(xp.sum(u[j] * moment[i], axis=1) + xp.sum(s[j] * force[i], axis=1))
        on = np.flatnonzero(before[here] != GROUND)
        force, moment = (applied(at.E[here[on]], x[on]) for x in (force, moment))
        moment = moment + xp.cross(at.d[here[on]], force)
        moving, here = moving[on], before[here[on]]
    return xp.concatenate(found)[places]


@recursion
def inverse_dynamics(
    tree: Branching,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    acceleration: Float[Array, " nv"] | None,
    p,
) -> Float[Array, " nv"]:
    """Return `M v̇ + h` [N·m, N] by Newton-Euler; without an acceleration the bias h, weights
    included.

    About the point of each joint, with p the joint before, c those after it, and Γ = α̂ + ω̂²
    (`Joints`):

        ω = Eᵀω_p + u q̇,    α = Eᵀα_p + ω × u q̇ + u q̈
        a = Eᵀ(a_p + Γ_p d) + 2 ω × s q̇ + s q̈
        F = m a + Γ h + Σ E F_c,    N = h × a + [Γ Θ] + Σ (E N_c + d_c × E F_c)
        τ = u · N + s · F,          [X] = (X₃₂ − X₂₃, X₁₃ − X₃₁, X₂₁ − X₁₂)
    """
    E, d, axis, way, *bodies = joints(tree, q, p)
    mass, first, second = bodies
    back = xp.swapaxes(E, 1, 2)
    own = lambda x, rate: xp.tensordot(tree.owners, x * rate[:, None], 1)
    spin, slide, none = own(axis, v), own(way, v), xp.zeros((1, 3))
    faster, further = (
        (none, none) if acceleration is None else (own(x, acceleration) for x in (axis, way))
    )
    given = none, none, -p["gravity"][None]
    levels, gathered = tree.levels, []
    for k, level in enumerate(levels):
        if k:
            w, turning, a = (x[tree.parents[k - 1]] for x in given)
            a = a + applied(turned[tree.parents[k - 1]], d[level])
        else:
            w, turning, a = (xp.broadcast_to(x, (len(level), 3)) for x in given)
        w, turning, a = (applied(back[level], x) for x in (w, turning, a))
        turning, a = turning + xp.cross(w, spin[level]), a + 2 * xp.cross(w, slide[level])
        if acceleration is not None:
            turning, a = turning + faster[level], a + further[level]
        w, h = w + spin[level], first[level]
        given, turned = (w, turning, a), hat(turning) + times(hat(w), hat(w))
        force = mass[level][:, None] * a + applied(turned, h)
        gathered.append((force, xp.cross(h, a) + twice_skew(times(turned, second[level]))))

    for k in range(len(levels) - 1, 0, -1):
        level, (force, moment) = levels[k], gathered[k]
        force, moment = (applied(E[level], x) for x in (force, moment))
        moment = moment + xp.cross(d[level], force)
        onto = tree.onto_parents[k - 1]
        both = zip(gathered[k - 1], (force, moment), strict=True)
        gathered[k - 1] = tuple(x + xp.tensordot(onto, y, 1) for x, y in both)

    order = tree.by_levels[tree.joint_of]
    force, moment = (xp.concatenate(x)[order] for x in zip(*gathered, strict=True))
    return xp.sum(axis * moment, axis=1) + xp.sum(way * force, axis=1)


def twice_skew(X: Float[Array, "n 3 3"]) -> Float[Array, "n 3"]:
    """Return the vector of `X − Xᵀ`."""
    after, last = [1, 2, 0], [2, 0, 1]
    return X[:, last, after] - X[:, after, last]
