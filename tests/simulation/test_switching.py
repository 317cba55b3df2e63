"""Constraints that are switched on and off: impacts in closed form, ropes, releases, refusals."""

import functools
import json

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.eager import compilations

G, L, MASS = 9.81, 0.8, 2.0


@functools.cache
def bob() -> zw.Model:
    """A mass that a rope can hold, and a blade that can be set on it, which lets it move along x
    only.
    """
    system = zw.System(
        2,
        lambda q, t, p: p["m"] * jnp.ones(2),
        lambda q, v, t, p: p["m"] * jnp.array([0.0, -G]),
        potential=lambda q, t, p: p["m"] * G * q[1],
        coordinates=("x", "y"),
        units=("m", "m"),
    )
    rope = zw.Holonomic(lambda q, t, p: (q @ q - p["l"] ** 2) / 2, name="rope")
    blade = zw.Nonholonomic(
        lambda q, v, t, p: v[1],
        name="blade",
        nonideal=lambda q, v, t, p, ideal: jnp.array([-3.0 * p["m"] * v[0], 0.0]),
    )
    return zw.Model(system, [rope, blade], {"m": MASS, "l": L}, name="bob")


taut = lambda q, v, t, p: q @ q - p["l"] ** 2
tension = lambda q, v, t, p, multipliers: multipliers[0]
ROPE = zw.Switch("rope", on=taut, off=tension)
BLADE = zw.Switch("blade", on=100.0)


def bob_run(q0, v0, *switches, **options):
    when = {} if "times" in options else {"duration": 1.0, "samples": 51}
    return zw.simulate(bob(), q0, v0, **{**when, "rtol": 1e-11, "switches": switches, **options})


@functools.cache
def dropped():
    """Dropped beside the pivot: the rope becomes taut, and stays so."""
    return bob_run([0.5, 0.0], [0.0, 0.0], ROPE, BLADE)


@pytest.mark.slow
def test_a_rope_takes_the_velocity_along_it_when_it_becomes_taut():
    """Free fall until x² + y² = l²; then the radial velocity is gone: Λ of φ = (r² − l²)/2 is −m vᵣ
    / l.
    """
    fallen = np.sqrt(L**2 - 0.5**2)
    when, speed = np.sqrt(2 * fallen / G), np.sqrt(2 * G * fallen)
    radial = speed * fallen / L
    (first,) = dropped().switches
    assert first.on == ("rope",) and first.off == ()
    assert first.time == pytest.approx(when, abs=1e-10)
    assert first.energy_loss == pytest.approx(0.5 * MASS * radial**2, rel=1e-9)
    assert first.multipliers["rope"][0] == pytest.approx(-MASS * radial / L, rel=1e-9)
    assert np.allclose(first.impulse, -MASS * radial * np.array([0.5, -fallen]) / L, atol=1e-9)
    data = dropped().dataset
    assert float(data.violation.max()) < 1e-15
    assert (
        np.abs(data.energy_balance.values).max() < 1e-9
    )  # what the impact took is part of the balance
    assert np.all(np.linalg.norm(dropped().q, axis=1) <= L + 1e-14)


@pytest.mark.slow
def test_switches_are_in_the_dataset_and_in_the_file(tmp_path):
    import xarray

    data = dropped().dataset
    holds = data.time.values >= dropped().switches[0].time
    assert (
        np.array_equal(data.active.sel(constraint="rope").values, holds)
        and not data.active.sel(constraint="blade").values.any()
    )
    assert np.allclose(
        data.impact_loss.values, np.where(holds, dropped().switches[0].energy_loss, 0.0)
    )
    assert np.array_equal(data["constraint_rank"].values, holds)
    with xarray.open_dataset(dropped().save(tmp_path / "run.nc")) as saved:
        (told,) = json.loads(saved.attrs["switches"])
        assert told["on"] == ["rope"] and told["time"] == dropped().switches[0].time
        assert np.array_equal(saved.active.values, data.active.values)


def test_a_state_between_samples_belongs_to_its_own_topology():
    when = dropped().switches[0].time
    (before, at, after), v = dropped().at([when - 1e-4, when, when + 1e-4])
    assert np.allclose(before, [0.5, -0.5 * G * (when - 1e-4) ** 2], atol=1e-10)
    assert abs(after @ after - L**2) < 1e-14 and abs(at @ v[1]) < 1e-12


