"""Rows of a joint that closes a loop which the linkage meets by itself, decided once from its axes.

A chain of hinges with parallel axes moves its last body in a plane, whatever the hinges do: of a
ball joint that closes such a loop the row across the plane is always met, and of a hinge also the
two rows of its axis. Files give axes to 5 to 16 digits. Axes that are parallel up to these digits
leave a row that is neither there nor none: brought to unit length it would lock the linkage, and
every method would have to decide about it anew. Here it is decided once, by geometry:

    1. the joints of the chain generate a group of motions, if their axes are parallel, or meet in
       a point, up to an angle;
    2. within this group the rows φ of the closing joint have the Jacobian K; rows that depend on
       each other at every closed configuration, Uᵀ K = 0, say nothing;
    3. φ ← (I − U Uᵀ) φ, which makes rows that hardly depend on each other depend exactly.

| the joints of the chain | the group |
|---|---|
| hinges or screws with one axis, slides along it | turns about the axis, slides along it, or both |
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
1.5708 and 3.1416, are off by 4e-6 and 7e-6, and an axis may come by two of them."""
NEARLY_PARALLEL_AXES = 2e-2
"""Axes within this angle [rad] were most probably meant to be parallel: a linkage that they lock is
named."""
ROUND_OFF_ANGLE = 1e-12
"""Angle [rad] that is the round-off of a product of rotations and is not worth a word."""
ALIGNED = 1e-3
"""Entries of U below this are zero: a row that is all but met is met. What is kept tilts by this
angle, which changes its range by 1e-6 and leaves 1e-3 of the gap across."""
CENTRAL_STEP = 1e-5
"""Step of central differences on a loop of size 1, which leave 1e-10."""
CLOSING_STEPS, CLOSED_STARTS = 30, 4
"""Newton steps to a closed configuration, and how many of these are looked at."""
ROUNDED = "rows of loops that a linkage with exact axes meets by itself:"
"""Beginning of the sentence that lists them."""
COAXIAL = 1e-3
"""Distance up to which axes may be taken for one axis, beside the size of a loop: an eccentric is
farther off, and was meant to be."""
CUT = 1e-3
"""Part of the largest singular value of K, or of 1, below which Newton's step takes one for zero.
"""


@dataclasses.dataclass(frozen=True)
class LoopRows:
    """What of a closing joint's rows a loop needs.

    Attributes:
        keep: the projector I − U Uᵀ, shape (rows, rows).
        dropped: how many rows are met by themselves, the rank of U.
        off: the largest angle by which an axis misses what makes them so [rad, or of the loop's
            size].
        joint: the joint that is off most.
        by_places: whether places of axes make it so, as where they meet in a point, beside their
            directions.
    """

    keep: np.ndarray
    dropped: int
    off: float
    joint: str
    by_places: bool = False

    @property
    def exact(self) -> bool:
        """Whether the rows are met up to round-off, as they stand."""
        return self.off <= ROUND_OFF_ANGLE


@dataclasses.dataclass(frozen=True)
class ClosedChain:
    """A chain of joints and the joint that closes it, where the coordinates of the chain are zero.

    Attributes:
        name, kind: of the closing joint.
        twists: of the joints of the chain by name, shapes (6,) or (n, 6).
        first, second: the closing joint's frames, rigid motions (4, 4).
        places: where the bodies of the chain are, which say how large it is, shape (n, 3) [m].
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
        """Those of the closing joint."""
        return self.kind.equations(self.d)


@dataclasses.dataclass(frozen=True)
class _Scaled:
    """A loop about the first frame's place, lengths in units of the loop's size.

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
    """A group of motions by its twists, shape (k, 6), and how far each twist of a chain is off;
    `at_one_place` where all turns of it are about one axis or point.
    """

    basis: np.ndarray
    off: np.ndarray
    at_one_place: bool = False


def loop_rows(loop: ClosedChain, within: float = PARALLEL) -> LoopRows | None:
    """The rows that a loop needs; None if it needs all.

    Args:
        loop: the loop.
        within: angle up to which axes are parallel [rad], lengths relative to the loop's size
            equal; 0 takes all rows as they are.
    """
    equations, kind = loop.equations, loop.kind
    if not within > 0 or equations is None or equations.position is None or not loop.twists:
        return None
    if kind.couples or equations.velocity is not None or (kind.options and not loop.options):
        return None
    names = [name for name, twist in loop.twists.items() for _ in np.atleast_2d(twist)]
    scaled = scaled_chain(loop)
    group = _group(scaled.twists, within)
    if group is None or len(group.basis) == 3 * (loop.d - 1):  # rows are independent in all motions
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
    # the closing joint's own axes and places beside the group
    own = np.max(np.abs(gaps))
    joint = names[worst] if off >= own else loop.name
    keep, dropped = np.eye(len(U)) - U @ U.T, U.shape[1]
    return LoopRows(keep, dropped, float(max(off, own)), joint, group.at_one_place)


