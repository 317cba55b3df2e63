"""Systems that differ from what their controllers believe, and the bounds that the laws state:
shared by the tests and by `python -m verification uncertain`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang.bodies import Body, RigidBodies, rotation
from zwang.objects.record import replace

K, LAYER, MISMATCH = 2.0, 0.05, 0.25
"""Masses from 0.8 to 1.2 kg where 1 kg is believed: 1/0.8 − 1 is the most that e can be."""
BOUND = 0.25 * (1 + K * 2 * LAYER) + 1.25 * (0.5 * (1 + LAYER / K) + 1.0)
"""Of d: (m₀/m − 1)(ẍ_d − k ė), a spring that is off by 0.5 N/m at |x| ≤ 1 + ε/k, a load of 1 N."""
SURFACE = zw.servo.SlidingSurface(K, bound=BOUND, layer=LAYER, mismatch=MISMATCH)
ROBUST = zw.servo.Robust(K, bound=BOUND + 0.75 * K * LAYER, layer=LAYER, mismatch=MISMATCH)
"""Of d₀: (m₀/m − 1)(ẍ_d − 2 k ė − k² e) in place of the first term."""
LEARNS = zw.servo.Adaptive(4.0, growth=400.0, leakage=4.0, layer=0.02, mismatch=MISMATCH)
LARGEST = 0.3
"""Bound of |y| under `LEARNS` from which ρ follows, and which follows from ρ in turn."""
RHO = 0.25 * (1 + 4.0**2 * LARGEST + 64.0 * LARGEST) + 1.25 * (0.5 * (1 + LARGEST) + 1.0)
TURNING = zw.servo.SlidingSurface(1.0, bound=0.5, layer=0.02, mismatch=0.2)


class Uncertain(NamedTuple):
    """A loop whose plant has other parameters than its controller believes.

    Attributes:
        model: what the controller believes.
        start: q and v.
        over: parameters that are drawn, as of `zw.monte_carlo`.
        bounds: of the largest error and what else is stated.
        outputs: the same of a motion (t, q, v).
        near: share of the first bound that the worst draw exceeds, so that the bound means
            something.
        duration, samples, rtol: of each run.
        beyond: parameters outside of what the law assumes, and how long they act [s].
    """

    model: zw.Model
    start: tuple
    over: Mapping[str, str]
    bounds: Mapping[str, float]
    outputs: Mapping[str, Callable]
    near: float
    duration: float
    samples: int
    rtol: float
    beyond: tuple[Mapping[str, float], float]

    def drawn(self, cases: int) -> dict[str, np.ndarray]:
        """Each output of as many systems as are drawn, shape (cases,)."""
        study = zw.monte_carlo(
            zw.Loop(model=self.model),
            self.model,
            self.over,
            self.start,
            cases=cases,
            seed=7,
            duration=self.duration,
            samples=self.samples,
            rtol=self.rtol,
            outputs=self.outputs,
        )
        return {name: np.asarray(study.dataset[name]) for name in self.outputs}

    def outside(self) -> tuple[float, tuple[str, ...]]:
        """The first output of a system outside of what the law assumes, and what its run warns
        of.
        """
        params, duration = self.beyond
        loop = zw.Loop(model=self.model)
        run = zw.simulate(
            self.model, *self.start, duration=duration, params=params, loop=loop, rtol=self.rtol
        )
        return next(iter(self.outputs.values()))(run.t, run.q, run.v), run.warnings


def mass(gain) -> tuple[zw.Model, zw.Servo]:
    """A mass on a spring under an unknown load, which is to follow sin t."""
    force = lambda q, v, t, p: -p["spring"] * q + p["load"] * jnp.sin(p["pitch"] * t)
    system = zw.System(1, lambda q, t, p: p["m"] * jnp.ones(1), force, coordinates=("x",))
    follow = zw.Holonomic(lambda q, t, p: q[0] - jnp.sin(t), name="follow")
    servo = zw.Servo([follow], [[1.0]], gains=gain, actuators=["push"])
    params = {"m": 1.0, "spring": 2.0, "load": 0.0, "pitch": 3.0}
    return zw.Model(system, params=params, name="mass"), servo


MASSES = {"m": "0.8:1.2", "spring": "1.5:2.5", "load": "-1:1", "pitch": "0.2:12"}


def _error(t, q, v) -> float:
    return float(np.max(np.abs(q[:, 0] - np.sin(t))))


def smooth() -> Uncertain:
    """`SlidingSurface`; a load of 20 N where 1 N is assumed is outside."""
    model, servo = mass(SURFACE)
    return Uncertain(
        model.with_parts(servo=servo),
        ([0.0], [1.0]),
        MASSES,
        {"error": float(SURFACE.error_bound), "rate": float(SURFACE.rate_bound)},
        {"error": _error, "rate": lambda t, q, v: float(np.max(np.abs(v[:, 0] - np.cos(t))))},
        0.2,
        8.0,
        161,
        1e-7,
        ({"load": 20.0, "pitch": 0.5}, 4.0),
    )


def layer() -> Uncertain:
    """`Robust`, from a start on the path."""
    model, servo = mass(ROBUST)
    bounds = {"error": float(ROBUST.ultimate_bound(2))}
    made = smooth()._replace(model=model.with_parts(servo=servo), bounds=bounds)
    return made._replace(outputs={"error": _error})


def learned() -> Uncertain:
    """`Adaptive`, which knows neither ρ nor a bound of anything; ρ is that of what is drawn. A load
    of 150 N is outside.
    """
    found = zw.servo.with_found_degrees(*mass(LEARNS), [0.0], [1.0])
    bounds = {"error": LEARNS.error_bound(RHO), "end": LEARNS.ultimate_bound(RHO)}
    return Uncertain(
        found.model,
        (found.q, found.v),
        MASSES,
        {name: float(x) for name, x in bounds.items()},
        {"error": _error, "end": lambda t, q, v: _error(t[60:], q[60:], v)},
        0.0,
        8.0,
        81,
        1e-6,
        ({"load": 150.0, "pitch": 0.8}, 4.0),
    )


def limits() -> Uncertain:
    """`within` under `Robust`: loads up to 2 N on 1 kg do not move y beyond its start, 3 N do."""
    # slopes of T are below 21 where |y| ≤ 0.02, so that 2 m/s² are at most 42 of φ
    robust = zw.servo.Robust(6.0, bound=42.0, layer=0.2)
    load = lambda q, v, t, p: p["load"] * jnp.sin(p["pitch"] * t) * jnp.ones(1)
    system = zw.System(1, lambda q, t, p: jnp.ones(1), load)
    row = zw.servo.within(lambda q, t, p: q, -0.1, 0.1, 0.0)
    servo = zw.Servo([row], [[1.0]], gains=robust)
    return Uncertain(
        zw.Model(system, params={"load": 0.0, "pitch": 1.0}, servo=servo, name="point"),
        ([0.02], [0.0]),
        {"load": "-2:2", "pitch": "0.3:8"},
        # φ of the start, which does not grow; and the round-off of a sample
        {"far": float(row.phi.reached(np.log(0.12 / 0.08))[1]) + 1e-9},
        {"far": lambda t, q, v: float(np.max(np.abs(q)))},
        0.99,
        3.0,
        61,
        1e-6,
        ({"load": 3.0, "pitch": 0.5}, 4.0),
    )


def formation() -> Uncertain:
    """A satellite of the gallery over an orbit: a mass off by a tenth, the oblateness of the Earth
    (1.2e-2 m/s²) and drag; 0.2 N/(m/s) of drag are outside.
    """
    member = zw.gallery.load("formation")
    (gain,) = member.model.servo.gains.values()

    def error(t, q, v):
        wanted = np.stack([*member.exact(t).values()], axis=1)
        return float(np.abs(q - wanted).max())

    return Uncertain(
        member.model,
        (member.q0, member.v0),
        {"mass": "450:550", "flattening": "0.8:1.2", "drag": "0:1e-5"},
        {"error": float(gain.error_bound)},
        {"error": error},
        0.5,
        5800.0,
        101,
        1e-8,
        ({"drag": 0.2, "flattening": 1.0}, 1000.0),
    )


def _attitude(t):
    """A turn about a tilted axis that the bodies are to make together."""
    return rotation.exponential(0.4 * jnp.array([0.48, 0.6, 0.64]) * t)


def _turned_off(t, q, v) -> float:
    """How far the bodies are from the attitude that they are to have, 2 × the vector part."""
    w = 0.4 * np.array([0.48, 0.6, 0.64])
    half = 0.5 * np.outer(t, w)
    angle = np.linalg.norm(half, axis=1, keepdims=True)
    scalar, vector = np.cos(angle), np.sin(angle) * w / np.linalg.norm(w)
    off = []
    for i in (3, 10):
        a, b = q[:, i : i + 1], q[:, i + 1 : i + 4]
        off.append(2 * np.abs(scalar * b - a * vector - np.cross(vector, b)).max())
    return float(max(off))


def tumbling() -> Uncertain:
    """Two bodies with springs between their attitudes that turn together, under `SlidingSurface`;
    moments of inertia, springs and loads are uncertain. A load of 8 N m is outside.
    """
    bodies = RigidBodies(
        [Body("a", 10.0, (2.0, 3.0, 4.0)), Body("b", 8.0, (1.5, 1.5, 2.0))],
        gravity=(0.0, 0.0, 0.0),
    )

    def scaled(p):
        """Parameters with the moments that are drawn."""
        return {**p, "inertia": p["inertia"] * jnp.stack([p["part of a"], p["part of b"]])[:, None]}

    def force(q, v, t, p):
        a, b = q[3:7], q[10:14]
        between = rotation.product(rotation.conjugate(a), b)
        twist = p["spring"] * between[1:] * jnp.sign(between[0])
        push = jnp.zeros(12).at[3:6].set(twist)
        push = push.at[9:12].set(-rotation.rotation_matrix(between).T @ twist)
        own = bodies.system.force(q, v, t, scaled(p))
        return own + push + p["load"] * jnp.sin(t) * jnp.ones(12)

    def off(i):
        return lambda q, t, p: (
            2 * rotation.product(rotation.conjugate(_attitude(t)), q[7 * i + 3 : 7 * i + 7])[1:]
        )

    rows = [zw.Holonomic(off(i), name=f"attitude of {'ab'[i]}") for i in range(2)]
    mass_matrix = lambda q, t, p: bodies.system.mass_matrix(q, t, scaled(p))
    system = replace(bodies.system, mass_matrix=mass_matrix, force=force)
    params = {**bodies.params, "spring": 0.5, "load": 0.0, "part of a": 1.0, "part of b": 1.0}
    servo = zw.Servo(rows, np.eye(12)[:, [3, 4, 5, 9, 10, 11]], gains=TURNING)
    q0, v0 = np.zeros(14), np.zeros(12)
    q0[[3, 10]] = 1.0
    q0[7] = 3.0
    v0[3:6] = v0[9:12] = 0.4 * np.array([0.48, 0.6, 0.64])
    parts = {"part of a": "0.9:1.1", "part of b": "0.9:1.1"}
    return Uncertain(
        zw.Model(system, params=params, servo=servo, name="tumbling"),
        (q0, v0),
        {**parts, "spring": "0.3:0.7", "load": "-0.3:0.3"},
        {"error": float(TURNING.error_bound)},
        {"error": _turned_off},
        0.05,
        6.0,
        31,
        1e-6,
        ({"load": 8.0}, 3.0),
    )


UNCERTAIN = {
    "smooth control": smooth,
    "boundary layer": layer,
    "learned bound": learned,
    "limits": limits,
    "formation": formation,
    "tumbling bodies": tumbling,
}
"""Every law that states a bound of its error."""
