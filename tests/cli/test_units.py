"""Numbers with units on the command line."""

import math

import numpy as np
import pytest

import zwang as zw
from zwang.cli.analysis import numbers, ranges, refuse_other_units, warn_of_degrees
from zwang.cli.failure import UserError
from zwang.cli.quantities import Typed
from zwang.cli.target import load_target
from zwang.cli.values import number_or_list
from zwang.mechanism.expression import quantity
from zwang.study.sampling import axis


@pytest.mark.parametrize(
    ("typed", "value"),
    [("20deg", math.pi / 9), ("60 rpm", 2 * math.pi), ("300mm", 0.3), ("-2.5e1", -25.0)]
    + [("2*pi", 2 * math.pi), ("1,2", [1, 2])],
)
def test_a_number_may_have_a_unit(typed, value):
    assert number_or_list(typed, "--set x") == pytest.approx(value, rel=1e-15)


def test_inputs_and_ranges_have_units_too():
    assert numbers(["A=60deg"], "--input") == {"A": pytest.approx(math.pi / 3)}
    assert ranges(["A=-90deg:90deg"], "--over")["A"] == pytest.approx((-math.pi / 2, math.pi / 2))


@pytest.mark.parametrize("typed", ["20furlong", "nan", "mm3", "__import__"])
def test_what_is_no_unit_is_said_so(typed):
    with pytest.raises(UserError, match="expected a finite number, as 0.3, 20deg"):
        number_or_list(typed, "--set x")


@pytest.mark.parametrize(
    ("typed", "unit", "value"),
    [
        ("20deg", "deg", 20.0),
        ("20", "deg", 20.0),
        ("2*10deg", "deg", 20.0),
        ("20deg", "rad", math.pi / 9),
        ("30mm", "m", 0.03),
        ("60rpm", "rad/s", 2 * math.pi),
        ("180 deg", "rad/s", math.pi),  # in a second
        ("5mm", "", 0.005),
        ("1/40mm", "1/m", 25.0),
    ],
)
def test_a_number_is_converted_into_the_unit_of_its_setting(typed, unit, value):
    assert number_or_list(typed, "--set x", unit) == pytest.approx(value, rel=1e-14)
    assert quantity(typed, unit) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("typed", "unit", "says"),
    [
        ("5deg", "m", "'5deg' is in rad, expected a value in m"),
        ("30mm", "deg", "'30mm' is in m, expected a value in rad"),
        ("60rpm", "kg", "'60rpm' is in rad/s, expected a value in kg"),
        ("-2 ms", "1", "'-2 ms' is in s, expected a number without unit"),
    ],
)
def test_a_unit_of_another_kind_is_refused(typed, unit, says):
    with pytest.raises(UserError, match=f"--set x: {says}"):
        number_or_list(typed, "--set x", unit)
    with pytest.raises(zw.ModelError, match=says):
        quantity(typed, unit)


def test_settings_of_the_gallery_and_parameters_of_files_have_their_units(tmp_path):
    """A setting in degrees is 20 if 20deg is typed, not its radians."""
    target = load_target("pendulum", {"angle": "20deg"})
    np.testing.assert_allclose(target.q0, [np.sin(np.pi / 9), -np.cos(np.pi / 9)], atol=1e-15)
    with pytest.raises(UserError, match="--set length: '20deg' is in rad, expected a value in m"):
        load_target("pendulum", {"length": "20deg"})
    file = tmp_path / "rod.toml"
    text = """
        [parameters]
        reach = {{ value = {}, unit = "m", meaning = "length" }}
        [bodies]
        rod = {{ length = "reach" }}
        [joints]
        pin = {{ kind = "revolute", between = ["ground", "rod.start"] }}
        [run]
        duration = 1.0
    """
    file.write_text(text.format('"350mm"'))
    assert load_target(str(file), {"reach": "40mm"}).settings["reach"] == pytest.approx(0.04)
    with pytest.raises(UserError, match="--set reach: '40deg' is in rad, expected a value in m"):
        load_target(str(file), {"reach": "40deg"})
    file.write_text(text.format('"60deg"'))
    with pytest.raises(zw.ModelError, match="line 3: .*'60deg' is in rad, expected a value in m"):
        zw.mechanism.read(file)


def test_inputs_have_units_of_their_kind():
    crank = zw.gallery.load("four-bar").mechanism
    refuse_other_units(crank, {"A": ranges(["A=-90deg:1"], "--over")["A"], "none": [2.0]})
    with pytest.raises(UserError, match="A: '30mm' is in m, expected a value in rad"):
        refuse_other_units(crank, {"A": [0.0, numbers(["A=30mm"], "--input")["A"]]})
    refuse_other_units(crank, {"A": [0.0]}, Typed.of("60rpm"))
    refuse_other_units(crank, {"A": [0.0]}, Typed.of("360deg"))  # in a second
    with pytest.raises(UserError, match="--rate: '30mm' is in m, expected a value in rad/s"):
        refuse_other_units(crank, {"A": [0.0]}, Typed.of("30mm"))


def test_a_swept_setting_is_in_its_unit():
    found = axis("angle", "10deg:30deg:3", "deg")
    np.testing.assert_allclose(found.values, [10.0, 20.0, 30.0], rtol=1e-14)
    with pytest.raises(zw.ModelError, match="over"):
        axis("length", "10deg:30deg:3", "m")


@pytest.mark.parametrize(
    ("name", "values", "warned"),
    [
        ("A", (0.0, 360.0), True),
        ("crank.angle", (-90.0, 0.0), True),
        ("A", (0.0, 4 * math.pi), False),
        ("A", (0.0, 6.2832), False),
        ("coupler.x", (0.0, 90.0), False),
    ],
)
def test_an_angle_that_is_probably_in_degrees_is_warned_of(name, values, warned, capsys):
    warn_of_degrees(zw.gallery.load("four-bar").mechanism, {name: values})
    assert ("turns, as angles are radians" in capsys.readouterr().err) == warned