def scaled_chain(loop: ClosedChain, about: np.ndarray | None = None, size: float = 0.0) -> _Scaled:
    """A loop in units of its size, or of another one, about its first end or another place."""
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
    """The smallest group of the table above that has the twists."""
    v, w = twists[:, :3], twists[:, 3:]
    turns = np.any(w, axis=1)
    if not np.any(turns):
        ways = Decomposition(v, within, beside=1.0).row_space.T
        return _Group(np.pad(ways, ((0, 0), (0, 3))), np.linalg.norm(v - v @ ways.T @ ways, axis=1))
    # the direction that all axes have, up to their sign
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
    # the point that is nearest to all axes
    flat_to = np.eye(3) - w[:, :, None] * w[:, None, :]
    feet = np.cross(w, v)
    point = Decomposition(flat_to.sum(axis=0)).solve(np.einsum("nij,nj->i", flat_to, feet))
    off = np.linalg.norm(np.einsum("nij,nj->ni", flat_to, point - feet), axis=1)
    if np.max(off) > within:
        return None
    basis = np.hstack([-np.cross(np.eye(3), point), np.eye(3)])
    return _Group(basis, np.maximum(off, advance), at_one_place=True)


def _about_one_axis(v: np.ndarray, w: np.ndarray, along: np.ndarray, within: float):
    """The group of turns about one axis and slides along it that has the twists, whose axes are
    parallel; None if there are several axes, or slides across them.
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
    """The closing joint's rows of the second frame, lengths in units of the loop's size; those of a
    formula in units of their slope.
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
    """Rows and their Jacobian along a group, at configurations of it in which the joint is closed
    up to `within`.
    """
    rows = scaled_rows(loop, scaled)

    def moved(at: np.ndarray, way: np.ndarray) -> np.ndarray:
        for twist, x in zip(basis, way, strict=True):
            at = exponential(twist, x) @ at
        return at

    random = np.random.default_rng(1978)
    for start in range(CLOSED_STARTS):
        at = moved(scaled.second, start * random.standard_normal(len(basis)))
        for _ in range(CLOSING_STEPS):
            # beside the slope of a row that a motion changes, as the differences of rows that none
            # does are round-off
            way = -Decomposition(_slope(rows, at, basis), CUT, least=1.0).solve(rows(at))
            at = moved(at, way / max(1.0, np.linalg.norm(way)))
            if np.linalg.norm(way) < CENTRAL_STEP**2:
                break
        if np.max(np.abs(rows(at))) <= within:
            yield rows(at), _slope(rows, at, basis)


def _met(K: np.ndarray, units: tuple[str, ...], within: float) -> np.ndarray:
    """Combinations U of rows, of one unit each, with Uᵀ K = 0 up to `within`; lengths first, angles
    beside the lengths that are kept.
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
    """A basis of the same space along the axes where it has them, without small entries."""
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
    """What was decided about the loops of a linkage.

    Attributes:
        found: by name, of loops that need not all rows of their closing joint.
        locked: loops that keep rows which exact axes would meet, in words.
    """

    found: Mapping[str, LoopRows] = dataclasses.field(default_factory=dict)
    locked: tuple[str, ...] = ()

    @property
    def keep(self) -> dict[str, np.ndarray]:
        """The projectors onto the rows that are kept, by name."""
        return {name: x.keep for name, x in self.found.items()}

    @property
    def inexact(self) -> LoopDecisions:
        """Those whose axes are off by more than round-off."""
        found = {name: x for name, x in self.found.items() if not x.exact}
        return dataclasses.replace(self, found=found)

    @property
    def whole(self) -> LoopDecisions:
        """Likewise, where loops with exact axes keep all their rows, and other axes may follow."""
        whole = lambda x: dataclasses.replace(x, keep=np.eye(len(x.keep)), dropped=0)
        found = {name: whole(x) if x.exact else x for name, x in self.found.items()}
        return dataclasses.replace(self, found=found)

    @property
    def notes(self) -> tuple[str, ...]:
        """The sentence that lists rows taken out by more than round-off, if there are any."""
        listed = [
            f"{name} ({x.dropped} row{'s' if x.dropped > 1 else ''}; {_off(x)})"
            for name, x in self.inexact.found.items()
        ]
        return (f"{ROUNDED} {'; '.join(listed)}",) if listed else ()


def decided(chains: Iterable[ClosedChain], within: float) -> LoopDecisions:
    """`loop_rows` of every loop, and the loops that a larger angle would free."""
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
    """The projectors of joints of one kind, the identity where all rows are kept."""
    (size,) = {len(x) for name, x in keep.items() if name in names}
    return np.array([keep.get(name, np.eye(size)) for name in names])


def projected_rows(keep, rows):
    """The rows of several joints with what their loops meet by themselves taken out, shape
    (n, rows).
    """
    return xp.einsum("nij,nj->ni", keep, xp.reshape(rows, (len(keep), -1)))


def _off(found: LoopRows) -> str:
    return f"axes off by {found.off:.1e} rad at {found.joint}"


def allowing(off: float) -> str:
    """An angle with one digit that allows another one."""
    digit = 10.0 ** np.floor(np.log10(off))
    return f"{np.ceil(1.1 * off / digit) * digit:.0e}"
