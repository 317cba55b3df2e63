"""Models whose motion would be wrong, or wrongly refused: input → sentence, or the end of the
run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import zwang as zw
from tests.hostile.case import Case
from tests.hostile.given import Q, V, system
from zwang.simulation.results import Run, Variables
from zwang.simulation.results.saving import save

H, N, A = zw.Holonomic, zw.Nonholonomic, zw.AccelerationConstraint
ROW = jnp.array([1.0, 0.0])


def ended(run: Run) -> str:
    """How a run ended, in words: its result and its warnings."""
    return " ".join([run.result.sentence, *run.warnings])


def simulated(model: zw.Model, q, v, **options) -> str:
    given = {"duration": 1.0, "samples": 3, "rtol": 1e-6, **options}
    run = zw.simulate(model, q, v, **given)
    if not np.all(np.isfinite(run.q)):
        return "a result that is not finite"
    return ended(run)


def motion(model: zw.Model, q, v, expected, **options) -> str:
    """`right` if the acceleration is the one that is known."""
    found = np.asarray(zw.motion(model, q, v, **options).acceleration)
    error = float(np.abs(found - expected).max())
    return "right" if error < 1e-9 else f"off by {error:.1e}"


def weights(n: int, mass: Callable | None = None, pull: float = -9.81) -> zw.System:
    """Masses of 1 kg, each pulled along the last of its two coordinates."""
    down = jnp.tile(jnp.array([0.0, pull]), n // 2)
    return zw.System(n, mass or (lambda q, t, p: jnp.ones(n)), lambda q, v, t, p: down)


# --- right models, from rest and without load
def rods(q, t, p):
    return jnp.sum((q[2:].reshape(2, 2) - q[:4].reshape(2, 2)) ** 2, axis=1) - p["L"] ** 2


ROD_MODEL = zw.Model(weights(6), [H(rods, name="rods")], {"L": np.ones(2)})


def falling_rods(folder: Path) -> str:
    """Two hundred random starts: all points fall alike, and every residual is round-off."""
    random, worst = np.random.default_rng(0), 0.0
    for _ in range(200):
        length, angle = random.uniform(0.3, 2.0, 2), random.uniform(-np.pi, np.pi, 2)
        arms = length[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        q = np.cumsum(np.vstack([random.normal(size=(1, 2)), arms]), axis=0).ravel()
        m = zw.motion(ROD_MODEL, q, np.zeros(6), params={"L": length})
        worst = max(worst, float(np.abs(m.acceleration - np.tile([0.0, -9.81], 3)).max()))
    return "right" if worst < 1e-9 else f"off by {worst:.1e}"


NODE = zw.Model(
    zw.System(
        3,
        lambda q, t, p: jnp.array([1.0, 0.0, 1.0]),
        lambda q, v, t, p: jnp.array([q[1] - q[0] - 1.0, 0.0, q[1] - q[2] + 1.0]),
    ),
    [H(lambda q, t, p: q[1] - 0.5 * (q[0] + q[2]), name="node")],
)
SHAFT = zw.Model(
    zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2)),
    [H(lambda q, t, p: q[0] - 2 * q[1], name="gear")],
)
WHEEL = zw.Model(
    zw.System(2, lambda q, t, p: jnp.array([1.0, 0.0]), lambda q, v, t, p: jnp.zeros(2)),
    [H(lambda q, t, p: q[0] - 0.3 * q[1], name="rolling")],
)
RIGHT = (
    Case("200 pairs of rods that fall from rest", 0, "right", falling_rods),
    Case(
        "a run of two rods that fall from rest",
        0,
        "reached the end",
        lambda _: simulated(ROD_MODEL, [0.0, 0, 1, 0, 1, 1], np.zeros(6)),
    ),
    Case(
        "a massless node between springs at rest",
        0,
        "right",
        lambda _: motion(NODE, [0.1, 1.1, 2.1], np.zeros(3), np.zeros(3)),
    ),
    Case(
        "two shafts that turn evenly",
        0,
        "right",
        lambda _: motion(SHAFT, V, [200.0, 100.0], V),
    ),
    Case(
        "a wheel with a massless coordinate at rest",
        0,
        "right",
        lambda _: motion(WHEEL, [0.3, 1.0], np.zeros(2), np.zeros(2)),
    ),
)

# --- linear, nonholonomic and acceleration rows that come to contradict each other
CONTRADICTING = {
    "two drives on one joint": (
        H(lambda q, t, p: q[0] - t**3, name="a"),
        H(lambda q, t, p: q[0] - jnp.sin(t**3), name="b"),
    ),
    "a place that stays and one that moves": (
        H(lambda q, t, p: q[0], name="a"),
        H(lambda q, t, p: q[0] - t**3, name="b"),
    ),
    "two speeds of one coordinate": (
        N(lambda q, v, t, p: v[0], name="a"),
        N(lambda q, v, t, p: v[0] - t**3, name="b"),
    ),
    "a place and a speed of one coordinate": (
        H(lambda q, t, p: q[0], name="a"),
        N(lambda q, v, t, p: v[0] - t**2, name="b"),
    ),
    "two accelerations of one coordinate": (
        A(lambda q, v, t, p: ROW, lambda q, v, t, p: 0.0 * t, name="a"),
        A(lambda q, v, t, p: ROW, lambda q, v, t, p: t**2, name="b"),
    ),
}


def contradicting(name: str) -> zw.Model:
    return zw.Model(system(), list(CONTRADICTING[name]))


AGAINST = (
    *(
        Case(
            name,
            1,
            "stopped at t = .* contradict each other.*'a' misses by .*'b' misses by",
            lambda _, name=name: simulated(contradicting(name), [0.0, 0.0], V),
        )
        for name in CONTRADICTING
    ),
    Case(
        "the motion at an instant of contradiction",
        1,
        r"contradict each other.*\('a' misses by 1 of .*, 'b' misses by 0.333 of the acc",
        lambda _: zw.motion(
            contradicting("a place that stays and one that moves"), [0.0, 0.0], V, 1.0
        ),
    ),
)

# --- rows whose gradient vanishes
VANISHING = {
    "the squared distance from the origin": (H, lambda q, t, p: q @ q, "an isolated point"),
    "a squared constraint": (H, lambda q, t, p: q[1] ** 2, "a squared constraint"),
    "a cosine at its top": (H, lambda q, t, p: 1 - jnp.cos(q[0]), "a squared constraint"),
    "a root that has its least value": (
        H,
        lambda q, t, p: jnp.sqrt(1 + q @ q) - 1,
        "an isolated point",
    ),
    "phi of time alone": (H, lambda q, t, p: t**4, "depends on no coordinate"),
    "phi behind stop_gradient": (
        H,
        lambda q, t, p: jax.lax.stop_gradient(q)[0],
        "stop_gradient.*no force can keep",
    ),
    "psi without velocities": (N, lambda q, v, t, p: q @ q, "psi depends on no velocity"),
}
WITHOUT_GRADIENT = (
    *(
        Case(
            name,
            2,
            says,
            lambda _, kind=kind, f=function: simulated(zw.Model(system(), [kind(f)]), V, V),
        )
        for name, (kind, function, says) in VANISHING.items()
    ),
    *(
        Case(
            f"the motion at an instant of {name}",
            2,
            VANISHING[name][2],
            lambda _, name=name: zw.motion(zw.Model(system(), [H(VANISHING[name][1])]), V, V),
        )
        for name in ("the squared distance from the origin", "a cosine at its top")
    ),
    Case(
        "a cubed constraint under load",
        2,
        "reached the end|stopped at t = .*'holonomic' keeps (phi|psi)",
        lambda _: simulated(zw.Model(system(), [H(lambda q, t, p: q[1] ** 3)]), V, V),
    ),
    Case(
        "A = 0 with b = -2",
        2,
        "contradict each other.*misses by 1 of the accelerations involved",
        lambda _: simulated(
            zw.Model(
                system(), [A(lambda q, v, t, p: jnp.zeros(2), lambda q, v, t, p: -2.0 + 0 * t)]
            ),
            V,
            V,
        ),
    ),
    Case(
        "a branch that is crossed",
        2,
        "reached the end",
        lambda _: simulated(zw.Model(system(), [H(lambda q, t, p: q[0])]), V, V),
    ),
)


# --- code outside of JAX
def outside(q):
    return jax.pure_callback(
        lambda q: np.asarray(q[0] - 1.0), jax.ShapeDtypeStruct((), jnp.float64), q
    )


CALLBACKS = tuple(
    Case(f"a callback in {what}", 3, "calls code outside of JAX, which has no derivative", do)
    for what, do in {
        "phi": lambda _: zw.Model(system(), [H(lambda q, t, p: outside(q))]),
        "psi": lambda _: zw.Model(system(), [N(lambda q, v, t, p: outside(v))]),
        "a jitted phi": lambda _: zw.Model(system(), [H(jax.jit(lambda q, t, p: outside(q)))]),
    }.items()
)

# --- rows at a small angle
PAIR = zw.Model(
    system(),
    [H(lambda q, t, p: jnp.stack([q[0] - 1.0, q[0] - 1.0 + p["e"] * q[1]]), name="pair")],
    {"e": 0.1},
)


FAN = lambda q, t, p: jnp.stack([q[0], q[0] + 1e-5 * q[1], q[0] - 1e-5 * q[1]])


def pair(angle: float) -> Callable:
    def do(folder: Path) -> str:
        found = zw.motion(PAIR, Q, V, params={"e": angle})
        error = float(np.abs(found.acceleration).max())
        return "right" if error < 1e-15 / angle else f"off by {error:.1e}"

    return do


PARALLEL = (
    *(
        Case(f"two rows at an angle of {angle:.0e}", 3, "right", pair(angle))
        for angle in (1e-2, 1e-4, 1e-5, 1e-6, 1e-7)
    ),
    Case(
        "three rows within 1e-5 of each other",
        3,
        "reached the end.*nearly parallel at the start",
        lambda _: simulated(zw.Model(system(), [H(FAN, name="fan")]), V, V),
    ),
    Case(
        "a run of two rows at an angle of 1e-6",
        3,
        "reached the end.*nearly parallel at the start .singular value 7.1e-07.",
        lambda _: simulated(PAIR, Q, V, params={"e": 1e-6}),
    ),
)


# --- ill-conditioned and massless
def lift(folder: Path) -> str:
    """At rest the lift's joint moves as one: its acceleration lies in the null space of A."""
    example = zw.gallery.load("scissor-lift", stages=10)
    found = zw.motion(example.model, example.q0, example.v0)
    left = float(np.abs(found.matrix @ found.acceleration - found.rhs).max())
    return f"accuracy {float(found.accuracy):.0e}, {'right' if left < 1e-9 else left}"


