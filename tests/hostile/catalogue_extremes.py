"""Extremes of numbers, kinds and functions: rows that vanish in velocities, times and sizes out of
range, and effects that begin later.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import zwang as zw
from tests.hostile.case import Case
from tests.hostile.given import Q, V, pendulum
from zwang.simulation.results import Run

H, N = zw.Holonomic, zw.Nonholonomic


def simulated(constraints=(), mass=None, q=(0.0, 0.0), v=(0.0, 0.0), **options):
    """A function of a folder that runs a unit mass which falls along its second coordinate."""

    def do(folder: Path) -> str:
        system = zw.System(
            2, mass or (lambda q, t, p: jnp.ones(2)), lambda q, v, t, p: jnp.array([0.0, -9.81])
        )
        given = {"duration": 1.0, "samples": 3, "rtol": 1e-6, **options}
        return zw.simulate(zw.Model(system, list(constraints)), q, v, **given).result.sentence

    return do


def saved(path):
    return lambda folder: _run().save(path)


def _run() -> Run:
    return zw.simulate(pendulum(), Q, V, duration=0.01, samples=2)


def checked_kind(folder: Path) -> str:
    """A drive of 100 Hz, whose period fits into many times."""
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
    drive = H(lambda q, t, p: q[0] - 1e-3 * jnp.sin(200 * jnp.pi * t), name="drive")
    return zw.check(zw.Model(system, [drive]), [0.0, 0.0], [0.2 * np.pi, 0.0]).constraints[0].kind


HILBERT = 1 / (np.arange(9)[:, None] + np.arange(9) + 1.0)


@functools.cache
def hilbert() -> zw.Model:
    """Nine masses by Hilbert's matrix, whose condition is 5e11."""
    load = np.random.default_rng(9).standard_normal(9)
    system = zw.System(
        9, lambda q, t, p: jnp.asarray(HILBERT), lambda q, v, t, p: jnp.asarray(load)
    )
    return zw.Model(system, name="hilbert")


def hilbert_run(folder: Path) -> str:
    options = {"duration": 0.01, "samples": 2}
    return " ".join(zw.simulate(hilbert(), np.zeros(9), np.zeros(9), **options).warnings)


def rod_times(factor: float, mass: float = 1.0):
    """A weight on a rod of 1 m whose equation is multiplied by a factor."""
    system = zw.System(
        2, lambda q, t, p: mass * jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81])
    )
    return zw.Model(system, [H(lambda q, t, p: factor * (q @ q - 1), name="rod")])


def sizes(do, model):
    """A function of a folder that lets `do` work on a model at (0.6, 0.8) at rest."""
    return lambda folder: str(do(model(), [0.6, 0.8], [0.0, 0.0]))


def run_of(model, q, v):
    return zw.simulate(model, q, v, duration=0.1, samples=2).result.sentence


def scaled_batch(folder: Path) -> str:
    """A weight on a rod, and three more of it in units that float64 cannot compute with."""
    system = zw.System(
        2, lambda q, t, p: p["mass"] * jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81])
    )
    rod = H(lambda q, t, p: p["factor"] * (q @ q - 1), name="rod")
    model = zw.Model(system, [rod], {"mass": 1.0, "factor": 1.0})
    q, v = np.tile([0.6, 0.8], (4, 1)), np.zeros((4, 2))
    varied = {"factor": [1.0, 1e200, 1e-200, 1.0], "mass": [1.0, 1.0, 1.0, 1e200]}
    found = zw.batch(model, q, v, [0.0, 0.1], params={k: np.array(x) for k, x in varied.items()})
    return str(found.failures)


TINY = lambda: zw.Model(
    zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81])),
    [
        H(lambda q, t, p: 1e-20 * (q[1] - 0.8), name="tiny"),
        H(lambda q, t, p: q[0] - 0.6, name="one"),
    ],
)
SHRINKING = H(lambda q, t, p: q @ q - (1 - t) ** 2, name="rod")


@functools.cache
def massless() -> zw.Model:
    """The first coordinate has no mass, which nobody has said."""
    return rod_times_with(lambda q, t, p: jnp.array([0.0, 1.0]))


def rod_times_with(mass) -> zw.Model:
    system = zw.System(2, mass, lambda q, v, t, p: jnp.array([0.0, -9.81]), coordinates=("x", "y"))
    return zw.Model(system, [H(lambda q, t, p: q @ q - 1, name="rod")])


