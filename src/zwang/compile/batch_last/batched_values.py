"""Which values of a traced program differ from member to member, from which of its arguments do.

A value is batched if anything that it is computed from is. For a loop that is a fixed point: what
its body makes batched is batched from the first turn on.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax.extend.core import Jaxpr, Literal

from zwang.compile.interpreter import CALLS, inner_program

INLINED = CALLS - {"custom_vmap_call"}
"""Calls that are evaluated in place. A function with rules for a batch is not: they are applied."""
OVER_MEMBERS: dict[str, Callable] = {
    "unvmap_any": jnp.any,
    "unvmap_all": jnp.all,
    "unvmap_max": jnp.max,
}
"""Equinox's reductions over all members, whose result they share."""


class BatchAnalysis:
    """Finds the batched values of programs; what was found for one is not found again."""

    def __init__(self):
        self._found: dict[tuple, list[bool]] = {}

    def program(self, jaxpr: Jaxpr, inputs: list[bool]) -> list[bool]:
        """Which results are batched, for arguments of which these are."""
        key = jaxpr, tuple(inputs)
        if key not in self._found:
            batched = dict(zip(jaxpr.invars, inputs, strict=True))
            read = lambda v: not isinstance(v, Literal) and batched.get(v, False)
            for eqn in jaxpr.eqns:
                out = self.equation(eqn, list(map(read, eqn.invars)))
                batched |= zip(eqn.outvars, out, strict=True)
            self._found[key] = list(map(read, jaxpr.outvars))
        return self._found[key]

    def equation(self, eqn, inputs: list[bool]) -> list[bool]:
        """Which results of one operation are batched."""
        name, inner = eqn.primitive.name, inner_program(eqn)
        if name in OVER_MEMBERS:
            return [False] * len(eqn.outvars)
        if name == "while":
            return self._while(eqn, inputs)
        if name == "scan":
            return self._scan(eqn, inputs)
        if name == "cond":
            branches = [self.program(x.jaxpr, inputs[1:]) for x in eqn.params["branches"]]
            return [inputs[0] or any(flags) for flags in zip(*branches, strict=True)]
        if name in INLINED and inner is not None:
            return self.program(inner.jaxpr, inputs)
        return [any(inputs)] * len(eqn.outvars)

    def has_batched_condition(self, eqn, carry: list[bool], inputs: list[bool]) -> bool:
        """Whether the members of a loop may end after different numbers of turns."""
        constants = inputs[: eqn.params["cond_nconsts"]]
        return self.program(eqn.params["cond_jaxpr"].jaxpr, constants + carry)[0]

    def _while(self, eqn, inputs):
        first = eqn.params["cond_nconsts"]
        constants = inputs[first : first + eqn.params["body_nconsts"]]
        carry = inputs[first + len(constants) :]
        while True:
            # a member that has ended keeps its carry, which then differs from that of others
            frozen = self.has_batched_condition(eqn, carry, inputs)
            after = self.program(eqn.params["body_jaxpr"].jaxpr, constants + carry)
            found = [old or new or frozen for old, new in zip(carry, after, strict=True)]
            if found == carry:
                return carry
            carry = found

    def _scan(self, eqn, inputs):
        n, m = eqn.params["num_consts"], eqn.params["num_carry"]
        constants, carry, rows = inputs[:n], inputs[n : n + m], inputs[n + m :]
        while True:
            after = self.program(eqn.params["jaxpr"].jaxpr, constants + carry + rows)
            found = [old or new for old, new in zip(carry, after[:m], strict=True)]
            if found == carry:
                return carry + after[m:]
            carry = found
