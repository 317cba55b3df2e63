"""Every reason to refuse an initial state, each with the smallest model; nothing is compiled."""

from __future__ import annotations

import dataclasses
import types

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.dynamics.in_numpy import InNumPy, Rows, circle, in_numpy, line
from zwang.algebra.elimination.matrix import Layout
from zwang.dynamics import initial_conditions
from zwang.dynamics.consistent_state import consistent_state
from zwang.dynamics.equation_of_motion import Scales
from zwang.dynamics.initial_conditions import (
    PlacementError,
    all_on,
    begin,
    checked_start,
    mass_is_positive,
    placed,
    refuse_non_finite,
    refuse_singular_mass,
    with_mass,
    worst_violation,
)

REST = [0.0, 0.0]


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    in_numpy(monkeypatch)


def checked(model: InNumPy, q, v=REST, tolerance=1e-6, **changes):
    dynamics = model.dynamics(**changes)
    return checked_start(model, dynamics, model.state(q, v), tolerance, None, 1.0)


def refused(model: InNumPy, q, v=REST, **how) -> str:
    with pytest.raises(zw.ModelError) as caught:
        checked(model, q, v, **how)
    return str(caught.value)


# --- begin ----------------------------------------------------------------------------------------


def test_a_start_keeps_the_state_as_given_beside_the_one_that_was_found():
    start = checked(InNumPy(2, {"circle": circle()}), [1.0 + 1e-9, 0.0], [0.0, 2.0])
    assert start.given.q[0] == 1.0 + 1e-9 and abs(start.placement.state.q[0] - 1.0) < 1e-15
    assert start.at.phi[0] == pytest.approx(2e-9, rel=1e-6) and abs(start.there.phi[0]) < 1e-15
    assert start.scales.row_length[0] == pytest.approx(2.0 * np.sqrt(2.0), rel=1e-8)
    assert start.verdict.consistent and start.verdict.residual < 1e-14


def test_a_start_on_its_constraints_takes_two_decompositions(monkeypatch):
    """Of the rows at their own lengths and at their typical ones, however often it asks."""
    asked, svd = [], np.linalg.svd
    count = lambda C, **how: asked.append(C.shape) or svd(C, **how)
    monkeypatch.setattr(np.linalg, "svd", count)
    checked(InNumPy(2, {"circle": circle(1.25)}), [0.75, 1.0])
    assert asked == [(1, 2), (1, 2)]


def test_scales_that_are_known_are_not_measured_again():
    known = Scales(np.array([7.0]), np.array(3.0), np.array(3.0))
    start = checked(InNumPy(2, {"circle": circle()}), [1.0, 0.0], scales=known)
    assert start.scales is known


def test_the_span_of_a_run_reaches_the_scales():
    model = InNumPy(2, {"row": line(1.0, 0.0)})
    spans = [begin(model.dynamics(), model.state(REST, [0.0, 5.0]), s).scales for s in (0.0, 10.0)]
    assert [float(x.inverse_length) for x in spans] == pytest.approx([1.0, 1 / 50.0])
    assert begin(model.dynamics(), model.state(REST, [0.0, 5.0])).scales.inverse_length == 1.0
    start = checked_start(model, model.dynamics(), model.state(REST, [0, 5.0]), 1e-6, None, 10.0)
    assert start.scales.inverse_length == pytest.approx(1 / 50.0)
    start = checked_start(model, model.dynamics(), model.state(REST, [0, 5.0]), 1e-6, None)
    assert start.scales.inverse_length == 1.0


def test_rows_that_are_switched_off_have_scales_too():
    model = InNumPy(2, {"a": line(1.0, 0.0), "b": line(0.0, 3.0)})
    model.constraints = type(model.constraints)(model, np.array([True, False]))
    dynamics = model.dynamics()
    start = begin(dynamics, model.state(REST, REST))
    np.testing.assert_allclose(start.scales.row_length, [1.0, 3.0])
    np.testing.assert_array_equal(all_on(dynamics).constraints.on, [True, True])
    without = InNumPy(2, {"a": line(1.0, 0.0)}).dynamics()
    assert all_on(without) is without


