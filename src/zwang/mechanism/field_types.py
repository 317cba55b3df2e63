"""Types of the fields of a mechanism's parts, and the error that names a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from zwang.errors import ModelError
from zwang.mechanism.expression import Expression

STRICT = {"extra": "forbid"}
"""Pydantic configuration: a file may not have unknown keys."""


OVER_TIME = (
    "a number of a part does not: prescribe a motion in [drives], of a joint or, for a length that "
    "changes, of the distance between two points"
)
"""Remedy for a number that has to be a formula of t."""


class PartError(ModelError):
    """A part of a mechanism is invalid.

    Attributes:
        where: its path, e.g. ("joints", "A", "between").
    """

    def __init__(self, where: tuple[str, ...], message: str):
        super().__init__(f"{'.'.join(where)}: {message}" if where else message)
        self.where, self.message = where, message


class FromFormula(float):
    """A number computed from a formula of the file's parameters, with the formula.

    Attributes:
        expression: the formula.
    """

    expression: Expression

    def __new__(cls, value: float, expression: Expression):
        made = super().__new__(cls, value)
        made.expression = expression
        return made

    def __reduce__(self):
        return FromFormula, (float(self), self.expression)


def evaluated(text: str, values: Mapping[str, float]) -> float:
    """Evaluate a formula of parameters; the result is a `FromFormula` if it has any parameter.

    Raises:
        ModelError: for an unknown name, or a value that is not finite.
    """
    expression = Expression(text)
    if "t" in expression.names - set(values):
        raise ModelError(f"{text!r} changes with time; {OVER_TIME}.")
    value = expression.value(values)
    return FromFormula(value, expression) if expression.names else value


class _Evaluated:
    """Pydantic marker of a number that may be a formula of the file's parameters."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        from pydantic_core import core_schema

        def evaluate(value: object, check, info):
            if isinstance(value, bool):
                raise ValueError("expected a number or a formula, got true or false")
            found = evaluated(value, info.context or {}) if isinstance(value, str) else value
            # the check of numbers would return a plain number
            return found if isinstance(found, FromFormula) else check(found)

        return core_schema.with_info_wrap_validator_function(evaluate, handler(source))


Number = Annotated[float, _Evaluated]
Vector = tuple[Number, ...]
Formula = str | float
"""A formula of time and state, evaluated during the motion; a number is a constant formula."""
