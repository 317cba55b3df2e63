"""Formulas: their syntax, and refusal of everything else."""

import math

import jax
import numpy as np
import pytest

import zwang as zw
from zwang.mechanism.expression import Expression


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2*3 - 4/2**2", 6.0),
        ("-(a - 1)", -0.5),
        ("60*deg", math.pi / 3),
        ("sin(pi/6)", 0.5),
        ("atan2(1, -1)", 0.75 * math.pi),
        ("max(1, min(a, 2))", 1.5),
        ("step(a) + step(-a)", 1.0),
        ("ramp(-a) + ramp(a)", 1.5),
        ("1e-3", 1e-3),
        ("40mm + 1.5 cm", 0.055),
        ("2/40mm", 50.0),
        ("30*rpm + 0*1e3ms", math.pi),
    ],
)
def test_a_formula_has_the_value_that_it_says(text, value):
    assert Expression(text).value({"a": 1.5}) == pytest.approx(value, abs=1e-15)
    assert float(Expression(text).traced({"a": jax.numpy.asarray(1.5)})) == pytest.approx(
        value, abs=1e-15
    )


def test_formulas_can_be_differentiated():
    slope = jax.grad(lambda t: Expression("a*sin(2*t)").traced({"a": 3.0, "t": t}))(0.4)
    assert np.isclose(slope, 6.0 * np.cos(0.8), atol=1e-14)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("__import__('os')", "no function '__import__'"),
        ("a.real", "'a.real' is not allowed"),
        ("[1, 2]", "not allowed"),
        ("(lambda: 1)()", "not allowed"),
        ("sin(1, 2)", "2 arguments, expected 1"),
        ("2^3", r"write a power as \*\*"),
        ("sin", "needs its argument in brackets"),
        ("1 +", "no formula"),
        ("'text'", "not allowed"),
        ("1 if a else 2", "not allowed"),
        ("a == 1", "not allowed"),
        ("True", "not allowed"),
        ("1e400", "a number beyond"),
        ("1" * 501, "at most 500"),
        ("sin(x=1)", "not allowed"),
        ("print(1)", "no function 'print'"),
        ("exec('1')", "no function 'exec'"),
        ("(a := 2)", "not allowed"),
    ],
)
def test_anything_else_is_refused_in_a_sentence(text, says):
    with pytest.raises(zw.ModelError, match=says):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "says"), [("b", "uses 'b'"), ("1/0", "inf"), ("sqrt(-1)", "nan"), ("(-1)**0.5", "nan")]
)
def test_a_formula_without_a_value_is_refused(text, says):
    with pytest.raises(zw.ModelError, match=says):
        Expression(text).value({"a": 1.0})
