"""Gaps that open and close, and dry friction, compared with closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from verification.contact import CASES

import zwang as zw
from zwang.simulation import contact_modes

G = 9.81


def free(mass, force):
    """A system of coordinates with constant masses."""
    mass = jnp.asarray(mass)
    return zw.System(len(mass), lambda q, t, p: mass, lambda q, v, t, p: force(q, v, t, p))


def falling(n, mass=1.0, along=1):
    weight = jnp.zeros(n).at[along].set(-mass * G)
    return free(np.full(n, mass), lambda q, v, t, p: weight)


def rate_of(function):
    """The rate of a function of q as a sliding velocity."""
    return lambda q, v, t, p: jax.jvp(function, (q,), (v,))[1]


BALL = zw.Model(
    falling(2),
    [zw.Inequality(lambda q, t, p: q[1], name="floor", restitution="e", unit="m")],
    {"e": 0.5},
)


@pytest.mark.parametrize("e", [0.5, 0.8])
def test_a_ball_comes_to_rest_at_the_limit_of_its_bounces(e):
    run = zw.simulate(BALL, [0.0, 1.0], [0.3, 0.0], duration=5.0, params={"e": e})
    fall = np.sqrt(2 / G)
    hits = np.array([x.time for x in run.switches])
    k = np.arange(10)
    expected = fall * (1 + 2 * e * (1 - e**k) / (1 - e))
    np.testing.assert_allclose(hits[:10], expected, atol=1e-10)
    assert hits[-1] == pytest.approx(fall * (1 + e) / (1 - e), abs=1e-10)
    lost = sum(x.energy_loss for x in run.switches)
    assert lost == pytest.approx(G, rel=1e-8)  # all of m g h
    assert np.min(run.q[:, 1]) > -1e-10
    np.testing.assert_allclose(run.q[-1], [1.5, 0.0], atol=1e-12)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "name",
    [
        "bouncing-ball",
        "falling-ladder",
        "thrown-sphere",
        "dry-spring",
        "belt-oscillator",
        "rocking-block",
        "block-on-incline",
        "painleve-rod",
        "table-on-four-legs",
        "balls-on-a-rail",
        "falling-chain",
        "rope-hoist",
        *(
            pytest.param(x, marks=pytest.mark.slow)
            for x in ("slider-crank-clearance", "woodpecker", "compass-gait")
        ),
    ],
)
def test_a_member_of_the_gallery_has_the_values_of_its_closed_form(name):
    for x in CASES[name]():
        assert x.difference <= x.allowed, x


@pytest.mark.slow
def test_a_block_that_rocks_comes_to_rest_and_loses_energy_at_every_impact():
    run = zw.gallery.load("rocking-block").run()
    hits = [x for x in run.switches if x.hit][:5]
    assert all(x.energy_loss > 0 for x in hits)
    np.testing.assert_allclose(run.q[-1][1:], [0.5, 0.0], atol=1e-9)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-8)


@pytest.mark.slow
def test_steps_between_impacts_have_the_order_of_their_integrator():
    block = zw.gallery.load("rocking-block")
    end = lambda **options: block.run(duration=1.0, samples=2, **options).q[-1]
    exact = end(rtol=1e-13)
    coarse, fine = (np.max(np.abs(end(step=h) - exact)) for h in (0.2, 0.05))
    assert np.log(coarse / fine) / np.log(4) > 7.5


@pytest.mark.slow
def test_a_step_of_the_compass_gait_is_the_published_one():
    settings = {"angle": 0.27102868, "front": -1.09182668, "back": -0.37718156, "gravity": 9.8}
    run = zw.gallery.load("compass-gait", **settings).run(duration=0.8, samples=2)
    q, v = run.at(run.switches[1].time)
    np.testing.assert_allclose([q[3], v[3], v[2]], [0.2187 + 0.05236, -1.0918, -0.3772], atol=1e-4)


@pytest.mark.slow
def test_a_drive_may_add_energy_where_it_plucks_a_load():
    """The gap of its rope moves with time: that is no fault of Newton's law."""
    run = zw.gallery.load("rope-hoist").run(duration=0.2, samples=3)
    assert run.switches[1].energy_loss < 0
    assert not any("adds" in x for x in run.warnings)


