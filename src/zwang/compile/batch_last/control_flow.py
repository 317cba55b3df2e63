"""Loops and branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from zwang.compile.batch_last.value import Batched, are_batched

if TYPE_CHECKING:
    from zwang.compile.batch_last.transform import BatchLastInterpreter

FEW_TURNS = 8
"""A branch with fewer operations is computed for all; a longer one only if any member takes it."""


def _while(interpreter: BatchLastInterpreter, eqn, inputs):
    """A loop until all members have ended; those that have ended before keep their carry."""
    n, m = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    cond_constants, body_constants, carry = inputs[:n], inputs[n : n + m], inputs[n + m :]
    batched = interpreter.analysis.equation(eqn, are_batched(inputs))
    apart = interpreter.analysis.has_batched_condition(eqn, batched, are_batched(inputs))
    cond, body = (
        interpreter.body(eqn.params["cond_jaxpr"]),
        interpreter.body(eqn.params["body_jaxpr"]),
    )
    running = lambda arrays: cond(*cond_constants, *interpreter.wrapped(arrays, batched))[0]
    step = lambda arrays: interpreter.unwrapped(
        body(*body_constants, *interpreter.wrapped(arrays, batched)), batched
    )

    def step_of_running(arrays):
        runs = interpreter.all_members(running(arrays))
        return [jnp.where(runs, new, old) for new, old in zip(step(arrays), arrays, strict=True)]

    any_running = lambda arrays: jnp.any(interpreter.all_members(running(arrays)))
    end = jax.lax.while_loop(
        any_running if apart else running,
        step_of_running if apart else step,
        interpreter.unwrapped(carry, batched),
    )
    return interpreter.wrapped(end, batched)


def _scan(interpreter: BatchLastInterpreter, eqn, inputs):
    n, m = eqn.params["num_consts"], eqn.params["num_carry"]
    constants, carry, rows = inputs[:n], inputs[n : n + m], inputs[n + m :]
    found = interpreter.analysis.equation(eqn, are_batched(inputs))
    carry_batched, result_batched, row_batched = found[:m], found[m:], are_batched(rows)
    body = interpreter.body(eqn.params["jaxpr"])

    def step(carry, row):
        new = body(
            *constants,
            *interpreter.wrapped(carry, carry_batched),
            *interpreter.wrapped(row, row_batched),
        )
        return interpreter.unwrapped(new[:m], carry_batched), interpreter.unwrapped(
            new[m:], result_batched
        )

    end, results = jax.lax.scan(
        step,
        interpreter.unwrapped(carry, carry_batched),
        interpreter.unwrapped(rows, row_batched),
        **{key: eqn.params[key] for key in ("length", "reverse")},
    )
    return [
        *interpreter.wrapped(end, carry_batched),
        *interpreter.wrapped(results, result_batched),
    ]


def _cond(interpreter: BatchLastInterpreter, eqn, inputs):
    index, *operands = inputs
    branches = eqn.params["branches"]
    batched = interpreter.analysis.equation(eqn, are_batched(inputs))
    evaluated = [
        lambda branch=interpreter.body(branch): interpreter.unwrapped(branch(*operands), batched)
        for branch in branches
    ]
    if not isinstance(index, Batched):
        return interpreter.wrapped(jax.lax.switch(index, evaluated), batched)
    index, found = jnp.clip(index.array.astype(jnp.int32), 0, len(branches) - 1), []
    for k, (evaluate, branch) in enumerate(zip(evaluated, branches, strict=True)):
        nothing = lambda evaluate=evaluate: [
            jnp.zeros(x.shape, x.dtype) for x in jax.eval_shape(evaluate)
        ]
        found.append(
            evaluate()
            if len(branch.jaxpr.eqns) < FEW_TURNS
            else jax.lax.cond(jnp.any(index == k), evaluate, nothing)
        )
    return [
        Batched(jax.lax.select_n(jnp.broadcast_to(index, choices[0].shape), *choices))
        for choices in zip(*found, strict=True)
    ]


CONTROL_FLOW: dict[str, Callable] = {"while": _while, "scan": _scan, "cond": _cond}
