"""Linkages with closed forms, with their dimensions as parameters, so that each compiles once."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np

import zwang as zw

LENGTHS = np.array([1.0, 3.0, 2.5, 3.5])
"""Crank, coupler, rocker, ground: a crank-rocker."""


@functools.cache
def four_bar() -> zw.Model:
    """Three angles of a planar four-bar and its loop; a point mass at the end of each bar."""

    def loop(q, t, p):
        a, b, c, d = p["lengths"]
        x = a * jnp.cos(q[0]) + b * jnp.cos(q[1]) - c * jnp.cos(q[2]) - d
        y = a * jnp.sin(q[0]) + b * jnp.sin(q[1]) - c * jnp.sin(q[2])
        return jnp.stack([x, y])

    system = zw.System(
        3,
        lambda q, t, p: jnp.array([1.0, 0.5, 2.0]),
        lambda q, v, t, p: -jnp.array([1.0, 0.7, 0.4]) * jnp.cos(q),
        potential=lambda q, t, p: jnp.array([1.0, 0.7, 0.4]) @ jnp.sin(q),
        coordinates=("crank", "coupler", "rocker"),
        units=("rad",) * 3,
    )
    return zw.Model(
        system, [zw.Holonomic(loop, name="loop")], {"lengths": LENGTHS}, name="four-bar"
    )


def closed_form(lengths, crank, sign) -> np.ndarray | None:
    """All angles of the four-bar by the law of cosines; None where it cannot be closed."""
    a, b, c, d = lengths
    diagonal = d - a * np.exp(1j * crank)
    cosine = (b * b + abs(diagonal) ** 2 - c * c) / (2 * b * abs(diagonal))
    if abs(cosine) > 1:
        return None
    coupler = np.angle(diagonal) + sign * np.arccos(cosine)
    rocker = np.angle(a * np.exp(1j * crank) + b * np.exp(1j * coupler) - d)
    return np.array([crank, coupler, rocker])


def apart(q, other) -> float:
    """Distance of angles, whole turns taken off."""
    return float(np.max(np.abs(np.exp(1j * np.asarray(q)) - np.exp(1j * np.asarray(other)))))


BAR, HALF = 0.9, np.arccos(0.75 / 0.9)
UPRIGHT = [np.pi / 2, np.pi / 2, HALF, np.pi - HALF]
"""A start of `five_bar_model`, both cranks up."""
CRANKS = {"left": (0.2, 3.0), "right": (0.2, 3.0)}
"""Ranges of its cranks."""


def five_bar_model() -> zw.Model:
    """Two cranks of 1 m, 1.5 m apart, with two bars of 0.9 m that meet above."""

    def loop(q, t, p):
        a, b, c, d = q
        r = p["bar"]
        left = jnp.stack([jnp.cos(a) + r * jnp.cos(c), jnp.sin(a) + r * jnp.sin(c)])
        right = jnp.stack([1.5 + jnp.cos(b) + r * jnp.cos(d), jnp.sin(b) + r * jnp.sin(d)])
        return left - right

    system = zw.System(
        4,
        lambda q, t, p: jnp.ones(4),
        lambda q, v, t, p: jnp.zeros(4),
        coordinates=("left", "right", "first", "second"),
        units=("rad",) * 4,
    )
    return zw.Model(system, [zw.Holonomic(loop, name="loop")], {"bar": BAR}, name="five-bar")
