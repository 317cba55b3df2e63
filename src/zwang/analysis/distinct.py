"""Comparison of configurations. Angles are equal modulo whole turns, a quaternion and its negative
are one attitude, and in the configurations of an assembled mechanism the axes of a joint point the
same way.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from zwang.algebra.decomposition import Decomposition
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.functions import velocity_map
from zwang.mechanism.mechanism import Mechanism
from zwang.mechanism.relative_pose import relative_poses
from zwang.thresholds import AGREEMENT, ALL_BUT_ZERO


def attitudes(dynamics: Dynamics, t) -> list[np.ndarray]:
    """Indices of the entries of each quaternion: four coordinates of constant length whose common
    sign does not change the rows.
    """
    if dynamics.system.velocity_map is None:
        return []
    system, p, t = dynamics.system, dynamics.p, jnp.asarray(t, float)
    random = np.random.default_rng(1843)
    begin = jnp.asarray(random.standard_normal(system.nq))
    q = np.asarray(system.move(begin, jnp.zeros(system.nv), t, p))
    rows = lambda q: np.asarray(dynamics.constraints.position_residual(jnp.asarray(q), t, p))
    here, found = rows(q), []
    for own in _unmoved(dynamics, q, t):
        turned = q.copy()
        turned[own] *= -1
        off = np.max(np.abs(rows(turned) - here), initial=0.0)
        # AGREEMENT: relative difference of rows that counts as zero
        if len(own) == 4 and off <= AGREEMENT * (1 + np.max(np.abs(here), initial=0.0)):
            found.append(own)
    return found


def _unmoved(dynamics: Dynamics, q, t) -> list[np.ndarray]:
    """Groups of coordinates in the directions that no velocity reaches: the direction of each
    quaternion itself, and no other.
    """
    N = np.asarray(velocity_map(dynamics.system, jnp.asarray(q), t, dynamics.p))
    across = Decomposition(N).left_kernel
    normal = across @ across.T
    count, label = connected_components(csr_array(np.abs(normal) > AGREEMENT), directed=False)
    return [np.flatnonzero(label == i) for i in range(count)]


def same_senses(mechanism: Mechanism, p, start: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Mask of the configurations in which the axes of all joints point the same way as at a start,
    shape (n,). The rows of a hinge are also met with the pin inserted from the other side.
    """
    joints = mechanism.compiled.joints
    ends, axes = [], []
    for name in joints.joints if mechanism.d == 3 else ():
        equations = joints.kind(name).equations(3)
        held = {2: (2,), 3: (0, 1, 2)}.get(equations.units.count("rad") if equations else 0, ())
        ends += [(x.a, x.b) for x in joints.ends[name] if held]
        axes += [np.isin(np.arange(3), held) for _ in joints.ends[name] if held]
    if not ends:
        return np.ones(len(q), bool)
    a, b = np.array(ends).T

    def cosines(q):
        """Cosines between each axis of a joint's first point and the same axis of its second
        point.
        """
        return jnp.diagonal(relative_poses(joints.frames(q, p), a, b).rotation, axis1=1, axis2=2)

    found = np.asarray(jax.jit(jax.vmap(cosines))(np.vstack([start, q])))
    return np.all((found[1:] * found[0] > 0) | ~np.array(axes), axis=(1, 2))


def distinct(
    q: np.ndarray, angle: np.ndarray, quaternions: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Distinct configurations, and how often each was found, the most frequent first.

    Args:
        q: shape (n, nq).
        angle: mask of the coordinates that are angles, shape (nq,).
        quaternions: entries of each attitude.
    """
    kept: list[np.ndarray] = []
    times: list[int] = []
    for x in q:
        x = np.where(angle, x - 2 * np.pi * np.round(x / (2 * np.pi)), x)
        same = -1
        if kept:
            others = np.array(kept)
            apart = np.abs(others - x)
            turned = np.abs(apart - 2 * np.pi * np.round(apart / (2 * np.pi)))
            apart = np.where(angle, turned, apart)
            for own in quaternions:
                as_given, mirrored = apart[:, own], np.abs(others[:, own] + x[own])
                nearer = np.max(mirrored, axis=1) < np.max(as_given, axis=1)
                apart[:, own] = np.where(nearer[:, None], mirrored, as_given)
            near = np.flatnonzero(np.max(apart, axis=1) < ALL_BUT_ZERO * (1 + np.max(np.abs(x))))
            same = int(near[0]) if len(near) else -1
        if same < 0:
            kept.append(x)
            times.append(1)
        else:
            times[same] += 1
    order = np.argsort(-np.array(times, int), kind="stable")
    found = np.array(kept).reshape(-1, q.shape[-1])
    return found[order], np.array(times, int)[order]


def telling(q: np.ndarray, most: int) -> list[int]:
    """The coordinates that distinguish configurations best. Each step adds the coordinate that
    differs most between the two configurations that the previous ones distinguish least.

    Args:
        q: configurations, shape (n, nq).
        most: number of coordinates to choose; all if there are fewer.
    """
    if q.shape[1] <= most or len(q) < 2:
        return list(range(min(q.shape[1], most)))
    between = np.abs(q[:, None] - q[None])[np.triu_indices(len(q), 1)]
    chosen: list[int] = []
    while len(chosen) < most:
        apart = between[:, chosen].max(axis=1) if chosen else np.zeros(len(between))
        order = np.argsort(-between[np.argmin(apart)], kind="stable")
        chosen.append(next(int(k) for k in order if k not in chosen))
    return sorted(chosen)
