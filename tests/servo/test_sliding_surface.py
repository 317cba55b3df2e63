"""A smooth control and one with a layer keep the error within their stated bounds, for random
values within their assumptions.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo import models
from zwang.errors import ModelError

K, LAYER, MISMATCH = 2.0, 0.05, 0.25
"""Masses from 0.8 to 1.2 kg where 1 kg is believed: 1/0.8 − 1 is the most that e can be."""
BOUND = 0.25 * (1 + K * 2 * LAYER) + 1.25 * (0.5 * (1 + LAYER / K) + 1.0)
"""Of d: (m₀/m − 1)(ẍ_d − k ė), a spring that is off by 0.5 N/m at |x| ≤ 1 + ε/k, a load of 1 N."""
SURFACE = zw.servo.SlidingSurface(K, bound=BOUND, layer=LAYER, mismatch=MISMATCH)
ROBUST = zw.servo.Robust(K, bound=BOUND + 0.75 * K * LAYER, layer=LAYER, mismatch=MISMATCH)
"""Of d₀: (m₀/m − 1)(ẍ_d − 2 k ė − k² e) in place of the first term."""


def driven(gain):
    """A mass on a spring under an unknown load, which is to follow sin t."""

    def force(q, v, t, p):
        return -p["spring"] * q + p["load"] * jnp.sin(p["pitch"] * t)

    system = zw.System(1, lambda q, t, p: p["m"] * jnp.ones(1), force, coordinates=("x",))
    follow = zw.Holonomic(lambda q, t, p: q[0] - jnp.sin(t), name="follow")
    servo = zw.Servo([follow], [[1.0]], gains=gain)
    params = {"m": 1.0, "spring": 2.0, "load": 0.0, "pitch": 3.0}
    return zw.Model(system, params=params, servo=servo, name="mass")


@pytest.mark.parametrize(
    ("gain", "cases"),
    [(SURFACE, 1000), (ROBUST, 20), pytest.param(ROBUST, 1000, marks=pytest.mark.slow)],
)
def test_of_uncertain_systems_none_leaves_the_bounds(gain, cases):
    """|y| ≤ ε/k and |ẏ| ≤ 2 ε from the nominal start on, for a controller of the nominal system."""
    model = driven(gain)
    over = {"m": "0.8:1.2", "spring": "1.5:2.5", "load": "-1:1", "pitch": "0.2:12"}
    study = zw.monte_carlo(
        zw.Loop(model=model),
        model,
        over,
        ([0.0], [1.0]),
        cases=cases,
        seed=7,
        duration=8.0,
        samples=161,
        rtol=1e-7,
        outputs={
            "error": lambda t, q, v: float(np.max(np.abs(q[:, 0] - np.sin(t)))),
            "rate": lambda t, q, v: float(np.max(np.abs(v[:, 0] - np.cos(t)))),
        },
    )
    error, rate = (np.asarray(study.dataset[x]) for x in ("error", "rate"))
    assert error.shape == (cases,) and np.all(np.isfinite(error))
    assert rate.max() <= float(SURFACE.rate_bound)
    # near enough that the bound means something
    assert 0.2 * bound_of(gain) < error.max() <= bound_of(gain)


def bound_of(gain):
    """What it states of |y| for a start on the nominal motion."""
    stated = gain.error_bound if gain is SURFACE else gain.ultimate_bound(2)
    return float(stated)


@pytest.mark.parametrize("gain", [SURFACE, ROBUST], ids=["smooth", "layer"])
def test_beyond_its_assumptions_the_bound_does_not_hold(gain):
    """A load of 20 N where 1 N is assumed."""
    model = driven(gain)
    run = models.with_other_numbers(model, [0.0], [1.0], 4.0, {"load": 20.0, "pitch": 0.5})
    assert np.abs(run.q[:, 0] - np.sin(run.t)).max() > bound_of(gain)


def test_against_a_constant_load_the_error_is_that_of_a_cubic():
    """At rest, ε (d/β)^(1/3) / k = y."""
    load = 1.5
    gain = zw.servo.SlidingSurface(4.0, bound=2.0, layer=0.1)
    model = driven(gain)
    rest = zw.Holonomic(lambda q, t, p: q[0], name="rest")
    servo = zw.Servo([rest], [[1.0]], gains=gain)
    still = zw.Model(model.system, params={**model.params, "load": 0.0}, servo=servo)
    believed = zw.Model(model.system, params=model.params, servo=servo)
    # a spring that pulls by 1.5 N at y: 2 y is known, the rest is a load
    pulled = zw.System(
        1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -2.0 * q + load, coordinates=("x",)
    )
    plant = zw.Model(pulled, params=still.params, servo=servo)
    run = zw.simulate(plant, [0.0], [0.0], duration=60.0, loop=zw.Loop(model=believed), samples=3)
    np.testing.assert_allclose(run.q[-1, 0], 0.1 * (load / 2.0) ** (1 / 3) / 4.0, rtol=1e-6)


def test_settings_that_make_no_sense_are_refused():
    for options, says in (
        ({"mismatch": 1.0}, "mismatch is 1.0, expected 0 or more"),
        ({"power": 2}, "power is 2, expected an odd whole number"),
        ({"layer": 0.0}, "layer is 0.0"),
    ):
        with pytest.raises(ModelError, match=says):
            zw.servo.SlidingSurface(2.0, **{"bound": 1.0, "layer": 0.1, **options})
    with pytest.raises(ModelError, match="of order 2"):
        speed = zw.Nonholonomic(lambda q, v, t, p: v, name="speed")
        zw.Servo([speed], [[1.0]], gains=SURFACE)


def test_in_the_metric_of_the_inverse_mass_actuators_act_as_a_passive_constraint():
    """W = M⁻¹ and B = I: Gauss's principle, the ideal constraint force (Udwadia 2008)."""

    def mass_matrix(q, t, p):
        c = jnp.cos(q[1])
        return jnp.array([[3.0, 0.0, 0.2], [0.0, 2.0, 0.0], [0.2, 0.0, 1.0]]) + c * jnp.ones((3, 3))

    system = zw.System(3, mass_matrix, lambda q, v, t, p: jnp.stack([q[1], -v[0], q[2] * v[1]]))
    sphere = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="sphere")
    inverse = lambda q, v, t, p: jnp.linalg.inv(mass_matrix(q, t, p))
    servo = zw.Servo([sphere], np.eye(3), null_space=zw.servo.WeightedNorm(inverse))
    at = [0.6, 0.8, 0.0], [0.8, -0.6, 0.3]
    u = zw.control(zw.Model(system), servo, *at).u
    passive = zw.motion(zw.Model(system, [sphere]), *at).constraint_force
    np.testing.assert_allclose(u, passive, rtol=1e-9, atol=1e-12)
    plain = zw.servo.WeightedNorm(np.diag([1.0, 4.0, 9.0]))
    one, other = (
        zw.control(zw.Model(system), zw.Servo([sphere], np.eye(3), null_space=x), *at).u
        for x in (plain, zw.servo.WeightedNorm([1.0, 4.0, 9.0]))
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)
    with pytest.raises(ModelError, match="symmetric positive definite"):
        zw.servo.WeightedNorm(np.array([[1.0, 2.0], [2.0, 1.0]]))