def test_no_motion_goes_on_where_painleve_s_rod_has_no_answer():
    rod = zw.gallery.load("painleve-rod", mu=4 / 3 * (1 + 1e-10))
    with pytest.raises(zw.SimulationError, match="no forces satisfy all inequalities.*|Painlevé"):
        rod.run()


@pytest.fixture
def decisions(monkeypatch):
    """How everything is held, each time that it is decided with some loads."""
    seen, decide = [], contact_modes._decided
    monkeypatch.setattr(contact_modes, "_decided", lambda *a: seen.append(decide(*a)) or seen[-1])
    return seen


@pytest.mark.slow
def test_a_hinge_rubs_by_its_own_reaction(decisions):
    # beside an integration of the angle alone, whose reaction is found by iteration
    length, m, mu = 1.0, 2.0, 0.02
    system = free([m, m, 0.1], lambda q, v, t, p: jnp.array([0.0, -m * G, 0.0]))
    pin = zw.Holonomic(
        lambda q, t, p: q[:2] - length * jnp.stack([jnp.sin(q[2]), -jnp.cos(q[2])]), name="pin"
    )
    bearing = zw.DryFriction(lambda q, v, t, p: v[2], load="pin", static=mu, name="bearing")
    q0 = [np.sin(0.5), -np.cos(0.5), 0.5]
    run = zw.simulate(
        zw.Model(system, [pin, bearing]), q0, np.zeros(3), duration=2.5, rtol=1e-11, samples=6
    )
    first, second = (x.time for x in run.switches[1:3])
    assert first == pytest.approx(1.0425374776606853, abs=1e-9)
    assert second == pytest.approx(2.082361427203448, abs=1e-9)
    assert run.at(second)[0][2] == pytest.approx(0.409323685, abs=1e-8)
    # once more for a load that was found, and once for one that begins to slide
    assert len(decisions) <= 4 * len(run.switches)


@pytest.mark.slow
def test_a_gap_that_is_curved_by_round_off_alone_stays_open():
    """As those of shapes on turning bodies are: a radius of 1e16 m is no size of the motion."""
    floor = zw.Inequality(lambda q, t, p: q[1] + 1e-16 * q[0] ** 2, name="floor")
    model = zw.Model(falling(2), [floor])
    run = zw.simulate(model, [0.0, 0.1], [2.0, 0.0], duration=1.0, samples=3)
    assert run.switches[0].time == pytest.approx(np.sqrt(0.2 / G), abs=1e-12)
    with pytest.raises(zw.ModelError, match="penetrates 'floor'"):
        zw.simulate(model, [0.0, -0.1], [2.0, 0.0], duration=1.0)


@pytest.mark.slow
def test_a_row_that_repeats_changes_no_motion():
    def run(times):
        gaps = [zw.Inequality(lambda q, t, p: q[1], name=f"{i}", restitution=0.5) for i in times]
        return zw.simulate(
            zw.Model(falling(2), gaps), [0.0, 1.0], [0.3, 0.0], duration=1.0, samples=5
        )

    np.testing.assert_allclose(run(range(3)).q, run(range(1)).q, atol=1e-12)


@pytest.mark.slow
def test_energy_never_rises_and_play_is_kept():
    play = 0.05
    system = free([1.0, 0.5], lambda q, v, t, p: jnp.stack([2 * jnp.cos(3 * t), -0.4 * v[1]]))
    gap = zw.Inequality(
        lambda q, t, p: play + jnp.stack([q[1] - q[0], q[0] - q[1]]),
        name="play",
        parts=["forward", "backward"],
        restitution=0.4,
    )
    run = zw.simulate(zw.Model(system, [gap]), np.zeros(2), np.zeros(2), duration=6.0)
    assert len(run.switches) > 20
    assert all(x.energy_loss > -1e-12 for x in run.switches)
    assert np.max(np.abs(run.q[:, 0] - run.q[:, 1])) < play + 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("law", ["poisson", "newton"])
