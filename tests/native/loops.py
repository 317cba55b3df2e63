"""Functions with loops and branches, and with arrays that these change in place."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=5)
LONG = RANDOM.normal(size=100)
"""More elements than a loop carries in registers."""
GRID = RANDOM.normal(size=(30, 20))


def collatz(n):
    step = lambda c: (jnp.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1)
    return lax.while_loop(lambda c: c[0] > 1, step, (n, jnp.zeros_like(n)))


def fibonacci(x):
    """A swap of what is carried."""
    return lax.fori_loop(0, 20, lambda i, c: (c[1], c[0] + c[1]), (x, 2 * x))


def sieve(x):
    def turn(i, known):
        return known.at[i].set(known[i] + jnp.where(i > 2, known[i - 3], 0.0))

    return lax.fori_loop(0, len(x), turn, x)


def constant_updated(x):
    """A constant of the loop from which each turn makes a changed array of its own."""
    y = jnp.sin(x)

    def turn(i, total):
        changed = y.at[i % len(x)].add(10.0)
        return total + changed @ jnp.arange(len(x), dtype=x.dtype)

    return lax.fori_loop(0, 9, turn, jnp.zeros((), x.dtype)), y


def while_constant_updated(x):
    y = jnp.cos(x)

    def turn(c):
        i, total = c
        changed = y.at[i % len(x)].set(0.0)
        return i + 1, total + jnp.sum(changed)

    return lax.while_loop(lambda c: c[0] < 9, turn, (0, 0.0)), y


def row_updated(x):
    """A row of a scan that is changed, and the rows again."""
    rows = jnp.outer(jnp.sin(x), jnp.arange(70.0))

    def turn(total, row):
        i = jnp.argmax(row[:3])
        changed = row.at[i].set(5.0)
        return total + jnp.sum(changed), changed[i + 1]

    return lax.scan(turn, 0.0, rows), rows


def branch_updated(x):
    """An array that one way changes and that is used afterwards."""
    y = jnp.sin(x)
    i = jnp.argmax(x)
    changed = lax.cond(x[0] > 0, lambda a: a.at[i].set(7.0), lambda a: a, y)
    other = lax.cond(x[0] <= 0, lambda a: a.at[i].set(8.0), lambda a: 2 * a, y)
    return changed, other, y


def old_and_new(x):
    """What was carried before a turn's change, as a result of the turn."""

    def turn(c, i):
        new = c.at[i].multiply(3.0)
        return new, (c[i], jnp.sum(c), new @ c)

    return lax.scan(turn, x, jnp.arange(len(x)) % 7)


def used_again(x):
    """An updated array whose former value is needed later."""
    i = jnp.argmin(x)
    y = jnp.sin(x)
    z = y.at[i].set(2.0)
    w = z.at[i].add(y[i])
    return y, z, w, y @ z


def rotated(x):
    """Three arrays that change places."""
    turn = lambda i, c: (c[1], c[2], c[0].at[i % 3].add(1.0))
    return lax.fori_loop(0, 7, turn, (x, 2 * x, 3 * x))


def reversed_each_turn(x):
    return lax.fori_loop(0, 5, lambda i, c: c[::-1].at[i].add(1.0), x)


def shifted_each_turn(x):
    return lax.fori_loop(0, 5, lambda i, c: jnp.concatenate([c[1:], c[:1]]), x)


def transposed_each_turn(x):
    return lax.fori_loop(0, 3, lambda i, c: (c.T + jnp.eye(len(c)))[:, ::-1], x[:, :20][:20])


def nested(x):
    inner = lambda i, c: lax.fori_loop(0, i + 1, lambda j, d: d.at[j].add(d[i] * 0.1), c)
    return lax.fori_loop(0, len(x) - 1, inner, x)


def bubble(x):
    """Exchanges in place."""

    def pass_(i, c):
        def exchange(j, d):
            a, b = d[j], d[j + 1]
            return d.at[j].set(jnp.minimum(a, b)).at[j + 1].set(jnp.maximum(a, b))

        return lax.fori_loop(0, len(x) - 1, exchange, c)

    return lax.fori_loop(0, len(x), pass_, x)


def switch(x):
    ways = [lambda y: y, lambda y: 2 * y, jnp.sin]
    which = jnp.array([-3, 0, 1, 2, 9]) + (x[0] > 100)
    return [lax.switch(which[k], ways, x) for k in range(5)]


def branch_in_loop(x):
    def turn(i, c):
        return lax.cond(c[i % 5] > 0, lambda d: d.at[i % 5].add(-1.0), lambda d: d + 0.5, c)

    return lax.fori_loop(0, 12, turn, x)


def loop_in_branch(x):
    many = lambda y: lax.fori_loop(0, 10, lambda i, c: c * 1.1, y)
    return lax.cond(jnp.sum(x) > 0, many, lambda y: -y, x), lax.cond(
        jnp.sum(x) < 0, many, lambda y: -y, x
    )


def no_turn(x):
    return (
        lax.while_loop(lambda c: c[0] < -1e9, lambda c: c + 1, x),
        lax.fori_loop(3, 3, lambda i, c: c + 1, x),
        lax.scan(lambda c, y: (c + y, c), 1.0, x[:0]),
    )


def reverse_scan(x):
    return lax.scan(lambda c, y: (jnp.sin(c) + y, (c, y * y)), 0.5, x, reverse=True)


