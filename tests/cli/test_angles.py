"""Ranges of an input on the command line."""

import math

import pytest
import typer

from zwang.cli.angles import number


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
