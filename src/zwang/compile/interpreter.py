"""A jaxpr interpreter, whose subclasses evaluate some operations in another way."""

from __future__ import annotations

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

CALLS = frozenset(
    ("jit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat2", "custom_vmap_call")
)
"""Primitives that call an inner program."""


class JaxprInterpreter:
    """Interpreter of a jaxpr; subclasses override the evaluation of some operations.

    Attributes:
        inlined: calls whose inner program is inlined.
    """

    inlined: frozenset[str] = CALLS

    def __call__(self, jaxpr: Jaxpr, consts, args) -> list:
        """Evaluate a program for some arguments."""
        values = {
            v: self.number(x)
            for v, x in zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True)
        }
        read = lambda v: self.literal(v) if isinstance(v, Literal) else values[v]
        for eqn in jaxpr.eqns:
            # Called programs are interpreted here as well, so that a subclass sees their
            # operations.
            inputs, inner = [read(v) for v in eqn.invars], inner_program(eqn)
            if eqn.primitive.name in self.inlined and inner is not None:
                out = self(inner.jaxpr, inner.consts, inputs)
            else:
                out = self.operation(eqn, inputs)
            values |= zip(eqn.outvars, out if isinstance(out, list | tuple) else [out], strict=True)
        return [read(v) for v in jaxpr.outvars]

    def operation(self, eqn, inputs: list):
        """Evaluate one operation."""
        return eqn.primitive.bind(
            *inputs, **{key: self._parameter(x) for key, x in eqn.params.items()}
        )

    def number(self, x):
        """Return the value of an argument or a constant array."""
        return x

    def literal(self, literal: Literal):
        """Return the value of a literal in the jaxpr."""
        return literal.val

    def shape(self, aval):
        """Return an example input of this shape to trace the body of a loop or branch."""
        return aval

    def parameter(self, x):
        """Return a parameter of an operation that holds no program."""
        return x

    def _parameter(self, x):
        """Return a parameter of an operation; bodies of loops and branches are interpreted."""
        if isinstance(x, ClosedJaxpr):
            return self._closed(x)
        if isinstance(x, Jaxpr):  # the combining function of a scatter, which has no constants
            return self._closed(ClosedJaxpr(x, ())).jaxpr
        if isinstance(x, tuple) and any(isinstance(part, ClosedJaxpr) for part in x):
            parts = tuple(map(self._parameter, x))
            # a named tuple in a linear solve
            return type(x)(*parts) if hasattr(x, "_fields") else parts
        return self.parameter(x)

    def _closed(self, x: ClosedJaxpr) -> ClosedJaxpr:
        body = lambda *args: self(x.jaxpr, x.consts, args)
        return jax.make_jaxpr(body)(*map(self.shape, x.in_avals))


def inner_program(eqn) -> ClosedJaxpr | None:
    """Return the program that a call evaluates; None for any other operation."""
    found = next(
        (eqn.params[key] for key in ("jaxpr", "call_jaxpr", "call") if key in eqn.params), None
    )
    return ClosedJaxpr(found, ()) if isinstance(found, Jaxpr) else found
