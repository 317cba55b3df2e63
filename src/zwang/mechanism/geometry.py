"""Bodies with their inertia and rough initial pose, and all their points."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import jax
import numpy as np

from zwang.algebra.metric import mass_blocks
from zwang.algebra.spectrum import principal
from zwang.bodies import Body
from zwang.bodies.rotation import IDENTITY, conjugate, moved, product, rotation_vector
from zwang.inputs.arithmetic import on_host, xp
from zwang.inputs.arrays import is_concrete
from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism.field_types import PartError
from zwang.mechanism.schema import Link, Point
from zwang.scene import GROUND as GROUND

SMALL_TURN = 1e-3
"""Angle [rad] below which the Jacobian of a rotation vector is replaced by that at this angle, to
1e-8.
"""
_AXES = np.eye(3)


@dataclasses.dataclass(frozen=True)
class Geometry:
    """The bodies and points of a mechanism.

    Attributes:
        d: 2 in the plane, 3 in space.
        bodies: mass and inertia of each.
        q, v: rough start, shapes (nq,) and (nv,).
        index: "body.point" → number of the point; a body's name alone is its center, "ground" the
            origin.
        carrier: number of the body that carries each point, the last one being the ground.
        offset, orientation: position and attitude of each point on its body, (n, d) and (n,) or
            (n, 3, 3).
    """

    d: int
    bodies: tuple[Body, ...]
    q: np.ndarray
    v: np.ndarray
    index: dict[str, int]
    carrier: np.ndarray
    offset: np.ndarray
    orientation: np.ndarray

    def point(self, reference: str, where: tuple[str, ...]) -> int:
        """Return the number of a point.

        Raises:
            PartError: for an unknown one.
        """
        if reference not in self.index:
            raise PartError(
                where, f"there is no point {reference!r}{did_you_mean(reference, self.index)}"
            )
        return self.index[reference]

    def displacement(self, q: np.ndarray, guess: np.ndarray, M) -> tuple[float, np.ndarray]:
        """Squared distance `dᵀ M d` of bodies from a guess, and half its gradient by v, (nv,).

        d has the displacements of the centers of mass and the angles, in space rotation vectors.
        """
        blocks, n = mass_blocks(np.asarray(M)), len(self.bodies)
        if self.d == 2:
            d = q - guess
            momentum = np.einsum("bij,bj->bi", blocks, d.reshape(len(blocks), -1)).ravel()
            return float(d @ momentum), momentum
        to, of = q[: 7 * n].reshape(n, 7), guess[: 7 * n].reshape(n, 7)
        with on_host():
            before, after = xp.asarray(of[:, 3:]), xp.asarray(to[:, 3:])
            turn = np.asarray(rotation_vector(product(conjugate(before), after)))
        d = np.concatenate([to[:, :3] - of[:, :3], turn], axis=1)
        momentum = np.einsum("bij,bj->bi", blocks, d.reshape(len(blocks), -1)).reshape(n, 6)
        # A rotation vector changes by J⁻¹ω, where J is the right Jacobian of the exponential map.
        half = np.maximum(np.linalg.norm(turn, axis=1, keepdims=True), SMALL_TURN) / 2
        bent = (1 - half / np.tan(half)) / (4 * half**2)
        spin = momentum[:, 3:]
        across = np.cross(turn, spin)
        slope = spin - across / 2 + bent * np.cross(turn, across)
        return float(np.sum(d * momentum)), np.concatenate([momentum[:, :3], slope], axis=1).ravel()

    @property
    def lacks_mass(self) -> bool:
        """Return whether some body has no mass, or a principal moment of inertia of zero."""
        moments = (
            np.ravel(x) if np.ndim(x) < 2 else principal(np.asarray(x))[0]
            for x in (body.inertia for body in self.bodies)
        )
        return any(body.mass == 0 for body in self.bodies) or any(np.any(x == 0) for x in moments)

    @property
    def numbers(self) -> dict[str, Any]:
        """Mass and inertia of the bodies, as the functions of free bodies take them.

        The arrays are computed by NumPy on the host, or traced.
        """
        inertia = [xp.asarray(body.inertia, float) for body in self.bodies]
        if any(x.ndim == 2 for x in inertia):
            # one inertia is a tensor, so all are
            inertia = [xp.diag(x) if x.ndim == 1 else x for x in inertia]
        mass = [xp.asarray(body.mass, float) for body in self.bodies]
        return {"mass": xp.stack(mass), "inertia": xp.stack(inertia)}

    def points_of(self, body: int) -> list[int]:
        """Numbers of the named points of a body, without its center."""
        return [
            i
            for name, i in self.index.items()
            if self.carrier[i] == body and "." in name and not name.endswith(".center")
        ]


def geometry_of(
    links: Mapping[str, Link],
    ground: Mapping[str, Point | tuple],
    d: int,
    point_masses: Collection[str] = (),
) -> Geometry:
    """Bodies and points from their declarations, on the host or traced.

    Traced numbers are not checked.

    Args:
        links: the bodies by name.
        ground: points of the ground by name.
        d: 2 in the plane, 3 in space.
        point_masses: bodies in space whose attitude has no effect. They keep it with any inertia,
            and get one, as an attitude without inertia would be undetermined.

    Raises:
        PartError: for vectors of a wrong length, missing inertia, or a zero direction.
    """
    bodies, poses, twists = [], [], []
    index: dict[str, int] = {}
    carrier, offset, orientation = [], [], []

    def add(name: str, body: int, point: Point | tuple, where: tuple[str, ...]) -> None:
        point = point if isinstance(point, Point) else Point(tuple(point))
        if name in index:
            raise PartError(where, "is the center of mass of every body; give it another name.")
        index[name] = len(index)
        carrier.append(body)
        offset.append(_vector(point.at, d, where, "its place"))
        orientation.append(_attitude(point, where) if d == 3 else _planar_angle(point, where))

    for i, (name, link) in enumerate(links.items()):
        where = ("bodies", name)
        if name == GROUND or "." in name:
            raise PartError(where, "a body is not called 'ground', and its name has no dot.")
        mass = _not_negative(link.mass, (*where, "mass"))
        # that at 1 m from the center, which affects no motion
        inertia = (mass,) * 3 if name in point_masses else _inertia(link, d, where)
        bodies.append(Body(name, mass, inertia))
        poses.append(_pose(link, d, where))
        twists.append(_twist(link, d, where))
        add(name, i, Point((0.0,) * d), where)
        add(f"{name}.center", i, Point((0.0,) * d), where)
        if link.length is not None:
            half = _positive(link.length, (*where, "length")) / 2
            for end, x in (("start", -half), ("end", half)):
                # a point of the body may have the name of an end
                if end not in link.points:
                    add(f"{name}.{end}", i, Point((x, *(0.0,) * (d - 1))), where)
        for label, point in link.points.items():
            add(f"{name}.{label}", i, point, (*where, "points", label))
    # The ground counts as one more body, after all others.
    add(GROUND, len(links), Point((0.0,) * d), (GROUND,))
    for label, point in ground.items():
        add(f"{GROUND}.{label}", len(links), point, (GROUND, label))
    return Geometry(
        d,
        tuple(bodies),
        xp.concatenate(poses or [np.zeros(0)]),
        xp.concatenate(twists or [np.zeros(0)]),
        index,
        np.array(carrier),
        xp.stack(offset),
        xp.stack(orientation),
    )


def _vector(value, size: int, where, what: str) -> np.ndarray:
    array = xp.asarray(value, float)
    if array.shape != (size,):
        raise PartError(where, f"{what} has {array.size} numbers, expected {size}.")
    if is_concrete(array) and not np.all(np.isfinite(array)):
        raise PartError(where, f"{what} is {value}, expected finite numbers.")
    return array


def _positive(value: float, where) -> float:
    if not is_concrete(value):
        return value
    if not 0 < value < np.inf:
        raise PartError(where, f"is {value:g}, expected a positive number.")
    return float(value)


def _not_negative(value: float, where) -> float:
    if not is_concrete(value):
        return value
    if not 0 <= value < np.inf:
        raise PartError(where, f"is {value:g}, expected a positive number, or 0 for none.")
    return float(value)


def _inertia(link: Link, d: int, where):
    """The inertia as given, or that of a rod, disk or cylinder."""
    m, length, radius = link.mass, link.length, link.radius
    for size, name in ((length, "length"), (radius, "radius")):
        if size is not None:
            _positive(size, (*where, name))
    if link.inertia is not None:
        return _given_inertia(link.inertia, d, (*where, "inertia"))
    if is_concrete(m) and m == 0:
        return 0.0 if d == 2 else (0.0, 0.0, 0.0)
    if d == 2:
        if radius is not None:
            return m * radius**2 / 2
        if length is not None:
            return m * length**2 / 12
        raise PartError(
            where,
            "has no inertia: give inertia, or length for a slender rod, or radius for a disk.",
        )
    if radius is None:
        raise PartError(
            where,
            "has no inertia: give inertia, or radius for a disk, or length and radius for a "
            "cylinder.",
        )
    if length is None:
        return (m * radius**2 / 4, m * radius**2 / 4, m * radius**2 / 2)
    across = m * (3 * radius**2 + length**2) / 12
    return (m * radius**2 / 2, across, across)


def _given_inertia(inertia, d: int, where) -> float | tuple:
    """A number in the plane; in space three principal moments or the tensor, shape (3, 3)."""
    # a tensor may be given as three rows
    given = xp.concatenate([xp.ravel(xp.asarray(x, float)) for x in jax.tree.leaves(inertia)])
    if d == 3 and given.size == 1 and is_concrete(given) and given[0] == 0:
        given = np.zeros(3)  # a single number suffices for zero
    if given.size not in ((1,) if d == 2 else (3, 6, 9)):
        expected = "one" if d == 2 else "3 principal moments, 6 or 9 entries of the tensor"
        raise PartError(where, f"has {given.size} numbers, expected {expected}.")
    if given.size > 3:
        return _tensor(given, where)
    if is_concrete(given) and not np.all((given >= 0) & (given < np.inf)):
        shown = ", ".join(f"{x:g}" for x in given)
        raise PartError(where, f"is {shown}, expected positive numbers, or 0 for none.")
    return given[0] if d == 2 else tuple(given)


def _tensor(given: np.ndarray, where) -> tuple:
    """An inertia tensor from its entries xx, yy, zz, xy, xz, yz, or from nine by rows."""
    # the six entries are xx, yy, zz, xy, xz, yz
    J = given.reshape(3, 3) if given.size == 9 else given[[[0, 3, 4], [3, 1, 5], [4, 5, 2]]]
    if not is_concrete(J):
        return tuple(map(tuple, (J + J.T) / 2))
    if not np.allclose(J, J.T, rtol=1e-9, atol=0.0):
        raise PartError(where, "is not symmetric; expected xy = yx, xz = zx and yz = zy.")
    moments = principal(J)[0] if np.all(np.isfinite(J)) else np.full(3, np.nan)
    if not moments[0] > 0:
        shown = ", ".join(f"{x:.4g}" for x in moments)
        raise PartError(where, f"has the principal moments {shown}, expected positive ones.")
    return tuple(map(tuple, (J + J.T) / 2))


def _pose(link: Link, d: int, where) -> np.ndarray:
    """Rough position and attitude, from `guess` or from `at` with `angle` or `turn`."""
    if link.guess is not None:
        if link.at is not None or link.turn is not None or _stands(link.angle):
            raise PartError((*where, "guess"), "stands beside at, angle or turn; give one of them.")
        start, end = (_vector(x, d, (*where, "guess"), "each place") for x in link.guess)
        way = end - start
        if not _stands(way):
            raise PartError(
                (*where, "guess"), "both places are the same; expected where its start and end lie."
            )
        if d == 2:
            return xp.stack([*(start + end) / 2, xp.arctan2(way[1], way[0])])
        return xp.concatenate([(start + end) / 2, _from_x_axis(way)])
    at = np.zeros(d) if link.at is None else _vector(link.at, d, (*where, "at"), "its place")
    if d == 2:
        if link.turn is not None:
            raise PartError((*where, "turn"), "is for bodies in space; give angle.")
        return xp.stack([*at, xp.asarray(link.angle, float)])
    if _stands(link.angle):
        raise PartError(
            (*where, "angle"), "is for bodies in the plane; give turn, a rotation vector."
        )
    turn = (
        np.zeros(3)
        if link.turn is None
        else _vector(link.turn, 3, (*where, "turn"), "the rotation vector")
    )
    return xp.concatenate([at, moved(xp.array(IDENTITY), xp.asarray(turn))])


def _stands(value) -> bool:
    """Return whether anything other than zeros is given."""
    return not is_concrete(value) or bool(np.any(value))


def _twist(link: Link, d: int, where) -> np.ndarray:
    """Rough velocity and angular velocity."""
    speed = np.zeros(d) if link.velocity is None else link.velocity
    spin = np.zeros(1 if d == 2 else 3) if link.angular_velocity is None else link.angular_velocity
    return xp.concatenate(
        [
            _vector(speed, d, (*where, "velocity"), "velocity"),
            _vector(
                xp.atleast_1d(xp.asarray(spin, float)),
                1 if d == 2 else 3,
                (*where, "angular_velocity"),
                "angular velocity",
            ),
        ]
    )


def _from_x_axis(way: np.ndarray) -> np.ndarray:
    """The shortest rotation from the x axis to a direction, as a quaternion."""
    unit = way / xp.linalg.norm(way)
    if is_concrete(unit) and unit[0] < -1 + 1e-12:
        # Opposite directions have no shortest rotation between them: half a turn about z.
        return np.array([0.0, 0.0, 0.0, 1.0])
    q = xp.concatenate([1 + unit[:1], xp.cross(_AXES[0], unit)])
    return q / xp.linalg.norm(q)


def _planar_angle(point: Point, where) -> float:
    if point.axis is not None or point.x is not None:
        raise PartError(where, "axis and x are for points in space; give angle.")
    return xp.asarray(point.angle, float)


def _attitude(point: Point, where) -> np.ndarray:
    """Axes of a point in space: z along `axis`, x near `x` or chosen."""
    z = _direction(_AXES[2] if point.axis is None else _vector(point.axis, 3, where, "axis"), where)
    if point.x is not None:
        near = _vector(point.x, 3, where, "x")
    else:
        # axes of a point without rotation are the body's
        unturned = xp.abs(z[2]) > 1 - 1e-12
        near = xp.where(unturned, _AXES[0], xp.asarray(_AXES)[xp.argmin(xp.abs(z))])
    x = _direction(near - (near @ z) * z, where)
    turned = xp.stack([xp.cos(point.angle), xp.sin(point.angle)])
    x = turned @ xp.stack([x, xp.cross(z, x)])
    return xp.stack([x, xp.cross(z, x), z], axis=1)


def _direction(vector: np.ndarray, where) -> np.ndarray:
    size = xp.linalg.norm(vector)
    if is_concrete(size) and not size > 1e-12:
        raise PartError(where, "a direction is zero, or x is parallel to axis.")
    return vector / size
