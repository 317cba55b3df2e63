"""The order in which a sparse symmetric matrix is eliminated, found once on the host.

Rows with the same neighbors form a node. In each round nodes that do not touch each other are eliminated at once, those with few
neighbors first: what is left is the Schur complement on the other nodes. Every other joint of a chain goes in the first
round, every other of the rest in the second (cyclic reduction); of a tree the leaves go first. The compiled program has one
short piece per round, some `log2 m` of them, each working on long vectors; the last few rows are one dense matrix.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from zwang.sparse.gather import Sums, padded

LARGEST_NODE = 6
"""Rows of a node at most: those of a joint in space that leaves no freedom."""
DENSE_ROWS = 64
"""Where so few rows are left, they are eliminated as one dense matrix."""
MOST_ROUNDS = 60
"""Rounds after which elimination has filled the matrix and the rest is dense."""


class Round(eqx.Module):
    """One round. Blocks of the lower triangle are stored as (row in node, column in node, place).

    Attributes:
        nodes, kept: which nodes are eliminated and which stay, by their place before the round.
        neighbors: for each eliminated node, its neighbors by their place after the round, padded by one past the end.
        diagonal: place of each eliminated node's own block.
        panel: entries (row in neighbor, column in node) of the blocks below it, in the flat array of blocks.
        carried: place of each block after the round in the blocks before, or one past the end where it is new.
        update, rhs: what the eliminated nodes add to the blocks and vectors after the round.
        united: places of the nodes before the round in (eliminated, kept).
    """

    nodes: Int[Array, " eliminated"]
    kept: Int[Array, " rest"]
    neighbors: Int[Array, "degree eliminated"]
    diagonal: Int[Array, " eliminated"]
    panel: Int[Array, "size size degree eliminated"]
    carried: Int[Array, " blocks"]
    update: Sums
    rhs: Sums
    united: Int[Array, " nodes"]


class Plan(eqx.Module):
    """The whole elimination.

    Attributes:
        rounds: in order.
        root: for each entry of the dense rest, its place in the flat array of the blocks left.
        node_row: row of each place (row in node, node), one past the end for padding.
        place: place of each row in the flat array (row in node, node).
        first, second: for each entry of the blocks, the entries of C whose products it sums, padded by one past the end.
        padding: places of the diagonal of padding in the flat array of blocks, and `diagonal` those of the rows.
        size, blocks: rows of a node and number of blocks.
    """

    rounds: tuple[Round, ...]
    root: Int[Array, "rest rest"]
    node_row: Int[Array, "size nodes"]
    place: Int[Array, " m"]
    first: Int[Array, "terms entries"]
    second: Int[Array, "terms entries"]
    padding: Int[Array, " padded"]
    diagonal: Int[Array, " m"]
    size: int = eqx.field(static=True)
    blocks: int = eqx.field(static=True)

    def multiplications(self) -> float:
        """Multiplications of one factorization."""
        fronts = [(r.neighbors.shape[1], r.neighbors.shape[0]) for r in self.rounds]
        rounds = sum(nodes * (1 + d) * (1 + d + 1) / 2 * self.size**3 for nodes, d in fronts)
        return self.first.size + rounds + len(self.root) ** 3 / 3


@dataclasses.dataclass
class Blocks:
    """The lower triangle of a block matrix: `high ≥ low` of every block, sorted, each diagonal block among them."""

    nodes: int
    high: np.ndarray
    low: np.ndarray

    @classmethod
    def of(cls, nodes: int, i: np.ndarray, j: np.ndarray) -> Blocks:
        i, j = np.concatenate([i, np.arange(nodes)]), np.concatenate([j, np.arange(nodes)])
        key = np.unique(np.maximum(i, j).astype(np.int64) * nodes + np.minimum(i, j))
        return cls(nodes, key // nodes, key % nodes)

    def place(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Places of blocks (i, j), i ≥ j; one past the end where there is none."""
        key, wanted = self.high * self.nodes + self.low, np.asarray(i, np.int64) * self.nodes + j
        at = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        return np.where(key[at] == wanted, at, len(key))


