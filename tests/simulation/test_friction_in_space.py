"""Dry friction of contacts in space, with sliding in any direction, compared with closed forms."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from zwang.bodies import Body, RigidBodies

G = 9.81


def free(n, force, mass=1.0):
    mass = mass * jnp.ones(n)
    return zw.System(n, lambda q, t, p: mass, lambda q, v, t, p: force(q, v, t, p))


R, M = 0.1, 2.0
SPHERE = zw.Model(
    # the rates of the last three coordinates are the angular velocity, whose place is of no matter
    free(
        6,
        lambda q, v, t, p: jnp.array([0.0, 0.0, -M * G, 0.0, 0.0, 0.0]),
        jnp.array([M, M, M, *[0.4 * M * R * R] * 3]),
    ),
    [
        zw.Inequality(lambda q, t, p: q[2] - R, name="floor", restitution="e"),
        zw.DryFriction(
            lambda q, v, t, p: jnp.stack([v[0] - R * v[4], v[1] + R * v[3]]),
            load="floor",
            static="mu",
            name="grip",
        ),
    ],
    {"mu": 0.3, "e": 0.0},
)


def slip(v):
    return np.array([v[0] - R * v[4], v[1] + R * v[3]])


@pytest.mark.slow
def test_a_sphere_with_side_spin_runs_along_a_parabola_and_then_rolls():
    mu, v0 = 0.3, np.array([4.0, 0.5, 0.0, 3.0, -10.0, 7.0])
    run = zw.simulate(SPHERE, [0.0, 0.0, R, 0.0, 0.0, 0.0], v0, duration=1.0, samples=6)
    s = slip(v0)
    ends, along = 2 * np.hypot(*s) / (7 * mu * G), s / np.hypot(*s)
    assert [x.what for x in run.switches] == ["floor on, grip off", "grip on"]
    assert run.switches[1].time == pytest.approx(ends, abs=1e-11)
    t = run.t[:, None]
    slides = v0[:2] * t - 0.5 * mu * G * along * t**2
    there = v0[:2] * ends - 0.5 * mu * G * along * ends**2
    rolls = there + (t - ends) * (v0[:2] - 2 * s / 7)
    np.testing.assert_allclose(run.q[:, :2], np.where(t < ends, slides, rolls), atol=1e-11)
    np.testing.assert_allclose(run.v[-1, :2], v0[:2] - 2 * s / 7, atol=1e-11)
    np.testing.assert_allclose(run.v[-1, 5], 7.0, atol=1e-11)  # nothing acts on the spin upright
    assert np.all(np.diff(run.dataset["energy"].values) <= 1e-12)


@pytest.mark.parametrize("mu, grips", [(0.05, False), (0.6, True)])
def test_a_sphere_hits_the_floor_with_spin(mu, grips):
    e, v0 = 0.5, np.array([1.0, 0.4, -3.0, 2.0, -8.0, 1.0])
    params = {"mu": mu, "e": e}
    run = zw.simulate(
        SPHERE, [0.0, 0.0, R + 0.1, 0.0, 0.0, 0.0], v0, duration=0.05, samples=2, params=params
    )
    hit, s = run.switches[0], slip(v0)
    down = np.sqrt(9.0 + 2 * G * 0.1)
    push = (1 + e) * down
    change = -2 / 7 * s if grips else -mu * push * s / np.hypot(*s)
    assert (mu * push > 2 / 7 * np.hypot(*s)) == grips
    np.testing.assert_allclose(hit.impulse[:3], M * np.array([*change, push]), atol=1e-10)
    np.testing.assert_allclose(run.v[-1, :2], v0[:2] + change, atol=1e-10)
    spin = v0[3:5] + 2.5 / R * np.array([change[1], -change[0]])
    np.testing.assert_allclose(run.v[-1, 3:5], spin, atol=1e-9)
    assert hit.energy_loss > 0


BLOCK = zw.Model(
    free(3, lambda q, v, t, p: jnp.stack([p["gx"], p["gy"], -p["gz"]])),
    [
        zw.Inequality(lambda q, t, p: q[2], name="plane"),
        zw.DryFriction(lambda q, v, t, p: v[:2], load="plane", static="mu", name="grip"),
    ],
    {"mu": 0.5, "gx": 0.0, "gy": 0.0, "gz": G},
)


def inclined(angle, down, mu):
    """Gravity in the axes of a plane that is inclined in the direction `down` in it."""
    along = G * np.sin(angle)
    return {
        "mu": mu,
        "gx": along * np.cos(down),
        "gy": along * np.sin(down),
        "gz": G * np.cos(angle),
    }


def test_a_block_that_is_pushed_sideways_on_an_incline_turns_down_and_stops():
    # V sin φ / tan(φ/2)^k is constant, φ from the direction down, k = μ / tan α
    angle, mu, fast = 0.3, 0.5, 2.0
    k = mu / np.tan(angle)
    run = zw.simulate(
        BLOCK,
        np.zeros(3),
        [0.0, fast, 0.0],
        duration=1.0,
        samples=7,
        rtol=1e-11,
        params=inclined(angle, 0.0, mu),
    )
    stops = fast * k / (G * np.sin(angle) * (k * k - 1))
    assert run.switches[-1].on == ("grip",)
    assert run.switches[-1].time == pytest.approx(stops, abs=1e-11)
    v = run.v[run.t < 0.8 * stops]
    phi = np.arctan2(v[:, 1], v[:, 0])
    kept = np.hypot(v[:, 0], v[:, 1]) * np.sin(phi) / np.tan(phi / 2) ** k
    np.testing.assert_allclose(kept, fast, rtol=1e-9)
    assert np.all(run.v[-1] == 0.0)


@pytest.mark.parametrize("down", [0.0, 0.7, 2.5])
def test_a_block_sticks_on_an_incline_up_to_its_coefficient_in_any_direction(down):
    angle = 0.3

    def speed(mu):
        params = inclined(angle, down, mu)
        run = zw.simulate(BLOCK, np.zeros(3), np.zeros(3), duration=1.0, samples=2, params=params)
        return run.v[-1, :2]

    assert np.all(speed(np.tan(angle) * (1 + 1e-9)) == 0.0)
    mu = np.tan(angle) * (1 - 1e-3)
    slides = G * (np.sin(angle) - mu * np.cos(angle))
    np.testing.assert_allclose(
        speed(mu), slides * np.array([np.cos(down), np.sin(down)]), atol=1e-10
    )


@pytest.mark.slow
def test_what_slides_along_a_line_moves_in_space_as_in_the_plane():
    def run(along):
        n, speed = len(along), 0.2
        belt = zw.DryFriction(
            lambda q, v, t, p: v - speed * jnp.asarray(along),
            load=G,
            static=0.5,
            kinetic=0.3,
            name="belt",
        )
        model = zw.Model(free(n, lambda q, v, t, p: -20.0 * q), [belt])
        start = np.zeros(n), speed * np.array(along)
        return zw.simulate(model, *start, duration=4.5, samples=10, rtol=1e-13)

    line, space = run([1.0]), run([0.6, 0.8])
    assert len(line.switches) == 5
    times = lambda run: [x.time for x in run.switches]
    np.testing.assert_allclose(times(space), times(line), atol=1e-10)
    np.testing.assert_allclose(space.q @ [0.6, 0.8], line.q[:, 0], atol=1e-11)
    np.testing.assert_allclose(space.q @ [0.8, -0.6], 0.0, atol=1e-11)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("along", [[1.0], [0.6, 0.8]])
def test_a_puck_slides_to_a_stop_by_friction_alone(along):
    # at the instant of its rest nothing else is there that its speed is small beside
    n = len(along)
    dry = zw.DryFriction(lambda q, v, t, p: v, load=3.0, static=1.0, name="dry")
    model = zw.Model(free(n, lambda q, v, t, p: 0 * q), [dry])
    run = zw.simulate(model, np.zeros(n), along, duration=1.0, samples=3)
    assert [x.what for x in run.switches] == ["dry off", "dry on"]
    assert run.switches[1].time == pytest.approx(1 / 3, abs=1e-11)
    np.testing.assert_allclose(run.q[-1], np.array(along) / 6, atol=1e-12)
    assert np.all(run.v[-1] == 0.0)


@pytest.mark.slow
def test_a_table_on_four_legs_slides_to_a_stop_without_turning():
    m, height, mu, fast = 4.0, 0.7, 0.2, np.array([0.9, 1.2])
    legs = np.array([[1.0, 1], [1, -1], [-1, -1], [-1, 1]])
    # q: place, tilts about both axes, turn; tilts are small
    system = free(
        6,
        lambda q, v, t, p: jnp.array([0.0, 0.0, -m * G, 0.0, 0.0, 0.0]),
        jnp.array([m, m, m, 0.5, 0.6, 0.8]),
    )
    feet = []
    for k, (x, y) in enumerate(legs):
        feet += [
            zw.Inequality(lambda q, t, p, x=x, y=y: q[2] + y * q[3] - x * q[4], name=f"foot {k}"),
            zw.DryFriction(
                lambda q, v, t, p, x=x, y=y: jnp.stack(
                    [v[0] - height * v[4] - y * v[5], v[1] + height * v[3] + x * v[5]]
                ),
                load=f"foot {k}",
                static=mu,
                name=f"grip {k}",
            ),
        ]
    run = zw.simulate(
        zw.Model(system, feet), np.zeros(6), [*fast, 0.0, 0.0, 0.0, 0.0], duration=1.0, samples=6
    )
    ends = np.hypot(*fast) / (mu * G)
    assert set(run.switches[-1].on) == {f"grip {k}" for k in range(4)}
    assert run.switches[-1].time == pytest.approx(ends, abs=1e-11)
    np.testing.assert_allclose(run.q[-1, :2], fast * ends / 2, atol=1e-11)
    np.testing.assert_allclose(run.q[-1, 2:], 0.0, atol=1e-12)
    assert np.all(np.diff(0.5 * np.sum(run.v**2, axis=1)) <= 1e-12)


def box(mass=2.0, edges=(0.4, 0.3, 0.2), midpoints=True):
    """A box whose corners, and perhaps the midpoints of its bottom edges, may touch a rough
    floor.
    """
    half = 0.5 * np.array(edges)
    corners = list(itertools.product((1, -1), repeat=3))
    below = [(1, 0, -1), (-1, 0, -1), (0, 1, -1), (0, -1, -1)] if midpoints else []
    points = half * np.array([*corners, *below])
    moments = mass / 3 * (np.sum(half**2) - half**2)
    bodies = RigidBodies([Body("box", mass, tuple(moments))], gravity=(0.0, 0.0, -G))

    def place(q, x):
        return q[:3] + x + 2 * jnp.cross(q[4:7], q[3] * x + jnp.cross(q[4:7], x))

    def slip(x):
        rate = bodies.system.rate
        return lambda q, v, t, p: jax.jvp(lambda q: place(q, x)[:2], (q,), (rate(q, v, t, p),))[1]

    names = [f"point {i}" for i in range(len(points))]
    heights = lambda q, t, p: jnp.stack([place(q, x)[2] for x in points])
    gaps = zw.Inequality(heights, name="floor", parts=names, restitution="e")
    grips = [
        zw.DryFriction(slip(x), load=name, static=0.4, name=f"grip of {name}")
        for x, name in zip(points, names, strict=True)
    ]
    return zw.Model(bodies.system, [gaps, *grips], {**bodies.params, "e": 0.0}), points


@pytest.mark.slow
def test_a_box_falls_on_twelve_points_and_comes_to_rest():
    """Three points of an edge begin to turn at instants that differ by less than a step."""
    model, points = box()
    axis = np.array([1.0, 1.0, 0.0]) / np.sqrt(2)
    for tilt, spin, e in [(0.0, 2.0, 0.0), (0.05, 0.0, 0.5)]:
        start = np.r_[0.0, 0.0, 0.905, np.cos(tilt / 2), np.sin(tilt / 2) * axis]
        v0 = np.array([1.0, 0.3, 0.0, 0.0, 0.0, spin]) * (spin > 0)
        run = zw.simulate(model, start, v0, duration=2.0, samples=9, params={"e": e})
        assert np.all(run.v[-1] == pytest.approx(0.0, abs=1e-12))
        assert run.q[-1, 2] == pytest.approx(0.1, abs=1e-12)
        assert np.all(np.diff(run.dataset["energy"].values) <= 1e-10)
        lost = sum(x.energy_loss for x in run.switches)
        assert 0 < lost <= 2.0 * G * (run.q[0, 2] - 0.1) + 0.5 * v0 @ v0 * 2.0


def thrown(axis, tilt, height, v0):
    turned = np.sin(tilt / 2) * np.array(axis) / np.linalg.norm(axis)
    return np.r_[0.0, 0.0, height, np.cos(tilt / 2), turned], np.array(v0)


@pytest.mark.slow
def test_a_box_on_an_edge_tips_over_and_on():
    """Both ends of an edge share friction, and begin to slide at one instant with μ₀ = μ."""
    model, _ = box(midpoints=False)
    start = thrown((1, 2, 0), 1.2, 1.2, [1.0, 0.3, 0.0, 0.0, 0.0, 2.0])
    run = zw.simulate(model, *start, duration=2.0, samples=9, params={"e": 0.5})
    assert run.t[-1] == 2.0
    assert np.all(np.diff(run.dataset["energy"].values) <= 1e-9)
    # beside time stepping by Moreau and Jean in the plane of the motion, with steps of 0.5 μs; of
    # 1 μs its rate is −0.0852 rad/s
    start = thrown((0, 1, 0), 0.05, 0.905, np.zeros(6))
    run = zw.simulate(model, *start, duration=2.0, samples=21, params={"e": 0.5}, rtol=1e-10)
    energy = run.dataset["energy"].values
    assert energy[-1] - 2.0 * G * 0.1 == pytest.approx(1.976, abs=5e-4)
    assert run.v[-1, 4] == pytest.approx(-0.0865, abs=1e-3)


def test_more_than_two_sliding_velocities_are_refused():
    with pytest.raises(zw.ModelError, match=r"'grip': slip returns shape \(3,\), expected one"):
        zw.Model(
            free(3, lambda q, v, t, p: 0 * q),
            [zw.DryFriction(lambda q, v, t, p: v, load=1.0, static=0.3, name="grip")],
        )
