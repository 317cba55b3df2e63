"""Drift treatments compared with plain linear algebra, without a model of the library.

A bead of three coordinates with the metric M: φ = x² + y² − 1 and, if it rolls, ψ₂ = ż − x ẏ − c.
"""

from __future__ import annotations

import dataclasses
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zwang.algebra.gauss import Gauss
from zwang.algebra.mass_matrix import factor_mass
from zwang.algebra.pseudoinverse import Proximal
from zwang.dynamics.drift import Projection
from zwang.dynamics.drift.baumgarte import BaumgarteGains, BaumgarteRates, Stabilized
from zwang.equations.state import State

M = np.diag([2.0, 3.0, 1.5])
TARGET = 1e-14


class Bead:
    """What a drift treatment asks of the dynamics, and how often it asked for A."""

    p = None

    def __init__(self, rolls=True, offset=0.0, slips=0.0, mapped=False, jump=0.0, floor=0.0):
        self.rolls, self.offset, self.slips, self.jump = rolls, offset, slips, jump
        self.floor = floor
        velocity = np.arange(2 if rolls else 1)
        self.inverse_length = np.float64(1.0)
        self.constraints = types.SimpleNamespace(
            m=len(velocity), position_rows=np.array([0]), velocity_rows=velocity
        )
        rate = lambda q, v, t, p: 7.0 * v
        self.system = types.SimpleNamespace(
            velocity_map=(lambda: None) if mapped else None, retract=None, rate=rate
        )
        self.asked = 0

    def matrix(self, s):
        x, y, _ = s.q
        A = np.array([[2 * x, 2 * y, 0.0], [0.0, -x + 2 * self.slips * s.v[1], 1.0]])
        return A[: self.constraints.m]

    def linearized(self, s):
        self.asked += 1
        return self.matrix(s), *self.residuals(s)

    def position_residual(self, s):
        # an offset that no place meets, where the circle is left
        phi = s.q[0] ** 2 + s.q[1] ** 2 - 1.0 + self.offset + self.jump * (s.q[0] < 0)
        # what round-off leaves, whatever the place
        return np.array([phi if not abs(phi) < self.floor else self.floor])

    def velocity_residual(self, s):
        psi = np.array([2 * (s.q[0] * s.v[0] + s.q[1] * s.v[1]), s.v[2] - s.q[0] * s.v[1]])
        # nonlinear in v, as a constraint of a speed is
        psi[1] += self.slips * s.v[1] ** 2
        return psi[: self.constraints.m]

    def residuals(self, s):
        return self.position_residual(s), self.velocity_residual(s)

    def mass(self, s, A):
        return factor_mass(jnp.asarray(M))

    def gauss(self, mass, A, rows=None, violation=None):
        A = A if rows is None else A[rows]
        found = Gauss(mass, jnp.asarray(A), Proximal())
        object.__setattr__(found, "violation", violation)
        return found

    def gauss_at(self, s):
        A = self.matrix(s)
        return self.gauss(self.mass(s, A), A)

    def uncertainty(self, phi):
        return 0.25

    def violation(self, phi):
        return 0.5 * np.linalg.norm(phi)

    def move(self, s, dq):
        return s.q + dq

    def equation(self, s, gauss, term):
        return types.SimpleNamespace(state=s, gauss=gauss, term=term)

    def acceleration(self, equation):
        return 3.0 * equation.state.v


def pinv(A):
    return np.linalg.solve(M, A.T) @ np.linalg.pinv(A @ np.linalg.solve(M, A.T))


def beside(eps=1e-6):
    q = np.array([0.6, 0.8, 0.3]) + eps * np.array([1.0, 2.0, -3.0])
    return State(q, np.array([0.4, 0.5, -0.7]), 0.0)


ERROR = np.array([0.3, -0.2, 0.5]), np.array([-0.4, 0.1, 0.6])


def settled(bead, state, error=ERROR, drift=None, target=TARGET):
    with jax.disable_jit():
        return (drift or Projection()).project_step(bead, state, error, target)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rolls", [True, False])
def test_a_step_is_moved_least_in_the_mass_metric(rolls):
    bead, s = Bead(rolls), beside()
    found = settled(bead, s)
    A = bead.matrix(s)
    # of Newton's iteration the first step, up to its square
    expected = s.q - pinv(A[:1]) @ bead.position_residual(s)
    np.testing.assert_allclose(found.state.q, expected, atol=1e-11)
    np.testing.assert_allclose(found.state.v, s.v - pinv(A) @ (A @ s.v), atol=3e-6)
    assert abs(bead.position_residual(found.state)[0]) < 1e-15
    assert np.abs(bead.velocity_residual(found.state)).max() < 1e-14
    assert found.violation <= TARGET and found.converged
    assert found.slip <= 1e-14
    there = bead.matrix(found.state)
    away = s.v - found.state.v
    np.testing.assert_allclose(pinv(there) @ (there @ away), away, atol=1e-6)


