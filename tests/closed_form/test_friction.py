"""Coulomb friction as a nonideal constraint: incline, horizontal ring, vertical ring. Servo paper,
eq. (12)-(13).
"""

import numpy as np
import pytest

import zwang as zw
from tests.gallery.examples import example, run


def test_incline_meets_its_closed_form_downhill():
    """The motion is quadratic in time, which the integrator has without error."""
    member = example("rough-incline")
    assert member.error(run("rough-incline")) < 1e-13
    m = zw.motion(member.model, member.q0, member.v0)
    assert np.isclose(np.hypot(*m.acceleration), 3.205858157774931, rtol=1e-14)
    assert np.allclose(m.ideal_force, [8.495709211125346, 14.715000000000005], rtol=1e-14)
    assert np.allclose(m.nonideal_force, [-2.9430000000000005, 1.6991418422250686], rtol=1e-14)


def test_incline_brakes_uphill_and_ends_at_rest():
    member = example("rough-incline", speed=-2.0)
    m = zw.motion(member.model, member.q0, member.v0)
    assert np.isclose(np.hypot(*m.acceleration), 6.604141842225069, rtol=1e-14)
    stopped = member.run()
    assert stopped.result is zw.Result.STOPPED
    assert np.isclose(stopped.t[-1], 2.0 / 6.604141842225069, rtol=1e-11)
    assert member.error(stopped) < 1e-13


def test_flat_ring_meets_its_closed_form():
    """1e-10: rtol 1e-10 per step of a smooth motion; speeds by v = v₀/(1 + μ v₀ t/R)."""
    member = example("rough-circle")
    reached = member.run(times=[0.5, 1.0, 2.0, 5.0])
    assert member.error(reached) < 1e-10
    speed = [1.7647058823529411, 1.5789473684210527, 1.3043478260869565, 0.8571428571428572]
    assert np.allclose(np.linalg.norm(reached.v, axis=1), speed, rtol=1e-10)


def test_standing_ring_meets_its_closed_form():
    """Against values of an independent integration at 1e-13; the run has 1e-12 per step, and 1e-10
    is left for their sum.
    """
    member = example("rough-circle", gravity=9.81, speed=4.5)
    reached = member.run(times=[0.1, 0.2, 0.3, 0.5, 0.7], rtol=1e-12)
    theta = np.arctan2(reached.q[:, 0], -reached.q[:, 1])
    expected = [
        -0.734154063366199,
        -0.4080088408822645,
        -0.08903195453521714,
        0.45631328893423306,
        0.8035425590981219,
    ]
    rate = [
        3.2293808534337436,
        3.2591810567216464,
        3.088629944994374,
        2.2825236380497227,
        1.1641483923555516,
    ]
    normal = [
        45.85254618286795,
        49.876230632512545,
        48.16119534487545,
        33.242285146391424,
        17.685164564609316,
    ]
    assert np.allclose(theta, expected, atol=1e-10)
    assert np.allclose(np.linalg.norm(reached.v, axis=1) / 1.5, rate, atol=1e-10)
    assert np.allclose(
        np.linalg.norm(reached.observation.motion.ideal_force, axis=1), normal, rtol=1e-10
    )
    assert member.error(reached) < 1e-10


def test_standing_ring_obeys_its_first_integral():
    """ω² = a cos θ + b sin θ + C exp(−2 μ θ), to the run's accuracy."""
    mu, R, g = 0.2, 1.5, 9.81
    reached = example("rough-circle", gravity=g, speed=4.5).run(
        times=np.linspace(0.1, 0.7, 7), rtol=1e-12
    )
    theta = np.arctan2(reached.q[:, 0], -reached.q[:, 1])
    a, b = 2 * g / R * (1 - 2 * mu**2) / (1 + 4 * mu**2), -6 * g * mu / (R * (1 + 4 * mu**2))
    integral = lambda th: a * np.cos(th) + b * np.sin(th)
    C = (9.0 - integral(-np.pi / 3)) * np.exp(-2 * mu * np.pi / 3)
    square = np.sum(reached.v**2, axis=1) / R**2
    assert np.allclose(square, integral(theta) + C * np.exp(-2 * mu * theta), atol=1e-9)


def test_friction_works_against_the_motion_and_the_ideal_force_does_not():
    """Power −μ N |v| of the nonideal part and none of the ideal part, at every sample."""
    seen = run("rough-circle").observation
    speed = np.linalg.norm(run("rough-circle").v, axis=1)
    normal = np.linalg.norm(seen.motion.ideal_force, axis=1)
    assert np.allclose(seen.nonideal_power, -0.2 * normal * speed, rtol=1e-12)
    assert np.max(np.abs(seen.constraint_power)) < 1e-12


@pytest.mark.parametrize("rest_speed", [0.0, 1e-3])
def test_friction_is_zero_and_finite_at_rest(rest_speed):
    from zwang.equations.constraint.nonideal import coulomb

    member = example("rough-incline")
    friction = coulomb("mu", rest_speed=rest_speed)
    c = friction(member.q0, np.zeros(2), 0.0, member.model.params, np.array([1.0, 2.0]))
    assert np.array_equal(c, np.zeros(2))


def test_friction_of_one_particle_leaves_the_others_alone():
    from zwang.equations.constraint.nonideal import coulomb

    friction = coulomb(0.5, particle=slice(2, 4))
    c = friction(None, np.array([1.0, 1.0, 3.0, 4.0]), 0.0, None, np.array([9.0, 9.0, 0.0, 2.0]))
    assert np.allclose(c, [0.0, 0.0, -0.6, -0.8])
