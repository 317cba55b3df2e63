"""Motors of a robot whose file names none, and their tasks in space."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from zwang.bodies import BodyTree
from zwang.bodies.tree.free_system import TreeEquations
from zwang.inputs.arrays import vector
from zwang.objects.record import Record, field
from zwang.robots.description import Description


def free_motors(description: Description) -> tuple[str, ...]:
    """Joints with one coordinate that can have a motor.

    The slides of a free body have none, nor have joints that alone follow others.
    """
    following = {n for c in description.couplings.values() if len(c.first) == 1 for n in c.first}
    carrying = [b.joints for b in description.branches]
    free = [joints for joints in carrying if any(np.ndim(x) == 2 for x in joints.values())]
    names = [name for joints in carrying if joints not in free for name in joints]
    return tuple(name for name in names if name not in following)


class PointTask(Record):
    """φ = x(q) − target(t) of a point of a body [m].

    Attributes:
        tree: gives the poses of bodies.
        body: its index among them; offset: of the point in its own frame [m].
        target: position [m], or a function of time.
    """

    tree: TreeEquations
    body: int = field(static=True)
    offset: Float[Array, "3"]
    target: Callable | Float[Array, "3"]

    def __init__(self, tree: BodyTree, body: int, offset, target):
        self.tree, self.body = tree.equations, body
        self.offset = vector(offset, 3, "law: offset")
        self.target = target if callable(target) else vector(target, 3, "law: target")

    def __call__(self, q, t, p):
        pose = self.tree.poses(q, p)[self.body]
        target = self.target(t) if callable(self.target) else self.target
        return pose[:3, 3] + pose[:3, :3] @ self.offset - jnp.asarray(target, float)
