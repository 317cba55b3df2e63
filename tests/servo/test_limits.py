"""Limits of the actuators: they are kept, passive constraints are not affected, and the violation
of servo constraints is least.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import lsq_linear

import zwang as zw
from tests.algebra.pseudoinverse.matrices import QUICK
from tests.eager import compilations
from tests.servo.models import closed, distance_servo, object_servo, robots, two_masses
from tests.servo.test_paper import EXACT
from zwang.algebra.pseudoinverse import Proximal
from zwang.errors import ModelError, Result
from zwang.output.report import summarize, write_report
from zwang.servo.limits import limited

METHOD = Proximal(sweeps=5, rank_threshold=1e-9)


@pytest.fixture(scope="module")
def solve():
    """`limited` from the least-norm control, compiled once."""

    def program(G, r, weights, lower, upper):
        easy = 1 / jnp.sqrt(weights)
        wanted = easy * (jnp.linalg.pinv(G * easy, rtol=1e-10) @ r)
        return limited(G, r, wanted, weights, lower, upper, METHOD), wanted

    return jax.jit(program, compiler_options=QUICK)


def problem(seed: int):
    """Rows at unit length of rank 1 to 3, weights, and limits around 0."""
    random = np.random.default_rng(seed)
    rank = 1 + seed % 3
    G = random.standard_normal((3, rank)) @ random.standard_normal((rank, 6))
    G /= np.linalg.norm(G, axis=1, keepdims=True)
    r = random.standard_normal(3) * 10 ** random.uniform(-1, 1)
    return G, r, random.uniform(0.3, 3, 6), -random.uniform(0.05, 1, 6), random.uniform(0.05, 1, 6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("start", range(0, 300, 100))
def test_limited_control_leaves_the_least_residual_and_then_changes_least(solve, start):
    """Against SciPy's bounded least squares with the choice as a small second term, 1e-5 of the
    first.
    """
    for seed in range(start, start + 100):
        G, r, weights, lower, upper = problem(seed)
        u, wanted = map(np.asarray, solve(G, r, weights, lower, upper))
        assert np.all(u >= lower) and np.all(u <= upper)
        least = lsq_linear(G, r, (lower, upper), method="bvls", tol=1e-14)
        assert np.linalg.norm(G @ u - r) <= np.sqrt(2 * least.cost) + 1e-8
        second = 1e-5 * np.diag(np.sqrt(weights))
        both = lsq_linear(
            np.vstack([G, second]),
            np.concatenate([r, second @ wanted]),
            (lower, upper),
            method="bvls",
            tol=1e-15,
        )
        change, other = (np.linalg.norm(np.sqrt(weights) * (x - wanted)) for x in (u, both.x))
        assert (
            change <= other * (1 + 1e-3) + 1e-6
        )  # the second term trades 1e-10 of residual for some of the change


@pytest.mark.slow
def test_control_inside_its_limits_is_the_unlimited_one(solve):
    q, v, _ = EXACT[1.0]
    free = zw.control(robots(), object_servo(), q, v, 1.0).u
    wide = zw.control(robots(), object_servo(limits=zw.servo.Limits(-50.0, 50.0)), q, v, 1.0)
    np.testing.assert_array_equal(wide.u, free)
    assert wide.result == Result.SUCCESS


def test_redundant_actuators_take_over_from_one_at_its_limit():
    q, v, a = EXACT[1.0]
    upper = np.array([5.0, 50, 50, 5.0, 50, 50])  # the free choice takes 5.53 and 7.29
    c = zw.control(robots(), object_servo(limits=zw.servo.Limits(-50.0, upper)), q, v, 1.0)
    assert c.result == Result.SUCCESS and float(c.residual) < 1e-12
    np.testing.assert_allclose(c.acceleration, a, atol=1e-11)
    assert np.all(c.u <= upper) and np.isclose(c.u[3], 5.0)


@pytest.mark.slow
def test_passive_constraints_hold_under_limits_and_what_is_missed_is_reported(tmp_path):
    servo = object_servo(gains=5.0, limits=zw.servo.Limits(-7.0, 7.0))
    run = zw.simulate(
        closed(robots(), servo), EXACT[0.0][0], np.zeros(5), duration=1.0, samples=21, rtol=1e-9
    )
    data = run.dataset
    assert float(data.violation.max()) < 1e-12 and float(data.velocity_violation.max()) < 1e-12
    assert float(np.abs(data.control).max()) == 7.0
    missed = data.missed.values[:, 0]
    assert missed.max() > 1e-3 and np.all(
        (missed > 1e-8) == (data.control_result.values == int(Result.AT_LIMIT))
    )
    told = summarize(run)
    unmet, saturated = run.warnings
    assert "'object' could not be met at" in unmet and "limits of the actuators" in unmet
    assert "at their limits: " in saturated and told.warnings == run.warnings
    assert told.unmet == unmet and unmet in str(run) and saturated in str(run)
    assert json.loads(data.attrs["warnings"]) == [unmet, saturated]
    assert (
        told.servo_error.value == float(data.servo_violation.max())
        and told.servo_residual.value == missed.max()
    )
    assert write_report(run, tmp_path / "report.html", summary=told) == []
    page = (tmp_path / "report.html").read_text()
    assert all(
        text in page
        for text in ("Tracking error", "Control u of each actuator", "could not be met at", "u5")
    )
    assert [axes.get_ylabel() for axes in run.plot().axes][-2:] == [
        "control [model units]",
        "servo violation [model units]",
    ]


@pytest.mark.slow
def test_derivative_follows_the_actuators_that_are_free():
    model = two_masses()
    u = lambda gain, limit: zw.control(
        model, distance_servo(gains=gain, limits=zw.servo.Limits(-limit, limit)), [0, 2.3], [0, 0]
    ).u[0]
    slope = jax.jit(jax.grad(u, argnums=(0, 1)), compiler_options=QUICK)
    free, held = (slope(5.0, limit) for limit in (100.0, 4.0))  # without limits u = -19.5 + 7.5
    np.testing.assert_allclose(free, [2 * 5 * 0.3, 0], atol=1e-12)
    np.testing.assert_allclose(held, [0, -1], atol=1e-12)
    limits = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(jax.vmap(u, (None, 0))(5.0, limits), -limits)


def test_other_limits_compile_nothing():
    run = lambda limit: zw.simulate(
        closed(two_masses(), distance_servo(gains=5.0, limits=zw.servo.Limits(-limit, limit))),
        [0, 2.3],
        [0, 0],
        times=[0.5],
    )
    run(12.0)
    with compilations() as seen:
        run(13.0)
    assert not seen


def test_limits_are_checked_in_one_sentence():
    with pytest.raises(ModelError, match=r"lower has shape \(3,\), expected a number or \(1,\)"):
        closed(two_masses(), distance_servo(limits=zw.servo.Limits(np.zeros(3), 1.0)))
    with pytest.raises(ModelError, match="nothing is left between them"):
        closed(two_masses(), distance_servo(limits=zw.servo.Limits(2.0, 1.0)))
    with pytest.raises(ModelError, match="expected zw.servo.Limits"):
        distance_servo(limits=(-1, 1))
    with pytest.raises(ModelError, match="a limit of the rate needs a controller that remembers"):
        zw.simulate(
            closed(two_masses(), distance_servo(limits=zw.servo.Limits(rate=1.0))),
            [0, 2.3],
            [0, 0],
            duration=1.0,
        )
