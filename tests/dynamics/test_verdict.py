"""Verdicts on constraints, for numbers known by hand; nothing is compiled."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.dynamics.in_numpy import InNumPy, Rows, circle, in_numpy, line
from zwang.algebra.metric import Rows as HostRows
from zwang.algebra.metric import metric_of
from zwang.algebra.rank import PLACED
from zwang.dynamics.consistency import (
    DENSE_ROWS,
    LATER,
    TANGENT_DIRECTIONS,
    Verdict,
    judge,
    judged_rows,
    vanishing_rows,
)
from zwang.dynamics.equation_of_motion import Scales
from zwang.thresholds import AGREEMENT, MARGIN, SMALL_PART


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    in_numpy(monkeypatch)


def judged(model: InNumPy, q, v, lengths, curvature=0.0, violation=0.0, **more) -> Verdict:
    scales = Scales(np.array(lengths), np.array(curvature), np.array(1.0))
    dynamics, state = model.dynamics(scales=scales), model.state(q, v)
    return judge(dynamics, model.evaluate(dynamics, state), state, scales, violation, **more)


# --- judge ----------------------------------------------------------------------------------------

MASS = np.array([4.0, 1.0])


def contradicting(b=3.0) -> InNumPy:
    """v̇₀ = 0 and 2 v̇₀ = b, in the metric rows of length ½ and 1."""
    rows = {"a": line(1.0, 0.0), "b": line(2.0, 0.0, b=lambda q, v, t: b)}
    return InNumPy(2, rows, MASS, np.array([8.0, -1.0]))


MISSES = [0.75 / 2.75, 1.5 / 8.5]
"""Free acceleration 2, acceleration ¾: terms 2.75 of the first row, 3 + 2 · 2.75 of the second."""


def test_what_rows_miss_is_that_of_least_squares_at_unit_length():
    """At unit length the rows ask for 0 and b/2 of v̇₀ and get the middle, ¾ = 3/4."""
    found = judged(contradicting(), [0.0, 0.0], [0.0, 0.0], [0.5, 1.0])
    np.testing.assert_allclose(found.misses, MISSES, rtol=1e-12)
    assert found.residual == max(found.misses)
    assert found.allowed == AGREEMENT and not found.consistent
    np.testing.assert_allclose(found.rows.split.singular_values, [np.sqrt(2.0), 0.0], atol=1e-15)


def test_what_turns_counts_among_the_terms():
    """The size of what b may be a sum of: length · curvature · speed²."""
    found = judged(contradicting(), [0.0, 0.0], [3.0, 4.0], [10.0, 20.0], curvature=0.5)
    turning = 0.5 * (4 * 9.0 + 16.0)
    terms = np.array([2.75 + 10.0 * turning, 8.5 + 20.0 * turning])
    assert found.residual == pytest.approx(np.max([0.75, 1.5] / terms), rel=1e-12)


def test_a_violation_excuses_a_residual_in_proportion():
    found = judged(contradicting(), [0.0, 0.0], [0.0, 0.0], [0.5, 1.0], violation=1e-3)
    assert found.allowed == pytest.approx(AGREEMENT + MARGIN * 1e-3)
    assert not found.consistent
    assert judged(contradicting(), [0, 0], [0, 0], [0.5, 1.0], violation=0.03).consistent
    assert Verdict(np.ones(1), 1.0, None).consistent


def test_stabilization_is_added_to_what_rows_ask_for():
    found = judged(
        contradicting(0.0), [0, 0], [0, 0], [0.5, 1.0], stabilization=np.array([0.0, 3.0])
    )
    np.testing.assert_allclose(found.misses, MISSES, rtol=1e-12)
    agreed = judged(
        contradicting(), [0, 0], [0, 0], [0.5, 1.0], stabilization=np.array([0.0, -3.0])
    )
    assert agreed.consistent and agreed.residual < 1e-15
    # two v̇ = 0 and 2 v̇ = 4 + 2 beside v̇ = 3
    agreed = judged(
        contradicting(4.0), [0, 0], [0, 0], [0.5, 1.0], stabilization=np.array([3.0, 2.0])
    )
    assert agreed.consistent


def test_unloaded_rods_agree_and_rows_at_round_off_are_judged_beside_their_terms():
    """A a = b = 0 up to 1e-16 where all points fall alike."""
    e = np.array([0.6, 0.8])
    rows = {"rod": line(*e, *-e, b=lambda q, v, t: 1e-16), "twin": line(*2 * e, *-2 * e)}
    model = InNumPy(4, rows, F=np.array([0.0, -9.81, 0.0, -9.81]))
    found = judged(model, np.zeros(4), np.zeros(4), [np.sqrt(2), np.sqrt(8)])
    assert found.consistent and found.residual < 1e-15


def test_a_large_free_acceleration_leaves_no_round_off():
    """v̇ = 0 held against a force of 1e10 by rows that are not orthogonal."""
    rows = {"a": line(1.0, 0.0), "b": line(1.0, 1e-3)}
    model = InNumPy(2, rows, F=np.array([1e10, -3e10]))
    found = judged(model, [0.0, 0.0], [0.0, 0.0], [1.0, 1.0])
    # what one correction leaves, about 1e-6 beside 1e10, the second takes off
    assert np.max(found.misses) < 1e-19


def test_a_row_without_terms_is_judged_beside_the_largest():
    rows = {"a": line(1.0, 0.0), "b": line(0.0, 0.0, b=lambda q, v, t: 1e-6)}
    model = InNumPy(2, rows, F=np.array([1.0, 0.0]))
    found = judged(model, [0.0, 0.0], [0.0, 0.0], [1.0, 0.0])
    assert found.residual == pytest.approx(1e-6 / SMALL_PART, rel=1e-6)


# --- singular values ------------------------------------------------------------------------------


def test_nearly_parallel_rows_are_told_from_redundant_ones():
    def found(*sigma):
        metric = metric_of(np.ones(len(sigma)), np.zeros((0, len(sigma))))
        rows = HostRows(metric, np.ones(len(sigma)), np.diag(sigma), PLACED)
        return Verdict(np.zeros(1), 1.0, rows).nearly_parallel

    assert Verdict(np.zeros(1), 1.0, None).nearly_parallel is None
    assert found(1.0, 0.5) is None and found(1.0, 1e-12) is None
    assert found(2.0, 1e-4, 1e-12) == 1e-4 and found(2.0, 0.5, 1e-4) == 1e-4
    assert found(1.0, 1e-3) is None and found(1.0, 0.9e-3) == 0.9e-3
    assert found(1.0, 1.1e-10) == 1.1e-10 and found(2.0, 1.1e-10) is None
    assert found(1.0) is None and found(0.0) is None


def test_singular_values_are_of_rows_at_unit_length():
    A = np.array([[3.0, 0.0], [3.0, 4.0]])
    metric = metric_of(np.ones(2), A)
    length = metric.lengths(A)
    # at an angle whose cosine is 0.6
    for rows in (A, csr_array(A)):
        found = judged_rows(metric, rows, length).split.singular_values
        np.testing.assert_allclose(found, np.sqrt([1.6, 0.4]), rtol=1e-12)
    assert judged_rows(metric, np.zeros((0, 2)), np.zeros(0)) is None
    assert len(judged_rows(metric, A[:1], length[:1]).split.singular_values) == 1
    assert judged_rows(metric, A * np.nan, length) is None


def test_singular_values_of_very_many_rows_are_not_asked_for():
    metric = metric_of(np.ones(2), np.zeros((0, 2)))
    many = lambda m: judged_rows(metric, np.ones((m, 2)), np.full(m, np.sqrt(2.0)))
    assert len(many(DENSE_ROWS).split.singular_values) == 2 and many(DENSE_ROWS + 1) is None


# --- rows that vanish -----------------------------------------------------------------------------


def form(H, linear=None, constant=0.0) -> Rows:
    """φ = linear ∙ q + ½ qᵀHq + constant."""
    H = np.array(H, float)
    g = np.zeros(len(H)) if linear is None else np.array(linear, float)
    return Rows(
        "position",
        1,
        A=lambda q, v, t: (g + H @ q)[None],
        residual=lambda q, v, t: np.array([g @ q + 0.5 * q @ H @ q + constant]),
        b=lambda q, v, t: np.array([-v @ H @ v]),
    )


def vanishing(model: InNumPy, q=None, v=None, **changes) -> dict[int, str]:
    zero = np.zeros(model.nv)
    state = model.state(zero if q is None else q, zero if v is None else v)
    dynamics = model.dynamics()
    return vanishing_rows(dynamics, model.evaluate(dynamics, state), state)


ISOLATED, SQUARED = "an isolated point", "a squared constraint"


@pytest.mark.parametrize(
    ("H", "says"),
    [
        ([[2, 0], [0, 2]], ISOLATED),
        ([[-2, 0], [0, -1]], ISOLATED),
        ([[2, 0], [0, 0]], SQUARED),
        ([[-1, -1], [-1, -1]], SQUARED),
        ([[0, 1], [1, 0]], None),
        ([[2, 0], [0, -1e-3]], None),
        ([[0, 0], [0, 0]], None),
        ([[2, 0], [0, -1e-12]], SQUARED),
        ([[2, 1.5], [1.5, 1]], None),
        ([[2, 1], [1, 1]], ISOLATED),
        ([[1, 1e-5], [1e-5, 1e-10]], SQUARED),
        ([[2e-12, 0], [0, 0]], SQUARED),
        ([[2e6, 0], [0, -1e-6]], SQUARED),
    ],
    ids=str,
)
@pytest.mark.parametrize("M", [None, np.array([4.0, 0.01])], ids=["unit mass", "masses"])
def test_a_form_of_one_sign_is_a_squared_constraint_or_an_isolated_point(H, says, M):
    found = vanishing(InNumPy(2, {"x": form(H)}, M), v=[0.3, -0.4])
    assert list(found) == ([] if says is None else [0])
    assert says is None or says in found[0]


@pytest.mark.parametrize(
    ("psi", "says"),
    [
        (lambda v: v[1] ** 2, SQUARED),
        (lambda v: v @ v, ISOLATED),
        (lambda v: -(v @ v), ISOLATED),
        (lambda v: v[0] * v[1], None),
        (lambda v: v[0] ** 2 - v[1] ** 2, None),
        (lambda v: 0.0, None),
    ],
)
def test_a_row_of_velocities_is_judged_by_what_it_says_around_the_velocity(psi, says):
    start = np.array([3.0, -2.0])
    blind = Rows(
        "velocity",
        1,
        A=lambda q, v, t: np.zeros((1, 2)),
        residual=lambda q, v, t: np.array([psi(v - start)]),
    )
    model = InNumPy(2, {"slide": form(np.diag([0.0, 0.0])), "x": blind})
    found = vanishing(model, v=start)
    assert list(found) == ([] if says is None else [1])
    assert says is None or says in found[1]


def test_only_motions_that_the_other_rows_allow_count():
    """q₀² + q₁² − 4 q₂² where q₂ = q₁: the form is q₀² − 3 q₁²; where q₂ = 0 it is of one sign."""
    cone = form(np.diag([2.0, 2.0, -8.0]))
    assert vanishing(InNumPy(3, {"x": cone})) == {}
    assert vanishing(InNumPy(3, {"x": cone, "tie": line(0.0, 1.0, -1.0)})) == {}
    found = vanishing(InNumPy(3, {"x": cone, "floor": line(0.0, 0.0, 1.0)}))
    assert list(found) == [0] and ISOLATED in found[0]
    found = vanishing(InNumPy(3, {"floor": line(0.0, 0.0, 5.0), "x": cone}))
    assert list(found) == [1] and ISOLATED in found[1]
    # another row holds q₀, so that q₀² alone restricts nothing further
    held = form(np.diag([2.0, 0.0, 0.0]))
    assert vanishing(InNumPy(3, {"x": held, "wall": line(1.0, 0.0, 0.0)})) == {}


def test_parts_of_the_right_hand_side_that_are_not_quadratic_do_not_count():
    shifted = dataclasses.replace(
        form(np.diag([2.0, 0.0])), b=lambda q, v, t: np.array([7.0 - 2 * v[0] ** 2 + 5 * v[1]])
    )
    assert SQUARED in vanishing(InNumPy(2, {"x": shifted}))[0]
    crossing = dataclasses.replace(
        form([[0, 1], [1, 0]]), b=lambda q, v, t: np.array([9.0 - 2 * v[0] * v[1] + 8 * v[0]])
    )
    assert vanishing(InNumPy(2, {"x": crossing})) == {}


def test_a_form_of_both_signs_is_left_by_the_motion():
    assert vanishing(InNumPy(3, {"x": form(np.diag([-2.0, 0.0, 2.0]))})) == {}


def test_rows_of_very_different_size_are_judged_each_by_itself():
    rows = {"a": form(np.diag([1e-6, 0.0])), "b": form(np.diag([1e6, 0.0]))}
    found = vanishing(InNumPy(2, rows))
    assert list(found) == [0, 1] and SQUARED in found[0] and SQUARED in found[1]


def test_motions_that_rows_allow_are_counted_beside_the_largest_singular_value():
    """A hundred rows, ten times as long, hold q₁ by 5e-10, which counts as free."""
    many = np.vstack([np.tile([1.0, 0.0, 0.0], (99, 1)), [[1.0, 5e-10, 0.0]]])
    still = np.zeros(100)
    ties = Rows("position", 100, lambda q, v, t: many, lambda q, v, t: still, lambda q, v, t: still)
    assert vanishing(InNumPy(3, {"x": form(np.diag([0.0, 2.0, -2.0])), "ties": ties})) == {}


def test_several_rows_are_told_apart_and_listed_in_order():
    rows = {
        "a": form(np.diag([2.0, 0.0])),
        "b": form([[0, 1], [1, 0]]),
        "c": form(np.diag([1.0, 3.0])),
    }
    found = vanishing(InNumPy(2, rows))
    assert list(found) == [0, 2] and SQUARED in found[0] and ISOLATED in found[2]


def test_a_form_of_three_directions_is_known_by_all_its_entries():
    """Eigenvalues 1, 1 and 4; with the other sign of all mixed entries 3, 3 and 0."""
    found = vanishing(InNumPy(3, {"x": form(np.eye(3) + np.ones((3, 3)))}))
    assert ISOLATED in found[0]


def test_a_row_that_acts_does_not_vanish():
    assert vanishing(InNumPy(2, {"x": form(1e-15 * np.eye(2))}), q=[1.0, 0.0]) == {}
    assert vanishing(InNumPy(2, {"x": circle()}), q=[1.0, 0.0]) == {}
    tiny = {"x": form(np.diag([2.0, 0.0])), "long": line(0.0, 1e3)}
    assert vanishing(InNumPy(2, tiny), q=[1e-9, 0.0]) == {}
    assert list(vanishing(InNumPy(2, tiny), q=[1e-11, 0.0])) == [0]


def test_acceleration_rows_and_rows_that_are_off_may_vanish():
    free = Rows("acceleration", 1, A=lambda q, v, t: np.zeros((1, 2)))
    assert vanishing(InNumPy(2, {"x": free})) == {}
    model = InNumPy(2, {"x": form(np.diag([2.0, 0.0])), "y": line(0.0, 1.0)})
    model.constraints = type(model.constraints)(model, np.array([False, True]))
    assert vanishing(model) == {}
    model.constraints = type(model.constraints)(model, np.array([True, False]))
    assert list(vanishing(model)) == [0]


def test_rows_that_are_not_finite_are_another_complaint():
    wrong = Rows("position", 1, lambda q, v, t: np.array([[np.nan, 0.0]]))
    assert vanishing(InNumPy(2, {"x": form(np.diag([2.0, 0.0])), "y": wrong})) == {}


@pytest.mark.parametrize("spare", [0, 1])
def test_forms_of_very_many_directions_are_not_looked_at(spare):
    n = TANGENT_DIRECTIONS + spare
    found = vanishing(InNumPy(n, {"x": form(np.eye(n))}))
    assert list(found) == ([] if spare else [0])


def test_no_direction_is_left_where_all_are_held():
    rows = {"x": form(np.diag([2.0, 0.0])), "a": line(1.0, 0.0), "b": line(0.0, 1.0)}
    assert vanishing(InNumPy(2, rows)) == {}


# --- rows that depend on nothing ------------------------------------------------------------------


def nothing(level: str, residual) -> InNumPy:
    """A row in the second place that depends on no velocity, beside one that does."""
    blind = Rows(
        level,
        1,
        A=lambda q, v, t: np.zeros((1, 2)),
        residual=lambda q, v, t: np.array([residual(q, v, t)]),
        rate=lambda q, v, t: np.zeros(1),
    )
    pattern = np.array([[True, True], [False, False]])
    return InNumPy(2, {"a": line(1.0, 0.0), "x": blind}, pattern=pattern)


@pytest.mark.parametrize(
    "residual",
    [lambda q, v, t: t**4, lambda q, v, t: q[1], lambda q, v, t: 5.0, lambda q, v, t: -1e-9],
)
def test_a_residual_of_time_or_place_alone_cannot_be_held(residual):
    found = vanishing(nothing("position", residual))
    assert list(found) == [1] and "phi depends on no coordinate" in found[1]
    found = vanishing(nothing("velocity", residual))
    assert list(found) == [1] and "psi depends on no velocity" in found[1]
    assert "zw.Holonomic" in found[1]


def test_a_residual_that_is_zero_everywhere_is_a_redundancy():
    for level in ("position", "velocity"):
        assert vanishing(nothing(level, lambda q, v, t: 0.0)) == {}


def test_a_residual_is_looked_at_nearby_and_at_times_without_a_simple_ratio():
    tried = []

    def seen(q, v, t):
        tried.append((q[1], v[1], float(t)))
        return 0.0

    model = nothing("position", seen)
    state, dynamics = model.state([0.0, 2.0], [0.0, 7.0], 5.0), model.dynamics()
    vanishing_rows(dynamics, model.evaluate(dynamics, state), state)
    times = {5.0, *(5.0 + later for later in LATER)}
    assert {t for _, _, t in tried} == times and set(model.moved_at) == times
    assert {v for _, v, t in tried if t > 5} == {7.0}
    away = {q - 2.0 for q, _, _ in tried} - {0.0}
    assert len(away) == 3 and all(1e-3 < abs(x) < 0.4 for x in away)
    # at each time, at the state itself as well
    assert {t for q, _, t in tried if q == 2.0} == times
    ratio = LATER[1] / LATER[0]
    assert min(abs(ratio * k - round(ratio * k)) for k in range(1, 300)) > 1e-3
