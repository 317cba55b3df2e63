"""Warnings about a run that reached its end, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from zwang.algebra.judgement import SUMMED, relative_error
from zwang.algebra.mass_matrix import dense_mass
from zwang.algebra.metric import condition_of_mass
from zwang.compile.blocks import mapped
from zwang.dynamics.evaluation import evaluate
from zwang.equations.state import host_state
from zwang.remedy import SHORTER, Remedy, advice
from zwang.simulation.results import servo_warnings
from zwang.simulation.results.branch_taken import unnamed
from zwang.simulation.results.energy import energy_of
from zwang.simulation.results.observe import rate_of_stage
from zwang.simulation.results.servo_warnings import ServoSamples
from zwang.simulation.results.variables import Variables
from zwang.simulation.results.worst import contact_residuals
from zwang.thresholds import AGREEMENT, ALL_BUT_ZERO, MARGIN

if TYPE_CHECKING:
    from zwang.simulation.results.record import Run


def warnings_of(run: Run, data: Variables) -> tuple[str, ...]:
    """Return all warnings about a run, from its variables at the samples.

    The command line prints them, the report shows them, and the dataset stores them. To add one,
    add a function to `WARNINGS`.
    """
    found = (sentence for made in WARNINGS for sentence in made(run, data))
    return tuple(sentence for sentence in found if sentence)


def _start_moved(run: Run, data: Variables) -> Iterator[str]:
    """A start that its projection moved by more than the permitted error of the integration."""
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
            f"rtol = {allowed:g}): {advice(Remedy('give more digits'), TAKEN)}."
        )


def _start_branch(run: Run, data: Variables) -> Iterator[str]:
    """A start at rest where branches of motion meet."""
    if sentence := run.attrs.get("start_branch", ""):
        yield f"{sentence}."


def _servo(run: Run, data: Variables) -> Iterator[str]:
    """Requirements of the servo that it could not satisfy."""
    law, at = run.model.servo, ServoSamples.of(data)
    if law is None or at is None:
        return
    yield servo_warnings.unmet(at)
    yield servo_warnings.broken(at, law)
    y, nq = np.abs(run.steps.y), run.model.system.nq
    start = host_state(run.steps.y[0, :nq], run.steps.y[0, nq:], run.steps.t[0])
    reach, speed = np.split(np.max(y, axis=0), [nq])
    kept = law.kept_errors(run.flow.dynamics.passive, start, reach, speed)
    yield from servo_warnings.error_kept(at, kept)
    largest = float(np.max(np.abs(run.q), initial=0.0))
    sampled = run.flow.sampler is not None
    yield from servo_warnings.error_grows(at, largest, sampled=sampled)
    yield from servo_warnings.bound_left(at, law)
    yield servo_warnings.saturated(at, law)


def _energy(run: Run, data: Variables) -> Iterator[str]:
    yield energy_of(run, data).warning


def _energy_added(run: Run, data: Variables) -> Iterator[str]:
    """Impacts that increased the energy by more than the work of prescribed motions."""
    speed = np.max(np.abs(run.steps.y[:, run.model.system.nq :]), axis=0)
    # the energy that an impact adds is its impulse times the mean of both velocities
    size = max((float(np.abs(x.impulse) @ speed) for x in run.switches), default=0.0)
    if added := [x for x in run.switches if x.dissipated < -AGREEMENT * size]:
        x = added[0]
        yield (
            f"the impact at t = {x.time:.6g} s ({', '.join(x.hit)}) adds {-x.dissipated:.3g} "
            f"{x.energy_unit}{_more(added)}, as Newton's law of restitution may beside friction: "
            'take zw.Inequality(..., impact="poisson").'
        )


def _not_unique(run: Run, data: Variables) -> Iterator[str]:
    """Motions that depend on how dependent rows share a force."""
    if run.labels is not None and not np.all(run.labels.motion):
        t = run.steps.t[int(np.argmin(run.labels.motion))]
        yield (
            f"{run.labels.sentence} (first at t = {t:.6g} s): friction depends on how dependent "
            "rows share their force, which is least norm here; remove rows that repeat others, or "
            "let bodies bend."
        )


def _contact_residuals(run: Run, data: Variables) -> Iterator[str]:
    """Gaps and dry friction that some step violated."""
    if missed := {k: x for k, x in contact_residuals(run.attrs).items() if x > AGREEMENT}:
        said = ", ".join(f"{kind} residual {x:.2g}" for kind, x in missed.items())
        yield (
            f"some steps violate the conditions of gaps and dry friction ({said}, expected at "
            f"most {AGREEMENT:g}): {advice(FOLLOWED)}."
        )


def _more(found: Sequence) -> str:
    """Return the number of further occurrences, in words."""
    return f", and {len(found) - 1} times more" if len(found) > 1 else ""


FOLLOWED = Remedy(
    "take shorter steps (longest_step, rtol), which follow it",
    (("rtol", "take a smaller --rtol, whose shorter steps follow it"),),
)
TAKEN = Remedy("take the start from zw.consistent_state", options=())


def _branch_changed(run: Run, data: Variables) -> Iterator[str]:
    """Singular configurations that the motion left on another branch than that on which it
    arrived.
    """
    changed = [c for c in run.crossings if c.changed]
    if not changed:
        return
    c = changed[0]
    on_branch = Remedy(
        "start on the intended branch (zw.analysis.branches)",
        (("", "start on the intended branch (`zwang branches`)"),),
    )
    yield (
        f"the motion changed its branch at t = {c.time:.6g} s, from {c.before} to {c.after} of the "
        f"{c.branches} that meet there{_more(changed)}: forces or errors decided, not momentum; "
        f"{advice(Remedy('see zw.analysis.passages', options=()), on_branch)}."
    )


def _branch_unnamed(run: Run, data: Variables) -> Iterator[str]:
    """Singular configurations at which a change of branch would not be detected."""
    if why := unnamed(run):
        times = [x.time for x in run.crossings if not x.branches]
        yield (
            f"whether the motion kept its branch is not known at {len(times)} of "
            f"{len(run.crossings)} singular configurations, first at t = {times[0]:.6g} s: {why}."
        )


def _stepped_across(run: Run, data: Variables) -> Iterator[str]:
    """Gaps between branches that steps crossed, where the motion itself may turn back."""
    if not (found := run.stepped_across):
        return
    c = found[0]
    yield (
        f"the run stepped from one branch onto another that it does not meet at t = {c.time:.6g} s "
        f"({', '.join(c.constraints)}, singular value {c.smallest:.1e}){_more(found)}: the motion "
        f"itself turns there; {advice(FOLLOWED, SHORTER)}."
    )


def _method_changed(run: Run, data: Variables) -> Iterator[str]:
    """Rows that became nearly parallel, so that the method for A⊕ was changed."""
    yield from (f"{sentence}." for sentence in run.attrs.get("method_changes", ()))


def _jumped(run: Run, data: Variables) -> Iterator[str]:
    """Jumps of the velocity that no switch causes."""
    if sentence := run.attrs.get("velocity_jumps", ""):
        yield f"{sentence}."


def _inaccurate(run: Run, data: Variables) -> Iterator[str]:
    """Accelerations whose estimated error is larger by an order of magnitude than the permitted
    error of the integration, and the displacement of q that it may cause.
    """
    asked = float(run.attrs.get("rtol", np.inf))
    accuracy = np.where(_accelerated(run), run.observation.motion.accuracy, 0.0)
    beyond = accuracy > MARGIN * asked
    if not beyond.any():
        return
    worst = int(np.nanargmax(accuracy))
    state = host_state(run.q[worst], run.v[worst], run.t[worst])
    condition = condition_of_mass(evaluate(run.flow.dynamics, state).M)
    if not SUMMED * condition > MARGIN * asked:
        # scatter under perturbations by round-off; the estimate assumes the worst case
        accuracy[beyond] = np.minimum(accuracy[beyond], _scatter(run, np.flatnonzero(beyond)))
        beyond = accuracy > MARGIN * asked
        if not beyond.any():
            return
        worst = int(np.nanargmax(accuracy))
    t = float(data["time"].values[worst])
    cure = (
        "remove rows that nearly repeat others, place joints near what they hold, or expect no "
        "more than this"
    )
    if SUMMED * condition > MARGIN * asked:
        cause = f"the mass matrix is ill-conditioned ({condition:.1e})"
        cure = (
            "choose coordinates of which none moves nearly the same masses as others, or expect no "
            "more than this"
        )
    elif beyond.mean() <= 0.5:
        # near a singular configuration accelerations are quotients of small numbers
        cause = "the constraints are ill-conditioned at these samples"
        cure = "shorter steps there (rtol) do not help, other coordinates may"
    else:
        cause = "the constraints are ill-conditioned"
    yield (
        f"accelerations are known to be accurate to {accuracy[worst]:.1e} only ({beyond.sum()} of "
        f"{len(accuracy)} samples, worst at t = {t:.4g} s), rtol asks for {asked:.0e}; {cause}: "
        f"{cure}. By the end this may move an entry of q by up to {_moved_by(run, accuracy):.0e}, "
        "where the motion itself does not enlarge it."
    )


def _scatter(run: Run, samples: np.ndarray) -> np.ndarray:
    """Return the scatter of the accelerations of stages between states that differ from the samples
    by round-off, times `MARGIN`, relative to those of the samples in the metric of M.
    """
    random = np.random.default_rng(1795)
    y = np.concatenate([run.q, run.v], axis=1)[samples]
    t, applied = run.t[samples], run.steps.applied[run.saved][samples]
    nq, motion, found = run.model.system.nq, run.observation.motion, np.zeros(len(samples))
    masses = [
        dense_mass(np.asarray(evaluate(run.flow.dynamics, host_state(x[:nq], x[nq:], at)).M))
        for x, at in zip(y, t, strict=True)
    ]
    size = lambda w: np.array([np.sqrt(abs(a @ M @ a)) for a, M in zip(w, masses, strict=True)])
    free = size(motion.free_acceleration[samples])
    # a few perturbed states scatter by less than the worst case, which `MARGIN` accounts for
    for _ in range(4):
        near = y * (1 + np.finfo(float).eps * random.choice([-1.0, 1.0], y.shape))
        rates = mapped(rate_of_stage, (run.flow,), t, near, applied)[:, nq:]
        apart = size(np.asarray(rates) - motion.acceleration[samples])
        found = np.maximum(
            found, relative_error(np, apart, size(motion.acceleration[samples]), free)
        )
    return MARGIN * found


def _moved_by(run: Run, accuracy: np.ndarray) -> float:
    """Return the displacement of an entry of q that relative errors of the accelerations at the
    samples accumulate to, if all have one sign.
    """
    error = np.nan_to_num(accuracy) * np.abs(run.observation.motion.acceleration).max(axis=1)
    steps = np.diff(run.t)
    speed = np.cumsum(steps * np.maximum(error[1:], error[:-1]))
    return float(np.sum(steps * speed))


def _accelerated(run: Run) -> np.ndarray:
    """Return which samples have an acceleration, or an equilibrium of forces, to which an error is
    relative; a uniform motion without forces has neither, and its acceleration is round-off.
    """
    motion = run.observation.motion
    a, free, v = (
        np.linalg.norm(x, axis=1) for x in (motion.acceleration, motion.free_acceleration, run.v)
    )
    duration = float(run.t[-1] - run.t[0])
    largest = max(np.max(a), np.max(v) / duration if duration else 0.0)
    return (a > ALL_BUT_ZERO * largest) | (a < ALL_BUT_ZERO * free)


WARNINGS = (
    _start_moved,
    _start_branch,
    _branch_changed,
    _branch_unnamed,
    _stepped_across,
    _method_changed,
    _jumped,
    _inaccurate,
    _servo,
    _energy,
    _energy_added,
    _contact_residuals,
    _not_unique,
)
"""Functions `(run, variables)` → sentences; an empty one is ignored."""
