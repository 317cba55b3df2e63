"""Extremes of numbers, kinds and functions: rows that vanish in velocities, times and sizes out of
range, and what begins later.
"""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np

import zwang as zw
from tests.hostile.case import Case
from tests.hostile.given import Q, V, pendulum

H, N = zw.Holonomic, zw.Nonholonomic


def simulated(constraints=(), mass=None, q=(0.0, 0.0), v=(0.0, 0.0), **options):
    """A function of a folder that runs a unit mass which falls along its second coordinate."""

    def do(folder: Path) -> str:
        system = zw.System(
            2, mass or (lambda q, t, p: jnp.ones(2)), lambda q, v, t, p: jnp.array([0.0, -9.81])
        )
        given = {"duration": 1.0, "samples": 3, "rtol": 1e-6, "execution": "host", **options}
        return zw.simulate(zw.Model(system, list(constraints)), q, v, **given).result.sentence

    return do


def saved(path):
    return lambda folder: _run().save(path)


def _run() -> zw.Run:
    return zw.simulate(pendulum(), Q, V, duration=0.01, samples=2, execution="host")


def checked_kind(folder: Path) -> str:
    """A drive of 100 Hz, whose period fits into many times."""
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
    drive = H(lambda q, t, p: q[0] - 1e-3 * jnp.sin(200 * jnp.pi * t), name="drive")
    return zw.check(zw.Model(system, [drive]), [0.0, 0.0], [0.2 * np.pi, 0.0]).constraints[0].kind


SLOW = N(lambda q, v, t, p: jnp.maximum(-v[1] - 1.0, 0.0) ** 3, name="slow")
TILTED = lambda q, t, p: jnp.array([[2.0, t], [0.0, 2.0]])

CASES = (
    # rows of velocities without a gradient
    Case(
        "a squared velocity",
        2,
        "'x'.*squared",
        simulated([N(lambda q, v, t, p: v[1] ** 2, name="x")]),
    ),
    Case("no speed at all", 2, "'x'.*isolated", simulated([N(lambda q, v, t, p: v @ v, name="x")])),
    Case("a limit of speed that comes later", 2, "'slow' keeps psi", simulated([SLOW])),
    Case(
        "two velocities in turn", 2, "end", simulated([N(lambda q, v, t, p: v[0] * v[1], name="x")])
    ),
    # what begins later
    Case("a mass that tilts later", 6, "not symmetric at q", simulated(mass=TILTED, v=(1.0, 0.0))),
    Case("a drive of 100 Hz", 6, "rheonomic", checked_kind),
    # sizes
    Case("a run of 1e-320 s", 10, "expected at least 1e-100 s", simulated(duration=1e-320)),
    Case(
        "a trajectory of 1e-320 s",
        10,
        "expected at least 1e-100 s",
        lambda folder: zw.trajectory(pendulum(), Q, V, [0.0, 1e-320]),
    ),
    Case(
        "1e9 coordinates",
        10,
        "at most 1000000",
        lambda folder: zw.System(10**9, lambda q, t, p: q, lambda q, v, t, p: v),
    ),
    # kinds
    Case(
        "a set of constraints",
        6,
        "expected a list",
        lambda folder: zw.Model(
            zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -q), {SLOW}
        ),
    ),  # type: ignore
    Case("a number as file", 12, "save: path is 3, expected the name", saved(3)),
    Case("nothing as file", 12, "save: path is None, expected the name", saved(None)),
    Case(
        "a text as size of a model",
        12,
        "n-four-bar: N is '3', expected",
        lambda folder: zw.gallery.load("n-four-bar", N="3"),
    ),
    Case(
        "half a loop",
        12,
        "n-four-bar: N is 2.5, expected",
        lambda folder: zw.gallery.load("n-four-bar", N=2.5),
    ),
    Case("a place that computes nothing", 12, "execution is 'gpu'", simulated(execution="gpu")),
)
