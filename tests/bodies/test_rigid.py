"""Bodies in space."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.eager import compilations
from zwang.bodies import Body, RigidBodies
from zwang.bodies.rotation import from_axis_angle, rotation_matrix

TURN = np.asarray(rotation_matrix(from_axis_angle([1.0, 2.0, -0.5], 0.8)))
PRINCIPAL = RigidBodies(
    [
        Body("a", 1.0, (1.0, 2.0, 2.5)),
        Body("b", 3.0, (0.3, 0.4, 0.6)),
        Body("c", 0.5, (0.1, 0.1, 0.05)),
    ]
)
FULL = RigidBodies(
    [Body(b.name, b.mass, TURN @ np.diag(b.inertia) @ TURN.T) for b in PRINCIPAL.bodies]
)


def rate_along(function, q, v, bodies):
    """Rate of function(q) along the motion q̇ = N v."""
    return jax.jit(lambda q, v: jax.jvp(function, (q,), (bodies.system.rate(q, v, 0.0, None),))[1])(
        q, v
    )


def state(seed=5, nb=3):
    random = np.random.default_rng(seed)
    q = random.standard_normal((nb, 7))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    return jnp.asarray(q.ravel()), jnp.asarray(random.standard_normal(6 * nb))


def parameters(bodies):
    return zw.Model(bodies.system, params=bodies.params).params


def test_mass_matrix_is_diagonal_in_principal_axes_and_in_blocks_otherwise():
    q, _ = state()
    assert PRINCIPAL.system.mass_matrix(q, 0.0, parameters(PRINCIPAL)).shape == (18,)
    assert FULL.system.mass_matrix(q, 0.0, parameters(FULL)).shape == (3, 6, 6)


def test_velocity_of_a_point_is_the_rate_of_its_place():
    q, v = state()
    rate = rate_along(lambda q: PRINCIPAL.point(q, "b", (0.3, -0.7, 0.2)), q, v, PRINCIPAL)
    assert np.allclose(PRINCIPAL.velocity(q, v, "b", (0.3, -0.7, 0.2)), rate, atol=1e-14)


def test_velocity_map_is_the_slope_of_the_retraction_at_unit_length():
    q, v = state()
    slope = jax.jit(jax.jacfwd(lambda h: PRINCIPAL.system.move(q, h * v, 0.0, None)))(0.0)
    assert np.allclose(PRINCIPAL.system.rate(q, v, 0.0, None), slope, atol=1e-14)


def test_products_with_the_velocity_map_do_not_form_it():
    q, v = state()
    N = PRINCIPAL.system.velocity_map(q, 0.0, None)
    assert N.shape == (21, 18)
    assert np.allclose(PRINCIPAL.system.along(q, v, 0.0, None), N @ v, atol=1e-15)
    formed = str(jax.make_jaxpr(lambda v: PRINCIPAL.system.along(q, v, 0.0, None))(v))
    assert "21,18" not in formed


def test_retraction_keeps_unit_length_and_is_finite_without_a_step():
    q, v = state()
    for step in (v, 0 * v, 1e-9 * v):
        moved = PRINCIPAL.system.move(q, step, 0.0, None).reshape(3, 7)
        assert np.allclose(np.linalg.norm(moved[:, 3:], axis=1), 1.0, atol=1e-15)
    assert np.allclose(PRINCIPAL.system.move(q, 0 * v, 0.0, None), q, atol=1e-15)


def test_several_bodies_are_single_bodies_side_by_side():
    q, v = state()
    p = parameters(FULL)
    F = jax.jit(FULL.system.force)(q, v, 0.0, p)
    for i, body in enumerate(FULL.bodies):
        alone = RigidBodies([body])
        own = jax.jit(alone.system.force)(
            q[7 * i : 7 * i + 7], v[6 * i : 6 * i + 6], 0.0, parameters(alone)
        )
        assert np.allclose(F[6 * i : 6 * i + 6], own, atol=1e-14)
        assert np.allclose(
            FULL.point(q, slice(None), (1.0, 2.0, 3.0))[i],
            FULL.point(q, body.name, (1.0, 2.0, 3.0)),
            atol=1e-15,
        )


def test_a_full_inertia_matrix_is_a_principal_one_in_turned_axes():
    """Euler's equation in turned body axes: J → T J Tᵀ, ω → T ω, torque → T torque."""
    q, v = state()
    turned = (v.reshape(3, 6).at[:, 3:].set(v.reshape(3, 6)[:, 3:] @ TURN.T)).ravel()
    F = jax.jit(PRINCIPAL.system.force)(q, v, 0.0, parameters(PRINCIPAL)).reshape(3, 6)
    full = jax.jit(FULL.system.force)(q, turned, 0.0, parameters(FULL)).reshape(3, 6)
    assert np.allclose(full[:, :3], F[:, :3], atol=1e-14)
    assert np.allclose(full[:, 3:], F[:, 3:] @ TURN.T, atol=1e-13)
    energies = (
        b.system.energy(q, x, 0.0, parameters(b))[0] for b, x in ((PRINCIPAL, v), (FULL, turned))
    )
    assert np.isclose(*energies, rtol=1e-14)


