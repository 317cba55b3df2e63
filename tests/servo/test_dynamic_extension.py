"""Inputs that act on the servo constraints at too low a derivative become states."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

HOVER = [0.0, 0.0, 0.0]
REST = [0.0, 0.0, 0.0]
P = {"m": 1.5, "J": 0.1, "g": 9.81}


def quadrotor(fx=lambda t: 0.5 * jnp.sin(t), fy=lambda t: 0.2 * t, actuation=None):
    """A planar quadrotor and a servo that tracks x(t) and y(t) with thrust and torque."""
    system = zw.System(
        3,
        lambda q, t, p: jnp.stack([p["m"], p["m"], p["J"]]),
        lambda q, v, t, p: jnp.stack([0.0 * p["g"], -p["m"] * p["g"], 0.0 * p["g"]]),
        potential=lambda q, t, p: p["m"] * p["g"] * q[1],
        coordinates=("x", "y", "angle"),
        units=("m", "m", "rad"),
    )

    def along_body(q, t, p):
        return jnp.array([[-jnp.sin(q[2]), 0.0], [jnp.cos(q[2]), 0.0], [0.0, 1.0]])

    constraints = [
        zw.Holonomic(lambda q, t, p: q[0] - fx(t), name="x", unit="m"),
        zw.Holonomic(lambda q, t, p: q[1] - fy(t), name="y", unit="m"),
    ]
    servo = zw.Servo(
        constraints,
        along_body if actuation is None else actuation,
        actuators=["thrust", "torque"],
        actuator_units=["N", "N m"],
        gains=4.0,
    )
    return zw.Model(system, [], P, name="quadrotor"), servo


@pytest.fixture(scope="module")
def searched():
    """What is found, and the degrees that are tried for it."""
    # the package shows its function by that name
    module = importlib.import_module("zwang.servo.relative_degree")
    tried, reach = [], vars(module)["_reach"]

    def noted(dynamics, servo, degrees, state):
        tried.append(dict(degrees))
        return reach(dynamics, servo, degrees, state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_reach", noted)
        return zw.servo.dynamic_extension(*quadrotor(), HOVER, REST), tried


@pytest.fixture(scope="module")
def found(searched):
    return searched[0]


def test_rows_that_delayed_inputs_alone_reach_are_tried_from_the_next_degree_on(searched):
    """Once for each number of integrators, in general position, and once at the start."""
    assert searched[1] == [{"x": k, "y": k} for k in (2, 3, 4, 4)]


def test_a_hovering_quadrotor_needs_two_integrators_before_its_thrust(found):
    assert found.integrators == {"thrust": 2} and found.degrees == {"x": 4, "y": 4}
    assert found.inputs == {"thrust": pytest.approx(1.5 * 9.81)}
    assert found.sentence == (
        "dynamic extension: 2 integrators before 'thrust'; then relative degree 'x' 4, 'y' 4"
    )
    system = found.model.system
    assert system.coordinates == ("x", "y", "angle", "thrust")
    assert system.units == ("m", "m", "rad", "N") and system.velocity_units[-1] == "N/s"
    inner = found.servo.servo
    assert inner.names(2) == ("thrust''", "torque") and inner.units(2) == ("N/s²", "N m")
    assert found.servo.names(2) == ("thrust", "torque") and found.servo.units(2) == ("N", "N m")


@pytest.mark.slow
def test_the_control_is_that_of_the_actuators_and_the_integrators_are_told(found):
    """The thrust is the state, and the torque what the inner servo asks for."""
    q = found.q + np.array([0.02, 0.0, 0.1, 0.5])
    answer = zw.control(found.model, q=q, v=found.v, t=0.3)
    assert float(answer.u[0]) == q[3]
    force = [-q[3] * np.sin(0.1), q[3] * np.cos(0.1), answer.u[1]]
    np.testing.assert_allclose(answer.actuator_force[:3], force, rtol=1e-14)
    weight = [0.0, -1.5 * 9.81, 0.0]
    M = np.array([1.5, 1.5, 0.1])
    np.testing.assert_allclose(M * answer.acceleration[:3], force + np.array(weight), atol=1e-12)
    assert found.sentence in str(found.model) and found.sentence in repr(found.servo)
    assert found.sentence in str(zw.check(found.model, found.q, found.v))
    free = zw.motion(found.model.passive, found.q, found.v).acceleration
    np.testing.assert_allclose(free, [0.0, -9.81, 0.0, 0.0], atol=1e-12)


@pytest.mark.slow
def test_the_extended_quadrotor_converges_to_its_path(found):
    """From 0.1 m beside the path; all four poles of each error are at -4."""
    q = found.q + np.array([0.1, -0.1, 0.0, 0.0])
    run = zw.simulate(found.model, q, found.v, duration=6.0, samples=61, rtol=1e-9)
    t, error = run.t, run.q[:, :2] - np.stack([0.5 * np.sin(run.t), 0.2 * run.t], axis=1)
    assert np.abs(error[0]).max() > 0.05 and np.abs(error[-1]).max() < 1e-5
    # y starts with error -0.1 and rate -0.2; its derivatives 2 and 3 vanish at hover.
    e0, e1, k = -0.1, -0.2, 4.0
    c = [e0, e1 + k * e0]
    c += [k * c[1] - k**2 * e0 / 2]
    c += [(k**3 * c[0] - 3 * k**2 * c[1] + 6 * k * c[2]) / 6]
    exact = np.exp(-k * t) * (c[0] + c[1] * t + c[2] * t**2 + c[3] * t**3)
    np.testing.assert_allclose(error[:, 1], exact, atol=1e-6)
    assert run.warnings == ()
    # The rates of the controller's states are no kinetic energy, and their forces no power.
    v = run.v
    kinetic = 0.5 * (P["m"] * (v[:, 0] ** 2 + v[:, 1] ** 2) + P["J"] * v[:, 2] ** 2)
    np.testing.assert_allclose(run.dataset["kinetic_energy"], kinetic, rtol=1e-12)
    balance = run.dataset["energy_balance"]
    assert float(np.abs(balance).max()) < balance.attrs["work_uncertainty"] < 0.05


def test_the_search_for_degrees_extends_the_inputs_and_says_so(found):
    """At hover no actuator reaches x, and of x and y one alone can be met."""
    searched = zw.servo.with_found_degrees(*quadrotor(), HOVER, REST)
    assert searched.sentence == found.sentence
    assert searched.integrators == {"thrust": 2} and searched.servo.degrees == {"x": 4, "y": 4}
    np.testing.assert_allclose(searched.q, [*HOVER, 1.5 * 9.81], rtol=1e-12)
    one, other = (zw.control(x.model, x.servo, x.q, x.v, 0.1).u for x in (searched, found))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_quadrotor_whose_torque_alone_is_driven_is_extended_nowhere():
    """A servo that its actuators reach is given its degrees, and the state stays as it is."""
    model, servo = quadrotor()
    height = zw.Servo(servo.constraints[1:], servo.actuation, actuators=servo.actuators, gains=4.0)
    found = zw.servo.with_found_degrees(model, height, HOVER, REST, params={"m": 3.0})
    assert found.integrators == {} and found.degrees == {"y": 2} and len(found.q) == 3
    assert "no integrators are needed" in found.sentence
    assert float(found.model.params["m"]) == 3.0
    with pytest.raises(zw.ModelError, match="no integrators are needed.*omit inputs="):
        zw.servo.with_found_degrees(model, height, HOVER, REST, inputs={"thrust": 9.0})
    push = zw.control(found.model, found.servo, HOVER, [0.0, 0.2, 0.0]).u
    np.testing.assert_allclose(push, [3.0 * 9.81, 0.0], atol=1e-9)


@pytest.mark.slow
def test_a_quadrotor_without_thrust_is_said_to_be_singular():
    with pytest.raises(zw.ModelError, match=r"in general, but not at this state: .*inputs="):
        zw.servo.dynamic_extension(*quadrotor(), HOVER, REST, inputs={"thrust": 0.0})


def test_where_no_integrators_help_it_is_said():
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: -q)
    other = zw.Holonomic(lambda q, t, p: q[1], name="other")
    model, servo = zw.Model(system, name="two oscillators"), zw.Servo([other], [[1.0], [0.0]])
    for search in (zw.servo.dynamic_extension, zw.servo.with_found_degrees):
        with pytest.raises(zw.ModelError, match="no actuator reaches 'other'.*does not help"):
            search(model, servo, [0.1, 0.2], [0.3, 0.4])


@pytest.mark.slow
def test_actuators_that_act_alike_are_combined():
    """Two rotors: both appear at once in x and y, and neither can be delayed alone."""

    def rotors(q, t, p):
        s, c = jnp.sin(q[2]), jnp.cos(q[2])
        return jnp.array([[-s, -s], [c, c], [0.2, -0.2]])

    found = zw.servo.dynamic_extension(*quadrotor(actuation=rotors), HOVER, REST)
    assert found.integrators == {"thrust + torque": 2} and found.degrees == {"x": 4, "y": 4}
    assert found.inputs == pytest.approx({"thrust": 0.75 * 9.81, "torque": 0.75 * 9.81})
    assert found.model.system.units[-1] == ""  # of a sum of N and N m
    # the same motion as by thrust and torque, with forces of the rotors
    one = zw.servo.dynamic_extension(*quadrotor(), HOVER, REST)
    start = np.array([0.02, -0.01, 0.1, 15.0]), np.array([0.1, 0.0, -0.2, 0.3])
    ours, theirs = (zw.control(x.model, x.servo, *start, 0.2) for x in (found, one))
    left, right = ours.u
    np.testing.assert_allclose([left + right, 0.2 * (left - right)], theirs.u, rtol=1e-9)


@pytest.mark.slow
def test_a_load_on_a_rigid_rope_follows_its_path_by_tension_and_trolley():
    """An overhead crane whose winch sets the rope's tension: the flat closed form.

    T n = m (Ẍ, Ÿ + g),  s = X − Y n_x/n_y; the trolley's force m_t s̈ + T n_x.
    """
    trolley, load, g = 300.0, 1000.0, 9.81
    system = zw.System(
        3,
        lambda q, t, p: jnp.array([trolley, load, load]),
        lambda q, v, t, p: jnp.array([0.0, 0.0, -load * g]),
        coordinates=("trolley", "x", "y"),
    )

    def rope(q, t, p):
        across, up = q[0] - q[1], -q[2]
        n = jnp.stack([across, up]) / jnp.hypot(across, up)
        return jnp.stack([jnp.array([1.0, 0.0, 0.0]), jnp.stack([-n[0], n[0], n[1]])], axis=1)

    share = lambda t: t**5 * (126 - 420 * t + 540 * t**2 - 315 * t**3 + 70 * t**4)
    path = lambda t: jnp.stack([8 * share(t / 6), -6 + 3 * share(t / 6)])
    rows = [
        zw.Holonomic(lambda q, t, p, i=i: q[1 + i] - path(t)[i], name=n) for i, n in enumerate("xy")
    ]
    servo = zw.Servo(rows, rope, actuators=["trolley force", "tension"], gains=2.0)
    crane = zw.Model(system, name="crane")
    found = zw.servo.with_found_degrees(crane, servo, [0.0, 0.0, -6.0], [0.0, 0.0, 0.0])
    assert found.integrators == {"tension": 2} and found.degrees == {"x": 4, "y": 4}
    run = zw.simulate(found.model, found.q, found.v, times=[0.0, 2.0, 3.1, 5.0], rtol=1e-11)
    assert run.dataset.attrs["control_law"] == found.sentence

    def flat(t):
        lift = jax.jacfwd(jax.jacfwd(path))(t) + jnp.array([0.0, g])
        x, y = path(t)
        return jnp.stack([x - y * lift[0] / lift[1], x, y]), load * lift

    place, pull = (np.array(x) for x in zip(*map(flat, run.t), strict=True))
    np.testing.assert_allclose(run.q[:, :3], place, atol=1e-9)
    tension = np.linalg.norm(pull, axis=1)
    bent = np.array([jax.jacfwd(jax.jacfwd(lambda t: flat(t)[0][0]))(t) for t in run.t])
    u = np.stack([trolley * bent + pull[:, 0], tension], axis=1)
    np.testing.assert_allclose(run.dataset["control"], u, rtol=1e-8, atol=1e-5)


@pytest.mark.slow
def test_three_forces_move_a_load_on_a_rod_in_space():
    """What pulls along the rod is one of three inputs, and turns with it. The flat closed form:

    n = (z̈ + g) / |z̈ + g|, the carrier at c = z + L n, its force M (c̈ + g) + m (z̈ + g).
    """
    carrier, load, length = 3.0, 0.8, 1.2
    g = np.array([0.0, 0.0, 9.81])
    system = zw.System(
        6,
        lambda q, t, p: jnp.repeat(jnp.array([carrier, load]), 3),
        lambda q, v, t, p: -jnp.concatenate([carrier * g, load * g]),
    )
    rod = zw.Holonomic(lambda q, t, p: jnp.sum((q[:3] - q[3:]) ** 2) - length**2, name="rod")
    path = lambda t: jnp.stack([0.6 * jnp.sin(1.5 * t), 0.5 * jnp.cos(t), 0.3 * jnp.sin(2 * t)])
    rows = [
        zw.Holonomic(lambda q, t, p, i=i: q[3 + i] - path(t)[i], name=n)
        for i, n in enumerate("xyz")
    ]
    servo = zw.Servo(rows, np.eye(6)[:, :3], actuators=["fx", "fy", "fz"], gains=3.0)
    d = jax.jacfwd
    lift = lambda t: d(d(path))(t) + g
    top = lambda t: path(t) + length * lift(t) / jnp.linalg.norm(lift(t))
    place = lambda t: jnp.concatenate([top(t), path(t)])
    force = lambda t: carrier * (d(d(top))(t) + g) + load * lift(t)
    at, rate, push = (jax.jit(f) for f in (place, d(place), force))
    start = dict(zip(("fx", "fy", "fz"), push(0.0).tolist(), strict=True))
    hung = zw.Model(system, [rod], name="sling")
    found = zw.servo.dynamic_extension(hung, servo, at(0.0), rate(0.0), inputs=start)
    assert found.degrees == {"x": 4, "y": 4, "z": 4}
    (integrators,) = found.integrators.values()
    assert integrators == 2
    run = zw.simulate(found.model, found.q, found.v, times=[0.0, 0.7, 1.9, 3.0], rtol=1e-11)
    for t, q, u in zip(run.t, run.q, run.dataset["control"].values, strict=True):
        np.testing.assert_allclose(q[:6], at(t), atol=1e-10)
        np.testing.assert_allclose(u, push(t), atol=1e-9)


def test_a_system_that_needs_no_integrators_gets_none():
    system = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: -q)
    servo = zw.Servo([zw.Holonomic(lambda q, t, p: q[0], name="place")], [[1.0]], gains=2.0)
    found = zw.servo.dynamic_extension(zw.Model(system), servo, [0.1], [0.0])
    assert found.integrators == {} and found.degrees == {"place": 2}
    assert "no integrators are needed" in found.sentence


def test_limits_of_an_actuator_that_becomes_a_state_are_refused():
    model, servo = quadrotor()
    limited = zw.Servo(
        servo.constraints, servo.actuation, limits=zw.servo.Limits(0.0, 20.0), gains=4.0
    )
    with pytest.raises(zw.ModelError, match="limits= cannot be used"):
        zw.servo.dynamic_extension(model, limited, HOVER, REST)
