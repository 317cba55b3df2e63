"""The order in which a sparse symmetric matrix is eliminated, found once on the host.

Rows with the same neighbors form a node. In each round nodes that do not touch each other are eliminated at once, those with few
neighbors first: what is left is the Schur complement on the other nodes. Every other joint of a chain goes in the first
round, every other of the rest in the second (cyclic reduction); of a tree the leaves go first. The last few rows are one dense
matrix.

Rounds are cut into chunks of one width, so that the compiled program is one loop over chunks, however many rounds there are. Nodes
with many neighbors come late; a class of chunks for each power of two of their number keeps padding small.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from zwang.sparse.gather import padded

LARGEST_NODE = 6
"""Rows of a node at most: those of a joint in space that leaves no freedom."""
DENSE_ROWS = 64
"""Where so few rows are left, they are eliminated as one dense matrix."""
MOST_ROUNDS = 60
"""Rounds after which elimination has filled the matrix and the rest is dense."""
CALL = 100
"""What one turn of the loop over chunks costs besides its nodes, in nodes: some thirty kernels of 1 µs against 0.3 µs per node."""
WIDTHS = 2 ** np.arange(3, 12)
"""Widths of chunks that are tried: few nodes of a small model, and at most what the cache holds of them."""


class Class(eqx.Module):
    """Chunks of one shape, eliminated one after the other.

    Attributes:
        neighbors: for each node, its neighbors by position, padded by one past the end.
        update: places in S of what each pair of neighbors (the later one first) is given, padded by one past the end.
        start: position of the first node; chunks follow each other.
        offset: place of the first chunk in S; a chunk holds, for each node, its own block and those of its neighbors below it.
    """

    neighbors: Int[Array, "chunks degree width"]
    update: Int[Array, "chunks size size pairs width"]
    start: int = eqx.field(static=True)
    offset: int = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Chunks, neighbors of a node, nodes of a chunk."""
        return self.neighbors.shape  # type: ignore


class Plan(eqx.Module):
    """The whole elimination. Positions number the nodes in the order in which they go, chunk by chunk with padding, those of the
    dense rest last; S is one flat array of all blocks that come into being.

    Attributes:
        classes: in order.
        source: for each place of S and one past the end, the entry of C Cᵀ that it starts with; one past the last for 0, two past for 1
            (padding).
        first, second: for each entry of C Cᵀ, the entries of C whose products it sums, padded by one past the end; entries on the
            diagonal are the first m.
        place: place of each row in an array (row in node, position), which has one position more for padding.
        row: row of each such place, one past the end for padding.
        size, positions, rest: rows of a node, number of positions, and number of them in the dense rest.
        rounds: number of rounds.
    """

    classes: tuple[Class, ...]
    source: Int[Array, " places"]
    first: Int[Array, "terms entries"]
    second: Int[Array, "terms entries"]
    place: Int[Array, " m"]
    row: Int[Array, "size places"]
    size: int = eqx.field(static=True)
    positions: int = eqx.field(static=True)
    rest: int = eqx.field(static=True)
    rounds: int = eqx.field(static=True)

    def multiplications(self) -> float:
        """Multiplications of one factorization."""
        nodes = sum(chunks * width * (1 + d) * (2 + d) / 2 for chunks, d, width in (c.shape for c in self.classes))
        return self.first.size + nodes * self.size**3 + (self.rest * self.size) ** 3 / 3


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


