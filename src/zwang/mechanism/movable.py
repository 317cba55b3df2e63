"""Loops that move only with exact data: the least change of positions and axes after which they do.

Two parallel rods and a third one, Bennett's linkage, hinges in a plane: such loops have rows that
are dependent all along their motion, owing to special lengths and angles. Rounded data in a file
leave singular values of K = ∂φ/∂q, between 1e-12 and 1e-3, that are neither zero nor independent
rows, and lock the motion. The exact data are determined from all loops that share joints:

    1. qₖ: configurations along the motion that remains if these singular values count as zero
    2. small motions ξ of points and axes, with  φ(qₖ, ξ) = 0  for all of them, the least Σ |ξ|²

by Gauss-Newton. With U the left null space of K at a configuration and D = ∂φ/∂ξ, its steps are

    ξ ← E⁺ [Uᵀ (D ξ − φ)],  E = [Uᵀ D],    q ← q − K⁺ (φ + D Δξ)

E has dependent rows of its own, up to the deviation of the linkage: smaller singular values count
as zero. The change is accepted if residuals are round-off, also at configurations in between.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.bodies.screws.twist import adjoint, exponential, inverse
from zwang.inputs.arithmetic import on_host
from zwang.mechanism.loop_rows import NEARLY_PARALLEL_AXES, ClosedChain, scaled_chain, scaled_rows

ROUND_OFF_SLOPE = 1e-11
"""Singular values of K up to this are zero: differences have an error of some 1e-12."""
REACHES = (0.4, -0.4, 1.0, -1.0, 1.7, -1.7)
"""Distances along its motion at which a linkage is examined [rad, sizes], checked in between."""
PACE = 0.35
"""Longest step along a motion, which stays on the branch of a linkage [rad, sizes]."""
CONDITIONS = 30.0
"""Factor on the deviation of the linkage that gives the size, relative to the largest, below which
singular values of E belong to dependent conditions on data."""
LEAST_CONDITION = 1e-10
"""Lower limit, below which a condition would be one of round-off."""
CHANGES, CORRECTIONS = 15, 12
"""Gauss-Newton steps for data, and Newton steps for a configuration."""
MET = 3e-13
"""Residual of a loop of size 1 that is round-off, with some ten rotations in a row."""
STENCIL = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
"""Central difference of sixth order."""

NOTHING: Mapping[str, np.ndarray] = {}

Slot = tuple[str, str]
"""Place of a small motion: ("before", joint) or ("after", joint), from there on outward, or
("first", loop) and ("second", loop), the ends of a closing joint.
"""


@dataclasses.dataclass(frozen=True)
class Handle:
    """Data that may move as a whole: an axis, or a point of a body.

    Attributes:
        name: of the data.
        place: its position at coordinates zero [m], shape (3,).
        slots: the places of its motion, each with a sign.
    """

    name: str
    place: np.ndarray
    slots: Mapping[Slot, float]


class Look(NamedTuple):
    """A linkage at a configuration: residual, Jacobian, and rows by small motions, (rows, 6)."""

    phi: np.ndarray
    K: np.ndarray
    slots: dict[Slot, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Linkage:
    """Loops that share joints, with lengths in units of their size.

    Attributes:
        chains: the loops.
        center, size: of all of them [m].
    """

    chains: tuple[ClosedChain, ...]
    center: np.ndarray
    size: float

    @cached_property
    def names(self) -> list[tuple[str, int]]:
        """The coordinates: a joint's name and the number of its twist."""
        made = [
            (name, i)
            for c in self.chains
            for name, twist in c.twists.items()
            for i in range(len(np.atleast_2d(twist)))
        ]
        return list(dict.fromkeys(made))

    @cached_property
    def _scaled(self) -> list[tuple]:
        """For each loop its frames, its rows, and twists by joint."""
        made = []
        for c in self.chains:
            scaled = scaled_chain(c, self.center, self.size)
            counts = [len(np.atleast_2d(x)) for x in c.twists.values()]
            split = np.split(scaled.twists, np.cumsum(counts)[:-1])
            made.append((scaled, scaled_rows(c, scaled), dict(zip(c.twists, split, strict=True))))
        return made

    @cached_property
    def _starts(self) -> np.ndarray:
        """First row of each loop except the first loop."""
        return np.cumsum([len(rows(x.second)) for x, rows, _ in self._scaled])[:-1]

    @property
    def ways(self) -> list[int]:
        """Entries of twists along which a loop may be moved, in the plane three."""
        return [0, 1, 5] if self.chains[0].d == 2 else [*range(6)]

    def look(self, q: np.ndarray, *, precise: bool = True) -> Look:
        """Residual and its derivatives, with lengths in units of the size.

        They are differences with an error of 1e-12, or of 1e-10 while a configuration is being
        searched for.
        """
        at = {name: i for i, name in enumerate(self.names)}
        phis, slopes, slots = [], [], []
        for chain, (scaled, rows, twists) in zip(self.chains, self._scaled, strict=True):
            ends: list[Any] = []
            columns: list[tuple[Any, float, Any]] = []
            for side, home in (("first", scaled.first), ("second", scaled.second)):
                g = np.eye(4)
                carried = np.eye(6)  # Ad_g
                sign = 1.0 if side == "second" else -1.0
                for name, twist in twists.items():
                    if (name in chain.first_joints) != (side == "first"):
                        continue
                    columns.append((("before", name), sign, carried))
                    for i, x in enumerate(twist):
                        columns.append((at[name, i], sign, carried @ x))
                        g = g @ exponential(x, q[at[name, i]])
                        carried = adjoint(g)
                    columns.append((("after", name), sign, carried))
                columns.append(((side, chain.name), sign, carried))
                ends.append(g @ home)
            back = scaled.first @ inverse(ends[0])
            pose = back @ ends[1]
            phi = rows(pose)
            S = np.zeros((len(phi), 6))
            for column, step in enumerate(_differences(precise)):
                if column in self.ways:
                    S[:, column] = sum(w * (rows(g @ pose) - rows(h @ pose)) for w, g, h in step)
            S = S @ adjoint(back)
            K, by = np.zeros((len(phi), len(self.names))), {}
            for key, sign, column in columns:
                if isinstance(key, tuple):
                    by[key] = sign * S @ column
                else:
                    K[:, key] += sign * S @ column
            phis.append(phi)
            slopes.append(K)
            slots.append(by)
        sizes = [len(x) for x in phis]
        found = {key: np.zeros((sum(sizes), 6)) for by in slots for key in by}
        for start, by in zip(np.cumsum([0, *sizes]), slots, strict=False):
            for key, x in by.items():
                found[key][start : start + len(x)] = x
        return Look(np.concatenate(phis), np.vstack(slopes), found)

    def kept(self, here: Look, keep: Mapping[str, np.ndarray]) -> tuple[float, np.ndarray]:
        """Largest residual of the kept rows, and their singular values in descending order."""
        rows = np.split(np.column_stack([here.phi, here.K]), self._starts)
        parts = zip(self.chains, rows, strict=True)
        found = np.vstack([keep[c.name] @ x if c.name in keep else x for c, x in parts])
        return float(np.abs(found[:, 0]).max()), Decomposition(found[:, 1:]).singular_values

    def closed(self, q: np.ndarray, within: float) -> tuple[np.ndarray, Look]:
        """The nearest configuration that is closed except for singular values up to `within`."""
        for _ in range(CORRECTIONS):
            here = self.look(q, precise=False)
            way = -_inverse(here.K, within) @ here.phi
            q = q + way / max(1.0, float(np.linalg.norm(way)) / PACE)
            if np.linalg.norm(way) < MET:
                break
        return q, self.look(q)

    def along(self, q: np.ndarray, reach: float, within: float, way: np.ndarray) -> np.ndarray:
        """The configuration at a distance along the remaining motion, begun in a direction."""
        for _ in range(int(np.ceil(abs(reach) / PACE))):
            here = self.look(q, precise=False)
            free = Decomposition(here.K, within, beside=1.0).kernel
            way = free @ (free.T @ way)
            way = way / max(float(np.linalg.norm(way)), 1e-9)
            step = abs(reach) / np.ceil(abs(reach) / PACE)
            q, _ = self.closed(q + np.sign(reach) * step * way, within)
        return q


