"""Random formulas: generated from the grammar, then broken at some places."""

from __future__ import annotations

import math

import numpy as np

from zwang.mechanism.expression import CONSTANTS, FUNCTIONS, Expression

VALUES = {"a": 1.5, "b": -0.25, "t": 0.0, "long_name": 1e6}
PIECES = (
    *("(", ")", ",", "**", "^", "//", "%", "@", "==", "<", ".", ";", "\\", "#", "'", '"', "\n"),
    *(":=", "lambda: 1", "[1]", "{}", "a.b", "__import__('os')", "exec", "True", "None", "1j"),
    *("1e999", "0x1F", "1_000", "007", "\x00", "\x1b[31m", "\ud800", "é", "π", "²", "９", "\u202e"),
    *("await a", "yield", "f'{a}'", "b'1'", "...", "*a", "a if b else t", "a[0]", " " * 40),
    *("(" * 120, "-" * 300, "9" * 400, "sin(" * 90, "a" * 600, "1e-400", "nan", "inf"),
)
"""What a formula may not be made of, or only with care."""


def grown(random: np.random.Generator, depth: int) -> str:
    """A formula of the grammar."""
    kind = random.integers(6) if depth else random.integers(2)
    if kind == 0:
        number = random.choice([random.normal(), 0.0, 1e-300, 1e200, float(random.integers(99))])
        return repr(float(abs(number)))
    if kind == 1:
        return str(random.choice([*VALUES, *CONSTANTS]))
    if kind == 2:
        return f"-{grown(random, depth - 1)}"
    if kind == 3:
        return f"({grown(random, depth - 1)})"
    if kind == 4:
        name = str(random.choice(list(FUNCTIONS)))
        return f"{name}({', '.join(grown(random, depth - 1) for _ in range(FUNCTIONS[name]))})"
    operator = random.choice(["+", "-", "*", "/", "**"])
    return f"{grown(random, depth - 1)} {operator} {grown(random, depth - 1)}"


def broken(text: str, random: np.random.Generator) -> str:
    """A text with pieces put in, or taken away."""
    for _ in range(random.integers(1, 4)):
        i, j = sorted(random.integers(0, len(text) + 1, 2))
        put = str(random.choice(PIECES)) if random.random() < 0.7 else chr(random.integers(1, 4000))
        text = text[:i] + put + text[j if random.random() < 0.5 else i :]
    return text


def case(random: np.random.Generator) -> None:
    """A formula has the value that NumPy gives the same text, or a sentence says why not."""
    text, whole = grown(random, 4), random.random() < 0.5
    if not whole:
        text = broken(text, random)
    formula = Expression(text)
    found = formula.value(VALUES)
    assert math.isfinite(found), f"{text!r} has the value {found}"
    if whole:
        assert_right(text, found)


def assert_right(text: str, found: float) -> None:
    """Compare with Python's own reading of a formula that is known to be harmless."""
    names = {name: getattr(np, OF_NUMPY.get(name, name), None) for name in FUNCTIONS}
    names["step"] = lambda x: 1.0 if x >= 0 else 0.0
    names["ramp"] = lambda x: max(x, 0.0)
    numbers = {**CONSTANTS, **VALUES}
    try:
        with np.errstate(all="ignore"):
            floats = {name: np.float64(value) for name, value in numbers.items()}
            expected = float(eval(text, {"__builtins__": {}}, {**names, **floats}))
    except (ArithmeticError, ValueError, TypeError):
        return
    same = math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-300)
    assert same or not math.isfinite(expected), f"{text!r} is {found}, expected {expected}"


OF_NUMPY = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "min": "minimum",
    "max": "maximum",
}
