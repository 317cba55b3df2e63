"""The filter compared with closed forms, its errors with its covariance, and a closed loop with
it.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import chi2

import zwang as zw
from zwang.compile import program

K, C, STEP = 4.0, 0.3, 0.05


def masses():
    """Two masses of 1 and 2 kg, the second one held by a spring of its own."""
    force = lambda q, v, t, p: jnp.stack(
        [-K * (q[0] - q[1]) - C * v[0], K * (q[0] - q[1]) - p["ground"] * q[1]]
    )
    mass = lambda q, t, p: jnp.array([1.0, 2.0])
    system = zw.System(2, mass, force, coordinates=("a", "b"))
    model = zw.Model(system, params={"ground": 1.0}, name="masses")
    return zw.Plant(model, ["a"], step=STEP, substeps=8)


def rod(redundant=1, unscented=False, length=0.8):
    """A pendulum of a point on a rod, whose height is measured."""
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array([0.0, -9.81]))
    rods = [
        zw.Holonomic(lambda q, t, p, f=f: f * (q @ q - length**2), name=f"rod {f}")
        for f in range(1, redundant + 1)
    ]
    model = zw.Model(system, rods, name="pendulum")
    plant = zw.Plant(model, ["q0"], q0=[0.6 * length, -0.8 * length], step=STEP)
    options = {"force_noise": 0.3, "spread_q": 0.03, "spread_v": 0.1, "unscented": unscented}
    return plant.kalman_filter(["q1"], 0.02, **options)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unscented", [False, True])
def test_of_a_linear_system_it_is_the_filter_of_kalman(unscented):
    """With the exact sampled system, a force that drifts, and random ones that are held."""
    found = masses().kalman_filter(
        ["a", "b rate"],
        [0.01, 0.02],
        force_noise=[0.3, 0.5],
        unknown={"b": (0.2, 0.1)},
        spread_q=0.1,
        spread_v=0.2,
        unscented=unscented,
    )
    A, B = np.zeros((5, 5)), np.zeros((5, 3))
    A[:2, 2:4] = np.eye(2)
    A[2, :3], A[3] = [-K, K, -C], [K / 2, -(K + 1) / 2, 0, 0, 0.5]
    B[2, :2], B[3, 2] = 1.0, 0.5
    both = expm(STEP * np.block([[A, B], [np.zeros((3, 8))]]))
    F, G = both[:5, :5], both[:5, 5:]
    H, R = np.zeros((2, 5)), np.diag([1e-4, 4e-4])
    H[0, 0] = H[1, 3] = 1.0
    Q = G[:, 1:] @ np.diag([0.09, 0.25]) @ G[:, 1:].T + np.diag([0, 0, 0, 0, 0.01 * STEP])
    rng = np.random.default_rng(0)
    u, z = rng.normal(size=(20, 1)), 0.1 * rng.normal(size=(20, 2))
    est = found.run(u, z)
    x, P = np.zeros(5), np.diag([0.01, 0.01, 0.04, 0.04, 0.04])
    for i in range(len(u)):
        x, P = F @ x + G[:, 0] * u[i], F @ P @ F.T + Q
        S, innovation = H @ P @ H.T + R, z[i] - H @ x
        gain = P @ H.T @ np.linalg.inv(S)
        x, P = x + gain @ innovation, P - gain @ S @ gain.T
        at = np.concatenate([est.state.q[i], est.state.v[i], est.unknown[i]])
        np.testing.assert_allclose(at, x, atol=1e-12)
        np.testing.assert_allclose(est.covariance[i], P, atol=1e-12)
        chi = innovation @ np.linalg.solve(S, innovation)
        np.testing.assert_allclose(est.surprise[i], chi, rtol=1e-10)


def experiment(found, draws, samples, seed=1):
    """Distances of true states, surprises and what is left of the constraints, of random motions
    that a filter follows.
    """
    plant, width = found.plant, found.start.spread.shape[1]
    u = jnp.zeros(len(found.places[0]))

    @program
    def one(begin, forces, noise):
        def advanced(carry, given):
            (s, estimate), (w, e) = carry, given
            s = plant.step(s, found.inputs(u, jnp.zeros(0), found.force_noise * w))
            z = found.seen(s, plant.parameters()) + found.root @ e
            estimate = found.step(estimate, u, z)
            dynamics, at = plant._flow(plant.nominal, None).dynamics, estimate.state
            left = [dynamics.position_residual(at), dynamics.velocity_residual(at)]
            left = jnp.max(jnp.abs(jnp.concatenate(left)))
            return (s, estimate), (found.distance(estimate, s), estimate.surprise, left)

        start = found.at(found.start, begin, True)[0], found.start
        return jax.lax.scan(advanced, start, (forces, noise))[1]

    rng = np.random.default_rng(seed)
    sizes = (width,), (samples, len(found.force_noise)), (samples, len(found.root))
    return [
        np.array(x)
        for x in zip(
            *(one(*map(rng.normal, [0.0] * 3, [1.0] * 3, sizes)) for _ in range(draws)), strict=True
        )
    ]


def consistent(found, draws, samples):
    """Mean distances lie within the interval of χ² in nine of ten instants, as innovations do."""
    distance, surprise, left = experiment(found, draws, samples)
    for x, degrees in ((distance, found.start.spread.shape[1]), (surprise, len(found.root))):
        low, high = chi2.ppf([0.025, 0.975], degrees * draws) / draws
        mean = x.mean(axis=0)
        assert np.mean((low <= mean) & (mean <= high)) >= 0.8
        low, high = chi2.ppf([1e-4, 1 - 1e-4], degrees * draws) / draws
        assert np.all((low <= mean) & (mean <= high))
    assert left.max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("unscented", [False, True])
def test_errors_of_a_pendulum_are_as_large_as_the_covariance_says(unscented):
    consistent(rod(unscented=unscented), 100, 25)


@pytest.mark.slow
def test_errors_of_a_five_bar_are_as_large_as_the_covariance_says():
    """Two of three angles are measured; one degree of freedom, twelve coordinates, twelve rows."""
    consistent(five_bar(), 100, 40)


def five_bar(times=1):
    member = zw.gallery.load("five-bar")
    rows = list(member.model.constraints.members)
    again = [
        zw.Holonomic(
            lambda q, t, p, c=c: 3.0 * c.position_residual(member.model.system, q, t, p),
            name=f"{c.name} again",
        )
        for c in rows
    ]
    model = zw.Model(member.model.system, [*rows, *again * (times > 1)], member.model.params)
    plant = zw.Plant(model, ["crank 1.angle"], q0=member.q0, v0=member.v0, step=0.02)
    angles = ["crank 1.angle", "crank 2.angle"]
    return plant.kalman_filter(angles, 0.01, force_noise=0.5, spread_q=0.02, spread_v=0.02)


@pytest.mark.slow
def test_each_row_of_a_five_bar_twice_changes_nothing():
    rng = np.random.default_rng(3)
    u, z = rng.normal(size=(15, 1)), 0.78 + 0.01 * rng.normal(size=(15, 2))
    one, two = (five_bar(times).run(u, z) for times in (1, 2))
    for name in ("q", "v"):
        a, b = getattr(one.state, name), getattr(two.state, name)
        np.testing.assert_allclose(a, b, atol=1e-9)
    np.testing.assert_allclose(one.covariance, two.covariance, atol=1e-11)


@pytest.mark.slow
def test_redundant_rows_change_nothing():
    rng = np.random.default_rng(3)
    u, z = rng.normal(size=(15, 1)), -0.64 + 0.02 * rng.normal(size=(15, 1))
    one, three = (rod(times).run(u, z) for times in (1, 2))
    np.testing.assert_allclose(one.state.q, three.state.q, atol=1e-11)
    np.testing.assert_allclose(one.covariance, three.covariance, atol=1e-12)
    assert one.spread.shape[-1] == three.spread.shape[-1] == 2


@pytest.mark.slow
def test_a_mass_that_is_not_known_is_found():
    """A parameter as an unknown input; a force of 1 N shows the mass."""
    system = zw.System(
        1, lambda q, t, p: p["mass"] * jnp.ones(1), lambda q, v, t, p: -2.0 * q, coordinates=("x",)
    )
    believed = zw.Plant(zw.Model(system, params={"mass": 1.0}), ["x"], step=STEP)
    true = zw.Plant(zw.Model(system, params={"mass": 1.3}), ["x"], step=STEP)
    rng = np.random.default_rng(0)
    s, z, u = true.start, [], np.sign(np.sin(np.arange(120) * 0.35))[:, None]
    step = jax.jit(true.step)
    for x in u:
        s = step(s, x)
        z.append(s.q + 1e-3 * rng.normal(size=1))
    found = believed.kalman_filter(
        ["x"], 1e-3, unknown={"mass": (0.5, 0.02)}, spread_q=0, spread_v=0
    )
    estimate = found.run(u, z)
    assert abs(estimate.unknown[-1, 0] - 0.3) < 3 * estimate.deviation[-1, 2] < 0.1


@pytest.mark.slow
def test_the_displacement_of_a_quaternion_is_the_velocity_that_leads_there():
    member = zw.gallery.load("free-body")
    plant = zw.Plant(member.model, np.eye(member.model.system.nv), q0=member.q0, v0=member.v0)
    found = plant.kalman_filter(lambda q, v, t, p: q, 0.1, spread_q=0.0, spread_v=0.1)
    system, start = member.model.system, found.plant.start
    dq = 0.1 * np.random.default_rng(0).normal(size=system.nv)
    moved = start._replace(q=system.move(start.q, dq, 0.0, plant.parameters()))
    none = jnp.zeros(0)
    off = found._displacement((moved, none), (start, none))
    np.testing.assert_allclose(off[: system.nv], dq, atol=1e-9)
    assert np.linalg.norm(
        found.run(np.zeros((2, plant.nu)), [start.q] * 2).state.q, axis=1
    ).shape == (2,)


@pytest.mark.slow
def test_a_loop_that_knows_places_only_leads_a_crane_against_a_wind():
    """A constant force that the controller's model lacks is estimated and cancelled."""
    system = zw.System(
        4,
        lambda q, t, p: jnp.array([1.0, 1.0, 0.2, 0.2]),
        lambda q, v, t, p: jnp.stack([p["wind"], 0.0, 0.0, -0.2 * 9.81]),
        coordinates=("cart.x", "cart.y", "bob.x", "bob.y"),
    )
    rail = zw.Holonomic(lambda q, t, p: q[1], name="rail")
    rope = zw.Holonomic(lambda q, t, p: (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 0.25, name="rope")
    place = zw.Holonomic(lambda q, t, p: q[0] - 0.2 * jnp.sin(t), name="place")
    servo = zw.Servo([place], np.eye(4)[:, :1], gains=3.0, actuators=["motor"])
    model = zw.Model(system, [rail, rope], {"wind": 0.0}, servo=servo, name="crane")
    q0, v0 = [0.0, 0.0, 0.0, -0.5], [0.2, 0.0, 0.2, 0.0]
    plant = zw.Plant(model, q0=q0, v0=v0, step=0.02)
    known = {"force_noise": 0.01, "spread_q": 0.01, "spread_v": 0.1}
    both = ["cart.x", "bob.x"]
    error = {}
    for name, observer in {
        "all is measured": None,
        "force": plant.kalman_filter(both, 1e-3, unknown={"cart.x": (2.0, 0.1)}, **known),
        "parameter": plant.kalman_filter(both, 1e-3, unknown={"wind": (2.0, 0.1)}, **known),
    }.items():
        loop = zw.Loop(sample_time=0.02, model=model, observer=observer)
        run = zw.simulate(model, q0, v0, duration=4.0, params={"wind": 1.0}, loop=loop, rtol=1e-7)
        error[name] = np.abs(run.q[:, 0] - 0.2 * np.sin(run.t))[run.t > 2].max()
    # what remains of 1 N on 1 kg is 1/9 m with gains of 3/s
    assert error["all is measured"] == pytest.approx(1 / 9, rel=0.05)
    assert error["force"] < 2e-3 and error["force"] == pytest.approx(error["parameter"], rel=1e-6)


@pytest.mark.slow
def test_a_crane_in_a_wind_is_led_by_places_alone():
    """Without the estimate of the wind the cart comes to rest where the equations say."""
    member = zw.gallery.load("crane-in-wind")
    loop, off = member.simulate["loop"], {}
    blind = zw.Loop(sample_time=loop.sample_time, model=loop.model)
    for name, given in {"filter": loop, "blind": blind}.items():
        run = zw.simulate(
            member.model, member.q0, member.v0, duration=8.0, samples=81, loop=given, rtol=1e-7
        )
        off[name] = run.q[run.t > 6.0, 0] - 1.0
    lean = np.arctan(0.8 * 3.0 / 9.81)
    rest = 0.8 * 3.0 * (1 + np.sin(lean) ** 2) / (2.0 * 3.0**2)
    assert np.mean(off["blind"]) == pytest.approx(rest, rel=0.03)
    assert np.abs(off["filter"]).max() < 2e-3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"outputs": ["c"]}, "neither a coordinate nor a velocity"),
        ({"noise": 0.0}, "noise is 0.0, expected standard deviations above 0"),
        ({"noise": [0.1, 0.2]}, r"a number or \(1,\)"),
        ({"force_noise": -1.0}, "force_noise is -1.0, expected standard deviations"),
        ({"unknown": {"c": 1.0}}, "neither a parameter nor a velocity"),
        ({"unknown": {"b": (1.0, 2.0, 3.0)}}, "or a pair"),
    ],
)
def test_what_makes_no_filter_is_refused(options, says):
    with pytest.raises(zw.ModelError, match=says):
        masses().kalman_filter(**{"outputs": ["a"], "noise": 0.1, **options})


def test_a_loop_refuses_an_observer_of_another_kind():
    found = masses().kalman_filter(["a"], 0.1)
    with pytest.raises(zw.ModelError, match="sample_time is 0.1, expected that of the observer"):
        zw.Loop(sample_time=0.1, observer=found)
    with pytest.raises(zw.ModelError, match="which has its own noise"):
        zw.Loop(sample_time=STEP, observer=found, noise_q=0.1)
    with pytest.raises(zw.ModelError, match="run: u and z have shapes"):
        found.run(np.zeros((3, 2)), np.zeros((3, 1)))