def test_a_falling_rod_that_grips_the_floor_rebounds_by_its_law(law):
    # as it neither slides in the first phase nor in the second, all of it is linear
    half, m, e, angle, fast, spin = 0.5, 2.0, 0.6, np.pi / 3, -1.5, 0.4
    inertia = m * (2 * half) ** 2 / 12
    x, y = -half * np.cos(angle), -half * np.sin(angle)
    system = free([m, m, inertia], lambda q, v, t, p: jnp.array([0.0, -m * G, 0.0]))
    end = lambda q: q[:2] - half * jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
    floor = zw.Inequality(lambda q, t, p: end(q)[1], name="floor", restitution=e, impact=law)
    grip = zw.DryFriction(rate_of(lambda q: end(q)[0]), load="floor", static=2.0, name="grip")
    run = zw.simulate(
        zw.Model(system, [floor, grip]),
        [0.0, -y, angle],
        [0.0, fast, spin],
        duration=1e-3,
        samples=2,
    )
    across, through = x * y / inertia, 1 / m + x**2 / inertia
    D = np.array([[through, -across], [-across, 1 / m + y**2 / inertia]])
    met = np.array([fast + x * spin, -y * spin])
    if law == "newton":
        impulse = np.linalg.solve(D, [-(1 + e) * met[0], -met[1]])
    else:
        impulse = np.linalg.solve(D, -met)
        returned = e * impulse[0]
        impulse = impulse + np.array([returned, across * returned / D[1, 1]])
    assert abs(impulse[1]) < 2.0 * impulse[0]
    hit = run.switches[0]
    np.testing.assert_allclose(hit.impulse[:2], impulse[::-1], atol=1e-12)
    assert hit.energy_loss > 0


@pytest.mark.slow
@pytest.mark.parametrize("law, adds", [("newton", True), ("poisson", False)])
def test_an_impact_that_adds_energy_is_told(law, adds):
    """A rod whose tip slides against the way in which it hits: Kane's example of Newton's law."""
    system = free([1.0, 1.0, 0.14], lambda q, v, t, p: jnp.zeros(3))
    tip = lambda q: q[:2] - jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
    floor = zw.Inequality(
        lambda q, t, p: tip(q)[1], name="floor", restitution=0.9, impact=law, unit="m"
    )
    grip = zw.DryFriction(rate_of(lambda q: tip(q)[0]), load="floor", static=1.25, name="grip")
    run = zw.simulate(
        zw.Model(system, [floor, grip]),
        [0.0, np.sin(0.61), 0.61],
        [-0.55, -1.0, 2.8],
        duration=0.01,
        samples=3,
    )
    assert (run.switches[0].energy_loss < 0) == adds
    assert any("adds 0.6" in x and 'impact="poisson"' in x for x in run.warnings) == adds


@pytest.mark.slow
def test_a_table_that_is_lifted_adds_its_work_and_nobody_is_warned():
    """A ball loses ½ (1 − e²) m u², with u its speed beside the table, in `Λ = (1 + e) m u`."""
    e, lift = 0.7, lambda t: 0.05 * jnp.sin(7 * t)
    table = zw.Inequality(lambda q, t, p: q[1] - lift(t), name="table", restitution=e)
    run = zw.simulate(zw.Model(falling(2), [table]), [0.0, 0.5], [0.0, 0.0], duration=1.2)
    assert len(run.switches) == 3 and run.switches[2].energy_loss < 0
    for x in run.switches:
        push = x.multipliers["table"][0]
        rise = float(jax.grad(lift)(x.time))
        assert x.work == pytest.approx(push * rise, abs=1e-9)
        assert x.dissipated == pytest.approx(0.5 * (1 - e**2) * (push / (1 + e)) ** 2, rel=1e-9)
    assert "energy lost 0.5065" in str(run.switches[2]) and "added by what moves" in str(run)
    assert not any("adds" in x for x in run.warnings)


