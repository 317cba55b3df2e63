"""Relative poses of the ends of loops, in the axes of the last joint that moves both bodies: they
depend on no coordinate before it.

    R_k = R_(k−1) E_k,   x_k = x_(k−1) + R_(k−1) d_k      along the joints k between
    Ṙ_k = ω̂_k R_k,       ω_k = ω_(k−1) + R_k u_k q̇_k
    ẋ_k = ẋ_(k−1) + ω_(k−1) × (x_k − x_(k−1)) + R_k s_k q̇_k

with E, d, u and s of `zwang.bodies.tree.equations.Joints`. JAX differentiates them by these rates.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.screws.twist import hat, motion
from zwang.bodies.tree.branching import GROUND, Branching
from zwang.bodies.tree.derivatives import along_velocities, filled
from zwang.bodies.tree.equations import (
    applied,
    composed,
    joints,
    recursion,
    times,
    with_joint_numbers,
)
from zwang.compile.derivative import CustomDerivative
from zwang.inputs.arithmetic import xp

Chains = tuple[tuple[int, ...], ...]
"""Joints in a row, several rows of the same length, shorter ones padded with `GROUND`."""


def end_frames(
    tree: Branching, ends: Sequence[tuple[int, int]], first, second, p
) -> Float[Array, "2n 4 4"]:
    """Return frames on pairs of bodies, first those of the first bodies, about the point of the
    joint that carries each body, in its axes.

    Args:
        ends: pairs of bodies by their indices, or `GROUND`.
        first, second: in the bodies' own frames, shapes (n, 4, 4).
    """
    (body, joint), known = _ends(tree, ends), with_joint_numbers(tree, p)
    point = xp.concatenate([known["joints"]["point"], xp.zeros((1, 3))])[joint]
    home = xp.concatenate([p["frame"], xp.eye(4)[None]])[body]
    home = motion(home[:, :3, :3], home[:, :3, 3] - point)
    if "home" in known["joints"]:
        B = xp.concatenate([known["joints"]["home"], xp.eye(3)[None]])[joint]
        home = composed(motion(xp.swapaxes(B, 1, 2), xp.zeros((len(B), 3))), home)
    return composed(home, xp.concatenate([first, second]))


def relative_poses(
    tree: Branching,
    ends: Sequence[tuple[int, int]],
    q: Float[Array, " nq"],
    frames: Float[Array, "2n 4 4"],
    p,
) -> tuple[Float[Array, "n 3"], Float[Array, "n 3 3"]]:
    """Return place and attitude of the second frame of each pair of bodies in the axes of the first
    (`end_frames`).
    """
    _, joint = _ends(tree, ends)
    ways = [tree.apart(int(i), int(j)) for i, j in joint.reshape(2, -1).T]
    depth = max(1, *(len(x) for way in ways for x in way))
    chains = [[*way[k], *(GROUND,) * (depth - len(way[k]))] for k in (0, 1) for way in ways]
    known = with_joint_numbers(tree, p)
    return _relative(tree, tuple(map(tuple, chains)), q, frames, known)


def _ends(tree: Branching, ends: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return bodies, and the joints that carry them, those of the first bodies first."""
    body = np.array(ends).T.ravel()
    return body, np.where(body == GROUND, GROUND, np.array(tree.bodies)[body])


@recursion
def _posed(tree: Branching, chains: Chains, q, frames, p):
    place, A = _at_ends(along(tree, chains, q, p), frames)
    n = len(chains) // 2
    back = jnp.swapaxes(A[:n], 1, 2)
    return applied(back, place[n:] - place[:n]), times(back, A[n:])


def _at_ends(at, frames) -> tuple[Float[Array, "2n 3"], Float[Array, "2n 3 3"]]:
    R, x = at[0][:, -1], at[1][:, -1]
    return x + applied(R, frames[:, :3, 3]), times(R, frames[:, :3, :3])


_relative = CustomDerivative(_posed)