def groups(chains: Sequence[ClosedChain]) -> Iterator[list[ClosedChain]]:
    """Groups of loops that share joints."""
    rest = [c for c in chains if c.equations is not None and c.equations.position is not None]
    while rest:
        group, joints = [rest.pop(0)], set()
        while group and (more := set().union(*(c.twists for c in group))) != joints:
            joints = more
            group += [c for c in rest if joints & set(c.twists)]
            rest = [c for c in rest if not joints & set(c.twists)]
        yield group


def linkage(chains: Sequence[ClosedChain]) -> Linkage:
    """Scale loops by the largest of their sizes."""
    scaled = [scaled_chain(c) for c in chains]
    return Linkage(tuple(chains), chains[0].first[:3, 3], max(x.size for x in scaled))


def _small(twist: np.ndarray) -> np.ndarray:
    """The rigid motion of a rotation about the origin followed by a shift."""
    # Importing it takes 0.15 s, and most mechanisms move without a change of data.
    from scipy.spatial.transform import Rotation

    g = np.eye(4)
    g[:3, :3], g[:3, 3] = Rotation.from_rotvec(twist[3:]).as_matrix(), twist[:3]
    return g


@cache
def _differences(precise: bool) -> list[list[tuple]]:
    """Weights of a central difference and its motions, for each entry of a twist.

    It is of sixth order, with an error of 1e-12, or of second order, 1e-10.
    """
    step, weights = (3e-3, STENCIL) if precise else (1e-5, {1: 0.5})
    return [
        [(w / step, _small(k * step * x), _small(-k * step * x)) for k, w in weights.items()]
        for x in np.eye(6)
    ]


