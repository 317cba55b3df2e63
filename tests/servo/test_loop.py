"""Nonideal closed loops: sampled, delayed, noisy, with limits of the rate, and with a wrong
model.
"""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

import zwang as zw
from tests.eager import compilations
from tests.servo.models import closed, distance_servo, two_masses
from zwang.errors import ModelError

START = ([0.0, 2.3], [0.0, 0.0])


@functools.cache
def follower(limits: bool = False) -> zw.Model:
    """A mass that is pulled to x = 1 by its own motor."""
    system = zw.System(1, lambda q, t, p: jnp.stack([p["m"]]), lambda q, v, t, p: -p["c"] * v)
    at = zw.Holonomic(lambda q, t, p: q[0] - 1.0, name="at")
    servo = zw.Servo(
        [at], np.array([[1.0]]), gains=3.0, limits=zw.servo.Limits(rate=60.0) if limits else None
    )
    return zw.Model(system, params={"m": 2.0, "c": 0.5}, servo=servo, name="follower")


def exact(steps: int, T: float, late: int = 0, believed_m: float = 2.0):
    """The sampled loop by matrix exponentials: states and controls at the samples."""
    A, B = np.array([[0, 1], [0, -0.25]]), np.array([[0], [0.5]])
    block = expm(np.block([[A, B], [np.zeros((1, 3))]]) * T)
    x, states, commands, applied = np.zeros(2), [], [], []
    for k in range(steps):
        commands.append(believed_m * (-6 * x[1] - 9 * (x[0] - 1)) + 0.5 * x[1])
        applied.append(commands[k - late] if k >= late else 0.0)
        states.append(x)
        x = block[:2, :2] @ x + block[:2, 2] * applied[-1]
    return np.array(states), np.array(applied)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("late", "believed"), [(0, 2.0), (3, 1.5)], ids=["sampled", "delayed, wrong mass"]
)
def test_sampled_loop_is_that_of_the_matrix_exponential(late, believed):
    """rtol 1e-11 per step; samples between the controller's instants see the same motion."""
    T = 0.05
    loop = zw.Loop(sample_time=T, delay=late * T, params={"m": believed})
    times = np.sort(np.concatenate([np.arange(21) * T, [0.123, 0.777]]))
    run = zw.simulate(follower(), [0.0], [0.0], times=times, rtol=1e-11, loop=loop)
    assert run.attrs["engine"] == "native code"  # as no noise is drawn
    own = np.isin(np.round(times / T, 6), np.arange(21))
    states, u = exact(21, T, late, believed)
    np.testing.assert_allclose(np.column_stack([run.q, run.v])[own], states, atol=1e-9)
    np.testing.assert_allclose(run.dataset.control.values[own][:-1, 0], u[:-1], atol=1e-8)
    between = zw.simulate(follower(), [0.0], [0.0], times=[0.511], rtol=1e-11, loop=loop)
    np.testing.assert_allclose(
        run.at(0.511)[0], between.q[-1], atol=1e-9
    )  # across a jump of the control


@pytest.mark.parametrize("T", [0.05, 0.5])
def test_a_loop_that_is_sampled_too_slowly_says_so(T):
    """Poles at −3 lie outside of the unit circle where the control is held for half a second."""
    run = zw.simulate(follower(), [0.0], [0.0], duration=10.0, loop=zw.Loop(sample_time=T))
    grows = [x for x in run.warnings if x.startswith("the error of servo constraint 'at' grows")]
    # what a sample makes of a deviation of the state from rest at x = 1
    A, B = np.array([[0, 1], [0, -0.25]]), np.array([[0], [0.5]])
    held = expm(np.block([[A, B], [np.zeros((1, 3))]]) * T)[:2]
    once = held[:, :2] + held[:, 2:] @ np.array([[-18.0, -12.0 + 0.5]])
    radius = max(abs(np.linalg.eigvals(once)))
    assert len(grows) == (radius > 1), (radius, run.warnings)
    assert all("shorter sample_time" in x for x in grows)


