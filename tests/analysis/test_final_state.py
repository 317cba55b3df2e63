"""Derivatives of the final state of runs with impacts, lift-off, stick and slip, compared with
closed forms.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zwang as zw


def ended(example, duration, **options):
    return example.run(duration=duration, rtol=1e-12, samples=2, **options)


def place(example, run, names):
    """The first coordinate and velocity at the end, by parameters."""
    end = zw.analysis.final_state(run)

    def of(*values):
        found = end(example.q0, example.v0, dict(zip(names, values, strict=True)))
        return jnp.stack([found.q[-1], found.v[-1]])

    return of


def compare(found, closed, values, rtol=1e-8):
    np.testing.assert_allclose(found(*values), closed(*values), rtol=1e-9)
    every = tuple(range(len(values)))
    ours, exact = (jax.jacfwd(f, argnums=every)(*values) for f in (found, closed))
    np.testing.assert_allclose(np.array(ours), np.array(exact), rtol=rtol)


@pytest.mark.slow
def test_a_ball_that_has_bounced_three_times():
    ball = zw.gallery.load("bouncing-ball")
    found = place(ball, ended(ball, 1.2), ("restitution", "gravity"))

    def closed(e, g):
        begun, rise = jnp.sqrt(2 / g), e * jnp.sqrt(2 * g)
        for _ in range(2):
            begun, rise = begun + 2 * rise / g, e * rise
        s = 1.2 - begun
        return jnp.stack([rise * s - g * s**2 / 2, rise - g * s])

    compare(found, closed, (0.5, 9.81))


@pytest.mark.slow
def test_a_mass_that_a_belt_takes_along_until_it_slips():
    mass = zw.gallery.load("belt-oscillator")
    run = ended(mass, 2.0)
    names = ("speed", "stiffness", "static", "kinetic")
    values = tuple(mass.model.params[name] for name in names)
    assert [x.off for x in run.switches[1:]] == [("belt",)]
    found = place(mass, run, names)

    def closed(speed, k, static, kinetic):
        weight, m = mass.model.params["mass"] * 9.81, mass.model.params["mass"]
        slips = (static * weight / k - mass.q0[0]) / speed
        omega, s = jnp.sqrt(k / m), 2.0 - slips
        a = (static - kinetic) * weight / k
        c, d = jnp.cos(omega * s), jnp.sin(omega * s)
        x = kinetic * weight / k + a * c + speed / omega * d
        return jnp.stack([x, speed * c - a * omega * d])

    compare(found, closed, values)


@pytest.mark.slow
def test_a_ladder_that_leaves_the_wall():
    """Lift-off, beside central differences of runs."""
    ladder = zw.gallery.load("falling-ladder")
    run = ended(ladder, 0.6)
    assert run.switches[1].off == ("wall",)
    end, wide = zw.analysis.final_state(run), 1e-3
    found = jax.jacfwd(lambda g: end(ladder.q0, ladder.v0, {"gravity": g}).q)(9.81)
    at = lambda g: ended(ladder, 0.6, params={"gravity": g}).q[-1]
    one, two = ((at(9.81 + h) - at(9.81 - h)) / (2 * h) for h in (wide, 2 * wide))
    np.testing.assert_allclose(found, (4 * one - two) / 3, rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_a_sphere_that_slides_and_then_rolls():
    """Of its start as well: the change moves with it."""
    sphere = zw.gallery.load("thrown-sphere")
    run = ended(sphere, 0.9)
    end = zw.analysis.final_state(run)
    J = jax.jacfwd(lambda v: end(sphere.q0, v).v)(jnp.asarray(sphere.v0))
    assert J[0, 0] == pytest.approx(5 / 7, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "settings", "duration", "says"),
    [
        ("bouncing-ball", {}, 2.0, "at t = 1.354.* rebounds accumulate"),
        pytest.param(
            "balls-on-a-rail",
            {"first": 1.0, "last": -1.0},
            0.1,
            "'gap 1' and 'gap 4' change at one instant",
            marks=pytest.mark.slow,
        ),
        ("pendulum", {}, 0.1, "pendulum has no gaps or dry friction"),
    ],
)
def test_where_no_derivative_is_known_is_told(name, settings, duration, says):
    run = zw.gallery.load(name, **settings).run(duration=duration)
    with pytest.raises(zw.ModelError, match=says):
        zw.analysis.final_state(run)
