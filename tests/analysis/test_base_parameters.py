"""Base parameters of closed chains, and their identification from noisy torques."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

import zwang as zw
from zwang.errors import ModelError

DRAWS = 1000


def coverage(found, u, noise, seed=1):
    """Share of draws in which the planted values lie in the 95 % ellipsoid of what is found."""
    rng, true = np.random.default_rng(seed), found.of(found.values)
    limit = chi2.ppf(0.95, found.rank)
    near = [
        found.identify(u + noise * rng.standard_normal(u.shape), noise).distance(true) <= limit
        for _ in range(DRAWS)
    ]
    return np.mean(near)


def driven_four_bar():
    """Masses and inertias of three bars, whose crank is driven with a torque that is measured."""
    member = zw.gallery.load("four-bar")
    run = zw.simulate(member.model, member.q0, member.v0, duration=2.0, samples=25, rtol=1e-9)
    data = run.dataset
    rows = [c for c in member.model.constraints.members if c.name != "motor"]
    free = zw.Model(member.model.system, rows, member.model.params, name="four-bar")
    torque = np.zeros((9, 1))
    torque[2] = 1.0
    found = zw.analysis.base_parameters(
        free, ["mass", "inertia"], run.q, run.v, data.acceleration.values, run.t, torque
    )
    # independent of the regressor: the motor's multiplier in the run
    k = list(data.row.values).index("motor") if "motor" in data.row.values else -1
    return found, data.multipliers.values[:, [k]]


def driven_3rrr():
    """Three motors, three degrees of freedom; what the motors give is known by hand."""
    member = zw.gallery.load("3rrr")
    run = zw.simulate(member.model, member.q0, member.v0, duration=3.0, samples=41, rtol=1e-9)
    model, p = member.model, member.model.params
    still = {f"chain {c}.motor.amplitude": 0.0 for c in "ABC"}
    B = np.zeros((model.system.nv, 3))
    for i, c in enumerate("ABC"):
        B[list(model.system.velocities).index(f"chain {c}.motor.angle"), i] = 1.0
    names = [n for n in p if n.endswith((".mass", ".inertia"))]
    a = run.dataset.acceleration.values
    found = zw.analysis.base_parameters(model, names, run.q, run.v, a, run.t, B, params=still)
    wave = lambda c: (
        p[f"chain {c}.motor.amplitude"]
        * np.sin(p[f"chain {c}.motor.frequency"] * run.t + p[f"chain {c}.motor.phase"])
    )
    return found, np.stack([wave(c) for c in "ABC"], axis=1)


@pytest.fixture(scope="module")
def four_bar():
    return driven_four_bar()


@pytest.mark.slow
def test_a_driven_four_bar_tells_its_torque(four_bar):
    """The multiplier of the drive is W θ; without noise the planted values come back."""
    found, u = four_bar
    found_values = found.identify(u, noise=1.0).values
    np.testing.assert_allclose(found_values, found.of(found.values), rtol=1e-6)
    assert found.rank == 4 and found.gap > 1e4
    # the crank turns evenly, and the rods' masses are seen through their common motion
    assert "crank.inertia" in found.null_names
    W, null = found.regressor, found.null
    assert np.abs(W @ null).max() <= 1e-8 * np.abs(W).max()
    assert "no motor notices: crank.inertia" in str(found)


def test_planted_values_of_a_four_bar_are_found_as_often_as_stated(four_bar):
    found, u = four_bar
    assert abs(coverage(found, u, 0.05 * np.std(u)) - 0.95) < 0.025
    # each by itself, with the noise estimated from the residual
    rng, true = np.random.default_rng(3), found.of(found.values)
    inside = []
    for _ in range(DRAWS):
        estimated = found.identify(u + 0.01 * rng.standard_normal(u.shape))
        inside.append(np.abs(estimated.values - true) <= estimated.uncertainty)
    np.testing.assert_allclose(np.mean(inside, axis=0), 0.95, atol=0.025)
    assert 0.005 < estimated.noise < 0.02 and "95 %" in str(estimated)


@pytest.mark.slow
def test_planted_values_of_a_3rrr_are_found_as_often_as_stated():
    found, u = driven_3rrr()
    np.testing.assert_allclose(
        found.identify(u, noise=1.0).values, found.of(found.values), rtol=1e-5
    )
    assert found.null.shape[1] > 0 and found.gap > 1e4
    assert abs(coverage(found, u, 0.02 * np.std(u)) - 0.95) < 0.025


def test_a_length_is_no_linear_parameter():
    system = zw.System(
        1,
        lambda q, t, p: p["m"] * p["l"] ** 2 * np.ones(1),
        lambda q, v, t, p: -p["m"] * p["l"] * q,
    )
    model = zw.Model(system, params={"m": 1.0, "l": 2.0}, name="rod")
    at = np.ones((4, 1)), np.ones((4, 1)), np.arange(4.0)[:, None], np.arange(4.0)
    with pytest.raises(ModelError, match="do not enter M and F linearly"):
        zw.analysis.base_parameters(model, ["l"], *at, [[1.0]])
    with pytest.raises(ModelError, match="has no"):
        zw.analysis.base_parameters(model, ["mass"], *at, [[1.0]])
    found = zw.analysis.base_parameters(model, ["m"], *at, [[1.0]])
    np.testing.assert_allclose(found.regressor[:, 0], 4 * np.arange(4.0) + 2 * 1.0)


def test_identified_masses_are_those_of_real_bodies(four_bar):
    """With much noise some come out negative; of all real ones none are nearer."""
    found, u = four_bar
    rng = np.random.default_rng(1)
    exact = found.physical(found.identify(u, 1.0))
    np.testing.assert_allclose(exact, found.values, rtol=1e-6)
    identified = found.identify(u + 2.0 * np.std(u) * rng.standard_normal(u.shape), 2.0 * np.std(u))
    bodies = found.physical(identified)
    assert np.all(bodies >= 0) and np.any(bodies < 1e-9)
    nearest = identified.distance(found.of(bodies))
    assert nearest > 1e-3
    for _ in range(300):
        other = np.maximum(bodies + 0.3 * rng.standard_normal(len(bodies)), 0.0)
        assert identified.distance(found.of(other)) >= nearest * (1 - 1e-9)


def oscillator(t, amplitudes, load=None):
    """m, d and k of a driven oscillator from a motion of sines with periods of 6, 3 and 2 s; of
    load-dependent friction, too, where the torque that it rests on is known.
    """
    waves = np.array(amplitudes)[:, None] * np.sin(np.outer([1, 2, 3], t) * np.pi / 3)
    rates = np.array([1, 2, 3])[:, None] * np.pi / 3
    q, a = waves.sum(0), -(rates**2 * waves).sum(0)
    v = (np.array(amplitudes)[:, None] * rates * np.cos(np.outer([1, 2, 3], t) * np.pi / 3)).sum(0)
    names, params = ["m", "d", "k"], {"m": 2.0, "d": 3.0, "k": 5.0}
    table = np.zeros_like(t) if load is None else load

    def force(q, v, t_, p):
        rubbed = p.get("friction", 0.0) * jnp.interp(t_, t, np.abs(table)) * jnp.sign(v)
        return -p["d"] * v - p["k"] * q - rubbed

    if load is not None:
        names, params = [*names, "friction"], {**params, "friction": 0.08}
    system = zw.System(1, lambda q, t, p: p["m"] * jnp.ones(1), force)
    model = zw.Model(system, params=params, name="oscillator")
    samples = q[:, None], v[:, None], a[:, None], t
    return zw.analysis.base_parameters(model, names, *samples, [[1.0]]), (q, v, a)


def test_a_motion_that_excites_has_a_smaller_condition_number():
    """It is that of the columns by their parameters, and falls where a search says so."""
    t = np.linspace(0.0, 6.0, 40)
    found, (q, v, a) = oscillator(t, [1.0, 0.05, 0.0])
    columns = np.stack([2.0 * a, 3.0 * v, 5.0 * q], 1)
    assert found.rank == 3
    np.testing.assert_allclose(found.condition, np.linalg.cond(columns), rtol=1e-9)
    best = minimize(
        lambda x: np.log(oscillator(t, x)[0].condition),
        [1.0, 0.05, 0.0],
        method="Nelder-Mead",
        options={"maxfev": 25},
    )
    assert np.exp(best.fun) < 0.7 * found.condition


def test_friction_that_grows_with_the_torque_is_a_parameter_like_others():
    """u = m a + d v + k q + f |u| sgn v, with what was measured as the load."""
    t = np.linspace(0.0, 6.0, 60)
    _, (q, v, a) = oscillator(t, [1.0, 0.5, 0.3])
    other = 2.0 * a + 3.0 * v + 5.0 * q
    u = other / (1 - 0.08 * np.sign(v) * np.sign(other))
    found, _ = oscillator(t, [1.0, 0.5, 0.3], load=u)
    assert found.rank == 4
    np.testing.assert_allclose(
        found.identify(u[:, None], 1.0).values, [2.0, 3.0, 5.0, 0.08], rtol=1e-9
    )
    noisy = u + 0.01 * np.random.default_rng(0).standard_normal(len(t))
    told = oscillator(t, [1.0, 0.5, 0.3], load=noisy)[0].identify(noisy[:, None])
    assert np.all(np.abs(told.values - [2.0, 3.0, 5.0, 0.08]) < 3 * told.uncertainty)
