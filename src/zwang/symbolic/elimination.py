"""The Udwadia-Kalaba equation as a sequence of definitions, without a square root or an inverse.

Rows are orthogonalized one after another in the metric of M⁻¹ (modified Gram-Schmidt), and each of
them corrects the acceleration once:

    zᵢ = Aᵢ − Σ_{j<i} c_ij z_j,   yᵢ = M⁻¹ zᵢᵀ,   dᵢ = zᵢ yᵢ,   c_ij = (zᵢ · y_j)/d_j
    v̇ ← v̇ + yᵢ (bᵢ − Aᵢ v̇)/dᵢ

This is `A⊕ (b − A a)` row by row. It does not square the condition number, and its denominators
show where the formula fails: `dᵢ = 0` is a loss of rank. Reference: recursive paper, eq.
(4.14)-(4.16) with one row to a level.
"""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportReturnType=false, reportGeneralTypeIssues=false
# SymPy's annotations do not declare which parts an expression has.

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

MOST_SEARCHED = 400
"""Number of operations of an expression up to which squares of sines and cosines, and cases, are
merged.
"""


def plain(expression: sp.Expr) -> sp.Expr:
    """Replace `a sin² x + a cos² x` by a, and remove cases that an enclosing case decides."""
    if not expression.has(sp.sin, sp.Piecewise) or sp.count_ops(expression) > MOST_SEARCHED:
        return expression
    decided = expression.replace(lambda x: isinstance(x, sp.Piecewise), _decided)
    return decided.replace(lambda x: x.is_Add, _merged)


def _decided(cases: sp.Expr) -> sp.Expr:
    """Remove cases inside a case whose condition is that of their first one."""
    found = []
    for value, condition in cases.args:
        same = lambda x, c=condition: isinstance(x, sp.Piecewise) and x.args[0].cond == c
        found.append((value.replace(same, lambda x: x.args[0].expr), condition))
    return sp.Piecewise(*found)


def _merged(total: sp.Expr) -> sp.Expr:
    terms: dict[tuple, dict] = {}
    for term in total.args:
        for factor in sp.Mul.make_args(term):
            base, exponent = factor.as_base_exp()
            if exponent == 2 and base.func in (sp.sin, sp.cos):
                terms.setdefault((term / factor, base.args[0]), {})[base.func] = term
    for (coefficient, _), pair in terms.items():
        if len(pair) == 2:  # A merged term may be part of another pair.
            return plain(total - sp.Add(*pair.values()) + coefficient)
    return total


SIMPLE = 3
"""Number of operations of an expression up to which it gets no name."""


class Definitions:
    """Names of intermediate results, in order.

    Args:
        known: definitions that come first.
        latex: how each symbol is typeset; extended with the new ones.
    """

    def __init__(self, known: Sequence[tuple[sp.Symbol, sp.Expr]], latex: dict[sp.Symbol, str]):
        self.items, self.latex = list(known), latex
        self._taken = {s.name for s in (*latex, *(s for s, _ in known))}

    def name(self, letter: str, expression: sp.Expr, *index: int) -> sp.Expr:
        """Return a simple expression itself, or a new symbol defined by the expression."""
        expression = plain(expression)
        # A name for a short expression would make the formula longer.
        if expression.is_Atom or sp.count_ops(expression) <= SIMPLE:
            return expression
        suffix = "_".join(str(i + 1) for i in index)
        name = f"{letter}_{suffix}"
        while name in self._taken:  # a coordinate or a parameter has that name
            name += "_"
        self._taken.add(name)
        symbol = sp.Symbol(name, real=True)
        self.items.append((symbol, expression))
        head, tail = letter[0], letter[1:]
        above = f"({tail})" if tail.isdigit() else rf"\mathrm{{{tail}}}"
        below = ", ".join(str(i + 1) for i in index)
        self.latex[symbol] = f"{head}_{{{below}}}" + (f"^{{{above}}}" if tail else "")
        return symbol

    def vector(self, letter: str, values: Sequence[sp.Expr], *index: int) -> list[sp.Expr]:
        """Apply `name` to each entry."""
        return [self.name(letter, x, *index, k) for k, x in enumerate(values)]


def dot(x: Sequence[sp.Expr], y: Sequence[sp.Expr]) -> sp.Expr:
    """`Σ xᵢ yᵢ`."""
    return sp.Add(*(a * b for a, b in zip(x, y, strict=True)))