@pytest.mark.slow
def test_noise_is_that_of_its_seed_and_size():
    def run(seed, level):
        loop = zw.Loop(sample_time=0.05, noise_v=level, seed=seed)
        return zw.simulate(
            follower(), [1.0], [0.0], duration=20.0, samples=401, loop=loop
        ).dataset.control.values[1:-1, 0]

    first, again, other, louder = run(1, 1e-3), run(1, 1e-3), run(2, 1e-3), run(1, 2e-3)
    np.testing.assert_array_equal(first, again)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.2
    np.testing.assert_allclose(
        louder, 2 * first, rtol=1e-3, atol=1e-7
    )  # the loop is linear; rtol of the run 1e-8
    # u = -(2·6 - 0.5) (v + n) - 18 (q - 1), and the motion is slow against the noise
    assert np.std(first) == pytest.approx(11.5e-3, rel=0.15)


@pytest.mark.slow
def test_rate_of_the_control_is_limited_from_sample_to_sample():
    run = zw.simulate(
        follower(True),
        [0.0],
        [0.0],
        duration=4.0,
        samples=81,
        rtol=1e-9,
        loop=zw.Loop(sample_time=0.05),
    )
    u = run.dataset.control.values[:, 0]
    assert np.abs(np.diff(u)).max() == pytest.approx(60 * 0.05, rel=1e-12)  # both used and kept
    assert u[0] == pytest.approx(18.0) and abs(run.q[-1, 0] - 1) < 0.02


def test_other_settings_of_a_loop_compile_nothing():
    run = lambda loop: zw.simulate(follower(), [0.0], [0.0], duration=1.0, loop=loop).dataset
    run(zw.Loop(sample_time=0.05, noise_q=1e-2, params={"m": 1.9}))
    with compilations() as seen:
        run(
            zw.Loop(
                sample_time=0.02, delay=0.03, noise_q=1e-3, noise_v=0.1, seed=5, params={"m": 2.2}
            )
        )
    assert not seen


def test_controller_that_believes_other_parameters_leaves_the_error_that_it_must():
    """The controller takes the spring for softer by Δk: y¨ + 2w y˙ + w² y = d with d = −1.5 Δk (l +
    y), so y tends to a constant.
    """
    w, dk = 5.0, 2.0
    model = closed(two_masses(), distance_servo(gains=w))
    run = zw.simulate(model, *START, times=[6.0], rtol=1e-10, loop=zw.Loop(params={"k": 10.0 - dk}))
    y = run.q[-1, 1] - run.q[-1, 0] - 2
    assert y == pytest.approx(-1.5 * dk / (w**2 + 1.5 * dk), rel=1e-6)
    assert float(run.dataset.servo_violation[-1, 0]) == pytest.approx(abs(y))


@pytest.mark.slow
def test_plant_may_have_friction_that_the_controller_does_not_know():
    """A bead on a wire: the controller believes the same wire without friction; the error is the
    friction over the gains.
    """
    friction = lambda q, v, t, p, ideal: (
        -0.2 * jnp.abs(ideal[1]) * jnp.tanh(v / 1e-3) * jnp.array([1.0, 0.0])
    )
    wire = lambda nonideal: zw.Holonomic(lambda q, t, p: q[1], name="wire", nonideal=nonideal)
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    along = zw.Holonomic(lambda q, t, p: q[0] - 0.5 * t, name="along")
    servo = zw.Servo([along], np.array([[1.0], [0.0]]), gains=10.0)
    rough = zw.Model(system, [wire(friction)], servo=servo, name="rough wire")
    smooth = zw.Model(system, [wire(None)], name="smooth wire")
    run = zw.simulate(rough, [0, 0], [0.5, 0], times=[2.0], loop=zw.Loop(model=smooth))
    assert run.q[-1, 0] - 1.0 == pytest.approx(-0.2 * 9.81 / 10.0**2, rel=1e-5)
    exactly = zw.simulate(rough, [0, 0], [0.5, 0], times=[2.0])
    assert exactly.q[-1, 0] == pytest.approx(1.0, abs=1e-7)


def robust_case(gain):
    """A mass with a motor, dry friction of 3 N and a load of up to 2 N that the controller does not
    know: |d₀| ≤ 5 N / 1 kg.
    """
    load = lambda q, v, t, p: (
        p["unknown"] * (jnp.stack([2.0 * jnp.sin(3 * t)]) - 3.0 * jnp.tanh(v / 1e-3))
    )
    system = zw.System(1, lambda q, t, p: jnp.stack([p["m"]]), load)
    track = zw.Holonomic(lambda q, t, p: q[0] - 0.3 * jnp.sin(2 * t), name="track")
    servo = zw.Servo([track], np.array([[1.0]]), gains=gain)
    model = zw.Model(system, params={"m": 1.0, "unknown": 1.0}, servo=servo)
    return zw.simulate(
        model,
        [0.0],
        [0.6],
        duration=8.0,
        samples=401,
        rtol=1e-7,
        loop=zw.Loop(params={"unknown": 0.0}),
    )