def stubborn(left: float, level="position", **more) -> Rows:
    """A residual that no motion changes."""
    value = {"phi": lambda q, v, t: left} if level == "position" else {"psi": lambda q, v, t: left}
    return line(1.0, 0.0, level=level, **value, **more)


@pytest.mark.parametrize(
    ("off", "level", "allowed"),
    [(1e-9, "position", 1.1e-8), (1e-3, "position", 1.001e-6), (1e-9, "velocity", 1.1e-8)],
)
def test_a_start_that_stays_off_is_excused_by_so_much(off, level, allowed):
    rows = stubborn(off, level) if level == "velocity" else stubborn(off)
    if level == "position":
        rows = dataclasses.replace(rows, rate=lambda q, v, t: np.zeros(1))
    model = InNumPy(2, {"row": rows})
    start = begin(model.dynamics(), model.state(REST, [0.0, 1.0]))
    assert start.verdict.allowed == pytest.approx(allowed, rel=1e-3)


# --- checked_start --------------------------------------------------------------------------------


def test_a_start_off_its_constraints_is_refused_with_its_size():
    model = InNumPy(2, {"circle": circle()})
    said = refused(model, [1.1, 0.0])
    assert "off the constraints: constraint 'circle' has phi = 0.21 (relative" in said
    assert "start_tolerance 1e-06" in said
    said = refused(model, [1.0, 0.0], [1.0, 0.0])
    assert "off the constraints' velocity level: constraint 'circle' has psi = 2" in said
    # both: the position is named
    assert "the constraints:" in refused(model, [1.1, 0.0], [1.0, 0.0])
    assert checked(model, [1.1, 0.0], tolerance=np.inf).placement.converged
    relative = float(said.split("relative ")[1].split(",")[0])
    assert relative == pytest.approx(1.0, rel=0.3)


def test_a_tolerance_is_a_limit_on_both_levels():
    model = InNumPy(2, {"row": line(1.0, 0.0)})
    for off, state in ((1e-4, ([1e-4, 1.0], REST)), (1e-4, (REST, [1e-4, 1.0]))):
        assert checked(model, *state, tolerance=1.1 * off).placement.converged
        assert "off the constraints" in refused(model, *state, tolerance=0.9 * off)


def test_a_start_that_cannot_be_put_on_its_constraints_is_refused():
    rows = dataclasses.replace(stubborn(1e-8), rate=lambda q, v, t: np.zeros(1))
    model = InNumPy(2, {"stiff": rows})
    said = refused(model, REST)
    assert "cannot be put on its constraints (relative violation 1.0e-08 of 1e-11)" in said
    assert "'stiff' has phi = 1e-08 remains" in said
    assert not checked(model, REST, tolerance=np.inf).placement.converged


def test_rows_that_ask_for_different_accelerations_are_refused():
    rows = {"a": line(1.0, 0.0), "b": line(1.0, 0.0, b=lambda q, v, t: 3.0), "c": line(0.0, 1.0)}
    model = InNumPy(2, rows)
    said = refused(model, REST)
    # v̇₀ = 1.5 beside 0 + 1.5 and 3 + 1.5
    named = "'a' misses by 1 of the accelerations involved, 'b' misses by 0.333 of the"
    assert "contradict" in said and named in said
    assert "'c'" not in said and "allowed 1e-09" in said
    assert not checked(model, REST, tolerance=np.inf).verdict.consistent


def test_a_force_that_is_not_finite_is_refused():
    model = InNumPy(2, {}, F=np.array([np.nan, 0.0]))
    assert "(at the start)" in refused(model, REST)
    assert "(at the start)" in refused(model, REST, tolerance=np.inf)


