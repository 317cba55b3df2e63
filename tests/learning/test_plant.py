"""The discrete-time step compared with runs and the linearization, and under JAX's
transformations.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

LENGTH, GRAVITY = 0.5, 9.81
UPRIGHT = [0.0, 0.0, 0.0, LENGTH]


def cart_pole(servo=None):
    """A cart of 1 kg on a rail and a bob of 0.2 kg on a rod."""
    system = zw.System(
        4,
        lambda q, t, p: jnp.array([1.0, 1.0, 0.2, 0.2]),
        lambda q, v, t, p: jnp.stack([p["push"], 0.0, 0.0, -0.2 * GRAVITY]),
        coordinates=("cart.x", "cart.y", "bob.x", "bob.y"),
    )
    rail = zw.Holonomic(lambda q, t, p: q[1], name="rail")
    rod = zw.Holonomic(
        lambda q, t, p: (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - LENGTH**2, name="rod"
    )
    return zw.Model(system, [rail, rod], {"push": 0.0}, servo=servo, name="cart-pole")


@pytest.fixture(scope="module")
def plant():
    return zw.Plant(cart_pole(), ["cart.x"], q0=UPRIGHT, step=0.02)


def test_steps_with_a_held_force_follow_a_run(plant):
    state, advance = plant.start, jax.jit(plant.step)
    for u in (1.0, -2.0, 0.5):
        state = advance(state, jnp.array([u]))
        assert abs(float(state.q[1])) < 1e-15
    q, v, t = plant.start.q, plant.start.v, 0.0
    for u in (1.0, -2.0, 0.5):
        run = zw.trajectory(cart_pole(), q, v, [t, t + 0.02], params={"push": u}, rtol=1e-11)
        q, v, t = run.q[-1], run.v[-1], t + 0.02
    np.testing.assert_allclose(state.q, q, atol=1e-11)
    np.testing.assert_allclose(state.v, v, atol=1e-10)
    assert float(state.t) == pytest.approx(0.06)


@pytest.mark.slow
def test_a_parameter_acts_like_the_force_that_it_is(plant):
    named = zw.Plant(cart_pole(), ["push"], q0=UPRIGHT, step=0.02)
    u = jnp.array([1.7])
    np.testing.assert_allclose(
        named.step(named.start, u).v, plant.step(plant.start, u).v, rtol=1e-13, atol=1e-14
    )


@pytest.mark.slow
def test_its_derivative_is_the_sampled_linearization(plant):
    """x_{k+1} = e^{AT} x_k + ∫ e^{As} B ds u_k, along the motions that the constraints let
    through.
    """
    import scipy.linalg

    linear = zw.analysis.linearize(cart_pole(), q=UPRIGHT, inputs=["cart.x"])
    n = len(linear.A)
    both = scipy.linalg.expm(0.02 * np.block([[linear.A, linear.B], [np.zeros((1, n + 1))]]))
    state = lambda s: jnp.concatenate([s.q, s.v])
    into = jax.jacfwd(lambda u: state(plant.step(plant.start, u)))(jnp.zeros(1))
    np.testing.assert_allclose(linear.project @ into[:, 0], both[:n, n], rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_many_states_and_parameters_side_by_side(plant):
    starts = jax.tree_util.tree_map(lambda x: jnp.stack([x] * 3), plant.start)
    u = jnp.array([[0.0], [1.0], [-1.0]])
    found = jax.vmap(plant.step)(starts, u)
    one = plant.step(plant.start, u[1])
    np.testing.assert_allclose(found.q[1], one.q, rtol=1e-13, atol=1e-15)
    mirrored = found.v[2] * jnp.array([-1.0, 1.0, -1.0, 1.0])
    np.testing.assert_allclose(found.v[1], mirrored, rtol=1e-9, atol=1e-12)
    pushed = jax.vmap(lambda push: plant.step(plant.start, jnp.zeros(1), {"push": push}))
    np.testing.assert_allclose(pushed(u[:, 0]).v, found.v, rtol=1e-12, atol=1e-14)


def test_the_actuators_of_a_servo_are_the_inputs():
    path = zw.Holonomic(lambda q, t, p: q[0], name="path")
    servo = zw.Servo([path], np.array([[1.0], [0], [0], [0]]), actuators=["motor"], gains=3.0)
    plant = zw.Plant(cart_pole(servo), q0=UPRIGHT)
    assert plant.input_names == ("motor",) and plant.model.servo is None
    assert float(plant.step(plant.start, jnp.array([5.0])).v[0]) > 0.05


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: zw.Plant(cart_pole()), "no servo whose actuators"),
        (lambda: zw.Plant(cart_pole(), ["pusch"], q0=UPRIGHT), "pusch"),
        (lambda: zw.Plant(cart_pole(), ["cart.x"], q0=UPRIGHT, step=0.0), "step"),
        (
            lambda: zw.Plant(cart_pole(), ["cart.x"], q0=UPRIGHT, integrator=zw.methods.Rattle()),
            "not an explicit",
        ),
    ],
)
def test_what_makes_no_plant_is_refused(made, said):
    with pytest.raises(zw.ModelError, match=said):
        made()


def test_an_input_of_another_shape_is_refused(plant):
    with pytest.raises(zw.ModelError, match="expected \\(1,\\)"):
        plant.step(plant.start, jnp.zeros(2))
    with pytest.raises(zw.ModelError, match="u is 'x', expected numbers"):
        plant.step(plant.start, "x")
    with pytest.raises(zw.ModelError, match="expected finite numbers"):
        plant.step(plant.start, jnp.array([jnp.nan]))


@pytest.mark.parametrize(
    ("phi", "says"),
    [
        (lambda q, t, p: jnp.stack([q[0], q[0] - t**2]), "'pair' misses by"),
        (lambda q, t, p: jnp.stack([q[0] + q[1], q[0] + q[1] + t**2]), "'pair' misses by"),
        (lambda q, t, p: jnp.stack([q[0], q[1], q[0] + q[1] - t**2]), "'pair' misses by"),
    ],
    ids=["same", "sum", "dependent"],
)
def test_a_plant_whose_constraints_contradict_each_other_at_its_start_is_refused(phi, says):
    """It drifted along their mean: rows that meet now, and whose accelerations differ by 2."""
    weight = lambda q, v, t, p: jnp.array([0.0, -9.81])
    system = zw.System(2, lambda q, t, p: jnp.ones(2), weight)
    model = zw.Model(system, [zw.Holonomic(phi, name="pair")])
    with pytest.raises(zw.ModelError, match=f"contradict each other.*{says}"):
        zw.Plant(model, inputs=np.eye(2), q0=np.zeros(2), v0=np.zeros(2))


def late(since):
    """A distance that grows from an instant on, with the acceleration 2."""
    return lambda t: jnp.where(t > since, (t - since) ** 2, 0.0)


def later_contradicted(phi, params=None):
    weight = lambda q, v, t, p: jnp.array([0.0, -9.81])
    system = zw.System(2, lambda q, t, p: jnp.ones(2), weight)
    return zw.Model(system, [zw.Holonomic(phi, name="pair")], params or {})


AT, ACROSS = late(0.1), late(0.107)
LATER = {
    "same": (lambda q, t, p: jnp.stack([q[0], q[0] - AT(t)]), [0.0, 0.0]),
    "within a step": (lambda q, t, p: jnp.stack([q[0], q[0] - ACROSS(t)]), [0.0, 0.0]),
    "rods": (lambda q, t, p: jnp.stack([q @ q - 1, q @ q - 1 - AT(t)]), [1.0, 0.0]),
    "dependent": (lambda q, t, p: jnp.stack([q[0], q[1], q[0] + q[1] - AT(t)]), [0.0, 0.0]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("phi", "q0"), LATER.values(), ids=LATER)
def test_rows_that_contradict_each_other_later_end_the_motion_there(phi, q0):
    """They drifted along their mean: the last state with an end is that of t = 0.1 s, and what was
    before it is what it was.
    """
    plant = zw.Plant(later_contradicted(phi), np.eye(2), q0=q0, v0=[0.0, 0.0], step=0.01)
    u = np.zeros(2)
    advance = lambda s, _: (plant.step(s, u),) * 2
    states = jax.jit(lambda s: jax.lax.scan(advance, s, None, length=30)[1])(plant.start)
    assert np.all(np.isfinite(states.q[:10])) and np.all(np.isnan(states.q[10:]))
    assert np.all(np.isnan(states.v[10:]))
    last = jax.tree_util.tree_map(lambda x: x[9], states)
    model = later_contradicted(lambda q, t, p: phi(q, 0.0 * t, p))
    run = zw.trajectory(model, q0, np.zeros(2), [0.0, 0.1], rtol=1e-11)
    np.testing.assert_allclose(last.q, run.q[-1], atol=1e-9)
    said = r"no step from t = 0\.1 s: .*phi of constraint 'pair' cannot be reduced .*this state"
    with pytest.raises(zw.SimulationError, match=said) as caught:
        plant.step(last, u)
    assert caught.value.result is zw.Result.NOT_CONVERGED
    assert plant.reason(last, u) == str(caught.value)
    assert plant.reason(plant.start, u) == ""


ALL = "misses by 1 of the accelerations involved"


def test_a_state_at_which_they_contradict_each_other_is_named_with_the_amount():
    """At t > 0.1 s the two rows ask for the accelerations 0 and 2: the first misses all of 1."""
    plant = zw.Plant(later_contradicted(LATER["same"][0]), np.eye(2), q0=np.zeros(2), step=0.01)
    met = type(plant.start)(jnp.zeros(2), jnp.zeros(2), jnp.asarray(0.1 + 1e-9))
    with pytest.raises(zw.SimulationError, match=f"contradict.*'pair' {ALL}") as e:
        plant.step(met, np.zeros(2))
    assert e.value.result is zw.Result.INCONSISTENT


@pytest.mark.slow
def test_parameters_that_make_rows_contradict_each_other_end_one_of_many():
    """Of members side by side those stay as they are that have no contradiction."""
    phi = lambda q, t, p: jnp.stack([q[0], q[0] - p["rate"] * t**2])
    plant = zw.Plant(later_contradicted(phi, {"rate": 0.0}), np.eye(2), q0=np.zeros(2), step=0.1)
    rates = {"rate": jnp.array([0.0, 1.0, 0.0])}
    found = jax.jit(jax.vmap(lambda p: plant.step(plant.start, jnp.zeros(2), p)))(rates)
    np.testing.assert_array_equal(np.isfinite(found.q).all(axis=1), [True, False, True])
    assert found.q[0, 1] == pytest.approx(-0.5 * 9.81 * 0.01, rel=1e-12)
    assert "contradict each other" in plant.reason(plant.start, np.zeros(2), {"rate": 1.0})


def test_a_rod_that_cannot_reach_its_drive_ends_where_it_is_stretched():
    """The tip of a rod of 1 m is driven out from 0.5 m at 1 m/s: it is stretched at 0.5 s."""
    phi = lambda q, t, p: jnp.stack([q @ q - 1, q[0] - 0.5 - t])
    start = dict(q0=[0.5, 0.75**0.5], v0=[1.0, -(3**-0.5)])
    plant = zw.Plant(later_contradicted(phi), np.eye(2), step=0.01, **start)
    state, step = plant.start, jax.jit(plant.step)
    while np.isfinite(state.q).all():
        last, state = state, step(state, np.zeros(2))
    assert 0.48 < float(last.t) < 0.501
    assert "phi of constraint 'pair' jumps by" in plant.reason(last, np.zeros(2))


def test_redundant_rows_contradict_nothing():
    phi = lambda q, t, p: jnp.stack([q @ q - 1, 3 * (q @ q - 1)])
    plant = zw.Plant(later_contradicted(phi), np.eye(2), q0=[1.0, 0.0], step=0.02)
    advance = lambda s, _: (plant.step(s, jnp.zeros(2)), None)
    end = jax.jit(lambda s: jax.lax.scan(advance, s, None, length=100)[0])(plant.start)
    assert abs(float(end.v @ end.v) / 2 + 9.81 * float(end.q[1])) < 1e-4