@pytest.mark.slow
def test_robust_gain_keeps_its_bound_where_the_nominal_loop_does_not():
    robust = zw.servo.Robust(4.0, bound=5.0, layer=0.05)
    limit = float(robust.ultimate_bound(2))
    assert limit == pytest.approx(5 * 0.05 / (4 * 0.05 + 5) / 4)
    settled = lambda run: np.abs(run.dataset.servo_violation.values[run.t > 2.0, 0]).max()
    held, nominal = settled(robust_case(robust)), settled(robust_case(zw.servo.Rate(4.0)))
    assert held <= limit < 0.25 * nominal
    assert (
        held > 0.3 * limit and nominal <= 5 / 4.0**2
    )  # the bound says something, and the nominal one holds as well


def test_settings_of_a_loop_are_checked_in_one_sentence():
    with pytest.raises(
        ModelError, match="delay and noise act on a controller that computes at instants"
    ):
        zw.Loop(delay=0.1)
    with pytest.raises(ModelError, match="more than 32 sample times"):
        zw.Loop(sample_time=0.01, delay=1.0)
    with pytest.raises(ModelError, match="sample_time is -1"):
        zw.Loop(sample_time=-1)
    with pytest.raises(ModelError, match="but the model has no control"):
        zw.simulate(two_masses(), *START, duration=1.0, loop=zw.Loop())
    with pytest.raises(ModelError, match="unknown parameter 'kk'"):
        zw.simulate(follower(), [0], [0], duration=1.0, loop=zw.Loop(params={"kk": 1.0}))
    with pytest.raises(
        ModelError, match="has 2 coordinates and 2 velocities, expected those of follower: 1 and 1"
    ):
        zw.simulate(follower(), [0], [0], duration=1.0, loop=zw.Loop(model=two_masses()))
    with pytest.raises(ModelError, match="mismatch is 1.0, expected between 0 and 1"):
        zw.servo.Robust(1.0, bound=1.0, layer=0.1, mismatch=1.0)
    with pytest.raises(ModelError, match="it has none; write f"):
        zw.control(two_masses(), q=[0, 2.0], v=[0, 0])
    with pytest.raises(ModelError, match="servo is 3, expected zw.Servo"):
        zw.Model(two_masses().system, params=two_masses().params, servo=3)


def test_a_closed_loop_runs_by_an_implicit_method_as_by_an_explicit_one():
    model = closed(two_masses(), distance_servo(gains=3.0))
    implicit, explicit = (
        zw.simulate(model, *START, times=[0.5, 1.0], rtol=1e-8, integrator=method)
        for method in (zw.methods.Kvaerno5(), zw.methods.Dopri8())
    )
    assert np.max(np.abs(implicit.q - explicit.q)) < 1e-7
    assert abs(explicit.q[-1, 1] - explicit.q[-1, 0] - 2.0) < abs(2.3 - 2.0), "the servo acts"


@pytest.mark.slow
def test_rows_that_contradict_each_other_later_end_a_sampled_loop():
    """From 0.1 s on two rows ask for accelerations that differ by 2; each misses 1."""
    late = lambda t: jnp.where(t > 0.1, (t - 0.1) ** 2, 0.0)
    weight = lambda q, v, t, p: jnp.array([0.0, -9.81])
    system = zw.System(2, lambda q, t, p: jnp.ones(2), weight)
    pair = zw.Holonomic(lambda q, t, p: jnp.stack([q[0], q[0] - late(t)]), name="pair")
    height = zw.Holonomic(lambda q, t, p: q[1], name="height")
    servo = zw.Servo([height], np.array([[0.0], [1.0]]), gains=5.0)
    model = zw.Model(system, [pair], servo=servo)
    loop = zw.Loop(sample_time=0.01)
    with pytest.raises(zw.SimulationError, match="stopped at t = 0.1") as caught:
        zw.simulate(model, np.zeros(2), np.zeros(2), duration=0.5, loop=loop)
    assert caught.value.result in (zw.Result.INCONSISTENT, zw.Result.NOT_CONVERGED)
    assert "'pair'" in str(caught.value)
