"""Which values of a traced program differ from member to member, from which of its arguments do."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax.extend.core import Jaxpr, Literal

from zwang.compile.interpreter import INLINED, inner_program

FOLLOWED = INLINED - {"custom_vmap_call"}
"""Calls that are followed into; a function with a rule for `vmap` is not, for members are what that
rule is for.
"""
UNITED: dict[str, Callable] = {"unvmap_any": jnp.any, "unvmap_all": jnp.all, "unvmap_max": jnp.max}
"""Equinox's questions to all members at once, and their answers."""


class Spread:
    """Follows which values differ; a loop's do once any turn makes them, or once its members end
    apart.
    """

    def __init__(self):
        self._known: dict[tuple, list[bool]] = {}

    def program(self, jaxpr: Jaxpr, given: list[bool]) -> list[bool]:
        """Which results differ."""
        key = jaxpr, tuple(given)
        if key not in self._known:
            differ = dict(zip(jaxpr.invars, given, strict=True))
            read = lambda v: not isinstance(v, Literal) and differ.get(v, False)
            for eqn in jaxpr.eqns:
                differ |= zip(
                    eqn.outvars, self.equation(eqn, list(map(read, eqn.invars))), strict=True
                )
            self._known[key] = list(map(read, jaxpr.outvars))
        return self._known[key]

    def equation(self, eqn, given: list[bool]) -> list[bool]:
        """Which results of one operation differ."""
        name, inner = eqn.primitive.name, inner_program(eqn)
        if name in UNITED:
            return [False] * len(eqn.outvars)
        if name == "while":
            return self._while(eqn, given)
        if name == "scan":
            return self._scan(eqn, given)
        if name == "cond":
            ways = [self.program(branch.jaxpr, given[1:]) for branch in eqn.params["branches"]]
            return [given[0] or any(flags) for flags in zip(*ways, strict=True)]
        if name in FOLLOWED and inner is not None:
            return self.program(inner.jaxpr, given)
        return [any(given)] * len(eqn.outvars)

    def ends_apart(self, eqn, carry: list[bool], given: list[bool]) -> bool:
        """Whether the members of a loop may end after different numbers of turns."""
        return self.program(
            eqn.params["cond_jaxpr"].jaxpr, given[: eqn.params["cond_nconsts"]] + carry
        )[0]

    def _while(self, eqn, given):
        first = eqn.params["cond_nconsts"]
        used = given[first : first + eqn.params["body_nconsts"]]
        carry = given[first + len(used) :]
        while True:
            turned, apart = (
                self.program(eqn.params["body_jaxpr"].jaxpr, used + carry),
                self.ends_apart(eqn, carry, given),
            )
            found = [old or new or apart for old, new in zip(carry, turned, strict=True)]
            if found == carry:
                return carry
            carry = found

    def _scan(self, eqn, given):
        used, carried = eqn.params["num_consts"], eqn.params["num_carry"]
        constants, carry, rows = given[:used], given[used : used + carried], given[used + carried :]
        while True:
            turned = self.program(eqn.params["jaxpr"].jaxpr, constants + carry + rows)
            found = [old or new for old, new in zip(carry, turned[:carried], strict=True)]
            if found == carry:
                return carry + turned[carried:]
            carry = found