class Mass:
    """M⁻¹ by an LDLᵀ factorization of the symmetric positive definite M.

    Args:
        M: mass matrix.
        letter: of its definitions.
        names: receives the definitions.
    """

    def __init__(self, M: sp.Matrix, letter: str, names: Definitions):
        self._names, n = names, M.rows
        self.L, self.D = sp.eye(n), []
        for j in range(n):
            # without square roots, which SymPy could not cancel
            pivot = M[j, j] - sp.Add(*(self.L[j, k] ** 2 * self.D[k] for k in range(j)))
            self.D.append(names.name(f"{letter}D", pivot, j))
            for i in range(j + 1, n):
                rest = M[i, j] - sp.Add(
                    *(self.L[i, k] * self.L[j, k] * self.D[k] for k in range(j))
                )
                self.L[i, j] = names.name(f"{letter}L", rest / self.D[j], i, j) if rest else 0

    def solve(self, f: Sequence[sp.Expr], letter: str, *index: int) -> list[sp.Expr]:
        """`M⁻¹ f`, its entries named by a letter."""
        n, names = len(self.D), self._names
        if self.L == sp.eye(n):
            return names.vector(letter, [f[i] / self.D[i] for i in range(n)], *index)
        y: list[sp.Expr] = []
        for i in range(n):
            y.append(f[i] - dot(self.L.row(i)[:i], y))
            y[i] = names.name(f"{letter}h", y[i], *index, i)
        x: list[sp.Expr] = [sp.S.Zero] * n
        for i in reversed(range(n)):
            value = y[i] / self.D[i] - dot(self.L.col(i)[i + 1 :], x[i + 1 :])
            x[i] = names.name(letter, value, *index, i)
        return x


class Rows:
    """Rows orthogonalized in a metric, which correct vectors.

    Args:
        A: independent rows, shape (r, n).
        mass: of the metric.
        letters: of z, y, d and the multipliers, so that two families differ.
        names: receives the definitions.

    Attributes:
        z, y, d: as in the module's docstring; U: `z = U A`, shape (r, r).
    """

    def __init__(self, A: sp.Matrix, mass: Mass, letters: Sequence[str], names: Definitions):
        self.A, self._names, self._r = A, names, letters[3]
        self.z: list[list[sp.Expr]] = []
        self.y: list[list[sp.Expr]] = []
        self.d: list[sp.Expr] = []
        self.U = sp.eye(A.rows)
        z_, y_, d_ = letters[:3]
        for i in range(A.rows):
            z, y = list(A.row(i)), mass.solve(list(A.row(i)), y_ + "0", i)
            for j in range(i):
                c = names.name(f"{z_}c", dot(z, self.y[j]) / self.d[j], i, j)
                if c != 0:
                    z = [a - c * b for a, b in zip(z, self.z[j], strict=True)]
                    y = [a - c * b for a, b in zip(y, self.y[j], strict=True)]
                    z = names.vector(f"{z_}{j + 1}", z, i)
                    y = names.vector(f"{y_}{j + 1}", y, i)
                    self.U[i, :] = self.U[i, :] - c * self.U[j, :]
            self.z.append(z)
            self.y.append(y)
            self.d.append(names.name(d_, dot(z, y), i))

    def correct(self, x: Sequence[sp.Expr], b: Sequence[sp.Expr], letter: str):
        """`x + A⊕ (b − A x)`, and the multiplier of each orthogonal row."""
        x, shares = list(x), []
        for i in range(self.A.rows):
            left = b[i] - dot(self.A.row(i), x)
            share = self._names.name(self._r + letter, left / self.d[i], i)
            shares.append(share)
            x = [a + y * share for a, y in zip(x, self.y[i], strict=True)]
            x = self._names.vector(f"{letter}{i + 1}", x)
        return x, shares

    def tangent(self, x: Sequence[sp.Expr], letter: str, *index: int) -> list[sp.Expr]:
        """`(I − A⊕A) x`."""
        x = list(x)
        for i in range(self.A.rows):
            part = self._names.name(f"{letter}s{i + 1}", dot(self.z[i], x) / self.d[i], *index)
            x = [a - y * part for a, y in zip(x, self.y[i], strict=True)]
            x = self._names.vector(f"{letter}{i + 1}", x, *index)
        return x

    def force(self, shares: Sequence[sp.Expr]) -> list[sp.Expr]:
        """`M A⊕ (b − A x)` from the multipliers of orthogonal rows that `correct` returned."""
        n = self.A.cols
        return [sp.Add(*(self.z[i][k] * shares[i] for i in range(self.A.rows))) for k in range(n)]

    def multipliers(self, shares: Sequence[sp.Expr]) -> list[sp.Expr]:
        """λ such that `Aᵀ λ` is that force."""
        return [dot(self.U.col(k), shares) for k in range(self.A.rows)]
