"""Motion of a model at one instant: acceleration, constraint forces, and their existence."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from zwang.algebra.elimination.matrix import SparseMatrix
from zwang.algebra.gauss import certified_acceleration
from zwang.algebra.judgement import allowance, misses_by, relative_residual
from zwang.algebra.mass_matrix import Matrix
from zwang.algebra.metric import metric_of, rows_of
from zwang.algebra.pseudoinverse import AbstractPseudoinverse, Proximal
from zwang.compile import called_again, model_program, trace_state_clean
from zwang.dynamics.consistency import Verdict, judge, vanishing_rows
from zwang.dynamics.equation_of_motion import Dynamics, Scales, centripetal_terms
from zwang.dynamics.evaluation import ModelEvaluation, evaluate
from zwang.dynamics.formulation.base import AbstractFormulation
from zwang.dynamics.labels import Labels, labels_of
from zwang.dynamics.leaving import leaves_no_branch
from zwang.dynamics.matrix_structure import DENSE
from zwang.dynamics.model import Model
from zwang.dynamics.number_range import (
    of_typical_length,
    out_of_range,
    refuse_range,
    round_off_of_kin,
    row_sizes,
)
from zwang.dynamics.scales import measure
from zwang.dynamics.tangent_cone import may_branch, tangent_cone
from zwang.equations.state import State
from zwang.errors import ModelError, Result
from zwang.inputs.arguments import flag, instance
from zwang.inputs.arrays import host_array, is_concrete
from zwang.inputs.call import misfits_named
from zwang.objects.by_identity import ByIdentity
from zwang.objects.display import present
from zwang.objects.record import Record, field, text_of_record
from zwang.thresholds import AGREEMENT, ALL_BUT_ZERO


class Motion(Record):
    """Motion of a model at one instant. All fields are arrays, so that the object passes through
    `jit`, `vmap` and `grad`.

    Attributes:
        acceleration: v̇, shape (nv,).
        free_acceleration: a = M⁻¹F, shape (nv,), where F includes the force of actuators; of the
            augmented system if the mass is singular.
        constraint_force: force of the constraints, ideal and nonideal [N, N·m …], shape (nv,).
        ideal_force: Aᵀλ, shape (nv,), the reaction including the contribution of friction.
        nonideal_force: c, shape (nv,), the sum of the impressed forces of nonideal constraints.
        by_constraint: generalized force of each constraint, by name, shape (nv,).
        multipliers: λ, shape (m,), in the order of the rows; for redundant rows that of least norm,
            with rows at unit length.
        matrix, rhs: A and b; on the sparse path A is a `SparseMatrix`.
        rank: rank of A by the pseudoinverse's threshold.
        residual: largest entry of `|A v̇ − b|` relative to its terms (`zwang.algebra.judgement`).
        accuracy: estimate of the relative error of v̇, the larger of two numbers: the residual of
            `A v̇ = b` or its round-off, divided by the smallest singular value of the rows at unit
            length; and the acceleration that the round-off of `M v̇ = F + Aᵀλ` causes. In an
            equilibrium of forces it is relative to the free acceleration.
        result: a `Result` code.
        labels: names and units for printing; None if the object does not come from `zw.motion`.
    """

    acceleration: Float[Array, " nv"]
    free_acceleration: Float[Array, " nv"]
    constraint_force: Float[Array, " nv"]
    ideal_force: Float[Array, " nv"]
    nonideal_force: Float[Array, " nv"]
    by_constraint: dict[str, Float[Array, " nv"]]
    multipliers: Float[Array, " m"]
    matrix: Float[Array, "m nv"] | SparseMatrix
    rhs: Float[Array, " m"]
    rank: Int[Array, ""]
    residual: Float[Array, ""]
    accuracy: Float[Array, ""]
    mass_is_positive: Bool[Array, ""]
    result: Int[Array, ""]
    labels: Labels | None = field(static=True, default=None)

    @property
    def note(self) -> str:
        """Note on an acceleration that belongs to no motion; "" for others, and if the object does
        not come from `zw.motion`.
        """
        look = _LOOKS.get(self)
        return "" if look is None or not is_concrete(self) else look(self)

    def __str__(self) -> str:
        """Return accelerations and forces by name, with units."""
        return present("text_of", self, "motion") if is_concrete(self) else text_of_record(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return present("notebook_of", self, "motion")


_LOOKS: ByIdentity[Callable[[Motion], str]] = ByIdentity()
"""Functions that compute `Motion.note`."""


@misfits_named
def motion(
    model: Model,
    q,
    v,
    t=0.0,
    *,
    params: PyTree = None,
    pseudoinverse: AbstractPseudoinverse | None = None,
    formulation: AbstractFormulation | None = None,
    throw: bool = True,
) -> Motion:
    """Compute the acceleration and the constraint forces of a model at one state.

        v̇ = a + A⊕ (b − A a),    Q_c = M A⊕ (b − A a) = Aᵀλ

    The state is not projected onto the constraints (see `zw.consistent_state`).

    Args:
        model: the model.
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        t: time [s].
        params: parameters that differ from the model's.
        pseudoinverse: method for A⊕; `zw.methods.Proximal()` by default.
        formulation: equation of motion; eq. (31) of `zwang.algebra.gauss` by default.
        throw: raise an error on failure; otherwise read `Motion.result`. Inside `jit`, `vmap` and
            `grad` no error is raised.

    Raises:
        ModelError: for a singular mass matrix, contradictory constraints, a row without a gradient
            that no force can enforce, or a non-finite result.
    """
    instance(model, Model, "motion: model", "a zw.Model")
    dynamics = model.dynamics(params, pseudoinverse, formulation)
    on_host = trace_state_clean()
    state = model.state(q, v, t, on_host=on_host)
    answer = called_again(motion_of, (dynamics,), state)[0]
    known = on_host or is_concrete(answer)
    # detected in the result: examining M before would need another compiled program
    if known and int(answer.result) == Result.SINGULAR_MASS:
        dynamics = dynamics if dynamics.singular_mass else augmented(model, dynamics)
        answer = called_again(motion_of, (dynamics,), state)[0]
    asked = flag(throw, "throw") and known
    if asked and (int(answer.result) != Result.SUCCESS or _has_short_rows(answer.matrix)):
        if int(answer.result) == Result.INCONSISTENT:
            # b may be round-off only, which is decided with the curvature of the constraints
            answer = motion_of(dynamics, state, judged_by=measure(dynamics.passive, state))
        if int(answer.result) == Result.OUT_OF_RANGE:
            refuse_range(dynamics, evaluate(dynamics, state), state)
        finite = int(answer.result) != Result.NON_FINITE
        # A short row was omitted, or is the round-off of other rows of its constraint. This is
        # reported before a contradiction, as which such a row appears.
        if finite and _has_short_rows(answer.matrix):
            c, A = dynamics.constraints, rows_of(answer.matrix)
            if int(answer.rank) < c.m or np.any(round_off_of_kin(np, c, A)):
                at = evaluate(dynamics, state)
                refuse_vanishing(model, dynamics, at, state)
                answer = motion_of(with_short_rows(dynamics, at, state), state)
        if int(answer.result) == Result.INCONSISTENT:
            named = contradiction(model, judged(dynamics, state).misses)
            raise ModelError(f"{model.name}: {Result.INCONSISTENT.sentence} ({named}).")
        if int(answer.result) != Result.SUCCESS:
            named = "" if finite else _not_finite(answer, model)
            raise ModelError(f"{model.name}: {Result(int(answer.result)).sentence}{named}.")
    # in place, because no one else refers to it yet: a constructor's checks take longer than
    # everything above
    labels = labels_of(model.name, model.system, dynamics.singular_mass)
    object.__setattr__(answer, "labels", labels)
    # computed on request only, because it takes longer than the motion itself
    _LOOKS.keep(answer, functools.partial(_between_branches, dynamics, state))
    return answer


def _has_short_rows(A: Matrix) -> bool:
    """Return whether a row may vanish relative to the longest one."""
    rows = (A.data, (0, 1)) if isinstance(A, SparseMatrix) else (A, 1)
    size = np.add.reduce(np.abs(rows[0]), rows[1])
    sizes = size.tolist()  # a list of a dozen takes a tenth of the time of an array
    # A row this much shorter than the longest one may vanish, or be short because of its units,
    # which is examined if rank is lost. In the metric of M⁻¹ it may be shorter by the square of
    # that.
    return bool(sizes) and min(sizes) <= ALL_BUT_ZERO * max(sizes)


def with_short_rows(dynamics: Dynamics, at: ModelEvaluation, state: State) -> Dynamics:
    """Return the dynamics of one state with rows that are shorter than others because of their
    units.
    """
    A = rows_of(at.A)
    length = metric_of(at.M, at.A, dynamics.singular_mass).lengths(A)
    kept, none = of_typical_length(dynamics, state, A, length), host_array(0.0)
    return dataclasses.replace(dynamics, scales=Scales(host_array(kept), none, none))


def _between_branches(dynamics: Dynamics, state: State, answer: Motion) -> str:
    """Return the note on an acceleration that belongs to no motion, because branches of motion meet
    in the configuration; "" for others.
    """
    rows, w = dynamics.constraints, answer.acceleration
    failed = Result(int(answer.result)).is_failure
    # independent rows leave one motion
    regular = failed or int(answer.rank) >= rows.m or dynamics.structure.sparse
    if regular or not bool(leaves_no_branch(dynamics, state, w)):
        return ""
    said = "no motion has this acceleration: branches of motion meet here"
    at_rest = not np.any(np.asarray(state.v))
    if not at_rest or not may_branch(dynamics):
        return f"{said}, see zw.analysis.branches"
    cone = tangent_cone(dynamics, state.q, state.t)
    work = cone.tangents @ cone.mass @ np.asarray(w)
    if not len(work):
        return f"{said}, see zw.analysis.branches"
    i = int(np.argmax(np.abs(work)))
    shown = ", ".join(
        f"{name} {a:+.6g}"
        for name, a in zip(dynamics.system.velocities, work[i] * cone.tangents[i], strict=True)
        if abs(a) > 1e-9 * np.max(np.abs(work[i] * cone.tangents[i]))
    )
    return f"{said}; of the {len(work)} zw.simulate takes branch {i}, with the acceleration {shown}"


def augmented(model: Model, dynamics: Dynamics) -> Dynamics:
    """Return the dynamics of a model whose mass matrix is singular.

    `M + AᵀDA` replaces M, which does not change the motion with `A v̇ = b`.

    Raises:
        ModelError: with a formulation that needs a positive definite M.
    """
    if dynamics.formulation is not None and not dynamics.formulation.singular_mass:
        raise ModelError(
            f"{type(dynamics.formulation).__name__} needs a positive definite mass matrix, but "
            f"that of {model.name} is singular."
        )
    method = Proximal() if dynamics.structure.sparse else dynamics.pseudoinverse
    return dataclasses.replace(dynamics, singular_mass=True, structure=DENSE, pseudoinverse=method)


@model_program
def motion_of(
    dynamics: Dynamics,
    state: State,
    stabilization: Float[Array, " m"] | float = 0.0,
    applied: Float[Array, " nv"] | float = 0.0,
    judged_by: Scales | None = None,
) -> Motion:
    """Compute `motion` for a `Dynamics` without checks, with `b + stabilization` in place of b and
    a force in addition to F.

    The residual is assessed by `zwang.algebra.judgement`, with the terms of b and the violation of
    the state if `judged_by` gives the scales of the model. Without them the violation is relative
    to the coordinates.
    """
    eq = dynamics.equation_at(state, stabilization)
    eq = dataclasses.replace(eq, force=eq.force + applied)
    mass, gauss, A, free = eq.mass, eq.gauss, eq.gauss.A, eq.free_acceleration
    centripetal = centripetal_terms(gauss, state.v, judged_by)
    found = certified_acceleration(eq.force, gauss, eq.b, centripetal)
    multipliers, reaction = found.multipliers, None
    if dynamics.rough:
        reaction = dynamics.reaction(eq, multipliers)
        multipliers = reaction.multipliers
    nonideal = dynamics.nonideal_forces(eq, multipliers)
    zero = jnp.zeros_like(free)
    by_constraint = {
        name: A[rows].T @ multipliers[rows] + nonideal.get(name, zero)
        for name, rows in dynamics.constraints.row_slices.items()
    }
    ideal, impressed = A.T @ multipliers, sum(nonideal.values(), zero)
    # c accelerates the system along the tangent; the reaction balances its normal component
    along = gauss.mobility(impressed) if nonideal else zero
    acceleration, residual = found.acceleration + along, found.residual
    if dynamics.formulation is not None:  # another equation of motion is assessed by its own result
        acceleration = dynamics.acceleration(eq)
        terms = jnp.abs(eq.b) + centripetal + abs(A) @ (jnp.abs(free) + jnp.abs(acceleration))
        residual = relative_residual(jnp, A @ acceleration - eq.b, terms, gauss.units())
    allowed = allowance(jnp, violation_of(dynamics, state, gauss, judged_by))
    # each result makes the results before it meaningless, so the last one is returned
    result = jnp.where(residual <= allowed, Result.SUCCESS, Result.INCONSISTENT)
    finite = jnp.isfinite(residual) & jnp.all(jnp.isfinite(acceleration))
    result = jnp.where(finite, result, Result.NON_FINITE)
    if reaction is not None:
        result = jnp.where(reaction.unique, result, Result.PARADOX)
    positive = mass.is_positive()
    result = jnp.where(positive, result, Result.SINGULAR_MASS)
    result = jnp.where(dynamics.missed(state) <= AGREEMENT, result, Result.OUTSIDE_STRUCTURE)
    diagonal = mass.diag()
    beyond = out_of_range(jnp, row_sizes(jnp, A, diagonal), diagonal)
    result = jnp.where(beyond, Result.OUT_OF_RANGE, result)
    return Motion(
        acceleration=acceleration,
        free_acceleration=free,
        constraint_force=ideal + impressed,
        ideal_force=ideal,
        nonideal_force=impressed,
        by_constraint=by_constraint,
        multipliers=multipliers,
        matrix=A,
        rhs=eq.b,
        rank=gauss.rank(),
        residual=residual,
        accuracy=found.accuracy,
        mass_is_positive=positive,
        result=result,
    )


@model_program
def friction_certainty(dynamics: Dynamics, s: State) -> Float[Array, ""]:
    """Return the margin of uniqueness of constraint forces with friction (`Reaction.certain`)."""
    eq = dynamics.equation_at(s)
    return dynamics.reaction(eq, eq.multipliers).certain


def violation_of(dynamics: Dynamics, s: State, gauss, scales: Scales | None) -> Float[Array, ""]:
    """Return the dimensionless violation of a state, the larger of position and velocity."""
    c, unit = dynamics.constraints, gauss.units()
    phi, psi = unit[c.position_rows] * dynamics.position_residual(s), dynamics.velocity_residual(s)
    psi, speed = unit[c.velocity_rows] * psi, gauss.mass.size(s.v)
    size = jnp.max(jnp.abs(s.q), initial=0.0) * jnp.sqrt(
        jnp.abs(jnp.sum(gauss.mass.apply(jnp.ones_like(s.v))))
    )
    # without a measured curvature the coordinates are the only available length
    inverse = 1 / jnp.maximum(size, 1e-300) if scales is None else scales.inverse_length
    off = jnp.where(jnp.any(phi != 0), inverse * jnp.linalg.norm(phi), 0.0)
    slip = jnp.linalg.norm(psi)
    return jnp.maximum(off, jnp.where(slip > 0, slip / jnp.maximum(speed, slip), 0.0))


def _not_finite(answer: Motion, model: Model) -> str:
    """Return the constraints whose `A` or `b` is NaN or infinite."""
    A = answer.matrix
    if isinstance(A, SparseMatrix):
        return ""
    finite = np.all(np.isfinite(np.asarray(A)), axis=1) & np.isfinite(np.asarray(answer.rhs))
    bad = [repr(name) for name, s in model.constraints.row_slices.items() if not finite[s].all()]
    return f" (constraint {', '.join(bad[:4])})" if bad else ""


def refuse_vanishing(model: Model, dynamics: Dynamics, at: ModelEvaluation, state: State) -> None:
    """Raise an error that names the row without a gradient and explains why it is not redundant.

    Raises:
        ModelError: for a row that no force can enforce (`vanishing_rows`).
    """
    for row, why in vanishing_rows(dynamics, at, state).items():
        raise ModelError(f"{model.name}: constraint {row_name(model, row)}: {why}.")


def row_name(model: Model, row: int) -> str:
    """Return the constraint of a row, and the number of the row within it if it has several."""
    name, rows = model.constraints.owner(row)
    return f"{name!r} (row {row - rows.start})" if rows.stop - rows.start > 1 else f"{name!r}"


def judged(dynamics: Dynamics, state: State) -> Verdict:
    """Assess the constraints at a state that is on them, as an initial state and a run do."""
    scales = measure(dynamics.passive, state)
    return judge(dynamics, evaluate(dynamics, state), state, scales, 0.0)


def contradiction(model: Model, misses: np.ndarray) -> str:
    """Describe the constraints whose acceleration is not satisfied, the worst first; `misses` are
    those of a `Verdict`, shape (m,).
    """
    worst = {
        name: float(np.max(misses[rows], initial=0.0))
        for name, rows in model.constraints.row_slices.items()
    }
    named = [
        f"{name!r} {misses_by(size)}"
        for name, size in sorted(worst.items(), key=lambda x: -float(f"{x[1]:.3g}"))
        if size > 1e-3 * max(worst.values())
    ]
    return ", ".join(named[:4])
