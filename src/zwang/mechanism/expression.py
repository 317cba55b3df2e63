"""Formulas in text, e.g. `0.1*sin(2*pi*t)`, checked against fixed names and functions.

The text is parsed to Python's syntax tree and never executed. Only numbers, names, `+ - * / **`,
comparisons by `step` and calls of the functions below are accepted; the tree is evaluated with
functions of NumPy or JAX.
"""

from __future__ import annotations

import ast
import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from zwang.errors import ModelError
from zwang.inputs.arguments import shown
from zwang.inputs.suggestions import did_you_mean

UNITS = {"deg": math.pi / 180, "rpm": math.pi / 30, "mm": 1e-3, "cm": 1e-2, "ms": 1e-3}
"""Units that a number may have, in SI units and radians: `60*deg`, or `60deg`, is an angle in
radians.
"""
SI = {"deg": "rad", "rpm": "rad/s", "mm": "m", "cm": "m", "ms": "s"}
"""The SI unit of each."""
CONSTANTS = {"pi": math.pi, "g": 9.81, **UNITS}
"""Constants of all formulas; `g` is the acceleration of gravity [m/s²]."""
FUNCTIONS = {
    "sin": 1,
    "cos": 1,
    "tan": 1,
    "asin": 1,
    "acos": 1,
    "atan": 1,
    "atan2": 2,
    "sinh": 1,
    "cosh": 1,
    "tanh": 1,
    "exp": 1,
    "log": 1,
    "sqrt": 1,
    "abs": 1,
    "sign": 1,
    "min": 2,
    "max": 2,
    "step": 1,
    "ramp": 1,
}
"""Functions with their numbers of arguments; `step(x)` is 0 for negative x and 1 otherwise,
`ramp(x)` is x·step(x).
"""
LONGEST_FORMULA = 500
"""Largest length of a formula [characters]."""
LONGEST_SHOWN = 80
"""Largest length of a formula in a message [characters]."""
LARGEST_NUMBER = 1e300
"""Largest number in a formula."""
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BEHIND = re.compile(rf"(?<![\w.])({_NUMBER})\s*({'|'.join(UNITS)}|pi)\b")
"""A unit after its number, which binds more strongly than every operator: `1/40mm`."""
_LIBRARY = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "min": "minimum",
    "max": "maximum",
}
_OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
    ast.USub: lambda a: -a,
    ast.UAdd: lambda a: a,
}