def truths(x):
    """Truth values, integers and floats are carried together."""

    def turn(c):
        flags, count, y = c
        return flags.at[count % 3].set(~flags[count % 3]), count + 1, jnp.where(flags[0], y, y + 1)

    start = (jnp.array([True, False, True]), jnp.int32(0), x)
    return lax.while_loop(lambda c: (c[1] < 8) & jnp.any(c[0]), turn, start)


def bisect(x):
    """A loop that ends by what it has found."""
    low, high = lax.while_loop(
        lambda c: c[1] - c[0] > 1e-12,
        lambda c: jax.tree_util.tree_map(
            lambda a, b: jnp.where(jnp.cos(0.5 * (c[0] + c[1])) > 0, a, b),
            (0.5 * (c[0] + c[1]), c[1]),
            (c[0], 0.5 * (c[0] + c[1])),
        ),
        (jnp.abs(x[0]) * 0.1, 3.0),
    )
    return low, high


def of_each_member(x):
    """A loop whose members end at different times, side by side."""
    newton = lambda a: lax.while_loop(
        lambda r: jnp.abs(r * r - a) > 1e-10, lambda r: 0.5 * (r + a / r), jnp.maximum(a, 1.0)
    )
    return jax.vmap(newton)(jnp.abs(x) + 0.1)


def gradient_of_scan(x):
    """Reverse mode stores what each turn has carried."""

    def end(y):
        c, rows = lax.scan(lambda c, z: (jnp.sin(c * z), c), y, jnp.arange(12.0))
        return jnp.sum(c) + jnp.sum(rows**2)

    return jax.grad(end)(x)


def history(x):
    """Each turn fills the next row of a table, unless it is thrown away."""

    def turn(c):
        i, count, table = c
        row = jnp.sin(x * i)
        kept = row[0] > 0
        return i + 1, count + kept, table.at[count].set(jnp.where(kept, row, table[count]))

    start = (0, 0, jnp.zeros((20, len(x))))
    return lax.while_loop(lambda c: c[0] < 30, turn, start)


def members_of_table(x):
    """Members with a long array each, that end at different times."""

    def of_one(n, row):
        turn = lambda c: (c[0] + 1, c[1].at[c[0]].add(10.0), jnp.sum(c[1][:2]))
        return lax.while_loop(lambda c: c[0] < n, turn, (0, row, 0.0))

    return jax.vmap(of_one)(jnp.array([3, 0, 5]) + (x[0] > 100), jnp.stack([x, 2 * x, 3 * x]))


HUGE = np.resize(LONG, 1500)
"""More elements than are read at the beginning of a function."""
LOOPS = {
    "members with an array each": (members_of_table, X),
    "members with a long array each": (members_of_table, LONG),
    "in place, huge": (sieve, HUGE),
    "a huge constant that is changed": (constant_updated, HUGE),
    "a huge constant of a while that is changed": (while_constant_updated, HUGE),
    "a branch that changes what is huge": (branch_updated, HUGE),
    "old and new, huge": (old_and_new, HUGE),
    "rotated, huge": (rotated, HUGE),
    "reversed, huge": (reversed_each_turn, HUGE),
    "members, huge": (members_of_table, HUGE),
    "while": (collatz, np.int64(27)),
    "a swap": (fibonacci, X),
    "a swap in memory": (fibonacci, LONG),
    "in place": (sieve, X),
    "in place, in memory": (sieve, LONG),
    "a constant that is changed": (constant_updated, X),
    "a long constant that is changed": (constant_updated, LONG),
    "a constant of a while that is changed": (while_constant_updated, X),
    "a long constant of a while that is changed": (while_constant_updated, LONG),
    "a row that is changed": (row_updated, X),
    "a branch that changes": (branch_updated, X),
    "a branch that changes, the other way": (branch_updated, -np.abs(X)),
    "a branch that changes what is long": (branch_updated, LONG),
    "old and new": (old_and_new, np.resize(X, 7)),
    "old and new in memory": (old_and_new, LONG),
    "used again": (used_again, X),
    "used again in memory": (used_again, np.resize(LONG, 2000)),
    "rotated": (rotated, X),
    "rotated in memory": (rotated, LONG),
    "reversed": (reversed_each_turn, X),
    "reversed in memory": (reversed_each_turn, LONG),
    "shifted": (shifted_each_turn, X),
    "shifted in memory": (shifted_each_turn, LONG),
    "transposed in memory": (transposed_each_turn, GRID),
    "nested": (nested, X),
    "nested in memory": (nested, LONG),
    "exchanges": (bubble, X),
    "exchanges in memory": (bubble, LONG),
    "switch": (switch, X),
    "a branch in a loop": (branch_in_loop, X),
    "a branch in a loop in memory": (branch_in_loop, LONG),
    "a loop in a branch": (loop_in_branch, X),
    "a loop in a branch in memory": (loop_in_branch, LONG),
    "no turn": (no_turn, X),
    "no turn in memory": (no_turn, LONG),
    "reversed scan": (reverse_scan, X),
    "reversed scan in memory": (reverse_scan, LONG),
    "truth values": (truths, X),
    "an end by what is found": (bisect, X),
    "members": (of_each_member, X),
    "members in memory": (of_each_member, LONG),
    "gradient of a scan": (gradient_of_scan, X),
    "gradient of a scan in memory": (gradient_of_scan, LONG),
    "history": (history, X),
}
