"""Derivatives of a tree's inverse dynamics in closed form, by one recursion, and `joint_forces`,
inverse dynamics for which JAX uses these derivatives.

    ψ_j = V_p × S_j,   ξ_j = A_p × S_j + V_p × ψ_j,   χ_j = V_j × S_j + ψ_j     p the joint before j
    B X = X ×* I V + V ×* I X − I (V × X) = (2 y × p, G y),   y the angular part of X
    G = −2 (ĥ v̂ + ŵ (½ tr J − J)),   (p, ·) = I V,   V = (v, w),   h = m d

    j after i:            ∂τ_i/∂q_j = S_i · (S_j ×* F_j + Iᶜ_j ξ_j + Bᶜ_j ψ_j)
                          ∂τ_i/∂v_j = S_i · (Iᶜ_j χ_j + Bᶜ_j S_j)
    i after j, or on it:  ∂τ_i/∂q_j = S_i · (Iᶜ_i ξ_j + Bᶜ_i ψ_j)
                          ∂τ_i/∂v_j = S_i · (Iᶜ_i χ_j + Bᶜ_i S_j)

with ᶜ and F for sums over everything that a joint moves. A change of q_j rotates all of this by
S_j; the remaining change of a wrench is that due to the changes of V by ψ_j and of A by ξ_j − V ×
ψ_j.

Reference: Carpentier and Mansard (2018), Analytical derivatives of rigid body dynamics algorithms,
    Robotics: Science and Systems XIV. B has no other entries than p and G by Jacobi's identity.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies.rotation import rate_map
from zwang.bodies.screws.twist import bracket, hat
from zwang.bodies.tree.branching import Branching
from zwang.bodies.tree.equations import (
    FULL,
    Moving,
    applied,
    inverse_dynamics,
    momentum,
    moving,
    rates,
    recursion,
    times,
    upward,
    wrench_rate,
)
from zwang.compile.derivative import CustomDerivative
from zwang.inputs.arithmetic import xp


@recursion
def derivatives(
    tree: Branching,
    at: Moving,
    v: Float[Array, " nv"],
    acceleration: Float[Array, " nv"],
    gravity: Float[Array, "3"],
) -> tuple[Float[Array, "nv nv"], Float[Array, "nv nv"]]:
    """Return ∂(M v̇ + h)/∂q, along velocities, and ∂(M v̇ + h)/∂v."""
    S, joint, before = at.S, tree.joint_of, np.array(tree.parent)[tree.joint_of]
    V, A = rates(tree, at, v, acceleration, gravity)
    # the ground, whose index is −1, comes last
    at_rest, falling = xp.zeros((1, 6)), -xp.concatenate([gravity, xp.zeros(3)])[None]
    V_before = xp.concatenate([V, at_rest])[before]
    A_before = xp.concatenate([A, falling])[before]
    psi = bracket(V_before, S)
    xi = bracket(A_before, S) + bracket(V_before, psi)
    chi = bracket(V[joint], S) + psi

    moved = momentum(at.inertia, V)
    force = momentum(at.inertia, A) + wrench_rate(V, moved)
    sums = [at.inertia, force, 2 * moved[:, :3], _gyration(at.inertia, V).reshape(-1, 9)]
    carried = upward(tree, xp.concatenate(sums, axis=1))[joint]
    inertia, force, double, turned = xp.split(carried, (10, 16, 19), axis=1)
    G = turned.reshape(-1, 3, 3)

    def coriolis(X):
        return xp.concatenate([xp.cross(X[:, 3:], double), applied(G, X[:, 3:])], axis=1)

    heavy = momentum(inertia, S)
    transposed = xp.cross(double, S[:, :3]) + applied(xp.swapaxes(G, 1, 2), S[:, 3:])
    behind = xp.asarray(tree.before)  # row: the farther joint

    def pairs(of_inertia, of_coriolis, wrench):
        below = heavy @ of_inertia.T + transposed @ of_coriolis[:, 3:].T
        return behind * below + (behind.T * (1 - behind)) * (S @ wrench.T)

    return (
        pairs(xi, psi, wrench_rate(S, force) + momentum(inertia, xi) + coriolis(psi)),
        pairs(chi, S, momentum(inertia, chi) + coriolis(S)),
    )


def _gyration(inertia: Float[Array, "n 10"], V: Float[Array, "n 6"]) -> Float[Array, "n 3 3"]:
    """Return G of each joint's own bodies."""
    first, J = inertia[:, 1:4], inertia[:, 4:][:, FULL]
    second = 0.5 * xp.trace(J, axis1=1, axis2=2)[:, None, None] * xp.eye(3) - J
    return -2 * (times(hat(first), hat(V[:, :3])) + times(hat(V[:, 3:]), second))


@CustomDerivative
def joint_forces(tree: Branching, q, v, acceleration, p):
    """Return `M v̇ + h` without armature. It is differentiated in closed form with respect to q, v
    and v̇, and by JAX with respect to the parameters.
    """
    return inverse_dynamics(tree, q, v, acceleration, p)


@joint_forces.def_jvp
def _(primals, tangents):
    tree, q, v, acceleration, p = primals
    _, dq, dv, da, dp = tangents
    found = joint_forces(*primals)
    change = jnp.zeros_like(found)
    if dq is not None or dv is not None:
        by_q, by_v = derivatives(tree, moving(tree, q, p), v, acceleration, p["gravity"])
        change = change if dq is None else change + by_q @ along_velocities(tree, q, dq)
        change = change if dv is None else change + by_v @ dv
    if da is not None:
        nothing = {**p, "gravity": jnp.zeros(3)}
        change = change + joint_forces(tree, q, jnp.zeros_like(found), da, nothing)
    if jax.tree_util.tree_leaves(dp):

        def of_parameters(x):
            return inverse_dynamics(tree, q, v, acceleration, x)

        change = change + jax.jvp(of_parameters, (p,), (filled(dp, p),))[1]
    return found, change


def along_velocities(tree: Branching, q: Float[Array, " nq"], dq: Float[Array, " nq"]):
    """Return the velocities of a change of coordinates, shape (nv,); a change of the length of a
    quaternion, on which nothing depends, has no velocity.
    """
    made = []
    for at, is_ball in zip(tree.places(1, 4), tree.balls, strict=True):
        x, dx = q[at], dq[at]
        made.append(4 * (rate_map(x).T @ dx) / (x @ x) if is_ball else dx)
    return jnp.concatenate(made)


def filled(changes, given):
    """Return tangents with zeros for those that are None."""
    zero = lambda dx, x: jnp.zeros_like(x) if dx is None else dx
    return jax.tree_util.tree_map(zero, changes, given, is_leaf=lambda x: x is None)
