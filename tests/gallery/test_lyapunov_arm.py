"""A Lyapunov function as a row: it decays at the prescribed rate, and the torques are those of
least norm.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

import zwang as zw
from zwang.errors import ModelError


def test_the_functions_fall_as_they_say():
    """V(t) = V(0) exp(−2 b t/c), and V̇ + w of size 1e-12 from accelerations at samples."""
    example = zw.gallery.load("lyapunov-arm")
    run = zw.simulate(example.model, example.q0, example.v0, duration=5.0, samples=26, rtol=1e-11)
    q, v, a = run.q, run.v, run.dataset["acceleration"].values
    e = q - [np.pi / 2, 0.0]
    V = 2.5 * e**2 + e * v + 0.5 * v**2
    decay = np.exp(-2 * run.t)[:, None]
    np.testing.assert_allclose(V / decay, np.broadcast_to(V[0], V.shape), rtol=1e-7)
    change = (5.0 * e + v) * v + (e + v) * a
    assert np.max(np.abs(change + 2 * V)) <= 1e-12
    exact = example.exact(run.t)
    np.testing.assert_allclose(q, np.stack([exact["shoulder"], exact["elbow"]], 1), atol=1e-8)


def test_the_equations_are_those_of_the_lagrangian():
    """M and F of the arm beside the derivatives of its energies."""
    model = zw.gallery.load("lyapunov-arm").model.passive
    p = model.params

    def kinetic(q, v, t, p):
        def ends(q):
            a = p["length"] * jnp.stack([jnp.cos(q[0]), jnp.sin(q[0])])
            b = p["length"] * jnp.stack([jnp.cos(q[0] + q[1]), jnp.sin(q[0] + q[1])])
            return jnp.stack([a, a + b])

        rates = jax.jvp(ends, (q,), (v,))[1]
        return 0.5 * p["mass"] * jnp.sum(rates**2)

    free = zw.Model(zw.Lagrangian(kinetic, model.system.potential, nq=2), params=p)
    at = [0.4, -0.9], [1.1, 0.3]
    np.testing.assert_allclose(
        zw.motion(model, *at).acceleration, zw.motion(free, *at).acceleration, rtol=1e-12
    )


def test_one_degree_of_freedom_is_linear_whatever_the_system():
    """V = ½ a x² + b x v + ½ c v² with w = 2 b V/c: (b x + c v) (v̇ + (a/c) x + (2 b/c) v) = 0."""
    a, b, c = 5.0, 1.0, 1.0
    V = lambda q, v, t, p: 0.5 * a * q @ q + b * q @ v + 0.5 * c * v @ v
    system = zw.System(1, lambda q, t, p: jnp.array([2.0]), lambda q, v, t, p: 9.0 * jnp.sin(q))
    servo = zw.Servo([zw.servo.Lyapunov(V, 2 * b / c)], np.eye(1))
    run = zw.simulate(
        zw.Model(system, servo=servo), [1.0], [0.0], duration=1.0, samples=5, rtol=1e-11
    )
    motion = np.array([[0.0, 1.0], [-a / c, -2 * b / c]])
    exact = np.array([expm(motion * t) @ [1.0, 0.0] for t in run.t])
    np.testing.assert_allclose(np.hstack([run.q, run.v]), exact, atol=1e-8)


def test_a_decay_that_is_none_is_refused():
    with pytest.raises(ModelError, match="decay"):
        zw.servo.Lyapunov(lambda q, v, t, p: q @ q, -1.0)
