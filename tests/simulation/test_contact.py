"""Gaps that open and close, and dry friction, beside closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw
from tests.crossed import some
from zwang.dynamics.contact_problem import ContactProblem
from zwang.dynamics.vector_field import HELD_ON, SLIDES_FORWARD
from zwang.equations.state import host_state
from zwang.simulation.contact import Contacts
from zwang.simulation.contact_modes import held_modes
from zwang.simulation.monitor import MotionEndError

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


def test_a_ladder_leaves_the_wall_at_two_thirds_of_its_height():
    half, start = 1.0, 1.2
    system = free([3.0, 3.0, 1.0], lambda q, v, t, p: jnp.array([0.0, -3.0 * G, 0.0]))
    wall = zw.Inequality(lambda q, t, p: q[0] - half * jnp.cos(q[2]), name="wall")
    floor = zw.Inequality(lambda q, t, p: q[1] - half * jnp.sin(q[2]), name="floor")
    q0 = [half * np.cos(start), half * np.sin(start), start]
    run = zw.simulate(
        zw.Model(system, [wall, floor]), q0, np.zeros(3), duration=0.7, rtol=1e-11, samples=15
    )
    assert [x.what for x in run.switches] == ["wall on, floor on", "wall off"]
    leaves = run.at(run.switches[1].time)[0][2]
    assert np.sin(leaves) == pytest.approx(2 / 3 * np.sin(start), abs=1e-10)


def test_a_sphere_thrown_sliding_rolls_with_five_sevenths_of_its_speed():
    r, mu, v0 = 0.1, 0.3, 4.0
    system = free([2.0, 2.0, 0.4 * 2.0 * r * r], lambda q, v, t, p: jnp.array([0.0, -2 * G, 0.0]))
    floor = zw.Inequality(lambda q, t, p: q[1] - r, name="floor")
    grip = zw.DryFriction(
        lambda q, v, t, p: v[0] + r * v[2], load="floor", static="mu", name="grip"
    )
    model = zw.Model(system, [floor, grip], {"mu": mu})
    run = zw.simulate(model, [0.0, r, 0.0], [v0, 0.0, 0.0], duration=1.0, samples=11)
    assert run.switches[-1].on == ("grip",)
    assert run.switches[-1].time == pytest.approx(2 * v0 / (7 * mu * G), abs=1e-10)
    assert run.v[-1, 0] == pytest.approx(5 * v0 / 7, abs=1e-10)


def test_a_spring_with_dry_friction_loses_its_amplitude_and_sticks():
    k, m, F = 50.0, 2.0, 3.0
    system = free([m], lambda q, v, t, p: -k * q)
    # a parameter may have the name of the friction that it loads
    dry = zw.DryFriction(lambda q, v, t, p: v[0], load="dry", static=1.0, name="dry")
    model = zw.Model(system, [dry], {"dry": F})
    run = zw.simulate(model, [1.0], [0.0], duration=6.0, samples=13, rtol=1e-11)
    turning = [run.at(x.time)[0][0] for x in run.switches]
    np.testing.assert_allclose(np.abs(turning), 1.0 - 2 * F / k * np.arange(9), atol=1e-10)
    assert run.switches[-1].time == pytest.approx(8 * np.pi * np.sqrt(m / k), abs=1e-10)
    assert abs(run.q[-1, 0]) <= F / k and run.v[-1, 0] == 0.0


def test_a_mass_on_a_belt_sticks_and_slips_periodically():
    m, k, static, kinetic, speed = 1.0, 20.0, 0.5, 0.3, 0.2
    w, a = np.sqrt(k / m), (static - kinetic) * m * G / k
    system = free([m], lambda q, v, t, p: -k * q)
    belt = zw.DryFriction(
        lambda q, v, t, p: v[0] - speed, load=m * G, static=static, kinetic=kinetic, name="belt"
    )
    run = zw.simulate(zw.Model(system, [belt]), [0.0], [speed], duration=6.0, samples=13)
    between = np.diff([x.time for x in run.switches][1:])
    np.testing.assert_allclose(between[::2], 2 / w * (np.pi - np.arctan(a * w / speed)), atol=1e-10)
    np.testing.assert_allclose(between[1::2], 2 * a / speed, atol=1e-10)


INCLINE = 0.3
INCLINED = zw.Model(
    free(
        [1.0, 1.0],
        lambda q, v, t, p: jnp.array([G * np.sin(INCLINE), -G * np.cos(INCLINE)]),
    ),
    [
        zw.Inequality(lambda q, t, p: q[1], name="plane"),
        zw.DryFriction(lambda q, v, t, p: v[0], load="plane", static="mu", name="grip"),
    ],
    {"mu": 0.0},
)


@pytest.mark.parametrize("above", [1e-9, -1e-9])
def test_a_block_sticks_on_an_incline_up_to_its_coefficient(above):
    angle, mu = INCLINE, np.tan(INCLINE) * (1 + above)
    run = zw.simulate(INCLINED, [0.0, 0.0], [0.0, 0.0], duration=1.0, params={"mu": mu})
    slides = 0.0 if above > 0 else G * (np.sin(angle) - mu * np.cos(angle))
    assert run.v[-1, 0] == pytest.approx(slides, abs=1e-13)


def block(b, h, m):
    """A block that stands on two corners with friction enough."""
    inertia = m * (b * b + h * h) / 3
    system = free([m, m, inertia], lambda q, v, t, p: jnp.array([0.0, -m * G, 0.0]))

    def corner(q, x):
        along = jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
        return q[:2] + x * along - h * jnp.stack([-along[1], along[0]])

    constraints = []
    for name, x in (("left", -b), ("right", b)):
        constraints += [
            zw.Inequality(lambda q, t, p, x=x: corner(q, x)[1], name=name),
            zw.DryFriction(
                rate_of(lambda q, x=x: corner(q, x)[0]), load=name, static=5.0, name=f"{name} grip"
            ),
        ]
    return zw.Model(system, constraints)


def test_a_block_rocks_with_ever_less_and_comes_to_rest():
    b, h, tilt = 0.2, 0.5, -0.2
    q0 = [b - b * np.cos(tilt) - h * np.sin(tilt), h * np.cos(tilt) - b * np.sin(tilt), tilt]
    run = zw.simulate(block(b, h, 3.0), q0, np.zeros(3), duration=2.6, rtol=1e-10, samples=7)
    alpha = np.arctan2(b, h)
    hits = [x for x in run.switches if x.hit][:5]
    for x in hits:
        before, after = run.at(x.time - 1e-8)[1][2], run.at(x.time + 1e-8)[1][2]
        assert after / before == pytest.approx(1 - 1.5 * np.sin(alpha) ** 2, abs=1e-6)
    assert all(x.energy_loss > 0 for x in hits)
    np.testing.assert_allclose(run.q[-1][1:], [h, 0.0], atol=1e-9)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-8)


@pytest.mark.parametrize("above, paradox", [(-1e-10, False), (1e-10, True)])
def test_painleve_s_rod_has_no_answer_from_its_known_coefficient_on(above, paradox):
    # tan θ = 2 is where the coefficient is the least, 4/3
    theta, mu = -np.arctan(2.0), 4 / 3 * (1 + above)
    system = free([1.0, 1.0, 1 / 3], lambda q, v, t, p: jnp.array([0.0, -G, 0.0]))
    end = lambda q: q[:2] + jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
    floor = zw.Inequality(lambda q, t, p: end(q)[1], name="floor")
    grip = zw.DryFriction(rate_of(lambda q: end(q)[0]), load="floor", static=mu, name="grip")
    model = zw.Model(system, [floor, grip])
    state = host_state(np.array([0.0, -np.sin(theta), theta]), np.array([1.0, 0.0, 0.0]), 0.0)
    contacts = Contacts(model, None, 0)
    problem = ContactProblem.at_state(model.dynamics(lets_go=True), state, contacts.rows)
    decide = lambda: held_modes(
        problem, contacts.gaps, contacts.frictions, np.array([True]), np.full(2, 1e-9)
    )
    if paradox:
        with pytest.raises(MotionEndError, match="no forces keep all gaps from closing"):
            decide()
        run = lambda: zw.simulate(model, state.q, state.v, duration=0.1)
        with pytest.raises(zw.SimulationError, match="Painlevé"):
            run()
    else:
        assert decide().tolist() == [HELD_ON, SLIDES_FORWARD]


def test_a_table_on_four_legs_has_one_motion_and_least_forces():
    m, legs = 4.0, np.array([[1.0, 1], [1, -1], [-1, -1], [-1, 1]])
    system = free([m, 0.5, 0.5], lambda q, v, t, p: jnp.array([-m * G, 0.3, -0.2]))
    floor = zw.Inequality(
        lambda q, t, p: q[0] + legs @ q[1:], name="legs", parts=["a", "b", "c", "d"]
    )
    run = zw.simulate(zw.Model(system, [floor]), np.zeros(3), np.zeros(3), duration=1.0, samples=3)
    rows = np.column_stack([np.ones(4), legs])
    least = np.linalg.pinv(rows.T) @ [m * G, -0.3, 0.2]
    np.testing.assert_allclose(run.dataset.multipliers.values[-1], least, atol=1e-10)
    np.testing.assert_allclose(run.q[-1], 0.0, atol=1e-13)


def test_a_hinge_rubs_by_its_own_reaction():
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


def test_a_gap_that_is_curved_by_round_off_alone_stays_open():
    """As those of shapes on turning bodies are: a radius of 1e16 m is no size of the motion."""
    floor = zw.Inequality(lambda q, t, p: q[1] + 1e-16 * q[0] ** 2, name="floor")
    model = zw.Model(falling(2), [floor])
    run = zw.simulate(model, [0.0, 0.1], [2.0, 0.0], duration=1.0, samples=3)
    assert run.switches[0].time == pytest.approx(np.sqrt(0.2 / G), abs=1e-12)
    with pytest.raises(zw.ModelError, match="penetrates 'floor'"):
        zw.simulate(model, [0.0, -0.1], [2.0, 0.0], duration=1.0)


def test_a_row_that_repeats_changes_no_motion():
    def run(times):
        gaps = [zw.Inequality(lambda q, t, p: q[1], name=f"{i}", restitution=0.5) for i in times]
        return zw.simulate(
            zw.Model(falling(2), gaps), [0.0, 1.0], [0.3, 0.0], duration=1.0, samples=5
        )

    np.testing.assert_allclose(run(range(3)).q, run(range(1)).q, atol=1e-12)


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


@pytest.mark.parametrize("law", some(["poisson", "newton"], 2))
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


def test_what_may_let_go_is_refused_where_nobody_follows_it():
    floor = zw.Inequality(lambda q, t, p: q[1], name="floor")
    model = zw.Model(falling(2), [floor])
    with pytest.raises(zw.ModelError, match="'floor' may let go, which only zw.simulate"):
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