@functools.cache
def shrinking() -> zw.Model:
    return zw.Model(
        zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2)), [SHRINKING]
    )


def shrunk_past(least: float):
    """A function of a folder that runs past the point where a rod is shortest."""

    def do(folder: Path) -> str:
        run = zw.simulate(
            shrinking_but_for(),
            [np.hypot(1.0, least), 0.0],
            [-1.0 / np.hypot(1.0, least), 0.0],
            duration=2.0,
            samples=10,
            rtol=1e-4,
            params=jnp.asarray(least),
        )
        return "; ".join(run.warnings)

    return do


@functools.cache
def shrinking_but_for() -> zw.Model:
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
    rod = H(lambda q, t, p: q @ q - (1 - t) ** 2 - p**2, name="rod")
    return zw.Model(system, [rod], params=jnp.asarray(0.0))


def nearly_a_parallelogram(folder: Path) -> str:
    """Two cranks and a coupler by their points, which turn over where all lie in line."""

    def links(q, t, p):
        a, b = q[:2], q[2:]
        c = b - jnp.array([2.0, 0.0])
        return jnp.stack([a @ a - 1, (b - a) @ (b - a) - 4, c @ c - (1 + 1e-8) ** 2])

    system = zw.System(4, lambda q, t, p: jnp.ones(4), lambda q, v, t, p: jnp.zeros(4))
    model = zw.Model(system, [H(links, name="links")])
    start = zw.consistent_state(model, [0.0, 1.0, 2.0, 1.0], [1.0, 0.0, 1.0, 0.0]).state
    run = zw.simulate(model, start.q, start.v, duration=2.0, samples=3, rtol=1e-4)
    return "; ".join(run.warnings)


LEAPING = zw.Holonomic(lambda q, t, p: q[0] - jnp.where(t < 0.5, 0.0, 1.0), name="drive")
SLOW = N(lambda q, v, t, p: jnp.maximum(-v[1] - 1.0, 0.0) ** 3, name="slow")
TILTED = lambda q, t, p: jnp.array([[2.0, t], [0.0, 2.0]])

