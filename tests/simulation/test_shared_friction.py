"""Frictions and gaps that are redundant or load each other, compared with closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq, linprog

import zwang as zw

G = 9.81
POINT = zw.System(1, lambda q, t, p: jnp.ones(1), lambda q, v, t, p: jnp.array([p["rate"] * t]))


def brake(name, static, kinetic, **more):
    return zw.DryFriction(
        lambda q, v, t, p: v[0], load=1.0, static=static, kinetic=kinetic, name=name, **more
    )


def test_frictions_of_one_motion_hold_up_to_the_sum_of_their_limits():
    """Least norm would give each the same, and more than one of them has, from t = 2 s on."""
    model = zw.Model(POINT, [brake("weak", 1.0, 0.5), brake("strong", 3.0, 2.0)], {"rate": 1.0})
    run = zw.simulate(model, [0.0], [0.0], duration=5.0, samples=3)
    assert [x.off for x in run.switches if x.off] == [("weak", "strong")]
    assert run.switches[-1].time == pytest.approx(4.0, abs=1e-10)
    # from there on t − 2.5 moves it
    assert run.v[-1, 0] == pytest.approx((25 - 16) / 2 - 2.5, abs=1e-9)


@pytest.mark.slow
def test_a_hinge_leaves_its_stop_where_friction_holds_it_no_longer():
    stop = zw.Inequality(lambda q, t, p: q[0], name="stop")
    force = lambda q, v, t, p: jnp.array([t - 1.0])
    system = zw.System(1, lambda q, t, p: jnp.ones(1), force)
    model = zw.Model(system, [stop, brake("hinge", 0.5, 0.2)])
    run = zw.simulate(model, [0.0], [0.0], duration=2.0, samples=3)
    assert "hinge" in run.switches[-1].off
    assert run.switches[-1].time == pytest.approx(1.5, abs=1e-10)
    assert run.v[-1, 0] == pytest.approx((1.0 - 0.25) / 2 - 0.2 * 0.5, abs=1e-9)


HELD_IN_THE_PLANE = (
    {
        "stop": (0.606, -0.795),
        "along": ((-0.061, -0.998), (-0.779, 0.627), (0.606, 0.796)),
        "force": (-0.954, 1.923),
        "rate": (0.788, -0.457),
        "limits": (0.652, 0.251, 0.443),
    },
    {
        "stop": (-0.815, 0.580),
        "along": ((0.794, -0.608), (0.425, 0.905), (0.730, -0.684)),
        "force": (1.583, -1.323),
        "rate": (3.123, -0.397),
        "limits": (0.513, 1.345, 0.901),
    },
)


@pytest.mark.parametrize("case", HELD_IN_THE_PLANE)
def test_frictions_and_a_stop_hold_a_point_of_the_plane_as_long_as_they_can(case):
    """Several give all they may long before that, and the others more; when they cannot is the root
    of a linear program.
    """
    given = {name: np.asarray(x) for name, x in case.items()}
    system = zw.System(
        2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: p["force"] + t * p["rate"]
    )
    stop = zw.Inequality(lambda q, t, p: p["stop"] @ q, name="stop")
    frictions = [
        zw.DryFriction(
            lambda q, v, t, p, k=k: p["along"][k] @ v,
            load=lambda p, k=k: p["limits"][k],
            static=1.0,
            kinetic=0.9,
            name=f"{k}",
        )
        for k in range(3)
    ]
    model = zw.Model(system, [stop, *frictions], given)
    run = zw.simulate(model, [0.0, 0.0], [0.0, 0.0], duration=2.0, samples=3)

    def spare(t):
        """How many times the force could be held, less one."""
        force = given["force"] + t * given["rate"]
        columns = np.column_stack([force, given["stop"], *given["along"]])
        bounds = [(0, None), (0, None), *((-x, x) for x in given["limits"])]
        most = linprog([-1, 0, 0, 0, 0], A_eq=columns, b_eq=[0, 0], bounds=bounds)
        return 1.0 if most.status else -most.fun - 1

    slides = brentq(spare, 0.0, 2.0, xtol=1e-13)
    assert run.switches[1].off == ("0", "1", "2")
    assert run.switches[1].time == pytest.approx(slides, abs=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("wall, above", [(0.0, 1e-9), (0.3, 1e-9), (0.3, -1e-9), (0.6, -1e-9)])
def test_a_ladder_between_rough_walls_stands_up_to_its_known_angle(wall, above):
    """Four forces for three equations: no one knows them, but whether it stands, 2 μ tan θ = 1 − μ
    μ_w, as both ends are at their limit where it does no longer.
    """
    half, floor = 1.0, 0.4
    mass = jnp.array([3.0, 3.0, 1.0])
    system = zw.System(3, lambda q, t, p: mass, lambda q, v, t, p: jnp.array([0.0, -3.0 * G, 0.0]))
    ends = [
        zw.Inequality(lambda q, t, p: q[0] - half * jnp.cos(q[2]), name="wall"),
        zw.Inequality(lambda q, t, p: q[1] - half * jnp.sin(q[2]), name="floor"),
        zw.DryFriction(
            lambda q, v, t, p: v[1] + half * jnp.cos(q[2]) * v[2],
            load="wall",
            static=wall,
            name="wall grip",
        ),
        zw.DryFriction(
            lambda q, v, t, p: v[0] - half * jnp.sin(q[2]) * v[2],
            load="floor",
            static=floor,
            name="floor grip",
        ),
    ]
    angle = np.arctan((1 - wall * floor) / (2 * floor)) + above
    start = np.array([half * np.cos(angle), half * np.sin(angle), angle])
    run = zw.simulate(zw.Model(system, ends), start, np.zeros(3), duration=0.3, samples=2)
    assert (np.max(np.abs(run.v[-1])) < 1e-12) == (above > 0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("tilt", [0.95, -0.7, 0.3])
def test_friction_that_makes_most_of_its_own_load_has_the_load_of_the_closed_form(tilt):
    """Its force leans on the guide that loads it: N = w − c μ N of one that slides forward."""
    mu, weight, push = 1.0, 2.0, 5.0
    system = zw.System(
        2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([push * t, -weight])
    )
    guide = zw.Holonomic(lambda q, t, p: q[1], name="guide")
    leans = zw.DryFriction(
        lambda q, v, t, p: v[0] - tilt * v[1], load="guide", static=mu, name="leans"
    )
    run = zw.simulate(zw.Model(system, [guide, leans]), np.zeros(2), np.zeros(2), duration=2.0)
    # it sticks with a force p against the push, by a load of w − c p
    begins = mu * weight / (1 + mu * tilt) / push
    assert run.switches[-1].off == ("leans",)
    assert run.switches[-1].time == pytest.approx(begins, abs=1e-10)
    slid = push * (4.0 - begins**2) / 2 - mu * weight / (1 + mu * tilt) * (2.0 - begins)
    assert run.v[-1, 0] == pytest.approx(slid, rel=1e-8)


def test_no_load_of_friction_that_makes_more_than_its_own_is_named():
    guide = zw.Holonomic(lambda q, t, p: q[1], name="guide")
    leans = zw.DryFriction(
        lambda q, v, t, p: v[0] + 1.5 * v[1], load="guide", static=1.0, name="leans"
    )
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([9.0, -2.0]))
    model = zw.Model(system, [guide, leans])
    with pytest.raises(zw.SimulationError, match="Painlevé.*normal loads of leans"):
        zw.simulate(model, np.zeros(2), [1.0, 0.0], duration=1.0)
    # at rest it jams, however strong the push
    jammed = zw.simulate(model, np.zeros(2), np.zeros(2), duration=1.0)
    np.testing.assert_allclose(jammed.v[-1], 0.0, atol=1e-15)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("along", [[1.0], [0.6, 0.8]])
def test_friction_that_falls_within_a_small_speed_is_that_of_an_integration_of_its_own(along):
    """Stribeck's curve over 1e-3 m/s, with a slope of up to −1700/s."""
    n, k, speed, scale = len(along), 20.0, 0.2, 1e-3
    belt = zw.DryFriction(
        lambda q, v, t, p: v - speed * jnp.asarray(along),
        load=G,
        static=0.5,
        kinetic=lambda s, p: 0.3 + 0.2 * jnp.exp(-((s / scale) ** 2)),
        name="belt",
    )
    system = zw.System(n, lambda q, t, p: jnp.ones(n), lambda q, v, t, p: -k * q)
    start = np.zeros(n), speed * np.array(along)
    run = zw.simulate(zw.Model(system, [belt]), *start, duration=3.3, rtol=1e-11, samples=2)
    times = [x.time for x in run.switches[1:4]]
    # of one equation by DOP853 in SciPy with rtol 1e-13, from a series at the onset
    np.testing.assert_allclose(times, [1.22625, 2.1258850432, 3.1164151638], atol=1e-8)


