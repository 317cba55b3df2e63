"""Order of elimination of a sparse symmetric matrix, determined once on the host, as index tables.

Rounds (`order.py`) are cut into chunks of one width, so that the compiled program is one loop over
chunks, however many rounds there are. Nodes with many neighbors are eliminated late; separate
classes of chunks for each power of two of the number of neighbors keep padding small.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from zwang.algebra.elimination.gather import padded, scattered, taken
from zwang.algebra.elimination.matrix import Layout
from zwang.algebra.elimination.order import Blocks, Round, group_rows, order_of
from zwang.objects.record import Record, field


class Class(Record):
    """Chunks of one shape, which are eliminated one after the other.

    Attributes:
        neighbors: for each node, its neighbors by position, padded by one past the end.
        update: places in S of the update of each pair of neighbors (the later one first), padded by
            one past the end.
        start: position of the first node; chunks are contiguous.
        offset: place of the first chunk in S; a chunk holds, for each node, its own block and those
            of its neighbors below it.
    """

    neighbors: Int[Array, "chunks degree width"]
    update: Int[Array, "chunks size size pairs width"]
    start: int = field(static=True)
    offset: int = field(static=True)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Chunks, neighbors of a node, nodes of a chunk."""
        chunks, degree, width = self.neighbors.shape
        return chunks, degree, width


class Elimination(Record):
    """Complete elimination. Positions number the nodes in the order of elimination, chunk by chunk
    with padding, those of the dense rest last. S is one flat array of all blocks including fill-in.

    All vectors are in the order of elimination: a flat array (row in node, position) with one
    additional position for padding. Places of padding have a 1 on the diagonal of S.

    Attributes:
        classes: in order.
        place: of each row in that order.
        padding: mask of the places without a row.
        diagonal: for each place, except those of the last position, the place of its diagonal entry
            in S.
        outer: places in S of the other entries of the matrix, those below the diagonal in that
            order.
        size, positions, rest: rows of a node, number of positions, and number of positions in the
            dense rest.
        places: size of S.
        rounds: number of rounds.
    """

    classes: tuple[Class, ...]
    place: Int[Array, " m"]
    padding: Bool[Array, " places"]
    diagonal: Int[Array, " rows"]
    outer: Int[Array, " entries"]
    size: int = field(static=True)
    positions: int = field(static=True)
    rest: int = field(static=True)
    places: int = field(static=True)
    rounds: int = field(static=True)

    def multiplications(self) -> float:
        """Multiplications of one factorization."""
        nodes = sum(
            chunks * width * (1 + d) * (2 + d) / 2
            for chunks, d, width in (c.shape for c in self.classes)
        )
        return nodes * self.size**3 + (self.rest * self.size) ** 3 / 3

    def ordered(self, x: Float[Array, " m"], fill=0.0) -> Float[Array, " places"]:
        """Return a vector in the order of elimination."""
        return scattered(x, self.place, len(self.padding), fill)

    def given(self, x: Float[Array, " places"]) -> Float[Array, " m"]:
        """Return a vector in the original order."""
        return taken(x, self.place)


class Plan(Record):
    """Plan of the summation and elimination of `C Cᵀ`.

    Attributes:
        elimination: the order.
        layout: of C with rows in the order of elimination; places of padding hold zeros.
        first, second: for each entry below the diagonal, the entries of C whose products it sums;
            shorter lists are padded.
    """

    elimination: Elimination
    layout: Layout
    first: Int[Array, "terms entries"]
    second: Int[Array, "terms entries"]

    def multiplications(self) -> float:
        """Multiplications of one factorization."""
        return self.first.size + self.elimination.multiplications()


class Ordered(NamedTuple):
    """Elimination, the given pairs that are below the diagonal in its order, and the entry of each
    of them.
    """

    elimination: Elimination
    later: np.ndarray
    entry: np.ndarray


def plan(
    row: np.ndarray, block: np.ndarray, color: np.ndarray, shape: tuple[int, int], size: int
) -> Plan:
    """Plan for `C Cᵀ` of a matrix C; arguments as those of `Layout`."""
    i, j, a, b = pairs(row, block)
    order, later, entry = eliminated(i, j, shape[0])
    place, slots = np.asarray(order.place), len(order.padding)
    slot = color[block] * slots + place[row]
    first, second = (padded(entry, slot[x[later]], len(order.outer), slots - 1) for x in (a, b))
    layout = Layout(place[row], block, color, (slots, shape[1]), size, spare=True)
    return Plan(order, layout, _ints(first), _ints(second))


