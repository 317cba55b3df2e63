"""Stops, clearance and ropes in mechanism files, compared with closed forms."""

import numpy as np
import pytest

import zwang as zw
from tests.crossed import crossed
from zwang.mechanism import read

STOP = """
name = "pendulum with a stop"

[parameters]
e = 0.6
reach = 2.0

[bodies.rod]
length = 1.0
mass = 2.0
angle = -0.3

[joints.pivot]
kind = "revolute"
between = ["ground", "rod.start"]

[gaps.stop]
of = { angle = "pivot" }
gap = "angle + reach"
restitution = "e"
"""
ROPE = """
[bodies.bob]
mass = 1.0
inertia = 0.01
at = [0.6, -0.2]

[gaps.rope]
of = { length = ["ground", "bob.center"] }
gap = "1.0 - length"
"""


def file(tmp_path, text):
    path = tmp_path / "mechanism.toml"
    path.write_text(text)
    return path


OF_THE_JOINT = STOP.split("[gaps.stop]")[0] + 'stop = { lower = "-reach", restitution = "e" }'


@pytest.mark.slow
@pytest.mark.parametrize(
    "coordinates, text",
    crossed(["maximal", "joint"], {"stop": STOP, "of the joint": OF_THE_JOINT}),
)
def test_a_rod_rebounds_from_its_stop(tmp_path, coordinates, text):
    found = read(file(tmp_path, f'coordinates = "{coordinates}"\n{text}'))
    start = found.start_state
    run = zw.simulate(found.model, start.q, start.v, duration=0.9, samples=10, rtol=1e-10)
    hit = run.switches[0]
    assert hit.hit == ("stop" if text == STOP else "pivot stop",)
    # of a uniform rod about its end, 1/2 (m l²/3) ω² = m g l/2 (sin start − sin stop)
    speed = np.sqrt(3 * 9.81 * (np.sin(-0.3) - np.sin(-2.0)))
    assert hit.energy_loss == pytest.approx(0.5 * 2 / 3 * speed**2 * (1 - 0.6**2), rel=1e-8)
    # other parameters move the stop, and nothing is made anew
    early = zw.simulate(
        found.model,
        start.q,
        start.v,
        duration=0.9,
        samples=3,
        params={"parameters": {"reach": 1.0}},
    )
    assert early.switches[0].time < hit.time


SHORT_ROPE = (
    ROPE.split("[gaps.rope]")[0]
    + """
[ropes]
rope = { over = ["ground", "bob.center"], length = 1.0 }
"""
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("text", [ROPE, SHORT_ROPE])
def test_a_rope_between_two_points_becomes_taut(tmp_path, text):
    found = read(file(tmp_path, text))
    start = found.start_state
    run = zw.simulate(found.model, start.q, start.v, duration=1.0, samples=11)
    drop = np.sqrt(1 - 0.6**2) - 0.2
    taut = run.switches[0]
    assert taut.on == ("rope",) and taut.time == pytest.approx(np.sqrt(2 * drop / 9.81), abs=1e-10)
    # of the fall the part along the rope is lost
    assert taut.energy_loss == pytest.approx(9.81 * drop * (1 - 0.6**2), rel=1e-9)
    assert np.max(np.linalg.norm(run.q[:, :2], axis=1)) < 1 + 1e-10


@pytest.mark.parametrize(
    "line, words",
    [
        ('gap = "2.0"', "does not use 'angle'"),
        ('gap = "angle + x"', "x"),
        ('gap = "angle"\nrestitution = "2*e"', "restitution is 1.2, expected a number from 0 to 1"),
        ('gaps = "angle"', "gap"),
    ],
)
def test_a_gap_that_makes_no_sense_is_refused(tmp_path, line, words):
    head = STOP.split('gap = "angle + reach"')[0]
    with pytest.raises(zw.ModelError, match=words):
        found = read(file(tmp_path, head + line))
        zw.simulate(found.model, found.start_state.q, found.start_state.v, duration=0.1)