SCALES = (
    Case(
        "a mass matrix of condition 5e11, run", 4, "accurate to .*mass matrix is ill-c", hilbert_run
    ),
    Case(
        "a mass matrix of condition 5e11, checked",
        4,
        "accuracy of v̇ .*condition of the mass matrix 2e\\+11",
        lambda folder: str(zw.check(hilbert(), np.zeros(9))),
    ),
    Case(
        "a mass matrix of condition 5e11, one acceleration",
        4,
        "accurate to .*e-0[567] only",
        lambda folder: str(zw.motion(hilbert(), np.zeros(9), np.zeros(9))),
    ),
    *(
        Case(f"{name}, {way}", 4, says, sizes(do, model))
        for name, model, says in (
            ("rows times 1e200", lambda: rod_times(1e200), "'rod'.*size 2.8e\\+200"),
            ("rows times 1e-200", lambda: rod_times(1e-200), "'rod'.*size 2.8e-200"),
            ("masses of 1e300 kg", lambda: rod_times(1.0, 1e300), "mass of velocity.*1.0e\\+300"),
            ("masses of 1e-200 kg", lambda: rod_times(1.0, 1e-200), "mass of velocity.*1.0e-200"),
        )
        for way, do in (("run", run_of), ("checked", zw.check))
    ),
    Case(
        "a row of 1e-20 beside one of 1",
        4,
        "reached the end",
        sizes(run_of, TINY),
    ),
    Case(
        "a row of 1e-20 beside one of 1, checked",
        4,
        r"rank 2[\s\S]*degrees of freedom\s+0[\s\S]*verdict\s+consistent",
        sizes(zw.check, TINY),
    ),
    Case(
        "a row of 1e-20 beside one of 1, as a trajectory",
        4,
        "reached the end",
        sizes(lambda model, q, v: zw.trajectory(model, q, v, [0.0, 0.1]).reason(model), TINY),
    ),
    Case(
        "rows and masses of sizes out of range, as a batch",
        4,
        r"1: .*'rod'.*size 2.8e\+200.*2: .*'rod'.*size 2.8e-200.*3: .*mass of velocity.*1e\+100",
        scaled_batch,
    ),
    Case(
        "rows times 1e200, one acceleration",
        4,
        "'rod'.*size",
        sizes(zw.motion, lambda: rod_times(1e200)),
    ),
    Case(
        "a state put on rows times 1e200",
        4,
        "'rod'.*size",
        lambda folder: zw.consistent_state(rod_times(1e200), [0.6, 0.9]),
    ),
    Case(
        "a weight of 1e200 N",
        4,
        "the force along velocity .* is 1.0e\\+200",
        lambda folder: zw.simulate(
            zw.Model(zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: 1e200 + q)),
            [0.0],
            [0.0],
            duration=1.0,
        ),
    ),
    Case(
        "a place 1e200 m away",
        4,
        "coordinate 'q0' is 1.0e\\+200",
        simulated(q=(1e200, 0.0)),
    ),
    # of compiled motions, which cannot raise
    Case(
        "a trajectory without mass",
        5,
        "velocity 'x' has no mass there",
        lambda folder: zw.trajectory(massless(), [0.6, 0.8], V, [0.0, 1.0]).reason(massless()),
    ),
    # a row that vanishes along the way, with ever shorter steps
    Case(
        "a rod that shrinks to a point",
        1,
        "gradient of a constraint vanishes.*'rod'",
        lambda folder: zw.simulate(shrinking(), [1.0, 0.0], [-1.0, 0.003], duration=2.0, rtol=1e-4),
    ),
    Case(
        "a rod that shrinks to a point straight on, to come out on the other side or back",
        1,
        "gradient of a constraint vanishes.*'rod' has",
        lambda folder: zw.simulate(shrinking(), [1.0, 0.0], [-1.0, 0.0], duration=2.0, samples=9),
    ),
    Case(
        "a rod that shrinks to a billionth of its length and grows again",
        2,
        "kept its branch is not known at 1 of 1.*passes just beside it",
        shrunk_past(1e-9),
    ),
    Case(
        "a rod that shrinks to a point between two steps",
        2,
        "kept its branch is not known at 1 of 1.*passes just beside it",
        shrunk_past(0.0),
    ),
    Case(
        "a rod that shrinks to a thousandth of its length and grows again, in large steps",
        2,
        "stepped from one branch onto another .*rod, singular value 7.*shorter steps",
        shrunk_past(1e-3),
    ),
    Case(
        "a parallelogram of rods that differ by a hundred-millionth",
        2,
        "stepped from one branch onto another .*links, singular value .*shorter steps",
        nearly_a_parallelogram,
    ),
    Case(
        "a rod that shrinks to a point, as a trajectory",
        1,
        "gradient of a constraint vanishes.*'rod'",
        lambda folder: zw.trajectory(
            shrinking(), [1.0, 0.0], [-1.0, 0.3], [0.0, 2.0], max_steps=400
        ).reason(shrinking()),
    ),
)
KEPT = []


def keeps(q, t, p):
    """A residual of the place that it was first called with."""
    KEPT.append(q)
    return KEPT[0] @ KEPT[0] - 1.0


def leaves(q, t, p):
    sys.exit(3)


FOREIGN = (
    Case("a traced value that is kept", 12, "keeps a traced value", simulated([H(keeps)])),
    Case("phi that leaves Python", 12, "'x'.*SystemExit: 3", simulated([H(leaves, name="x")])),
    Case(
        "a constraint of no rows",
        6,
        "'none' returns no rows",
        simulated([H(lambda q, t, p: q[:0], name="none")]),
    ),
    Case("an rtol above 1", 12, "rtol is 2.0, expected .* at most 1", simulated(rtol=2.0)),
    Case("an rtol below round-off", 13, "rtol is 1e-20, .* at least 1e-15", simulated(rtol=1e-20)),
    Case(
        "a model of a billion bars",
        10,
        "stages is 1000000000, expected .* at most 100000",
        argv=("check", "scissor-lift", "--set", "stages=1000000000"),
        code=2,
    ),
)
CASES = (
    *SCALES,
    *FOREIGN,
    # rows of velocities without a gradient
    Case(
        "a squared velocity",
        2,
        "'x'.*squared",
        simulated([N(lambda q, v, t, p: v[1] ** 2, name="x")]),
    ),
    Case("no speed at all", 2, "'x'.*isolated", simulated([N(lambda q, v, t, p: v @ v, name="x")])),
    Case(
        "a limit of speed that comes later",
        2,
        "reached the end|psi of constraint 'slow' cannot be reduced",
        simulated([SLOW]),
    ),
    Case(
        "a drive that jumps",
        1,
        "phi of constraint 'drive' jumps by 1 just after",
        simulated([LEAPING]),
    ),
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
)
