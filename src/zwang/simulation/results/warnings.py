"""What a user must know of a run that reached its end: one sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from zwang.algebra.judgement import AT_REST, SUMMED
from zwang.dynamics.drift.metric import condition_of_mass
from zwang.dynamics.initial_conditions import START_TOLERANCE
from zwang.equations.state import host_state
from zwang.errors import Result
from zwang.simulation.results.branch_taken import unnamed
from zwang.simulation.results.energy import energy_of
from zwang.simulation.results.variables import Variables

if TYPE_CHECKING:
    from zwang.simulation.results.record import Run


AT_TIMES = 0.5
"""Where no more than this part of the samples is inaccurate, the motion passes near a singular
configuration, in which accelerations are quotients of small numbers; its rows are ordinary."""

GROWN = 10.0
"""An error that is larger by this factor in each third of a run than in the one before grows
exponentially."""


def warnings_of(run: Run, data: Variables) -> tuple[str, ...]:
    """All sentences about a run, from its variables at the samples.

    The command line prints them, the report shows them, and the dataset stores them. To add one,
    add a function to `WARNINGS`; what is known only while a run is made is given to
    `Run(..., warnings=...)`.
    """
    found = (sentence for made in WARNINGS for sentence in made(run, data))
    return tuple(sentence for sentence in found if sentence)


def _start_moved(run: Run, data: Variables) -> Iterator[str]:
    """A start that its projection moved by more than the error that the integration may make."""
    nq = run.model.system.nq
    allowed = float(run.attrs.get("rtol", 0.0))
    moved = []
    for name, entries in (("q", run.steps.y[0, :nq]), ("v", run.steps.y[0, nq:])):
        by = float(run.attrs.get(f"start_moved_{name}", 0.0))
        if by > allowed * max(1.0, float(np.max(np.abs(entries), initial=0.0))):
            moved.append(f"{name} by up to {by:.2g}")
    if moved:
        yield (
            f"the start was moved onto the constraints ({', '.join(moved)} in an entry, more than "
            f"rtol = {allowed:g}): give more digits, or take the start from zw.consistent_state."
        )


def _start_branch(run: Run, data: Variables) -> Iterator[str]:
    """A start at rest where branches of motion meet."""
    if sentence := run.attrs.get("start_branch", ""):
        yield f"{sentence}."


def _unmet(run: Run, data: Variables) -> Iterator[str]:
    yield unmet(data)


def _error_kept(run: Run, data: Variables) -> Iterator[str]:
    """Servo constraints that start off and have no gain, so that their error stays or grows."""
    law = run.model.servo
    if law is None:
        return
    y, nq = np.abs(run.steps.y), run.model.system.nq
    start = host_state(run.steps.y[0, :nq], run.steps.y[0, nq:], run.steps.t[0])
    reach, speed = np.split(np.max(y, axis=0), [nq])
    found = law.kept_errors(run.flow.dynamics.passive, start, reach, speed)
    for name, sizes in found.items():
        symbols = zip(("phi", "psi"), sizes, strict=True)
        off = " and ".join(f"|{symbol}| = {x:.2g}" for symbol, x in symbols if x)
        at = [str(x) for x in data["servo_constraint"].values].index(name)
        place, rate = (data[f"servo_{x}violation"].values[-1, at] for x in ("", "velocity_"))
        yield (
            f"servo constraint {name!r} starts with {off} and has no gain that brings it back: its "
            f"error is {rate if np.isnan(place) else place:.2g} at the end; give "
            "zw.Servo(..., gains=...), or start on it."
        )


def _error_grows(run: Run, data: Variables) -> Iterator[str]:
    """Servo constraints whose error grows exponentially, whatever makes the loop unstable."""
    if run.model.servo is None or len(data["time"].values) < 3:
        return
    names = [str(x) for x in data["servo_constraint"].values]
    reach = float(np.max(np.abs(run.q), initial=0.0))
    sampled = run.flow.sampler is not None
    for i, name in enumerate(names):
        place, rate = (data[f"servo_{x}violation"].values[:, i] for x in ("", "velocity_"))
        error = rate if np.isnan(place).all() else place
        first, middle, last = (np.max(x, initial=0.0) for x in np.array_split(error, 3))
        # a path that is followed late or against noise has its error from the beginning
        if last > GROWN * middle and middle > GROWN * first and last > START_TOLERANCE * reach:
            cure = "a shorter sample_time, or smaller gains" if sampled else "other gains"
            yield (
                f"the error of servo constraint {name!r} grows from {first:.2g} in the first third "
                f"of the run to {last:.2g} in the last: the loop is unstable; give {cure}."
            )


def _saturated(run: Run, data: Variables) -> Iterator[str]:
    """Actuators at their limits at some samples."""
    if run.model.servo is None or "control" not in data:
        return
    u = data["control"].values
    at = run.model.servo.saturated(u)
    if not at.any():
        return
    names = [str(x) for x in data["control"].labels["actuator"]]
    each = [f"{names[i]!r} at {at[:, i].sum()}" for i in np.flatnonzero(at.any(axis=0))]
    several = len(each) > 1
    shown = ", ".join(each[:6]) + (f" and {len(each) - 6} more" if len(each) > 6 else "")
    first = float(data["time"].values[int(np.argmax(at.any(axis=1)))])
    yield (
        f"actuator{'s' * several} at {'their' if several else 'its'} limits: {shown} of {len(u)} "
        f"samples, first at t = {first:.4g} s."
    )


def _energy(run: Run, data: Variables) -> Iterator[str]:
    yield energy_of(run, data).warning


def _more(found: Sequence) -> str:
    """How often it happened again."""
    return f", and {len(found) - 1} times more" if len(found) > 1 else ""


def _branch_changed(run: Run, data: Variables) -> Iterator[str]:
    """Singular configurations at which the motion left on another branch than it came on."""
    changed = [c for c in run.crossings if c.changed]
    if not changed:
        return
    c = changed[0]
    yield (
        f"the motion changed its branch at t = {c.time:.6g} s, from {c.before} to {c.after} of the "
        f"{c.branches} that meet there{_more(changed)}: forces or errors decided, not momentum; "
        "see zw.passages, or start on the branch meant (zw.branches)."
    )


def _branch_unnamed(run: Run, data: Variables) -> Iterator[str]:
    """Singular configurations at which a change of branch would not be seen."""
    if why := unnamed(run):
        times = [x.time for x in run.crossings if not x.branches]
        yield (
            f"whether the motion kept its branch is not known at {len(times)} of "
            f"{len(run.crossings)} singular configurations, first at t = {times[0]:.6g} s: {why}."
        )


def _stepped_across(run: Run, data: Variables) -> Iterator[str]:
    """Gaps between branches that steps went across, where the motion itself may turn."""
    if not (found := run.stepped_across):
        return
    c = found[0]
    yield (
        f"the run stepped from one branch onto another that it does not meet at t = {c.time:.6g} s "
        f"({', '.join(c.constraints)}, singular value {c.smallest:.1e}){_more(found)}: the motion "
        "itself turns there, which shorter steps follow (longest_step, rtol); or end it before "
        "with a zw.Stop."
    )


def _method_changed(run: Run, data: Variables) -> Iterator[str]:
    """Rows that became nearly parallel, for which another method for A⊕ was taken."""
    yield from (f"{sentence}." for sentence in run.attrs.get("method_changes", ()))


def _inaccurate(run: Run, data: Variables) -> Iterator[str]:
    """Accelerations whose estimated error is larger than the error that the integration may
    make.
    """
    asked = float(run.attrs.get("rtol", np.inf))
    accuracy = np.where(_accelerated(run), run.observation.motion.accuracy, 0.0)
    beyond = accuracy > asked
    if not beyond.any():
        return
    worst = int(np.nanargmax(accuracy))
    t = float(data["time"].values[worst])
    condition = condition_of_mass(
        run.model.system.mass_matrix(run.q[worst], run.t[worst], run.flow.dynamics.p)
    )
    cure = "remove rows that nearly repeat others, or expect no more than this"
    if SUMMED * condition > asked:
        cause = f"the mass matrix is ill-conditioned ({condition:.1e})"
        cure = (
            "choose coordinates of which none moves nearly the same masses as others, or expect no "
            "more than this"
        )
    elif beyond.mean() <= AT_TIMES:
        cause = "the constraints are ill-conditioned at these samples"
        cure = "their q and v, whose error each step estimates, are not meant"
    else:
        cause = "the constraints are ill-conditioned"
    yield (
        f"accelerations are accurate to {accuracy[worst]:.1e} only ({beyond.sum()} of "
        f"{len(accuracy)} samples, worst at t = {t:.4g} s), rtol asks for {asked:.0e}; {cause}: "
        f"{cure}."
    )


def _accelerated(run: Run) -> np.ndarray:
    """Samples that have an acceleration, or an equilibrium of forces, to which an error is
    relative; uniform motion without forces has neither, and its acceleration is all round-off.
    """
    motion = run.observation.motion
    a, free, v = (
        np.linalg.norm(x, axis=1) for x in (motion.acceleration, motion.free_acceleration, run.v)
    )
    duration = float(run.t[-1] - run.t[0])
    largest = max(np.max(a), np.max(v) / duration if duration else 0.0)
    return (a > AT_REST * largest) | (a < AT_REST * free)


WARNINGS = (
    _start_moved,
    _start_branch,
    _branch_changed,
    _branch_unnamed,
    _stepped_across,
    _method_changed,
    _inaccurate,
    _unmet,
    _error_kept,
    _error_grows,
    _saturated,
    _energy,
)
"""Functions `(run, variables)` → sentences; an empty one counts as none."""


def unmet(data: Variables) -> str:
    """Which servo constraint could not be met, when and why; empty if all could."""
    if "control_result" not in data:
        return ""
    codes = data["control_result"].values
    bad = np.isin(codes, [Result.NO_AUTHORITY, Result.TOO_FEW_ACTUATORS, Result.AT_LIMIT])
    if not bad.any():
        return ""
    missed = np.where(bad[:, None], data["missed"].values, 0.0)
    at, worst = np.unravel_index(int(np.argmax(missed)), missed.shape)
    t, first = data["time"].values, int(np.argmax(bad))
    where = f"at {bad.sum()} of {len(bad)} samples, first at t = {t[first]:.4g} s"
    return (
        f"servo constraint {str(data['servo_constraint'].values[worst])!r} could not be met "
        f"{where} (misses by up to {missed[at, worst]:.2g} of the accelerations involved, t = "
        f"{t[at]:.4g} s): {Result(int(codes[at])).sentence}."
    )
