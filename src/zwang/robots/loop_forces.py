"""Forces of a robot in other coordinates than its own.

They are dampers and springs of joints that close loops, and the compensated weight of bodies:

    s(q)                                    coordinates of closing joints, from relative poses
    F = −Nᵀ Jᵀ D J N v,    J = ∂s/∂q        dampers
    V = ½ Σ k (s − s₀)² + Σ_b m_b c_b·g     springs, and bodies without weight

An angle is between −π and π, relative to the pose in which the two frames coincide: a spring about
a closing hinge acts up to half a turn from there, as the reader reports.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from zwang.bodies import BodyTree
from zwang.bodies.body import entry
from zwang.bodies.screws.twist import inverse
from zwang.bodies.tree.branching import GROUND
from zwang.mechanism.registry import JOINT_KINDS
from zwang.robots.description import Description
from zwang.robots.loop_constraints import relative_ends


class LoopForces:
    """The forces above.

    Attributes:
        params: `damping` D, `stiffness` k and `rest` s₀ of closing joints, shape (n,), and the
            `first` and `second` frames of each, (n, 4, 4); {} without them.
        weightless: indices of bodies without weight.
    """

    def __init__(self, description: Description, tree: BodyTree):
        self.tree = tree
        self.weightless = np.array(
            [i for i, b in enumerate(tree.branches) if b.name in description.weightless], int
        )
        self._coordinates: list[Callable] = []
        self._bodies: list[tuple[int, int]] = []
        numbers: dict[str, list] = {}
        for loop in description.loops.values():
            equations = JOINT_KINDS[loop.kind].space
            assert equations is not None
            for freedom, force in zip(equations.freedoms, loop.forces, strict=False):
                if not (force.damping or force.stiffness):
                    continue
                self._coordinates.append(_scaled(freedom.coordinate.value, force.scale))
                ends = (loop.first, loop.second)
                first, second = (self._body(name) for name, _ in ends)
                self._bodies.append((first, second))
                for key, value in (
                    ("damping", force.damping),
                    ("stiffness", force.stiffness),
                    ("rest", force.rest),
                    ("first", loop.first[1]),
                    ("second", loop.second[1]),
                ):
                    numbers.setdefault(key, []).append(value)
        self.params = {key: np.array(values) for key, values in numbers.items()}

    def _body(self, name: str | None) -> int:
        return GROUND if name is None else int(entry(self.tree._index, name))

    @property
    def damped(self) -> bool:
        """Return whether there are dampers."""
        return bool(np.any(self.params.get("damping", 0.0)))

    @property
    def stored(self) -> bool:
        """Return whether there is energy in addition to weight and the tree's own springs."""
        return bool(len(self.weightless) or np.any(self.params.get("stiffness", 0.0)))

    def values(self, q, p):
        """s, shape (n,)."""
        poses = relative_ends(self.tree, self._bodies, q, p["forces"], p)
        found = [
            coordinate(jax.tree.map(lambda x, i=i: x[i], poses))
            for i, coordinate in enumerate(self._coordinates)
        ]
        return jnp.stack(found)

    def force(self, q, v, t, p):
        """F, shape (nv,)."""
        slope = jax.jacfwd(self.values)(q, p)
        if any(self.tree.branching.balls):
            slope = slope @ self.tree.equations.velocity_map(q, t, p)
        return -slope.T @ (p["forces"]["damping"] * (slope @ v))

    def energy(self, q, t, p):
        """V."""
        made = 0.0
        if self.params:
            numbers = p["forces"]
            made = 0.5 * jnp.sum(numbers["stiffness"] * (self.values(q, p) - numbers["rest"]) ** 2)
        if len(self.weightless):
            at = self.weightless
            moved = self.tree.poses(q, p)[at] @ inverse(p["frame"][at])
            centers = jnp.einsum("nij,nj->ni", moved[:, :3, :3], p["center"][at]) + moved[:, :3, 3]
            made = made + jnp.sum(p["mass"][at] * (centers @ p["gravity"]))
        return made


def _scaled(value: Callable, scale: float) -> Callable:
    return value if scale == 1.0 else lambda pose: scale * value(pose)


def joint_springs(q, t, p):
    """Energy of the springs of joints that carry bodies."""
    return 0.5 * jnp.sum(p["stiffness"] * (q - p["rest"]) ** 2)
