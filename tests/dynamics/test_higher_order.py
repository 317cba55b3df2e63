"""Variables of first, second and third order, compared with equations eliminated by hand."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.gallery.examples import example


def place(model, name):
    return model.system.coordinates.index(name)


@functools.cache
def tram():
    return example("jerk-track").model


def test_derivatives_are_laid_out_by_order():
    model = zw.HigherOrder(
        {"i": 1, "angle": 2, "s": 4},
        lambda x, t, p: jnp.ones(3),
        lambda x, t, p: jnp.zeros(3),
        units={"i": "A", "angle": "rad", "s": "m"},
    )
    s = model.system
    assert s.coordinates == ("angle", "s", "s'", "s''") and s.velocities == ("i", "angle", "s'''")
    assert s.units == ("rad", "m", "m/s", "m/s²") and s.velocity_units == ("A", "rad/s", "m/s³")
    q, v = jnp.array([0.1, 1.0, 2.0, 3.0]), jnp.array([5.0, 0.2, 4.0])
    assert np.array_equal(s.rate(q, v, 0.0, None), [0.2, 2.0, 3.0, 4.0])
    assert np.allclose(s.move(q, v, 0.0, None), [0.3, 1.0, 2.0, 7.0])


@pytest.mark.slow
def test_an_implicit_integrator_carries_lower_derivatives_along():
    """Third order, x = sin(ω t)/ω, and a current that follows cos t within 5 ms. The Newton matrix
    leaves n of q̇ = N v + n out,
    which costs iterations only.
    """
    w = 3.0
    force = lambda x, t, p: jnp.stack(
        [-(w**2) * x["x"][1], -200.0 * (x["i"][0] - jnp.cos(t)) - jnp.sin(t)]
    )
    model = zw.HigherOrder({"x": 3, "i": 1}, lambda x, t, p: jnp.ones(2), force)
    run = zw.simulate(
        model,
        [0.0, 1.0],
        [0.0, 1.0],
        duration=2.0,
        rtol=1e-8,
        samples=5,
        integrator=zw.methods.Kvaerno5(),
    )
    exact = np.stack([np.sin(w * run.t) / w, np.cos(w * run.t)], axis=1)
    assert np.allclose(run.q, exact, rtol=0, atol=1e-7) and np.allclose(
        run.v[:, 1], np.cos(run.t), rtol=0, atol=1e-7
    )


def test_a_system_of_second_order_is_the_ordinary_one():
    model = zw.HigherOrder(
        {"x": 2, "y": 2},
        lambda x, t, p: jnp.ones(2),
        lambda x, t, p: jnp.array([0.0, -9.81]),
        [zw.Relation(lambda x, t, p: x["x"][0] ** 2 + x["y"][0] ** 2 - 1.0, name="rod")],
    )
    assert model.system.velocity_map is None and model.system.retract is None
    assert isinstance(model.constraints.members[0], zw.Holonomic) and model.constraints.names == (
        "rod",
    )


@pytest.mark.parametrize(
    ("residual", "kind", "names"),
    [
        (lambda x, t, p: x["s"][3] - x["i"][0], "acceleration", ("r",)),
        (lambda x, t, p: x["i"][0] - x["s"][0], "velocity", ("r",)),
        (lambda x, t, p: x["s"][2] * x["angle"][0], "velocity", ("r",)),
        (lambda x, t, p: x["angle"][0] - 2.0 * t, "position", ("r",)),
        (lambda x, t, p: jnp.stack([x["s"][0] ** 2, x["s"][0] * t]), "position", ("r [0]", "r")),
    ],
)
def test_a_relation_is_differentiated_until_a_highest_derivative_appears(residual, kind, names):
    model = zw.HigherOrder(
        {"i": 1, "angle": 2, "s": 3},
        lambda x, t, p: jnp.ones(3),
        lambda x, t, p: jnp.zeros(3),
        [zw.Relation(residual, name="r")],
    )
    (c,) = model.constraints.members
    assert str(c.level) == kind and model.constraints.names == names


@pytest.mark.slow
def test_jerk_on_a_track_is_that_of_its_arc_length():
    """x = R cos(s/R): x⃛ = −s⃛ sin + …, by differentiating the known s(t) three times with JAX;
    force normal to the track.
    """
    model, t = tram(), 1.3
    angle = lambda t: 4.0 * (jnp.pi / 2 * t - jnp.sin(jnp.pi / 2 * t)) / (2 * jnp.pi * 2.0)
    place = lambda t: 2.0 * jnp.stack([jnp.cos(angle(t)), jnp.sin(angle(t))])
    rates = [place(t), *(d(t) for d in (jax.jacfwd(place), jax.jacfwd(jax.jacfwd(place))))]
    q = np.stack(rates[:2], axis=1).ravel()
    motion = zw.motion(model, q, rates[2], t)
    assert np.allclose(
        motion.acceleration, jax.jacfwd(jax.jacfwd(jax.jacfwd(place)))(t), rtol=0, atol=1e-12
    )
    assert int(motion.rank) == 2


def test_lower_derivatives_are_put_on_their_relations_and_a_start_off_them_is_refused():
    model = tram()
    found = zw.consistent_state(model, [2.001, 0.0, 0.001, 0.7], [0.0, 0.1])
    (x, vx, y, vy), (ax, ay) = np.asarray(found.state.q), np.asarray(found.state.v)
    assert abs(x * x + y * y - 4.0) < 1e-12 and abs(x * vx + y * vy) < 1e-12
    assert abs(vx**2 + vy**2 + x * ax + y * ay) < 1e-12
    with pytest.raises(zw.ModelError, match=r"'track \[0\]' has phi = 0.4"):
        zw.simulate(model, [2.1, 0.0, 0.0, 0.7], [-(0.7**2) / 2.1, 0.0], duration=1.0)


def by_hand(current, angle, rate):
    """i' and ω' of crank and motor as one variable: ½ I(θ) ω², I by its kinetic energy,
    differentiated by JAX.
    """
    l, r, n, g = 0.1, 0.3, 5.0, 9.81
    turned = lambda a: -jnp.arcsin(l / r * jnp.sin(a))

    def places(a):
        crank, rod = (
            l / 2 * jnp.stack([jnp.cos(a), jnp.sin(a)]),
            r / 2 * jnp.stack([jnp.cos(turned(a)), jnp.sin(turned(a))]),
        )
        return crank, 2 * crank + rod, (2 * crank + 2 * rod)[0], turned(a)

    def inertia(a):
        crank, rod, slider, beta = jax.jacfwd(places)(a)
        turning = 0.5 * l**2 / 12 + 0.4 * r**2 / 12 * beta**2 + 2e-4 * n**2
        return turning + 0.5 * crank @ crank + 0.4 * rod @ rod + 1.0 * slider**2

    height = lambda a: g * (0.5 * places(a)[0][1] + 0.4 * places(a)[1][1])
    torque = (
        n * (0.1 * current - 1e-4 * n * rate)
        - 0.5 * jax.grad(inertia)(angle) * rate**2
        - jax.grad(height)(angle)
    )
    return (24.0 - 0.5 * current - 0.1 * n * rate) / 0.01, torque / inertia(angle)


@pytest.mark.slow
def test_a_motor_and_a_linkage_of_two_orders_move_as_one_equation_eliminated_by_hand():
    member = example("motor-linkage")
    names, nv = member.model.system.coordinates, member.model.system.velocities
    guess = np.array(member.q0)
    angle, rate, current = 0.9, 7.0, 11.0
    beta = -np.arcsin(np.sin(angle) / 3)
    crank, rod = (
        0.05 * np.array([np.cos(angle), np.sin(angle)]),
        0.15 * np.array([np.cos(beta), np.sin(beta)]),
    )
    guess[:] = [
        5 * angle,
        *crank,
        angle,
        *(2 * crank + rod),
        beta,
        (2 * crank + 2 * rod)[0],
        0.0,
        0.0,
    ]
    turn = np.zeros(len(nv))
    turn[nv.index("motor.current")], turn[nv.index("bars.crank.angle")] = current, 1.0
    motion = zw.motion(
        member.model, guess, turn, throw=False
    )  # the velocity of a crank that turns alone, to be projected
    A = np.asarray(motion.matrix)
    free = np.array([n not in ("motor.current", "bars.crank.angle") for n in nv])
    v = turn * np.where(np.array(nv) == "motor.current", 1.0, rate)
    v[free] = np.linalg.lstsq(A[:, free], -A[:, ~free] @ v[~free], rcond=None)[0]
    motion = zw.motion(member.model, guess, v)
    right = by_hand(current, angle, rate)
    assert motion.acceleration[nv.index("motor.current")] == pytest.approx(
        float(right[0]), rel=1e-10
    )
    assert motion.acceleration[nv.index("bars.crank.angle")] == pytest.approx(
        float(right[1]), rel=1e-9
    )
    assert "motor.current" not in names


@pytest.mark.slow
def test_motor_and_linkage_run_as_the_equation_eliminated_by_hand():
    from scipy.integrate import solve_ivp

    member = example("motor-linkage")
    run = member.run(duration=0.5, rtol=1e-11)
    rhs = jax.jit(
        lambda y: jnp.stack([by_hand(y[0], y[1], y[2])[0], y[2], by_hand(y[0], y[1], y[2])[1]])
    )
    exact = solve_ivp(
        lambda t, y: np.asarray(rhs(y)),
        (0, 0.5),
        np.zeros(3),
        "DOP853",
        rtol=1e-12,
        atol=1e-12,
        t_eval=run.t,
    ).y
    v = member.model.system.velocities.index("motor.current")
    assert np.allclose(run.v[:, v], exact[0], rtol=0, atol=1e-7)
    assert np.allclose(
        run.q[:, place(member.model, "bars.crank.angle")], exact[1], rtol=0, atol=1e-8
    )


@pytest.mark.slow
def test_the_tram_follows_its_programme():
    member = example("jerk-track")
    run = member.run(rtol=1e-9)
    assert member.error(run) < 1e-9 and float(run.dataset.violation.max()) < 1e-13


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda h: h({"x": 0}), "order of variable 'x' is 0, expected a whole number"),
        (
            lambda h: h({"x": 2}, relations=[zw.Relation(lambda x, t, p: t, name="r")]),
            "depends on none of the variables: x",
        ),
        (
            lambda h: h({"x": 2}, relations=[zw.Relation(lambda x, t, p: x["y"][0], name="r")]),
            "'r': .* asks for 'y', which does not exist",
        ),
        (
            lambda h: h({"x": 2}, units={"z": "m"}),
            "units names 'z', which is no variable; there are: x",
        ),
    ],
)
def test_wrong_orders_are_told_in_a_sentence(call, says):
    build = lambda orders, **k: zw.HigherOrder(
        orders, lambda x, t, p: jnp.ones(1), lambda x, t, p: jnp.zeros(1), **k
    )
    with pytest.raises(zw.ModelError, match=says):
        call(build)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("order", [4, 1, 2, 3, 5])
def test_a_relation_with_time_is_followed_at_every_order(order):
    """`x = sin t` is sin(t + kπ/2) in its k-th derivative."""
    track = zw.Relation(lambda x, t, p: x["x"][0] - jnp.sin(t), name="track")
    ones, force = (lambda x, t, p: jnp.ones(1)), (lambda x, t, p: jnp.array([-3.0]))
    model = zw.HigherOrder({"x": order}, ones, force, [track])
    exact = lambda t: np.round(np.sin(t + np.arange(order) * np.pi / 2), 14)
    run = zw.simulate(model, exact(0.0)[:-1], exact(0.0)[-1:], duration=2.0, rtol=1e-9)
    found = np.concatenate([run.dataset["q"].values[-1], run.dataset["v"].values[-1]])
    np.testing.assert_allclose(found, exact(2.0), atol=1e-7)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("order", [3, 4])
def test_a_curve_that_grows_with_time_is_kept_from_its_lowest_derivative_on(order):
    """On `x² + y² = r(t)²`, started along the radius: r moves, the angle stays."""

    def residual(x, t, p):
        return x["x"][0] ** 2 + x["y"][0] ** 2 - (1 + 0.2 * jnp.sin(t + 0.5)) ** 2

    model = zw.HigherOrder(
        {"x": order, "y": order},
        lambda x, t, p: jnp.ones(2),
        lambda x, t, p: jnp.zeros(2),
        [zw.Relation(residual, name="circle")],
    )
    turned = lambda t: np.round(np.sin(t + 0.5 + np.arange(order) * np.pi / 2), 14)
    radius = lambda t: np.eye(order)[0] + 0.2 * turned(t)
    direction, start = np.array([0.6, 0.8]), radius(0.0)
    q0 = np.concatenate([c * start[:-1] for c in direction])
    run = zw.simulate(model, q0, direction * start[-1], duration=1.5, rtol=1e-9)
    end = np.concatenate([c * radius(1.5)[:-1] for c in direction])
    np.testing.assert_allclose(run.dataset["q"].values[-1], end, atol=1e-7)


def test_a_residual_of_time_alone_is_still_refused_beside_relations_that_are_kept():
    track = zw.Relation(lambda x, t, p: x["x"][0] - jnp.sin(t), name="track")
    clock = zw.Holonomic(lambda q, t, p: t - 0.0, name="clock")
    ones, zeros = (lambda x, t, p: jnp.ones(1)), (lambda x, t, p: jnp.zeros(1))
    model = zw.HigherOrder({"x": 3}, ones, zeros, [track, clock])
    with pytest.raises(zw.ModelError, match="'clock': phi depends on no coordinate"):
        zw.simulate(model, [0.0, 1.0], [0.0], duration=1.0)
