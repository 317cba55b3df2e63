"""Diagnoses of models with results known by hand; nothing is compiled."""

from __future__ import annotations

import collections
import dataclasses
import types

import numpy as np
import pytest

import zwang as zw
from tests.dynamics.in_numpy import InNumPy, Rows, circle, in_numpy, line
from zwang.analysis import check as check_module
from zwang.analysis.check import INTEGRABLE, check
from zwang.analysis.pfaffian import Reach


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    in_numpy(monkeypatch, check_module)
    monkeypatch.setattr(check_module, "instance", lambda model, *kind: model)
    monkeypatch.setattr(check_module, "reach", lambda *asked: None)
    # which compiles a program of the model's functions
    monkeypatch.setattr(check_module, "_accuracy", lambda *given: 1e-16)


def rows_of(A, level="position", **more) -> Rows:
    """Rows of numbers."""
    A = np.array(A, float)
    zero = np.zeros(len(A))
    how = {
        "position": {"residual": lambda q, v, t: A @ q},
        "velocity": {"residual": lambda q, v, t: A @ v},
        "acceleration": {"residual": lambda q, v, t: zero},
    }[level]
    return Rows(level, len(A), A=lambda q, v, t: A, b=lambda q, v, t: zero, **{**how, **more})


def diagnosed(rows: dict[str, Rows], nv: int, q=None, v=None, **more):
    return check(InNumPy(nv, rows, **more), np.zeros(nv) if q is None else q, v)


def test_sizes_ranks_and_singular_values_are_those_of_unit_rows_in_the_metric():
    rows = {
        "pin": rows_of([[1, 0, 0, 0], [0, 0, 2, 0]]),
        "roll": rows_of([[1, 1, 0, 0]], "velocity"),
        "twin": rows_of([[5, 0, 0, 0]]),
    }
    found = diagnosed(rows, 4, M=np.array([1.0, 4.0, 9.0, 1.0]))
    assert (found.nq, found.nv, found.m, found.rank, found.position_rank) == (4, 4, 4, 3, 2)
    assert found.degrees_of_freedom == 1 and found.redundant_rows == 1
    # "roll" is (1, ½)/√1.25 in the metric: Gram matrix of pin and twin (1), roll, beside 1
    cosine = 1 / np.sqrt(1.25)
    gram = np.array([[1, cosine, 1], [cosine, 1, cosine], [1, cosine, 1]])
    expected = np.sqrt(np.sort([*np.linalg.eigvalsh(gram)[1:], 1.0])[::-1])
    np.testing.assert_allclose(found.singular_values, [*expected, 0.0], atol=1e-12)
    assert found.model == "model" and not found.singular_mass
    assert found.consistent and found.position_violation == 0
    (free,) = found.free_motions
    assert free.name == "v3" and found.independent == ("v3",)


def test_free_motions_are_in_the_velocities_and_not_in_the_metric():
    found = diagnosed({"tie": rows_of([[1.0, -2.0]])}, 2, M=np.array([1.0, 100.0]))
    (free,) = found.free_motions
    np.testing.assert_allclose(free.direction / free.direction[1], [2.0, 1.0], rtol=1e-12)


def test_each_constraint_is_reported_with_what_those_before_it_imply():
    rows = {
        "alone": rows_of([[0, 0, 0, 1]]),
        "first": rows_of([[1, 0, 0, 0], [0, 1, 0, 0]]),
        "both": rows_of([[0, 0, 1, 0], [0, 0, 3, 0]]),
        "again": rows_of([[2, 2, 0, 0]]),
    }
    found = {c.name: c for c in diagnosed(rows, 4).constraints}
    assert list(found) == list(rows)
    assert [c.rows for c in found.values()] == [1, 2, 2, 1]
    assert [c.redundant for c in found.values()] == [0, 0, 1, 1]
    assert [c.shares for c in found.values()] == [False, True, True, True]
    # of two equal rows of one constraint the force is unique, the multipliers are not
    assert [c.unique_force for c in found.values()] == [True, False, True, False]
    assert found["alone"].unique_rows == (True,) and found["both"].unique_rows == (False, False)
    assert found["first"].unique_rows == (False, False)


def test_residuals_are_the_largest_of_each_constraint_in_its_own_units():
    rows = {
        "a": rows_of([[1, 0, 0], [0, 2, 0]]),
        "roll": rows_of([[0, 0, 3]], "velocity"),
        "push": rows_of([[0, 1, 1]], "acceleration"),
    }
    found = {c.name: c for c in diagnosed(rows, 3, q=[1.0, -2.0, 0], v=[-7.0, 1, -1]).constraints}
    assert (found["a"].phi, found["a"].psi) == (4.0, 7.0)
    assert (found["roll"].phi, found["roll"].psi) == (None, 3.0)
    assert (found["push"].phi, found["push"].psi) == (None, None)


