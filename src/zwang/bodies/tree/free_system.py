"""The functions of a tree as a system. They hold no numbers: a compiled program is known by all
that its functions can reach, and serves every tree with the same joints.
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
"""Parameters of joints and bodies, and what follows from them where it is known."""


def of_bodies(p) -> dict:
    """Those of them that there are."""
    return {name: p[name] for name in OF_BODIES if name in p}


@dataclasses.dataclass(frozen=True, eq=False)
class TreeMass(AbstractMassMatrix):
    """M of a tree, and its product by recursion.

    Attributes:
        tree: which joint carries which body.
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
    """M, F, N and the energy of a tree, of parameters as in `BodyTree`.

    Attributes:
        tree: which joint carries which body.
        applied: `(q, v, t, p)` → further joint torques and forces, or None.
        further: `(q, t, p)` → further potential energy, or None.
    """

    tree: Branching
    applied: Callable | None
    further: Callable | None

    def with_joint_numbers(self, p) -> dict:
        """The parameters, and what all evaluations take of them, numbers of NumPy in axes of each
        joint's own (`zwang.bodies.tree.joint_numbers`).
        """
        return with_joint_numbers(self.tree, p, own_axes=is_concrete(p))

    # --- where the bodies are, and how they move

    def poses(self, q, p):
        """Own frames of all bodies in space, shape (nb, 4, 4)."""
        moved = equations.motions(self.tree, q, p)[np.array(self.tree.bodies)]
        return equations.times(moved, p["frame"])

    def twists(self, q, v, p):
        """Velocity of the point at the origin and angular velocity of all bodies, (nb, 6)."""
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
        """`M v̇ + h`."""
        found = self._inverse_dynamics(q, v, acceleration, p)
        return found + p["armature"] * acceleration

    def _inverse_dynamics(self, q, v, acceleration, p):
        own = of_bodies(p)
        if not is_concrete((q, v, acceleration, own)):
            # derivatives are for programs; on the host numbers of NumPy stay numbers of NumPy
            still = jnp.zeros(self.tree.nv) if acceleration is None else acceleration
            return joint_forces(self.tree, q, v, still, own)
        return equations.inverse_dynamics(self.tree, q, v, acceleration, own)

    def derivatives(self, q, v, acceleration, p):
        """Derivatives of `inverse_dynamics` by q, along velocities, and by v."""
        at = equations.moving(self.tree, q, p)
        return derivatives(self.tree, at, v, acceleration, p["gravity"])

    def force(self, q, v, t, p):
        F = -self.bias(q, v, p)
        F = F if self.applied is None else F + self.applied(q, v, t, p)
        if self.further is None:
            return F
        # as a force on velocities: through Nᵀ where a ball joint has four coordinates
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
        # constant but for ball joints, whose blocks are put in below
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
