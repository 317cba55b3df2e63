"""A smooth control at rest, its settings, and the metric of the controls."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.servo.uncertain import SURFACE, mass
from zwang.errors import ModelError


def test_against_a_constant_load_the_error_is_that_of_a_cubic():
    """At rest, ε (d/β)^(1/3) / k = y."""
    load = 1.5
    gain = zw.servo.SlidingSurface(4.0, bound=2.0, layer=0.1)
    model, _ = mass(gain)
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
