"""Bars in the plane, pinned to each other and to the ground, as a plain function of a list of
pins.
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np

import zwang as zw

GROUND = -1


def pins(name: str, N: int) -> list[tuple[int, int]]:
    """Pairs of bars that share a pin, the first by its left end, the other by its right end."""
    chain = [(0, GROUND), *((i, i - 1) for i in range(1, N))]
    return {
        "chain": chain,
        "tree": [(0, GROUND), *((i, (i - 1) // 2) for i in range(1, N))],
        "ladder": chain + [(i, max(i - 3, GROUND)) for i in range(2, N, 3)],
        "redundant": chain + chain[::2],
    }[name]


@functools.cache
def bars(name: str, N: int = 40) -> tuple[zw.Model, np.ndarray, np.ndarray]:
    """A model of N bars of random length in random places, and a state; the rows hold it nowhere,
    which an acceleration does
    not ask for.
    """
    random = np.random.default_rng(1)
    a, b = np.array(pins(name, N)).T
    half = random.uniform(0.5, 1.5, N) / 2

    def end(q, bar, side):
        pose = jnp.concatenate([q.reshape(-1, 3), jnp.zeros((1, 3))])[bar]
        arm = side * np.append(half, 0.0)[bar]
        return pose[:, :2] + arm[:, None] * jnp.stack(
            [jnp.cos(pose[:, 2]), jnp.sin(pose[:, 2])], axis=1
        )

    mass = np.stack([0 * half + 1.0, 0 * half + 1.0, half**2 / 3], axis=1).ravel()
    system = zw.System(
        3 * N,
        lambda q, t, p: p["mass"] * mass,
        lambda q, v, t, p: p["mass"] * mass * jnp.tile(jnp.array([0.0, -9.81, 0.0]), N),
    )
    joints = zw.Holonomic(lambda q, t, p: (end(q, a, -1.0) - end(q, b, 1.0)).ravel(), name="pins")
    model = zw.Model(system, [joints], {"mass": 1.0}, name=f"{name} of {N}")
    return model, random.standard_normal(3 * N), random.standard_normal(3 * N)
