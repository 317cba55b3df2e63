"""Structural nonzeros of a constraint matrix from products `A w` alone.

Velocities are divided into groups that are halved repeatedly. A random w on a group shows the rows
with entries in it; groups that share no row are tested together. A chain of n bodies therefore
takes some ten products per halving, `log2 n` halvings, and no array of size n × n.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from zwang.algebra.sparsity_pattern import colors

MOST_COLORS = 128
"""A matrix that needs more groups of columns than this at once has rows that are too full to gain
by sparsity.
"""


def detect(
    product: Callable[[np.ndarray], np.ndarray], m: int, blocks: int, size: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Entries of a matrix by rows and blocks of columns, in order of rows, shapes (entries,); None
    if rows are too full.

    Args:
        product: w, shape (tests, blocks·size) → A w, shape (tests, m). A NaN counts as an entry.
        m: number of rows.
        blocks, size: columns come in `blocks` blocks of `size`.
    """
    random = np.random.default_rng(1829)
    # away from zero and of both signs, so that entries neither vanish nor cancel by chance
    values = random.uniform(0.5, 1.5, (blocks, size)) * random.choice([-1.0, 1.0], (blocks, size))
    width = 1 << max(blocks - 1, 0).bit_length()  # blocks per group
    row, group = np.arange(m), np.zeros(m, int)
    while width > 1:
        width //= 2
        # groups without a common row are tested by one product, as the row identifies the group
        color = colors(row, group, m, (blocks - 1) // (2 * width) + 1)
        if color.max(initial=0) >= MOST_COLORS:
            return None
        half = np.arange(blocks) // width
        test = 2 * color[half // 2] + half % 2  # number of the test of each block
        w = (test == np.arange(2 * (color.max() + 1))[:, None])[:, :, None] * values
        met = product(w.reshape(len(w), -1)) != 0
        first, second = (met[2 * color[group] + bit, row] for bit in (0, 1))
        row, group = (
            np.concatenate([row[first], row[second]]),
            np.concatenate([2 * group[first], 2 * group[second] + 1]),
        )
        # the last group may reach past the last block, as widths are powers of two
        inside = group * width < blocks
        row, group = row[inside], group[inside]
    if blocks == 1:
        met = product(values.reshape(1, -1))[0] != 0
        row, group = np.flatnonzero(met), np.zeros(int(met.sum()), int)
    order = np.lexsort((group, row))
    return row[order], group[order]