FREE = zw.System(
    2, lambda q, t, p: jnp.array([1.0, 0.0]), lambda q, v, t, p: jnp.array([0.0, -1.0])
)
ILL = (
    Case("a lift of 10 stages", 4, r"accuracy \de-1\d, right", lift),
    Case(
        "a massless coordinate that no row holds",
        5,
        "'q1' has neither mass nor a constraint that holds it",
        lambda _: simulated(zw.Model(FREE), V, V),
    ),
    Case(
        "a massless coordinate that no row holds, with singular_mass=True",
        5,
        "'q1' has neither mass nor a constraint that holds it",
        lambda _: simulated(zw.Model(FREE, singular_mass=True), V, V),
    ),
    Case(
        "a massless coordinate that a row holds",
        5,
        "reached the end",
        lambda _: simulated(zw.Model(FREE, [H(lambda q, t, p: q[1] - q[0])]), V, V),
    ),
)


# --- places without room, and Ctrl-C
def no_room(name: str, number: int) -> Case:
    """A disk that fails where a file is brought to it."""

    def do(folder: Path) -> None:
        import os

        time = {"time": (("time",), np.arange(3), {})}
        data = Variables({"q": (("time",), np.zeros(3), {})}, time, {})
        path, sync = save(data, folder / "run.nc"), os.fsync
        before = path.read_bytes()

        def fails(*_):
            raise OSError(number, os.strerror(number))

        os.fsync = fails
        try:
            save(data, path)
        finally:
            os.fsync = sync
            assert path.read_bytes() == before

    return Case(name, 9, r"cannot write .*; what stood there is unchanged\.$", do)


def interrupted(folder: Path) -> None:
    """Ctrl-C while a run is on its way."""

    def press(_):
        raise KeyboardInterrupt

    spring = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -q)
    zw.simulate(zw.Model(spring), [1.0], [0.0], duration=1e4, progress=press)


OUTSIDE = (
    no_room("a disk that is full at the end", 28),
    no_room("a disk that becomes read-only at the end", 30),
    no_room("a disk that fails at the end", 5),
    Case(
        "Ctrl-C while a run is on its way",
        11,
        "interrupted by the user.*`run` of this",
        interrupted,
    ),
)

CASES = (*RIGHT, *AGAINST, *WITHOUT_GRADIENT, *CALLBACKS, *PARALLEL, *ILL, *OUTSIDE)