@dataclasses.dataclass
class Round:
    """Nodes that go at once, in ascending order, and the neighbors that each has then, padded by the number of nodes."""

    nodes: np.ndarray
    neighbors: np.ndarray


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
    rounds, rest = order_of(Blocks.of(nodes, node[i], node[j]), size)
    grouped = _classes(rounds)
    widths = [width_of([len(r.nodes) for r in group]) for group in grouped]

    position, at = np.full(nodes + 1, -1), 0
    starts = []
    for group, width in zip(grouped, widths, strict=True):
        starts.append(at)
        for r in group:
            position[r.nodes] = at + np.arange(len(r.nodes))
            at += -(-len(r.nodes) // width) * width
    position[rest] = at + np.arange(len(rest))
    root, positions = at, at + len(rest)
    position[nodes] = positions  # padding of neighbors

    tables, offset, known = [], 0, []
    for group, width, start in zip(grouped, widths, starts, strict=True):
        degree = max(len(r.neighbors) for r in group)
        count = sum(-(-len(r.nodes) // width) for r in group)
        neighbors = np.full((degree, count * width), positions)
        for r in group:
            neighbors[: len(r.neighbors), position[r.nodes] - start] = position[r.neighbors]
        neighbors = np.sort(neighbors, axis=0)  # padding last
        tables.append((neighbors.reshape(degree, count, width).transpose(1, 0, 2), start, offset))
        chunk, lane = np.divmod(np.arange(count * width), width)
        own = offset + chunk * (1 + degree) * size**2 * width + lane
        at = start + np.arange(count * width)
        known.append((at, at, own, np.full(len(at), width)))
        for k in range(degree):
            known.append((neighbors[k], at, own + (1 + k) * size**2 * width, np.full(len(at), width)))
        offset += count * (1 + degree) * size**2 * width
    places = _Places(known, root, positions, size, offset)

    keep = (position[node[i]] > position[node[j]]) | ((node[i] == node[j]) & (within[i] >= within[j]))
    target = places(position[node[i]], position[node[j]], within[i], within[j])[keep]
    diagonal = places(position[node], position[node], within, within)
    key = np.concatenate([diagonal, np.setdiff1d(target, diagonal)])
    rank = np.empty(places.total + 1, np.int64)
    rank[key] = np.arange(len(key))
    target = rank[target]
    source = np.full(places.total + 1, len(key), np.int64)
    source[key] = np.arange(len(key))
    row_of = np.full((size, positions + 1), m)
    row_of[within, position[node]] = np.arange(m)
    w, p = np.nonzero(row_of[:, :-1] == m)
    source[places(p, p, w, w)] = len(key) + 1

    classes = []
    for neighbors, start, begin in tables:
        s, t = np.tril_indices(neighbors.shape[1])  # pairs of neighbors, the later one first
        c, d = np.indices((size, size))[:, None, :, :, None, None]
        update = places(neighbors[:, None, None, s], neighbors[:, None, None, t], c, d)
        classes.append(Class(_ints(neighbors), _ints(update), start, begin))
    return Plan(
        tuple(classes), _ints(source), _ints(padded(target, a[keep], len(key), slots)), _ints(padded(target, b[keep], len(key), slots)),
        _ints(within * (positions + 1) + position[node]), _ints(row_of), size, positions, len(rest), len(rounds),
    )  # fmt: skip


class _Places:
    """Where entries (row in node, row in node) of blocks (later position, earlier position) are in S.

    Args:
        known: blocks by later and earlier position, place of their first entry and distance of their entries.
        root, positions: first position of the dense rest, and their number.
        offset: where the dense rest begins, an array (position, row in node, position, row in node).
    """

    def __init__(self, known, root: int, positions: int, size: int, offset: int):
        high, low, self.begin, self.stride = (
            (np.concatenate(x) for x in zip(*known, strict=True)) if known else [np.zeros(0, int)] * 4
        )
        self.root, self.positions, self.size, self.offset = root, positions, size, offset
        self.side = (positions - root) * size
        self.total = offset + self.side**2
        key = high * np.int64(positions + 1) + low
        order = np.argsort(key, kind="stable")
        self.key, self.begin, self.stride = key[order], self.begin[order], self.stride[order]

    def __call__(self, high, low, a, b) -> np.ndarray:
        """Places; one past the end where a position is padding."""
        high, low, a, b = np.broadcast_arrays(high, low, a, b)
        dense = self.offset + ((high - self.root) * self.size + a) * self.side + (low - self.root) * self.size + b
        if not len(self.key):
            return np.where((high < self.positions) & (low < self.positions), dense, self.total)
        wanted = high * np.int64(self.positions + 1) + low
        found = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        inner = self.begin[found] + (a * self.size + b) * self.stride[found]
        place = np.where(low >= self.root, dense, np.where(self.key[found] == wanted, inner, self.total))
        return np.where((high < self.positions) & (low < self.positions), place, self.total)


def order_of(blocks: Blocks, size: int) -> tuple[list[Round], np.ndarray]:
    """Rounds, and the nodes that are left to the dense rest."""
    own, rounds = np.arange(blocks.nodes + 1), []  # which nodes those still there are
    padding = blocks.nodes
    while blocks.nodes * size > DENSE_ROWS and len(rounds) < MOST_ROUNDS:
        chosen = independent(blocks)
        if not len(chosen):
            break
        neighbors, left, kept = eliminate(blocks, chosen)
        rounds.append(Round(own[chosen], np.append(own[kept], padding)[neighbors]))
        own, blocks = own[kept], left
    return rounds, own[: blocks.nodes]


def _classes(rounds: list[Round]) -> list[list[Round]]:
    """Rounds in a row whose nodes have about as many neighbors."""
    grouped, most = [], 0
    for r in rounds:
        degree = 1 << max(len(r.neighbors) - 1, 1).bit_length()
        if degree > most:
            grouped.append([])
            most = degree
        grouped[-1].append(r)
    return grouped


def width_of(counts: list[int]) -> int:
    """The width of chunks at which rounds of so many nodes cost least."""
    cost = [sum(-(-n // w) for n in counts) * (w + CALL) for w in WIDTHS]
    return int(WIDTHS[int(np.argmin(cost))])


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


def eliminate(blocks: Blocks, chosen: np.ndarray) -> tuple[np.ndarray, Blocks, np.ndarray]:
    """Neighbors of the nodes that go, by their place after the round and padded by one past the end; the blocks that are left; the
    nodes that stay."""
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
    both = (neighbors[s] < len(kept)) & (neighbors[t] < len(kept))
    i = np.concatenate([new[blocks.high[stay]], neighbors[s][both]])
    return neighbors, Blocks.of(len(kept), i, np.concatenate([new[blocks.low[stay]], neighbors[t][both]])), kept


def _ints(x: np.ndarray) -> Array:
    return jnp.asarray(x, jnp.int32)
