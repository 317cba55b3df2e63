"""Joints, laws and drives of a file that are active for a part of the time."""

import pickle

import numpy as np
import pytest
from scipy.optimize import brentq

import zwang as zw
from zwang.codegen.fmu.python_unit import PythonUnit
from zwang.mechanism import read
from zwang.simulation.results import Run

G = 9.81


@pytest.fixture
def made(tmp_path):
    def make(text: str):
        path = tmp_path / "machine.toml"
        path.write_text(text)
        return read(path)

    return make


def ran(mechanism, duration: float) -> Run:
    start = mechanism.start_state
    return zw.simulate(mechanism.model, start.q, start.v, duration=duration, samples=3, rtol=1e-10)


ROPE = """
[parameters]
L = 1.0
[bodies.load]
mass = 2.0
inertia = 0.01
at = [0.6, -0.4]
velocity = [1.0, 0.0]
[joints]
rope = { kind = "rod", between = ["ground", "load"], length = "L" }
[switches]
rope = { on = "l - L", off = "effort", of = { l = ["ground", "load"] } }
"""


@pytest.mark.slow
def test_a_rope_becomes_taut_where_the_load_has_fallen_far_enough(made):
    """The start is not put onto a rope that is slack; it takes the velocity along it."""
    mechanism = made(ROPE)
    np.testing.assert_array_equal(mechanism.start_state.q[:2], [0.6, -0.4])
    run = ran(mechanism, 0.5)
    place = lambda t: np.array([0.6 + t, -0.4 - G * t * t / 2])
    t = brentq(lambda t: np.linalg.norm(place(t)) - 1, 0.05, 1.0, xtol=1e-14)
    along = place(t) @ [1.0, -G * t]
    (taut,) = run.switches
    assert taut.on == ("rope",)
    np.testing.assert_allclose([taut.time, taut.energy_loss], [t, along**2], rtol=1e-9)
    assert abs(np.linalg.norm(run.q[-1, :2]) - 1) < 1e-12


def test_a_drive_lets_go_at_a_time_and_takes_hold_again_where_its_joint_is(made):
    """`v = 1 + t` to 0.5 s, then `v = 1.5 exp(−3 t)`, on again at 0.9 m after the drive."""
    mechanism = made("""
    [bodies.a]
    mass = 1.0
    inertia = 0.1
    velocity = [1.0, 0.0]
    [joints]
    track = { kind = "prismatic", between = ["ground", "a"] }
    [drives]
    motor = { joint = "track", rate = "1 + t" }
    [forces]
    brake = { joint = "track", effort = "-3*rate" }
    [switches]
    motor = { off = 0.5, on = "value - 0.9", initially = true }
    """)
    off, on = ran(mechanism, 1.0).switches
    assert off.time == 0.5 and off.energy_loss == 0.0
    gone = 0.9 - 0.625
    np.testing.assert_allclose(on.time, 0.5 - np.log(1 - 2 * gone) / 3, rtol=1e-9)
    before, after = 1.5 - 3 * gone, 1 + on.time
    np.testing.assert_allclose(on.energy_loss, (before**2 - after**2) / 2, rtol=1e-8)


PENDULUM = """
[bodies]
a = { mass = 1.0, length = 1.0, guess = [[0, 0], [1, 0]] }
b = { mass = 1.0, length = 1.0, guess = [[1, 0], [2, 0]] }
[joints]
A = { kind = "revolute", between = ["ground", "a.start"] }
B = { kind = "revolute", between = ["a.end", "b.start"] }
[switches]
B = { off = "load - 15" }
"""


@pytest.mark.slow
def test_a_pin_breaks_where_its_load_is_reached(made):
    """The same pendulum without the switch has that force at the time."""
    mechanism = made(PENDULUM)
    (broken,) = ran(mechanism, 0.6).switches
    start = mechanism.start_state
    whole = zw.simulate(
        mechanism.model, start.q, start.v, times=[broken.time], rtol=1e-10, switches=()
    )
    pin = zw.mechanism.reactions(mechanism, whole)["B"]
    np.testing.assert_allclose(np.linalg.norm(pin.force[-1]), 15.0, rtol=1e-8)