def moved_by(change: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The rigid motion of a rotation about a point and a shift, shape (4, 4)."""
    g = _small(change)
    g[:3, 3] += place - g[:3, :3] @ place
    return g


def _inverse(K: np.ndarray, within: float) -> np.ndarray:
    """K⁺ without singular values up to `within`."""
    return Decomposition(K, within, beside=1.0).inverse


@dataclasses.dataclass(frozen=True)
class Stiffened:
    """A linkage that is locked by the rounding of its data.

    Attributes:
        linkage: the linkage.
        rank: of K where it moves.
        rows: additional rank of K along the motion.
        off: the largest singular value that should be zero.
        at: configurations along the motion.
        between: configurations in between, without conditions.
    """

    linkage: Linkage
    rank: int
    rows: int
    off: float
    at: tuple[np.ndarray, ...]
    between: tuple[np.ndarray, ...]


def stiffened(
    made: Linkage,
    start: np.ndarray,
    within: float,
    kept_rows: Callable[[], Mapping[str, np.ndarray]] = dict,
) -> Stiffened | None:
    """A linkage that would move if singular values up to `within` were zero.

    None for one that moves, or that would not move even then.

    Args:
        made: the linkage.
        start: a configuration near a closed one.
        within: the largest singular value that may have been meant to be zero.
        kept_rows: projectors onto the rows of loops that are kept anyway, called only if all rows
            leave something to decide.
    """
    stiff = lambda gap, s: gap > MET or bool(np.any((s > ROUND_OFF_SLOPE) & (s <= within)))
    with on_host():
        q, here = made.closed(start, within)
        gap, s = made.kept(here, NOTHING)
        if gap <= MET and s[-1] > within:
            return None
        random = np.random.default_rng(1903)
        several = here.K.shape[1] - int(np.sum(s > within)) > 1
        first = random.standard_normal(len(q))
        at = [made.along(q, REACHES[0], within, first)]
        # At the start alone a linkage may happen to move, as one whose rods are perpendicular.
        begun = [here, made.look(at[0])]
        if not any(stiff(*made.kept(x, NOTHING)) for x in begun):
            return None
        keep = kept_rows()
        if not any(stiff(*made.kept(x, keep)) for x in begun) or made.kept(here, keep)[0] > within:
            return None
        for reach in REACHES[1:]:
            # With several motions each configuration is along another one.
            way = random.standard_normal(len(q)) if several else first
            at.append(made.along(q, reach, within, way))
        between = [made.closed(q + 0.6 * (x - q), within)[0] for x in at]
        looks = [made.kept(made.look(x), keep) for x in at]
    kept = [i for i, (gap, _) in enumerate(looks) if gap <= within]
    if len(kept) < len(REACHES) // 2 or not any(stiff(*looks[i]) for i in kept):
        return None
    rank = max(int(np.sum(looks[i][1] > within)) for i in kept)
    rows = max(int(np.sum(looks[i][1] > ROUND_OFF_SLOPE)) for i in kept) - rank
    off = max(np.max(looks[i][1][rank:], initial=looks[i][0]) for i in kept)
    chosen = lambda x: tuple(x[i] for i in kept)
    return Stiffened(made, rank, max(rows, 1), float(off), chosen(at), chosen(between))


def least_change(
    found: Stiffened,
    handles: Sequence[Handle],
    changed: Callable[[np.ndarray], Sequence[ClosedChain]],
) -> np.ndarray | None:
    """The least motions of data with which a linkage moves, shape (handles, 6).

    Each is a shift in units of the linkage's size, and a rotation [rad] about its position; None if
    there are none nearby.

    Args:
        found: the linkage.
        handles: data that may move.
        changed: motions of the handles → the loops after them.
    """
    with on_host():
        x = _changed_by(found, handles, changed)
    return None if x is None else x.reshape(-1, 6)


class ExactData(NamedTuple):
    """The least change of data with which loops move.

    Attributes:
        rows: number of rows of K that are then dependent.
        change: motions of the handles, shape (handles, 6).
    """

    rows: int
    change: np.ndarray

    @property
    def off(self) -> float:
        """The largest change [rad, or of the loops' size]."""
        return float(np.abs(self.change).max())


def exact_data(
    group: Sequence[ClosedChain],
    starts: Sequence[np.ndarray],
    within: float,
    handles: Sequence[Handle],
    changed: Callable[[np.ndarray], Sequence[ClosedChain]],
    kept_rows: Callable[[float], Mapping[str, np.ndarray]] = lambda angle: NOTHING,
) -> ExactData | None:
    """The least change of data with which loops that share joints move.

    It is searched within the allowed angle and then within the largest plausible one; None for
    loops that move, or that move with no nearby data.

    Args:
        group: the loops.
        starts: configurations to begin from.
        within: the allowed angle [rad].
        handles: data that may move.
        changed: motions of the handles → the loops after them.
        kept_rows: angle → projectors onto the rows of loops that are kept anyway.
    """
    for angle, start in itertools.product(
        (within, NEARLY_PARALLEL_AXES), starts if handles else ()
    ):
        found = stiffened(linkage(group), start, angle, partial(kept_rows, angle))
        change = None if found is None else least_change(found, handles, changed)
        if found is not None and change is not None:
            return ExactData(found.rows, change)
    return None


def _changed_by(found: Stiffened, handles, changed) -> np.ndarray | None:
    made, rank = found.linkage, found.rank
    places = [(h.place - made.center) / made.size for h in handles]
    arms = [adjoint(_small(np.hstack([x, np.zeros(3)]))) for x in places]
    free = np.zeros(6)
    free[made.ways] = 1.0

    def data(here: Look) -> np.ndarray:
        parts = []
        for h, arm in zip(handles, arms, strict=True):
            none = np.zeros((len(here.phi), 6))
            parts.append(sum((w * here.slots.get(k, none) for k, w in h.slots.items()), none) @ arm)
        return np.hstack(parts) * np.tile(free, len(handles))

    x, at = np.zeros(6 * len(handles)), [*found.at]
    looks = [made.look(q) for q in at]
    for _ in range(CHANGES):
        E, rest, steps, off = [], [], [], 0.0
        for here in looks:
            split = Decomposition(here.K)
            U, s, V = split.left, split.singular_values, split.right.T
            D, left = data(here), U[:, rank:].T
            off = max(off, float(np.abs(here.phi).max()), *s[rank:])
            E.append(left @ D)
            rest.append(left @ (D @ x - here.phi))
            steps.append((here.phi, D, (V[:rank].T / s[:rank]) @ U[:, :rank].T))
        least = min(max(CONDITIONS * off, LEAST_CONDITION), 0.1)
        new = Decomposition(np.vstack(E), least).solve(np.concatenate(rest))
        if not np.linalg.norm(new, np.inf) < 0.1:
            return None
        at = [q - back @ (phi + D @ (new - x)) for q, (phi, D, back) in zip(at, steps, strict=True)]
        done = np.abs(new - x).max() < 1e-14 + 1e-9 * np.abs(new).max()
        x = new
        made = dataclasses.replace(made, chains=tuple(changed(x.reshape(-1, 6))))
        looks = [made.look(q) for q in at]
        if done or max(np.abs(here.phi).max() for here in looks) < MET:
            break
    cut = max(0.3 * found.off, 1e-9)
    closed = [made.kept(made.closed(q, cut)[1], NOTHING) for q in (*at, *found.between)]
    exact = all(gap < 3 * MET and not np.any(s[rank:] > ROUND_OFF_SLOPE) for gap, s in closed)
    return x if exact else None