@dataclasses.dataclass(frozen=True)
class Expression:
    """A formula; two with the same text are equal, so that they share compiled programs.

    Args:
        text: the formula.
        tables: further functions of one argument by name, `(x, library)` → number.

    Raises:
        ModelError: if it is not a formula, or uses anything beyond `CONSTANTS`, `FUNCTIONS` and
            plain names.

    Example:
        >>> Expression("2*a*sin(t)").value({"a": 1.5, "t": 0.0})
        0.0
    """

    text: str
    tables: tuple[tuple[str, Callable], ...] = ()

    def __post_init__(self):
        self._check(self._tree)

    @property
    def _shown(self) -> str:
        return shown(self.text, LONGEST_SHOWN)

    @property
    def _written_out(self) -> str:
        return _BEHIND.sub(r"(\1*\2)", self.text.strip())

    @cached_property
    def _tree(self) -> ast.expr:
        if len(self.text) > LONGEST_FORMULA:
            raise ModelError(
                f"a formula has {len(self.text)} characters, expected at most {LONGEST_FORMULA}."
            )
        try:
            return ast.parse(self._written_out, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ModelError(
                f"{self._shown} is no formula: {getattr(error, 'msg', error)}."
            ) from None

    def __fingerprint__(self):
        """The text and the tables, as Python's syntax tree cannot be part of a program's key."""
        return self.text, self.tables

    @cached_property
    def names(self) -> frozenset[str]:
        """Names that it needs, without the constants."""
        called = {id(node.func) for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        found = {
            node.id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Name) and id(node) not in called
        }
        return frozenset(found - set(CONSTANTS))

    def value(self, values: Mapping[str, Any]) -> float:
        """Evaluate to a number.

        Raises:
            ModelError: for an unknown name, or a value that is not finite.
        """
        self.require(values)
        try:
            with np.errstate(all="ignore"):
                result = float(self._evaluate(self._tree, {**CONSTANTS, **values}, np))
        except (ArithmeticError, TypeError) as error:
            raise ModelError(f"{self._shown} has no value: {error}.") from None
        if not math.isfinite(result):
            raise ModelError(f"{self._shown} is {result}, expected a finite number.")
        return result

    def traced(self, values: Mapping[str, Any]):
        """Evaluate with arrays, by JAX or on the host."""
        from zwang.inputs.arithmetic import xp

        with np.errstate(all="ignore"):
            return xp.asarray(self._evaluate(self._tree, {**CONSTANTS, **values}, xp), float)

    def require(self, known) -> None:
        """Refuse unknown names.

        Raises:
            ModelError: naming the first one.
        """
        if unknown := sorted(self.names - set(known)):
            there = did_you_mean(unknown[0], [*known, *CONSTANTS])
            raise ModelError(f"{self._shown} uses {unknown[0]!r}, which has no value here{there}")

    def _evaluate(self, node, values, library):
        def child(x):
            return self._evaluate(x, values, library)

        if isinstance(node, ast.Constant):
            assert isinstance(node.value, int | float)  # `_check` has refused all other types
            # division by zero gives inf, as for arrays
            return np.float64(node.value)
        if isinstance(node, ast.Name):
            return values[node.id]
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)](child(node.left), child(node.right))
        if isinstance(node, ast.UnaryOp):
            return _OPERATORS[type(node.op)](child(node.operand))
        arguments, name = [child(x) for x in node.args], node.func.id
        if name in (tables := dict(self.tables)):
            return tables[name](arguments[0], library)
        if name in ("step", "ramp"):
            return library.where(arguments[0] >= 0, 1.0 if name == "step" else arguments[0], 0.0)
        return getattr(library, _LIBRARY.get(name) or name)(*arguments)

    def _check(self, node) -> None:
        """Refuse everything that is not in the language."""
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int | float)
            and not isinstance(node.value, bool)
        ):
            if abs(node.value) > LARGEST_NUMBER:
                raise ModelError(f"{self._shown} has a number beyond {LARGEST_NUMBER:g}.")
            return
        if isinstance(node, ast.Name):
            if node.id in FUNCTIONS:
                raise ModelError(
                    f"{self._shown}: {node.id} is a function and needs its argument in brackets."
                )
            return
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
            raise ModelError(f"{self._shown}: write a power as **, not ^.")
        if isinstance(node, (ast.BinOp, ast.UnaryOp)) and type(node.op) in _OPERATORS:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._check(child)
            return
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            name = node.func.id
            known = FUNCTIONS | {table: 1 for table, _ in self.tables}
            if name not in known:
                raise ModelError(
                    f"{self._shown}: there is no function {name!r}; there are: {', '.join(known)}."
                )
            if len(node.args) != known[name]:
                raise ModelError(
                    f"{self._shown}: {name} has {len(node.args)} arguments, expected {known[name]}."
                )
            for argument in node.args:
                self._check(argument)
            return
        part = ast.get_source_segment(self._written_out, node) or self.text
        raise ModelError(
            f"{self._shown}: {shown(part)} is not allowed; a formula has numbers, names, "
            "+ - * / ** and functions."
        )


def quantity(text: str | float, unit: str = "") -> float:
    """Parse a number, or a formula of numbers, `pi` and units: `2*pi`, `360deg`, `30mm`.

    Args:
        text: the number or formula.
        unit: of the result, such as "m", "rad/s" or "deg"; unknown by default.

    Raises:
        ModelError: if it is neither, or one number with a unit of another kind.
    """
    if isinstance(text, float | int):
        return float(text)
    refuse_other_unit(text, unit)
    value = Expression(text).value({})
    typed = any(word in UNITS for word in re.findall("[a-z]+", text))
    return value / UNITS[unit] if unit in UNITS and typed else value


def refuse_other_unit(text: str, unit: str) -> None:
    """Refuse one number with a unit that measures another quantity than `unit` does.

    A rate may be typed without its seconds: `360deg` for 360 degrees per second.

    Raises:
        ModelError: for such a number; a unit that is empty refuses none.
    """
    typed = re.fullmatch(rf"\s*[+-]?\s*{_NUMBER}\s*\*?\s*({'|'.join(UNITS)})\s*", text)
    expected = SI.get(unit, unit)
    if typed and expected and expected not in (SI[typed[1]], SI[typed[1]] + "/s"):
        shown = "a number without unit" if expected == "1" else f"a value in {expected}"
        raise ModelError(f"{text.strip()!r:.40} is in {SI[typed[1]]}, expected {shown}.")
