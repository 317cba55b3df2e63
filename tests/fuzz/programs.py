"""Random traced programs, as native code compared with XLA.

A program is a random sequence of operations on a few arrays, with loops and branches, from a seed.
Every operation keeps its numbers at a moderate size, so that round-off stays small.
"""

from __future__ import annotations

import functools
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.native.lanes import assert_lanes_agree
from zwang.native import function, subroutines
from zwang.native.instructions import SHARED

SHORT, LONG = (1, 2, 3, 5, 9), (70, 1100)
"""Numbers of elements: carried in registers; carried in memory, or read where they are used."""
LONG_SHARE = 0.1
"""Of the arrays; emitting what is done with them takes seconds."""
MOST_OPTIMIZED = 4000
"""Instructions of a program whose optimized code is compared, too."""
ERROR = 1e-9
"""Largest difference, relative to the largest number of a result."""
KINDS = ("for", "while", "scan", "cond", "calls")
DEPTH = 2
"""Loops and branches within each other."""


def bounded(x):
    """Numbers of moderate size whatever they were."""
    return x / (1.0 + jnp.abs(x))


def place(x, i):
    """An index that is not known while code is written, within an array."""
    return (jnp.abs(x[i % len(x)]) * 1000).astype(int) % len(x)


def of_two(kind: int, x, y, i: int):
    """An array of the length of x."""
    y = jnp.resize(y, x.shape)
    k = place(x, i)
    ways = (
        lambda: x + y,
        lambda: x * y - y,
        lambda: jnp.sin(x) * jnp.cos(y),
        lambda: jnp.where(x > y, x, jnp.maximum(y, 0.1)),
        lambda: x.at[k].set(y[i % len(x)]),
        lambda: x.at[k].add(y[k]),
        lambda: x[::-1] - y,
        lambda: jnp.roll(x, 1) + x[k],
        lambda: x.at[jnp.array([k, (k + 1) % len(x), k])].add(0.25),
        lambda: lax.dynamic_update_slice(x, y[: (len(x) + 1) // 2], (k,)),
        lambda: x + jnp.sum(lax.dynamic_slice(y, (k,), (1,))),
        lambda: jnp.cumsum(x) / len(x) if len(x) <= 70 else x - y,
        lambda: x * (x @ y) / len(x),
        lambda: jnp.sqrt(jnp.abs(x)) + jnp.arctan2(y, 1.0 + x * x),
        lambda: jnp.concatenate([x[1:], y[:1]]),
        lambda: jnp.round(4 * x).astype(int).astype(float) / 4 - y,
        lambda: (x.astype(jnp.float32) * 2).astype(float) / 2,
        lambda: jnp.outer(x[:3], y[:3]).ravel()[: len(x)].sum() + x,
    )
    return bounded(ways[kind % len(ways)]())


class Drawn:
    """A program of a seed, as a function of arrays.

    Args:
        random: what it is drawn by.
        count: number of arrays.
    """

    def __init__(self, random: np.random.Generator, count: int, depth: int = 0):
        self.steps = []
        for _ in range(int(random.integers(2, 7))):
            inner = depth < DEPTH and random.random() < 0.3
            kind = str(random.choice(KINDS)) if inner else "operation"
            below = [Drawn(random, count, depth + 1) for _ in range(2)] if inner else []
            self.steps.append((kind, *map(int, random.integers(0, 60, 4)), below))

    def __call__(self, arrays: tuple) -> tuple:
        arrays = list(arrays)
        for kind, a, b, c, d, below in self.steps:
            i, j = a % len(arrays), b % len(arrays)
            if kind == "operation":
                arrays[i] = of_two(c, arrays[i], arrays[j], d)
            else:
                arrays = list(getattr(self, f"_{kind}")(tuple(arrays), i, c, d, below))
        return tuple(arrays)

    def _calls(self, arrays: tuple, i: int, c: int, d: int, below: list) -> tuple:
        """A function that is called twice, and then with an array that is constant."""
        for _ in range(2):
            arrays = below[0].shared(arrays)
        fixed = jnp.where(jnp.arange(len(arrays[i])) % 3 == 0, 0.0, 0.25)
        return below[0].shared((*arrays[:i], fixed, *arrays[i + 1 :]))

    @functools.cached_property
    def shared(self):
        """The program as a function whose code programs share."""
        called = lambda arrays: self(arrays)
        called.__name__ = f"{SHARED}drawn"
        return jax.jit(called)

    def _for(self, arrays: tuple, i: int, c: int, d: int, below: list) -> tuple:
        """A loop that uses its counter, and the array that lies outside of it."""
        outside = arrays[i]

        def turn(k, carried):
            changed = outside.at[k % len(outside)].add(0.5)
            new = list(below[0](carried))
            new[i] = bounded(new[i] + changed[place(changed, d)])
            return tuple(new)

        return lax.fori_loop(0, c % 9, turn, arrays)

    def _while(self, arrays: tuple, i: int, c: int, d: int, below: list) -> tuple:
        """A loop that ends by a number of turns or by what it has computed."""
        running = lambda carried: (carried[0] < c % 12) & (carried[1][i][d % len(arrays[i])] < 0.9)
        turn = lambda carried: (carried[0] + 1, below[0](carried[1]))
        return lax.while_loop(running, turn, (0, arrays))[1]

    def _scan(self, arrays: tuple, i: int, c: int, d: int, below: list) -> tuple:
        """A loop over rows whose former states are results."""
        rows = jnp.outer(jnp.arange(1.0, 2 + c % 7), jnp.sin(arrays[i]))

        def turn(carried, row):
            new = list(below[0](carried))
            new[i] = bounded(new[i] + row.at[place(row, d)].set(0.3))
            return tuple(new), carried[i]

        end, former = lax.scan(turn, arrays, rows, reverse=bool(d % 2))
        found = list(end)
        found[i] = bounded(found[i] + jnp.sum(former[d % len(former)]))
        return tuple(found)

    def _cond(self, arrays: tuple, i: int, c: int, d: int, below: list) -> tuple:
        ways = [*below, lambda x: x]
        return lax.switch(place(arrays[i], c) % 3, ways, arrays)


@mock.patch.object(subroutines, "LEAST", 1)
def case(random: np.random.Generator) -> None:
    """One program with its arguments, at both levels of optimization, and in several lanes."""
    count = int(random.integers(1, 4))
    drawn = Drawn(random, count)
    lengths = [LONG if random.random() < LONG_SHARE else SHORT for _ in range(count)]
    arrays = tuple(random.normal(size=int(random.choice(each))) for each in lengths)
    f = lambda *x: drawn(x)
    expected, code = jax.jit(f)(*arrays), function(f, *arrays, level=0)
    plain = optimized = code(*arrays)
    if code.code.instructions <= MOST_OPTIMIZED:
        code.code.optimize()
        optimized = code(*arrays)
        assert_lanes_agree(f, *arrays)
    for x, y, z in zip(plain, optimized, expected, strict=True):
        assert x.tobytes() == y.tobytes(), "levels of optimization differ"
        error = float(np.max(np.abs(x - np.asarray(z)), initial=0.0))
        assert error <= ERROR, f"off by {error:.1e}"