def test_a_rope_goes_slack_where_its_tension_ends_and_is_taut_again_later():
    """From the lowest point with v² = 3.5 g l: tension ends where cos θ = ⅔ (1 − v²/2gl) = −½;
    nothing is lost there.
    """
    run = bob_run(
        [0.0, -L],
        [np.sqrt(3.5 * G * L), 0.0],
        zw.Switch("rope", on=taut, off=tension, initially=True),
        BLADE,
        duration=2.0,
    )
    slack, again = run.switches[:2]
    q, _ = run.at(slack.time)
    assert slack.off == ("rope",) and slack.energy_loss == 0.0
    assert np.allclose(q, [L * np.sin(2 * np.pi / 3), -L * np.cos(2 * np.pi / 3)], atol=1e-9)
    assert again.on == ("rope",) and again.energy_loss > 0 and again.time > slack.time + 0.1
    assert np.all(np.linalg.norm(run.q, axis=1) <= L + 1e-12)
    listed = [line.strip() for line in str(run).splitlines() if "t = " in line and "rope" in line]
    assert f"switches           {slack}" in listed and str(again) in listed


def test_after_a_release_the_motion_is_free_flight():
    cut = zw.Switch("rope", off=0.33)
    run = bob_run([L, 0.0], [0.0, -1.0], cut, BLADE)
    q, v = run.at(0.33)
    later = run.t > 0.33
    t = run.t[later, None] - 0.33
    assert np.allclose(
        run.q[later], q + v * t + np.array([0.0, -0.5 * G]) * t**2, rtol=0, atol=1e-10
    )
    assert run.switches[0].time == 0.33 and run.switches[0].energy_loss == 0.0
    again = bob_run(
        [L, 0.0], [0.0, -1.0], zw.Switch("rope", on=taut, off=0.33, initially=True), BLADE
    )
    assert (
        len(again.switches) == 1
    )  # it leaves the rope's reach from inside the band where it was let go


def test_a_nonholonomic_constraint_and_its_nonideal_force_are_switched_together():
    """A blade stops what is across it; its friction brakes only while it is on."""
    run = bob_run(
        [0.0, 0.0],
        [1.5, 0.7],
        zw.Switch("rope", on=50.0),
        zw.Switch("blade", on=0.2, off=0.6),
        times=[0.2, 0.4, 0.6, 0.8],
    )
    on, off = run.switches
    assert (
        on.energy_loss == pytest.approx(0.5 * MASS * (0.7 - 0.2 * G) ** 2) and off.energy_loss == 0
    )
    vx = 1.5 * np.exp(-3.0 * np.array([0.0, 0.2, 0.4, 0.4]))
    assert np.allclose(run.v[:, 0], vx, atol=1e-9)
    assert np.allclose(run.v[:, 1], [0.0, 0.0, 0.0, -0.2 * G], atol=1e-9)


def test_a_hand_that_grasps_on_its_way_adds_its_work():
    system = zw.System(1, lambda q, t, p: MASS * jnp.ones(1), lambda q, v, t, p: jnp.zeros(1))
    hand = zw.Holonomic(lambda q, t, p: q[0] - 3.0 * (t - 0.5) - 0.25, name="hand")
    grasp = zw.Switch("hand", on=0.5)
    run = zw.simulate(zw.Model(system, [hand]), [0.0], [0.5], duration=1.0, switches=[grasp])
    (taken,) = run.switches
    assert taken.work == pytest.approx(MASS * 2.5 * 3.0, rel=1e-12)  # the impulse by the speed
    assert taken.dissipated == pytest.approx(0.5 * MASS * 2.5**2, rel=1e-12)


def test_impact_free_means_that_nothing_jumps():
    """A rod caught at rest at its own length is; one that moves is refused, and what was reached is
    kept.
    """
    smooth = lambda at: zw.Switch("rope", on=at, transition="impact-free")
    run = bob_run([L, 0.0], [0.0, 0.0], smooth(1e-9), BLADE, duration=0.2)
    assert run.switches[0].energy_loss < 1e-12
    with pytest.raises(
        zw.SimulationError,
        match=r"without an impact, but 'rope' has psi = .*; transition='impulsive'",
    ) as caught:
        bob_run([0.5, 0.0], [0.0, 0.0], smooth(taut), BLADE)
    assert caught.value.result is zw.Result.NOT_MET and caught.value.run.t[-1] == pytest.approx(
        dropped().switches[0].time
    )


def test_a_constraint_that_is_not_met_cannot_be_switched_on():
    run = bob_run([0.5, 0.0], [0.0, 0.0], zw.Switch("rope", on=0.1), BLADE, throw=False)
    assert run.result is zw.Result.NOT_MET and "'rope' has phi = 0.194" in run.stopped_by
    assert run.t[-1] == 0.1


def test_a_stop_condition_ends_a_run_with_switches():
    run = bob_run(
        [0.5, 0.0], [0.0, 0.0], ROPE, BLADE, stop=[zw.Stop(lambda q, v, t, p: q[0], name="below")]
    )
    assert run.result is zw.Result.STOPPED and run.stopped_by == "below" and len(run.switches) == 1


