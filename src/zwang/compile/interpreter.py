"""A jaxpr interpreter: evaluates a traced program operation by operation, so that a subclass can
evaluate some of them differently.
"""

from __future__ import annotations

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

CALLS = frozenset(
    ("jit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat2", "custom_vmap_call")
)
"""Operations that call an inner program."""


class JaxprInterpreter:
    """Evaluates a program as it is; a subclass overrides what it does differently.

    Attributes:
        inlined: calls whose inner program is evaluated in their place.
    """

    inlined: frozenset[str] = CALLS

    def __call__(self, jaxpr: Jaxpr, consts, args) -> list:
        """The results of a program for some arguments."""
        values = {
            v: self.number(x)
            for v, x in zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True)
        }
        read = lambda v: self.literal(v) if isinstance(v, Literal) else values[v]
        for eqn in jaxpr.eqns:
            # programs that are called are evaluated here as well, so that a subclass sees their
            # operations
            inputs, inner = [read(v) for v in eqn.invars], inner_program(eqn)
            if eqn.primitive.name in self.inlined and inner is not None:
                out = self(inner.jaxpr, inner.consts, inputs)
            else:
                out = self.operation(eqn, inputs)
            values |= zip(eqn.outvars, out if isinstance(out, list | tuple) else [out], strict=True)
        return [read(v) for v in jaxpr.outvars]

    def operation(self, eqn, inputs: list):
        """The results of one operation."""
        return eqn.primitive.bind(
            *inputs, **{key: self._parameter(x) for key, x in eqn.params.items()}
        )

    def number(self, x):
        """The value of an argument or a constant array."""
        return x

    def literal(self, literal: Literal):
        """The value of a number in the program's text."""
        return literal.val

    def shape(self, aval):
        """What the body of a loop or branch is traced with, for an input of this shape."""
        return aval

    def parameter(self, x):
        """A parameter of an operation that holds no program."""
        return x

    def _parameter(self, x):
        """A parameter of an operation; the bodies of loops and branches are interpreted, too."""
        if isinstance(x, ClosedJaxpr):
            return self._closed(x)
        if isinstance(x, Jaxpr):  # how a scatter combines entries, which has no constants
            return self._closed(ClosedJaxpr(x, ())).jaxpr
        if isinstance(x, tuple) and any(isinstance(part, ClosedJaxpr) for part in x):
            parts = tuple(map(self._parameter, x))
            # those of a linear solution have names
            return type(x)(*parts) if hasattr(x, "_fields") else parts
        return self.parameter(x)

    def _closed(self, x: ClosedJaxpr) -> ClosedJaxpr:
        body = lambda *args: self(x.jaxpr, x.consts, args)
        return jax.make_jaxpr(body)(*map(self.shape, x.in_avals))


def inner_program(eqn) -> ClosedJaxpr | None:
    """The program that a call evaluates; None for any other operation."""
    found = next(
        (eqn.params[key] for key in ("jaxpr", "call_jaxpr", "call") if key in eqn.params), None
    )
    return ClosedJaxpr(found, ()) if isinstance(found, Jaxpr) else found
