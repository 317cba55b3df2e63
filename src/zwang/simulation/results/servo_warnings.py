"""Warnings about the servo constraints along a motion, one sentence each.

Runs, trajectories and batches share them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import PyTree

from zwang.algebra.judgement import misses_by
from zwang.compile import mapped
from zwang.dynamics.control_law import AbstractControlLaw, Control
from zwang.dynamics.equation_of_motion import Dynamics
from zwang.dynamics.model import Model
from zwang.equations.state import State, host_state
from zwang.errors import Result
from zwang.simulation.results.variables import Variables
from zwang.thresholds import ACCEPTED_VIOLATION, ALL_BUT_ZERO, MARGIN


class ServoSamples(NamedTuple):
    """A servo at the samples of a motion.

    Attributes:
        t: times [s], shape (samples,).
        names: of the servo constraints; `actuators`: of the controls.
        place, rate: largest |φ| and |ψ| of each servo constraint in its own unit, NaN without one,
            shapes (samples, constraints).
        missed: part of each servo constraint that the actuators cannot satisfy, shape (samples,
            constraints).
        code: a `Result` of the control at each sample.
        u: controls, shape (samples, actuators).
    """

    t: np.ndarray
    names: tuple[str, ...]
    actuators: tuple[str, ...]
    place: np.ndarray
    rate: np.ndarray
    missed: np.ndarray
    code: np.ndarray
    u: np.ndarray

    @classmethod
    def of(cls, data: Variables) -> ServoSamples | None:
        """Return the samples from the variables of a run; None without a servo."""
        if "control_result" not in data:
            return None
        return cls(
            data["time"].values,
            tuple(str(x) for x in data["servo_constraint"].values),
            tuple(str(x) for x in data["control"].labels["actuator"]),
            data["servo_violation"].values,
            data["servo_velocity_violation"].values,
            data["missed"].values,
            data["control_result"].values,
            data["control"].values,
        )

    @classmethod
    def along(cls, law: AbstractControlLaw, dynamics: Dynamics, t, q, v) -> ServoSamples:
        """Return the samples, evaluated at states, shapes (samples, ·)."""
        found = mapped(_control, (law, dynamics), q, v, t)
        by_name = lambda x: np.reshape([np.asarray(e) for e in x.values()], (-1, len(t))).T
        names, nu = tuple(found.missed), found.u.shape[1]
        errors = found.violation, found.velocity_violation, found.missed
        place, rate, missed = (by_name(x) for x in errors)
        return cls(
            np.asarray(t),
            names,
            tuple(law.names(nu)),
            place,
            rate,
            missed,
            np.asarray(found.result),
            np.asarray(found.u),
        )


def _control(law: AbstractControlLaw, dynamics: Dynamics, q, v, t) -> Control:
    return law.control(dynamics.passive, State(q, v, t))


def of_motion(model: Model, params: PyTree, t, q, v) -> tuple[str, ...]:
    """Return all sentences about the servo of a motion that a compiled program has computed.

    Args:
        model: the model; `params` are its parameters that differed.
        t, q, v: the samples, shapes (samples,), (samples, nq) and (samples, nv), NaN after an early
            stop.
    """
    law = model.servo
    if law is None:
        return ()
    t, q, v = (np.asarray(x, float) for x in (t, q, v))
    reached = np.all(np.isfinite(q), axis=1) & np.all(np.isfinite(v), axis=1)
    t, q, v = t[reached], q[reached], v[reached]
    if not len(t):
        return ()
    dynamics = model.dynamics(params)
    samples = ServoSamples.along(law, dynamics, t, q, v)
    start = host_state(q[0], v[0], t[0])
    reach, speed = (np.max(np.abs(x), axis=0) for x in (q, v))
    kept = law.kept_errors(dynamics.passive, start, reach, speed)
    largest = float(np.max(reach, initial=0.0))
    said = [unmet(samples), broken(samples, law), *error_kept(samples, kept)]
    said += [*error_grows(samples, largest, sampled=False), *bound_left(samples, law)]
    said += [saturated(samples, law)]
    return tuple(filter(None, said))


def unmet(at: ServoSamples) -> str:
    """Return a sentence about the servo constraints that could not be met, when and why; empty if
    all could.
    """
    unmet = Result.NO_AUTHORITY, Result.TOO_FEW_ACTUATORS, Result.AT_LIMIT
    bad = np.isin(at.code, unmet)
    # a feedback law that gives u directly has no requirement that could be missed
    if not bad.any() or not at.names:
        return ""
    missed = np.where(bad[:, None], at.missed, 0.0)
    when, worst = np.unravel_index(int(np.argmax(missed)), missed.shape)
    where = f"at {bad.sum()} of {len(bad)} samples, first at t = {at.t[int(np.argmax(bad))]:.4g} s"
    return (
        f"servo constraint {at.names[worst]!r} could not be met "
        f"{where} ({misses_by(missed[when, worst], 2)} at most, at t = "
        f"{at.t[when]:.4g} s): {Result(int(at.code[when])).sentence}."
    )


def broken(at: ServoSamples, law: AbstractControlLaw) -> str:
    """Return a sentence about the inequalities that no control within the limits satisfies; empty
    if all are satisfied.
    """
    bad = at.code == Result.NOT_KEPT
    if not bad.any() or not law.inequalities:
        return ""
    missed = [np.max(at.missed[bad, at.names.index(name)]) for name in law.inequalities]
    return (
        f"servo constraint {law.inequalities[int(np.argmax(missed))]!r} is not kept at {bad.sum()} "
        f"of {len(bad)} samples, first at t = {at.t[int(np.argmax(bad))]:.4g} s: "
        f"{Result.NOT_KEPT.sentence}."
    )


def error_kept(at: ServoSamples, kept: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """Generate sentences about servo constraints that start with an error and have no gain, so that
    their error persists or grows.

    Args:
        at: the samples.
        kept: `|φ|` and `|ψ|` of each at the start, as `AbstractControlLaw.kept_errors` returns
            them.
    """
    for name, sizes in kept.items():
        symbols = zip(("phi", "psi"), sizes, strict=True)
        off = " and ".join(f"|{symbol}| = {x:.2g}" for symbol, x in symbols if x)
        i = at.names.index(name)
        place, rate = at.place[-1, i], at.rate[-1, i]
        yield (
            f"servo constraint {name!r} starts with {off} and has no gain that brings it back: its "
            f"error is {rate if np.isnan(place) else place:.2g} at the end; give "
            "zw.Servo(..., gains=...), or start on it."
        )


def error_grows(at: ServoSamples, reach: float, *, sampled: bool) -> Iterator[str]:
    """Generate sentences about servo constraints whose error grows exponentially, whatever makes
    the loop unstable.

    Args:
        at: the samples.
        reach: the largest absolute value of any coordinate in the motion.
        sampled: whether the control is computed at instants and held between them.
    """
    if len(at.t) < 3:
        return
    for i, name in enumerate(at.names):
        place, rate = at.place[:, i], at.rate[:, i]
        error = rate if np.isnan(place).all() else place
        first, middle, last = (np.max(x, initial=0.0) for x in np.array_split(error, 3))
        # a path that is followed with a delay or with noise has its error from the beginning
        if last > MARGIN * middle and middle > MARGIN * first and last > ACCEPTED_VIOLATION * reach:
            cure = "a shorter sample_time, or smaller gains" if sampled else "other gains"
            yield (
                f"the error of servo constraint {name!r} grows from {first:.2g} in the first third "
                f"of the run to {last:.2g} in the last: the loop is unstable; give {cure}."
            )


def bound_left(at: ServoSamples, law: AbstractControlLaw) -> Iterator[str]:
    """Servo constraints whose error leaves the bound that their gain states.

    The bound holds from the first sample on at which the error is certainly in the layer that it
    is stated for.
    """
    for name, (k, layer) in law.kept_layers().items():
        i, bound = at.names.index(name), layer / k
        inside = at.rate[:, i] + k * at.place[:, i] <= layer
        after = np.where(np.cumsum(inside) > 0, at.place[:, i], 0.0)
        worst = int(np.argmax(after))
        if after[worst] > bound * (1 + ALL_BUT_ZERO):
            yield (
                f"the error of servo constraint {name!r} is {after[worst]:.3g} at t = "
                f"{at.t[worst]:.4g} s, above the {bound:.3g} that its gain states: the assumptions "
                "of this bound do not hold; give the gain a larger bound= or mismatch=, or check "
                "the limits, the sampling and the noise of the loop."
            )


def saturated(at: ServoSamples, law: AbstractControlLaw) -> str:
    """Return a sentence about actuators at their limits at some samples."""
    full = law.saturated(at.u)
    if not full.any():
        return ""
    each = [f"{at.actuators[i]!r} at {full[:, i].sum()}" for i in np.flatnonzero(full.any(axis=0))]
    several = len(each) > 1
    shown = ", ".join(each[:6]) + (f" and {len(each) - 6} more" if len(each) > 6 else "")
    first = float(at.t[int(np.argmax(full.any(axis=1)))])
    return (
        f"actuator{'s' * several} at {'their' if several else 'its'} limits: {shown} of "
        f"{len(at.u)} samples, first at t = {first:.4g} s."
    )
