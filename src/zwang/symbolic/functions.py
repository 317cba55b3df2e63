"""SymPy expressions as functions of JAX arrays."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false
# SymPy's annotations do not declare that a matrix is iterable or what `cse` returns.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import jax.numpy as jnp
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

from zwang.errors import ModelError
from zwang.inputs.arguments import shown


class Names:
    """Assignment of symbols to inputs: coordinates, velocities, time, and otherwise parameters.

    Args:
        q: coordinates, symbols or dynamic symbols.
        v: velocities; by default the derivatives of dynamic symbols, and `x_dot` of a symbol
            `x`.
        params: value of each parameter, by symbol or by name; a function of time may be one, as an
            input with a constant value.

    Attributes:
        q, v: plain symbols that replace them.
        params: name → value.
    """

    def __init__(self, q: Sequence, v: Sequence | None = None, params: Mapping | None = None):
        self._t = dynamicsymbols._t
        self._given = [sp.sympify(x) for x in q]
        rates = [x.diff(self._t) if _is_dynamic(x) else None for x in self._given]
        if v is None and None in rates:
            v = [sp.Symbol(f"{_name(x)}_dot") for x in self._given]
        self._speeds = [sp.sympify(x) for x in (rates if v is None else v)]
        self._rates = rates
        self.q = [sp.Symbol(f"_q{i}", real=True) for i in range(len(self._given))]
        self.v = [sp.Symbol(f"_v{i}", real=True) for i in range(len(self._speeds))]
        self.params = {_name(k): value for k, value in (params or {}).items()}

    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates."""
        return [_name(x) for x in self._given]

    @property
    def velocities(self) -> list[str]:
        """Names of the velocities; rates have the names of their coordinates."""
        plain = [None if r is None else str(r) for r in self._rates]
        return [
            self.coordinates[plain.index(str(s))] if str(s) in plain else _name(s)
            for s in self._speeds
        ]

    def replaced(self, expression):
        """Replace dynamic symbols of an expression by plain symbols.

        Speeds are replaced first, as they may be derivatives of coordinates.
        """
        both = [*zip(self._speeds, self.v, strict=True), *zip(self._given, self.q, strict=True)]
        named = lambda e: e.replace(self._is_input, lambda x: sp.Symbol(_name(x)))
        plain = lambda e: named(sp.sympify(e).doit().subs(both))
        if isinstance(expression, (sp.MatrixBase, list, tuple)):
            return sp.Matrix(expression).applyfunc(plain)
        return plain(expression)

    def _is_input(self, x) -> bool:
        """Return whether a subexpression is a function of time whose value is a parameter."""
        return _is_dynamic(x) and x.args == (self._t,) and _name(x) in self.params

    def function(self, expression, what: str, *, with_v: bool) -> Callable:
        """Make `(q, v, t, p)` or `(q, t, p)` → array from an expression, compiled by JAX.

        Raises:
            ModelError: for symbols that are neither coordinates, velocities, time nor parameters.
        """
        plain = self.replaced(expression)
        if left := plain.atoms(sp.Derivative, sp.core.function.AppliedUndef):
            raise ModelError(
                f"{what} contains {_listed(left)}, which is no coordinate, velocity or time; "
                "name it among q or v, give its value in params, or put a formula in its place."
            )
        allowed = {*self.q, self._t, *(self.v if with_v else ())}
        parameters = sorted(plain.free_symbols - allowed, key=str)
        if unknown := [s for s in parameters if str(s) not in self.params]:
            raise ModelError(
                f"{what} contains {_listed(unknown)}, expected coordinates"
                f"{', velocities' if with_v else ''}, time and the parameters "
                f"{shown(sorted(self.params))}; give params={{symbol: value}}."
            )
        keys = [str(s) for s in parameters]
        inputs = [*self.q, *(self.v if with_v else ()), self._t, *parameters]
        matrix = isinstance(plain, sp.MatrixBase)
        entries = list(plain) if matrix else [plain]
        compiled = sp.lambdify(inputs, entries, modules="jax", cse=True)
        shape = () if not matrix else plain.shape if plain.cols > 1 else (plain.rows,)

        def at(q, v, t, p):
            values = compiled(*q, *(v if with_v else ()), t, *(p[k] for k in keys))
            return jnp.stack([jnp.asarray(x, float) for x in values]).reshape(shape)

        return at if with_v else lambda q, t, p: at(q, None, t, p)


def _is_dynamic(x) -> bool:
    return isinstance(x, sp.core.function.AppliedUndef)


def _name(x) -> str:
    return x.func.__name__ if _is_dynamic(x) else str(x).removesuffix("(t)")


def _listed(symbols) -> str:
    return ", ".join(sorted(map(str, symbols))[:6])
