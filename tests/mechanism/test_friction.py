"""Dry friction of joints in files, compared with closed forms of sliding."""

import numpy as np
import pytest

import zwang as zw
from zwang.mechanism import reactions, read
from zwang.mechanism.mechanism import Mechanism
from zwang.simulation.results import Run

from .machines import PINNED_WHEEL

G, MU, SLOPE = 9.81, 0.3, 0.4


@pytest.fixture
def made(tmp_path):
    def make(text: str, **settings) -> Mechanism:
        path = tmp_path / "machine.toml"
        path.write_text(text)
        return read(path, **settings)

    return make


def ran(mechanism: Mechanism, duration: float, **options) -> Run:
    start = mechanism.start_state
    return zw.simulate(
        mechanism.model, start.q, start.v, duration=duration, samples=3, rtol=1e-10, **options
    )


BLOCK = f"""
[parameters]
mu = {MU}
[bodies.block]
mass = 2.0
inertia = 0.1
angle = {SLOPE}
velocity = [{-3 * np.cos(SLOPE)}, {-3 * np.sin(SLOPE)}]
[ground]
way = {{ at = [0, 0], angle = {SLOPE} }}
[joints.slide]
kind = "prismatic"
between = ["ground.way", "block"]
friction = {{ kinetic = "mu" }}
"""


@pytest.mark.slow
def test_a_block_slides_down_a_rough_slope(made):
    """`ẍ = −g (sin α − μ cos α)` down the slope, with another μ than the file's."""
    mechanism, mu = made(BLOCK), 0.6
    run = ran(mechanism, 0.5, params={"parameters": {"mu": mu}})
    way = -3 * 0.5 - G * (np.sin(SLOPE) - mu * np.cos(SLOPE)) * 0.5**2 / 2
    np.testing.assert_allclose(run.q[-1, 0] / np.cos(SLOPE), way, rtol=1e-11)
    transmitted = reactions(mechanism.of_run(run), run)["slide"].force
    normal = 2.0 * G * np.cos(SLOPE)
    np.testing.assert_allclose(transmitted, [[mu * normal, normal]] * 3, rtol=1e-10)


def test_a_pin_brakes_a_wheel_at_its_radius(made):
    """`I ω̇ = −μ m g r`."""
    run = ran(made(PINNED_WHEEL + "pin.friction = { kinetic = 0.2, radius = 0.03 }"), 0.05)
    np.testing.assert_allclose(run.v[-1, 2], 1.0 - 0.2 * 2.0 * G * 0.03 / 0.1 * 0.05, rtol=1e-12)


@pytest.mark.slow
def test_a_rod_in_a_bush_slides_and_turns_along_one_direction_of_slip(made):
    """With `I = m r²` both rates fall in proportion: `|s| = |s₀| − μ g t`."""
    rod = f"""
    world = "space"
    [bodies.rod]
    mass = 2.0
    inertia = [0.5, 0.5, {2 * 0.04**2}]
    turn = [0, {np.pi / 2}, 0]
    velocity = [3.0, 0, 0]
    angular_velocity = [0, 0, 50.0]
    [ground]
    axle = {{ at = [0, 0, 0], axis = [1, 0, 0] }}
    [joints.bush]
    kind = "cylindrical"
    between = ["ground.axle", "rod"]
    friction = {{ kinetic = 0.2, radius = 0.04 }}
    """
    run = ran(made(rod), 0.5)
    left = 1 - 0.2 * G * 0.5 / np.hypot(3.0, 50.0 * 0.04)
    np.testing.assert_allclose(run.v[-1, [0, 5]], [3.0 * left, 50.0 * left], rtol=1e-10)


def test_a_rod_on_a_rough_floor_has_the_acceleration_of_newton(made):
    """μ = 1.4 at 50°, where friction changes the normal force; the center as by hand."""
    angle, mu = np.radians(50.0), 1.4
    rod = f"""
    [bodies.rod]
    mass = 1.0
    length = 1.0
    angle = {angle}
    at = [0, {np.sin(angle) / 2}]
    velocity = [1.0, 0]
    [joints.floor]
    kind = "slot"
    between = ["ground", "rod.start"]
    friction = {{ kinetic = {mu} }}
    """
    mechanism = made(rod)
    start = mechanism.start_state
    found = zw.motion(mechanism.model, start.q, start.v).acceleration
    c, s = np.cos(angle), np.sin(angle)
    N = G / (1 + 3 * c * (c + mu * s))
    np.testing.assert_allclose(found[:2], [-mu * N, N - G], rtol=1e-12)


def test_a_bead_on_a_rough_ring_loses_speed_by_the_angle(made):
    """`v = v₀ exp(−μ θ)` on a ring that lies flat."""
    ring = """
    gravity = [0, 0]
    [bodies.bead]
    mass = 0.5
    inertia = 0.1
    at = [1, 0]
    velocity = [0, 2.0]
    [joints.ring]
    kind = "path"
    between = ["ground", "bead"]
    equation = "x**2 + y**2 - 1"
    friction = { kinetic = 0.4 }
    """
    run = ran(made(ring), 1.0)
    turned = np.arctan2(run.q[-1, 1], run.q[-1, 0])
    np.testing.assert_allclose(turned, np.log(1 + 0.4 * 2.0) / 0.4, rtol=1e-9)
    np.testing.assert_allclose(
        np.linalg.norm(run.v[-1, :2]), 2.0 * np.exp(-0.4 * turned), rtol=1e-9
    )


REFUSED = {
    "static": (
        'friction = { kinetic = "mu", static = 0.5, rest_speed = 0.1 }',
        "rest_speed: is of friction that does not stick",
    ),
    "stribeck": (
        'friction = { kinetic = "mu", stribeck = 0.1 }',
        "friction.stribeck: needs static",
    ),
    "negative": ("friction = { kinetic = -0.1 }", "friction.kinetic: is -0.1, expected"),
    "radius": ('friction = { kinetic = "mu", radius = 0.1 }', "radius: a prismatic joint slides"),
    "unknown": ('friction = { kinetik = "mu" }', "kinetik"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_friction_that_is_none_is_refused_in_a_sentence(made, name):
    given, sentence = REFUSED[name]
    with pytest.raises(zw.ModelError, match=sentence):
        made(BLOCK.replace('friction = { kinetic = "mu" }', given))


def test_friction_is_refused_where_nothing_slides_or_no_reaction_is_known(made):
    with pytest.raises(zw.ModelError, match="a fixed joint has no surfaces"):
        made(BLOCK.replace('"prismatic"', '"fixed"'))
    with pytest.raises(zw.ModelError, match="line .*reaction as load.*maximal"):
        made('coordinates = "joint"\n' + BLOCK)
    with pytest.raises(zw.ModelError, match="needs radius, at which the pin rubs"):
        made(BLOCK.replace('"prismatic"', '"revolute"'))
