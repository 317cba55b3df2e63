"""Conversion of expressions of `zwang.codegen` to SymPy, with symbols named after the model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sympy as sp

from zwang.codegen.equations import Equations
from zwang.codegen.expression import Node, Scalar, in_order
from zwang.codegen.names import identifier
from zwang.errors import ModelError
from zwang.symbolic.elimination import plain

WORDS_OF_LANGUAGES = """
    auto begin break case catch char class const continue def default del do double elif
    else elseif end except endfunction export extern False finally float for from function
    global goto if import in inline int is lambda let local long macro module None
    nonlocal not or and otherwise pass persistent quote raise register restrict return
    short signed sizeof static struct switch True try typedef union unsigned void volatile
    while with yield
"""
WORDS_OF_MATHEMATICS = """
    yn jn y0 y1 j0 j1 gamma beta erf e pi i j I E S N O Q numpy math sin cos tan exp log sqrt abs
    max min sign pow floor ceil
"""
TAKEN = {
    *WORDS_OF_LANGUAGES.split(),
    *WORDS_OF_MATHEMATICS.split(),
    *"t q v p out acceleration constraint_force control".split(),
}
"""Names reserved in one of the target languages, or used by the printed functions."""

GREEK = {
    *"alpha beta gamma delta epsilon zeta eta theta iota kappa lamda mu nu xi rho".split(),
    *"sigma tau upsilon phi chi psi omega pi Gamma Delta Lambda Xi Sigma Phi Psi Omega".split(),
}


@dataclasses.dataclass(frozen=True)
class Symbols:
    """Symbols of a model's inputs.

    Attributes:
        q, v, p: of coordinates, velocities and parameters.
        t: time.
        latex: how each symbol is typeset.
    """

    q: tuple[sp.Symbol, ...]
    v: tuple[sp.Symbol, ...]
    p: tuple[sp.Symbol, ...]
    t: sp.Symbol
    latex: dict[sp.Symbol, str]

    def by_input(self) -> dict[str, sp.Symbol]:
        """Symbol of each input of the expressions, by its name."""
        return {
            "t": self.t,
            **{f"{c}{i}": s for c in "qvp" for i, s in enumerate(getattr(self, c))},
        }


def symbols(found: Equations) -> Symbols:
    """Make symbols for a model's inputs, with the model's names.

    The rate of a coordinate `x` is `x_dot`, typeset with a dot.
    """
    system, taken, latex = found.model.system, set(TAKEN), {}
    rates = tuple(system.velocities) == tuple(system.coordinates)

    def make(name: str, written: str, **assumptions) -> sp.Symbol:
        plain = identifier(name)
        while plain in taken:
            plain += "_"
        taken.add(plain)
        symbol = sp.Symbol(plain, **assumptions)
        latex[symbol] = written
        return symbol

    q = tuple(make(name, typeset(name), real=True) for name in system.coordinates)
    v = tuple(
        make(f"{name}_dot", rf"\dot{{{typeset(name)}}}", real=True)
        if rates
        else make(name, typeset(name), real=True)
        for name in system.velocities
    )
    p = tuple(
        make(name, typeset(name), real=True, **({"positive": True} if value > 0 else {}))
        for name, value in found.parameters
    )
    t = sp.Symbol("t", real=True)
    latex[t] = "t"
    return Symbols(q, v, p, t, latex)


def typeset(name: str) -> str:
    """Format a name in LaTeX: `theta_1` as θ with index 1, words upright."""
    parts = [x for x in identifier(name).split("_") if x]
    shown = [_part(x) for x in parts]
    return shown[0] if len(shown) == 1 else f"{shown[0]}_{{{', '.join(shown[1:])}}}"


def _part(word: str) -> str:
    letters = word.rstrip("0123456789")
    digits = word[len(letters) :]
    if letters in GREEK:
        body = rf"\{letters if letters != 'lamda' else 'lambda'}"
    else:
        body = letters if len(letters) <= 1 else rf"\mathrm{{{letters}}}"
    return f"{body}_{{{digits}}}" if body and digits else body or digits


def namesakes(symbols: Iterable[sp.Symbol]) -> list[sp.Symbol]:
    """Real symbols of the same names, which differ from symbols with other assumptions."""
    return [sp.Symbol(s.name, real=True) for s in symbols]


def number(x) -> Any:
    """Convert a number, to a fraction if it has few digits: 0.1 is 1/10."""
    if isinstance(x, (bool, np.bool_)):
        return sp.true if x else sp.false
    x = float(x)
    if not math.isfinite(x):
        return sp.nan if math.isnan(x) else sp.oo if x > 0 else -sp.oo
    written = repr(x)
    if x == int(x) and abs(x) < 1e15:
        return sp.Integer(int(x))
    digits = written.lower().split("e")[0].replace("-", "").replace(".", "").strip("0")
    return sp.Rational(written) if len(digits) <= 8 and 1e-6 < abs(x) < 1e6 else sp.Float(x, 17)


WORDS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "pow": lambda x, y: x**y,
    "sin": sp.sin,
    "cos": sp.cos,
    "tan": sp.tan,
    "asin": sp.asin,
    "acos": sp.acos,
    "atan": sp.atan,
    "atan2": sp.atan2,
    "sinh": sp.sinh,
    "cosh": sp.cosh,
    "tanh": sp.tanh,
    "asinh": sp.asinh,
    "acosh": sp.acosh,
    "atanh": sp.atanh,
    "exp": sp.exp,
    "log": sp.log,
    "sqrt": sp.sqrt,
    "log1p": lambda x: sp.log(1 + x),
    "expm1": lambda x: sp.exp(x) - 1,
    "cbrt": lambda x: sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3),
    "hypot": lambda x, y: sp.sqrt(x**2 + y**2),
    "abs": sp.Abs,
    "sign": sp.sign,
    "floor": sp.floor,
    "ceil": sp.ceiling,
    "erf": sp.erf,
    "max": lambda x, y: sp.Piecewise((x, sp.Ge(x, y)), (y, True)),
    "min": lambda x, y: sp.Piecewise((x, sp.Le(x, y)), (y, True)),
    "lt": sp.Lt,
    "le": sp.Le,
    "gt": sp.Gt,
    "ge": sp.Ge,
    "eq": sp.Eq,
    "ne": sp.Ne,
    "and": sp.And,
    "or": sp.Or,
    "not": sp.Not,
    "select": lambda c, x, y: sp.Piecewise((x, c), (y, True)),
}
"""The SymPy function of each operation."""

WRITTEN_OUT = 2000
"""Number of operations of all expressions, fully expanded, up to which nothing is abbreviated."""
SHORT = 8
"""Number of operations of a subexpression up to which it is repeated rather than defined."""


class Converter:
    """Converter of expressions to SymPy, with definitions for large common subexpressions.

    Args:
        inputs: symbol of each input, by its name.
        outputs: all expressions to be converted, which determine the common subexpressions.
    """

    def __init__(self, inputs: dict[str, sp.Symbol], outputs: Sequence[Scalar]):
        self.definitions: list[tuple[sp.Symbol, sp.Expr]] = []
        self._inputs, self._known = inputs, {}
        self._free = sp.numbered_symbols(
            "c", start=1, exclude=namesakes(inputs.values()), real=True
        )
        nodes = in_order(outputs)
        # The graph shares subexpressions that a formula repeats, so its size does not measure the
        # formula.
        written: dict[Node, int] = {}
        for node in nodes:
            written[node] = 1 + sum(written.get(x, 0) for x in node.args if isinstance(x, Node))
        total = sum(written.get(x, 0) for x in outputs if isinstance(x, Node))
        short = total <= WRITTEN_OUT
        count: dict[Node, int] = {}
        for node in nodes:
            for x in node.args:
                if isinstance(x, Node):
                    count[x] = count.get(x, 0) + 1
        size: dict[Node, int] = {}
        for node in nodes:
            size[node] = 1 + sum(size.get(x, 0) for x in node.args if isinstance(x, Node))
            expr = self._convert(node)
            if not short and not node.boolean and size[node] > SHORT and count.get(node, 0) > 1:
                # A condition gets no symbol: symbols of SymPy are numbers, which Piecewise refuses.
                symbol = next(self._free)
                self.definitions.append((symbol, expr))
                expr, size[node] = symbol, 0
            self._known[node] = expr

    def __call__(self, x: Scalar) -> sp.Expr:
        """Convert a value to a SymPy expression."""
        if not isinstance(x, Node):
            return number(x)
        return self._inputs[x.args[0]] if x.op == "input" else self._known[x]

    def matrix(self, values: np.ndarray) -> sp.Matrix:
        """Convert values to a matrix; a vector becomes a column."""
        rows = values if values.ndim == 2 else values.reshape(len(values), 1)
        return sp.Matrix(*rows.shape, [plain(self(x)) for x in rows.flat])

    def _convert(self, node: Node) -> sp.Expr:
        if node.op not in WORDS:
            raise ModelError(
                f"the model's functions use the operation {node.op!r}, for which there is no "
                "formula; write that part with elementary functions, or use zw.c_code."
            )
        return WORDS[node.op](*(self(x) for x in node.args))
