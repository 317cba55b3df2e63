"""Scales measured at an initial state, and projections of states, for numbers known by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.dynamics.in_numpy import InNumPy, Rows, circle, in_numpy, line
from zwang.dynamics.equation_of_motion import Scales
from zwang.dynamics.placement import place
from zwang.dynamics.scales import directions_of, measure
from zwang.equations.state import host_state


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    in_numpy(monkeypatch)


def placed(model: InNumPy, q, v, lengths, inverse=1.0, t=0.0):
    scales = Scales(np.array(lengths), np.array(1.0), np.array(inverse))
    return place(model.dynamics(scales=scales), host_state(q, np.array(v), t))


# --- measure --------------------------------------------------------------------------------------


def test_the_curvature_of_a_row_is_measured_in_the_mass_metric():
    M = np.array([4.0, 1.0])
    model = InNumPy(2, {"circle": circle(), "still": line(0.0, 3.0)}, M)
    q = np.array([0.6, 0.8])
    found = measure(model.dynamics(), model.state(q, [0.0, 0.0]))
    W = np.diag(M**-0.5)
    w = directions_of(2) @ W
    hessian = np.sqrt(np.mean((2 * np.sum(w**2, axis=1)) ** 2) / 2)
    length = np.array([np.linalg.norm(2 * q @ W), 3.0])
    curvature = hessian / length[0]
    assert found.curvature == pytest.approx(curvature)
    assert found.inverse_length == pytest.approx(curvature)
    nearby = np.array([hessian / curvature, 0.0])
    np.testing.assert_allclose(found.row_length, np.hypot(length, nearby))


def test_only_what_is_quadratic_in_velocity_counts_as_curvature():
    """b with a constant and a linear part: the row is straight, measured against the extent."""
    row = line(2.0, 0.0, b=lambda q, v, t: 5.0 + 3.0 * v[0] + t)
    model = InNumPy(2, {"row": row}, np.array([4.0, 9.0]), np.array([8.0, 0.0]))
    found = measure(model.dynamics(), model.state([1.0, 0.0], [0.0, 2.0], 1.0), 0.5)
    # |q| = 2, |v| = 6 and |F/M| = 4 in the metric
    assert found.curvature == 0
    assert found.inverse_length == pytest.approx(1 / (2.0 + 6.0 * 0.5 + 0.5 * 4.0 * 0.25))
    np.testing.assert_allclose(found.row_length, [1.0])


def test_a_state_at_rest_at_zero_extends_over_one_unit():
    model = InNumPy(2, {"row": line(1.0, 0.0)}, np.array([2.0, 6.0]))
    found = measure(model.dynamics(), model.state([0.0, 0.0], [0.0, 0.0]), 1.0)
    assert found.inverse_length == pytest.approx(0.5)
    # without a span nothing moves
    found = measure(model.dynamics(), model.state([0.0, 0.0], [3.0, 4.0]))
    assert found.inverse_length == pytest.approx(0.5)


def test_coordinates_that_are_not_those_of_the_velocities_count_by_the_largest():
    model = InNumPy(2, {"row": line(1.0, 0.0, phi=lambda q, v, t: q[0])}, np.array([4.0, 4.0]))
    found = measure(model.dynamics(), host_state(np.array([1.0, -3.0, 2.0]), np.zeros(2), 0.0))
    assert found.inverse_length == pytest.approx(1 / 6.0)


# --- place ----------------------------------------------------------------------------------------


def test_a_state_moves_least_and_says_how_far_and_how_far_off_it_was():
    found = placed(InNumPy(2, {"circle": circle()}), [1.1, 0.0], [0.2, 1.0], [2.0], 0.5)
    np.testing.assert_allclose(found.state.q, [1.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(found.state.v, [0.0, 1.0], atol=1e-14)
    assert found.moved_q == pytest.approx(0.1) and found.moved_v == pytest.approx(0.2)
    assert found.violation_before == pytest.approx(0.5 * 0.21 / 2.0)
    assert found.velocity_violation_before == pytest.approx(0.44 / 2.0 / np.hypot(0.2, 1.0))
    assert found.violation_after < 1e-14 and found.velocity_violation_after < 1e-14
    assert found.converged


def test_the_mass_metric_says_what_is_least():
    model = InNumPy(2, {"row": line(1.0, 1.0)}, np.array([1.0, 3.0]))
    found = placed(model, [4.0, 0.0], [0.0, 8.0], [1.0])
    np.testing.assert_allclose(found.state.q, [1.0, -1.0], atol=1e-14)
    np.testing.assert_allclose(found.state.v, [-6.0, 6.0], atol=1e-14)


def test_a_speed_that_a_drive_imposes_counts_beside_that_of_the_state():
    """ψ = v₀ − 3 at v = (1, 0): 2 of it is left beside a speed of 1 and an imposed one of 3."""
    row = line(1.0, 0.0, psi=lambda q, v, t: v[0] - 3.0)
    found = placed(InNumPy(2, {"drive": row}), [0.0, 0.0], [1.0, 0.0], [1.0])
    assert found.velocity_violation_before == pytest.approx(2.0 / 4.0)
    np.testing.assert_allclose(found.state.v, [3.0, 0.0])
    half = placed(InNumPy(2, {"drive": row}), [0.0, 0.0], [1.0, 0.0], [2.0])
    assert half.velocity_violation_before == pytest.approx(1.0 / (1.0 + 1.5))
    slow = placed(InNumPy(2, {"row": line(1.0, 0.0)}), [0.0, 0.0], [3e-4, 4e-4], [1.0])
    assert slow.velocity_violation_before == pytest.approx(0.6)


def test_what_is_on_its_constraints_stays_there_and_is_off_by_nothing():
    model = InNumPy(2, {"row": line(1.0, 0.0)})
    found = placed(model, [0.0, 7.0], [0.0, 0.0], [1.0])
    assert found.converged and found.moved_q == 0 and found.moved_v == 0
    assert found.velocity_violation_before == 0 and found.violation_before == 0
    # at the start, one step, its trial, and one correction of v
    assert model.asked <= 4


def test_a_model_without_constraints_is_where_it_is():
    model = InNumPy(2, {})
    found = placed(model, [1.0, 2.0], [3.0, 4.0], [])
    assert found.converged and found.moved_q == found.moved_v == 0
    assert model.asked == 2  # the state and its normal form; where nothing slips, no rest is asked


def test_newton_reaches_a_circle_from_far_away_and_halves_steps_that_overshoot():
    found = placed(InNumPy(2, {"circle": circle()}), [30.0, -40.0], [0.0, 0.0], [2.0])
    np.testing.assert_allclose(found.state.q, [0.6, -0.8], atol=1e-13)
    near = placed(InNumPy(2, {"circle": circle()}), [0.006, 0.008], [0.0, 0.0], [2.0])
    np.testing.assert_allclose(near.state.q, [0.6, 0.8], atol=1e-13)
    # |q| = 0.01 jumps to 50; the full step of arctan from 3 goes to −9.5, half of it to −3.2
    steep = line(1.0, 0.0, phi=lambda q, v, t: np.arctan(q[0]))
    steep = dataclasses.replace(steep, A=lambda q, v, t: np.array([[1 / (1 + q[0] ** 2), 0.0]]))
    found = placed(InNumPy(2, {"steep": steep}), [3.0, 0.0], [0.0, 0.0], [1.0])
    assert found.converged and abs(found.state.q[0]) < 1e-10


def test_a_full_step_is_taken_where_it_helps():
    model = InNumPy(2, {"row": line(2.0, 0.0, phi=lambda q, v, t: 2 * q[0] - 1.0)})
    found = placed(model, [9.0, 0.0], [0.0, 0.0], [2.0])
    assert found.state.q[0] == 0.5
    # the state, its normal form, one step that is all, and one of the velocity
    assert model.asked == 4


def test_what_cannot_be_solved_ends_soon_and_is_not_converged():
    impossible = Rows(
        "position",
        1,
        A=lambda q, v, t: 2 * q[None],
        residual=lambda q, v, t: np.array([q @ q + 1.0]),
    )
    model = InNumPy(2, {"impossible": impossible})
    found = placed(model, [1.0, 0.5], [0.0, 0.0], [2.0])
    assert not found.converged and found.violation_after >= 0.5
    assert model.asked < 2000


def test_a_double_root_is_approached_as_far_as_newton_gains():
    """Each step leaves a quarter of φ = q², so that it goes on below what counts as converged."""
    double = Rows(
        "position",
        1,
        A=lambda q, v, t: np.array([[2 * q[0], 0.0]]),
        residual=lambda q, v, t: np.array([q[0] ** 2]),
    )
    found = placed(InNumPy(2, {"double": double}), [1.0, 0.0], [0.0, 0.0], [1.0])
    assert found.converged and found.violation_after < 1e-20


def test_noise_ends_the_iteration_once_on_the_constraints():
    """φ falls by a fifth with every step, which is round-off where it counts as zero already."""
    noisy = line(1.0, 0.0, phi=lambda q, v, t: q[0])
    noisy = dataclasses.replace(noisy, A=lambda q, v, t: np.array([[5.0, 0.0]]))
    model = InNumPy(2, {"noisy": noisy})
    found = placed(model, [1e-12, 0.0], [0.0, 0.0], [1.0])
    assert found.state.q[0] == pytest.approx(0.8e-12)
    far = placed(InNumPy(2, {"noisy": noisy}), [1e-3, 0.0], [0.0, 0.0], [1.0])
    assert far.converged and far.state.q[0] == pytest.approx(0.72e-11, rel=0.12)


def test_velocities_are_polished_until_they_no_longer_change():
    unit = Rows(
        "velocity",
        1,
        A=lambda q, v, t: 2 * v[None],
        residual=lambda q, v, t: np.array([v @ v - 1.0]),
    )
    model = InNumPy(2, {"speed": unit})
    found = placed(model, [0.0, 0.0], [30.0, 40.0], [2.0])
    np.testing.assert_allclose(found.state.v, [0.6, 0.8], atol=1e-15)
    assert found.converged and model.asked < 20
    slow = dataclasses.replace(unit, residual=lambda q, v, t: np.array([v @ v - 1e-16]))
    found = placed(InNumPy(2, {"speed": slow}), [0.0, 0.0], [3e-7, 4e-7], [2e-8])
    np.testing.assert_allclose(found.state.v, [6e-9, 8e-9], rtol=1e-14)
    # a linear row is solved at once: the second correction is zero and the last
    linear = InNumPy(2, {"row": line(1.0, 0.0, level="velocity")})
    assert placed(linear, [0.0, 0.0], [3.0, 1.0], [1.0]).state.v[0] == 0
    assert linear.asked <= 8


def test_a_row_that_vanishes_counts_as_it_is():
    gone = line(0.0, 0.0, phi=lambda q, v, t: 0.3)
    found = placed(InNumPy(2, {"gone": gone}), [0.0, 0.0], [0.0, 0.0], [0.0], 2.0)
    assert found.violation_before == pytest.approx(0.6) and not found.converged


def test_acceleration_rows_do_not_move_a_state():
    free = line(1.0, 0.0, level="acceleration", phi=lambda q, v, t: 0.0)
    found = placed(InNumPy(2, {"free": free}), [1.0, 2.0], [3.0, 4.0], [1.0])
    assert found.moved_q == found.moved_v == 0 and found.converged


def constant(left: float, row=(3.0, -4.0)) -> Rows:
    """A residual that no motion changes, as the round-off of large coordinates is."""
    return line(*row, phi=lambda q, v, t: left, psi=lambda q, v, t: 0.0)


@pytest.mark.parametrize(("left", "converged"), [(6e-10, True), (8e-10, False)])
def test_the_round_off_of_large_coordinates_counts_as_converged(left, converged):
    """1e-15 of |3 · 1e5| + |4 · 1e5|, whatever the units of the row and of its violation."""
    for unit, inverse in ((5.0, 1.0), (5.0, 20.0), (0.05, 1.0)):
        found = placed(InNumPy(2, {"row": constant(left)}), [1e5, 1e5], [0, 0], [unit], inverse)
        assert found.violation_after == pytest.approx(inverse * left / unit)
        assert found.converged is converged


def test_coordinates_of_another_kind_are_as_large_as_their_largest():
    q = np.array([1e3, -1e5, 0.0])
    for left, converged in ((6e-10, True), (8e-10, False)):
        found = placed(InNumPy(2, {"row": constant(left)}), q, [0.0, 0.0], [5.0])
        assert found.converged is converged
        small = InNumPy(2, {"row": constant(1e-8 * left)})
        assert placed(small, 1e-8 * q, [0.0, 0.0], [5.0], 1e8).converged is converged


@pytest.mark.parametrize(("left", "converged"), [(0.8e-7, True), (1.3e-7, False)])
def test_a_slip_is_compared_with_the_speed(left, converged):
    stubborn = Rows(
        "velocity",
        1,
        A=lambda q, v, t: np.array([[1.0, 0.0]]),
        residual=lambda q, v, t: np.array([left]),
    )
    found = placed(InNumPy(2, {"row": stubborn}), [0.0, 0.0], [0.0, 100.0], [1.0])
    assert found.velocity_violation_after == pytest.approx(left / 100.0, rel=1e-4)
    assert found.converged is converged
