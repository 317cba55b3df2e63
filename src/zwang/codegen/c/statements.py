"""Expressions as C statements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from zwang.codegen.expression import Node, Scalar, in_order, uses

CALLS = {
    **{name: name for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh")},
    **{name: name for name in ("cosh", "tanh", "asinh", "acosh", "atanh", "exp", "log", "log1p")},
    **{name: name for name in ("expm1", "sqrt", "cbrt", "floor", "ceil", "trunc", "erf", "hypot")},
    "pow": "pow",
    "rem": "fmod",
    "abs": "fabs",
    "max": "fmax",
    "min": "fmin",
    "sign": "SIGN",
}
INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "&&",
    "or": "||",
}
LONGEST_OPERAND = 90
"""Characters up to which a value that is used once stays inside the line that uses it."""


class Statements:
    """Writes assignments of expressions to entries of C arrays.

    Args:
        inputs: how each input is written, by its name: `q0` as `q[0]`.
    """

    def __init__(self, inputs: Mapping[str, str]):
        self._inputs = inputs

    def assignments(self, targets: Sequence[tuple[str, Scalar]]) -> list[str]:
        """Lines that assign values, with what they have in common computed once before."""
        outputs = [value for _, value in targets]
        nodes = in_order(outputs)
        count, text, lines = uses(nodes, outputs), {}, []
        for node in nodes:
            written = self._written(node, text)
            # a compiler keeps a name in a register; a reader is spared long lines
            if count[node] > 1 or len(written) > LONGEST_OPERAND:
                name = f"x{len(lines)}"
                lines.append(f"const {'int' if node.boolean else 'double'} {name} = {written};")
                written = name
            text[node] = written
        lines += [f"{target} = {self._operand(value, text)};" for target, value in targets]
        return lines

    def _operand(self, x: Scalar, text: Mapping[Node, str]) -> str:
        if isinstance(x, Node):
            return self._inputs[x.args[0]] if x.op == "input" else text[x]
        return constant(x)

    def _written(self, node: Node, text: Mapping[Node, str]) -> str:
        args = [self._operand(x, text) for x in node.args]
        if node.op == "pow" and not isinstance(node.args[1], Node):
            args[1] = constant(float(node.args[1]))
        if node.op in INFIX:
            return f"({args[0]} {INFIX[node.op]} {args[1]})"
        if node.op == "neg":
            return f"(-{args[0]})"
        if node.op == "not":
            return f"(!{args[0]})"
        if node.op == "select":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        return f"{CALLS[node.op]}({', '.join(args)})"


def constant(x) -> str:
    """A number as C reads it back to the last bit."""
    if isinstance(x, (bool, np.bool_)):
        return str(int(x))
    x = float(x)
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "(-INFINITY)"
    written = repr(x)
    return f"({written})" if x < 0 or written.startswith("-") else written


def entries(name: str, values: np.ndarray) -> list[tuple[str, Scalar]]:
    """Targets for an array, its structural zeros left out: `name[i][j]` → value."""
    return [
        ("".join([name, *(f"[{i}]" for i in index)]), values[index])
        for index in np.ndindex(*values.shape)
        if isinstance(values[index], Node) or values[index] != 0
    ]
