"""Numbers with units on the command line."""

import math

import pytest

import zwang as zw
from zwang.cli.analysis import numbers, ranges, warn_of_degrees
from zwang.cli.failure import UserError
from zwang.cli.values import number_or_list


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
