"""Models with gaps and dry friction in analyses, studies and couplings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.simulation.piecewise import PiecewiseRun

G, SLOPE = 9.81, 0.3

BALL = zw.Model(
    zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -G])),
    [zw.Inequality(lambda q, t, p: q[1], name="floor", restitution="e", unit="m")],
    {"e": 0.5},
)


def block(mu0=0.5):
    """A block on an incline, along which and upright its two coordinates are."""
    force = G * jnp.array([jnp.sin(SLOPE), -jnp.cos(SLOPE)])
    return zw.Model(
        zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: force),
        [
            zw.Inequality(lambda q, t, p: q[1], name="plane", unit="m"),
            zw.DryFriction(
                lambda q, v, t, p: v[0], load="plane", static=mu0, kinetic="mu", name="grip"
            ),
        ],
        {"mu": 0.2},
    )


def test_members_of_a_batch_bounce_as_the_closed_form_says():
    e = np.array([0.2, 0.5, 0.7])
    many = zw.batch(BALL, [0.0, 1.0], [0.3, 0.0], [0.0, 1.0, 3.0], params={"e": e})
    ends = [x[-1].time for x in many.switches]
    np.testing.assert_allclose(ends, np.sqrt(2 / G) * (1 + e) / (1 - e), atol=1e-9)
    np.testing.assert_allclose(many.q[:, -1], [[0.9, 0.0]] * 3, atol=1e-12)
    assert not many.failures
    with pytest.raises(zw.ModelError, match="member 1: .*penetrates 'floor'"):
        zw.batch(BALL, [[0.0, 1.0], [0.0, -1.0]], [0.0, 0.0], [0.0, 1.0])
    with pytest.raises(zw.ModelError, match="need double precision"):
        zw.batch(BALL, [[0.0, 1.0]], [0, 0], [0.0, 1.0], precision="single", step=0.1)


def test_a_batch_that_is_stopped_keeps_the_members_that_are_done():
    def press(fraction):
        raise ValueError("enough")

    with pytest.raises(zw.SimulationError, match="after 1 of 2 members: progress .*enough") as info:
        zw.batch(BALL, [0.0, 1.0], [0, 0], [0.0, 0.1], params={"e": [0.1, 0.2]}, progress=press)
    np.testing.assert_array_equal(info.value.run.varied["e"], [0.1])


def test_a_sweep_counts_what_comes_to_rest():
    study = zw.sweep(
        BALL,
        {"e": [0.2, 0.9]},
        lambda case: ([0.0, 1.0 - 2 * (case["e"] > 0.8)], [0.0, 0.0]),
        duration=1.0,
        outputs={"y": "q1.final"},
    )
    assert study.table["result"].tolist() == ["SUCCESS", "REFUSED"]
    assert study.table["y"][0] == pytest.approx(0.0, abs=1e-12)
    assert "penetrates 'floor'" in study.table["sentence"][1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "q, v, freedom, held",
    [
        ([0.0, 0.0], [0.0, 0.0], 0, {"plane": "closed", "grip": "sticks"}),
        ([0.0, 0.0], [1.0, 0.0], 1, {"plane": "closed", "grip": "slides"}),
        ([0.0, 0.1], [0.0, 0.0], 2, {"plane": "open", "grip": "not loaded"}),
    ],
)
def test_check_counts_what_holds_at_the_state(q, v, freedom, held):
    found = zw.check(block(), q, v)
    assert (found.degrees_of_freedom, found.loose, found.consistent) == (freedom, held, True)
    assert f"plane {held['plane']}, grip {held['grip']}" in str(found)


@pytest.mark.slow
def test_a_mode_moves_as_the_run_does_and_has_gradients():
    """v₀ t + ½ g (sin α − μ cos α) t², until it sticks."""
    model, t = block(), 0.3
    mode = zw.analysis.contact_mode(model, [0.0, 0.0], [1.0, 0.0])
    end = lambda p: zw.trajectory(mode, [0.0, 0.0], [1.0, 0.0], [0.0, t], params=p).q[-1, 0]
    expected = t + 0.5 * G * (np.sin(SLOPE) - 0.2 * np.cos(SLOPE)) * t**2
    assert float(end({})) == pytest.approx(expected, abs=1e-12)
    run = zw.simulate(model, [0.0, 0.0], [1.0, 0.0], times=[t])
    np.testing.assert_allclose(run.q[-1, 0], expected, atol=1e-12)
    slope = jax.jacfwd(lambda mu: end({"mu": mu}))(jnp.asarray(0.2))
    assert float(slope) == pytest.approx(-0.5 * G * np.cos(SLOPE) * t**2, rel=1e-10)


def test_a_mode_has_linear_equations():
    """A mass on a spring that lies on a floor swings along it alone."""
    system = zw.System(
        2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([-9.0 * q[0], -G])
    )
    model = zw.Model(system, [zw.Inequality(lambda q, t, p: q[1], name="floor")])
    mode = zw.analysis.contact_mode(model, [0.0, 0.0])
    linear = zw.analysis.linearize(mode, [0.0, 0.0])
    np.testing.assert_allclose(np.sort(np.abs(np.linalg.eigvals(linear.A))), [3.0, 3.0], rtol=1e-12)
    assert zw.analysis.contact_mode(mode, [0.0, 0.0]) is mode


def bowl(mu=0.3):
    """A bead on the inside of a circle of radius 2, along which it slides."""
    return zw.Model(
        zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -G])),
        [
            zw.Inequality(lambda q, t, p: 2.0 - jnp.sqrt(q @ q), name="bowl"),
            zw.DryFriction(
                lambda q, v, t, p: (q[0] * v[1] - q[1] * v[0]) / 2, load="bowl", static=mu, name="f"
            ),
        ],
    )


@pytest.mark.slow
def test_linear_equations_of_a_state_that_slides_know_its_friction():
    """s̈ = −g sin θ − μ (g cos θ + ṡ²/R), s the length of arc."""
    theta, rate, R, mu = 0.4, 1.5, 2.0, 0.3
    along = np.array([np.cos(theta), np.sin(theta)])
    state = R * np.array([np.sin(theta), -np.cos(theta)]), rate * along
    mode = zw.analysis.contact_mode(bowl(mu), *state)
    linear = zw.analysis.linearize(mode, *state, inputs=["q0"])
    load = G * np.cos(theta) + rate**2 / R
    exact = (-G * np.sin(theta) - mu * load) * along + rate**2 / R * np.array([-along[1], along[0]])
    np.testing.assert_allclose(linear.here.w, exact, atol=1e-12)
    np.testing.assert_allclose(linear.multipliers[0], load, rtol=1e-12)
    by_place = (-G * np.cos(theta) + mu * G * np.sin(theta)) / R
    A = [[0.0, 1.0], [by_place, -2 * mu * rate / R]]
    np.testing.assert_allclose(linear.A, A, atol=1e-12)
    # a force along x pushes along the circle, and the bead into it
    turn = np.sign(linear.basis[:2, 0] @ along)
    np.testing.assert_allclose(
        turn * linear.B[:, 0], [0.0, np.cos(theta) - mu * np.sin(theta)], atol=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("holds", [zw.Holonomic, zw.Inequality])
def test_friction_that_gives_all_it_may_leaves_the_rest_to_a_stop(holds):
    """A block that rests on a stop below it: μ₀ m g cos α, and m g (sin α − μ₀ cos α)."""
    model, mu0 = block(0.1), 0.1
    stop = holds(lambda q, t, p: 0.5 - q[0] if holds is zw.Inequality else q[0] - 0.5, name="stop")
    rest = zw.analysis.equilibrium(
        zw.Model(model.system, [*model.constraints.members, stop], model.params), [0.5, 0.0]
    )
    weight = G * np.array([np.sin(SLOPE), np.cos(SLOPE)])
    force = rest.constraint_force
    np.testing.assert_allclose(force["grip"], [-mu0 * weight[1], 0.0], atol=1e-12)
    np.testing.assert_allclose(force["stop"], [mu0 * weight[1] - weight[0], 0.0], atol=1e-12)
    np.testing.assert_allclose(force["plane"], [0.0, weight[1]], atol=1e-12)
    np.testing.assert_allclose(rest.constraint_forces({})[:, 0].sum(), -weight[0], atol=1e-12)
    # friction may give less where the stop pushes more
    assert rest.unique == {"plane": True, "grip": False, "stop": False}


LEGS = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    "load, feet, q", [((0.5, 0.0), 4, [1.0, 0.2, -0.1]), ((0.9, 0.9), 3, [0.0, 0.0, 0.0])]
)
def test_the_feet_of_a_table_carry_by_moments_also_from_the_air(load, feet, q):
    """Forces that push balance weight and moments, of least norm where all four can."""
    x, y = LEGS.T
    table = zw.System(
        3,
        lambda q, t, p: jnp.array([1.0, 0.3, 0.3]),
        lambda q, v, t, p: G * jnp.array([-1.0, -load[1], load[0]]),
    )
    gap = lambda q, t, p: q[0] + y * q[1] - x * q[2]
    model = zw.Model(table, [zw.Inequality(gap, name="leg", parts=("a", "b", "c", "d"))])
    rest = zw.analysis.equilibrium(model, q)
    np.testing.assert_allclose(rest.q, 0.0, atol=1e-12)
    push = rest.multipliers
    at = LEGS[[("a", "b", "c", "d").index(n) for n in rest.model.constraints.names]]
    assert len(push) == feet
    assert np.min(push) > 0
    # the fourth foot may carry up to 0.05 m g of it
    assert not any(rest.unique.values())
    np.testing.assert_allclose(push.sum(), G, rtol=1e-12)
    np.testing.assert_allclose(push @ at, G * np.array(load), atol=1e-11)
    if feet == 4:
        np.testing.assert_allclose(push, G / 4 * (1 + load[0] * x), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rest, stop", [(0.5, ()), (3.0, ("stop[0]",)), (-6.0, ("stop[1]",))])
def test_a_pendulum_rests_between_its_stops_or_at_one(rest, stop):
    system = zw.System(
        1,
        lambda q, t, p: jnp.ones(1),
        lambda q, v, t, p: -(G * jnp.sin(q) + 3.0 * (q - p["rest"])),
    )
    stops = zw.Inequality(lambda q, t, p: 0.4 + jnp.array([-1.0, 1.0]) * q[0], name="stop")
    model = zw.Model(system, [stops], {"rest": rest})
    found = zw.analysis.equilibrium(model, [0.1])
    assert found.model.constraints.names == stop
    assert found.stable
    if stop:
        assert found.unique == {stop[0]: True}
        q = np.sign(rest) * 0.4
        assert found.q[0] == pytest.approx(q, abs=1e-12)
        force = abs(G * np.sin(q) + 3 * (q - rest))
        assert found.multipliers[0] == pytest.approx(force, rel=1e-12)
    else:
        assert G * np.sin(found.q[0]) == pytest.approx(3 * (rest - found.q[0]), abs=1e-12)


def test_friction_holds_what_it_can_and_no_more():
    found = zw.analysis.equilibrium(block(), [0.7, 0.0])
    np.testing.assert_allclose(found.q, [0.7, 0.0], atol=1e-14)
    np.testing.assert_allclose(found.constraint_force["grip"], [-G * np.sin(SLOPE), 0], atol=1e-12)
    with pytest.raises(zw.ModelError, match="'grip' would slide from rest"):
        zw.analysis.equilibrium(block(mu0=0.3), [0.7, 0.0])


def test_a_force_from_outside_and_other_parameters_are_seen_by_a_run_in_pieces():
    """Lifted by 2 m g from 1 s to 2 s, then it falls and stays on the floor, as e is now 0."""
    run = PiecewiseRun(BALL, [0.0, 0.0], [0.0, 0.0])
    run.advance(1.0)
    np.testing.assert_allclose(run.observed().constraint_force, [0.0, G], rtol=1e-12)
    run.change(applied=[0.0, 2 * G])
    np.testing.assert_allclose(run.observed().constraint_force, 0.0, atol=1e-12)
    run.advance(1.0)
    np.testing.assert_allclose([run.q[1], run.v[1]], [G / 2, G], rtol=1e-12)
    run.change(applied=[0.0, 0.0], params={"e": 0.0})
    run.advance(3.0)  # it comes down 1 + √2 s later
    np.testing.assert_allclose([run.q[1], run.v[1]], 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: zw.trajectory(m, [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]),
        lambda m: zw.motion(m, [0.0, 1.0], [0.0, 0.0]),
        lambda m: zw.analysis.linearize(m, [0.0, 1.0]),
        lambda m: zw.fit(m, [0.0, 1.0], {"q1": [0, 0]}, {"e": 0.5}, q0=[0, 1], v0=[0, 0]),
        lambda m: zw.stablehlo(m),
        lambda m: zw.analysis.equilibrium(m, [0.0, 1.0], v=[1.0, 0.0]),
    ],
    ids=["trajectory", "motion", "linearize", "fit", "stablehlo", "steady"],
)
def test_what_follows_no_change_says_how_to_go_on(call):
    with pytest.raises(zw.ModelError, match="'?floor'? is an inequality.*zw.analysis.contact_mode"):
        call(BALL)