def test_a_squared_row_is_refused_at_its_zero():
    squared = Rows(
        "position",
        1,
        A=lambda q, v, t: np.array([[2 * q[0], 0.0]]),
        residual=lambda q, v, t: np.array([q[0] ** 2]),
        b=lambda q, v, t: np.array([-2 * v[0] ** 2]),
    )
    assert "a squared constraint" in refused(InNumPy(2, {"x": squared}), REST)


def test_causes_are_named_before_what_they_cause():
    """NaN before a missing mass, that before a start off its constraints."""
    nan = stubborn(np.nan)
    massless = np.array([1.0, 0.0])
    assert "NaN or infinite" in refused(InNumPy(2, {"x": nan}, massless), REST)
    off = line(1.0, 0.0, phi=lambda q, v, t: q[0] - 1.0)
    assert "neither mass" in refused(InNumPy(2, {"x": off}, massless), REST, singular_mass=True)


# --- what is not finite ---------------------------------------------------------------------------


def found_at(**functions):
    usual = {"phi": np.zeros(0), "psi": np.zeros(0), "A": np.zeros((0, 2)), "M": np.ones(2)}
    usual["F"] = np.zeros(2)
    return types.SimpleNamespace(at=types.SimpleNamespace(**{**usual, **functions}))


def test_the_constraint_that_is_not_finite_is_named():
    two = Rows("position", 2, A=lambda q, v, t: np.eye(2), residual=lambda q, v, t: q)
    roll = line(1.0, 0.0, level="velocity")
    model = InNumPy(2, {"pins": two, "roll": roll, "last": line(0.0, 1.0)})
    fine = {"phi": np.zeros(3), "psi": np.zeros(4), "A": np.ones((4, 2))}
    refuse_non_finite(model, found_at(**fine))
    for changed, says in (
        ({"phi": np.array([0.0, np.nan, 0.0])}, "'pins': phi"),
        ({"phi": np.array([0.0, 0.0, np.inf])}, "'last': phi"),
        ({"psi": np.array([0.0, 0.0, np.nan, 0.0])}, "'roll': psi"),
        ({"psi": np.array([0.0, 0.0, 0.0, np.nan])}, "'last': phi"),
        ({"A": np.full((4, 2), np.inf)}, "constraint matrix"),
    ):
        with pytest.raises(zw.ModelError, match=says):
            refuse_non_finite(model, found_at(**{**fine, **changed}))


def sparse(A: np.ndarray):
    m, n = A.shape
    row, column = np.divmod(np.arange(m * n), n)
    return Layout(row, column, np.arange(n), (m, n), 1).evaluate(lambda w: jnp.asarray(A) @ w)


def test_entries_of_a_sparse_matrix_are_looked_at():
    model = InNumPy(2, {"row": line(1.0, 0.0)})
    refuse_non_finite(model, found_at(A=sparse(np.array([[1.0, 2.0]]))))
    wrong = dataclasses.replace(made := sparse(np.array([[1.0, 2.0]])), data=made.data * np.nan)
    with pytest.raises(zw.ModelError, match="constraint matrix"):
        refuse_non_finite(model, found_at(A=wrong))


# --- mass -----------------------------------------------------------------------------------------


def mass_refused(M, A=None, nv=2) -> str | None:
    A = np.zeros((0, nv)) if A is None else A
    try:
        refuse_singular_mass(InNumPy(nv, {}), found_at(M=np.asarray(M), A=A))
    except zw.ModelError as error:
        return str(error)
    return None


SMALL = np.diag([1e-3, 1e3])


def test_masses_of_any_size_are_taken():
    for M in (np.ones(2), np.array([1e-9, 1e9]), np.eye(2), SMALL @ SMALL, np.ones((2, 1, 1))):
        assert mass_refused(M) is None


def test_a_mass_that_is_not_finite_or_not_symmetric_is_refused():
    assert "NaN or infinite entries at the start" in mass_refused(np.array([1.0, np.nan]))
    assert "not symmetric at the start" in mass_refused(np.array([[1.0, 0.5], [0.0, 1.0]]))


