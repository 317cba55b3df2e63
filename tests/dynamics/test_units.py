"""Decisions do not depend on units: rows in different units, mechanisms in meters and in
micrometers.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.dynamics.number_range import acting_rows
from zwang.simulation import placed_start

TIMES = np.linspace(0.0, 1.0, 5)


def geared_rods(unit=1.0, factors=(1.0, 1.0, 1.0)):
    """A double pendulum of two rods of 1 m, and two wheels with a ratio of gears of 2, one of them
    on a spring; lengths are counted in parts of `unit` of a meter.
    """
    first, second, gears = factors
    weight = 9.81 * unit

    square = lambda x, y: 0.5 * (x * x + y * y - unit**2)
    # rows of one constraint have one unit: there a row of 1e-17 beside one of 1 is round-off
    rods = [
        zw.Holonomic(lambda q, t, p: first * square(q[0], q[1]), name="rod"),
        zw.Holonomic(lambda q, t, p: second * square(q[2] - q[0], q[3] - q[1]), name="next rod"),
    ]
    mass = jnp.array([1.0, 1.0, 1.0, 1.0, unit**2, unit**2])
    force = lambda q, v, t, p: jnp.array([0, -weight, 0, -weight, -20 * q[4] * unit**2, 0.0])
    system = zw.System(6, lambda q, t, p: mass, force)
    geared = zw.Holonomic(lambda q, t, p: gears * (q[5] - 2 * q[4]), name="gears")
    model = zw.Model(system, [*rods, geared])
    q0 = np.array([unit, 0.0, unit, -unit, 0.3, 0.6])
    return model, q0, np.array([1.0 / unit] * 4 + [1.0, 1.0])


def moved(case):
    model, q0, in_meters = case
    tolerance = 1e-10 / np.concatenate([in_meters, in_meters])
    run = zw.simulate(model, q0, np.zeros(6), times=TIMES, rtol=1e-9, atol=tolerance)
    return run, run.q * in_meters


@pytest.fixture(scope="module")
def plain():
    return moved(geared_rods())


CASES = {
    "millimeters": {"unit": 1e3},
    "micrometers": {"unit": 1e6},
    "kilometers": {"unit": 1e-3},
    "megameters": {"unit": 1e-6},
    "one rod in square micrometers": {"factors": (1e12, 1.0, 1.0)},
    "one rod in square kilometers": {"factors": (1e-6, 1.0, 1.0)},
    "three units far apart": {"factors": (1e9, 1e-9, 1.0)},
    "a row beyond round-off": {"factors": (1.0, 1e-20, 1.0)},
    "every row far from the next": {"factors": (1e-40, 1.0, 1e40)},
    "micrometers with one row in meters": {"unit": 1e6, "factors": (1e-12, 1.0, 1e6)},
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", CASES)
def test_a_mechanism_moves_alike_in_all_units(case, plain):
    run, q = moved(geared_rods(**CASES[case]))
    np.testing.assert_allclose(q, plain[1], atol=3e-8)
    assert abs(len(run.steps.t) - len(plain[0].steps.t)) <= 0.15 * len(plain[0].steps.t)
    force = run.observation.motion.ideal_force[:, 4:] / CASES[case].get("unit", 1.0) ** 2
    np.testing.assert_allclose(force, plain[0].observation.motion.ideal_force[:, 4:], atol=1e-6)
    assert np.all(run.observation.motion.rank == 3)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["micrometers", "a row beyond round-off", "three units far apart"])
def test_a_compiled_motion_and_one_acceleration_know_the_same_rows(case, plain):
    model, q0, in_meters = geared_rods(**CASES[case])
    tolerance = 1e-10 / np.concatenate([in_meters, in_meters])
    found = zw.trajectory(model, q0, np.zeros(6), TIMES, rtol=1e-9, atol=tolerance)
    assert zw.Result(int(found.result)) is zw.Result.SUCCESS
    np.testing.assert_allclose(found.q * in_meters, plain[1], atol=3e-8)
    here, there = zw.motion(model, q0, np.zeros(6)), zw.motion(*geared_rods()[:2], np.zeros(6))
    np.testing.assert_allclose(here.acceleration * in_meters, there.acceleration, atol=1e-10)
    assert here.rank == 3


@pytest.mark.parametrize("factor", [1.0, 1e-9, 1e-20])
def test_a_start_off_a_short_row_is_moved_or_refused_by_its_own_length(factor):
    model, q0, _ = geared_rods(factors=(factor, 1.0, 1.0))
    off = q0 + np.array([1e-3, 0.0, 1e-3, 0.0, 0.0, 0.0])
    with pytest.raises(zw.ModelError, match="the start is off the constraints: .*'rod'"):
        zw.simulate(model, off, np.zeros(6), duration=0.1)
    placed = zw.consistent_state(model, off, np.zeros(6))
    assert placed.violation_before == pytest.approx(1e-3, rel=0.5)
    assert abs(np.hypot(*placed.state.q[:2]) - 1) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mass", "force"),
    [
        (1e-6, -1e13),
        (1e-13, -9.81e-13),
        *(pytest.param(*x, marks=pytest.mark.slow) for x in [(1e-6, -9.81), (1e-10, -9.81e-10)]),
    ],
)
def test_a_row_of_round_off_holds_no_mass_however_light(mass, force):
    """In the metric of M⁻¹ the row of 6e-17 beside 1 kg is one of 6e-12 beside 1e-10 kg, which it
    once locked. The residual of such a row is half of its own terms, which once made it a
    contradiction.
    """
    gap = zw.Holonomic(lambda q, t, p: jnp.stack([q[0], np.cos(np.pi / 2) * q[1]]), name="gap")
    system = zw.System(
        2, lambda q, t, p: jnp.array([1.0, mass]), lambda q, v, t, p: jnp.array([1.0, force])
    )
    model = zw.Model(system, [gap])
    found = zw.motion(model, [0.0, 0.0], [0.0, 0.0])
    np.testing.assert_allclose(found.acceleration, [0.0, force / mass], rtol=1e-12)
    assert found.rank == 1
    run = zw.simulate(model, [0.0, 0.0], [0.0, 0.0], duration=1.0, samples=2)
    np.testing.assert_allclose(run.q[-1], [0.0, 0.5 * force / mass], rtol=1e-9, atol=1e-30)
    compiled = zw.trajectory(model, [0.0, 0.0], [0.0, 0.0], np.array([0.0, 1.0]))
    np.testing.assert_allclose(compiled.q[-1], run.q[-1], rtol=1e-9, atol=1e-30)


@pytest.mark.parametrize("together", [True, False])
def test_a_row_far_below_another_is_round_off_if_it_is_of_the_same_constraint(together):
    """The gap of two points across the plane of a linkage, whose gradient is cos(π/2)."""
    rows = [lambda q, t, p: q[0] - 1.0, lambda q, t, p: np.cos(np.pi / 2) * (q[1] - 3.0)]
    gap = lambda q, t, p: jnp.stack([row(q, t, p) for row in rows])
    parts = [gap] if together else rows
    members = [zw.Holonomic(f, name=f"row {i}") for i, f in enumerate(parts)]
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
    model = zw.Model(system, members)
    dynamics, state = model.dynamics(), model.state([1.0, 3.0], [0.0, 0.0])
    A = np.asarray(dynamics.matrix(state))
    on_host = acting_rows(dynamics, state, A).tolist()
    assert on_host == [True, not together]
    assert np.asarray(placed_start._acts(dynamics, state, A)).tolist() == on_host


def test_a_row_that_is_given_outright_holds_in_any_unit():
    """Once a ValueError of `zw.motion`, and no row at all of `zw.trajectory`."""
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([1.0, 2.0]))
    slide = zw.Holonomic(lambda q, t, p: q[0], name="slide")
    outright = zw.AccelerationConstraint(
        lambda q, v, t, p: jnp.array([0.0, 1e-20]), lambda q, v, t, p: 3e-20, name="outright"
    )
    model = zw.Model(system, [slide, outright])
    found = zw.motion(model, [0.0, 0.0], [0.0, 0.0])
    np.testing.assert_allclose(found.acceleration, [0.0, 3.0], atol=1e-12)
    compiled = zw.trajectory(model, [0.0, 0.0], [0.0, 0.0], np.array([0.0, 1.0]))
    np.testing.assert_allclose(compiled.q[-1], [0.0, 1.5], atol=1e-12)
