"""Divergence analysis: which values of a traced program differ between SIMD lanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

from zwang.native.arrays import Elements, Memory
from zwang.native.blocks import is_wide
from zwang.native.builder import Builder


def varies(x: Elements) -> bool:
    """Return whether an array may differ between lanes."""
    if isinstance(x, Memory):
        return x.buffer.interleaved or x.buffer.base.wide
    return any(map(is_wide, np.asarray(x, object).reshape(-1)))


def varying_carry(
    b: Builder, params: dict, consts: Sequence, start: Sequence, rows: Sequence = ()
) -> list[bool]:
    """Return which arrays that a loop carries vary between lanes."""
    if b.lanes == 1:
        return [False] * len(start)
    given = [[varies(x) for x in part] for part in (consts, start, rows)]
    return _of_loop(params, *given)[: len(start)]


def _of_loop(params: dict, consts: list, carry: list, rows: list) -> list[bool]:
    """Return which results of a loop vary: those it carries, and those it stacks.

    A carried value that varies after an iteration varies in the next one. Arrays with axes always
    vary, as they may be in memory, where each lane has its own.
    """
    while_loop = "body_jaxpr" in params
    of_condition = params["cond_nconsts"] if while_loop else 0
    body = params["body_jaxpr"] if while_loop else params["jaxpr"]
    with_axes = [len(x.shape) > 0 for x in body.in_avals]
    first = len(consts) - of_condition
    carry = [x or with_axes[first + i] for i, x in enumerate(carry)]
    while True:
        found = varying(body.jaxpr, [*consts[of_condition:], *carry, *rows])
        after = [x or y for x, y in zip(carry, found, strict=False)]
        if while_loop:
            condition = params["cond_jaxpr"].jaxpr
            ends = any(varying(condition, [*consts[:of_condition], *carry]))
            after = [x or ends for x in after]
        if after == carry:
            return [*carry, *([True] * (len(found) - len(carry)))]
        carry = after


def varying(jaxpr: Jaxpr, inputs: Sequence[bool]) -> list[bool]:
    """Return which results of a program vary, given which inputs vary."""
    known = dict(zip(jaxpr.invars, inputs, strict=True))
    of = lambda x: not isinstance(x, Literal) and known.get(x, False)
    for eqn in jaxpr.eqns:
        found = _of_operation(eqn, [of(x) for x in eqn.invars])
        for x, differs in zip(eqn.outvars, found, strict=True):
            known[x] = differs or len(getattr(x.aval, "shape", ())) > 0
    return [of(x) for x in jaxpr.outvars]


def _of_operation(eqn: JaxprEqn, given: list[bool]) -> list[bool]:
    p, name = eqn.params, eqn.primitive.name
    if name == "while":
        n = p["cond_nconsts"] + p["body_nconsts"]
        return _of_loop(p, given[:n], given[n:], [])
    if name == "scan":
        n, m = p["num_consts"], p["num_consts"] + p["num_carry"]
        return _of_loop(p, given[:n], given[n:m], given[m:])
    if name == "cond":
        ways = [varying(x.jaxpr, given[1:]) for x in p["branches"]]
        return [given[0] or any(way) for way in zip(*ways, strict=True)]
    program = p.get("jaxpr", p.get("call_jaxpr"))
    if program is not None and len(given) == len(_plain(program).invars):
        return varying(_plain(program), given)
    return [any(given)] * len(eqn.outvars)


def _plain(program: Jaxpr | ClosedJaxpr) -> Jaxpr:
    return program.jaxpr if isinstance(program, ClosedJaxpr) else program
