"""A traced program carried out once more, operation by operation, so that some can be carried out
otherwise.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

INLINED = frozenset(
    ("jit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat2", "custom_vmap_call")
)
"""Calls, which are followed into."""


class Follower:
    """Carries a program out as it is; what is otherwise is a method of a class of its own.

    Attributes:
        inlined: calls that it follows into.
    """

    inlined: frozenset[str] = INLINED

    def __call__(self, jaxpr: Jaxpr, consts, args) -> list:
        """The results of a program for some arguments."""
        values = {
            v: self.number(x)
            for v, x in zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True)
        }
        read = lambda v: self.literal(v) if isinstance(v, Literal) else values[v]
        for eqn in jaxpr.eqns:
            inputs, inner = [read(v) for v in eqn.invars], inner_program(eqn)
            if eqn.primitive.name in self.inlined and inner is not None:
                out = self(inner.jaxpr, inner.consts, inputs)
            else:
                out = self.operation(eqn, inputs)
            values |= zip(eqn.outvars, out if isinstance(out, list | tuple) else [out], strict=True)
        return [read(v) for v in jaxpr.outvars]

    def operation(self, eqn, inputs: list) -> Any:
        """What one operation makes of its inputs."""
        return eqn.primitive.bind(
            *inputs, **{key: self._of_params(x) for key, x in eqn.params.items()}
        )

    def number(self, x) -> Any:
        """What stands for an argument or a constant array."""
        return x

    def literal(self, literal: Literal) -> Any:
        """What stands for a number in the program's text."""
        return literal.val

    def shape(self, aval) -> Any:
        """What the body of a loop or branch is given in place of an array of this shape."""
        return aval

    def parameter(self, x) -> Any:
        """What stands for a parameter of an operation that is no program."""
        return x

    def _of_params(self, x):
        """A parameter of an operation; the bodies of loops and branches are followed, too."""
        if isinstance(x, ClosedJaxpr):
            return jax.make_jaxpr(lambda *args: self(x.jaxpr, x.consts, args))(
                *map(self.shape, x.in_avals)
            )
        if isinstance(x, Jaxpr):  # how a scatter puts things together, which has no constants
            return self._of_params(ClosedJaxpr(x, ())).jaxpr  # type: ignore[union-attr]
        if isinstance(x, tuple) and any(isinstance(part, ClosedJaxpr) for part in x):
            return tuple(map(self._of_params, x))
        return self.parameter(x)


def inner_program(eqn) -> ClosedJaxpr | None:
    """The program that a call stands for."""
    found = next(
        (eqn.params[key] for key in ("jaxpr", "call_jaxpr", "call") if key in eqn.params), None
    )
    return ClosedJaxpr(found, ()) if isinstance(found, Jaxpr) else found