@pytest.mark.parametrize(
    ("q", "v", "b", "consistent"),
    [
        ([0, 0], [0, 1], 0.0, True),
        ([1e-7, 1], [0, 1], 0.0, True),
        ([0.3, 1], [0, 1], 0.0, False),
        ([0, 0], [0.3, 1], 0.0, False),
        ([0, 0], [0, 1], 0.5, False),
    ],
)
def test_a_state_is_consistent_in_position_velocity_and_acceleration(q, v, b, consistent):
    twin = dataclasses.replace(rows_of([[1, 0]]), b=lambda q, v, t: np.array([b]))
    found = diagnosed({"a": rows_of([[1, 0]]), "b": twin}, 2, q=q, v=v)
    assert found.consistent is consistent
    assert (found.position_violation > 1e-6) == (abs(q[0]) > 1e-6)
    assert (found.velocity_violation > 1e-6) == (abs(v[0]) > 1e-6)
    assert (found.residual > 1e-6) == (b > 0)


def test_a_row_counts_in_the_rank_beside_the_largest_singular_value():
    """Two equal rows at an angle e from a third: σ = √3 and e √(2/3), at unit length."""
    for e, rank in ((1e-7, 2), (1e-9, 1)):
        found = diagnosed({"x": rows_of([[1, 0], [1, 0], [1, e]])}, 2)
        assert found.rank == rank and found.constraints[0].redundant == 3 - rank
    many = np.vstack([np.tile([1.0, 0.0], (11, 1)), [[1.0, 2e-8]]])
    assert diagnosed({"x": rows_of(many)}, 2).rank == 1


def test_a_row_of_zeros_is_redundant_and_no_row_is_nothing():
    found = diagnosed({"zero": rows_of([[0, 0]]), "a": rows_of([[0, 1]])}, 2)
    assert found.rank == 1 and [c.redundant for c in found.constraints] == [1, 0]
    none = diagnosed({}, 2)
    assert none.rank == none.m == none.position_rank == 0 and none.independent == ("v0", "v1")


def test_independent_velocities_are_those_that_free_motions_change_most():
    """x₀ = 10 x₁ and x₂ = −10 x₃: the large ones are chosen, one of each pair."""
    found = diagnosed({"ties": rows_of([[1, -10, 0, 0], [0, 0, 1, 10]])}, 4)
    assert found.independent == ("v0", "v2")
    # v₀ = v₁ and v₂ = v₃ = v₄ = v₅: one of each, though v₁ moves more than v₂
    equal = np.array([[1, -1, 0, 0, 0, 0], [0, 0, 1, -1, 0, 0], [0, 0, 0, 1, -1, 0]])
    found = diagnosed({"ties": rows_of([*equal, [0, 0, 0, 0, 1, -1]])}, 6)
    assert found.independent[0] in ("v0", "v1") and found.independent[1] not in ("v0", "v1")
    # v₁ = 0.9 (v₀ + v₂) moves least
    assert diagnosed({"tie": rows_of([[0.9, -1, 0.9]])}, 3).independent == ("v0", "v2")