def plan(row: np.ndarray, block: np.ndarray, slot: np.ndarray, m: int, slots: int) -> Plan:
    """Plan for `C Cᵀ` of a matrix C with m rows.

    Args:
        row, block: entries of C by rows and blocks of columns.
        slot: place of each in the data of C.
        slots: size of one place's data.
    """
    i, j, a, b = pairs(row, block, slot)
    node, within, size = group_rows(i, j, m)
    nodes = int(node.max(initial=-1)) + 1
    blocks = Blocks.of(nodes, node[i], node[j])
    row_of = np.full((size, nodes), m, np.int32)
    row_of[within, node] = np.arange(m)
    lower = node[i] >= node[j]
    i, j, a, b = i[lower], j[lower], a[lower], b[lower]
    count = len(blocks.high)
    target = (within[i] * size + within[j]) * count + blocks.place(node[i], node[j])
    entries = size * size * count
    first = padded(target, a, entries, slots)
    second = padded(target, b, entries, slots)
    own = blocks.place(np.arange(nodes), np.arange(nodes))
    padding = [(w * size + w) * count + own[row_of[w] == m] for w in range(size)]
    diagonal = (within * size + within) * count + own[node]

    rounds, left = [], blocks
    while left.nodes * size > DENSE_ROWS and len(rounds) < MOST_ROUNDS:
        chosen = independent(left)
        if not len(chosen):
            break
        made, left = eliminate(left, chosen, size)
        rounds.append(made)
    return Plan(
        tuple(rounds), _ints(_dense(left, size)), _ints(row_of), _ints(within * nodes + node), _ints(first), _ints(second),
        _ints(np.concatenate(padding)), _ints(diagonal), size, count,
    )  # fmt: skip


def pairs(row: np.ndarray, block: np.ndarray, slot: np.ndarray):
    """Rows i, j and slots a, b of all pairs of entries in one block of columns, both orders and each with itself."""
    order = np.argsort(block, kind="stable")
    row, slot, count = row[order], slot[order], np.bincount(block)
    start = np.repeat(np.cumsum(count) - count, count)
    repeat = np.repeat(count, count)
    first = np.repeat(np.arange(len(row)), repeat)
    second = np.arange(len(first)) - np.repeat(np.cumsum(repeat) - repeat, repeat) + np.repeat(start, repeat)
    return row[first], row[second], slot[first], slot[second]


