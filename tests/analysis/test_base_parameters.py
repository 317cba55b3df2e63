"""Base parameters of closed chains, and what is found from torques with noise."""

import numpy as np
import pytest
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


@pytest.fixture(scope="module")
def four_bar():
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
    u = np.stack([wave(c) for c in "ABC"], axis=1)
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