def test_directions_beside_a_span_are_orthonormal_and_new():
    span = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])
    rows = np.array([[0.6, 0, 0.8, 0], [0, 1.0, 0, 0], [1, 1e-12, 1e-12, 0], [0, 0.8, 0, 0.6]])
    new = check_module._directions(rows, span)
    assert len(new) == 2
    np.testing.assert_allclose(new @ new.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(new @ span.T, 0, atol=1e-15)
    assert check_module._directions(rows[1:2], span).shape == (0, 4)
    # taken off once, round-off of 1e-9 of what was nearly in the span would be left
    tilted = np.array([[1.0, 0.0, 1e-7, 0.0]])
    np.testing.assert_allclose(
        np.abs(check_module._directions(tilted, span)), [[0, 0, 1, 0]], rtol=0, atol=1e-15
    )


# --- kinds ----------------------------------------------------------------------------------------


def kind_of(rows: Rows, **more) -> str:
    return diagnosed({"x": rows}, 2, q=[1.0, 0.0], v=[0.0, 1.0], **more).constraints[0].kind


def driven(wave) -> Rows:
    return line(1.0, 0.0, phi=lambda q, v, t: q[0] - 1.0 - wave(t), psi=lambda q, v, t: v[0])


KINDS = {
    "a circle": (circle(), "scleronomic holonomic"),
    "a drive": (driven(lambda t: 0.1 * t), "rheonomic holonomic"),
    "a drive that begins later": (driven(lambda t: max(t - 0.5, 0.0)), "rheonomic holonomic"),
    "of period 0.37": (driven(lambda t: np.sin(2 * np.pi * t / 0.37)), "rheonomic holonomic"),
    "of period 0.74": (driven(lambda t: np.sin(2 * np.pi * t / 0.74)), "rheonomic holonomic"),
    "of 100 Hz": (driven(lambda t: 1e-3 * np.sin(200 * np.pi * t)), "rheonomic holonomic"),
    "round-off": (driven(lambda t: 1e-11 * t), "scleronomic holonomic"),
    "an acceleration": (rows_of([[1, 0]], "acceleration"), "acceleration"),
    "nonideal": (dataclasses.replace(circle(), nonideal=print), "scleronomic holonomic, nonideal"),
    "a velocity": (rows_of([[1, 0]], "velocity"), "linear nonholonomic"),
}


@pytest.mark.parametrize(("rows", "kind"), KINDS.values(), ids=KINDS)
def test_the_kind_of_a_constraint_is_told_by_its_values(rows, kind):
    assert kind_of(rows) == kind


def test_time_may_matter_away_from_the_state_alone():
    """φ = q₀ + t q₁ at q₁ = 0."""
    moving = line(1.0, 0.0, phi=lambda q, v, t: q[0] - 1.0 + t * q[1], psi=lambda q, v, t: v[0])
    assert kind_of(moving) == "rheonomic holonomic"


def test_rows_that_change_with_velocity_are_nonlinear():
    speed = Rows(
        "velocity",
        1,
        A=lambda q, v, t: 2 * v[None],
        residual=lambda q, v, t: np.array([v @ v - 1.0]),
        b=lambda q, v, t: np.zeros(1),
    )
    assert kind_of(speed) == "nonlinear nonholonomic"
    nearly = dataclasses.replace(speed, A=lambda q, v, t: np.array([[1.0, 1e-12 * v[0]]]))
    assert kind_of(nearly) == "linear nonholonomic"
    large = dataclasses.replace(speed, A=lambda q, v, t: np.array([[1e6 + 1e-5 * v[0], 0.0]]))
    assert kind_of(large) == kind_of(rows_of([[5, 0]], "velocity")) == "linear nonholonomic"
    large = dataclasses.replace(speed, A=lambda q, v, t: np.array([[1e6, 1e-9 * v[0]]]))
    assert kind_of(large) == "nonlinear nonholonomic"


@pytest.mark.parametrize("which", [1, 2, 3])
def test_one_of_three_velocities_at_which_a_row_differs_is_enough(which):
    seen = []

    def A(q, v, t):
        if not any(np.array_equal(v, known) for known in seen):
            seen.append(v)
        return np.array([[1.0 + (np.array_equal(v, seen[-1]) and len(seen) == 1 + which), 0.0]])

    rows = Rows("velocity", 1, A, lambda q, v, t: np.zeros(1))
    model = InNumPy(2, {"x": rows})
    kinds = check_module._kinds(model.dynamics(), model.state([0.0, 0.0], [0.0, 0.0]))
    assert kinds == {"x": "nonlinear nonholonomic"}


def test_velocity_constraints_that_can_be_integrated_are_told_apart(monkeypatch):
    rows = {name: rows_of([row], "velocity") for name, row in (("a", [1, 0, 0]), ("b", [0, 1, 0]))}
    rows["c"] = rows_of([[0, 0, 1]], "velocity")
    asked = []

    def reached(dynamics, state, linear, scale, bent):
        asked.append((linear, scale, bent))
        return Reach(1, 1, ("a", "b"), 0.0, ("b",))

    monkeypatch.setattr(check_module, "reach", reached)
    made = lambda dynamics, state, name, own, scale: own if name == "a" else None
    monkeypatch.setattr(check_module, "integral", made)
    found = diagnosed(rows, 3, M=np.array([1.0, 4.0, 16.0]))
    assert [c.kind for c in found.constraints] == [
        f"scleronomic {INTEGRABLE}",
        f"rheonomic {INTEGRABLE}",
        "linear nonholonomic",
    ]
    assert found.integrals == {"a": slice(0, 1)} and found.reach.dimension == 1
    ((linear, scale, bent),) = asked
    assert list(linear) == ["a", "b", "c"] and linear["c"] == slice(2, 3) and not bent
    # lengths in the metric, of geometric mean one
    np.testing.assert_allclose(scale, [2.0, 1.0, 0.5])


def test_reach_is_asked_for_linear_or_nonlinear_rows_alone(monkeypatch):
    asked = []
    monkeypatch.setattr(check_module, "reach", lambda *given: asked.append(given[2::2]))
    diagnosed({"x": circle()}, 2, q=[1.0, 0.0])
    assert asked == []
    bent = dataclasses.replace(
        rows_of([[1, 0]], "velocity"), A=lambda q, v, t: np.array([[1.0, v[0]]])
    )
    diagnosed({"x": bent}, 2)
    diagnosed({"x": rows_of([[1, 0]], "velocity")}, 2)
    assert [(list(linear), list(curved)) for linear, curved in asked] == [([], ["x"]), (["x"], [])]


# --- what is asked --------------------------------------------------------------------------------


def test_a_model_needs_coordinates_and_rests_unless_it_moves():
    model = InNumPy(2, {"x": rows_of([[1, 0]])})
    with pytest.raises(zw.ModelError, match="check: q is missing"):
        check(model)
    late = driven(lambda t: 0.5 * t)
    assert check(InNumPy(2, {"x": late}), [1.0, 0.0]).consistent
    assert check(InNumPy(2, {"x": late}), [2.0, 0.0], None, 2.0).consistent
    assert check(model, [0.0, 0.0]).velocity_violation == 0
    assert check(model, [0.0, 0.0], [1.0, 1.0]).velocity_violation > 0.5


def test_a_mechanism_has_a_start_of_its_own_and_is_offered_looser_joints(monkeypatch):
    class Mechanism:
        model = InNumPy(2, {"x": rows_of([[1, 0]])})
        start_state = types.SimpleNamespace(q=np.array([0.0, 5.0]), v=np.array([0.0, 2.0]))

    seen = []
    monkeypatch.setattr(check_module, "Mechanism", Mechanism)
    monkeypatch.setattr(
        check_module, "suggestions", lambda *given: seen.append(given[0]) or ("looser",)
    )
    start = check_module.begin
    states = []
    monkeypatch.setattr(check_module, "begin", lambda d, s: states.append(s) or start(d, s))
    mine = Mechanism()
    assert check(mine).suggestions == ("looser",) and seen == [mine]
    check(mine, v=[0.0, 3.0])
    check(mine, [0.0, 7.0])
    check(mine, [0.0, 7.0], [0.0, 1.0])
    assert [list(map(float, (*s.q, *s.v))) for s in states] == [
        [0.0, 5.0, 0.0, 2.0],
        [0.0, 5.0, 0.0, 3.0],
        [0.0, 7.0, 0.0, 0.0],
        [0.0, 7.0, 0.0, 1.0],
    ]
    assert diagnosed({"x": rows_of([[1, 0]])}, 2).suggestions == ()


def test_wrong_models_are_refused():
    nan = line(1.0, 0.0, phi=lambda q, v, t: np.nan)
    with pytest.raises(zw.ModelError, match="'x': phi"):
        diagnosed({"x": nan}, 2)
    with pytest.raises(zw.ModelError, match="'v1' has neither mass"):
        diagnosed({"x": rows_of([[1, 0]])}, 2, M=np.array([1.0, 0.0]))
    held = diagnosed({"x": rows_of([[0, 1]])}, 2, M=np.array([1.0, 0.0]))
    assert held.singular_mass and held.rank == 1
    away = lambda q, t: np.array([[2.0, 0.1 * q[0]], [0.0, 2.0]])
    with pytest.raises(zw.ModelError, match=r"not symmetric at q = \["):
        diagnosed({"x": rows_of([[1, 0]])}, 2, M=away)


def test_the_control_of_a_servo_is_reported_beside_the_passive_model(monkeypatch):
    model = InNumPy(2, {"x": rows_of([[1, 0]])})
    assert check(model, [0.0, 0.0]).control is None
    model.servo = types.SimpleNamespace(names=lambda n: ("u", "w")[:n], remark="")
    control = collections.namedtuple("Control", "u")(np.array([3.0]))
    monkeypatch.setattr(check_module, "_control", lambda dynamics, state: control)
    found = check(model, [0.0, 0.0])
    assert found.control.u == control.u and found.actuators == ("u",)
