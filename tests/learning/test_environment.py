"""Environments: the checks of gymnasium itself, episodes, and a policy that keeps the pole
upright.
"""

import os

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from .test_plant import LATER, LENGTH, UPRIGHT, cart_pole, later_contradicted  # noqa: E402

FALLEN = 0.9 * LENGTH


def height(q, v, u, t, p):
    return q[3] - 0.001 * u @ u


def fallen(q, v, t, p):
    return q[3] < FALLEN


@pytest.fixture(scope="module")
def plant():
    return zw.Plant(cart_pole(), ["cart.x"], q0=UPRIGHT, step=0.02)


@pytest.fixture(scope="module")
def env(plant):
    return zw.environment(plant, height, limits=20.0, terminated=fallen, horizon=100)


@pytest.fixture(scope="module")
def envs(plant):
    return zw.environment(plant, height, limits=20.0, terminated=fallen, horizon=100, members=4)


def test_gymnasium_finds_nothing_wrong(env):
    check_env(env, skip_render_check=True)
    assert (env.action_space.low, env.action_space.high) == (-1.0, 1.0)


def test_the_same_seed_gives_the_same_episode(env):
    seen = []
    for _ in range(2):
        first, _ = env.reset(seed=5)
        seen.append([first, *(env.step([1.0])[0] for _ in range(3))])
    np.testing.assert_array_equal(*seen)
    other, _ = env.reset(seed=6)
    assert not np.array_equal(other, seen[0][0])


def test_an_action_may_be_of_float32_or_a_list(env):
    """As policies give it: each takes a way of its own through the checks."""
    seen = []
    for action in ([0.5], np.array([0.5]), np.array([0.5], np.float32)):
        env.reset(seed=5)
        seen.append(env.step(action)[0])
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[0], seen[2])
    with pytest.raises(zw.ModelError, match=r"action\[0\] is nan"):
        env.step(np.array([np.nan], np.float32))


def test_threads_begin_where_their_work_is_worth_it(plant, envs):
    assert envs._cores == 1
    many = zw.environment(plant, height, limits=20.0, members=1_000_000)
    assert many._cores == (os.cpu_count() or 1)


def test_a_start_is_random_and_on_the_constraints(env):
    found = np.array([env.reset(seed=i)[0] for i in range(40)])
    reach = (found[:, 2] - found[:, 0]) ** 2 + found[:, 3] ** 2
    np.testing.assert_allclose(reach, LENGTH**2, rtol=1e-12)
    assert 0.02 < np.std(found[:, 2] - found[:, 0]) < 0.1


def test_an_episode_ends_where_the_pole_has_fallen(env):
    env.reset(options={"q": UPRIGHT, "v": [0.0, 0.0, 0.5, 0.0]})
    steps, over, cut = 0, False, False
    while not (over or cut):
        observation, _, over, cut, _ = env.step([0.0])
        steps += 1
    assert over and not cut and observation[3] < FALLEN and 5 < steps < 60


@pytest.mark.slow
def test_a_regulator_keeps_the_pole_up(env):
    """The policy of `zw.analysis.lqr`, laid out in continuous time: no episode ends early."""
    regulator = zw.analysis.lqr(
        zw.analysis.linearize(cart_pole(), q=UPRIGHT, inputs=["cart.x"]), Q=1.0, R=0.1
    )
    observation, _ = env.reset(seed=1)
    for _ in range(100):
        observation, reward, over, cut, _ = env.step(
            env.task.action(regulator(observation[:4], observation[4:]))
        )
        assert not over
    assert cut and reward > 0.95 * LENGTH


def test_many_are_stepped_together_and_begin_anew(envs):
    observation, _ = envs.reset(seed=0)
    assert observation.shape == (4, 8)
    lengths = np.zeros(4, int)
    for _ in range(60):
        before = observation
        observation, reward, over, cut, _ = envs.step(np.zeros((4, 1)))
        lengths += 1
        if over.any():
            break
    assert over.any() and not cut.any()
    (i,) = np.flatnonzero(over)[:1]
    observation, reward, again, _, _ = envs.step(np.zeros((4, 1)))
    assert reward[i] == 0.0 and not again[i]  # this step was the start of the next episode
    assert observation[i, 3] > FALLEN and before.shape == observation.shape