@pytest.mark.slow
def test_one_factor_is_enough_of_holonomic_rows_and_two_of_rolling_ones():
    for rolls, least in ((False, 1), (True, 2)):
        bead = Bead(rolls)
        settled(bead, beside(1e-8))
        assert bead.asked == least
    bead = Bead()
    settled(bead, beside(1e-8), drift=Projection(velocity_corrections=5))
    assert bead.asked == 3


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rolls", [False, True])
def test_what_is_projected_away_is_no_error_of_the_step(rolls):
    bead, s = Bead(rolls), beside()
    e_q, e_v = settled(bead, s).error
    A = bead.matrix(s)
    np.testing.assert_allclose(e_q, ERROR[0] - pinv(A[:1]) @ (A[:1] @ ERROR[0]), atol=1e-5)
    np.testing.assert_allclose(e_v, ERROR[1] - pinv(A) @ (A @ ERROR[1]), atol=1e-5)


def test_where_coordinates_are_not_velocities_their_error_is_kept():
    e_q, e_v = settled(Bead(mapped=True), beside()).error
    assert np.array_equal(e_q, ERROR[0]) and not np.allclose(e_v, ERROR[1])


def test_a_place_on_the_constraints_is_not_moved():
    s = State(np.array([0.6, 0.8, 0.3]), np.array([0.4, 0.5, -0.7]), 0.0)
    assert np.array_equal(settled(Bead(), s, target=1e-12).state.q, s.q)


def test_a_residual_that_is_not_linear_in_v_is_met_by_repetition():
    bead = Bead(slips=0.3)
    found = settled(bead, beside())
    assert np.abs(bead.velocity_residual(found.state)).max() < 1e-12
    assert 2 <= bead.asked < 8 and found.slip < 1e-12


@pytest.mark.slow
def test_a_place_that_does_not_exist_ends_after_the_last_iteration():
    """x² + y² = −0.5: no step comes nearer than the origin."""
    bead = Bead(rolls=False, offset=1.5)
    found = settled(bead, beside())
    assert found.violation > 0.2 and found.converged and bead.asked <= 8
    assert found.violation == bead.violation(bead.position_residual(found.state))
    few = Bead(rolls=False, offset=1.5)
    settled(few, beside(), drift=Projection(iterations=1))
    assert few.asked == 1


def test_a_move_that_makes_it_worse_is_taken_back():
    """Where the correction steps over a jump of φ, the place before it is kept."""
    bead = Bead(rolls=False, jump=5.0)
    # near the origin Newton steps far, with y too
    s = State(np.array([1e-3, 0.02, 0.0]), np.array([0.0, 0.1, 0.0]), 0.0)
    found = settled(bead, s, drift=Projection(iterations=1))
    before = bead.violation(bead.position_residual(s))
    assert found.violation == before and np.array_equal(found.state.q, s.q)


def test_a_residual_that_is_not_finite_does_not_converge():
    bead = Bead(rolls=False, offset=np.nan)
    found = settled(bead, beside())
    assert not found.converged and bead.asked == 1


@pytest.mark.slow
def test_a_far_place_is_reached_by_as_many_steps_as_it_takes():
    for v in (np.zeros(3), np.array([0.4, 0.5, -0.7])):
        bead = Bead(rolls=False)
        found = settled(bead, State(np.array([1.9, -0.7, 0.3]), v, 0.0))
        assert found.violation <= TARGET and 4 <= bead.asked < 8


def test_round_off_near_the_target_ends_at_once_and_above_it_after_one_more_look():
    """The correction before, from ε, has to leave some ε² only."""
    for violation, looks in ((3 * TARGET, 1), (30 * TARGET, 2)):
        bead = Bead(rolls=False, floor=2 * violation)
        found = settled(bead, beside(1e-8))
        assert bead.asked == looks and found.violation == pytest.approx(violation)


def test_a_linear_constraint_takes_one_step_however_far_it_is():
    bead = Bead(rolls=False)
    bead.position_residual = lambda s: np.array([s.q[0] - 0.6])
    bead.velocity_residual = lambda s: np.array([s.v[0]])
    bead.matrix = lambda s: np.array([[1.0, 0.0, 0.0]])
    found = settled(bead, beside(1e-3))
    assert bead.asked == 1 and found.state.q[0] == 0.6


