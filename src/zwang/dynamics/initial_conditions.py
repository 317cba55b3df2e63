"""Initial state of a run: its projection onto the constraints, or the reason to refuse it."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import PyTree

from zwang.algebra.decomposition import Decomposition
from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.mass_matrix import augmented_mass, dense_mass, most_augmented
from zwang.algebra.metric import at_unit_diagonal, dense_rows, is_singular, mass_blocks, rows_of
from zwang.algebra.pseudoinverse import AbstractPseudoinverse
from zwang.algebra.rank import PLACED
from zwang.algebra.spectrum import principal
from zwang.dynamics.branch_velocity import between_branches
from zwang.dynamics.consistency import Verdict, judge
from zwang.dynamics.equation_of_motion import Dynamics, Scales
from zwang.dynamics.evaluation import ModelEvaluation, evaluate, residuals
from zwang.dynamics.matrix_structure import DENSE
from zwang.dynamics.model import Model
from zwang.dynamics.motion import augmented, contradiction, refuse_vanishing, row_name
from zwang.dynamics.number_range import acting_rows, refuse_range, round_off_of_kin
from zwang.dynamics.placement import Apart, Placement, place
from zwang.dynamics.scales import measure
from zwang.equations.constraint import AbstractConstraint, Constraints
from zwang.equations.state import State, host_state
from zwang.errors import ModelError, NotFiniteError, Result
from zwang.inputs.arrays import on_device
from zwang.objects.record import replace
from zwang.remedy import MOVED, TOLERATED, Remedy, advice
from zwang.thresholds import (
    ACCEPTED_VIOLATION,
    ALL_BUT_ZERO,
    CONVERGED,
    MARGIN,
    ROOT_OF_ROUND_OFF,
    ROUND_OFF,
    SMALL_PART,
    SOLUTION_ERROR,
)


class PlacementError(ModelError):
    """Error: no state on the constraints was found.

    Attributes:
        placement: result of the search.
    """

    def __init__(self, message: str, placement: Placement):
        super().__init__(message)
        self.placement = placement


@dataclasses.dataclass(frozen=True)
class Start:
    """Initial state with everything that is computed before the first step.

    Attributes:
        given: the given state, and `at` the values of the functions of the model there.
        placement: the projected state, and `there` the values of the functions at it.
        scales: typical row lengths and curvature.
        verdict: consistency of the constraints there.
    """

    given: State
    at: ModelEvaluation
    placement: Placement
    there: ModelEvaluation
    scales: Scales
    verdict: Verdict


def begin(dynamics: Dynamics, state: State, span: float = 0.0, apart: Apart | None = None) -> Start:
    """Measure the scales if they are not known, project the state onto its constraints, and decide
    whether these admit a common acceleration there. Scales are measured with every row switched on;
    `apart` is that of `place`.

    Raises:
        ModelError: for masses or rows out of range (`refuse_range`).
    """
    at = evaluate(dynamics, state)
    refuse_range(dynamics, at, state)
    scales = measure(all_on(dynamics), state, span) if dynamics.scales is None else dynamics.scales
    placement = place(dynamics, state, scales, apart)
    there = evaluate(dynamics, placement.state)
    off = max(placement.violation_after, placement.velocity_violation_after)
    verdict = judge(dynamics, there, placement.state, scales, min(off, ACCEPTED_VIOLATION / MARGIN))
    return Start(state, at, placement, there, scales, verdict)


def all_on(dynamics: Dynamics) -> Dynamics:
    """Return the dynamics with every row switched on."""
    rows = dynamics.constraints
    if rows.on is None:
        return dynamics
    return replace(dynamics, constraints=replace(rows, on=np.ones(len(rows.on), bool)))


def placed(
    model: Model,
    q,
    v,
    t=0.0,
    *,
    params: PyTree = None,
    pseudoinverse: AbstractPseudoinverse | None = None,
    parts: tuple[Model, tuple[AbstractConstraint, ...]] | None = None,
    stepped: bool = True,
    apart: Apart | None = None,
) -> Placement:
    """Compute `zw.consistent_state` for a model that may consist of another model and further
    constraints (`parts`): the evaluation of the other model is then compiled and used for both.
    `stepped` is whether the model may be run afterwards (`Dynamics`); `apart` is that of `place`.
    """
    state = model.state(q, v, t)

    def bound(model: Model) -> Dynamics:
        dynamics = model.dynamics(params, pseudoinverse)
        return dynamics if stepped else dynamics.standing

    dynamics = bound(model)
    if parts is not None:
        base, further = bound(parts[0]), parts[1]
        rows = Constraints(further, base.system, dynamics.p)
        # a sparse factor needs the entries of all rows in one layout
        if not base.structure.sparse:
            dynamics = dataclasses.replace(dynamics, parts=(base, rows), structure=DENSE)
    dynamics = with_mass(model, dynamics, state)
    start = begin(dynamics, state, apart=apart)
    refuse_non_finite(model, start)
    refuse_singular_mass(model, start)
    if not start.placement.converged:
        raise PlacementError(
            f"{model.name}: no consistent state found from this guess: "
            f"{worst_violation(model, start.placement.state, params)} remains; "
            "start from a closer guess, or check whether the constraints can all hold at once.",
            start.placement,
        )
    found = start.placement
    state = State(*map(on_device, found.state))  # users may continue to compute with it in JAX
    return dataclasses.replace(found, state=state)


def checked_start(
    model: Model,
    dynamics: Dynamics,
    state: State,
    tolerance: float,
    params: PyTree,
    span: float = 0.0,
) -> Start:
    """Call `begin`, and raise every reason to refuse the start as one sentence; `span` is the
    length of the run [s].
    """
    # In this order, because each cause would appear as those after it: a function that is not
    # finite, a direction without mass, a row without gradient, a state off its constraints.
    start = begin(dynamics, state, span)
    refuse_non_finite(model, start)
    refuse_singular_mass(model, start)
    if np.ndim(start.at.M) > 1 and not isinstance(start.at.A, SparseMatrix):
        refuse_asymmetric_elsewhere(model, dynamics, state, span)
    refuse_vanishing(model, dynamics, start.there, start.placement.state)
    before, speed = start.placement.violation_before, start.placement.velocity_violation_before
    off, stuck = max(before, speed) > tolerance, not start.placement.converged
    if (off or (stuck and tolerance < np.inf)) and (
        near := lost_in_round_off(model, dynamics, start)
    ):
        elsewhere = Remedy("start in that configuration itself, or farther from it")
        raise ModelError(
            f"{model.name}: the start is so close to a singular configuration that round-off "
            f"decides whether it meets its constraints ({near}; relative violation "
            f"{max(before, speed):.1e}, start_tolerance {tolerance:.0e}): "
            f"{advice(elsewhere, TOLERATED)}."
        )
    if off:
        what = "constraints" if before > tolerance else "constraints' velocity level"
        raise ModelError(
            f"{model.name}: the start is off the {what}: {worst_violation(model, state, params)} "
            f"(relative {max(before, speed):.1e}, start_tolerance {tolerance:.0e}); "
            f"{advice(MOVED, TOLERATED)}."
        )
    if tolerance < np.inf and stuck:
        raise ModelError(
            f"{model.name}: the start cannot be put on its constraints "
            f"(relative violation {start.placement.violation_after:.1e} of {CONVERGED:.0e}): "
            f"{worst_violation(model, start.placement.state, params)} remains."
        )
    if tolerance < np.inf and not start.verdict.consistent:
        raise ModelError(
            f"{model.name}: {Result.INCONSISTENT.sentence}: "
            f"{contradiction(model, start.verdict.misses)} "
            f"(allowed {start.verdict.allowed:.0e})"
            f"{between_branches(model, dynamics, start.placement.state)}."
        )
    known = start.there.F, start.there.b, start.verdict.misses
    if not all(np.all(np.isfinite(x)) for x in known):
        raise ModelError(f"{model.name}: {Result.NON_FINITE.sentence} (at the start).")
    return start


def refuse_non_finite(model: Model, start: Start) -> None:
    """Raise an error that names the function that returns NaN at the start."""
    c = model.constraints
    for residual, rows, what in (
        (start.at.phi, c.position_rows, "phi"),
        (start.at.psi, c.velocity_rows, "psi"),
    ):
        bad = rows[~np.isfinite(np.asarray(residual))]
        if not len(bad):
            continue
        for name, where in c.row_slices.items():
            if np.any((bad >= where.start) & (bad < where.stop)):
                shown = "phi" if c.owners[name].level.has_phi else what
                raise NotFiniteError(
                    f"constraint {name!r}: {shown} or its derivative is NaN or infinite at the "
                    "start; check divisions, roots and inverse functions there.",
                    name,
                )
    # a residual may be finite where its derivative is not, such as a square root at zero
    A = start.at.A.data if isinstance(start.at.A, SparseMatrix) else start.at.A
    if not np.all(np.isfinite(np.asarray(A))):
        raise ModelError(
            f"{model.name}: the constraint matrix has NaN or infinite entries at the start: a "
            "derivative does not exist there."
        )
    # no acceleration can satisfy this, and it would be reported as a contradiction
    if c.m and not np.all(finite := np.isfinite(np.asarray(start.at.F))):
        name = model.system.velocities[int(np.argmin(finite))]
        raise ModelError(f"{model.name}: the force along {name!r} is NaN or infinite at the start.")


def refuse_singular_mass(model: Model, start: Start) -> None:
    """Raise an error that names the direction without mass, unless a constraint restricts it."""
    if not np.all(np.isfinite(M := np.asarray(start.at.M))):
        raise ModelError(f"{model.name}: mass_matrix has NaN or infinite entries at the start.")
    refuse_asymmetric_mass(model, M, "at the start")
    if (M.ndim == 1 or isinstance(start.at.A, SparseMatrix)) and _is_positive(mass_blocks(M)):
        return
    if not (found := massless(model, M)):
        return
    direction, negative, scale = found
    if negative:
        raise ModelError(
            f"{model.name}: the mass matrix is not positive: along {direction} it is negative."
        )
    # a direction without mass is admissible if a constraint holds it: [M; A] then has full rank
    M, A = dense_mass(M), dense_rows(start.at.A)
    length = np.linalg.norm(A, axis=1, keepdims=True)
    stacked = np.vstack([M / np.outer(scale, scale), A / np.where(length > 0, length, 1.0) / scale])
    split = Decomposition(stacked, PLACED)
    if split.rank < len(M):
        # every velocity has mass, but the mass of this combination is hidden by that of others
        along = _direction(model, split.right[:, -1])
        hidden = " beyond the round-off of masses coupled to it" if np.all(np.diag(M) > 0) else ""
        raise ModelError(
            f"{model.name}: {along} has neither mass{hidden} nor a constraint that holds it, "
            "so its acceleration is undefined; give it mass or constrain it"
            f"{hidden and ', or use coordinates in which M is diagonal'}."
        )


def massless(model: Model, M: np.ndarray) -> tuple[str, bool, np.ndarray] | None:
    """Return the direction along which a mass matrix is smallest, in words, whether it is negative
    there, and the scale by which M was divided; None if M is positive definite.
    """
    M = dense_mass(M)
    # at unit diagonal; otherwise kilograms together with small kg·m² would look singular
    unit, scale = at_unit_diagonal(M)
    value, vector = principal(unit)
    if value[0] > ROUND_OFF * value[-1]:
        return None
    negative = value[0] < -1e-10 * max(abs(value[-1]), 1e-300)
    return _direction(model, vector[:, 0]), bool(negative), scale


def with_mass(model: Model, dynamics: Dynamics, state: State, *, light: bool = True) -> Dynamics:
    """Return the dynamics, with the augmented mass matrix if M is singular. Unless `light` is
    false, this includes an M so small relative to the masses to which constraints couple it that
    their rows become nearly parallel in its metric (`SMALL_PART`).
    """
    if dynamics.singular_mass:
        return dynamics
    at = evaluate(dynamics, state)
    if not mass_is_positive(np.asarray(at.M)):
        return augmented(model, dynamics)
    asked = light and dynamics.formulation is None
    return augmented(model, dynamics) if asked and is_light(dynamics, at) else dynamics


def is_light(dynamics: Dynamics, at: ModelEvaluation) -> bool:
    """Return whether M is a `SMALL_PART` of `M + AᵀDA` along any direction; false for a sparse
    A.
    """
    if isinstance(at.A, SparseMatrix):
        return False
    A, M, is_diagonal = np.asarray(at.A), dense_mass(np.asarray(at.M)), np.ndim(at.M) == 1
    # a row of round-off makes no mass light
    A = A[~round_off_of_kin(np, dynamics.constraints, A)]
    # an overflow is reported where the start is checked
    with np.errstate(all="ignore"):
        if is_diagonal and SMALL_PART * most_augmented(np, M, A) < 1 - SMALL_PART:
            return False
        light = M - SMALL_PART * augmented_mass(np, M, A)
    return len(A) > 0 and bool(np.all(np.isfinite(light))) and not mass_is_positive(light)


def mass_is_positive(M: np.ndarray) -> bool:
    """Return whether a mass matrix is positive definite to working precision, or not finite (which
    is reported elsewhere).
    """
    return bool(not np.all(np.isfinite(M)) or _is_positive(mass_blocks(M)))


def refuse_asymmetric_mass(model: Model, M: np.ndarray, where: str) -> None:
    """Raise if M, dense or in blocks, is not symmetric: only one triangle of it would be used."""
    if M.ndim < 2:
        return
    blocks = mass_blocks(M)
    diagonal = np.sqrt(np.abs(np.einsum("bii->bi", blocks)))
    size = np.maximum(np.abs(blocks), np.abs(np.swapaxes(blocks, 1, 2)))
    # an entry that is small relative to the masses that it couples may be the round-off of their
    # sum
    size = np.maximum(size, diagonal[:, :, None] * diagonal[:, None, :])
    off = np.abs(blocks - np.swapaxes(blocks, 1, 2)) > ROOT_OF_ROUND_OFF * size
    if not np.any(off):
        return
    b, i, j = (int(x) for x in np.argwhere(off)[0])
    first = b * blocks.shape[1]
    names = [model.system.velocities[first + x] for x in (i, j)]
    raise ModelError(
        f"{model.name}: mass_matrix is not symmetric {where}: the entry of {names[0]!r} and "
        f"{names[1]!r} is {blocks[b, i, j]:.6g}, that of {names[1]!r} and {names[0]!r} "
        f"{blocks[b, j, i]:.6g}; give both the same value, for example (M + M.T) / 2."
    )


def refuse_asymmetric_elsewhere(
    model: Model, dynamics: Dynamics, state: State, span: float = 1.0
) -> None:
    """Raise if M is not symmetric at random states nearby and far away, or later: it may be
    symmetric at a special state only.
    """
    for s in _elsewhere(state, span):
        M = np.asarray(evaluate(dynamics, s).M)
        # far away a mass may be out of range where no run arrives
        if np.all(np.isfinite(M)):
            where = f"at q = {np.array2string(np.asarray(s.q), threshold=6)}, t = {float(s.t):g} s"
            refuse_asymmetric_mass(model, M, where)


def _elsewhere(s: State, span: float) -> list[State]:
    """Return three random states around s within a span of time [s], always the same ones."""
    random, q = np.random.default_rng(1788), np.asarray(s.q)
    moved = (q + random.standard_normal(q.shape) * (1 + np.abs(q)) for _ in range(3))
    times = (s.t, s.t + 0.37 * span, s.t + 0.83 * span)
    return [host_state(x, s.v, t) for x, t in zip(moved, times, strict=True)]


def _is_positive(blocks: np.ndarray) -> bool:
    """Return whether each block of M is positive definite, shape (nb, k, k)."""
    diagonal = np.einsum("bii->bi", blocks)
    return bool(np.all(diagonal > ROUND_OFF * np.max(diagonal))) and not is_singular(blocks)


def lost_in_round_off(model: Model, dynamics: Dynamics, start: Start) -> str:
    """Return a sentence about a row that is almost lost, not because of its units, at a state whose
    violation is round-off; empty if there is none.
    """
    at = start.at
    residuals = np.concatenate([np.asarray(at.phi), np.asarray(at.psi)])
    rows = rows_of(at.A)
    size = np.asarray(abs(rows).max(axis=1)).ravel() if len(residuals) else np.zeros(0)
    gone = np.flatnonzero((size > 0) & (size < ALL_BUT_ZERO * np.max(size, initial=0.0)))
    if np.max(np.abs(residuals), initial=0.0) > SOLUTION_ERROR or not len(gone):
        return ""
    row = int(gone[np.argmin(size[gone])])
    if acting_rows(dynamics, start.given, rows)[row]:
        return ""
    return f"constraint {row_name(model, row)} has a gradient of {size[row]:.0e} there"


def worst_violation(model: Model, state: State, params: PyTree) -> str:
    """Return the constraint with the largest residual, in its units."""
    c, p = model.constraints, model.params if params is None else model.merged(params)
    phi, psi = residuals(c, state, p)
    size, symbol = (phi, "phi") if phi.max(initial=0.0) > SOLUTION_ERROR else (psi, "psi")
    name = c.worst(size)
    return f"constraint {name!r} has {symbol} = {size[c.row_slices[name]].max():.3g}"


def _direction(model: Model, x: np.ndarray) -> str:
    """Describe a direction of velocities."""
    order = np.argsort(-np.abs(x))
    named = [model.system.velocities[i] for i in order if abs(x[i]) > 0.1 * abs(x[order[0]])]
    what = "velocity" if len(named) == 1 else "the combination of"
    return f"{what} {', '.join(repr(n) for n in named[:4])}"
