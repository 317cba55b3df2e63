"""Runs: accuracy, invariants, compilations, and their ends."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.eager import compilations
from tests.models import free_particle, pendulum

START = ([1.0, 0.0], [0.0, 0.0])


@pytest.fixture(scope="module")
def swing():
    return zw.simulate(pendulum(), *START, duration=5.0, rtol=1e-10)


def test_pendulum_meets_its_angle_equation(swing):
    """Against θ'' = −g sin θ integrated at 1e-13 by SciPy; the run's own tolerance is 1e-10 per
    step.
    """
    from scipy.integrate import solve_ivp

    exact = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.sin(y[0])],
        (0, 5),
        [np.pi / 2, 0.0],
        "DOP853",
        rtol=1e-13,
        atol=1e-13,
        t_eval=swing.t,
    ).y[0]
    assert np.abs(swing.q - np.stack([np.sin(exact), -np.cos(exact)], 1)).max() < 1e-8


def test_every_sample_is_on_its_constraints(swing):
    assert float(swing.dataset.violation.max()) < 1e-15 * 10
    assert float(swing.dataset.velocity_violation.max()) < 1e-14


def test_energy_is_kept_and_balanced(swing):
    energy = swing.dataset.energy.values
    assert np.abs(energy - energy[0]).max() < 1e-8  # rtol of the run times its 100 steps
    assert np.abs(swing.dataset.energy_balance.values).max() < 1e-8


def test_dataset_has_names_units_and_every_variable(swing):
    data = swing.dataset
    assert list(data.coordinate.values) == ["x", "y"] and list(data.constraint.values) == ["rod"]
    assert data.time.attrs["units"] == "s" and list(data.coordinate_unit.values) == ["m", "m"]
    for name in (
        "q",
        "v",
        "acceleration",
        "constraint_force",
        "violation",
        "energy",
        "constraint_rank",
        "multipliers",
    ):
        assert name in data and "long_name" in data[name].attrs
    assert set(np.unique(data["constraint_rank"].values)) == {1}
    assert data.attrs["result"] == "SUCCESS"


def test_saved_file_opens_with_the_same_content(tmp_path):
    xarray = pytest.importorskip("xarray")
    run = zw.simulate(pendulum(), *START, duration=0.1)
    with xarray.open_dataset(run.save(tmp_path / "run.nc")) as data:
        assert "dataset" not in vars(run), "written without xarray"
        xarray.testing.assert_identical(data.load(), run.dataset)
        assert np.array_equal(data.q.values, run.q) and data.attrs["model"] == "pendulum"
    run.dataset.attrs["note"] = "a warm day"
    with xarray.open_dataset(run.save(tmp_path / "noted.nc")) as data:
        assert data.attrs["note"] == "a warm day", "what its owner added is not lost"


def test_states_between_samples_are_on_the_constraints_and_accurate(swing):
    """The degree-7 polynomial through four steps is as good as the run, 1e-8."""
    t = 0.5 * (swing.t[100] + swing.t[101])
    q, v = swing.at(t)
    exact = zw.simulate(pendulum(), *START, times=[t], rtol=1e-12)
    assert abs(q @ q - 1) < 1e-14 and abs(q @ v) < 1e-14
    assert np.allclose(q, exact.q[0], atol=1e-8)


def test_many_states_are_asked_for_at_once(swing):
    times = [swing.t[100], 0.5 * (swing.t[100] + swing.t[101]), 0.0, swing.t[-1]]
    q, v = swing.at(times)
    assert q.shape == (4, 2) and v.shape == (4, 2)
    assert np.array_equal(q[[0, 2, 3]], swing.q[[100, 0, -1]]), "a step is given as it is"
    assert np.array_equal(q[1], swing.at(times[1])[0])
    with pytest.raises(
        zw.ModelError, match=r"t = 99 s is outside the run; expected .* within 0 … "
    ):
        swing.at([0.1, 99.0])
    with pytest.raises(zw.ModelError, match="t is 'x', expected times"):
        swing.at("x")


def test_another_start_tolerance_parameter_or_set_of_samples_compiles_nothing(swing):
    _ = swing.dataset, swing.crossings, swing.at(0.0123)
    with compilations() as compiled:
        run = zw.simulate(
            pendulum(),
            [0.0, -2.0],
            [1.0, 0.0],
            times=np.linspace(0.0, 2.0, 333),
            rtol=1e-7,
            atol=1e-9,
            params={"length": 2.0, "m": 3.0},
        )
        _ = run.dataset, run.crossings, run.at(0.0456)
    assert not compiled


@pytest.mark.parametrize(
    ("integrator", "coarse", "halvings"),
    [(zw.methods.Dopri8(), 0.2, 2), (zw.methods.Tsit5(), 0.1, 3), (zw.methods.Kvaerno5(), 0.05, 3)],
    ids=str,
)
def test_integrators_converge_at_their_order(integrator, coarse, halvings):
    """Halving a fixed step divides the error by 2^order; over steps whose error is far from
    round-off, within half an order.
    """
    exact = zw.simulate(pendulum(), *START, times=[1.0], rtol=1e-13).q[-1]
    error = [
        np.abs(
            zw.simulate(
                pendulum(), *START, times=[1.0], step=h, integrator=integrator, rtol=1e-11
            ).q[-1]
            - exact
        ).max()
        for h in (coarse, coarse / 2**halvings)
    ]
    assert np.log2(error[0] / error[1]) / halvings > integrator.order - 0.5


@pytest.mark.parametrize(
    "integrator", [zw.methods.Dopri8(), zw.methods.Tsit5()], ids=lambda i: type(i).__name__
)
def test_tableaus_equal_those_of_an_independent_library(integrator):
    diffrax = pytest.importorskip("diffrax")
    theirs = getattr(diffrax, type(integrator).__name__).tableau
    ours = integrator.tableau
    for i, row in enumerate(theirs.a_lower[: ours.stages - 1]):
        assert np.allclose(ours.a[i + 1], row, rtol=1e-14, atol=1e-16)
    assert np.allclose(ours.b, theirs.b_sol[: ours.stages], rtol=1e-14, atol=1e-16)
    assert np.allclose(ours.b_error, theirs.b_error[: ours.stages], rtol=1e-10, atol=1e-16)


@pytest.mark.slow
def test_stiff_spring_needs_few_implicit_steps():
    """A pendulum bob on a rod with a damper of rate 1e5/s: explicit steps are bound by it, implicit
    ones are not.
    """
    system = zw.System(
        3,
        lambda q, t, p: jnp.ones(3),
        lambda q, v, t, p: jnp.array([0.0, -9.81, -1e5 * (v[2] - v[0]) - 1e5 * (q[2] - q[0])]),
    )
    model = zw.Model(system, [zw.Holonomic(lambda q, t, p: q[:2] @ q[:2] - 1.0, name="rod")])
    implicit = zw.simulate(
        model,
        [1.0, 0.0, 1.0],
        [0.0, 0.0, 0.0],
        times=[1.0],
        rtol=1e-6,
        integrator=zw.methods.Kvaerno5(),
    )
    reference = zw.simulate(model, [1.0, 0.0, 1.0], [0.0, 0.0, 0.0], times=[1.0], rtol=1e-9)
    assert np.allclose(implicit.q[-1], reference.q[-1], atol=1e-4)
    assert implicit.attrs["steps_accepted"] * 20 < reference.attrs["steps_accepted"]


def test_stop_condition_ends_the_run_where_it_crosses_zero():
    """Free fall from 1 m reaches 0.5 m at t = sqrt(1/9.81)."""
    model = zw.Model(free_particle(1, F=[-9.81]))
    floor = zw.Stop(lambda q, v, t, p: q[0] - 0.5, name="half way")
    run = zw.simulate(model, [1.0], [0.0], duration=10.0, stop=[floor])
    assert run.result is zw.Result.STOPPED and run.stopped_by == "half way"
    assert abs(run.t[-1] - np.sqrt(1 / 9.81)) < 1e-10 and abs(run.q[-1, 0] - 0.5) < 1e-9


def test_a_stop_condition_that_is_zero_itself_where_a_step_ends_is_met():
    model = zw.Model(free_particle(1, F=[-9.81]))
    half = zw.Stop(lambda q, v, t, p: t - 0.5, name="half")
    times = [0.0, 0.5, 1.0]  # steps end on samples, so that one ends on t − 0.5 = 0
    run = zw.simulate(model, [1.0], [0.0], times=times, stop=[half])
    assert run.stopped_by == "half" and run.t[-1] == 0.5


def test_a_run_that_blows_up_keeps_what_it_reached():
    """v̇ = v² from 1 ends at t = 1."""
    system = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: v**2)
    with pytest.raises(zw.SimulationError) as caught:
        zw.simulate(zw.Model(system, name="explosion"), [0.0], [1.0], duration=2.0)
    run = caught.value.run
    assert run.result in (zw.Result.NON_FINITE, zw.Result.STEP_TOO_SMALL)
    assert (
        0.99 < run.t[-1] < 1.0 + 1e-8
        and np.all(np.isfinite(run.q))
        and "explosion" in str(caught.value)
    )
    assert len(run.dataset.time) == len(run.t)


def test_step_limit_is_reported():
    run = zw.simulate(pendulum(), *START, duration=5.0, max_steps=20, throw=False)
    assert run.result is zw.Result.TOO_MANY_STEPS and run.t[-1] < 5.0


def test_a_duration_too_long_to_resolve_a_step_is_named():
    """Steps of a second or less are what a swing needs, and 1e-13 of the duration is the least."""
    run = zw.simulate(pendulum(), *START, duration=1e99, throw=False)
    assert run.result is zw.Result.STEP_TOO_SMALL
    assert "no step below 1e+86 s in a run of 1e+99 s: give a shorter duration" in run.ending


def test_interruption_keeps_what_was_reached():
    def interrupt(fraction):
        raise KeyboardInterrupt

    run = zw.simulate(pendulum(), *START, duration=50.0, progress=interrupt, throw=False)
    assert run.result is zw.Result.INTERRUPTED and 0 < run.t[-1] < 50.0


def test_rheonomic_constraint_does_the_work_that_the_energy_gains():
    """A bead on a wire turning at ω: r = cosh(ω t), and the wire's power is what the energy
    gains.
    """
    system = zw.System(
        2,
        lambda q, t, p: jnp.ones(2),
        lambda q, v, t, p: jnp.zeros(2),
        potential=lambda q, t, p: 0.0 * q[0],
    )
    wire = zw.Holonomic(lambda q, t, p: q[1] * jnp.cos(t) - q[0] * jnp.sin(t), name="wire")
    run = zw.simulate(zw.Model(system, [wire]), [1.0, 0.0], [0.0, 1.0], duration=2.0, rtol=1e-10)
    assert np.allclose(np.hypot(*run.q.T), np.cosh(run.t), rtol=1e-9)
    balance = run.dataset.energy_balance
    assert (
        np.abs(balance.values).max() < 1e-6
    )  # spline over 201 samples, which say themselves how well they resolve the work
    assert np.abs(balance.values).max() <= balance.attrs["work_uncertainty"] < 1e-4
    assert float(run.dataset.energy[-1] - run.dataset.energy[0]) > 10


def test_a_linear_constraint_that_moves_is_kept():
    """It has no curvature, which violations are measured with; the integrator alone was off by 4 mm
    here.
    """
    system = free_particle(2)
    moving = zw.Model(system, [zw.Holonomic(lambda q, t, p: q[0] - jnp.sin(9 * t), name="moving")])
    run = zw.simulate(moving, [0.0, 0.0], [9.0, 0.0], times=[3.0], rtol=1e-3)
    assert abs(run.q[-1, 0] - np.sin(27.0)) < 1e-14


def test_without_stabilization_the_violation_grows_linearly():
    """φ̈ = 0 exactly, so φ(t) = φ₀ + t φ̇₀ (scara paper): start 1e-3 off with a rate of 1e-4."""
    line = zw.Holonomic(lambda q, t, p: q[0] ** 2 + q[1] - 1.0, name="curve")
    model = zw.Model(free_particle(2, F=[0.3, -1.0]), [line])
    q0, v0 = [0.0, 1.001], [0.5, 1e-4]
    run = zw.simulate(
        model,
        q0,
        v0,
        duration=2.0,
        rtol=1e-12,
        drift=zw.methods.NoStabilization(),
        start_tolerance=np.inf,
    )
    assert np.allclose(run.q[:, 0] ** 2 + run.q[:, 1] - 1, 1e-3 + 1e-4 * run.t, atol=1e-10)


def test_both_baumgarte_conventions_pull_the_violation_back_as_their_gains_say():
    """φ'' + 2α φ' + β² φ = 0 with α = β = 3: φ = φ₀ (1 + 3t) e^{−3t}; (52) with α = 6, β = 9 is the
    same.
    """
    line = zw.Holonomic(lambda q, t, p: q[0] ** 2 + q[1] - 1.0, name="curve")
    model = zw.Model(free_particle(2, F=[0.3, -1.0]), [line])
    for drift in (
        zw.methods.Baumgarte(3.0, 3.0),
        zw.methods.Stabilized(zw.methods.BaumgarteGains(6.0, 9.0)),
    ):
        run = zw.simulate(
            model,
            [0.0, 1.001],
            [0.5, 0.0],
            duration=2.0,
            rtol=1e-12,
            drift=drift,
            start_tolerance=np.inf,
        )
        expected = 1e-3 * (1 + 3 * run.t) * np.exp(-3 * run.t)
        assert np.allclose(run.q[:, 0] ** 2 + run.q[:, 1] - 1, expected, atol=1e-10)


def test_constraint_nonlinear_in_velocity_is_kept_at_every_sample():
    """Constant speed under gravity: ψ = v·v − 1."""
    speed = zw.Nonholonomic(lambda q, v, t, p: v @ v - 1.0, name="speed")
    run = zw.simulate(
        zw.Model(free_particle(2, F=[0.0, -9.81]), [speed]),
        [0.0, 0.0],
        [1.0, 0.0],
        duration=2.0,
        rtol=1e-6,
    )
    assert float(run.dataset.velocity_violation.max()) < 1e-14


def test_mixed_constraints_are_kept_at_both_levels():
    """A particle on a sphere that climbs in proportion to its turning about the vertical, a tenth
    as fast.
    """
    sphere = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="sphere")
    climb = zw.Nonholonomic(
        lambda q, v, t, p: v[2] - 0.1 * (q[0] * v[1] - q[1] * v[0]), name="climb"
    )
    model = zw.Model(free_particle(3, F=[0.0, 0.0, -9.81]), [sphere, climb])
    start = zw.consistent_state(model, [0.8, 0.0, 0.6], [0.0, 1.0, 0.0]).state
    run = zw.simulate(model, start.q, start.v, duration=1.0, rtol=1e-8)
    assert (
        float(run.dataset.violation.max()) < 1e-14
        and float(run.dataset.velocity_violation.max()) < 1e-13
    )
    assert (
        np.abs(run.dataset.energy_balance.values).max() < 1e-6
    )  # no potential given: the balance counts gravity's work


def test_redundant_constraints_run_like_independent_ones():
    rod = pendulum().constraints.members[0]
    copies = [zw.Holonomic(rod.phi, name=f"rod {i}") for i in range(3)]
    # with many samples round-off decides whether one step or two lie between
    few = {"duration": 5.0, "samples": 6, "rtol": 1e-10}
    run = zw.simulate(zw.Model(pendulum().system, copies, pendulum().params), *START, **few)
    swing = zw.simulate(pendulum(), *START, **few)
    assert np.allclose(run.q, swing.q, atol=1e-9) and abs(
        len(run.steps.t) - len(swing.steps.t)
    ) <= 0.1 * len(swing.steps.t)
    assert set(np.unique(run.dataset["constraint_rank"].values)) == {1}


DRIVES = {
    "a jump": (lambda q, t, p: q[0] - jnp.where(t > 1.0, 5.0, 0.0), 0.0, 1.0),
    "a small jump in fast motion": (
        lambda q, t, p: q[0] - jnp.sin(3 * t) - jnp.where(t > 1.0, 0.01, 0.0),
        3.0,
        1.0,
    ),
    "a pole": (lambda q, t, p: q[0] - 1 / (t - 1.0001) - 1 / 1.0001, -1 / 1.0001**2, 1.0001),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", DRIVES)
def test_a_drive_that_jumps_ends_the_run_there(name):
    """No shorter step makes a jump smaller; a projection would carry the body across it."""
    phi, speed, instant = DRIVES[name]
    free = zw.System(
        nq=2, mass_matrix=lambda q, t, p: jnp.ones(2), force=lambda q, v, t, p: jnp.zeros(2)
    )
    model = zw.Model(free, [zw.Holonomic(phi, name="drive")])
    start, options = (np.zeros(2), np.array([speed, 0.0])), {"rtol": 1e-8}
    with pytest.raises(zw.SimulationError, match="drive") as stopped:
        zw.simulate(model, *start, duration=2.0, **options)
    assert abs(stopped.value.run.steps.t[-1] - instant) < 1e-6
    found = zw.trajectory(model, *start, np.linspace(0.0, 2.0, 9), **options)
    assert int(found.result) == zw.Result.NOT_CONVERGED and abs(float(found.end.t) - instant) < 1e-6


@pytest.mark.parametrize(
    ("mass", "where"),
    [
        (lambda q, t, p: jnp.stack([0.5 - t, 1.0 + 0 * t]), lambda run: run.steps.t[-1] / 0.5),
        (lambda q, t, p: jnp.diag(jnp.array([1.0 - q[0], 1.0])), lambda run: run.steps.y[-1, 0]),
    ],
    ids=["over time", "over q, dense"],
)
def test_a_mass_that_vanishes_on_the_way_ends_the_run_as_such(mass, where):
    model = zw.Model(zw.System(2, mass, lambda q, v, t, p: jnp.array([1.0, 0.0])))
    run = zw.simulate(model, [0.0, 0.0], [0.5, 0.0], duration=2.0, throw=False)
    assert run.result.name == "SINGULAR_MASS" and "mass matrix" in run.result.sentence
    assert where(run) == pytest.approx(1.0, abs=1e-3)


def test_a_variable_is_found_by_its_one_name_or_the_sentence_says_where(swing):
    assert len(swing.plot("energy").axes) == 1
    with pytest.raises(zw.ModelError, match="'energi'; did you mean 'energy'"):
        swing.plot("energi")
    with pytest.raises(AttributeError, match=r"it is run\.dataset\['energy'\]"):
        swing.energy  # noqa: B018


def test_energy_without_a_potential_is_called_kinetic():
    system = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: jnp.ones(1))
    run = zw.simulate(zw.Model(system), [0.0], [0.0], duration=1.0)
    assert "motion alone" in run.dataset.energy.attrs["long_name"]
    assert run.plot("energy").axes[0].get_ylabel() == "kinetic energy [J]"