def test_a_negative_mass_is_named_whatever_its_units():
    assert "along velocity 'v1' it is negative" in mass_refused(np.array([1.0, -1e-3]))
    coupled = SMALL @ np.array([[1.0, -1.5], [-1.5, 1.0]]) @ SMALL
    assert "the combination of 'v0', 'v1' it is negative" in mass_refused(coupled)
    assert "negative" in mass_refused(np.array([-1e-12, -1e-12]))
    # round-off of a singular matrix is no negative mass
    assert mass_refused(np.array([1.0, -1e-12]), np.array([[0.0, 1.0]])) is None
    # eigenvalues 10 and −5e-10
    assert mass_refused(np.ones((10, 10)) - 5e-10 * np.eye(10), np.eye(10), nv=10) is None
    assert "negative" in mass_refused(np.ones((10, 10)) - 2e-9 * np.eye(10), np.eye(10), nv=10)


def test_a_direction_without_mass_needs_a_row_of_any_length():
    M = np.array([1.0, 0.0])
    assert "velocity 'v1' has neither mass nor a constraint" in mass_refused(M)
    assert mass_refused(M, np.array([[0.0, 1e-12]])) is None
    assert mass_refused(M, np.array([[1.0, 1.0]])) is None
    assert mass_refused(M, sparse(np.array([[0.0, 1e-8]]))) is None
    assert "'v1'" in mass_refused(M, sparse(np.array([[1.0, 0.0]])))
    # a row of zeros holds nothing, and does no harm beside one that does
    assert "'v1'" in mass_refused(M, np.zeros((1, 2)))
    assert mass_refused(M, np.array([[0.0, 0.0], [0.0, 1.0]])) is None
    # nothing at all has mass
    assert "neither mass nor a constraint" in mass_refused(np.zeros(2))
    assert "neither mass nor a constraint" in mass_refused(np.zeros(2), np.zeros((1, 2)))
    assert mass_refused(np.zeros(2), np.eye(2)) is None


def test_a_row_is_weighed_in_the_units_of_the_masses():
    M = np.array([1e12, 0.0])
    assert mass_refused(M, np.array([[1e6, 1.0]])) is None
    assert "'v1'" in mass_refused(M, np.array([[1e12, 1.0]]))
    # a hundred rows, which is ten times as long, hold v1 by 3e-10
    assert "'v1'" in mass_refused(np.array([1.0, 0.0]), np.tile([1.0, 3e-10], (100, 1)))


def test_a_combination_without_mass_is_named_by_its_velocities():
    x = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.01])
    x = x / np.linalg.norm(x)
    said = mass_refused(np.eye(6) - np.outer(x, x), nv=6)
    assert said is not None and "the combination of 'v" in said and "'v5'" not in said
    assert said.count("'v") == 4
    # without any mass, rows leave (1, 0.05, 0.01)
    held = np.array([[0.05, -1.0, 0.0], [0.01, 0.0, -1.0]])
    assert "velocity 'v0' has" in mass_refused(np.zeros(3), held, nv=3)
    # eight of 0.33 each, and four of 0.12 beside them
    x = np.array([1.0] * 3 + [0.3])[None]
    beside = np.linalg.svd(np.repeat(x, 3, axis=1))[2][1:]
    assert mass_refused(np.zeros(12), beside, nv=12).count("'v") == 4
    x = np.array([0.3, *np.zeros(0), 1.0])[None]
    assert "'v1', 'v0'" in mass_refused(np.zeros(2), np.linalg.svd(x)[2][1:])
    # three equal coordinates have mass in one direction alone, up to round-off
    assert "neither mass" in mass_refused(np.ones((3, 3)) + 2e-14 * np.eye(3), nv=3)
    nearly = np.array([[1.0, 1.0 - 1e-15], [1.0 - 1e-15, 1.0]])
    assert "neither mass" in mass_refused(nearly)
    assert mass_refused(np.array([[1.0, 1.0 - 1e-13], [1.0 - 1e-13, 1.0]])) is None
    assert mass_refused(nearly, np.array([[1.0, -1.0]])) is None


