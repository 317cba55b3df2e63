"""Contacts of a mechanism: two shapes at points of bodies as gaps, with optional friction.

[contacts.x]    g(pose of the second point in the first) ≥ 0, by `zwang.bodies.contact`
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from zwang.bodies.contact import known_pair, rows_of, sliding, touch
from zwang.bodies.curve import Curve
from zwang.bodies.features import Touch
from zwang.bodies.shape import SIZES
from zwang.compile.hints import traced_once
from zwang.equations.constraint import DryFriction, Inequality
from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism.contact_schema import Contact, Surface
from zwang.mechanism.expression import Expression
from zwang.mechanism.field_types import PartError
from zwang.mechanism.joint_constraints import JointConstraints
from zwang.mechanism.relative_pose import RelativePose, relative_poses, value_and_rate
from zwang.mechanism.resolution import ends_between
from zwang.mechanism.schema import Table
from zwang.mechanism.slipping import RUBS, coefficients
from zwang.mechanism.tables import spline

SURFACES = {
    "point": "",
    "plane": "",
    "curve": "",
    **{x: ", ".join(SIZES[x]) for x in ("sphere", "capsule", "cylinder", "box")},
}
"""Kinds of shapes, and their numbers."""
OF_CURVES = ("x", "y", "ends", "through", "closed", "free", "pieces")
"""Fields of curves only."""
Where = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class ResolvedContact:
    """A contact with resolved names.

    Attributes:
        gap: its gaps; `frictions`: one for each gap, or none.
    """

    gap: Inequality
    frictions: tuple[DryFriction, ...]


@dataclasses.dataclass(frozen=True)
class _Pair:
    """`(pose, p)` → rows of two shapes.

    Attributes:
        kinds: of the shapes.
        sizes: formulas of their numbers.
        curve: the first one, if it is a curve.
    """

    kinds: tuple[str, str]
    sizes: tuple[tuple[Expression, ...], tuple[Expression, ...]]
    curve: Curve | None

    def __call__(self, pose: RelativePose, p) -> Touch:
        known = p["parameters"]
        sizes = [jnp.stack([jnp.zeros(()), *(x.traced(known) for x in y)])[1:] for y in self.sizes]
        if self.curve is None:
            return _touch(self.kinds, tuple(sizes), *pose)
        radius = sizes[1][0] if self.kinds[1] == "sphere" else 0.0
        return self.curve.touch(pose.displacement, radius, p)


@traced_once
def _touch(kinds, sizes, place, rotation) -> Touch:
    return touch(kinds, sizes, place, rotation)


def resolved_contact(
    name: str, given: Contact, joints: JointConstraints, rate: Callable
) -> ResolvedContact:
    """Make the constraints of a contact; `rate` is `(q, v, t, p)` → q̇.

    Raises:
        PartError: for an invalid contact, by name.
    """
    where = ("contacts", name)
    ends = ends_between(given.between, joints.geometry, where)
    pair = _pair(given, joints, where)
    a, b, frames = np.array([ends.a]), np.array([ends.b]), joints.frames

    def pose(q, p) -> RelativePose:
        return jax.tree.map(lambda x: x[0], relative_poses(frames(q, p), a, b))

    restitution = joints.formula(given.restitution, (), (*where, "restitution"))
    rows = _rows(pair, joints)
    parts = (name,) if rows == 1 else tuple(f"{name} {i + 1}" for i in range(rows))
    gap = Inequality(
        lambda q, t, p: pair(pose(q, p), p).gap,
        within=lambda q, t, p: pair(pose(q, p), p).way,
        name=name,
        parts=parts,
        restitution=lambda p: restitution.traced(p["parameters"]),
        unit="m",
    )
    if given.static is None:
        if given.kinetic is not None:
            raise PartError((*where, "kinetic"), "needs static, at which the contact sticks.")
        return ResolvedContact(gap, ())
    static, kinetic = coefficients(given, joints, where)

    # All rows at once, so that programs trace them once for all of their frictions.
    @partial(traced_once, always=True)
    def slips(q, v, t, p):
        at, moving = value_and_rate(lambda q: pose(q, p), q, rate(q, v, t, p))
        return sliding(pair(at, p), at, moving)

    def slip(row: int) -> Callable:
        return lambda q, v, t, p: slips(q, v, t, p)[row]

    frictions = tuple(
        DryFriction(
            slip(row),
            load=part,
            static=static,
            kinetic=kinetic,
            name=f"{part}{RUBS}",
            unit="m/s",
        )
        for row, part in enumerate(parts)
    )
    return ResolvedContact(gap, frictions)


def _pair(given: Contact, joints: JointConstraints, where: Where) -> _Pair:
    each = [(*where, "shapes", str(i)) for i in (0, 1)]
    one, other = given.shapes
    kinds = one.kind, other.kind
    for x, here in zip(given.shapes, each, strict=True):
        if x.kind not in SURFACES:
            raise PartError(
                (*here, "kind"), f"there is no {x.kind!r}{did_you_mean(x.kind, SURFACES)}"
            )
    d = joints.geometry.d
    curved = kinds[0] == "curve" and kinds[1] in ("point", "sphere")
    flat = d == 3 or not {"capsule", "cylinder"} & {*kinds}
    if not ((curved and d == 2) or (flat and known_pair(*kinds))):
        world = "the plane" if d == 2 else "space"
        second = " as the second shape; name the curve first" if kinds[1] == "curve" else ""
        raise PartError(
            (*where, "shapes"),
            f"there is no contact of a {kinds[0]} and a {kinds[1]} in {world}{second}.",
        )
    sizes = sizes_of(one, joints, each[0]), sizes_of(other, joints, each[1])
    curve = curve_of(one, joints, each[0]) if curved else None
    return _Pair(kinds, sizes, curve)


def sizes_of(given: Surface, joints: JointConstraints, where: Where) -> tuple[Expression, ...]:
    """Formulas of the numbers of a shape.

    Raises:
        PartError: for invalid numbers, by name.
    """
    d, kind = joints.geometry.d, given.kind
    if kind != "curve":
        new = Surface(kind, given.size)
        if other := [x for x in OF_CURVES if getattr(given, x) != getattr(new, x)]:
            raise PartError((*where, other[0]), f"a {kind} has no {other[0]}, a curve has.")
    numbers = [x for x in SURFACES[kind].split(", ") if x]
    numbers = numbers[:d] if kind == "box" else numbers
    allowed = {0, d - 1} if kind == "plane" else {len(numbers)}
    if len(given.size) not in allowed:
        expected = " or ".join(map(str, sorted(allowed)))
        named = f": {', '.join(numbers)}" if numbers else ""
        raise PartError(
            (*where, "size"), f"has {len(given.size)} numbers, expected {expected}{named}."
        )
    for x in given.size:
        if not isinstance(x, str) and not 0 < x < np.inf:
            raise PartError((*where, "size"), f"is {x:g}, expected a positive number.")
    return tuple(joints.formula(x, (), (*where, "size")) for x in given.size)


def curve_of(given: Surface, joints: JointConstraints, where: Where) -> Curve:
    """Make the curve of a contact.

    Raises:
        PartError: for an invalid curve, by name.
    """
    if not given.through:
        for field in ("x", "y", "ends"):
            if getattr(given, field) is None:
                raise PartError(where, f"a curve needs {field}, or through.")
        x, y = (joints.formula(getattr(given, n), ("s",), (*where, n)) for n in "xy")
        first, last = (joints.formula(e, (), (*where, "ends")).value({}) for e in given.ends or ())
        place = lambda s, p: jnp.stack(
            [jnp.asarray(f.traced({**p["parameters"], "s": s}), float) for f in (x, y)]
        )
    else:
        points = np.array([tuple(map(float, x)) for x in given.through])
        if points.ndim != 2 or points.shape[1] != 2:
            raise PartError((*where, "through"), "expected points of the plane, two numbers each.")
        if given.x is not None or given.y is not None or given.ends is not None:
            raise PartError((*where, "through"), "stands beside x, y or ends; give one of them.")
        s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
        made = [
            spline((*where, "through"), Table(tuple(s), tuple(c), given.closed)) for c in points.T
        ]
        first, last = float(s[0]), float(s[-1])
        place = lambda s, p: jnp.stack([x(s, jnp) for x in made])
    if not first < last:
        raise PartError((*where, "ends"), f"are {first:g} and {last:g}, expected first below last.")
    return Curve(place, first, last, given.closed, given.free, given.pieces)


def _rows(pair: _Pair, joints: JointConstraints) -> int:
    """Number of rows, from shapes alone."""
    if pair.curve is not None:
        return pair.curve.pieces
    sizes = len(pair.sizes[0]), len(pair.sizes[1])
    return rows_of(pair.kinds, sizes, joints.geometry.d)
