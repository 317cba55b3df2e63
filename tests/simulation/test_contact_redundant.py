"""Stops and sticking hinges on loops with redundant rows, through singular configurations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import zwang as zw

STATIC = 1.2
"""Coefficient of a brake at rest, beside 1 while it slides."""


def with_stop_and_brake(system, constraints, params, turn, rate, *, e, torque, repeat):
    """A model whose `turn` (of q) stops between two angles and is braked at its `rate`; stop and
    brake are there `repeat` times.
    """
    sides = lambda q, t, p: jnp.stack([turn(q) - p["lower"], p["upper"] - turn(q)])
    loose = []
    for i in range(repeat):
        stop = f"stop {i}"
        parts = [f"{stop}, lower", f"{stop}, upper"]
        loose.append(zw.Inequality(sides, name=stop, restitution=e, parts=parts))
        if torque:
            load = torque / repeat
            brake = zw.DryFriction(rate, load=load, static=STATIC, kinetic=1.0, name=f"brake {i}")
            loose.append(brake)
    return zw.Model(system, [*constraints, *loose], params)


def parallelogram(repeat):
    """Two cranks and a coupler with all rows `repeat` times; all bars are in line at angle 0."""
    loop = zw.gallery.load("n-four-bar", N=1, repeat=repeat, speed=4.0)
    model = with_stop_and_brake(
        loop.model.system,
        loop.model.constraints.members,
        {**loop.model.params, "lower": -0.5, "upper": 2.0},
        lambda q: q[2],
        lambda q, v, t, p: v[2],
        e=0.6,
        torque=16.0,
        repeat=repeat,
    )
    return zw.simulate(model, loop.q0, loop.v0, duration=1.0, rtol=1e-12, samples=21)


def test_a_parallelogram_hits_its_stop_behind_its_singular_configuration_and_sticks():
    """Beside one equation, (2/3 + 1) θ̈ = −2 g cos θ ∓ 16; each row twice moves it alike."""
    run, repeated = (parallelogram(repeat) for repeat in (1, 2))
    np.testing.assert_allclose(repeated.q, run.q, atol=1e-12)
    np.testing.assert_allclose(repeated.v, run.v, atol=1e-12 * np.max(np.abs(run.v)))

    def until(event, begin, turn, rate):
        way = np.sign(rate)
        fall = lambda t, y: [y[1], -(2 * 9.81 * np.cos(y[0]) + 16.0 * way) / (2 / 3 + 1)]
        event.terminal = True
        asked = {"events": [event], "rtol": 1e-13, "atol": 1e-13, "method": "DOP853"}
        found = solve_ivp(fall, (begin, begin + 1.0), [turn, rate], **asked)
        return found.t[-1], *found.y[:, -1]

    hits, turn, rate = until(lambda t, y: y[0] + 0.5, 0.0, np.pi / 2, -4.0)
    sticks, turn, _ = until(lambda t, y: y[1], hits, turn, -0.6 * rate)
    assert 2 * 9.81 * np.cos(turn) < STATIC * 16.0
    times = [x.time for x in run.switches[-2:]]
    np.testing.assert_allclose(times, [hits, sticks], atol=1e-10)
    assert run.q[-1][2] == pytest.approx(turn, abs=1e-10)


def test_a_stop_in_a_singular_configuration_is_named():
    """All bars are in line at the stop: an impact there may leave on either branch."""
    loop = zw.gallery.load("n-four-bar", N=1, speed=4.0)
    stop = zw.Inequality(lambda q, t, p: q[2], name="stop")
    model = zw.Model(loop.model.system, [*loop.model.constraints.members, stop], loop.model.params)
    with pytest.raises(zw.SimulationError, match="a gap closes.*lose their rank") as caught:
        zw.simulate(model, loop.q0, loop.v0, duration=1.0, rtol=1e-10, samples=2)
    assert caught.value.result is zw.Result.SINGULAR_STOP


CIRCLE = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2))
ON_CIRCLE = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="circle")


@pytest.mark.parametrize("speed", [1.0, 0.0])
def test_a_stop_at_a_dead_point_gives_no_force(speed):
    """A point of a circle has no motion along x where x is largest, and none could stop it: it goes
    on, or stays.
    """
    stop = zw.Inequality(lambda q, t, p: 1.0 - q[0], name="stop", restitution=0.5)
    model = zw.Model(CIRCLE, [ON_CIRCLE, stop])
    run = zw.simulate(model, [1.0, 0.0], [0.0, speed], duration=1.0, rtol=1e-11)
    turned = speed * run.t
    np.testing.assert_allclose(run.q, np.stack([np.cos(turned), np.sin(turned)], 1), atol=1e-10)
    assert run.switches == [] and run.warnings == ()


@pytest.mark.parametrize("before", [1e-6, 1e-9, 1e-12])
def test_a_stop_just_before_a_dead_point_is_hit(before):
    """The slider of a crank of 1 and a rod of 2 comes to its stop where the gap hardly changes: no
    step may pass over it. Beside the quadrature of the energy, T = ½ ω² (1 + x'²).
    """
    slider = zw.System(3, lambda q, t, p: jnp.ones(3), lambda q, v, t, p: jnp.zeros(3))
    rows = [
        zw.Holonomic(lambda q, t, p: q[:2] @ q[:2] - 1.0, name="crank"),
        zw.Holonomic(lambda q, t, p: (q[0] - q[2]) ** 2 + q[1] ** 2 - 4.0, name="rod"),
    ]
    stop = zw.Inequality(lambda q, t, p: 3.0 - p["d"] - q[2], name="stop", restitution=0.5)
    place = lambda a: np.cos(a) + np.sqrt(4 - np.sin(a) ** 2)
    slope = lambda a: -np.sin(a) * (1 + np.cos(a) / np.sqrt(4 - np.sin(a) ** 2))
    run = zw.simulate(
        zw.Model(slider, [*rows, stop], {"d": before}),
        [np.cos(0.5), np.sin(0.5), place(0.5)],
        [np.sin(0.5), -np.cos(0.5), -slope(0.5)],
        duration=1.0,
        rtol=1e-10,
        samples=11,
    )
    pace = lambda a: np.sqrt((1 + slope(a) ** 2) / (1 + slope(0.5) ** 2))
    far = 3 - before
    sine = np.sqrt(before * (2 - before) * (4 - before) * (6 - before))
    angle = np.arctan2(sine, far**2 - 3)
    hits = quad(pace, angle, 0.5, epsabs=1e-13)[0]
    # a gap counts as closed within the round-off of its coordinates
    allowed = 1e-9 + 4e-14 / abs(slope(angle))
    (hit,) = run.switches
    assert hit.hit == ("stop",) and hit.time == pytest.approx(hits, abs=allowed)
    end = np.arctan2(run.q[-1, 1], run.q[-1, 0])
    # the rebound has half the speed
    assert hits + 2 * quad(pace, angle, end)[0] == pytest.approx(1.0, abs=5 * allowed)


def test_a_gap_that_a_drive_closes_is_named():
    floor = zw.Inequality(lambda q, t, p: q[0], name="floor")
    drive = zw.Holonomic(lambda q, t, p: q[0] - p["rise"] * t**2, name="drive")
    model = zw.Model(CIRCLE, [drive, floor], {"rise": -1.0})
    with pytest.raises(
        zw.SimulationError, match="drive gap 'floor' closed, and no force can open it"
    ) as caught:
        zw.simulate(model, [0.0, 0.0], [0.0, 0.0], duration=1.0)
    assert caught.value.result is zw.Result.INCONSISTENT
    lifted = zw.simulate(model, [0.0, 0.0], [0.0, 0.0], duration=1.0, params={"rise": 1.0})
    assert lifted.q[-1, 0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("e, torque", [(1.0, 0.0), (0.5, 3.0), (0.5, 20.0)])
def test_bricards_linkage_between_stops_moves_alike_with_each_row_twice(e, torque):
    from benchmarks.models import bricard

    rods, members = bricard.rods, bricard.model.constraints.members

    def turn(q):
        along = rods.direction(q, 0, bricard.along[0])
        return jnp.arctan2(-along[2], along[0])

    def rate(q, v, t, p):
        return jax.jvp(turn, (q,), (rods.system.rate(q, v, t, p),))[1]

    def run(repeat):
        rows = [
            zw.Holonomic(x.phi, name=f"{x.name}, {i}", unit=x.unit)
            for i in range(repeat)
            for x in members
        ]
        model = with_stop_and_brake(
            rods.system,
            rows,
            {**rods.params, "lower": -0.9, "upper": 0.9},
            turn,
            rate,
            e=e,
            torque=torque,
            repeat=repeat,
        )
        return zw.simulate(
            model, bricard.q0, bricard.v0, duration=3.0, rtol=1e-13, max_steps=5000, samples=7
        )

    once, twice = run(1), run(2)
    np.testing.assert_allclose(twice.q, once.q, atol=1e-12)
    assert not any("adds" in x for x in once.warnings + twice.warnings)
    angle = lambda t: float(turn(once.at(t)[0]))
    hits = [x.time for x in once.switches if x.hit]
    if torque == 0.0:
        # a rebound without loss goes back to the start, and comes from there as before
        np.testing.assert_allclose(hits[1], 3 * hits[0], atol=1e-11)
        assert angle(2 * hits[0]) == pytest.approx(0.0, abs=1e-10)
    elif torque == 3.0:
        # a brake takes its torque times the way, the stop what it says, and then it sticks
        lost = torque * (0.9 + 0.9 - angle(3.0)) + sum(x.energy_loss for x in once.switches)
        energy = once.dataset["energy"].values
        assert energy[0] - energy[-1] == pytest.approx(lost, rel=1e-10)
        np.testing.assert_allclose(once.v[-1], 0.0, atol=1e-12)
    else:
        assert once.switches[0].on == ("brake 0",) and angle(3.0) == pytest.approx(0.0, abs=1e-12)
