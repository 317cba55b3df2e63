"""Loops and couplings of a robot as constraints, their numbers as parameters."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from zwang.bodies import BodyTree
from zwang.mechanism.loop_rows import LoopDecisions, projected_rows, projectors
from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.relative_pose import RelativePose
from zwang.robots.description import Coupling, Loop


def loop_numbers(loops: dict[str, Loop], rows: LoopDecisions) -> dict:
    """Frames of both ends of all loops of a kind, on their bodies, shapes (n, 4, 4), the numbers of
    kinds that have some, (n, numbers), and what is kept of their rows, (n, rows, rows), where it is
    not everything.
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
    """Weights of coordinates, powers and rests of all couplings, none without any; `filled` puts
    values by joint at their coordinates.
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


def closing(tree: BodyTree, kind: str, first: np.ndarray, second: np.ndarray) -> Callable:
    """φ of all loops of a kind, between bodies by their places."""
    options, equations = JOINT_KINDS[kind], JOINT_KINDS[kind].space
    assert equations is not None and equations.position is not None
    rows = equations.position

    def phi(q, t, p):
        bodies = jnp.concatenate([tree.poses(q, p), jnp.eye(4)[None]])
        a, b = (
            bodies[first] @ p["loops"][kind]["first"],
            bodies[second] @ p["loops"][kind]["second"],
        )
        # in the axes of the first end, in which the rows of the joint are written
        back = jnp.swapaxes(a[:, :3, :3], 1, 2)
        gap = jnp.einsum("nij,nj->ni", back, b[:, :3, 3] - a[:, :3, 3])
        own = p["loops"][kind].get("numbers", np.zeros((len(first), 0)))
        found = jax.vmap(lambda gap, turn, own: rows(RelativePose(gap, turn), options.named(own)))(
            gap, back @ b[:, :3, :3], own
        )
        if "keep" in p["loops"][kind]:
            found = projected_rows(p["loops"][kind]["keep"], found)
        return found.ravel()

    return phi


def coupled(q, t, p):
    """x − polynomial(y) of all couplings."""
    c = p["couplings"]
    x, y = c["first"] @ q - c["rest"][:, 0], c["second"] @ q - c["rest"][:, 1]
    return x - jnp.polyval(c["polynomial"].T[::-1], y)
