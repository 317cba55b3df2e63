"""Arithmetic on SSA values and constants, with constant folding and fused multiply-adds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zwang.native.instructions import Operand, Value
from zwang.native.types import FLOATS, rounded, same


class Arithmetic:
    """Arithmetic operations of a `Builder`, which eliminates common subexpressions.

    Attributes:
        fused: whether the processor has fused multiply-adds.
        fuses_pairs: whether a sum of two products is fused, too. Its parts then do not cancel
            exactly.
    """

    fused: bool
    fuses_pairs: bool = False

    def shared(
        self, type_: str, operation: str, *operands: Operand | str, of: str | None = None
    ) -> Value:
        """Return an instruction without side effects; equal instructions are emitted once.

        Args:
            of: type of constants among the operands; by default the result's.
        """
        raise NotImplementedError

    def intrinsic(self, t: str, name: str, *operands: Operand) -> Operand:
        """Emit a call of an LLVM intrinsic whose operands and result have one type."""
        raise NotImplementedError

    def add(self, t: str, a: Operand, b: Operand) -> Operand:
        if type(a) is not Value and type(b) is not Value:
            return rounded(t, a + b)
        if type(a) is not Value and a == 0:
            return b
        if type(b) is not Value and b == 0:
            return a
        if self.fused and (self.fuses_pairs or not _both_products(a, b)):
            if type(b) is Value and b.operation == "fmul":
                return self.multiply_add(t, b.operands[0], b.operands[1], a)
            if type(a) is Value and a.operation == "fmul":
                return self.multiply_add(t, a.operands[0], a.operands[1], b)
        if type(b) is Value and b.operation == "fneg":
            return self.shared(t, "fsub", a, b.operands[0])
        return self.shared(t, "fadd", *ordered(a, b))

    def subtract(self, t: str, a: Operand, b: Operand) -> Operand:
        if type(a) is not Value and type(b) is not Value:
            return rounded(t, a - b)
        if type(b) is not Value and b == 0:
            return a
        if a is b:
            return 0.0
        if type(a) is not Value and a == 0:
            return self.negative(t, b)
        if self.fused and (self.fuses_pairs or not _both_products(a, b)):
            if type(b) is Value and b.operation == "fmul":
                x, y = b.operands
                if type(y) is Value and y.operation == "fneg":
                    x, y = y, x
                return self.multiply_add(t, self.negative(t, x), y, a)
            if type(a) is Value and a.operation == "fmul":
                return self.multiply_add(t, a.operands[0], a.operands[1], self.negative(t, b))
        return self.shared(t, "fsub", a, b)

    def multiply(self, t: str, a: Operand, b: Operand) -> Operand:
        if type(a) is not Value and type(b) is not Value:
            return rounded(t, a * b)
        if type(a) is not Value:
            a, b = b, a
        if type(b) is not Value:
            if b == 0:
                return 0.0
            if b == 1:
                return a
            if b == -1:
                return self.negative(t, a)
        elif type(a) is Value and a.operation == b.operation == "fneg":
            return self.multiply(t, a.operands[0], b.operands[0])
        return self.shared(t, "fmul", *ordered(a, b))

    def multiply_add(self, t: str, a: Operand, b: Operand, c: Operand) -> Operand:
        """Return `a b + c`, rounded once if the processor has fused multiply-adds."""
        known = type(a) is not Value or type(b) is not Value
        if known or not self.fused or (type(c) is not Value and c == 0):
            product = self.multiply(t, a, b)
            if type(product) is not Value or product.operation != "fmul" or not self.fused:
                return self.add(t, product, c)
            if type(c) is not Value and c == 0:
                return product
            a, b = product.operands
        return self.intrinsic(t, "fma.f64" if t == "double" else "fma.f32", *ordered(a, b), c)

    def divide(self, t: str, a: Operand, b: Operand) -> Operand:
        if type(a) is not Value and type(b) is not Value:
            if b != 0:
                return rounded(t, a / b)
            with np.errstate(all="ignore"):
                return rounded(t, float(np.float64(a) / np.float64(b)))
        if type(a) is not Value and a == 0:
            return 0.0
        if type(b) is not Value and b == 1:
            return a
        return self.shared(t, "fdiv", a, b)

    def negative(self, t: str, a: Operand) -> Operand:
        if type(a) is not Value:
            return -a
        if a.operation == "fneg":
            return a.operands[0]
        return self.shared(t, "fneg", a)

    def total(self, t: str, terms: Sequence[Operand]) -> Operand:
        """Add terms in their order."""
        terms = [x for x in terms if type(x) is Value or x != 0]
        found: Operand = 0.0
        for x in terms:
            found = self.add(t, found, x)
        return found

    def dot(self, t: str, a: Sequence[Operand], b: Sequence[Operand]) -> Operand:
        """Return `Σ aᵢ bᵢ`, in two dependency chains if the sum is long."""
        pairs = [
            (x, y)
            for x, y in zip(a, b, strict=True)
            if (type(x) is Value or x != 0) and (type(y) is Value or y != 0)
        ]
        if len(pairs) > LONG_SUM:
            half = len(pairs) // 2
            return self.add(t, self._chain(t, pairs[:half]), self._chain(t, pairs[half:]))
        return self._chain(t, pairs)

    def _chain(self, t: str, pairs: Sequence[tuple]) -> Operand:
        # A chain of two products is the sum of two products, which is not fused either.
        if len(pairs) == 2 and not self.fuses_pairs:
            return self.add(t, *(self.multiply(t, *pair) for pair in pairs))
        found: Operand = 0.0
        for x, y in pairs:
            found = self.multiply_add(t, x, y, found)
        return found

    def integer(self, operation: str, t: str, a: Operand, b: Operand, fold) -> Operand:
        """Emit an operation on two integers; `fold` computes it for constants."""
        if type(a) is not Value and type(b) is not Value:
            return fold(a, b)
        if operation == "add" and type(b) is not Value and b == 0:
            return a
        if operation == "add" and type(a) is not Value and a == 0:
            return b
        if operation == "mul":
            for x, y in ((a, b), (b, a)):
                if type(x) is not Value and x == 0:
                    return 0
                if type(x) is not Value and x == 1:
                    return y
        return self.shared(t, operation, a, b)

    def compare(self, predicate: str, t: str, a: Operand, b: Operand, fold) -> Operand:
        if type(a) is not Value and type(b) is not Value:
            return bool(fold(a, b))
        operation = ("fcmp " if t in FLOATS else "icmp ") + predicate
        return self.shared("i1", operation, a, b, of=t)

    def logic(self, operation: str, a: Operand, b: Operand) -> Operand:
        if type(a) is not Value and type(b) is not Value:
            return {"and": a and b, "or": a or b, "xor": a != b}[operation]
        if type(a) is not Value:
            a, b = b, a
        if type(b) is not Value:
            if operation == "and":
                return a if b else False
            if operation == "or":
                return True if b else a
            if not b:
                return a
        return self.shared("i1", operation, a, b)

    def select(self, t: str, condition: Operand, yes: Operand, no: Operand) -> Operand:
        if type(condition) is not Value:
            return yes if condition else no
        if yes is no or (type(yes) is not Value and type(no) is not Value and same(yes, no)):
            return yes
        yes, no = self._chosen(t, condition, yes, 1), self._chosen(t, condition, no, 2)
        return self.shared(t, "select", condition, yes, no)

    def _chosen(self, t: str, condition: Value, x: Operand, way: int) -> Operand:
        """Simplify an operand of a `select` that divides by a `select` with the same condition.

        The quotient takes the divisor of its own case (operand `way`) and does not wait for the
        inner select; the case that would divide by zero is not selected.
        """
        if type(x) is Value and x.operation == "fdiv":
            number, by = x.operands
            if type(by) is Value and by.operation == "select" and by.operands[0] is condition:
                return self.divide(t, number, by.operands[way])
        return x


LONG_SUM = 8
"""Number of terms beyond which a sum of products is split into two dependency chains: in one chain
each term waits four cycles for the one before it.
"""


def _both_products(a: Operand, b: Operand) -> bool:
    """Return whether both terms are products.

    Fusing one of two equal products would leave the rounding error of the other in their
    difference. Residuals of constraints are such differences.
    """
    return all(type(x) is Value and x.operation == "fmul" for x in (a, b))


def ordered(a: Operand, b: Operand) -> tuple[Operand, Operand]:
    """Bring the operands of a commutative operation into a canonical order."""
    if type(a) is not Value:
        return b, a
    if type(b) is not Value:
        return a, b
    return (a, b) if a.index <= b.index else (b, a)
