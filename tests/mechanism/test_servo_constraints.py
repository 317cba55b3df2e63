"""Actuators and servo constraints of mechanisms, in Python and in files."""

import textwrap

import numpy as np
import pytest

import zwang as zw
from zwang.gallery.mechanisms import FOLDER
from zwang.mechanism import Actuator, Begin, Joint, Link, Mechanism, ServoConstraint, read
from zwang.mechanism.drawing import path

MASS, LENGTH = 2.0, 1.2
WEIGHT = MASS * 9.81 * LENGTH / 2
"""Torque of a level rod's weight about its end [N m]."""


def rod(actuator, **wanted):
    """A rod on a pin, level at the start, with one actuator."""
    return Mechanism(
        {"rod": Link(MASS, length=LENGTH, guess=((0, 0), (LENGTH, 0)))},
        {"pin": Joint("revolute", ("ground", "rod.start"))},
        ground={"above": (0.0, 0.9)},
        start={"pin": Begin(value=0.0, rate=1.0)},
        servo={"lift": ServoConstraint(**wanted)},
        actuators={"motor": actuator},
    )


def controlled(mechanism):
    s = mechanism.start_state
    return zw.control(mechanism.model, q=s.q, v=s.v)


@pytest.mark.slow
def test_a_motor_carries_the_weight_and_gives_the_acceleration_that_is_asked_for():
    u = controlled(rod(Actuator(joint="pin"), joint="pin", value="t + 1.5*t**2")).u
    assert u[0] == pytest.approx(WEIGHT + MASS * LENGTH**2 / 3 * 3.0, abs=1e-10)


@pytest.mark.slow
def test_a_cylinder_pulls_with_its_lever():
    cylinder = Actuator(between=("ground.above", "rod.end"))
    lever = (
        0.9 * LENGTH / np.hypot(0.9, LENGTH)
    )  # of the line from (0, 0.9) to (1.2, 0) about the pin
    u = controlled(rod(cylinder, on="rod.end", coordinate="angle", rate="1")).u
    assert u[0] == pytest.approx(
        -WEIGHT / lever, abs=1e-10
    )  # a positive control pushes its ends apart, and the rod down


@pytest.mark.slow
def test_an_actuator_at_its_limit_does_what_it_can():
    found = controlled(rod(Actuator(joint="pin", lower=-5.0, upper=5.0), joint="pin", value="t"))
    assert found.u[0] == 5.0 and float(found.missed["lift"]) > 0.1


FILE = """\
    [bodies]
    rod = { length = 1.2, mass = 2.0, guess = [[0, 0], [1.2, 0]] }

    [joints]
    pin = { kind = "revolute", between = ["ground", "rod.start"] }

    [actuators]
    motor = { joint = "pin", lower = -50, upper = 50 }

    [servo]
    lift = { joint = "pin", value = "0.5*sin(t)", gain = 4 }
    """
WRONG = {
    "an unknown joint": (
        'motor = { joint = "pin"',
        'motor = { joint = "pni"',
        "motor.joint: there is no joint 'pni'; did you mean",
    ),
    "limits the wrong way": (
        "lower = -50",
        "lower = 60",
        "line 8: actuators.motor: lower is 60 and upper 50, expected lower below upper",
    ),
    "an actuator at nothing": (
        'joint = "pin", lower',
        "lower",
        "line 8: actuators.motor: expected either between or joint",
    ),
    "an actuator that has nothing to do": (
        "[servo]\nlift",
        "[drives]\nmove",
        "actuators.motor: has nothing to do",
    ),
    "no actuators": ("[actuators]\nmotor", "[start]\npin", "servo.lift: needs actuators"),
    "both value and rate": (
        "gain = 4",
        'rate = "1"',
        "line 11: servo.lift: expected either value or rate",
    ),
    "an unknown field": (
        "gain = 4",
        "gian = 4",
        "line 11: servo.lift.gian: there is no 'gian' here; did you mean 'gain'",
    ),
    "a negative gain": (
        "gain = 4",
        "gain = -4",
        "line 11: servo.lift.gain: is -4, expected a positive number",
    ),
    "an unknown name": ("sin(t)", "sin(s)", "line 11: servo.lift.value: '0.5*sin(s)' uses 's'"),
    "code": ("0.5*sin(t)", "__import__('os')", "no function '__import__'"),
    "too many formulas": (
        '"0.5*sin(t)"',
        '["t", "t"]',
        "line 11: servo.lift.value: has 2 formulas, expected 1",
    ),
    "too few formulas": (
        'joint = "pin", value',
        'on = "rod.end", value',
        "line 11: servo.lift.value: has 1 formulas, expected 2",
    ),
    "the name of a joint": (
        "lift = {",
        "pin = {",
        "line 11: servo.pin: has the name of a joint or drive",
    ),
    "a point of the ground": (
        'joint = "pin", value',
        'on = "ground", coordinate = "angle", value',
        "are on the same body",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_servo_is_told_in_one_sentence_with_the_line(what, tmp_path):
    old, new, says = WRONG[what]
    text = textwrap.dedent(FILE)
    assert old in text
    if "start" in new:
        new = "[start]\npin = { value = 0.1 }\n#"
    if "drives" in new:
        text = text.replace(", gain = 4", "")
    file = tmp_path / "machine.toml"
    file.write_text(text.replace(old, new))
    with pytest.raises(zw.ModelError) as told:
        read(file)
    assert says in str(told.value) and "\n" not in str(told.value)


def test_a_file_gives_the_servo_that_it_describes(tmp_path):
    file = tmp_path / "machine.toml"
    file.write_text(textwrap.dedent(FILE))
    servo = read(file).model.servo
    assert servo.actuators == ("motor",) and servo.actuator_units == ("N m",)
    assert (servo.limits.lower[0], servo.limits.upper[0], servo.gains["lift"].k) == (
        -50.0,
        50.0,
        4.0,
    )


@pytest.mark.slow
def test_the_digger_reaches_its_cut_at_the_rate_of_its_gain():
    mechanism, member = read(FOLDER / "digger.toml"), zw.gallery.load("digger")
    run = member.run()
    assert (
        run.result is zw.Result.SUCCESS and float(run.dataset["violation"].max()) < 1e-11
    )  # in meters, of meters
    height, gain = path(mechanism, run.q, "bucket.tooth")[:, 1] - 0.3, 3.0
    assert np.allclose(
        height, height[0] * (1 + gain * run.t) * np.exp(-gain * run.t), atol=1e-6
    )  # starts at rest
    assert float(run.dataset["servo_residual"].max()) < 1e-9
