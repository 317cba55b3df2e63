"""Detection of joints that are hard to simulate, from a robot's numbers before it is run."""

from __future__ import annotations

import numpy as np

from zwang.bodies import BodyTree

NO_MASS = 1e-13
"""Inertia of a joint, relative to that of the same masses at their distance from the origin, below
which it is round-off of positions.
"""
STIFF = 1e5
"""Ratio of damping to inertia [1/s] above which a joint's motion decays too fast for an explicit
method: one second takes 30 000 steps.
"""


def notes(tree: BodyTree, damping: np.ndarray, followers: set[str]) -> list[str]:
    """Sentences about joints without inertia and about strong dampers.

    Args:
        tree: the tree, whose inertias are taken at coordinates zero.
        damping: of each velocity [N·m·s/rad, N·s/m], shape (nv,).
        followers: joints that follow others, which also move the inertia of the followers.
    """
    inertia, nothing = _inertias(tree)
    names = tree.system.velocities
    loose = [n for n, x in zip(names, nothing, strict=True) if x and n not in followers]
    made = []
    if loose:
        made.append(
            "joints that move no mass where all coordinates are zero, and need mass or a "
            f"constraint that holds them: {', '.join(loose)}"
        )
    with np.errstate(divide="ignore", over="ignore"):
        rate = np.where(nothing, 0.0, damping / np.where(nothing, 1.0, inertia))
    stiff = [f"{n} ({x:.1g}/s)" for n, x in zip(names, rate, strict=True) if x > STIFF]
    if stiff:
        made.append(
            "dampers beside which inertia is so small that an implicit method is needed, "
            f"integrator=zw.methods.Kvaerno5(), or a fixed joint: {', '.join(stiff)}"
        )
    return made


def _inertias(tree: BodyTree) -> tuple[np.ndarray, np.ndarray]:
    """The inertia of each velocity alone [kg·m², kg], and whether it is zero, shapes (nv,)."""
    p, carried = tree.params, tree.branching.carried
    v, w = p["twist"][:, None, :3], p["twist"][:, None, 3:]
    m, c = p["mass"], p["center"]
    moved = np.sum((v + np.cross(w, c)) ** 2, axis=2) * m
    turned = np.einsum("iax,bxy,iay->ib", w, p["inertia"], w)
    reach = np.linalg.norm(v, axis=2) + np.linalg.norm(w, axis=2) * np.linalg.norm(c, axis=1)
    made = np.sum(carried.T * (moved + turned), axis=1) + p["armature"]
    return made, made <= NO_MASS * np.sum(carried.T * reach**2 * m, axis=1)
