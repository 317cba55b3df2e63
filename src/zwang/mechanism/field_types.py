"""Types of the fields of a mechanism's parts, and the error that names a wrong one."""

from __future__ import annotations

from typing import Annotated, Any

from zwang.errors import ModelError
from zwang.mechanism.expression import Expression

STRICT = {"extra": "forbid"}
"""A file may not hold names that no part has."""


class PartError(ModelError):
    """A part of a mechanism is wrong.

    Attributes:
        where: the way to it, e.g. ("joints", "A", "between").
    """

    def __init__(self, where: tuple[str, ...], message: str):
        super().__init__(f"{'.'.join(where)}: {message}" if where else message)
        self.where, self.message = where, message


class _Evaluated:
    """In a file, a number may be a formula of the file's parameters."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        from pydantic_core import core_schema

        def evaluate(value: Any, info):
            if isinstance(value, bool):
                raise ValueError("expected a number or a formula, got true or false")
            return Expression(value).value(info.context or {}) if isinstance(value, str) else value

        return core_schema.with_info_before_validator_function(evaluate, handler(source))


Number = Annotated[float, _Evaluated]
Vector = tuple[Number, ...]
Formula = str | float
"""A formula of time and state, evaluated while the mechanism moves; a number is a constant one."""