def test_what_may_let_go_is_refused_where_nobody_follows_it():
    floor = zw.Inequality(lambda q, t, p: q[1], name="floor")
    model = zw.Model(falling(2), [floor])
    with pytest.raises(zw.ModelError, match="'floor' is an inequality.*use zw.simulate"):
        zw.motion(model, [0.0, 1.0], [0.0, 0.0])
    with pytest.raises(zw.ModelError, match="penetrates 'floor': its gap is -0.5"):
        zw.simulate(model, [0.0, -0.5], [0.0, 0.0], duration=1.0)
    with pytest.raises(zw.ModelError, match="restitution is 2.0, expected"):
        zw.Inequality(lambda q, t, p: q[1], restitution=2.0)
    with pytest.raises(zw.ModelError, match="load is 'friction', expected a number, a constr"):
        zw.Model(falling(2), [zw.DryFriction(lambda q, v, t, p: v[0], load="friction", static=1)])
    with pytest.raises(zw.ModelError, match="load is 'flor', .* did you mean 'floor'"):
        grip = zw.DryFriction(lambda q, v, t, p: v[0], load="flor", static=0.3)
        zw.Model(falling(2), [floor, grip])


@pytest.mark.slow
def test_a_block_slides_off_the_end_of_a_table():
    """Off at x = 1 and on the floor after √(2h/g); derivatives cross the end."""
    system = zw.System(
        2,
        mass_matrix=lambda q, t, p: jnp.ones(2),
        force=lambda q, v, t, p: jnp.array([0.0, -G]),
    )
    table = zw.Inequality(
        lambda q, t, p: q[1], within=lambda q, t, p: 1.0 - q[0], name="table", unit="m"
    )
    floor = zw.Inequality(lambda q, t, p: q[1] + 0.5, name="floor", restitution=0.5, unit="m")
    model = zw.Model(system, [table, floor])
    run = zw.simulate(model, [0.0, 0.0], [0.8, 0.0], duration=1.7, rtol=1e-12)
    fall = np.sqrt(2 * 0.5 / G)
    np.testing.assert_allclose([x.time for x in run.switches[1:]], [1.25, 1.25 + fall], atol=1e-12)
    assert run.switches[1].off == ("table",)
    end = zw.analysis.final_state(run)
    by_speed = jax.jacfwd(lambda v: end([0.0, 0.0], [v, 0.0]).q)(0.8)
    # after the rebound, with τ since: y = −½ + (√(2gh)/2) τ − g τ²/2, and dτ/dv = 1/v²
    after = 1.7 - 1.25 - fall
    np.testing.assert_allclose(by_speed, [1.7, (G * fall / 2 - G * after) / 0.64], rtol=1e-9)
    # beyond its end there is no table to penetrate
    zw.simulate(model, [1.2, -0.1], [0.0, 0.0], duration=0.1)
    with pytest.raises(zw.ModelError, match="penetrates 'table'"):
        zw.simulate(model, [0.5, -0.1], [0.0, 0.0], duration=0.1)


@pytest.mark.slow
def test_a_gap_that_comes_and_goes_within_one_step_is_seen():
    """A point that flies freely for 33 m meets a post of 0.1 m, which a step passes over."""
    system = zw.System(
        2, mass_matrix=lambda q, t, p: jnp.ones(2), force=lambda q, v, t, p: jnp.zeros(2)
    )
    post = zw.Inequality(lambda q, t, p: jnp.sqrt(q @ q) - 0.1, name="post", restitution=1.0)
    run = zw.simulate(zw.Model(system, [post]), [-33.0, 0.05], [1.0, 0.0], duration=40.0, samples=2)
    assert run.switches[0].time == pytest.approx(33 - np.sqrt(0.0075), abs=1e-11)
    np.testing.assert_allclose(run.v[-1], [-0.5, np.sqrt(0.75)], atol=1e-12)


def test_an_impact_late_in_a_long_run_is_as_exact_as_time_permits():
    """1e-14 of its time and duration are 1.6e-12 s, in which the point moves by 3.2e-11 m."""
    wall = zw.Inequality(lambda q, t, p: 1200.5 - q[0], name="wall", restitution=1.0)
    model = zw.Model(free([1.0], lambda q, v, t, p: jnp.zeros(1)), [wall])
    run = zw.simulate(model, [0.0], [20.0], duration=100.0, samples=2)
    assert np.max(run.steps.y[:, 0]) == pytest.approx(1200.5, abs=3.3e-11)
    assert run.switches[0].time == pytest.approx(60.025, abs=2e-12)


def test_ends_of_a_gap_are_refused_where_they_are_none():
    with pytest.raises(zw.ModelError, match="within is given beside velocity=True"):
        zw.Inequality(lambda q, v, t, p: v[0], velocity=True, within=lambda q, t, p: q[0])