def test_instants_that_accumulate_end_the_run_where_a_step_would_pass_them():
    """A ball thrown up again with ẋ = ¼ g (T − t) flies for half of T − t: infinitely many flights
    until T.
    """
    until = 1.0
    ball = zw.System(
        1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -G * jnp.ones(1), coordinates=["x"]
    )
    throw = zw.Nonholonomic(lambda q, v, t, p: v[0] - 0.25 * G * (until - t), name="throw")
    model = zw.Model(ball, [throw], name="ball")
    hand = zw.Switch(
        "throw", on=lambda q, v, t, p: -q[0], off=lambda q, v, t, p, multipliers: jnp.asarray(1.0)
    )
    first = np.sqrt(2 * 0.1 / G)
    with pytest.raises(
        zw.SimulationError, match=r"accumulate at about t = 1 s: end the motion before"
    ) as stopped:
        zw.simulate(model, [0.1], [0.0], duration=2.0, samples=5, switches=[hand])
    run = stopped.value.run
    assert run.result is zw.Result.CHATTERING
    caught = np.array([s.time for s in run.switches if s.on])
    assert len(caught) == 9
    assert np.allclose(caught, until - (until - first) / 2.0 ** np.arange(9), rtol=0, atol=1e-9)
    before = zw.simulate(model, [0.1], [0.0], duration=0.99, samples=5, switches=[hand])
    assert sum(bool(s.on) for s in before.switches) == 7


def test_other_instants_compile_nothing():
    run = lambda at: bob_run([L, 0.0], [0.0, -1.0], zw.Switch("rope", off=at), BLADE)
    run(0.1)
    with compilations() as compiled:
        run(0.2)
    assert not compiled


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: zw.Switch("rope"), "neither on= nor off="),
        (lambda: zw.Switch("rope", on=[0.1, "soon"]), "on is 'soon', expected a time"),
        (lambda: zw.Switch("rope", on=np.nan), "expected a time"),
        (lambda: zw.Switch("rope", on=1.0, transition="soft"), "'impulsive' or 'impact-free'"),
        (
            lambda: bob_run([0.5, 0.0], [0.0, 0.0], zw.Switch("rop", on=1.0)),
            "no constraint 'rop'; did you mean 'rope'",
        ),
        (lambda: bob_run([0.5, 0.0], [0.0, 0.0], ROPE, ROPE), "two switches"),
        (lambda: bob_run([0.5, 0.0], [0.0, 0.0], "rope"), "expected zw.Switch"),
    ],
)
def test_wrong_switches_are_told_in_a_sentence(call, says):
    with pytest.raises(zw.ModelError, match=says):
        call()


def test_a_condition_to_switch_off_that_is_met_at_the_start_counts_there():
    """A brake of 2 N under a pull of 3 N lets go at once: q = −¾ t². One of 4 N holds until the
    pull, where it rises, exceeds that.
    """
    brake = zw.Nonholonomic(lambda q, v, t, p: v[0], name="brake")
    model = zw.Model(
        zw.System(
            1, lambda q, t, p: 2.0 * jnp.ones(1), lambda q, v, t, p: jnp.array([p["rise"] * t - 3])
        ),
        [brake],
        {"holds": 2.0, "rise": 0.0},
    )
    slips = zw.Switch("brake", off=lambda q, v, t, p, lam: jnp.abs(lam[0]) - p["holds"])
    run = lambda **params: zw.simulate(
        model, [0.0], [0.0], duration=2.0, samples=3, switches=[slips], params=params,
    )  # fmt: skip
    free = run(holds=2.0)
    assert [(x.time, x.off) for x in free.switches] == [(0.0, ("brake",))]
    assert np.allclose(free.q[:, 0], -0.75 * free.t**2, atol=1e-12)
    held = run(holds=4.0)
    assert not held.switches and np.all(held.q == 0)
    later = run(holds=4.0, rise=7.0)  # the pull turns round and reaches 4 N at 1 s
    assert np.isclose(later.switches[0].time, 1.0, atol=1e-10)


@pytest.mark.parametrize("part", [1e-2, 1e-5, 1e-7])
def test_a_condition_that_rises_and_falls_within_a_step_is_met(part):
    """At the turning points of an oscillation that has no other events and samples."""
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([-q[0], 1.0]))
    hold = zw.Nonholonomic(lambda q, v, t, p: v[1], name="hold")
    switch = zw.Switch(
        "hold",
        on=lambda q, v, t, p: q[0] - (1 - p),
        off=lambda q, v, t, p, multipliers: -q[0] - (1 - p),
        initially=False,
    )
    model = zw.Model(system, [hold], params=1e-2)
    run = zw.simulate(
        model, [-1.0, 0.0], [0.0, 0.0], duration=20, samples=2, params=part, switches=[switch]
    )
    expected = np.pi * np.arange(1, 7) - np.arccos(1 - part)
    # a peak of this part is as wide as the root of twice it, and known to rtol
    np.testing.assert_allclose([x.time for x in run.switches], expected, atol=2e-10 / part**0.5)
