"""Control laws that are functions of the state, in ideal and in nonideal loops."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import norm

import zwang as zw
from zwang.errors import ModelError

cart_pole = zw.System(
    4,
    lambda q, t, p: jnp.array([1.0, 1.0, 0.2, 0.2]),
    lambda q, v, t, p: jnp.array([0.0, 0.0, 0.0, -0.2 * 9.81]),
    coordinates=("cart.x", "cart.y", "bob.x", "bob.y"),
)
RAIL = zw.Holonomic(lambda q, t, p: q[1], name="rail")
ROD = zw.Holonomic(lambda q, t, p: (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 0.25, name="rod")
AT, REST = np.array([0.0, 0.0, 0.3, -0.4]), np.zeros(4)


def weight(q, v, t, p):
    return jnp.array([0.0, 0.0, 0.0, 0.2 * 9.81])


def test_forces_are_those_of_least_norm_that_hinges_leave():
    """The rod holds one direction of the bob: of three forces on it and the cart two are needed."""
    B = np.eye(4)[:, [0, 2, 3]]
    model = zw.Model(cart_pole, [RAIL, ROD], servo=zw.servo.Feedback(weight, B, forces=True))
    found = zw.control(model, q=AT, v=REST)
    # tangents of the linkage: the cart with the bob, and the bob about the cart
    T = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.4, 0.3]])
    expected = np.linalg.pinv(T @ B) @ (T @ [0.0, 0.0, 0.0, 0.2 * 9.81])
    np.testing.assert_allclose(found.u, expected, atol=1e-13)
    assert int(found.rank) == 2 and float(found.residual) < 1e-13
    np.testing.assert_allclose(found.acceleration, 0.0, atol=1e-13)


def test_forces_that_no_actuator_gives_are_named():
    law = zw.servo.Feedback(weight, np.eye(4)[:, :1], forces=True, name="weight")
    with pytest.raises(ModelError, match="'weight' misses"):
        zw.control(zw.Model(cart_pole, [RAIL, ROD], servo=law), q=AT, v=REST)


def test_limits_hold_and_are_told():
    law = zw.servo.Feedback(
        lambda q, v, t, p: -50.0 * v[:1], np.eye(4)[:, :1], limits=zw.servo.Limits(-0.1, 0.1)
    )
    model = zw.Model(cart_pole, [RAIL, ROD], servo=law)
    run = zw.simulate(model, AT, REST, duration=1.0, samples=11)
    assert np.abs(run.dataset.control).max() == 0.1 and "at its limits" in " ".join(run.warnings)
    with pytest.raises(ModelError, match=r"returns shape \(2,\), expected \(1,\)"):
        zw.Model(cart_pole, servo=zw.servo.Feedback(lambda q, v, t, p: v[:2], np.eye(4)[:, :1]))


def mass() -> zw.Model:
    """A mass on a line, pushed by a regulator."""
    system = zw.System(1, lambda q, t, p: jnp.stack([p["m"]]), lambda q, v, t, p: jnp.zeros(1))
    bare = zw.Model(system, params={"m": 2.0}, name="mass")
    regulator = zw.analysis.lqr(
        zw.analysis.linearize(bare, [0.0], inputs=[[1.0]]), Q=[4.0, 1.0], R=0.5
    )
    assert regulator.K_q.shape == (1, 1)
    with pytest.raises(zw.ModelError, match=r"servo is .*or a law such as regulator.feedback\(\)"):
        zw.Model(system, params={"m": 2.0}, servo=regulator)
    return zw.Model(system, params={"m": 2.0}, servo=regulator.feedback(), name="mass")


def test_a_sampled_and_delayed_regulator_is_that_of_the_matrix_exponential():
    model, T, late = mass(), 0.05, 2
    law = model.servo.function
    run = zw.simulate(
        model,
        [1.0],
        [0.0],
        times=np.arange(21) * T,
        rtol=1e-11,
        loop=zw.Loop(sample_time=T, delay=late * T),
    )
    block = expm(np.array([[0, 1, 0], [0, 0, 0.5], [0, 0, 0]]) * T)
    x, asked = np.array([1.0, 0.0]), []
    for k in range(21):
        np.testing.assert_allclose([run.q[k, 0], run.v[k, 0]], x, atol=1e-9)
        asked.append(float(-law.K_q[0, 0] * x[0] - law.K_v[0, 0] * x[1]))
        x = block[:2, :2] @ x + block[:2, 2] * (asked[k - late] if k >= late else 0.0)


def test_a_success_rate_is_that_of_the_normal_distribution():
    """A mass that drifts for 1 s with a random speed, and noise that each case draws anew."""
    model = mass()
    study = zw.study.monte_carlo(
        zw.Loop(sample_time=0.05, noise_q=1e-3, model=model),
        model,
        {"m": norm(2.0, 0.1), "delay": "0:0.05", "speed": norm(0.0, 1.0)},
        lambda values: ([0.0], [values["speed"]]),
        inputs=["speed"],
        duration=0.1,
        samples=3,
        cases=60,
        seed=3,
        outputs={"fast": lambda t, q, v: float(v[0, 0])},
        success="fast < 0.5",
    )
    rate = study.success()
    assert rate.low < norm.cdf(0.5) < rate.high and rate.cases == 60
    assert rate.successes == int((study.table["speed"] < 0.5).sum())
    seeds = study.table["loop_seed"]
    assert sorted(seeds) == list(range(3, 63)) and study.failures.empty