def test_masses_that_are_too_far_apart_are_told_how_to_be_written():
    """1 kg at the end of a slide that carries 1e-15 kg, by relative places and by places in
    space.
    """
    light = 1e-15
    relative = mass_refused(np.array([[1.0 + light, 1.0], [1.0, 1.0]]))
    assert "neither mass beyond the round-off of masses coupled to it nor a constraint" in relative
    assert "or use coordinates in which M is diagonal" in relative
    assert mass_refused(np.diag([light, 1.0])) is None


def test_many_blocks_are_judged_one_by_one_beside_sparse_rows():
    good = np.stack([np.eye(2), 1e-9 * np.eye(2)])
    assert mass_refused(good, sparse(np.ones((1, 4))), nv=4) is None
    bad = np.stack([np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0]])])
    held = np.array([[0.0, 0.0, 1.0, -1.0]])
    assert "'v2', 'v3'" in mass_refused(bad, sparse(np.ones((1, 4))), nv=4)
    assert mass_refused(bad, sparse(held), nv=4) is None


@pytest.mark.parametrize(("gap", "positive"), [(0.9e-14, False), (1.5e-14, False), (4e-14, True)])
def test_a_mass_counts_as_singular_beside_its_largest_direction(gap, positive):
    """Eigenvalues gap and 2 − gap."""
    M = np.array([[1.0, 1.0 - gap], [1.0 - gap, 1.0]])
    assert mass_is_positive(M) is positive
    assert mass_is_positive(SMALL @ M @ SMALL) is positive


@pytest.mark.parametrize(
    ("M", "positive"), [([1e-9, 1e-9], True), ([1e9, 1e-4], True), ([1e9, 1e-6], False)]
)
def test_a_mass_counts_as_zero_beside_the_largest(M, positive):
    assert mass_is_positive(np.array(M)) is positive


def test_a_singular_mass_is_augmented_once():
    model = InNumPy(2, {"row": line(0.0, 1.0)}, np.array([1.0, 0.0]))
    state, plain = model.state(REST, REST), model.dynamics()
    assert with_mass(model, plain, state).singular_mass
    known = model.dynamics(singular_mass=True)
    assert with_mass(model, known, state) is known
    regular = InNumPy(2, {"row": line(0.0, 1.0)})
    dynamics = regular.dynamics()
    assert with_mass(regular, dynamics, regular.state(REST, REST)) is dynamics


def test_an_asymmetric_mass_is_looked_for_elsewhere_and_later():
    """Three states at the distance of the coordinates' own size, within the span of the run."""
    around = lambda q: initial_conditions._elsewhere(InNumPy(1, {}).state([q], [0.0], 2.0), 10.0)
    for q in (0.0, 1.0):
        assert len(around(q)) == 3 and all(1e-2 < abs(float(s.q[0]) - q) < 10 for s in around(q))
    assert all(1e4 < abs(float(s.q[0]) - 1e6) < 1e7 for s in around(1e6))
    assert [float(s.t) for s in around(0.0)] == pytest.approx([2.0, 5.7, 10.3])
    later = lambda q, t: np.array([[2.0, 0.1 * t], [0.0, 2.0]])
    assert "not symmetric at q" in refused(InNumPy(2, {}, later), REST)
    far = lambda q, t: np.array([[2.0, np.nan if np.any(q) else 0.0], [0.0, 2.0]])
    assert checked(InNumPy(2, {}, far), REST).placement.converged


# --- words ----------------------------------------------------------------------------------------