def test_a_potential_pulls_along_its_slope_and_does_the_work_that_it_loses():
    """Power of the derived force, v · F, is minus the rate of the potential."""
    spring = lambda q, t, p: (
        4.0
        * jnp.sum(
            (PRINCIPAL.point(q, "a", (1.0, 0.0, 0.0)) - PRINCIPAL.point(q, "c", (0.0, 1.0, 0.0)))
            ** 2
        )
    )
    bodies = RigidBodies(
        PRINCIPAL.bodies, potential=spring, wrench=lambda q, v, t, p: jnp.zeros((3, 6))
    )
    q, v = state()
    p = parameters(bodies)
    rate = rate_along(lambda q: bodies.system.potential(q, 0.0, p), q, v, bodies)
    assert np.isclose(v @ jax.jit(bodies.system.force)(q, v, 0.0, p), -rate, rtol=1e-13)


@pytest.fixture(scope="module")
def tumbling():
    """Three free bodies with full inertia, without gravity, for 5 s."""
    bodies = RigidBodies(FULL.bodies, gravity=(0.0, 0.0, 0.0))
    model = zw.Model(bodies.system, params=bodies.params)
    return bodies, model, zw.simulate(model, *state(), times=np.linspace(0.5, 5.0, 10), rtol=1e-11)


def test_torque_free_bodies_keep_energy_and_angular_momentum(tumbling):
    """To 1e-9 over 5 s at an error of 1e-11 per step."""
    bodies, model, run = tumbling
    q, v = jnp.asarray(run.steps.y[:, :21]), jnp.asarray(run.steps.y[:, 21:])

    def angular_momentum(q, v):
        spin = jnp.einsum("bij,bj->bi", model.params["inertia"], v.reshape(3, 6)[:, 3:])
        return jnp.einsum("bij,bj->bi", bodies.rotation(q, slice(None)), spin)

    energy = jax.vmap(lambda q, v: model.system.energy(q, v, 0.0, model.params)[0])(q, v)
    momentum = jax.vmap(angular_momentum)(q, v)
    assert np.ptp(energy) < 1e-9 * energy[0]
    assert np.max(np.abs(momentum - momentum[0])) < 1e-9 * np.abs(momentum).max()


def test_quaternions_stay_at_unit_length_along_a_run(tumbling):
    q = tumbling[2].steps.y[:, :21].reshape(-1, 3, 7)
    assert np.max(np.abs(np.linalg.norm(q[..., 3:], axis=2) - 1)) < 1e-15


def test_other_masses_and_inertias_compile_nothing_and_change_the_motion(tumbling):
    bodies, model, run = tumbling
    with compilations() as compiled:
        other = zw.simulate(
            model,
            *state(),
            times=run.t,
            rtol=1e-11,
            params={"mass": [1.0, 1.0, 1.0], "inertia": 2 * bodies.params["inertia"][::-1]},
        )
    assert not compiled
    assert np.max(np.abs(other.q - run.q)) > 0.1


@pytest.mark.slow
def test_motion_is_differentiable_in_mass_and_inertia():
    """d(angular acceleration)/d(inertia) by autodiff against a central difference, step 1e-6."""
    bodies = RigidBodies([Body("a", 1.0, (1.0, 2.0, 2.5))], gravity=(0.0, 0.0, 0.0))
    model = zw.Model(bodies.system, params=bodies.params)
    q, v = state(nb=1)

    def acceleration(inertia):
        return zw.motion(model, q, v, params={"inertia": inertia[None]}).acceleration

    J, h = jnp.array([1.0, 2.0, 2.5]), 1e-6
    slope = jax.jacfwd(acceleration)(J)
    difference = np.stack(
        [(acceleration(J + h * e) - acceleration(J - h * e)) / (2 * h) for e in np.eye(3)], axis=1
    )
    assert np.allclose(slope, difference, atol=1e-8)


def test_an_inertia_of_wrong_shape_is_told_in_a_sentence():
    with pytest.raises(
        zw.ModelError, match="'a' has an inertia of shape .*expected three principal moments"
    ):
        RigidBodies([Body("a", 1.0, 2.0)])
