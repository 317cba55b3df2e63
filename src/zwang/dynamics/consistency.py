"""Consistency of the constraints of a model at a state, examined on the host.

A run needs this check at its start, at accepted steps that the compiled loop finds suspicious, and
where a switch changes the rows. All use the criterion of `zwang.algebra.judgement`.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from zwang.algebra.judgement import ABSENT, relative_residuals, row_scale, units_of
from zwang.algebra.metric import Metric, Rows, metric_of, rows_of
from zwang.algebra.rank import NEARLY_PARALLEL, PLACED
from zwang.algebra.spectrum import forms_of, principal
from zwang.dynamics.equation_of_motion import Dynamics, Scales
from zwang.dynamics.evaluation import ModelEvaluation, evaluate, evaluate_along, moved
from zwang.dynamics.number_range import acting_rows
from zwang.equations.state import State, host_state
from zwang.thresholds import AGREEMENT, MARGIN, SMALL_PART, SOLUTION_ERROR

DENSE_ROWS = 400
"""Largest number of rows whose singular values are computed at a start; 400 take a tenth of a
second."""
TANGENT_DIRECTIONS = 40
"""Largest number of directions of motion for which the second-order form of a vanishing row is
evaluated on all pairs."""
LATER = (0.37, 0.37 * 5**0.5)
"""Times from now [s] at which a dependence on time is checked. Their ratio is irrational, so that
they are not multiples of one period."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Result of the consistency check at a state.

    Attributes:
        misses: entries of `A v̇ − b` for the best v̇, relative to the terms of their sums, shape
            (m,).
        allowed: limit up to which they count as round-off, given the violation of the state.
        rows: at unit length, with the rank of a placement; None if there are many rows, or if they
            are not finite.
    """

    misses: np.ndarray
    allowed: float
    rows: Rows | None

    @property
    def residual(self) -> float:
        """The largest of the misses."""
        return float(np.max(self.misses, initial=0.0))

    @property
    def consistent(self) -> bool:
        """True if the constraints have a common acceleration."""
        return bool(self.residual <= self.allowed)

    @property
    def nearly_parallel(self) -> float | None:
        """The smallest nonzero singular value, if it belongs to nearly parallel rows."""
        if self.rows is None or self.rows.independent:
            return None
        sigma, count = self.rows.split.singular_values, self.rows.rank
        return float(sigma[count - 1]) if count and sigma[count - 1] < NEARLY_PARALLEL else None

    @property
    def redundant(self) -> bool:
        """True if rows are known to depend on each other."""
        return self.rows is not None and self.rows.rank < min(self.rows.C.shape)


def judge(
    dynamics: Dynamics,
    at: ModelEvaluation,
    state: State,
    scales: Scales,
    violation: float,
    stabilization: np.ndarray | float = 0.0,
) -> Verdict:
    """Check the consistency of the constraints at an evaluated state.

    Args:
        dynamics: the model's.
        at: values of its functions at the state.
        state: the state, with the violation `violation` [dimensionless].
        scales: typical row lengths and curvature.
        stabilization: term that is added to b.
    """
    metric = metric_of(at.M, at.A, dynamics.singular_mass)
    A, b, free = rows_of(at.A), np.asarray(at.b) + stabilization, metric.solve(np.asarray(at.F))
    length = metric.lengths(A)
    typical = np.asarray(scales.row_length)
    rows = metric.rows(A, length, typical, PLACED)
    acceleration = free + rows.correct(b - A @ free)
    # a may be far larger than v̇
    acceleration += rows.correct(b - A @ acceleration)
    # an absent row is the round-off of others: the acceleration of a force along it is no residual
    scale, met = row_scale(np, length, typical), A @ acceleration
    miss = np.where((scale > 0) | ~np.isfinite(met), met, 0.0) - b
    # relative to the terms of the sum: rods in free fall have b = A a, and relative to their
    # difference any round-off is large
    terms = np.abs(b) + abs(A) @ (np.abs(free) + np.abs(acceleration))
    turning = float(scales.curvature) * metric.speed(np.asarray(state.v)) ** 2
    terms = terms + np.asarray(scales.row_length) * turning
    return Verdict(
        relative_residuals(np, miss, terms, units_of(np, scale)),
        AGREEMENT + MARGIN * violation,
        judged_rows(metric, A, length, typical),
    )


def judged_rows(
    metric: Metric, A, length: np.ndarray, typical: np.ndarray | None = None
) -> Rows | None:
    """Return the rows at unit length in the metric of M⁻¹; None if their singular values are not
    computed.
    """
    if not 0 < len(length) <= DENSE_ROWS:
        return None
    rows = metric.rows(A, length, typical, PLACED)
    return rows if rows.is_finite else None


def vanishing_rows(dynamics: Dynamics, at: ModelEvaluation, state: State) -> dict[int, str]:
    """Return the rows that vanish at a state without being redundant, each with the reason why no
    force can satisfy it.

    A row with A = 0 cannot act. This is harmless if φ stays zero along every motion that the other
    rows allow, to second order `wᵀHw = 0` for tangent w; at a point where branches cross, the form
    is indefinite and the motion leaves the point. For a row of velocities it is the form of ψ
    around v. A form of one sign belongs to a squared constraint or to an isolated point, whose
    force would have to be infinite.
    """
    c = dynamics.constraints
    metric, A = metric_of(at.M, at.A, dynamics.singular_mass), rows_of(at.A)
    length = metric.lengths(A)
    # a row that is switched off is zero by design
    on = np.ones(c.m, bool) if c.on is None else np.asarray(c.on)
    gone = np.flatnonzero(on & ~(length > ABSENT * np.max(length, initial=0.0)))
    moving = [i for i in gone if i in set(c.velocity_rows.tolist())]
    if not moving or not np.all(np.isfinite(length)):
        return {}
    found = {i: why for i in moving if (why := _depends_on_nothing(dynamics, state, int(i)))}
    # a row that depends on no direction of motion, and is always zero, is satisfied without a force
    moving = [i for i in moving if np.any(c.pattern[i])]
    # a row that is short only because of its units does not vanish
    second = [i for i in moving if i not in found]
    if second:
        acting = acting_rows(dynamics, state, A)
        second = [i for i in second if not acting[i]]
    found |= _of_one_sign(dynamics, state, metric, A, length, second) if second else {}
    return {int(i): why for i, why in sorted(found.items())}


def _depends_on_nothing(dynamics: Dynamics, state: State, row: int) -> str | None:
    """Return why a row whose residual depends on no velocity cannot be satisfied, unless it is
    always zero.
    """
    c = dynamics.constraints
    if np.any(c.pattern[row]):
        return None
    # at other states and later times as well: a residual that is zero here by chance does not
    # remain zero there
    random = np.random.default_rng(1788)
    position = row in set(c.position_rows.tolist())
    place = list(c.position_rows if position else c.velocity_rows).index(row)
    still, before, after = np.zeros(dynamics.system.nv), [], []
    for later in (0.0, *LATER):
        t = state.t + later
        for spread in (0.0, 0.1):
            q = np.asarray(state.q) + spread * random.standard_normal(dynamics.system.nq)
            kept = moved(dynamics, q, still, t)
            for near, values in ((q, before), (kept, after)):
                here = evaluate(dynamics, host_state(near, state.v, t))
                values.append(abs(np.asarray(here.phi if position else here.psi)[place]))
    # the retraction of `zw.HigherOrder` removes nearly all of the lowest derivatives, any other
    # less than half
    if np.max(after) <= 0.5 * np.max(before):
        return None
    if position:
        return (
            "phi depends on no coordinate (on time alone, or behind stop_gradient), so no force "
            "can keep it at zero"
        )
    return (
        "psi depends on no velocity, so no force can keep it at zero; a relation between "
        "coordinates is a zw.Holonomic"
    )


def _of_one_sign(
    dynamics: Dynamics, state: State, metric: Metric, A, length: np.ndarray, rows: list
) -> dict[int, str]:
    """Return the rows whose second-order form on the motions that the other rows allow has one
    sign.
    """
    tangent = np.asarray(metric.rows(A, length, threshold=PLACED).kernel)
    count = tangent.shape[1]
    if not 0 < count <= TANGENT_DIRECTIONS:
        return {}

    c, asked = dynamics.constraints, np.asarray(rows)
    moves = np.isin(asked, c.position_rows)
    place = np.searchsorted(c.velocity_rows, asked)
    loudest = np.zeros(c.m)

    def values(w):
        """Return −wᵀHw and further terms that are not even in w, for each w: from b for φ, and from
        ψ itself around v.
        """
        b = np.asarray(evaluate_along(dynamics, state, w).b)
        np.maximum(loudest, np.max(np.abs(b), axis=0), out=loudest)
        if np.all(moves):
            return b[:, asked]
        psi = np.asarray(evaluate_along(dynamics, state, state.v + w).psi)
        return np.where(moves, b[:, asked], -psi[:, place])

    def forms(w):
        return -(0.5 * (values(w) + values(-w)) - still)

    still = values(np.zeros((1, len(tangent))))
    H = forms_of(forms, tangent)
    # relative to the Hessian along all directions: along tangents it may be round-off only
    random = np.random.default_rng(1829).standard_normal((4, dynamics.system.nv))
    scale = np.max(np.abs(forms(random @ metric.W.T)), axis=0)
    found = {}
    phi = np.asarray(evaluate(dynamics, state).phi) if len(rows) else np.zeros(0)
    for k, row in enumerate(rows):
        value = principal(H[k])[0]
        of_kin = np.max(loudest[c.owner(row)[1]])
        small = max(AGREEMENT * scale[k], SOLUTION_ERROR * of_kin, 1e-300)
        if np.max(np.abs(value)) <= small or (value[0] < -small and value[-1] > small):
            continue
        isolated = np.min(np.abs(value)) > small
        # of a row at position level; zero for any other
        residual = float(np.sum(phi[dynamics.constraints.position_rows == row]))
        if abs(residual) > SMALL_PART * np.max(np.abs(value)):
            found[row] = (
                f"its residual has no zero near the start ({residual:.3g} where the search "
                "ended); check the signs in its function"
            )
            continue
        found[row] = (
            "its gradient vanishes here while its second derivative has one sign: "
            + ("an isolated point" if isolated else "a squared constraint")
            + ", which no finite force can hold; state the relation itself instead of its square"
        )
    return found
