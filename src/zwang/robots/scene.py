"""The scene of a robot: its shapes, and a rod to each body from the one that carries it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from zwang.bodies.rotation import quaternion
from zwang.bodies.shape import MESHES, Shape
from zwang.compile.blocks import mapped
from zwang.files import is_file
from zwang.files.limits import limit
from zwang.scene import Bar, Mark, Scene, Seen, Symbol

if TYPE_CHECKING:
    from zwang.robots.robot import Robot


def scene(robot: Robot) -> Scene:
    """Make the scene of a robot; bodies whose meshes cannot be shown have only rods."""
    branches = [b.name for b in robot.tree.branches]
    order = [i for i, name in enumerate(branches) if name in robot.shapes]
    bodies = {branches[i]: tuple(s for s in robot.shapes[branches[i]] if _shown(s)) for i in order}
    rods = tuple(
        Bar((b.parent, b.name), b.name, "rod") for b in robot.tree.branches if b.parent is not None
    )
    marked = [
        (i, name, twist)
        for i, b in enumerate(robot.tree.branches)
        for name, twist in list(b.joints.items())[-1:]
    ]
    joints = tuple(
        Mark(name, branches[i], _symbol(twist), constraints=()) for i, name, twist in marked
    )
    carriers = np.array([i for i, _, _ in marked], int)
    directions = np.array([_direction(twist) for _, _, twist in marked]).reshape(-1, 3)
    at_home = np.asarray(robot.params["frame"])[:, :3, :3]

    def placed(p, q):
        found = robot.tree.poses(q, p)  # traced, as everything that depends on it
        shown = found[np.array(order, int)]
        turned_since = found[carriers, :3, :3] @ np.swapaxes(at_home[carriers], 1, 2)
        axes = jnp.einsum("jab,jb->ja", turned_since, directions)
        poses = jnp.concatenate([shown[:, :3, 3], quaternion(shown[:, :3, :3])], axis=-1)
        return Seen(found[:, :3, 3], axes, poses if order else None)

    seen = functools.partial(mapped, placed, (robot.params,))
    return Scene(tuple(branches), seen, bars=rods, joints=joints, bodies=bodies)


def _symbol(twist: np.ndarray) -> Symbol:
    """A ball for three rotations, a slide for a pure translation, a pin otherwise."""
    return "ball" if np.ndim(twist) == 2 else "pin" if np.any(_turn(twist)) else "slide"


def _direction(twist: np.ndarray) -> np.ndarray:
    """The axis that a joint turns about or slides along, in base axes at q = 0; zero for a ball."""
    if np.ndim(twist) == 2:
        return np.zeros(3)
    turn = _turn(twist)
    axis = turn if np.any(turn) else np.asarray(twist)[:3]
    return axis / np.linalg.norm(axis)


def _turn(twist: np.ndarray) -> np.ndarray:
    return np.asarray(twist)[3:]


def _shown(shape: Shape) -> bool:
    """Return whether the viewer shows a shape: its mesh exists, is readable and not too large."""
    if shape.kind != "mesh":
        return True
    path = Path(str(shape.file))
    return (
        path.suffix.lower() in MESHES
        and is_file(path)
        and path.stat().st_size <= limit("mesh_size")
    )
