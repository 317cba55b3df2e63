"""Uncertain systems, whose parameters differ from those of their controllers, with the error bounds
that the control laws state: shared by the tests and by `python -m verification uncertain`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

import zwang as zw
from zwang.bodies import rotation

K, LAYER, MISMATCH = 2.0, 0.05, 0.25
"""The controller assumes 1 kg for masses from 0.8 to 1.2 kg: the mismatch is at most 1/0.8 − 1."""
BOUND = 0.25 * (1 + K * 2 * LAYER) + 1.25 * (0.5 * (1 + LAYER / K) + 1.0)
"""Bound of d, the sum of (m₀/m − 1)(ẍ_d − k ė), a spring that is off by 0.5 N/m at |x| ≤ 1 + ε/k,
and a load of 1 N."""
SURFACE = zw.servo.SlidingSurface(K, bound=BOUND, layer=LAYER, mismatch=MISMATCH)
ROBUST = zw.servo.Robust(K, bound=BOUND + 0.75 * K * LAYER, layer=LAYER, mismatch=MISMATCH)
"""Its bound is that of d₀, with (m₀/m − 1)(ẍ_d − 2 k ė − k² e) in place of the first term of d."""
LEARNS = zw.servo.Adaptive(4.0, growth=400.0, leakage=4.0, layer=0.02, mismatch=MISMATCH)
LARGEST = 0.3
"""Bound of |y| under `LEARNS`: it determines ρ, and ρ in turn implies this bound."""
RHO = 0.25 * (1 + 4.0**2 * LARGEST + 64.0 * LARGEST) + 1.25 * (0.5 * (1 + LARGEST) + 1.0)


class Uncertain(NamedTuple):
    """A loop whose plant has other parameters than its controller assumes.

    Attributes:
        model: model with the parameters that the controller assumes.
        start: q and v.
        over: distributions of the drawn parameters, as in `zw.study.monte_carlo`.
        bounds: stated bounds by name, the first one of the largest error.
        outputs: the bounded quantities as functions of a motion (t, q, v).
        near: fraction of the first bound that the worst draw must exceed, so that the bound is not
            trivially large.
        duration, samples, rtol: of each run.
        beyond: parameters that violate the assumptions of the law, and the duration [s] of a run
            with them.
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
        """Draw systems and return each output, shape (cases,)."""
        study = zw.study.monte_carlo(
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
        """Return the first output of a system that violates the assumptions of the law, and the
        warnings of its run.
        """
        params, duration = self.beyond
        loop = zw.Loop(model=self.model)
        run = zw.simulate(
            self.model, *self.start, duration=duration, params=params, loop=loop, rtol=self.rtol
        )
        return next(iter(self.outputs.values()))(run.t, run.q, run.v), run.warnings


def mass(gain) -> tuple[zw.Model, zw.Servo]:
    """A mass on a spring that has to follow sin t under an unknown load."""
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
    """`SlidingSurface`, which assumes loads up to 1 N; a load of 20 N violates this."""
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
    """`Robust`, with a start on the path."""
    model, servo = mass(ROBUST)
    bounds = {"error": float(ROBUST.ultimate_bound(2))}
    made = smooth()._replace(model=model.with_parts(servo=servo), bounds=bounds)
    return made._replace(outputs={"error": _error})


def learned() -> Uncertain:
    """`Adaptive`, which knows no bound of the uncertainty; ρ is the bound of the drawn systems. A
    load of 150 N violates it.
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
    """`within` with `Robust`: loads up to 2 N on 1 kg do not move y beyond its start, 3 N do."""
    # the slope of T is below 21 for |y| ≤ 0.02, so that 2 m/s² change φ̈ by at most 42
    robust = zw.servo.Robust(6.0, bound=42.0, layer=0.2)
    load = lambda q, v, t, p: p["load"] * jnp.sin(p["pitch"] * t) * jnp.ones(1)
    system = zw.System(1, lambda q, t, p: jnp.ones(1), load)
    row = zw.servo.within(lambda q, t, p: q, -0.1, 0.1, 0.0)
    servo = zw.Servo([row], [[1.0]], gains=robust)
    return Uncertain(
        zw.Model(system, params={"load": 0.0, "pitch": 1.0}, servo=servo, name="point"),
        ([0.02], [0.0]),
        {"load": "-2:2", "pitch": "0.3:8"},
        # φ of the start, which does not grow, plus the round-off of a sample
        {"far": float(row.phi.reached(np.log(0.12 / 0.08))[1]) + 1e-9},
        {"far": lambda t, q, v: float(np.max(np.abs(q)))},
        0.99,
        3.0,
        61,
        1e-6,
        ({"load": 3.0, "pitch": 0.5}, 4.0),
    )


def formation() -> Uncertain:
    """A satellite of the gallery over one orbit: its mass is off by a tenth, and the controller
    ignores the oblateness of the Earth (1.2e-2 m/s²) and drag; a drag of 0.2 N/(m/s) is too large.
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


def tumbling() -> Uncertain:
    """The two bodies of the gallery. Moments of inertia, springs and loads are uncertain; a load of
    8 N m violates the assumptions.
    """
    member = zw.gallery.load("tumbling-bodies")
    (bound,) = {float(gain.error_bound) for gain in member.model.servo.gains.values()}

    def error(t, q, v):
        wanted = np.stack([*member.exact(t).values()], axis=1)
        turns = lambda x: x.reshape(len(t), 2, 7)[..., 3:]
        off = rotation.product(rotation.conjugate(turns(wanted)), turns(q))
        return float(2 * np.abs(off[..., 1:]).max())

    return Uncertain(
        member.model,
        (member.q0, member.v0),
        {
            "scale_a": "0.9:1.1",
            "scale_b": "0.9:1.1",
            "spring": "0.3:0.7",
            "load": "-0.3:0.3",
        },
        {"error": bound},
        {"error": error},
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
"""All control laws that state a bound of their error."""