def test_the_worst_constraint_is_that_of_the_largest_residual():
    shifted = lambda left: line(1.0, 0.0, phi=lambda q, v, t: q[0] + left)
    model = InNumPy(2, {"a": shifted(0.1), "b": shifted(-0.3), "c": shifted(0.2)})
    assert worst_violation(model, model.state(REST, REST), None) == "constraint 'b' has phi = 0.3"
    rows = {"a": line(0.1, 0.0), "b": line(-0.3, 0.0), "roll": line(0.0, 0.2, level="velocity")}
    model = InNumPy(2, rows)
    said = worst_violation(model, model.state(REST, [1.0, 1.0]), None)
    assert said == "constraint 'b' has psi = 0.3"
    said = worst_violation(model, model.state([1e-11, 0.0], [0.0, 5.0]), None)
    assert said == "constraint 'b' has phi = 3e-12"
    said = worst_violation(model, model.state([1e-12, 0.0], [0.0, 5.0]), None)
    assert said == "constraint 'roll' has psi = 1"


# --- consistent_state -----------------------------------------------------------------------------


def test_a_guess_is_placed_or_refused_with_what_remains():
    model = InNumPy(2, {"circle": circle()})
    found = placed(model, [1.1, 0.0], [0.2, 1.0])
    np.testing.assert_allclose(found.state.q, [1.0, 0.0], atol=1e-14)
    impossible = InNumPy(2, {"x": stubborn(2.0)})
    with pytest.raises(PlacementError, match="no consistent state.* 'x' has phi = 2 remains") as e:
        placed(impossible, REST, REST)
    assert not e.value.placement.converged and str(e.value).startswith("model: no consistent")
    with pytest.raises(zw.ModelError, match="NaN"):
        placed(InNumPy(2, {"x": stubborn(np.nan)}), REST, REST)
    with pytest.raises(zw.ModelError, match="neither mass"):
        placed(InNumPy(2, {"x": line(1.0, 0.0)}, np.array([1.0, 0.0])), REST, REST)
    late = line(1.0, 0.0, phi=lambda q, v, t: q[0] - t)
    assert placed(InNumPy(2, {"late": late}), REST, REST, 2.0).state.q[0] == 2.0
    assert placed(InNumPy(2, {"late": late}), REST, REST).state.q[0] == 0.0


def test_velocities_are_zero_unless_given(monkeypatch):
    model = zw.Model(zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2)))
    seen = []
    monkeypatch.setattr(
        "zwang.dynamics.consistent_state.placed", lambda *given, **more: seen.append(given)
    )
    consistent_state(model, REST)
    consistent_state(model, REST, [1.0, 2.0], 3.0)
    assert seen[0][0] is model and list(seen[0][2]) == REST and seen[0][3] == 0.0
    assert list(seen[1][2]) == [1.0, 2.0] and seen[1][3] == 3.0
    with pytest.raises(zw.ModelError, match="a zw.Model"):
        consistent_state("pendulum", REST)  # type: ignore


@pytest.mark.parametrize("sparse_base", [False, True])
def test_further_constraints_are_evaluated_apart_unless_the_base_is_sparse(
    monkeypatch, sparse_base
):
    model, seen = InNumPy(2, {"circle": circle()}), []
    monkeypatch.setattr(initial_conditions, "Constraints", lambda *given: given)
    structure = dataclasses.replace(model.dynamics().structure)
    if sparse_base:
        structure = type("Few", (type(structure),), {"sparse": True})()
    base = types.SimpleNamespace(
        dynamics=lambda *given: model.dynamics(structure=structure), system="system", p="p"
    )
    monkeypatch.setattr(
        initial_conditions, "begin", lambda dynamics, state, **_: seen.append(dynamics) or _Stop()
    )
    with pytest.raises(AttributeError):
        placed(model, [1.0, 0.0], REST, parts=(base, ("more",)))
    parts = seen[0].parts
    assert parts is None if sparse_base else parts[1][0] == ("more",)


class _Stop:
    """A start that nothing is asked of."""