def eliminated(
    i: np.ndarray, j: np.ndarray, m: int, alike: tuple[np.ndarray, np.ndarray] | None = None
) -> Ordered:
    """Plan the elimination of a symmetric matrix (m × m) with entries (i, j), listed in both
    orders, and the diagonal.

    Rows with the same neighbors form a node. Neighbors are those of the pattern `alike`, listed
    like (i, j), if it is given.
    """
    node, within, size = group_rows(*((i, j) if alike is None else alike), m)
    nodes = int(node.max(initial=-1)) + 1
    # Of few rows an iteration is a few short loops in native code, and the rest is factored without
    # LAPACK; of many rows it is thirty operations of 1 µs, and a node takes 0.3 µs.
    turn, tried, dense = (10, range(2, 9), 24) if m <= 512 else (100, range(3, 12), 64)
    rounds, rest = order_of(Blocks.of(nodes, node[i], node[j]), size, dense)
    grouped = _classes(rounds)
    widths = [_width(group, turn, [2**k for k in tried]) for group in grouped]

    position, starts, at = np.full(nodes + 1, -1), [], 0
    for group, width in zip(grouped, widths, strict=True):
        starts.append(at)
        for r in group:
            position[r.nodes] = at + np.arange(len(r.nodes))
            # each round ends on a full chunk: its nodes must not be eliminated together with those
            # of the next one, which depend on them
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
        # in ascending position, so that the pairs of the update below come out as (later, earlier)
        neighbors = np.sort(neighbors, axis=0)  # padding last
        tables.append((neighbors.reshape(degree, count, width).transpose(1, 0, 2), start, offset))
        chunk, lane = np.divmod(np.arange(count * width), width)
        # blocks of a chunk are interleaved: one read takes the same entry of all its nodes
        own = offset + chunk * (1 + degree) * size**2 * width + lane
        at = start + np.arange(count * width)
        known.append((at, at, own, np.full(len(at), width)))
        for k in range(degree):
            known.append(
                (neighbors[k], at, own + (1 + k) * size**2 * width, np.full(len(at), width))
            )
        offset += count * (1 + degree) * size**2 * width
    places = _Places(known, root, positions, size, offset)

    # the inverse of `place`, to find the places that no row has
    row_of = np.full((size, positions + 1), -1)
    row_of[within, position[node]] = np.arange(m)
    place = within * (positions + 1) + position[node]
    w, p = np.indices((size, positions))
    diagonal = places(p, p, w, w).ravel()

    same = node[i] == node[j]
    later = (position[node[i]] > position[node[j]]) | (same & (within[i] > within[j]))
    outer, entry = np.unique(
        places(position[node[i]], position[node[j]], within[i], within[j])[later],
        return_inverse=True,
    )

    classes = []
    for neighbors, start, begin in tables:
        s, t = np.tril_indices(neighbors.shape[1])  # pairs of neighbors, the later one first
        c, d = np.indices((size, size))[:, None, :, :, None, None]
        update = places(neighbors[:, None, None, s], neighbors[:, None, None, t], c, d)
        classes.append(Class(_ints(neighbors), _ints(update), start, begin))
    order = Elimination(
        tuple(classes),
        _ints(place),
        jnp.asarray(row_of.ravel() < 0),
        _ints(diagonal),
        _ints(outer),
        size,
        positions,
        len(rest),
        places.total,
        len(rounds),
    )
    return Ordered(order, later, entry)


class _Places:
    """Places in S of entries (row in node, row in node) of blocks (later position, earlier
    position).

    Args:
        known: blocks by later and earlier position, place of their first entry and distance of
            their entries.
        root, positions: first position of the dense rest, and their number.
        offset: where the dense rest begins, an array (position, row in node, position, row in
            node).
    """

    def __init__(self, known, root: int, positions: int, size: int, offset: int):
        high, low, self.begin, self.stride = (
            (np.concatenate(x) for x in zip(*known, strict=True))
            if known
            else [np.zeros(0, int)] * 4
        )
        self.root, self.positions, self.size, self.offset = root, positions, size, offset
        self.side = (positions - root) * size
        self.total = offset + self.side**2
        # one sorted key per block makes the look-up of millions of entries a binary search
        key = high * np.int64(positions + 1) + low
        order = np.argsort(key, kind="stable")
        self.key, self.begin, self.stride = key[order], self.begin[order], self.stride[order]

    def __call__(self, high, low, a, b) -> np.ndarray:
        """Places; one past the end where a position is padding."""
        high, low, a, b = np.broadcast_arrays(high, low, a, b)
        dense = (
            self.offset
            + ((high - self.root) * self.size + a) * self.side
            + (low - self.root) * self.size
            + b
        )
        if not len(self.key):
            return np.where((high < self.positions) & (low < self.positions), dense, self.total)
        wanted = high * np.int64(self.positions + 1) + low
        found = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        inner = self.begin[found] + (a * self.size + b) * self.stride[found]
        place = np.where(
            low >= self.root, dense, np.where(self.key[found] == wanted, inner, self.total)
        )
        return np.where((high < self.positions) & (low < self.positions), place, self.total)


def _classes(rounds: list[Round]) -> list[list[Round]]:
    """Return groups of consecutive rounds whose nodes have about as many neighbors."""
    grouped, most = [], 0
    for r in rounds:
        degree = 1 << max(len(r.neighbors) - 1, 1).bit_length()
        if degree > most:
            grouped.append([])
            most = degree
        grouped[-1].append(r)
    return grouped


def _width(group: list[Round], turn: int, widths: list[int]) -> int:
    """Return the width of chunks at which a group of rounds costs least.

    Args:
        turn: overhead of one iteration of the loop over chunks, in units of the cost of a node.
        widths: that are tried, limited by the size of the cache.
    """
    return min(widths, key=lambda w: sum(-(-len(r.nodes) // w) for r in group) * (w + turn))


def pairs(row: np.ndarray, block: np.ndarray):
    """Return rows i, j and entries a, b of all pairs of entries in one block of columns, in both
    orders and each with itself.
    """
    order = np.argsort(block, kind="stable")
    count = np.bincount(block)
    start = np.repeat(np.cumsum(count) - count, count)
    repeat = np.repeat(count, count)
    first = np.repeat(np.arange(len(row)), repeat)
    second = (
        np.arange(len(first))
        - np.repeat(np.cumsum(repeat) - repeat, repeat)
        + np.repeat(start, repeat)
    )
    a, b = order[first], order[second]
    return row[a], row[b], a, b


def _ints(x: np.ndarray) -> Array:
    return jnp.asarray(x, jnp.int32)
