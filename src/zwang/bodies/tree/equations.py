"""Kinematics and dynamics of a tree, over all joints and bodies at once: a program has the same
size for any number of them.

    P_i = P_parent(i) e^(ξ̂ᵢ qᵢ)                     the motion of joint i since q = 0
    Ŝ_j = P ξ̂_j P⁻¹                                 twist of velocity j in space
    J_b = P J⁰_b Pᵀ,    J = ∫ x xᵀ dm               of a body, x = (place, 1)
    V̂_b = Σ_j c_bj Ŝ_j v_j                          c_bj = 1 where velocity j moves body b, else 0
    Ŵ_b = Σ_j c_bj [V̂_(j), Ŝ_j] v_j + V̂_b² − ĝ      Ŵ x: acceleration of points at v̇ = 0,
                                                    less gravity
    M_ij = ⟨Ŝ_i, Ŝ_j Σ_b c_bj J_b⟩                   where i comes before j (composite rigid bodies)
    h_j = ⟨Ŝ_j, Σ_b c_bj Ŵ_b J_b⟩                    bias, M v̇ + h = F (Newton-Euler, by branches)

The P_i of all joints take log₂(depth) products.

All are 4 × 4 matrices, in space, with ⟨X, Y⟩ = Σ XY over entries and V̂_(j) that of the joint of
velocity j: a point x of a body moves with ẋ = V̂ x, and virtual work ∫ δxᵀẍ dm gives M and h at
once. Sums along branches are products with c, so that a whole evaluation is some twenty operations
on arrays. `p["twist"]` holds ξ = (velocity at the origin, angular velocity) of every velocity at q
= 0, in base axes; a ball joint has three, about its axes through its center.

Reference: Featherstone (2008), Rigid Body Dynamics Algorithms, chapters 5 and 6 (what is summed
    along which branches); Uicker (1965) (matrices of 4 × 4); Park, Bobrow and Ploen (1995), Int. J.
    Robotics Research 14, 609-618 (products of exponentials).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, Float

from zwang.arithmetic import xp
from zwang.bodies.rotation import rotation_matrix
from zwang.bodies.screws.twist import inverse, motion
from zwang.bodies.tree.branching import Branching


def _generators() -> np.ndarray:
    """ξ̂ of the six unit twists."""
    made = np.zeros((6, 4, 4))
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        made[k, k, 3] = 1.0
        made[3 + k, j, i], made[3 + k, i, j] = 1.0, -1.0
    return made


GENERATORS = _generators()


def times(X: Float[Array, "... n m"], Y: Float[Array, "... m k"]) -> Float[Array, "... n k"]:
    """`X Y` of many small matrices; written as sums it takes a fifth of the time of XLA's batched
    product.
    """
    return xp.sum(X[..., :, :, None] * Y[..., None, :, :], axis=-2)


def hat(twist: Float[Array, "... 6"]) -> Float[Array, "... 4 4"]:
    """ξ̂ = [[ω̂, v], [0, 0]]."""
    return xp.tensordot(twist, xp.asarray(GENERATORS), 1)


def unhat(matrix: Float[Array, "... 4 4"]) -> Float[Array, "... 6"]:
    """ξ of ξ̂."""
    return xp.tensordot(
        matrix, GENERATORS / np.array([1, 1, 1, 2, 2, 2])[:, None, None], [[-2, -1], [1, 2]]
    )


def motions(tree: Branching, q: Float[Array, " nq"], p) -> Float[Array, "n 4 4"]:
    """P of each joint, and of the ground, which comes last."""
    P = elementary(tree, q, p)
    for far in tree.leaps:
        P = times(P[far], P)
    return P


def elementary(tree: Branching, q: Float[Array, " nq"], p) -> Float[Array, "n 4 4"]:
    """e^(ξ̂ q) of each joint alone, and of the ground, which does not move.

        I + sin q ξ̂ + (1 − cos q) ξ̂² + (q − sin q)(ξ̂ + ξ̂³)      for ‖ω‖ = 1 and for ω = 0

    The quaternion of a ball joint turns about its own axes, the angular parts of its twists.
    """
    twists, entries = tree.places(1, 3), tree.places(1, 4)
    scalar, ball = ([i for i, b in enumerate(tree.balls) if b is kind] for kind in (False, True))
    made = [xp.eye(4)[None]]
    if scalar:
        x = q[np.concatenate([entries[i] for i in scalar])][:, None, None]
        X = hat(p["twist"][np.concatenate([twists[i] for i in scalar])])
        square, s = times(X, X), xp.sin(x)
        made.append(xp.eye(4) + s * X + (1 - xp.cos(x)) * square + (x - s) * (X + times(square, X)))
    if ball:
        x, rate = (
            q[np.stack([entries[i] for i in ball])],
            p["twist"][np.stack([twists[i] for i in ball])],
        )
        center = 0.5 * xp.sum(xp.cross(rate[..., 3:], rate[..., :3]), axis=1)
        R = rotation_matrix(
            xp.concatenate([x[:, :1], xp.einsum("bkx,bk->bx", rate[..., 3:], x[:, 1:])], axis=1)
        )
        made.append(motion(R, center - xp.einsum("bxy,by->bx", R, center)))
    return xp.concatenate(made)[np.argsort([len(tree.parent), *scalar, *ball])]


def screws(tree: Branching, P: Float[Array, "n 4 4"], p) -> Float[Array, "nv 4 4"]:
    """Ŝ."""
    now = P[tree.joint_of]
    return times(times(now, hat(p["twist"])), inverse(now))


def moments(tree: Branching, P: Float[Array, "n 4 4"], p) -> Float[Array, "nb 4 4"]:
    """J of each body [kg·m², kg·m, kg], from mass, center of mass and inertia about that at q = 0,
    in base axes.
    """
    m, c, inertia = p["mass"], p["center"], p["inertia"]
    spread = 0.5 * xp.trace(inertia, axis1=1, axis2=2)[:, None, None] * xp.eye(3) - inertia
    place = xp.concatenate([c, xp.ones((len(m), 1))], axis=1)
    home = (
        xp.pad(spread, ((0, 0), (0, 1), (0, 1)))
        + m[:, None, None] * place[:, :, None] * place[:, None, :]
    )
    now = P[np.array(tree.bodies)]
    return times(times(now, home), xp.swapaxes(now, 1, 2))


def along(weights: np.ndarray, X: Float[Array, "n 4 4"]) -> Float[Array, "m 4 4"]:
    """Sums along branches."""
    return xp.tensordot(weights, X, 1)


def mass_matrix(
    tree: Branching, S: Float[Array, "nv 4 4"], J: Float[Array, "nb 4 4"]
) -> Float[Array, "nv nv"]:
    """M [kg, kg·m, kg·m²]."""
    moved = times(S, along(tree.carried.T, J))
    H = moved.reshape(len(S), 16) @ S.reshape(len(S), 16).T  # row: the farther joint
    farther = xp.asarray(tree.before)
    return farther * H + (farther.T * (1 - farther)) * H.T


def bias(
    tree: Branching,
    S: Float[Array, "nv 4 4"],
    J: Float[Array, "nb 4 4"],
    v: Float[Array, " nv"],
    gravity: Float[Array, "3"],
) -> Float[Array, " nv"]:
    """h [N·m, N]: the forces that keep v̇ = 0, weights included."""
    rates = S * v[:, None, None]
    here = along(tree.before, rates)
    V = along(tree.carried, rates)
    W = (
        along(tree.carried, times(here, rates) - times(rates, here))
        + times(V, V)
        - hat(xp.concatenate([gravity, xp.zeros(3)]))
    )
    return xp.sum(S * along(tree.carried.T, times(W, J)), axis=(1, 2))
