"""Scalar expressions as one shared graph: the functions of a model, number by number.

A value is a Python number or a `Node`. Equal nodes are one object, so that common subexpressions of
two outputs are found without a search, and a structural zero (an entry of a mass matrix, a
derivative that vanishes) stays the number 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from scipy import special

Scalar = Any
"""A Python number or a `Node`."""


class Node:
    """One operation on other values.

    Attributes:
        op: name of the operation in `OPERATIONS`, or "input".
        args: operands; for an input its name.
        boolean: whether the value is true or false rather than a number.
    """

    __slots__ = ("args", "boolean", "op")

    def __init__(self, op: str, args: tuple, boolean: bool):
        self.op, self.args, self.boolean = op, args, boolean


def _sign(x: float) -> float:
    return math.copysign(1.0, x) if x else 0.0


class Operation(NamedTuple):
    """Value of an operation on numbers, and whether its result is true or false."""

    value: Callable
    boolean: bool = False


OPERATIONS: dict[str, Operation] = {
    "add": Operation(lambda x, y: x + y),
    "sub": Operation(lambda x, y: x - y),
    "mul": Operation(lambda x, y: x * y),
    "div": Operation(lambda x, y: x / y),
    "neg": Operation(lambda x: -x),
    "pow": Operation(lambda x, y: x**y),
    "atan2": Operation(math.atan2),
    "max": Operation(max),
    "min": Operation(min),
    "rem": Operation(math.fmod),
    "hypot": Operation(math.hypot),
    **{name: Operation(getattr(math, name)) for name in ("sin", "cos", "tan", "asin", "acos")},
    **{name: Operation(getattr(math, name)) for name in ("atan", "sinh", "cosh", "tanh")},
    **{name: Operation(getattr(math, name)) for name in ("asinh", "acosh", "atanh", "exp", "log")},
    **{name: Operation(getattr(math, name)) for name in ("log1p", "expm1", "sqrt", "cbrt")},
    **{name: Operation(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    "erf": Operation(special.erf),
    "abs": Operation(abs),
    "sign": Operation(_sign),
    "lt": Operation(lambda x, y: x < y, True),
    "le": Operation(lambda x, y: x <= y, True),
    "gt": Operation(lambda x, y: x > y, True),
    "ge": Operation(lambda x, y: x >= y, True),
    "eq": Operation(lambda x, y: x == y, True),
    "ne": Operation(lambda x, y: x != y, True),
    "and": Operation(lambda x, y: bool(x) and bool(y), True),
    "or": Operation(lambda x, y: bool(x) or bool(y), True),
    "not": Operation(lambda x: not x, True),
    "select": Operation(lambda c, x, y: x if c else y),
}
"""All operations of expressions; a target language has a word for each."""


class Graph:
    """Creates nodes, each only once."""

    def __init__(self):
        self._made: dict[tuple, Node] = {}

    def input(self, name: str) -> Node:
        """Return a value that is given when the expression is evaluated."""
        return self._node("input", (name,))

    def apply(self, op: str, *args: Scalar) -> Scalar:
        """Apply an operation to values: the result is a number if all of them are, else a node."""
        if not any(isinstance(x, Node) for x in args):
            try:
                return OPERATIONS[op].value(*args)
            except (ValueError, ZeroDivisionError, OverflowError):
                return math.nan  # as in IEEE arithmetic: a select may never use it
        short = _shortened(op, args, self)
        return self._node(op, args) if short is None else short

    def _node(self, op: str, args: tuple) -> Node:
        # numbers are keyed with their type and sign: 0.0 and -0.0 and False are equal in Python
        key = (op, *(x if isinstance(x, (Node, str)) else (type(x), repr(x)) for x in args))
        node = self._made.get(key)
        if node is None:
            boolean = op in OPERATIONS and (
                OPERATIONS[op].boolean or (op == "select" and all(_is_boolean(x) for x in args[1:]))
            )
            node = self._made[key] = Node(op, args, boolean)
        return node


def _is_boolean(x: Scalar) -> bool:
    return x.boolean if isinstance(x, Node) else isinstance(x, bool)


def _same(x: Scalar, number: float) -> bool:
    return not isinstance(x, (Node, bool)) and x == number


def _shortened(op: str, args: tuple, graph: Graph) -> Scalar | None:
    """Return the simpler form of an operation that has one, else None.

    `0 · x` counts as 0 even if x may be infinite: this makes zeros structural.
    """
    x, y = args[0], args[-1]
    if op == "mul":
        if _same(x, 0) or _same(y, 0):
            return 0.0
        if _same(x, 1) or _same(y, 1):
            return y if _same(x, 1) else x
        if _same(x, -1) or _same(y, -1):
            return graph.apply("neg", y if _same(x, -1) else x)
    elif op == "add":
        if _same(x, 0) or _same(y, 0):
            return y if _same(x, 0) else x
        if isinstance(y, Node) and y.op == "neg":
            return graph.apply("sub", x, y.args[0])
    elif op == "sub":
        if _same(y, 0):
            return x
        if _same(x, 0):
            return graph.apply("neg", y)
        if x is y:
            return 0.0
        if isinstance(y, Node) and y.op == "neg":
            return graph.apply("add", x, y.args[0])
    elif op == "div" and (_same(x, 0) or _same(y, 1)):
        return 0.0 if _same(x, 0) else x
    elif op == "neg" and x.op == "neg":
        return x.args[0]
    elif op == "select":
        return _selected(args)
    elif op in ("and", "or"):
        return _joined(op, x, y)
    return None


def _selected(args: tuple) -> Scalar | None:
    condition, yes, no = args
    if not isinstance(condition, Node):
        return yes if condition else no
    if yes is no or (type(yes) is type(no) and not isinstance(yes, Node) and yes == no):
        return yes
    return None


def _joined(op: str, x: Scalar, y: Scalar) -> Scalar | None:
    for one, other in ((x, y), (y, x)):
        if not isinstance(one, Node):
            return other if bool(one) == (op == "and") else bool(one)
    return x if x is y else None


def in_order(outputs: Iterable[Scalar]) -> list[Node]:
    """Return the nodes that outputs need, operands before operations, without inputs."""
    found: dict[Node, None] = {}
    stack: list[tuple[Scalar, bool]] = [(x, False) for x in reversed(list(outputs))]
    while stack:
        x, ready = stack.pop()
        if not isinstance(x, Node) or x in found or x.op == "input":
            continue
        if ready:
            found[x] = None
            continue
        stack.append((x, True))
        stack.extend((y, False) for y in reversed(x.args))
    return list(found)


def uses(nodes: Iterable[Node], outputs: Iterable[Scalar]) -> dict[Node, int]:
    """Return how often each node is an operand or an output."""
    count: dict[Node, int] = {}
    for x in [*(y for node in nodes for y in node.args), *outputs]:
        if isinstance(x, Node):
            count[x] = count.get(x, 0) + 1
    return count