@pytest.mark.one_in(3)
@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_what_the_move_leaves_of_the_velocity_is_judged_beside_the_speed(factor):
    """Moved by ε, A has turned by ε, and the same factor leaves ε² of the velocity."""
    bead, s = Bead(rolls=False), beside()
    s = State(s.q, factor * s.v, 0.0)
    found = settled(bead, s, target=1e-9)
    assert bead.asked == 2 and np.abs(bead.velocity_residual(found.state))[0] < 1e-14 * factor


@pytest.mark.slow
def test_a_velocity_that_damping_cannot_reach_is_a_slip():
    """Two rows at an angle of 1e-8 ask for 0 and 0.3: half of it is left, rows at unit length."""
    bead = Bead()
    bead.matrix = lambda s: np.array([[1.0, 0.0, 0.0], [1.0, 1e-8, 0.0]])
    bead.position_residual = lambda s: np.zeros(1)
    bead.velocity_residual = lambda s: bead.matrix(s) @ s.v - np.array([0.0, 0.3])
    s = beside()
    found = settled(bead, s)
    left = bead.velocity_residual(found.state) * np.sqrt(2.0)  # √(A M⁻¹ Aᵀ) = 1/√2
    assert bead.asked == 8 and np.linalg.norm(left) == pytest.approx(0.3, rel=1e-3)
    speed = np.sqrt(found.state.v @ M @ found.state.v)
    assert found.slip == pytest.approx(0.3 / speed, rel=0.3)
    still = settled(Bead(), State(np.array([0.6, 0.8, 0.3]), np.zeros(3), 0.0))
    assert still.slip == 0.0


def test_the_volume_is_that_of_rows_at_unit_length():
    bead, s = Bead(), beside(1e-9)
    A = bead.matrix(s)
    G = A @ np.linalg.solve(M, A.T)
    unit = np.sqrt(np.diag(G))
    expected = np.linalg.slogdet(G / np.outer(unit, unit))[1]
    for drift in (Projection(), Stabilized()):
        assert abs(settled(bead, s, drift=drift).log_det - expected) < 1e-6


def test_a_stage_has_its_velocity_on_the_constraints():
    bead, s = Bead(), beside(1e-3)
    A = bead.matrix(s)
    v = s.v - pinv(A) @ bead.velocity_residual(s)
    with jax.disable_jit():
        rate = Projection().rate(bead, s)
    np.testing.assert_allclose(rate.equation.state.v, v, atol=1e-12)
    np.testing.assert_allclose(rate.q, 7.0 * v, atol=1e-12)
    np.testing.assert_allclose(rate.v, 3.0 * v, atol=1e-12)
    assert rate.equation.term == 0.0
    assert rate.equation.gauss.violation == 0.25
    np.testing.assert_allclose(rate.phi, bead.position_residual(s))
    np.testing.assert_allclose(rate.psi, bead.velocity_residual(s))
    assert np.array_equal(np.asarray(Projection().rate(bead, s, False).equation.state.v), s.v)


@pytest.mark.parametrize(
    ("stabilization", "velocity", "position"),
    [(BaumgarteGains(3.0, 5.0), 3.0, 5.0), (BaumgarteRates(3.0, 5.0), 6.0, 25.0)],
)
def test_stabilization_adds_its_term_to_b_and_leaves_the_state(stabilization, velocity, position):
    bead, s = Bead(), beside(1e-2)
    phi, psi = bead.residuals(s)
    expected = -velocity * psi
    expected[0] -= position * phi[0]
    with jax.disable_jit():
        term = stabilization.term_of(bead.constraints, phi, psi)
        rate = Stabilized(stabilization).rate(bead, s)
        landed = Stabilized(stabilization).project_step(bead, s, ERROR, TARGET)
    np.testing.assert_allclose(term, expected, rtol=1e-14)
    np.testing.assert_allclose(rate.equation.term, expected, rtol=1e-14)
    assert np.array_equal(rate.equation.state.v, s.v)
    assert np.array_equal(landed.state.q, s.q) and np.array_equal(landed.state.v, s.v)
    assert landed.error is ERROR and landed.converged and landed.slip == 0
    assert landed.violation == bead.violation(phi)
    with jax.disable_jit():
        both = Projection(stabilization=stabilization).rate(bead, s)
    assert both.equation.term[0] == pytest.approx(-position * phi[0], abs=1e-12)


@pytest.mark.slow
def test_coordinates_are_put_back_on_their_manifold_by_an_empty_move():
    bead, s = Bead(rolls=False), beside(0.0)
    bead.system.retract = lambda: None
    longer = dataclasses.replace(s, q=2 * s.q) if dataclasses.is_dataclass(s) else s
    bead.move = lambda state, dq: state.q / np.linalg.norm(state.q[:2]) + dq
    for drift in (Projection(), Stabilized()):
        found = settled(bead, longer, drift=drift)
        assert abs(np.linalg.norm(found.state.q[:2]) - 1) < 1e-14