@_relative.def_jvp
def _(primals, tangents):
    """Return Ḋ = Aᵀ (v_b − v_a − ω_a × (x_b − x_a)) and Q̇ = Ω̂ Q, Ω = Aᵀ (ω_b − ω_a)."""
    tree, chains, q, frames, p = primals
    _, _, dq, *others = tangents
    found = _relative(*primals)
    change = jax.tree_util.tree_map(jnp.zeros_like, found)
    if dq is not None:
        change = _moving(tree, chains, q, frames, along_velocities(tree, q, dq), p)
    if jax.tree_util.tree_leaves(others):
        given, moved = [frames, p], filled(others, [frames, p])
        more = jax.jvp(lambda x: _posed(tree, chains, q, *x), (given,), (moved,))[1]
        change = jax.tree_util.tree_map(jnp.add, change, more)
    return found, change


@recursion
def _moving(tree: Branching, chains: Chains, q, frames, v, p):
    """Return Ḋ and Q̇ along velocities."""
    at = along(tree, chains, q, p)
    w, moving = (x[:, -1] for x in _rates(tree, chains, at, v, p))
    (place, A), n = _at_ends(at, frames), len(chains) // 2
    moving = moving + jnp.cross(w, place - at[1][:, -1])
    back = jnp.swapaxes(A[:n], 1, 2)
    swung = moving[n:] - moving[:n] - jnp.cross(w[:n], place[n:] - place[:n])
    turning = applied(back, w[n:] - w[:n])
    return applied(back, swung), times(hat(turning), times(back, A[n:]))


@recursion
def _along(
    tree: Branching, chains: Chains, q: Float[Array, " nq"], p
) -> tuple[Float[Array, "n depth 3 3"], Float[Array, "n depth 3"]]:
    """Return R and x of all joints of chains; padding does not move."""
    at = joints(tree, q, p)
    E = jnp.concatenate([at.E, jnp.eye(3)[None]])
    d = jnp.concatenate([at.d, jnp.zeros((1, 3))])
    k = np.array(chains)
    R, x = [E[k[:, 0]]], [d[k[:, 0]]]
    for i in range(1, k.shape[1]):
        x.append(x[-1] + applied(R[-1], d[k[:, i]]))
        R.append(times(R[-1], E[k[:, i]]))
    return jnp.stack(R, axis=1), jnp.stack(x, axis=1)


along = CustomDerivative(_along)


@along.def_jvp
def _(primals, tangents):
    tree, chains, q, p = primals
    _, _, dq, dp = tangents
    R, x = along(*primals)
    change = jnp.zeros_like(R), jnp.zeros_like(x)
    if dq is not None:
        w, moving = _rates(tree, chains, (R, x), along_velocities(tree, q, dq), p)
        turned = times(hat(w).reshape(-1, 3, 3), R.reshape(-1, 3, 3))
        change = turned.reshape(R.shape), moving
    if jax.tree_util.tree_leaves(dp):
        more = jax.jvp(lambda p: _along(tree, chains, q, p), (p,), (filled(dp, p),))[1]
        change = jax.tree_util.tree_map(jnp.add, change, more)
    return (R, x), change


@recursion
def _rates(tree: Branching, chains: Chains, at, v: Float[Array, " nv"], p):
    """Return ω and ẋ of all joints of chains along velocities."""
    (R, x), k = at, np.array(chains)
    none = jnp.zeros((1, 3))
    own = lambda y: jnp.concatenate([jnp.tensordot(tree.owners, y * v[:, None], 1), none])[k]
    spin, slide = own(p["joints"]["axis"]), own(p["joints"]["way"])
    w, moving = [applied(R[:, 0], spin[:, 0])], [applied(R[:, 0], slide[:, 0])]
    for i in range(1, k.shape[1]):
        swung = jnp.cross(w[-1], x[:, i] - x[:, i - 1])
        moving.append(moving[-1] + swung + applied(R[:, i], slide[:, i]))
        w.append(w[-1] + applied(R[:, i], spin[:, i]))
    return jnp.stack(w, axis=1), jnp.stack(moving, axis=1)
