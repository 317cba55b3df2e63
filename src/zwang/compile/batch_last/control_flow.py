"""Loops and branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from zwang.compile.batch_last.value import Many, differ

if TYPE_CHECKING:
    from zwang.compile.batch_last.transform import Abreast

FEW = 8
"""A branch with fewer operations is computed for all; a longer one only if any member takes it."""


def _while(abreast: Abreast, eqn, inputs):
    """Members that have ended stay as they are until all have."""
    before, within = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    asked, used, carry = (
        inputs[:before],
        inputs[before : before + within],
        inputs[before + within :],
    )
    many = abreast.spread.equation(eqn, differ(inputs))
    apart = abreast.spread.ends_apart(eqn, many, differ(inputs))
    running, turn = abreast.body(eqn.params["cond_jaxpr"]), abreast.body(eqn.params["body_jaxpr"])
    goes_on = lambda arrays: running(*asked, *abreast.wrapped(arrays, many))[0]
    turned = lambda arrays: abreast.unwrapped(turn(*used, *abreast.wrapped(arrays, many)), many)

    def each(arrays):
        runs = abreast.many(goes_on(arrays))
        return [jnp.where(runs, new, old) for new, old in zip(turned(arrays), arrays, strict=True)]

    ask = (lambda arrays: jnp.any(abreast.many(goes_on(arrays)))) if apart else goes_on
    return abreast.wrapped(
        jax.lax.while_loop(ask, each if apart else turned, abreast.unwrapped(carry, many)), many
    )


def _scan(abreast: Abreast, eqn, inputs):
    used, carried = eqn.params["num_consts"], eqn.params["num_carry"]
    constants, carry, rows = inputs[:used], inputs[used : used + carried], inputs[used + carried :]
    found = abreast.spread.equation(eqn, differ(inputs))
    many, results, by_row = found[:carried], found[carried:], differ(rows)
    turn = abreast.body(eqn.params["jaxpr"])

    def turned(carry, row):
        new = turn(*constants, *abreast.wrapped(carry, many), *abreast.wrapped(row, by_row))
        return abreast.unwrapped(new[:carried], many), abreast.unwrapped(new[carried:], results)

    settings = {key: eqn.params[key] for key in ("length", "reverse")}
    last, kept = jax.lax.scan(
        turned, abreast.unwrapped(carry, many), abreast.unwrapped(rows, by_row), **settings
    )
    return [*abreast.wrapped(last, many), *abreast.wrapped(kept, results)]


def _cond(abreast: Abreast, eqn, inputs):
    index, *operands = inputs
    branches = eqn.params["branches"]
    many = abreast.spread.equation(eqn, differ(inputs))
    taken = [
        lambda way=abreast.body(way): abreast.unwrapped(way(*operands), many) for way in branches
    ]
    if not isinstance(index, Many):
        return abreast.wrapped(jax.lax.switch(index, taken), many)
    index, found = jnp.clip(index.array.astype(jnp.int32), 0, len(branches) - 1), []
    for k, (way, branch) in enumerate(zip(taken, branches, strict=True)):
        nothing = lambda way=way: [jnp.zeros(x.shape, x.dtype) for x in jax.eval_shape(way)]
        found.append(
            way()
            if len(branch.jaxpr.eqns) < FEW
            else jax.lax.cond(jnp.any(index == k), way, nothing)
        )
    return [
        Many(jax.lax.select_n(jnp.broadcast_to(index, ways[0].shape), *ways))
        for ways in zip(*found, strict=True)
    ]


CONTROL: dict[str, Callable] = {"while": _while, "scan": _scan, "cond": _cond}
