"""Moreau's time stepping compared with closed forms and with event-driven runs."""

import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw

G = 9.81
MOREAU = zw.methods.Moreau()


def point(force, *members):
    """A point of mass 1 in the plane."""
    system = zw.System(2, lambda q, t, p: jnp.ones(2), lambda q, v, t, p: jnp.array(force))
    return zw.Model(system, members)


def floor(name="floor", **given):
    return zw.Inequality(lambda q, t, p: q[1], name=name, **given)


def ball_at(height, t, e):
    """Height of a ball after its first impact and before its second."""
    fall = np.sqrt(2 * height / G)
    speed, after = e * np.sqrt(2 * G * height), t - fall
    assert 0 < after < 2 * speed / G
    return speed * after - 0.5 * G * after**2


@pytest.mark.slow
def test_halving_the_step_halves_the_error_of_impacts():
    """Where in its step an impact falls is chance: the mean of several heights has an order."""
    model, heights = point([0.0, -G], floor(restitution=0.8)), 1.0 + 0.0137 * np.arange(8)
    steps, errors = np.array([16e-3, 8e-3, 4e-3]), []
    for h in steps:
        ends = [
            zw.simulate(model, [0.0, x], [0.3, 0.0], times=[0.7], step=h, integrator=MOREAU).q[
                -1, 1
            ]
            for x in heights
        ]
        errors.append(np.mean(np.abs(ends - np.array([ball_at(x, 0.7, 0.8) for x in heights]))))
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert 0.6 < order < 1.5 and errors[-1] < 10 * steps[-1]


def test_rebounds_without_end_come_to_rest_and_lose_all_energy():
    model = point([0.0, -G], floor(restitution=0.5))
    run = zw.simulate(
        model, [0.0, 1.0], [0.3, 0.0], duration=1.6, samples=9, step=4e-3, integrator=MOREAU
    )
    # 1.3545709 s by its closed form, and each impact may be a step late
    assert abs(run.q[-1, 1]) < 4e-3 * np.sqrt(2 * G) and run.v[-1, 1] == pytest.approx(0, abs=1e-12)
    assert run.q[-1, 0] == pytest.approx(0.3 * 1.6)
    assert run.active[-1, 0] and run.attrs["integrator"] == "Moreau"


@pytest.mark.parametrize("mu, moves", [(0.2, True), (0.5, False)])
def test_a_block_on_an_incline_sticks_or_slides_as_the_closed_form_says(mu, moves):
    """Forces are constant, and steps exact but for the place, in which v is that of its end."""
    a, h = 0.3, 1e-2
    grip = zw.DryFriction(lambda q, v, t, p: v[0], load="floor", static=mu, name="grip")
    model = point([G * np.sin(a), -G * np.cos(a)], floor(), grip)
    run = zw.simulate(
        model, [0.0, 0.0], [0.0, 0.0], duration=0.5, samples=3, step=h, integrator=MOREAU
    )
    slides = moves * G * (np.sin(a) - mu * np.cos(a))
    np.testing.assert_allclose(run.v[-1], [slides * 0.5, 0.0], atol=1e-12)
    assert run.q[-1, 0] == pytest.approx(0.5 * slides * 0.5**2, abs=slides * h + 1e-12)


def test_rows_that_repeat_change_no_motion():
    def run(times):
        model = point([0.0, -G], *(floor(f"floor {i}", restitution=0.5) for i in range(times)))
        return zw.simulate(
            model, [0.0, 0.2], [0.3, 0.0], duration=0.6, samples=5, step=5e-3, integrator=MOREAU
        )

    once, thrice = run(1), run(3)
    np.testing.assert_allclose(thrice.q, once.q, atol=1e-13)
    assert not thrice.labels.forces.all() and thrice.labels.motion.all()


@pytest.mark.slow
def test_a_pendulum_on_its_rod_hits_a_wall_and_stays_on_its_circle():
    rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
    wall = zw.Inequality(lambda q, t, p: q[0], name="wall", restitution=0.6)
    model, start = point([0.0, -G], rod, wall), ([1.0, 0.0], [0.0, 0.0])
    exact = zw.simulate(model, *start, duration=1.0, samples=2, rtol=1e-10)
    run = zw.simulate(model, *start, duration=1.0, samples=2, step=2e-3, integrator=MOREAU)
    np.testing.assert_allclose(np.linalg.norm(run.steps.y[:, :2], axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=2e-2)
    # found in the middle of a step at the latest, after one without it
    assert np.min(run.steps.y[:, 0]) > -1.5 * 2e-3 * np.sqrt(2 * G)


def test_a_load_on_a_joint_is_its_own_reaction():
    """A slide under its own weight, held up by a guide: it decelerates by μ g."""
    guide = zw.Holonomic(lambda q, t, p: q[1], name="guide")
    rub = zw.DryFriction(lambda q, v, t, p: v[0], load="guide", static=0.2, name="rub")
    run = zw.simulate(
        point([0.0, -G], guide, rub),
        [0.0, 0.0],
        [1.0, 0.0],
        duration=0.8,
        samples=9,
        step=1e-2,
        integrator=MOREAU,
    )
    moving = np.maximum(1.0 - 0.2 * G * run.t, 0.0)
    np.testing.assert_allclose(run.v[:, 0], moving, atol=1e-10)


@pytest.mark.parametrize(
    "given, said",
    [
        ({}, "takes steps of one length"),
        ({"step": 1e-2, "switches": [zw.Switch("rod", off=0.1)]}, "does not locate events"),
        ({"step": 1e-2, "drift": zw.methods.NoStabilization()}, "needs zw.methods.Projection"),
    ],
)
def test_what_it_cannot_do_is_refused(given, said):
    rod = zw.Holonomic(lambda q, t, p: q @ q - 1.0, name="rod")
    model = point([0.0, -G], rod)
    with pytest.raises(zw.ModelError, match=said):
        zw.simulate(model, [1.0, 0.0], [0.0, 0.0], duration=0.1, integrator=MOREAU, **given)


def test_poisson_s_law_is_refused():
    model = point([0.0, -G], floor(restitution=0.5, impact="poisson"))
    with pytest.raises(zw.ModelError, match="takes Newton's law of impacts"):
        zw.simulate(model, [0.0, 1.0], [0.0, 0.0], duration=0.1, step=1e-2, integrator=MOREAU)
