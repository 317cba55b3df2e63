"""Which joint carries which body: all that is fixed about a tree, as plain NumPy arrays that a
program is made with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

GROUND = -1
"""The index of what does not move."""


@dataclasses.dataclass(frozen=True, eq=False)
class Branching:
    """A tree of elementary joints: one that turns or slides has one coordinate, a ball joint four
    (a unit quaternion).

    Attributes:
        parent: the joint before each joint, or `GROUND`; every joint comes after its parent, shape
            (n,).
        balls: whether each joint is a ball joint, shape (n,).
        bodies: the last joint before each body, or `GROUND`, shape (nb,).
    """

    parent: tuple[int, ...]
    balls: tuple[bool, ...]
    bodies: tuple[int, ...]

    @property
    def nq(self) -> int:
        return int(np.sum(np.where(self.balls, 4, 1), initial=0))

    @property
    def nv(self) -> int:
        return int(np.sum(np.where(self.balls, 3, 1), initial=0))

    def places(self, scalar: int, ball: int) -> list[np.ndarray]:
        """Indices of the entries of each joint; a scalar joint has `scalar` of them, a ball joint
        `ball`.
        """
        sizes = np.where(self.balls, ball, scalar).astype(int)
        ends = np.cumsum(sizes)
        return [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    @property
    def joint_of(self) -> np.ndarray:
        """The joint that each velocity belongs to, shape (nv,)."""
        return np.repeat(np.arange(len(self.parent)), np.where(self.balls, 3, 1).astype(int))

    @property
    def moved(self) -> np.ndarray:
        """Whether joint i stands on joint j or is it, shape (n, n)."""
        way = np.eye(len(self.parent), dtype=bool)
        for i, parent in enumerate(self.parent):
            if parent != GROUND:
                # parents come first, so that their ways are complete
                way[i] |= way[parent]
        return way

    @property
    def carried(self) -> np.ndarray:
        """Whether velocity j moves body b, 0.0 or 1.0, shape (nb, nv)."""
        padded = np.vstack([self.moved, np.zeros((1, len(self.parent)), bool)])
        return padded[list(self.bodies)][:, self.joint_of].astype(float)

    @property
    def before(self) -> np.ndarray:
        """Whether velocity j moves the joint of velocity i, 0.0 or 1.0, shape (nv, nv)."""
        return self.moved[self.joint_of][:, self.joint_of].astype(float)

    @property
    def leaps(self) -> list[np.ndarray]:
        """Ancestors at distance 1, 2, 4 …, the ground behind the last joint, shape (n + 1,) each:
        as many as the depth takes.
        """
        n = len(self.parent)
        far = np.array([n if p == GROUND else p for p in self.parent] + [n])
        leaps = []
        while np.any(far != n):
            leaps.append(far)
            # doubling the distance: log₂(depth) leaps reach the root
            far = far[far]
        return leaps


def row(count: int) -> Branching:
    """Scalar joints one after another, each with a body."""
    return Branching(tuple(range(-1, count - 1)), (False,) * count, tuple(range(count)))


def order(parents: Sequence[int]) -> list[int]:
    """An order in which everything comes after its parent, as near to the given one as that allows.

    Raises:
        ValueError: if the parents form a circle.
    """
    done: list[int] = []
    waiting = list(range(len(parents)))
    while waiting:
        ready = next((i for i in waiting if parents[i] == GROUND or parents[i] in done), None)
        if ready is None:
            raise ValueError("the parents form a circle")
        done.append(ready)
        waiting.remove(ready)
    return done
