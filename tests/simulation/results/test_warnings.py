"""`run.warnings` contains everything that a user must know about a run, and nothing else."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo.models import closed, distance_servo, two_masses
from zwang import gallery
from zwang.simulation.results.energy import energy_of


def late(**options):
    """Two masses whose actuator cannot hold their distance at first."""
    servo = distance_servo(gains=5.0, limits=zw.servo.Limits(-12.0, 12.0))
    return zw.simulate(closed(two_masses(), servo), [0, 2.3], [0, 0], duration=2.0, **options)


@pytest.fixture(scope="module")
def limited():
    return late(samples=41)


def test_a_servo_that_could_not_be_met_is_warned_of_in_python_as_on_the_command_line(limited):
    unmet, saturated = limited.warnings
    bad = int(np.sum(limited.variables["control_result"].values != 0))
    assert 0 < bad < 41
    assert f"'distance' could not be met at {bad} of 41 samples" in unmet
    at = int(np.sum(np.abs(limited.variables["control"].values) >= 12.0 - 1e-9))
    assert saturated.startswith(f"actuator at its limits: 'F' at {at} of 41 samples")


def test_a_run_is_printed_with_its_result_and_its_warnings(limited):
    shown = str(limited)
    for part in ("two masses: reached the end", "2 s of 2 s, 41 samples", "accepted, "):
        assert part in shown
    assert all(sentence in shown for sentence in limited.warnings)
    assert repr(limited).count("\n") == 0 and "two masses" in repr(limited)


def test_a_run_whose_samples_determine_the_steps_says_so():
    """A smaller tolerance then changes nothing."""
    said = "samples, not rtol, determine their length"
    example = zw.gallery.load("pendulum")
    assert said in str(example.run(duration=1.0, samples=101, rtol=1e-4))
    assert said not in str(example.run(duration=1.0, samples=2, rtol=1e-10))
    assert said not in str(example.run(duration=1.0, samples=101, step=1e-2))


def test_warnings_are_stored_with_the_dataset(limited, tmp_path):
    import xarray as xr

    with xr.open_dataset(limited.save(tmp_path / "run.nc")) as stored:
        assert json.loads(stored.attrs["warnings"]) == list(limited.warnings)
    assert json.loads(limited.dataset.attrs["warnings"]) == list(limited.warnings)


def test_a_run_without_trouble_has_no_warnings_and_says_so():
    servo = distance_servo(gains=5.0)
    run = zw.simulate(closed(two_masses(), servo), [0, 2.3], [0, 0], duration=1.0, samples=11)
    assert run.warnings == ()
    assert str(run).splitlines()[-1].split() == ["warnings", "none"]


def pendulum_from(q0):
    rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
    system = zw.System(
        2, lambda q, t, p: np.ones(2), lambda q, v, t, p: np.array([0.0, -9.81]), units=("m", "m")
    )
    model = zw.Model(system, [rod], name="pendulum")
    return zw.simulate(model, q0, [0.0, 0.0], duration=0.1, samples=3)


def test_a_start_that_was_moved_visibly_is_warned_of():
    (moved,) = pendulum_from([0.6, -0.8000003]).warnings
    assert moved.startswith("the start was moved onto the constraints (q by up to ")
    assert "more than rtol = 1e-08" in moved
    assert pendulum_from([0.6, -0.8]).warnings == ()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_the_energy_of_a_system_at_rest_changes_by_round_off_without_a_warning(unit):
    """Weights hang on rods from their own pins: neither they nor their energy, which is measured
    from where they hang, tell what the round-off of the rods is beside.
    """
    gravity, length = 9.81 * unit, 0.7 * unit
    rods = lambda q, t, p: jnp.stack(
        [q[0] ** 2 + (q[1] - length) ** 2, (q[0] - q[2]) ** 2 + (q[1] - q[3]) ** 2]
    )
    weight = jnp.array([0.0, -2.0 * gravity, 0.0, -3.0 * gravity])
    system = zw.System(
        nq=4,
        mass_matrix=lambda q, t, p: jnp.array([2.0, 2.0, 3.0, 3.0]),
        force=lambda q, v, t, p: weight,
        potential=lambda q, t, p: -weight @ (q + jnp.array([0.0, 0.0, 0.0, length])),
    )
    rod = zw.Holonomic(lambda q, t, p: rods(q, t, p) - length**2, name="rod")
    hanging = [1e-17 * unit, 0.0, 0.0, -length]
    run = zw.simulate(zw.Model(system, [rod]), hanging, np.zeros(4), duration=3.0, samples=31)
    energy = energy_of(run, run.variables)
    assert energy.conserved and energy.drift <= energy.unresolved and run.warnings == ()
    # ‖Q_c‖ of both weights times the length along which the rods turn is of this size
    assert 1e-13 < energy.unresolved / (5.0 * gravity * length) < 1e-11


def test_a_table_that_rests_on_its_legs_has_no_warning():
    assert gallery.load("table-on-four-legs").run().warnings == ()


def test_a_lost_energy_is_warned_of_however_small_the_oscillation():
    """Steps of 0.5 s lose some per cent of what a pendulum of 1e-3 rad has."""
    system = zw.System(
        nq=2,
        mass_matrix=lambda q, t, p: jnp.ones(2),
        force=lambda q, v, t, p: jnp.array([0.0, -9.81]),
        potential=lambda q, t, p: 9.81 * q[1],
    )
    rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
    start = [np.sin(1e-3), -np.cos(1e-3)]
    coarse = {"step": 0.5, "samples": 5, "integrator": zw.methods.Tsit5()}
    run = zw.simulate(zw.Model(system, [rod]), start, [0.0, 0.0], duration=2.0, **coarse)
    assert run.warnings[0].startswith("the energy should stay as it is but changes by ")


@pytest.mark.slow
def test_rows_that_nearly_repeat_each_other_are_warned_of_with_the_accuracy_that_is_left():
    circle = lambda q: q[0] ** 2 + q[1] ** 2 - 1.0
    rod = zw.Holonomic(lambda q, t, p: circle(q), name="rod")
    twin = zw.Holonomic(lambda q, t, p: circle(q) + 1e-7 * (q[2] - 0.3 * q[0]), name="twin")
    system = zw.System(3, lambda q, t, p: np.ones(3), lambda q, v, t, p: jnp.array([0, -9.81, 0.0]))
    model = zw.Model(system, [rod, twin], name="twins")
    run = zw.simulate(model, [0.6, -0.8, 0.18], [0, 0, 0], duration=1.0, samples=6)
    changed, inaccurate = run.warnings
    assert changed == f"{run.attrs['method_changes'][0]}."
    assert "nearly parallel at the start" in changed
    accuracy = run.variables["accuracy"]
    assert accuracy.attrs["units"] == "1" and "relative error" in accuracy.attrs["long_name"]
    assert np.max(accuracy.values) > 1e-8
    known = "accelerations are known to be accurate to "
    assert inaccurate.startswith(known)
    said = float(inaccurate.removeprefix(known).split(" only (")[0])
    assert _error_of_twins(run) <= said <= 1.05 * np.max(accuracy.values)
    assert "rtol asks for 1e-08; the constraints are ill-conditioned" in inaccurate
    moved = float(inaccurate.split("an entry of q by up to ")[1].split(",")[0])
    a = np.abs(run.observation.motion.acceleration).max()
    assert 0 < moved <= 0.6 * np.max(accuracy.values) * a * run.t[-1] ** 2 + 1e-12


def _error_of_twins(run) -> float:
    """Relative error of the accelerations along (cos θ, sin θ, 0.3 cos θ), whose equation is
    `(1 + 0.09 sin² θ) θ¨ + 0.09 sin θ cos θ θ̇² = −9.81 cos θ`.
    """
    c, s = run.q[:, 0], run.q[:, 1]
    rate = c * run.v[:, 1] - s * run.v[:, 0]
    turning = -(9.81 * c + 0.09 * s * c * rate**2) / (1 + 0.09 * s**2)
    along, across = np.stack([-s, c, -0.3 * s], 1), np.stack([-c, -s, -0.3 * c], 1)
    right = along * turning[:, None] + across * rate[:, None] ** 2
    off = np.linalg.norm(run.observation.motion.acceleration - right, axis=1)
    return float(np.max(off / np.linalg.norm(right, axis=1)))


@pytest.mark.slow
def test_the_round_off_of_a_vanishing_acceleration_is_not_warned_of():
    edge = zw.Nonholonomic(lambda q, v, t, p: v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2]))
    system = zw.System(3, lambda q, t, p: np.ones(3), lambda q, v, t, p: np.zeros(3))
    along = [np.cos(0.3), np.sin(0.3), 0.0]
    model = zw.Model(system, [edge], name="sleigh")
    run = zw.simulate(model, [0, 0, 0.3], along, duration=1.0, samples=6)
    assert run.warnings == () and np.all(np.abs(run.observation.motion.acceleration) < 1e-12)
    hanging = pendulum_from([0.0, -1.0])
    assert hanging.warnings == () and np.max(hanging.variables["accuracy"].values) < 1e-14


@pytest.mark.slow
def test_a_warning_at_the_accuracy_that_was_asked_for_is_noise():
    """`n-four-bar` passes its singular configurations with accelerations good to 1e-10, which is
    its rtol, and its crank to 1e-11.
    """
    example = zw.gallery.load("n-four-bar")
    run = example.run(rtol=1e-10)
    assert 1e-11 < np.max(run.variables["accuracy"].values) < 1e-9
    assert run.warnings == ()


def test_the_first_example_and_a_default_run_end_without_a_word_on_their_accuracy():
    """At the accuracy that they ask for: the pendulum of the README, and two four-bars in a row
    that pass through their singular configurations.
    """
    system = zw.System(
        2, lambda q, t, p: p["m"] * jnp.ones(2), lambda q, v, t, p: jnp.array([0, -9.81 * p["m"]])
    )
    rod = zw.Holonomic(lambda q, t, p: q @ q - p["length"] ** 2, name="rod")
    model = zw.Model(system, [rod], {"m": 1.0, "length": 1.0})
    assert not zw.simulate(model, [1.0, 0.0], [0.0, 0.0], duration=10.0, rtol=1e-10).warnings
    for rtol, settings in ((1e-9, {}), (1e-12, {"N": 3})):
        assert not gallery.load("n-four-bar", **settings).run(rtol=rtol).warnings
