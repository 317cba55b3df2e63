"""RATTLE keeps the invariants of a conservative motion, and refuses models for which it is not
valid.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.long import four_bar

import zwang as zw
from zwang import gallery, testing


@pytest.fixture(scope="module")
def pendulum():
    return gallery.load("pendulum")


def drift(run):
    """Largest energy errors in the first and in the second half of a run."""
    error = np.abs(run.dataset.energy.values - float(run.dataset.energy[0]))
    half = len(error) // 2
    return error[:half].max(), error[half:].max()


@pytest.mark.parametrize("order", [2, 4, 6])
def test_lengths_of_a_composed_step_cancel_the_errors_of_lower_order(order):
    parts = np.array(zw.methods.Rattle(order).parts)
    assert np.array_equal(parts, parts[::-1])
    for power in range(1, order, 2):
        assert np.sum(parts**power) == pytest.approx(float(power == 1), abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("order", [4, 6])
def test_a_composed_step_has_its_order(order):
    testing.check_integrator(zw.methods.Rattle(order))


def test_energy_stays_within_the_bounds_of_its_first_swings_and_the_way_back_is_the_way_there(
    pendulum,
):
    """Dopri8 loses energy with every swing; 0.05 s is a fortieth of a swing."""
    run = pendulum.run(duration=100.0, samples=401, step=0.05, integrator=zw.methods.Rattle())
    first, second = drift(run)
    assert second < 1.01 * first
    assert float(run.dataset.violation.max()) < 1e-14
    back = zw.simulate(
        pendulum.model,
        run.q[-1],
        -run.v[-1],
        duration=100.0,
        samples=401,
        step=0.05,
        integrator=zw.methods.Rattle(),
    )
    np.testing.assert_allclose(back.q[-1], pendulum.q0, atol=1e-9)  # round-off, 2000 steps each way


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), [("pendulum", 0.02), ("four-bar", 0.01)])
def test_energy_stays_within_bounds_over_a_million_steps(name, step, pendulum):
    if name == "pendulum":
        model, q, v = pendulum.model, pendulum.q0, pendulum.v0
    else:
        mechanism = four_bar()
        model, (q, v) = mechanism.model, (mechanism.start_state.q, mechanism.start_state.v)
    options = {"integrator": zw.methods.Rattle(), "step": step, "max_steps": 2_000_000}
    run = zw.simulate(model, q, v, duration=1e6 * step, samples=10_001, **options)
    first, second = drift(run)
    assert run.attrs["steps_accepted"] == 1_000_000
    assert second < 1.1 * first
    assert second < 1e-2 * np.ptp(run.dataset.kinetic_energy.values)


@pytest.mark.slow
def test_a_chain_of_the_sparse_path_keeps_its_energy():
    example = gallery.load("rod-chain", N=200)
    options = {"integrator": zw.methods.Rattle(), "pseudoinverse": zw.methods.Sparse()}
    run = example.run(duration=0.1, samples=11, step=5e-4, **options)
    assert run.attrs["pseudoinverse"].startswith("Sparse")
    assert np.ptp(run.dataset.energy.values) < 1e-3
    assert float(run.dataset.violation.max()) < 1e-12


def test_what_rattle_cannot_do_is_one_sentence(pendulum):
    unit = lambda q, t, p: jnp.ones(2)
    rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
    still = lambda q, v, t, p: jnp.zeros(2)

    def refused(match, mass=unit, force=still, constraint=rod, **options):
        model = zw.Model(zw.System(2, mass, force), [constraint])
        options = {"step": 0.1, "duration": 1.0, "samples": 11} | options
        with pytest.raises(zw.ModelError, match=match):
            zw.simulate(model, [1.0, 0.0], [0.0, 0.0], integrator=zw.methods.Rattle(), **options)

    refused("give zw.simulate step=", step=None)
    refused("take for example step = 0.1", step=0.15)
    refused("force depends on velocities", force=lambda q, v, t, p: -0.1 * v)
    refused("mass_matrix depends on q", mass=lambda q, t, p: jnp.array([1.0, 1.0 + q[0] ** 2]))
    refused("position constraints alone", constraint=zw.Nonholonomic(lambda q, v, t, p: v[1]))
    refused("needs zw.methods.Projection", drift=zw.methods.NoStabilization())
    with pytest.raises(zw.ModelError, match="zw.trajectory takes no zw.methods.Rattle"):
        zw.trajectory(
            pendulum.model,
            pendulum.q0,
            pendulum.v0,
            times=[0.0, 1.0],
            integrator=zw.methods.Rattle(),
        )
    with pytest.raises(zw.ModelError, match="Rattle: order is 3, expected 2 or 4 or 6"):
        zw.methods.Rattle(3)


def swinging(force, mass=lambda q, t, p: jnp.ones(2), **options):
    rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
    model = zw.Model(zw.System(2, mass, force), [rod], name="pendulum")
    options = {
        "step": 0.01,
        "duration": 2.0,
        "samples": 21,
        "integrator": zw.methods.Rattle(),
    } | options
    return zw.simulate(model, [1.0, 0.0], [0.0, 0.0], **options)


WEIGHT = jnp.array([0.0, -9.81])


def test_drag_that_begins_at_a_later_time_is_refused_before_the_run():
    def force(q, v, t, p):
        return WEIGHT - jnp.where(t > 1.0, 0.5, 0.0) * v

    with pytest.raises(
        zw.ModelError, match="but force depends on velocities; take zw.methods.Dopri8"
    ):
        swinging(force)


def test_drag_that_begins_at_a_later_place_ends_the_run_with_a_sentence():
    """Nothing at the start shows that there is oil at the left."""

    def force(q, v, t, p):
        return WEIGHT - jnp.where(q[0] < -0.5, 0.5, 0.0) * v

    with pytest.raises(zw.ModelError, match=r"at t = 0\.\d+ s force depends on velocities, which"):
        swinging(force)


def test_a_mass_that_jumps_later_is_refused():
    """Its derivative is zero on both sides of the jump."""
    mass = lambda q, t, p: jnp.where(t > 1.0, 2.0, 1.0) * jnp.ones(2)
    with pytest.raises(zw.ModelError, match="mass_matrix depends on q or t"):
        swinging(lambda q, v, t, p: WEIGHT, mass)


def test_a_model_without_drag_is_not_refused_on_the_way():
    assert swinging(lambda q, v, t, p: WEIGHT).result == 0
