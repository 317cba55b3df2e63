"""The topology of a tree, joints and the bodies that they carry, as NumPy arrays that are constants
of a program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property

import numpy as np

GROUND = -1
"""The index of the ground."""


@dataclasses.dataclass(frozen=True, eq=False)
class Branching:
    """A tree of elementary joints: a revolute or prismatic joint has one coordinate, a ball joint
    four (a unit quaternion).

    Attributes:
        parent: the joint before each joint, or `GROUND`; every joint comes after its parent, shape
            (n,).
        balls: whether each joint is a ball joint, shape (n,).
        bodies: the last joint before each body, or `GROUND`, shape (nb,).
        slides: whether each joint moves along its axis, or has none, shape (n,); None if unknown.
    """

    parent: tuple[int, ...]
    balls: tuple[bool, ...]
    bodies: tuple[int, ...]
    slides: tuple[bool, ...] | None = None

    @property
    def nq(self) -> int:
        return int(np.sum(np.where(self.balls, 4, 1), initial=0))

    @property
    def nv(self) -> int:
        return int(np.sum(np.where(self.balls, 3, 1), initial=0))

    def places(self, scalar: int, ball: int) -> list[np.ndarray]:
        """Return the indices of the entries of each joint; a scalar joint has `scalar` of them, a
        ball joint `ball`.
        """
        sizes = np.where(self.balls, ball, scalar).astype(int)
        ends = np.cumsum(sizes)
        return [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    @property
    def joint_of(self) -> np.ndarray:
        """Joint of each velocity, shape (nv,)."""
        return np.repeat(np.arange(len(self.parent)), np.where(self.balls, 3, 1).astype(int))

    @property
    def kinds(self) -> tuple[list[int], list[int]]:
        """Joints with one coordinate, and ball joints."""
        scalar, ball = (
            [i for i, x in enumerate(self.balls) if x is kind] for kind in (False, True)
        )
        return scalar, ball

    @property
    def scalar_velocities(self) -> np.ndarray:
        """Velocities of the joints with one coordinate."""
        places = self.places(1, 3)
        return np.array([places[i][0] for i in self.kinds[0]], int)

    @property
    def moved(self) -> np.ndarray:
        """Whether joint j is joint i or carries it, shape (n, n)."""
        way = np.eye(len(self.parent), dtype=bool)
        for i, parent in enumerate(self.parent):
            if parent != GROUND:
                # parents come first, so that their paths are complete
                way[i] |= way[parent]
        return way

    def apart(self, i: int, j: int) -> tuple[list[int], list[int]]:
        """Return the joints after the last common joint of two joints, up to each of them; either
        may be the `GROUND`.
        """
        ways: tuple[list[int], list[int]] = [], []
        for way, end in zip(ways, (i, j), strict=True):
            while end != GROUND:
                way.insert(0, end)
                end = self.parent[end]
        both = sum(x == y for x, y in zip(*ways, strict=False))
        return ways[0][both:], ways[1][both:]

    @property
    def carried(self) -> np.ndarray:
        """Whether velocity j moves body b, 0.0 or 1.0, shape (nb, nv)."""
        padded = np.vstack([self.moved, np.zeros((1, len(self.parent)), bool)])
        return padded[list(self.bodies)][:, self.joint_of].astype(float)

    @property
    def before(self) -> np.ndarray:
        """Whether velocity j moves the joint of velocity i, 0.0 or 1.0, shape (nv, nv)."""
        return self.moved[self.joint_of][:, self.joint_of].astype(float)

    @cached_property
    def levels(self) -> list[np.ndarray]:
        """Joints by the number of joints before them on the branch, from those on the ground on."""
        depth: list[int] = []
        for p in self.parent:  # parents come first
            depth.append(0 if p == GROUND else depth[p] + 1)
        return [np.flatnonzero(np.array(depth) == k) for k in range(max(depth) + 1)]

    @cached_property
    def parents(self) -> list[np.ndarray]:
        """Index of each joint's parent in the level before, for each level but the first."""
        parent = np.array(self.parent)
        pairs = zip(self.levels[:-1], self.levels[1:], strict=True)
        return [np.searchsorted(before, parent[level]) for before, level in pairs]

    @cached_property
    def onto_parents(self) -> list[np.ndarray]:
        """For each level but the last, whether its joint i is the parent of joint j of the next
        one, 0.0 or 1.0.
        """
        pairs = zip(self.levels[:-1], self.parents, strict=True)
        return [(np.arange(len(x))[:, None] == after).astype(float) for x, after in pairs]

    @cached_property
    def by_levels(self) -> np.ndarray:
        """Index of each joint in the sequence of levels, shape (n,)."""
        return np.argsort(np.concatenate(self.levels))

    @property
    def owners(self) -> np.ndarray:
        """Whether velocity j belongs to joint i, 0.0 or 1.0, shape (n, nv)."""
        return (np.arange(len(self.parent))[:, None] == self.joint_of).astype(float)

    @cached_property
    def carrying(self) -> np.ndarray:
        """Joints with bodies."""
        return np.unique([i for i in self.bodies if i != GROUND])

    @cached_property
    def first_bodies(self) -> np.ndarray:
        """The first body on each of the joints with bodies."""
        return np.array([self.bodies.index(i) for i in self.carrying])

    @property
    def places_of_bodies(self) -> np.ndarray:
        """Index of each body's joint among them; 0 for a body on the ground."""
        return np.searchsorted(self.carrying, np.maximum(self.bodies, self.carrying[0]))

    @property
    def on_joints(self) -> np.ndarray:
        """Whether body b is on joint i, 0.0 or 1.0, shape (n, nb)."""
        return (np.arange(len(self.parent))[:, None] == np.array(self.bodies)).astype(float)

    @property
    def first_moved(self) -> np.ndarray:
        """The first body that each joint moves, shape (n,)."""
        padded = np.vstack([self.moved, np.zeros((1, len(self.parent)), bool)])
        return padded[list(self.bodies)].argmax(axis=0)

    @property
    def sliding(self) -> np.ndarray:
        """Whether each joint may slide, 0.0 or 1.0, shape (n,)."""
        every = np.ones(len(self.parent)) if self.slides is None else np.array(self.slides, float)
        return np.where(self.balls, 0.0, every)

    @property
    def carriers(self) -> np.ndarray:
        """Whether each of the joints with bodies is joint i, 0.0 or 1.0, shape (n, count)."""
        return (np.arange(len(self.parent))[:, None] == self.carrying).astype(float)


def row(count: int) -> Branching:
    """Return scalar joints in a row, each with a body."""
    return Branching(tuple(range(-1, count - 1)), (False,) * count, tuple(range(count)))


def order(parents: Sequence[int]) -> list[int]:
    """Return an order in which all items come after their parents, as close as possible to the
    given one.

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
