"""Scales of a model that define "small", and refused mass matrices, for numbers known by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import zwang as zw
from tests.models import free_particle
from zwang.dynamics.initial_conditions import mass_is_positive, refuse_asymmetric_mass
from zwang.dynamics.scales import directions_of, extent_of, measure, scales_of, size_of
from zwang.equations.state import State, host_state
from zwang.mechanism import Joint, Link, Mechanism
from zwang.simulation.placed_start import measured


def test_the_extent_of_a_motion_is_where_it_is_and_how_far_it_goes():
    assert extent_of(np, 1.0, 2.0, 4.0, 9.0, 3.0) == 1.0 + 6.0 + 18.0
    assert extent_of(np, 0.0, 0.0, 0.0, 9.0, 3.0) == 9.0
    assert extent_of(np, 1e-3, 0.0, 0.0, 9.0, 3.0) == 1e-3
    assert extent_of(np, 1e-10, 0.0, 0.0, 1e3, 3.0) == 1e3
    assert extent_of(np, 1e-10, 0.0, 0.0, 10.0, 3.0) == 1e-10
    assert size_of(np, np.array([-3.0, 2.0]), 2.0) == 6.0
    assert size_of(np, np.zeros(0), 2.0) == 0.0


def test_directions_are_eight_of_unit_variance_and_always_the_same():
    w = directions_of(500)
    assert w.shape == (8, 500) and np.std(w) == pytest.approx(1.0, abs=0.05)
    np.testing.assert_array_equal(w, directions_of(500))


def test_scales_are_the_median_curvature_and_lengths_nearby():
    curved = np.tile([4.0, 2.0, 0.0], (8, 1)) * np.sqrt(2)
    found = scales_of(np, np.array([2.0, 2.0, 5.0]), curved, 7.0)
    assert found.curvature == pytest.approx(1.5) and found.inverse_length == pytest.approx(1.5)
    nearby = np.array([4.0, 2.0, 0.0]) / 1.5
    expected = np.hypot([2.0, 2.0, 5.0], nearby)
    np.testing.assert_allclose(found.row_length, expected)


@pytest.mark.parametrize("size", [1e-13, 1e-7, 1e7])
def test_a_curvature_of_any_size_is_one(size):
    """Rows shorter than one, and one that is straight."""
    curved = np.tile([0.5 * size, 0.0], (8, 1)) * np.sqrt(2)
    found = scales_of(np, np.array([0.5, 0.5]), curved, 7.0)
    assert found.curvature == pytest.approx(size, rel=1e-12)
    assert found.inverse_length == pytest.approx(size, rel=1e-12)
    np.testing.assert_allclose(found.row_length, [np.hypot(0.5, 0.5), 0.5])


def test_linear_rows_are_measured_against_the_extent():
    found = scales_of(np, np.array([2.0, 0.0]), np.zeros((8, 2)), 5.0)
    assert found.curvature == 0 and found.inverse_length == pytest.approx(0.2)
    np.testing.assert_allclose(found.row_length, [2.0, 0.0])
    none = scales_of(np, np.zeros(0), np.zeros((8, 0)), 5.0)
    assert none.curvature == 0 and none.inverse_length == 0 and len(none.row_length) == 0


@pytest.mark.parametrize(
    ("M", "positive"),
    [
        (np.array([1.0, 2.0]), True),
        (np.array([1.0, 0.0]), False),
        (np.array([1.0, -1.0]), False),
        (np.array([1.0, 1e-13]), True),
        (np.array([1.0, np.nan]), True),
        (np.array([[2.0, 1.0], [1.0, 2.0]]), True),
        (np.array([[1.0, 1.0], [1.0, 1.0]]), False),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), False),
        (np.stack([np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0]])]), False),
        (np.stack([np.eye(2), 3 * np.eye(2)]), True),
    ],
    ids=str,
)
def test_a_mass_matrix_is_positive_to_working_precision(M, positive):
    assert mass_is_positive(M) is positive


def test_an_asymmetric_mass_matrix_is_named_by_its_entries():
    model = zw.Model(free_particle(4))
    for right in (np.ones(4), np.eye(4), np.stack([np.eye(2)] * 2), np.eye(4) + 1e-10):
        refuse_asymmetric_mass(model, right, "here")
    nearly = np.diag([1.0, 1e6, 1.0, 1.0])
    nearly[0, 1] = 1e-6  # beside the masses that it couples
    refuse_asymmetric_mass(model, nearly, "here")
    wrong = np.eye(4)
    wrong[1, 3] = 0.25
    with pytest.raises(zw.ModelError, match=r"symmetric here: .*'q1' and 'q3' is 0\.25, .* 0;"):
        refuse_asymmetric_mass(model, wrong, "here")
    blocks = np.stack([np.eye(2), np.array([[1.0, 0.0], [-0.5, 1.0]])])
    with pytest.raises(zw.ModelError, match=r"'q2' and 'q3' is 0, that of 'q3' and 'q2' -0\.5;"):
        refuse_asymmetric_mass(model, blocks, "there")


def hinged_rod(inertia: float, angle: float) -> Mechanism:
    """A body on an arm of 1 m, whose rows lie at an angle of √inertia in the mass metric."""
    at = (float(np.cos(angle)), float(np.sin(angle)))
    body = Link(mass=1, inertia=inertia, points={"f": (-1.0, 0.0)}, at=at, angle=angle)
    return Mechanism({"b": body}, joints={"r": Joint("revolute", between=("ground", "b.f"))})


@pytest.mark.parametrize("inertia", [1e-6, 1e-8])
def test_rows_that_are_short_at_the_start_only_are_given_their_length_nearby(inertia):
    """Along the arm one row of the hinge is 1 long, everywhere else 1/√inertia."""
    dynamics = hinged_rod(inertia, 0.0).model.dynamics()
    found = {}
    for angle in (0.0, 1e-6, np.pi / 2, 0.7):
        q = np.array([np.cos(angle), np.sin(angle), angle])
        found[angle] = measure(dynamics, host_state(q, np.zeros(3), 0.0), 1.0)
    usual = found.pop(0.7)
    for unusual in found.values():
        assert 1 / 3 < unusual.curvature / usual.curvature < 3
        assert np.all(np.abs(np.log(unusual.row_length / usual.row_length)) < np.log(3))


def test_a_program_measures_as_the_host_does():
    """Along its arm, just beside it, and across; one program for all of them."""
    dynamics = hinged_rod(1e-6, 0.0).model.dynamics()
    find = jax.jit(lambda q, v: measured(dynamics, State(q, v, jnp.zeros(())), jnp.ones(())))
    for angle in (0.0, 1e-6, 0.7):
        q, v = np.array([np.cos(angle), np.sin(angle), angle]), np.zeros(3)
        found, expected = find(q, v), measure(dynamics, host_state(q, v, 0.0), 1.0)
        for x, y in zip(jax.tree.leaves(found.scales), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6)
        assert bool(found.massive) and not bool(found.beyond)


@pytest.mark.slow
def test_a_compiled_slender_pendulum_takes_no_more_steps_along_its_arm():
    """Some 4000 steps were not enough for a third of a second."""
    model, times = hinged_rod(1e-6, 0.0).model, np.linspace(0, 0.5, 3)
    found = zw.trajectory(model, [1.0, 0.0, 0.0], np.zeros(3), times, max_steps=100)
    assert int(found.result) == zw.Result.SUCCESS, found.reason(model)


def swung(angle, inertia):
    """Where the pendulum of `hinged_rod` is after 0.5 s, by the equation of its angle."""
    swing = lambda t, y: [y[1], -9.81 * np.cos(y[0]) / (1 + inertia)]
    return solve_ivp(swing, (0.0, 0.5), [angle, 0.0], rtol=1e-11, atol=1e-12).y[0, -1]


def test_a_slender_pendulum_takes_no_more_steps_along_its_arm():
    """`(I + m l²) θ̈ = −m g l cos θ` from every angle, in maximal coordinates."""
    steps, inertia = [], 1e-6
    for angle in (0.0, 0.3):
        mechanism = hinged_rod(inertia, angle)
        q0, v0 = mechanism.start_state.q, mechanism.start_state.v
        run = zw.simulate(mechanism.model, q0, v0, duration=0.5, samples=3, max_steps=500)
        exact = swung(angle, inertia)
        np.testing.assert_allclose(run.q[-1, 2], exact, atol=1e-6)
        steps.append(len(run.steps.t))
    assert max(steps) < 2 * min(steps)


@pytest.mark.parametrize(("inertia", "angle"), [(1e-8, 0.0), (1e-12, 0.3)])
def test_a_pendulum_of_hardly_any_inertia_swings_as_one_of_none(inertia, angle):
    """In the metric of M⁻¹ its rows are parallel but for 1e-4 and 1e-6; it stopped, or ran to
    accelerations that were accurate to 2e-2."""
    mechanism = hinged_rod(inertia, angle)
    q0, v0 = mechanism.start_state.q, mechanism.start_state.v
    run = zw.simulate(mechanism.model, q0, v0, duration=0.5, samples=2, max_steps=500)
    exact = swung(angle, inertia)
    np.testing.assert_allclose(run.q[-1, 2], exact, atol=1e-7)
    assert not run.warnings and len(run.steps.t) < 100


@pytest.mark.slow
@pytest.mark.parametrize("inertia", [1e-7, 1e-8, 1e-10, 1e-12])
def test_slender_rods_of_a_redundant_loop_move_as_those_without_inertia(inertia):
    """Bricard's linkage, whose rods' inertia about their own axes does not matter to its motion."""
    from benchmarks.models import bricard

    def end(lengthwise):
        moments = [np.diag(np.where(np.abs(u) > 0.5, lengthwise, 1 / 12)) for u in bricard.along]
        params = {**bricard.rods.params, "inertia": np.array(moments)}
        model = zw.Model(bricard.rods.system, bricard.model.constraints.members, params)
        run = zw.simulate(model, bricard.q0, bricard.v0, duration=1.0, samples=2, max_steps=500)
        return np.asarray(bricard.rods.point(run.q[-1], 1, bricard.along[1] / 2))

    np.testing.assert_allclose(end(inertia), end(0.0), atol=1e-7 + 10 * inertia)


def loop() -> zw.Model:
    """A parallelogram by the angles of its bars, one row of which vanishes where they are in line;
    on its branch θ̈ = −0.1 θ.
    """

    def closed(q, t, p):
        x, y = jnp.cos(q), jnp.sin(q)
        return jnp.stack([x[0] + 2 * x[1] - x[2] - 2, y[0] + 2 * y[1] - y[2]])

    system = zw.System(3, lambda q, t, p: jnp.ones(3), lambda q, v, t, p: -0.1 * q)
    return zw.Model(system, [zw.Holonomic(closed, name="loop")], name="loop")


@pytest.mark.slow
def test_a_start_beside_a_singular_configuration_runs_as_one_in_it():
    """Rows of 1e-8 ask for accelerations that round-off makes: it took 200 steps and more."""
    model, rate = loop(), np.sqrt(0.1)
    noise = 1e-17 * np.random.default_rng(1).standard_normal(3)
    for angle in (1e-8, 1e-9, 1e-10, 0.0):
        q = np.array([angle, 0.0, angle]) + noise
        run = zw.simulate(model, q, [1.0, 0.0, 1.0], duration=0.1, samples=2, rtol=1e-8)
        exact = angle * np.cos(rate * 0.1) + np.sin(rate * 0.1) / rate
        np.testing.assert_allclose(run.q[-1], [exact, 0.0, exact], atol=1e-8)
        assert len(run.steps.t) < 40
    # where round-off is 1e-4 of the angle, it is no longer known where the bars go
    noise = 1e-17 * np.random.default_rng(2).standard_normal(3)
    q = np.array([1e-12, 0.0, 1e-12]) + noise
    v = np.array([1.0, 0.0, 1.0]) * (1 + 10 * noise)
    with pytest.raises(zw.ModelError, match="close to a singular.*'loop' .*gradient of 1e-12 th"):
        zw.simulate(model, q, v, duration=0.1, samples=2)
