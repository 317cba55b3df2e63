"""Quantities as values of options."""

import math

import pytest
import typer

from zwang.cli.quantities import number, seconds


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2*pi", 2 * math.pi),
        ("360deg", 2 * math.pi),
        ("-30 deg", -math.pi / 6),
        ("1e-3", 1e-3),
        ("60rpm", 2 * math.pi),
    ],
)
def test_a_number_may_be_a_formula(text, value):
    assert number(text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("text", ["36q", "inf", "import os", ""])
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(typer.BadParameter, match=r"expected a number, such as 6.28, 2\*pi"):
        number(text)


@pytest.mark.parametrize(
    ("text", "value"), [("0.5", 0.5), ("500ms", 0.5), ("0.5s", 0.5), ("2. s", 2.0), ("1/4", 0.25)]
)
def test_a_time_may_have_its_unit(text, value):
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["2min", "long", "s", "nan", "5deg", "5mm"])
def test_another_unit_of_time_is_refused_with_what_to_type(text):
    with pytest.raises(typer.BadParameter, match="expected a time in seconds, such as 0.5, .*ms"):
        seconds(text)
