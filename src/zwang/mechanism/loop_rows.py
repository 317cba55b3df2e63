"""Redundant rows of a joint that closes a loop, decided once from the axes of the loop.

A chain of hinges with parallel axes moves its last body in a plane for any angles of the hinges: of
a ball joint that closes such a loop the row across the plane is always satisfied, and of a hinge
also the two rows of its axis. Files give axes with 5 to 16 digits. Axes that are parallel up to
these digits leave a row that is neither satisfied nor independent: scaled to unit length it would
lock the linkage, and every method would have to decide about it again. Here it is decided once, by
geometry:

    1. the joints of the chain generate a group of motions, if their axes are parallel, or meet in
       a point, up to an angle;
    2. within this group the rows φ of the closing joint have the Jacobian K; rows that depend on
       each other at every closed configuration, Uᵀ K = 0, are redundant;
    3. φ ← (I − U Uᵀ) φ makes nearly dependent rows exactly dependent.

| the joints of the chain | the group |
|---|---|
| hinges or screws with one axis, slides along it | rotations about it, slides along it, or both |
| hinges with parallel axes, slides across them | motions of a plane |
| hinges or screws with parallel axes, slides | those and the slide along the axes |
| hinges with axes through one point, ball joints at it | rotations about the point |
| slides | translations |

Reference: Hervé (1978), Mech. Mach. Theory 13, 437-450 (chains and the groups of their motions).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from zwang.algebra.decomposition import Decomposition
from zwang.bodies.screws.twist import exponential
from zwang.inputs.arithmetic import on_host, xp
from zwang.inputs.arrays import host_array
from zwang.mechanism.joint_kind import JointEquations, JointKind
from zwang.mechanism.relative_pose import RelativePose

PARALLEL = 2e-5
"""Angle up to which axes count as parallel [rad]: quarter and half turns in files of five digits,
1.5708 and 3.1416, are off by 4e-6 and 7e-6, and an axis may be the product of two of them.
"""
NEARLY_PARALLEL_AXES = 2e-2
"""Angle up to which axes were most probably meant to be parallel [rad]: a linkage that such axes
lock is reported.
"""
ROUND_OFF_ANGLE = 1e-12
"""Angle that is the round-off of a product of rotations [rad] and is not reported."""
ALIGNED = 1e-3
"""Size below which entries of U are zero: a nearly redundant row is redundant. The kept rows tilt
by this angle, which changes their range by 1e-6 and leaves 1e-3 of the gap across.
"""
CENTRAL_STEP = 1e-5
"""Step of central differences on a loop of size 1, with an error of 1e-10."""
CLOSING_STEPS, CLOSED_STARTS = 30, 4
"""Newton steps to a closed configuration, and number of configurations that are examined."""
ROUNDED = "rows of loops that a linkage with exact axes meets by itself:"
"""Begin of the sentence that lists the dropped rows."""
COAXIAL = 1e-3
"""Distance up to which axes may be taken for one axis, relative to the size of a loop: an eccentric
is farther off, on purpose.
"""
CUT = 1e-3
"""Size, relative to the largest singular value of K, or to 1, below which Newton's step takes a
singular value for zero.
"""


@dataclasses.dataclass(frozen=True)
class LoopRows:
    """The rows of a closing joint that a loop needs.

    Attributes:
        keep: the projector I − U Uᵀ, shape (rows, rows).
        dropped: number of redundant rows, the rank of U.
        off: the largest deviation of an axis from the exact case [rad, or of the loop's size].
        joint: the joint with the largest deviation.
        by_places: whether the redundancy depends on positions of axes, as if they meet in a point,
            and not only on their directions.
    """

    keep: np.ndarray
    dropped: int
    off: float
    joint: str
    by_places: bool = False

    @property
    def exact(self) -> bool:
        """Return whether the rows are redundant up to round-off without a change."""
        return self.off <= ROUND_OFF_ANGLE


@dataclasses.dataclass(frozen=True)
class ClosedChain:
    """A chain of joints at coordinates zero, and the joint that closes it.

    Attributes:
        name, kind: of the closing joint.
        twists: of the joints of the chain by name, shapes (6,) or (n, 6).
        first, second: the closing joint's frames, rigid motions (4, 4).
        places: positions of the bodies of the chain, which determine its size, shape (n, 3) [m].
        options: of the closing joint, as its equations take them.
        d: 2 in the plane, 3 in space.
        first_joints: joints of the chain that carry the first frame; the others carry the second.
    """

    name: str
    kind: JointKind
    twists: Mapping[str, np.ndarray]
    first: np.ndarray
    second: np.ndarray
    places: np.ndarray
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    d: int = 3
    first_joints: frozenset[str] = frozenset()

    @property
    def equations(self) -> JointEquations | None:
        """The equations of the closing joint."""
        return self.kind.equations(self.d)


@dataclasses.dataclass(frozen=True)
class _Scaled:
    """A loop relative to the first frame's position, with lengths in units of the loop's size.

    Attributes:
        first, second: frames, as in `ClosedChain`.
        twists: of all joints of the chain, shape (n, 6).
        size: of the loop [m].
    """

    first: np.ndarray
    second: np.ndarray
    twists: np.ndarray
    size: float


@dataclasses.dataclass(frozen=True)
class _Group:
    """A group of motions by its twists, shape (k, 6), and the deviation of each twist of a chain.

    `at_one_place` says whether all its rotations are about one axis or point.
    """

    basis: np.ndarray
    off: np.ndarray
    at_one_place: bool = False


def loop_rows(loop: ClosedChain, within: float = PARALLEL) -> LoopRows | None:
    """Return the rows that a loop needs; None if it needs all.

    Args:
        loop: the loop.
        within: angle up to which axes are parallel [rad], and lengths relative to the loop's size
            are equal; 0 keeps all rows.
    """
    equations, kind = loop.equations, loop.kind
    if not within > 0 or equations is None or equations.position is None or not loop.twists:
        return None
    if kind.couples or equations.velocity is not None or (kind.options and not loop.options):
        return None
    names = [name for name, twist in loop.twists.items() for _ in np.atleast_2d(twist)]
    scaled = scaled_chain(loop)
    group = _group(scaled.twists, within)
    # Rows are independent in the group of all motions.
    if group is None or len(group.basis) == 3 * (loop.d - 1):
        return None
    with on_host():
        closed = [*_closed(loop, scaled, group.basis, within)]
    if not closed:
        return None
    gaps, slopes = zip(*closed, strict=True)
    K = np.hstack(slopes)
    U = _met(K, equations.units or ("1",), within * np.sqrt(len(closed)))
    if not U.shape[1]:
        return None
    worst = int(np.argmax(group.off))
    off = float(np.max(group.off))
    # deviation of the closing joint's own axes and positions from the group
    own = np.max(np.abs(gaps))
    joint = names[worst] if off >= own else loop.name
    keep, dropped = np.eye(len(U)) - U @ U.T, U.shape[1]
    return LoopRows(keep, dropped, float(max(off, own)), joint, group.at_one_place)


def scaled_chain(loop: ClosedChain, about: np.ndarray | None = None, size: float = 0.0) -> _Scaled:
    """Scale a loop by its size, or another one, relative to its first end or another position."""
    center = loop.first[:3, 3] if about is None else about
    twists = np.concatenate([np.atleast_2d(x) for x in loop.twists.values()])
    turning = np.any(twists[:, 3:], axis=1)
    v = twists[:, :3] + np.cross(twists[:, 3:], center)
    arms = np.linalg.norm(v[turning], axis=1)
    ends = np.linalg.norm(np.vstack([loop.second[:3, 3], loop.places]) - center, axis=1)
    size = size or max(np.max(arms, initial=0.0), np.max(ends)) or 1.0
    frames = [x.copy() for x in (loop.first, loop.second)]
    for frame in frames:
        frame[:3, 3] = (frame[:3, 3] - center) / size
    v[turning] /= size
    return _Scaled(frames[0], frames[1], np.hstack([v, twists[:, 3:]]), float(size))


def _group(twists: np.ndarray, within: float) -> _Group | None:
    """The smallest group of the table above that contains the twists."""
    v, w = twists[:, :3], twists[:, 3:]
    turns = np.any(w, axis=1)
    if not np.any(turns):
        ways = Decomposition(v, within, beside=1.0).row_space.T
        return _Group(np.pad(ways, ((0, 0), (0, 3))), np.linalg.norm(v - v @ ways.T @ ways, axis=1))
    # the common direction of all axes, up to sign
    along = Decomposition(w[turns]).right[:, 0]
    tilt = np.linalg.norm(np.cross(w, along), axis=1)
    advance = np.abs(np.where(turns, np.sum(v * w, axis=1), v @ along))
    if np.max(tilt) <= within:
        if (one := _about_one_axis(v, w, along, min(within, COAXIAL))) is not None:
            return dataclasses.replace(one, off=np.maximum(tilt, one.off))
        plane = Decomposition(along[None]).kernel.T
        flat = np.max(advance) <= within
        ways = plane if flat else np.vstack([plane, along])
        turn = np.concatenate([np.zeros(3), along])
        return _Group(
            np.vstack([np.pad(ways, ((0, 0), (0, 3))), turn]), np.maximum(tilt, flat * advance)
        )
    if not np.all(turns) or np.max(advance) > within:
        return None
    # the point nearest to all axes
    flat_to = np.eye(3) - w[:, :, None] * w[:, None, :]
    feet = np.cross(w, v)
    point = Decomposition(flat_to.sum(axis=0)).solve(np.einsum("nij,nj->i", flat_to, feet))
    off = np.linalg.norm(np.einsum("nij,nj->ni", flat_to, point - feet), axis=1)
    if np.max(off) > within:
        return None
    basis = np.hstack([-np.cross(np.eye(3), point), np.eye(3)])
    return _Group(basis, np.maximum(off, advance), at_one_place=True)


def _about_one_axis(v: np.ndarray, w: np.ndarray, along: np.ndarray, within: float):
    """The group of rotations about one axis and slides along it that contains the twists.

    Their axes are parallel; None if there are several axes, or slides across them.
    """
    turns, flat = np.any(w, axis=1), np.eye(3) - np.outer(along, along)
    feet = np.cross(w, v) @ flat
    foot = np.mean(feet[turns], axis=0)
    off = np.linalg.norm(np.where(turns[:, None], feet - foot, v @ flat), axis=1)
    if np.max(off) > within:
        return None
    pitch = np.sum(v * w, axis=1)[turns]
    mean = np.mean(pitch) if np.max(np.abs(pitch)) > within else 0.0
    turn = np.hstack([np.cross(foot, along) + mean * along, along])
    if np.all(turns) and np.max(np.abs(pitch - mean)) <= within:
        off[turns] = np.maximum(off[turns], np.abs(pitch - mean))
        return _Group(turn[None], off, at_one_place=True)
    basis = np.vstack([turn, np.hstack([along, np.zeros(3)])])
    return _Group(basis, off, at_one_place=True)


def scaled_rows(loop: ClosedChain, scaled: _Scaled) -> Callable[[np.ndarray], np.ndarray]:
    """The closing joint's rows of the second frame, with lengths in units of the loop's size.

    Those of a formula are in units of their slope.
    """
    equations = loop.equations
    assert equations is not None and equations.position is not None
    position, back = equations.position, scaled.first[:3, :3].T

    def rows(at: np.ndarray) -> np.ndarray:
        place, turn = scaled.size * (back @ (at[:3, 3] - scaled.first[:3, 3])), back @ at[:3, :3]
        if loop.d == 2:
            pose = RelativePose(host_array(place[:2]), np.arctan2(turn[1, 0], turn[0, 0]))
        else:
            pose = RelativePose(host_array(place), host_array(turn))
        return np.atleast_1d(position(pose, loop.options))

    if equations.units:
        units = np.broadcast_to(equations.units, np.shape(rows(scaled.second)))
        length = np.where(units == "m", scaled.size, 1.0)
    else:
        free = np.eye(6)[[0, 1, 5]] if loop.d == 2 else np.eye(6)
        length = np.linalg.norm(_slope(rows, scaled.second, free), axis=1)
    length = np.where(length > 0, length, 1.0)
    return lambda at: rows(at) / length


def _slope(rows: Callable, at: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Jacobian of rows along twists."""
    differences = [
        rows(exponential(x, CENTRAL_STEP) @ at) - rows(exponential(x, -CENTRAL_STEP) @ at)
        for x in basis
    ]
    return np.stack(differences, axis=1) / (2 * CENTRAL_STEP)


def _closed(
    loop: ClosedChain, scaled: _Scaled, basis: np.ndarray, within: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows and their Jacobian along a group, at configurations closed up to `within`."""
    rows = scaled_rows(loop, scaled)

    def moved(at: np.ndarray, way: np.ndarray) -> np.ndarray:
        for twist, x in zip(basis, way, strict=True):
            at = exponential(twist, x) @ at
        return at

    random = np.random.default_rng(1978)
    for start in range(CLOSED_STARTS):
        at = moved(scaled.second, start * random.standard_normal(len(basis)))
        for _ in range(CLOSING_STEPS):
            # Relative to the slope of a row that depends on the motion, as differences of rows that
            # do not are round-off.
            way = -Decomposition(_slope(rows, at, basis), CUT, least=1.0).solve(rows(at))
            at = moved(at, way / max(1.0, np.linalg.norm(way)))
            if np.linalg.norm(way) < CENTRAL_STEP**2:
                break
        if np.max(np.abs(rows(at))) <= within:
            yield rows(at), _slope(rows, at, basis)


def _met(K: np.ndarray, units: tuple[str, ...], within: float) -> np.ndarray:
    """Combinations U of rows, of one unit each, with Uᵀ K = 0 up to `within`.

    Lengths come first, and angles are combined with the lengths that are kept.
    """
    units = units * (len(K) // len(units))
    found, kept = np.zeros((len(K), 0)), np.zeros((0, K.shape[1]))
    for unit in dict.fromkeys(units):
        own = [i for i, x in enumerate(units) if x == unit]
        seen = Decomposition(kept, within).row_space
        beside = K[own] - K[own] @ seen @ seen.T
        split = Decomposition(beside, within, beside=1.0)
        U = np.zeros((len(K), len(own) - split.rank))
        U[own] = _plain(split.left_kernel)
        found = np.hstack([found, U])
        kept = np.vstack([kept, split.range.T @ K[own]])
    return found


def _plain(U: np.ndarray) -> np.ndarray:
    """A basis of the same space, along coordinate axes if possible, without small entries."""
    left, found = U @ U.T, np.zeros((len(U), 0))
    for _ in range(U.shape[1]):
        column = left[:, np.argmax(np.diag(left))]
        column = np.where(np.abs(column) > ALIGNED * np.max(np.abs(column)), column, 0.0)
        column = column - found @ (found.T @ column)
        found = np.column_stack([found, column / np.linalg.norm(column)])
        rest = np.eye(len(U)) - found @ found.T
        left = rest @ left @ rest
    return found


@dataclasses.dataclass(frozen=True)
class LoopDecisions:
    """The decisions about the loops of a linkage.

    Attributes:
        found: by name, for loops that do not need all rows of their closing joint.
        locked: loops that keep rows which would be redundant for exact axes, in words.
    """

    found: Mapping[str, LoopRows] = dataclasses.field(default_factory=dict)
    locked: tuple[str, ...] = ()

    @property
    def keep(self) -> dict[str, np.ndarray]:
        """The projectors onto the rows that are kept, by name."""
        return {name: x.keep for name, x in self.found.items()}

    @property
    def inexact(self) -> LoopDecisions:
        """The decisions for loops with deviations above round-off."""
        found = {name: x for name, x in self.found.items() if not x.exact}
        return dataclasses.replace(self, found=found)

    @property
    def whole(self) -> LoopDecisions:
        """The decisions with all rows kept for loops with exact axes; other axes may follow."""
        whole = lambda x: dataclasses.replace(x, keep=np.eye(len(x.keep)), dropped=0)
        found = {name: whole(x) if x.exact else x for name, x in self.found.items()}
        return dataclasses.replace(self, found=found)

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentence that lists rows dropped with deviations above round-off, if any."""
        listed = [
            f"{name} ({x.dropped} row{'s' if x.dropped > 1 else ''}; {_off(x)})"
            for name, x in self.inexact.found.items()
        ]
        return (f"{ROUNDED} {'; '.join(listed)}",) if listed else ()


def decided(chains: Iterable[ClosedChain], within: float) -> LoopDecisions:
    """`loop_rows` of every loop, and the loops that a larger angle would unlock."""
    found, locked = {}, []
    for chain in chains:
        if (rows := loop_rows(chain, within)) is not None:
            found[chain.name] = rows
        nearly = loop_rows(chain, NEARLY_PARALLEL_AXES) if within > 0 else None
        if nearly is not None and nearly.dropped > (0 if rows is None else rows.dropped):
            locked.append(
                f"loop {chain.name}: {_off(nearly)} make rows hard that the linkage would meet by "
                f"itself with exact axes, and most probably lock it; give exact axes, or "
                f"parallel = {allowing(nearly.off)}"
            )
    return LoopDecisions(found, tuple(locked))


def projectors(names: Sequence[str], keep: Mapping[str, np.ndarray]) -> np.ndarray:
    """The projectors of joints of one kind, the identity if all rows are kept."""
    (size,) = {len(x) for name, x in keep.items() if name in names}
    return np.array([keep.get(name, np.eye(size)) for name in names])


def projected_rows(keep, rows):
    """The rows of several joints after projection onto the kept ones, shape (n, rows)."""
    return xp.einsum("nij,nj->ni", keep, xp.reshape(rows, (len(keep), -1)))


def _off(found: LoopRows) -> str:
    return f"axes off by {found.off:.1e} rad at {found.joint}"


def allowing(off: float) -> str:
    """An angle with one digit that is at least another one."""
    digit = 10.0 ** np.floor(np.log10(off))
    return f"{np.ceil(1.1 * off / digit) * digit:.0e}"