@pytest.mark.slow
def test_samples_share_a_load_as_the_steps_of_the_run_do():
    """Two rows hold one direction, and their lengths become different along the way: the load of
    the friction, and with it the acceleration, is that of the run, and no sample is called
    inaccurate.
    """
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -G]))
    rows = [
        zw.Holonomic(lambda q, t, p: q[1], name="guide"),
        zw.Holonomic(lambda q, t, p: (1.0 + q[0]) * q[1], name="again"),
    ]
    grip = zw.DryFriction(lambda q, v, t, p: v[0], load="guide", static=0.2)
    run = zw.simulate(
        zw.Model(system, [*rows, grip]), [0.0, 0.0], [3.0, 0.0], duration=1.0, samples=5
    )
    (warning,) = run.warnings  # the load is, and with it the motion
    assert "the motion is not unique" in warning
    data, near = run.dataset, 1e-4
    found = [(run.at(t + near)[1] - run.at(t - near)[1]) / (2 * near) for t in run.t[1:-1]]
    np.testing.assert_allclose(data["acceleration"].values[1:-1], found, atol=1e-6)
    load = data["multipliers"].values[:, 0]
    assert np.ptp(load) > 1.0
    np.testing.assert_allclose(data["acceleration"].values[:, 0], -0.2 * load, rtol=1e-10)
