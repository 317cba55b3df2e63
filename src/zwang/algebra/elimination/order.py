"""Rounds in which the nodes of a sparse symmetric matrix are eliminated, determined on the host.

Rows with the same neighbors form a node. In each round nodes that are not adjacent are eliminated
at once, those with few neighbors first. The result is the Schur complement on the other nodes. In a
chain, every other joint is eliminated in the first round and every other remaining joint in the
second (cyclic reduction); in a tree the leaves are eliminated first. The last few rows are one
dense matrix.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from zwang.algebra.elimination.gather import padded


@dataclasses.dataclass
class Blocks:
    """Blocks of the lower triangle of a block matrix (row `high` ≥ column `low`), sorted, with all
    diagonal blocks.
    """

    nodes: int
    high: np.ndarray
    low: np.ndarray

    @classmethod
    def of(cls, nodes: int, i: np.ndarray, j: np.ndarray) -> Blocks:
        i, j = np.concatenate([i, np.arange(nodes)]), np.concatenate([j, np.arange(nodes)])
        key = np.unique(np.maximum(i, j).astype(np.int64) * nodes + np.minimum(i, j))
        return cls(nodes, key // nodes, key % nodes)


@dataclasses.dataclass
class Round:
    """Nodes that are eliminated at once, in ascending order, and the neighbors of each at that
    time, padded by the number of nodes.
    """

    nodes: np.ndarray
    neighbors: np.ndarray


def order_of(blocks: Blocks, size: int, dense: int) -> tuple[list[Round], np.ndarray]:
    """Return the rounds, and the nodes of the dense rest, which has at most `dense` rows unless the
    matrix fills in before.
    """
    # original numbers of the remaining nodes, with one more entry for padding
    own, rounds = np.arange(blocks.nodes + 1), []
    padding = blocks.nodes
    # after sixty rounds elimination has filled the matrix, and the rest is dense
    while blocks.nodes * size > dense and len(rounds) < 60:
        chosen = independent(blocks)
        if not len(chosen):
            break
        neighbors, left, kept = eliminate(blocks, chosen)
        rounds.append(Round(own[chosen], np.append(own[kept], padding)[neighbors]))
        own, blocks = own[kept], left
    return rounds, own[: blocks.nodes]


def group_rows(i: np.ndarray, j: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the node of each row, its place within the node, and the size of nodes; rows of a node
    have the same neighbors.
    """
    key = np.unique(i.astype(np.int64) * m + j)
    # rows are compared by the sum of random labels of their neighbors: equal sums imply equal
    # neighborhoods, except with probability 2⁻⁶²; comparing sets pair by pair would take time
    # quadratic in m
    label = np.random.default_rng(1847).integers(1, 2**62, m, dtype=np.int64)
    neighborhood = np.zeros(m, np.int64)
    np.add.at(neighborhood, key // m, label[key % m])
    empty = np.bincount(key // m, minlength=m) == 0  # a row without entries is a node by itself
    neighborhood[empty] = -np.flatnonzero(empty) - 1
    _, alike, count = np.unique(neighborhood, return_inverse=True, return_counts=True)
    # the size of the median row's node, because larger nodes are split and smaller ones padded, and
    # padding costs time; at most 6, the rows of a rigid joint in space
    size = int(np.clip(np.median(count[alike]) if m else 1, 1, 6))
    order = np.argsort(alike, kind="stable")
    rank = np.empty(m, int)
    rank[order] = np.arange(m) - np.repeat(np.cumsum(count) - count, count)
    lowest = np.full(len(count), m)
    np.minimum.at(lowest, alike, np.arange(m))  # nodes in the order of rows
    _, node = np.unique(lowest[alike] * np.int64(m + 1) + rank // size, return_inverse=True)
    return node, rank % size, size


def independent(blocks: Blocks) -> np.ndarray:
    """Return nodes of low degree of which no two are adjacent, in ascending order; none if almost
    all pairs are adjacent.
    """
    off = blocks.high != blocks.low
    ends = (
        np.concatenate([blocks.high[off], blocks.low[off]]),
        np.concatenate([blocks.low[off], blocks.high[off]]),
    )
    order = np.argsort(ends[0], kind="stable")
    neighbor = ends[1][order].tolist()
    degree = np.bincount(ends[0], minlength=blocks.nodes)
    last = np.cumsum(degree)
    least = int(degree.min())
    # for such a full matrix a sparse factor has no advantage
    if least > blocks.nodes // 2:
        return np.zeros(0, int)
    # degree 2 is always allowed, so that every other joint of a chain is eliminated at once
    most = max(2, least + least // 2)
    # a band matrix would be eliminated from its two ends layer by layer: if few nodes have about
    # the lowest degree, nodes up to the median degree are eligible
    if np.count_nonzero(degree <= most) < blocks.nodes / 8:
        most = np.median(degree)
    eligible = np.flatnonzero(degree <= most)
    first, last = (last - degree).tolist(), last.tolist()
    barred, chosen = bytearray(blocks.nodes), []
    # nodes with the fewest neighbors first: they exclude the fewest others and cause least fill-in
    for e in eligible[np.argsort(degree[eligible], kind="stable")].tolist():
        if not barred[e]:
            chosen.append(e)
            for k in neighbor[first[e] : last[e]]:
                barred[k] = 1
    return np.sort(np.array(chosen, int))


def eliminate(blocks: Blocks, chosen: np.ndarray) -> tuple[np.ndarray, Blocks, np.ndarray]:
    """Return the neighbors of the eliminated nodes, by their place after the round and padded by
    one past the end, the remaining blocks, and the remaining nodes.
    """
    gone = np.zeros(blocks.nodes, bool)
    gone[chosen] = True
    kept = np.flatnonzero(~gone)
    new = np.cumsum(~gone) - 1  # places of kept nodes after the round
    turn = np.cumsum(gone) - 1  # places of eliminated nodes among themselves
    below, above = gone[blocks.low] & ~gone[blocks.high], gone[blocks.high] & ~gone[blocks.low]
    e = np.concatenate([turn[blocks.low[below]], turn[blocks.high[above]]])
    other = np.concatenate([new[blocks.high[below]], new[blocks.low[above]]])
    neighbors = padded(e, other, len(chosen), len(kept))
    stay = ~gone[blocks.high] & ~gone[blocks.low]
    s, t = np.tril_indices(len(neighbors))
    # eliminating a node connects all its neighbors with each other: this is the fill-in
    both = (neighbors[s] < len(kept)) & (neighbors[t] < len(kept))
    i = np.concatenate([new[blocks.high[stay]], neighbors[s][both]])
    return (
        neighbors,
        Blocks.of(len(kept), i, np.concatenate([new[blocks.low[stay]], neighbors[t][both]])),
        kept,
    )