TIMES = np.linspace(0.0, 1.0, 3)
COMPILED = {
    "trajectory": lambda m, q, v: zw.trajectory(m, q, v, TIMES),
    "fit": lambda m, q, v: zw.fit(m, TIMES, {"load.x": np.zeros(3)}, {"L": 1.0}, q0=q, v0=v),
    "plant": lambda m, q, v: zw.Plant(m, inputs=["load.x"], q0=q, v0=v),
    "C": lambda m, q, v: zw.c_code(m, q, v),
    "FMU": lambda m, q, v: zw.fmu(m, q, v),
    "StableHLO": lambda m, q, v: zw.stablehlo(m),
}
AT_ONE_STATE = {
    "motion": lambda m, q, v: zw.motion(m, q, v),
    "check": lambda m, q, v: zw.check(m, q, v),
    "control": lambda m, q, v: zw.control(m, LIFT, q, v),
    "consistent state": lambda m, q, v: zw.consistent_state(m, q, v),
    "equilibrium": lambda m, q, v: zw.analysis.equilibrium(m, q),
    "linearization": lambda m, q, v: zw.analysis.linearize(m, q, v),
}
LIFT = zw.Servo([zw.Holonomic(lambda q, t, p: q[1] + 0.4 + t)], actuation=np.eye(3)[:, 1:2])


@pytest.mark.parametrize("what", COMPILED)
def test_a_motion_that_cannot_switch_refuses_the_model(made, what):
    """Also a pin that holds at the start and breaks later."""
    mechanism = made(ROPE.replace("] } }", "] }, initially = true }"))
    start = mechanism.start_state
    with pytest.raises(
        zw.ModelError, match="declares switches for 'rope', which .*use zw.simulate"
    ):
        COMPILED[what](mechanism.model, start.q, start.v)


def test_studies_and_units_with_python_bring_the_switches_of_a_file(made):
    mechanism = made(ROPE)
    start = mechanism.start_state
    study = zw.sweep(
        mechanism.model,
        {"L": [1.0]},
        (start.q, start.v),
        times=TIMES[:2],
        outputs={"x": "load.x.final"},
        rtol=1e-10,
    )
    expected = ran(mechanism, TIMES[1]).q[-1, 0]
    assert study.table["x"][0] == pytest.approx(expected, abs=1e-9)
    many = zw.batch(mechanism.model, [start.q, start.q], start.v, TIMES[:2], rtol=1e-10)
    np.testing.assert_allclose(many.q[:, -1, 0], expected, atol=1e-9)
    unit = PythonUnit.of(mechanism.model, start.q, start.v, {})
    there = pickle.loads(unit.to_bytes())
    assert [x.constraint for x in there.options["switches"]] == ["rope"]


@pytest.mark.parametrize("what", AT_ONE_STATE)
def test_what_looks_at_one_state_refuses_a_rope_that_is_slack(made, what):
    """The rope would be taken for taut, and the start moved onto it by 0.27 m."""
    mechanism = made(ROPE)
    start = mechanism.start_state
    with pytest.raises(
        zw.ModelError, match="'rope' is inactive at the start and switched on later.* zw.simulate"
    ):
        AT_ONE_STATE[what](mechanism.model, start.q, start.v)


REFUSED = {
    "C = { off = 1.0 }": r"switches\.C: there is no joint, law or drive 'C'",
    "B = {}": "expected on or off",
    'B = { off = "2*pi" }': "never changes: give a time",
    'B = { off = "lod - 15" }': "did you mean 'load'",
    'B = { on = "load" }': "'load', which has no value here",
    'B = { off = "effort" }': "'effort', which has no value here",
    'B = { off = 1.0, transition = "soft" }': "expected 'impulsive' or 'impact-free'",
    'B = { off = "load - x", of = { load = "A" } }': "a meaning of its own",
    """B = { off = "__import__('os')" }""": "there is no function '__import__'",
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_switch_that_makes_no_sense_is_refused_in_a_sentence(made, line):
    with pytest.raises(zw.ModelError, match=REFUSED[line]):
        made(PENDULUM.replace('B = { off = "load - 15" }', line))


def test_a_joint_that_carries_a_body_is_no_constraint_to_be_switched(made):
    with pytest.raises(zw.ModelError, match=r"switches\.B: carries a body in joint coordinates"):
        made('coordinates = "joint"\n' + PENDULUM)
