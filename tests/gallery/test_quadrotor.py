"""The quadrotor's motion and rotor forces compared with a separate differentiation of the flat
outputs.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

GENTLE = {"eight": 8.0, "flip": 2.4}


def path_of(kind, travel_time):
    """The path by itself, shape (3,)."""

    def place(t):
        tau = t / travel_time
        s = tau**5 * (126 - 420 * tau + 540 * tau**2 - 315 * tau**3 + 70 * tau**4)
        a = 2 * jnp.pi * s
        if kind == "flip":
            return jnp.stack([jnp.sin(a), 0 * a, 1 - jnp.cos(a)])
        return jnp.stack([jnp.sin(a), 0.5 * jnp.sin(2 * a), 0.25 * (1 - jnp.cos(a))])

    return place


def rotor_forces(place, t):
    """By Newton and Euler along the path: thrust m |p̈ + g|, torque by how the axes turn."""
    J = jnp.array([0.012, 0.012, 0.022])

    def axes(t):
        lift = jax.jacfwd(jax.jacfwd(place))(t) + jnp.array([0.0, 0.0, 9.81])
        up = lift / jnp.linalg.norm(lift)
        ahead = jnp.cross(jnp.array([0.0, 1.0, 0.0]), up)
        ahead = ahead / jnp.linalg.norm(ahead)
        return jnp.stack([ahead, jnp.cross(up, ahead), up], axis=1), jnp.linalg.norm(lift)

    def spin(t):
        R, turning = axes(t)[0], jax.jacfwd(lambda t: axes(t)[0])(t)
        W = R.T @ turning
        return jnp.stack([W[2, 1], W[0, 2], W[1, 0]])

    w, alpha = spin(t), jax.jacfwd(spin)(t)
    wanted = jnp.concatenate([1.2 * axes(t)[1][None], J * alpha + jnp.cross(w, J * w)])
    mix = [[1, 1, 1, 1], [0, 0.2, 0, -0.2], [-0.2, 0, 0.2, 0], [0.02, -0.02, 0.02, -0.02]]
    return jnp.linalg.solve(jnp.array(mix), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["flip", pytest.param("eight", marks=pytest.mark.slow)])
def test_the_flight_is_the_flat_closed_form(kind):
    """From rest; the loop turns the craft over, and rotors only push."""
    T = GENTLE[kind]
    flown = zw.gallery.load("quadrotor", path=kind, travel_time=T)
    times = T * np.array([0.0, 0.3, 0.5, 0.55, 0.8])
    run = zw.simulate(flown.model, flown.q0, flown.v0, times=times, rtol=1e-11)
    exact = flown.exact(run.t)
    found = dict(zip(run.model.system.coordinates, run.q.T, strict=True))
    for name, x in exact.items():
        np.testing.assert_allclose(found[name], x, atol=1e-9, err_msg=name)
    place = jax.jit(path_of(kind, T))
    np.testing.assert_allclose(run.q[:, :3], [place(t) for t in run.t], atol=1e-9)
    forces = jax.jit(lambda t: rotor_forces(path_of(kind, T), t))
    wanted = np.array([forces(t) for t in run.t])
    np.testing.assert_allclose(run.dataset["control"], wanted, atol=1e-8)
    assert wanted.min() > 0 and tuple(run.dataset["actuator"].values) == (
        "front",
        "left",
        "back",
        "right",
    )
    upright = 1 - 2 * (run.q[:, 4] ** 2 + run.q[:, 5] ** 2)
    assert (upright.min() < -0.9) == (kind == "flip")


@pytest.mark.slow
def test_what_the_member_states_is_what_the_search_finds():
    flown = zw.gallery.load("quadrotor")
    law = flown.model.servo
    home = law.chains.system
    rows = [c.constraint for c in law.servo.constraints]
    servo = zw.Servo(rows, law.actuation, actuators=law.actuators, gains=4.0)
    model = zw.Model(home, params=flown.model.params, name="quadrotor")
    found = zw.servo.with_found_degrees(model, servo, flown.q0[:7], flown.v0[:6])
    assert found.sentence == law.remark
    assert found.integrators == {"front + left + back + right": 2}
    np.testing.assert_allclose(found.q, flown.q0, atol=1e-12)
