"""Optimal control through impacts, stops and switches, against closed forms.

For a mass under its control and its weight only, the motion of least effort between two states is a
cubic polynomial of time, so a motion with several phases is determined by a few numbers: the end
time and the end velocity of each phase.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import root

import zwang as zw
from zwang.errors import ModelError

pytest.importorskip("casadi", reason="extra `optimal`")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import optimal_hop

Phase = zw.analysis.Phase
G = 9.81


def bending(T, x0, v0, x1, v1):
    """∫ ẍ² dt of the cubic polynomial from (x0, v0) to (x1, v1) in T."""
    way = x1 - x0
    return 4 * (v0**2 + v0 * v1 + v1**2) / T - 12 * (v0 + v1) * way / T**2 + 12 * way**2 / T**3


def effort(mass, T, x0, v0, x1, v1):
    """∫ u² dt with u = m (ẍ + g)."""
    return mass**2 * (bending(T, x0, v0, x1, v1) + 2 * G * (v1 - v0) + G**2 * T)


def stationary(cost, guess):
    """The numbers at which a cost is least, and the cost."""
    slope, curvature = jax.jit(jax.grad(cost)), jax.jit(jax.hessian(cost))
    host = lambda f: lambda z: np.asarray(f(jnp.asarray(z)))
    found = root(host(slope), guess, jac=host(curvature), tol=1e-13)
    return found.x, float(cost(found.x))


def until(T):
    """The end of a motion at a time."""
    return lambda q, v, t, p: t - T


def ball(restitution, weight=2 * G):
    """A mass of 2 kg above a floor."""
    system = zw.System(
        1,
        lambda q, t, p: 2 * jnp.ones(1),
        lambda q, v, t, p: -weight * jnp.ones(1),
        coordinates=["x"],
    )
    floor = zw.Inequality(lambda q, t, p: q[0], name="floor", restitution=restitution, unit="m")
    return zw.Model(system, [floor], name="ball")


@pytest.fixture(scope="module")
def bounce():
    """The ball bounces once, in 1.2 s."""
    phases = [Phase((0.1, 1.1), rebounds="floor"), Phase((0.1, 1.1), end=until(1.2))]
    return zw.analysis.optimal_control(
        ball(0.5), ([1.0], [0.0]), ([0.8], [0.0]), phases, inputs=["x"], intervals=3
    )


@pytest.mark.slow
def test_bounce_with_least_effort(bounce):
    def cost(z):
        T, w = z
        before = effort(2.0, T, 1.0, 0.0, 0.0, -w)
        return before + effort(2.0, 1.2 - T, 0.0, 0.5 * w, 0.8, 0.0)

    (T, w), least = stationary(cost, [0.5, 3.0])
    fall, rise = bounce.phases
    assert abs(bounce.cost - least) < 1e-12 * least
    assert abs(fall.duration - T) < 1e-10
    np.testing.assert_allclose([fall.v[-1, 0], rise.v[0, 0]], [-w, 0.5 * w], rtol=1e-10)
    assert "2 phases" in str(bounce)


def test_bounce_is_what_a_run_does(bounce):
    run = zw.simulate(bounce.model, bounce.q[0], bounce.v[0], duration=1.2, rtol=1e-10)
    np.testing.assert_allclose(run.q[-1], bounce.q[-1], atol=1e-9)
    np.testing.assert_allclose(run.v[-1], bounce.v[-1], atol=1e-9)
    (hit,) = [x for x in run.switches if x.energy_loss > 0]
    assert abs(hit.time - bounce.phases[0].duration) < 1e-9


def test_phases_have_their_models_and_regulators(bounce):
    assert bounce.phases[0].passive.constraints.m == 0
    gains = bounce.phases[1].feedback(1.0, 1.0)
    assert isinstance(gains, zw.servo.Feedback)
    with pytest.raises(ModelError, match=r"found.phases\[k\]"):
        bounce.regulator()
    assert len(bounce.u) == len(bounce.t) == len(bounce.q) == 8
    assert bounce.dataset.control.shape[0] == len(bounce.samples.t)


@pytest.mark.slow
def test_a_motion_of_phases_is_a_guess(bounce):
    phases = [Phase((0.1, 1.1), rebounds="floor"), Phase((0.1, 1.1), end=until(1.3))]
    found = zw.analysis.optimal_control(
        ball(0.5), ([1.0], [0.0]), ([0.8], [0.0]), phases, inputs=["x"], guess=bounce
    )
    assert abs(found.duration - 1.3) < 1e-10
    with pytest.raises(ModelError, match="guess has 2 phases"):
        zw.analysis.optimal_control(
            ball(0.5), ([1.0], [0.0]), ([0.8], [0.0]), phases[1:], inputs=["x"], guess=bounce
        )


@pytest.mark.slow
def test_stop_that_is_reached_and_left():
    """The mass is laid on the floor, which carries it, and lifted after 0.5 s there."""
    phases = [
        Phase((0.1, 1.5)),
        Phase(0.5, holds="floor"),
        Phase((0.1, 1.5), end=until(2.0)),
    ]
    found = zw.analysis.optimal_control(
        ball(0.0), ([0.5], [0.0]), ([0.5], [0.0]), phases, inputs=["x"], intervals=3
    )
    down, rest, up = found.phases

    def cost(z):
        T, w = z  # the floor takes the speed, and all of the weight in between
        return effort(2.0, T, 0.5, 0.0, 0.0, -w) + effort(2.0, 1.5 - T, 0.0, 0.0, 0.5, 0.0)

    (T, w), least = stationary(cost, [0.6, 0.5])
    assert abs(found.cost - least) < 1e-9 * least
    assert abs(down.duration - T) < 1e-7
    assert abs(down.v[-1, 0] + w) < 1e-7
    assert np.all(rest.samples.multipliers >= 0)
    assert up.q[0, 0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2])
def test_two_carts_latch(rows):
    """One cart pushed, a second one at rest is caught by a switched constraint, entered several
    times.
    """
    system = zw.System(
        2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.zeros(2), coordinates=["x", "y"]
    )
    latch = zw.Holonomic(
        lambda q, t, p: (q[0] - q[1]) * jnp.arange(1.0, rows + 1), name="latch", unit="m"
    )
    switch = zw.Switch("latch", on=lambda q, v, t, p: q[0] - q[1])
    carts = zw.Model(system, [latch], name="carts")
    found = zw.analysis.optimal_control(
        carts,
        ([0.0, 1.0], [0.0, 0.0]),
        ([2.0, 2.0], [0.0, 0.0]),
        [Phase((0.1, 1.9)), Phase((0.1, 1.9), holds="latch", end=until(2.0))],
        inputs=["x"],
        intervals=3,
        switches=[switch],
    )

    def cost(z):
        T, w = z
        return bending(T, 0.0, 0.0, 1.0, w) + 4 * bending(2 - T, 1.0, w / 2, 2.0, 0.0)

    (T, _), least = stationary(cost, [1.0, 1.0])
    assert abs(found.cost - least) < 1e-11 * least
    assert abs(found.phases[0].duration - T) < 1e-9
    assert found.kinematic_error <= 1e-12
    run = zw.simulate(
        found.model, found.q[0], found.v[0], duration=2.0, rtol=1e-10, switches=[switch]
    )
    np.testing.assert_allclose(run.q[-1], [2.0, 2.0], atol=1e-9)


@pytest.mark.slow
def test_ball_is_juggled_to_a_height():
    found = optimal_hop.juggle(1.5, 0.9)

    def cost(z):
        (y,) = z
        T, speed = jnp.sqrt(2 * (1 - y) / G), jnp.sqrt(2 * G * (1.5 - y))
        # equal masses: v⁺ = ((1 − e) v + (1 + e) w) / 2
        w = (2 * speed + 0.1 * G * T) / 1.9
        return bending(T, 0.0, 0.0, y, w)

    (y,), least = stationary(cost, [0.6])
    assert abs(found.cost - least) < 1e-9 * least
    np.testing.assert_allclose(found.phases[0].q[-1], y, atol=1e-7)


@pytest.mark.slow
def test_hopper_leaves_the_floor_and_lands_as_a_run_does():
    found = optimal_hop.hop(rtol=1e-6)
    assert found.status == "Solve_Succeeded"
    stance, rise, fall, landed = found.phases
    assert abs(rise.q[-1, 0] - 0.1) < 1e-12
    assert min(x.samples.multipliers.min() for x in (stance, landed)) >= 0
    assert np.all(found.q[:, 0] >= -1e-12)
    assert fall.v[-1, 0] < -1
    assert landed.v[0, 0] == 0
    run = zw.simulate(found.model, found.q[0], found.v[0], duration=found.duration, rtol=1e-9)
    np.testing.assert_allclose(run.q[-1], found.q[-1], atol=1e-7)
    times = [x.time for x in run.switches[1:]]
    ends = np.cumsum([x.duration for x in found.phases])
    np.testing.assert_allclose(times, ends[[0, 2]], atol=1e-7)


@pytest.mark.slow
def test_phases_end_at_times_of_a_switch():
    system = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: jnp.zeros(1))
    brake = zw.Nonholonomic(lambda q, v, t, p: v[0], name="brake")
    mass = zw.Model(system, [brake], name="mass")
    switch = zw.Switch("brake", on=0.5, off=1.0)
    found = zw.analysis.optimal_control(
        mass,
        ([0.0], [0.0]),
        ([1.0], [0.0]),
        [Phase((0.1, 1.0)), Phase((0.1, 1.0), holds="brake"), Phase((0.1, 1.0), end=until(2.0))],
        inputs=[[1.0]],
        intervals=2,
        switches=[switch],
    )

    def cost(z):
        x, w = z  # the brake takes the speed
        return bending(0.5, 0.0, 0.0, x, w) + bending(1.0, x, 0.0, 1.0, 0.0)

    (x, _), least = stationary(cost, [0.3, 0.5])
    np.testing.assert_allclose([p.duration for p in found.phases], [0.5, 0.5, 1.0], atol=1e-9)
    assert abs(found.cost - least) < 1e-9 * least
    assert abs(found.phases[1].q[0, 0] - x) < 1e-9


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"duration": [Phase(0.5, holds="ceiling")]}, "ceiling"),
        ({"duration": [Phase(0.5, rebounds="floor")]}, "open in this phase and in the next one"),
        (
            {"duration": [Phase(0.5, rebounds="floor"), Phase(0.5, holds="floor")]},
            "open in this phase and in the next one",
        ),
        ({"duration": 1.0}, "is an inequality"),
        ({"duration": [Phase(0.5), Phase(0.5)], "bounds": 3}, "bounds is 3"),
        ({"duration": [Phase(0.5), 1.0]}, "zw.analysis.Phase"),
        pytest.param(
            {"duration": [Phase(0.5), Phase(0.5)], "bounds": {"x": (2, 3)}},
            "no motion from start",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_refusals(change, match):
    given = {"start": ([1.0], [0.0]), "end": ([1.0], [0.0]), "inputs": ["x"]} | change
    with pytest.raises(ModelError, match=match):
        zw.analysis.optimal_control(ball(0.5), **given)


@pytest.mark.slow
def test_a_function_is_bounded_in_one_phase_alone():
    """Hardly any control after the rebound: it rises freely to its height."""

    def control(q, v, u, t, p):
        return u[0]

    phases = [
        Phase((0.1, 2.0), rebounds="floor"),
        Phase((0.1, 2.0), bounds={control: (-1e-3, 1e-3)}),
    ]
    found = zw.analysis.optimal_control(
        ball(0.5), ([1.0], [0.0]), ([1.0], [0.0]), phases, inputs=["x"], intervals=4
    )
    fall, rise = found.phases
    assert np.abs(fall.u).max() > 1.0 and np.abs(rise.u).max() < 1.001e-3
    assert rise.duration == pytest.approx(np.sqrt(2 / G), abs=1e-4)