def group_rows(i: np.ndarray, j: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Node of each row, its place within the node, and the size of nodes; rows of a node have the same neighbors."""
    key = np.unique(i.astype(np.int64) * m + j)
    label = np.random.default_rng(1847).integers(1, 2**62, m, dtype=np.int64)
    neighborhood = np.zeros(m, np.int64)
    np.add.at(neighborhood, key // m, label[key % m])
    empty = np.bincount(key // m, minlength=m) == 0  # a row without entries is a node by itself
    neighborhood[empty] = -np.flatnonzero(empty) - 1
    _, alike, count = np.unique(neighborhood, return_inverse=True, return_counts=True)
    size = int(np.clip(np.median(count[alike]) if m else 1, 1, LARGEST_NODE))
    order = np.argsort(alike, kind="stable")
    rank = np.empty(m, int)
    rank[order] = np.arange(m) - np.repeat(np.cumsum(count) - count, count)
    lowest = np.full(len(count), m)
    np.minimum.at(lowest, alike, np.arange(m))  # nodes in the order of rows
    _, node = np.unique(lowest[alike] * np.int64(m + 1) + rank // size, return_inverse=True)
    return node, rank % size, size


def independent(blocks: Blocks) -> np.ndarray:
    """Nodes of low degree of which no two touch, in ascending order; none if almost every two touch."""
    off = blocks.high != blocks.low
    ends = np.concatenate([blocks.high[off], blocks.low[off]]), np.concatenate([blocks.low[off], blocks.high[off]])
    order = np.argsort(ends[0], kind="stable")
    neighbor = ends[1][order].tolist()
    degree = np.bincount(ends[0], minlength=blocks.nodes)
    last = np.cumsum(degree)
    least = int(degree.min())
    if least > blocks.nodes // 2:
        return np.zeros(0, int)
    eligible = np.flatnonzero(degree <= max(2, least + least // 2))
    first, last = (last - degree).tolist(), last.tolist()
    barred, chosen = bytearray(blocks.nodes), []
    for e in eligible[np.argsort(degree[eligible], kind="stable")].tolist():
        if not barred[e]:
            chosen.append(e)
            for k in neighbor[first[e] : last[e]]:
                barred[k] = 1
    return np.sort(np.array(chosen, int))


def eliminate(blocks: Blocks, chosen: np.ndarray, size: int) -> tuple[Round, Blocks]:
    """One round: its places, and the blocks that are left after it."""
    nodes, count = blocks.nodes, len(blocks.high)
    gone = np.zeros(nodes, bool)
    gone[chosen] = True
    kept = np.flatnonzero(~gone)
    new = np.cumsum(~gone) - 1  # places of kept nodes after the round
    turn = np.cumsum(gone) - 1  # places of eliminated nodes among themselves
    rest = len(kept)

    below, above = gone[blocks.low] & ~gone[blocks.high], gone[blocks.high] & ~gone[blocks.low]
    e = np.concatenate([turn[blocks.low[below]], turn[blocks.high[above]]])
    other = np.concatenate([new[blocks.high[below]], new[blocks.low[above]]])
    place = np.concatenate([np.flatnonzero(below), np.flatnonzero(above)])
    turned = np.concatenate([np.zeros(int(below.sum()), bool), np.ones(int(above.sum()), bool)])
    order = np.lexsort((other, e))  # neighbors of a node ascend
    e, other, place, turned = e[order], other[order], place[order], turned[order]
    neighbors = padded(e, other, len(chosen), rest)
    lists = padded(e, np.arange(len(e)), len(chosen), len(e))
    degree = len(lists)

    panel = np.full((size, size, degree, len(chosen)), size * size * count, np.int64)
    known = lists < len(e)
    for a in range(size):
        for b in range(size):
            flat = np.where(turned, b * size + a, a * size + b) * count + place
            panel[a, b][known] = flat[lists[known]]

    survivors = ~gone[blocks.high] & ~gone[blocks.low]
    i, j = new[blocks.high[survivors]], new[blocks.low[survivors]]
    s, t = np.tril_indices(degree)  # pairs of neighbors, the later one first
    both = known[s] & known[t]
    left = Blocks.of(rest, np.concatenate([i, neighbors[s][both]]), np.concatenate([j, neighbors[t][both]]))
    carried = np.full(len(left.high), count)
    carried[left.place(i, j)] = np.flatnonzero(survivors)
    source = np.arange(len(s) * len(chosen)).reshape(len(s), -1)[both]
    update = Sums(left.place(neighbors[s][both], neighbors[t][both]), source, len(left.high), len(s) * len(chosen))
    each = np.arange(degree * len(chosen)).reshape(degree, -1)[known]
    rhs = Sums(neighbors[known], each, rest, degree * len(chosen))
    united = np.where(gone, turn, len(chosen) + new)
    return Round(
        _ints(chosen), _ints(kept), _ints(neighbors), _ints(blocks.place(chosen, chosen)), _ints(panel), _ints(carried),
        update, rhs, _ints(united),
    ), left  # fmt: skip


def _dense(left: Blocks, size: int) -> np.ndarray:
    """Places of the entries of what is left as one dense matrix, rows in the order (row in node, node)."""
    n, count = left.nodes, len(left.high)
    high, low = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    place = left.place(np.maximum(high, low), np.minimum(high, low))
    rows = np.empty((size, n, size, n), np.int64)
    for a in range(size):
        for b in range(size):
            flat = np.where(high >= low, a * size + b, b * size + a) * count + place
            rows[a, :, b, :] = np.where(place < count, flat, size * size * count)
    return rows.reshape(size * n, size * n)


def _ints(x: np.ndarray) -> Array:
    return jnp.asarray(x, jnp.int32)
