"""Loops and couplings of a robot as constraints, with their numbers as parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from zwang.bodies import BodyTree
from zwang.bodies.tree.loops import end_frames, relative_poses
from zwang.dynamics.model import AbstractParameterLayout
from zwang.inputs.arithmetic import on_host, traced
from zwang.inputs.arrays import as_parameters, is_concrete
from zwang.mechanism.loop_rows import LoopDecisions, projected_rows, projectors
from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.relative_pose import RelativePose
from zwang.robots.description import Coupling, Loop


def loop_numbers(loops: dict[str, Loop], rows: LoopDecisions) -> dict:
    """Parameters of all loops of a kind.

    They are the frames of both ends on their bodies, shapes (n, 4, 4), the options of kinds that
    have some, (n, numbers), and the projectors onto kept rows, (n, rows, rows), if any row is
    dropped.
    """
    numbers: dict = {}
    for loop in loops.values():
        for side, (_, frame) in (("first", loop.first), ("second", loop.second)):
            numbers.setdefault(loop.kind, {}).setdefault(side, []).append(frame)
        if loop.numbers:
            numbers[loop.kind].setdefault("numbers", []).append(loop.numbers)
    for kind, sides in numbers.items():
        names = [name for name, loop in loops.items() if loop.kind == kind]
        if any(name in rows.found for name in names):
            sides["keep"] = projectors(names, rows.keep)
    return {k: {side: np.array(x) for side, x in sides.items()} for k, sides in numbers.items()}


def coupling_numbers(filled: Callable, given: dict[str, Coupling], nq: int) -> dict:
    """Weights of coordinates, powers and offsets of all couplings; empty without couplings.

    `filled` puts values by joint at their coordinates.
    """
    couplings = list(given.values())
    if not couplings:
        return {}
    most = max(len(c.polynomial) for c in couplings)
    weights = {
        side: np.array([filled(getattr(c, side), "coordinate", np.zeros(nq)) for c in couplings])
        for side in ("first", "second")
    }
    powers = np.array([[*c.polynomial, *(0.0,) * (most - len(c.polynomial))] for c in couplings])
    return {**weights, "polynomial": powers, "rest": np.array([c.rest for c in couplings])}


def closing(tree: BodyTree, kind: str, ends: Sequence[tuple[int, int]]) -> Callable:
    """φ of all loops of a kind, between bodies by their indices."""
    options, equations = JOINT_KINDS[kind], JOINT_KINDS[kind].space
    assert equations is not None and equations.position is not None
    rows = equations.position

    def phi(q, t, p):
        loops = p["loops"][kind]
        own = loops.get("numbers", np.zeros((len(ends), 0)))
        pose = relative_ends(tree, ends, q, loops, p)
        found = jax.vmap(lambda pose, own: rows(pose, options.named(own)))(pose, own)
        if "keep" in loops:
            found = projected_rows(loops["keep"], found)
        return found.ravel()

    return phi


def relative_ends(
    tree: BodyTree, ends: Sequence[tuple[int, int]], q, own: Mapping, p
) -> RelativePose:
    """Poses of the second frames of pairs of bodies in the first ones, for the rows of joints.

    Args:
        ends: indices of the bodies, or `GROUND`.
        own: `first` and `second` frames on them, shapes (n, 4, 4), or both as `ends` on the joints,
            as `with_ends` adds them.
    """
    frames = own["ends"] if "ends" in own else with_ends(tree, ends, own, p)["ends"]
    return RelativePose(*relative_poses(tree.branching, ends, q, frames, p))


def with_ends(tree: BodyTree, ends: Sequence[tuple[int, int]], own: Mapping, p) -> dict:
    """Add the ends of loops in the frames of joints, which depend on the other numbers."""
    found = end_frames(tree.branching, ends, own["first"], own["second"], p)
    return {**own, "ends": found}


class JointNumbers(AbstractParameterLayout):
    """Adds to a robot's parameters the numbers that all evaluations need, computed once.

    Args:
        tree: the bodies.
        ends: bodies of the loops of each kind.
    """

    with_control = True

    def __init__(self, tree: BodyTree, ends: Mapping[str, list[tuple[int, int]]]):
        self._tree, self._ends = tree, ends

    def packed(self, p):
        if not is_concrete(p):
            with traced():
                return self._packed(p)
        with on_host():
            return as_parameters(self._packed(jax.tree.map(np.asarray, p)))

    def _packed(self, p):
        p = self._tree.equations.with_joint_numbers(p)
        own = {k: with_ends(self._tree, x, p["loops"][k], p) for k, x in self._ends.items()}
        return {**p, "loops": {**p["loops"], **own}}


def coupled(q, t, p):
    """x − polynomial(y) of all couplings."""
    c = p["couplings"]
    x, y = c["first"] @ q - c["rest"][:, 0], c["second"] @ q - c["rest"][:, 1]
    return x - jnp.polyval(c["polynomial"].T[::-1], y)