def test_a_state_that_is_not_finite_ends_the_episode(plant):
    """A parameter that drives the model to infinity."""
    named = zw.Plant(cart_pole(), ["push"], q0=UPRIGHT, step=0.02)
    env = zw.environment(named, lambda q, v, u, t, p: q[3], limits=1e300)
    env.reset(seed=0)
    observation, reward, over, _, info = env.step([1.0])
    assert over and info == {"failed": True}
    assert np.all(np.isfinite(observation)) and np.isfinite(reward)


@pytest.mark.slow
def test_constraints_that_come_to_contradict_each_other_end_the_episode():
    """From 0.1 s on two rows ask for accelerations that differ by 2; they drifted apart."""
    phi, q0 = LATER["same"]
    plant = zw.Plant(later_contradicted(phi), ["q1"], q0=q0, step=0.01)
    options = {"limits": 1.0, "spread_q": 0.0, "spread_v": 0.0}
    env = zw.environment(plant, lambda q, v, u, t, p: q[1], **options)
    env.reset(seed=0)
    for _ in range(10):
        observation, _, over, _, info = env.step([0.0])
        assert not over and not info
    kept, _, over, _, info = env.step([0.0])
    assert over and info == {"failed": True}
    np.testing.assert_array_equal(kept, observation)
    assert "phi of constraint 'pair' cannot be reduced" in env.task.plant.reason(
        env.state, np.zeros(1)
    )
    many = zw.environment(plant, lambda q, v, u, t, p: q[1], members=2, **options)
    many.reset(seed=0)
    for _ in range(10):
        assert many.step(np.zeros((2, 1)))[4] == {}
    _, _, over, _, info = many.step(np.zeros((2, 1)))
    assert over.all() and info["failed"].all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "limits= is missing"),
        ({"limits": (1.0, -1.0)}, "low below high"),
        ({"limits": 1.0, "horizon": 0}, "horizon"),
        ({"limits": 1.0, "spread_q": [1.0, 2.0]}, "spread_q"),
    ],
)
def test_a_wrong_setting_is_named(plant, settings, said):
    with pytest.raises(zw.ModelError, match=said):
        zw.environment(plant, height, **settings)


def test_limits_may_come_from_the_servo():
    path = zw.Holonomic(lambda q, t, p: q[0], name="path")
    servo = zw.Servo(
        [path], np.array([[1.0], [0], [0], [0]]), gains=3.0, limits=zw.servo.Limits(-2.0, 3.0)
    )
    env = zw.environment(zw.Plant(cart_pole(servo), q0=UPRIGHT), height)
    assert [float(env.task.input(a)[0]) for a in (-2.0, -1.0, 0.0, 1.0)] == [-2.0, -2.0, 0.5, 3.0]
    assert float(env.task.action(env.task.input(0.3))[0]) == pytest.approx(0.3, abs=1e-15)
    assert jnp.asarray(env.action_space.sample()).shape == (1,)


def test_an_episode_is_drawn():
    """The gallery's pendulum has a scene; the picture follows the state, and its axes stay."""
    model = zw.gallery.load("pendulum").model
    settings = {"limits": 1.0, "render_mode": "rgb_array", "spread_q": 0.0, "spread_v": 0.0}
    plant = zw.Plant(model, ["x"], q0=[0.6, -0.8], step=0.1)
    env = zw.environment(plant, lambda q, v, u, t, p: -q[1], **settings)
    env.reset(seed=0)
    first = env.render()
    assert first.shape == (480, 640, 3) and first.dtype == np.uint8 and first.min() < 100
    np.testing.assert_array_equal(env.render(), first)
    env.step([1.0])
    moved = np.any(env.render() != first, axis=2)
    assert 0.0 < moved.mean() < 0.05
    assert zw.environment(plant, height, limits=1.0).render() is None
    with pytest.raises(zw.ModelError, match="give scene="):
        zw.environment(zw.Plant(cart_pole(), ["cart.x"], q0=UPRIGHT), height, **settings)
