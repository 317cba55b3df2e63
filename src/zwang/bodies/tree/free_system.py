"""The functions of a tree as a system. They contain no numbers: a compiled program is identified by
everything that its functions refer to, and serves every tree with the same joints.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from zwang.bodies.rotation import moved, rate_map
from zwang.bodies.tree import equations
from zwang.bodies.tree.branching import Branching
from zwang.bodies.tree.derivatives import derivatives, joint_forces
from zwang.bodies.tree.joint_numbers import with_joint_numbers
from zwang.equations.system import AbstractMassMatrix
from zwang.inputs.arithmetic import xp
from zwang.inputs.arrays import is_concrete

OF_BODIES = ("twist", "mass", "center", "inertia", "gravity", "joints")
"""Parameters of joints and bodies, and the numbers derived from them if they are known."""


def of_bodies(p) -> dict:
    """Return those of `OF_BODIES` that p contains."""
    return {name: p[name] for name in OF_BODIES if name in p}


@dataclasses.dataclass(frozen=True, eq=False)
class TreeMass(AbstractMassMatrix):
    """M of a tree, and its product by recursion.

    Attributes:
        tree: topology of joints and bodies.
    """

    tree: Branching

    def __call__(self, q, t, p):
        made = equations.mass_matrix(self.tree, q, p)
        return made + jnp.diag(p["armature"])

    def times(self, q, t, p, w):
        own = {**of_bodies(p), "gravity": jnp.zeros(3)}
        return joint_forces(self.tree, q, jnp.zeros_like(w), w, own) + p["armature"] * w


@dataclasses.dataclass(frozen=True, eq=False)
class TreeEquations:
    """M, F, N and the energy of a tree, with parameters as in `BodyTree`.

    Attributes:
        tree: topology of joints and bodies.
        applied: `(q, v, t, p)` → further joint torques and forces, or None.
        further: `(q, t, p)` → further potential energy, or None.
    """

    tree: Branching
    applied: Callable | None
    further: Callable | None

    def with_joint_numbers(self, p) -> dict:
        """Return the parameters with the numbers that all evaluations derive from them; concrete
        ones are NumPy arrays in the own axes of each joint (`zwang.bodies.tree.joint_numbers`).
        """
        return with_joint_numbers(self.tree, p, own_axes=is_concrete(p))

    # --- poses and velocities of the bodies

    def poses(self, q, p):
        """Return the own frames of all bodies in space, shape (nb, 4, 4)."""
        moved = equations.motions(self.tree, q, p)[np.array(self.tree.bodies)]
        return equations.times(moved, p["frame"])

    def twists(self, q, v, p):
        """Return the velocity of the point at the origin and the angular velocity of all bodies,
        (nb, 6).
        """
        S = equations.screws(self.tree, equations.motions(self.tree, q, p), p)
        return xp.tensordot(self.tree.carried, S * v[:, None], 1)

    # --- M, h and F

    @cached_property
    def mass_matrix(self) -> TreeMass:
        """M, with its product."""
        return TreeMass(self.tree)

    def bias(self, q, v, p):
        return self._inverse_dynamics(q, v, None, p)

    def inverse_dynamics(self, q, v, acceleration, p):
        """Return `M v̇ + h`."""
        found = self._inverse_dynamics(q, v, acceleration, p)
        return found + p["armature"] * acceleration

    def _inverse_dynamics(self, q, v, acceleration, p):
        own = of_bodies(p)
        if not is_concrete((q, v, acceleration, own)):
            # derivatives are for programs; on the host NumPy arrays remain NumPy arrays
            still = jnp.zeros(self.tree.nv) if acceleration is None else acceleration
            return joint_forces(self.tree, q, v, still, own)
        return equations.inverse_dynamics(self.tree, q, v, acceleration, own)

    def derivatives(self, q, v, acceleration, p):
        """Return the derivatives of `inverse_dynamics` with respect to q, along velocities, and to
        v.
        """
        at = equations.moving(self.tree, q, p)
        return derivatives(self.tree, at, v, acceleration, p["gravity"])

    def force(self, q, v, t, p):
        F = -self.bias(q, v, p)
        F = F if self.applied is None else F + self.applied(q, v, t, p)
        if self.further is None:
            return F
        # converted to a force on velocities by Nᵀ, because a ball joint has four coordinates
        slope = jax.grad(self.further)(q, t, p)
        return F - (self.velocity_map(q, t, p).T @ slope if any(self.tree.balls) else slope)

    def energy(self, q, t, p):
        P = equations.motions(self.tree, q, p)[np.array(self.tree.bodies)]
        centers = jnp.sum(P[:, :3, :3] * p["center"][:, None, :], axis=2) + P[:, :3, 3]
        weight = -jnp.sum(p["mass"] * (centers @ p["gravity"]))
        return weight if self.further is None else weight + self.further(q, t, p)

    # --- coordinates and velocities

    def velocity_map(self, q, t, p):
        in_q, in_v = self._balls()
        scalar_q, scalar_v = (
            np.setdiff1d(np.arange(n), x) for n, x in ((len(q), in_q), (self.tree.nv, in_v))
        )
        # constant except for the blocks of ball joints, which are inserted below
        N = np.zeros((len(q), self.tree.nv))
        N[scalar_q, scalar_v] = 1.0
        return jnp.asarray(N).at[in_q[:, :, None], in_v[:, None, :]].set(rate_map(q[in_q]))

    def retract(self, q, dv, t, p):
        in_q, in_v = self._balls()
        scalar_q, scalar_v = (
            np.setdiff1d(np.arange(n), x) for n, x in ((len(q), in_q), (len(dv), in_v))
        )
        return q.at[scalar_q].add(dv[scalar_v]).at[in_q].set(moved(q[in_q], dv[in_v]))

    def _balls(self) -> tuple[np.ndarray, np.ndarray]:
        """Entries of all ball joints in q, (n, 4), and in v, (n, 3)."""
        balls = np.array(self.tree.balls)

        def entries(k: int) -> np.ndarray:
            places = zip(self.tree.places(1, k), balls, strict=True)
            return np.stack([x for x, is_ball in places if is_ball])

        return entries(4), entries(3)
