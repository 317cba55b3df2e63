"""Lookup of joints, points and coordinates by name, and checks of joint options."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping

from zwang.errors import ModelError
from zwang.inputs.suggestions import did_you_mean
from zwang.mechanism.expression import Expression
from zwang.mechanism.field_types import OVER_TIME, PartError
from zwang.mechanism.friction import check_friction
from zwang.mechanism.geometry import Geometry
from zwang.mechanism.registry import JOINT_KINDS
from zwang.mechanism.relative_pose import ALL, ANGLE, DISTANCE, SLIDE, PoseCoordinate
from zwang.mechanism.schema import Joint

Tables = tuple[tuple[str, Callable], ...]
"""Further functions of one argument in formulas, by name."""


@dataclasses.dataclass(frozen=True)
class Ends:
    """The points that a joint, spring or drive acts between, as numbers of `Geometry`.

    It also has the coordinate of their relative pose that the part acts on.
    """

    a: int
    b: int
    coordinate: PoseCoordinate = ALL


def resolve_joints(
    joints: Mapping[str, Joint],
    geometry: Geometry,
    parameters: tuple[str, ...],
    tables: Tables = (),
) -> dict[str, list[Ends]]:
    """The points of every joint, by name; for a coupling those of both coupled joints.

    Raises:
        PartError: for an invalid joint, by name.
    """
    # all joints first, because a coupling depends on the kinds of the joints that it couples
    for name, joint in joints.items():
        _check(name, joint, geometry.d, parameters, tables)
    found: dict[str, list[Ends]] = {}
    for name, joint in joints.items():
        coupled = (
            [name] if joint.joints is None else [_coupled(x, name, joints) for x in joint.joints]
        )
        found[name] = [ends_between(joints[x].between, geometry, ("joints", x)) for x in coupled]
    return found


def ends_between(points, geometry: Geometry, where) -> Ends:
    """Two points of different bodies.

    Raises:
        PartError: for an unknown point, or two of one body.
    """
    a, b = (geometry.point(x, (*where, "between")) for x in points)
    if geometry.carrier[a] == geometry.carrier[b]:
        raise PartError(
            (*where, "between"), f"{points[0]!r} and {points[1]!r} are on the same body."
        )
    return Ends(a, b)


def coordinate_between(points, geometry: Geometry, where, coordinate: str | None) -> Ends:
    """Two points of different bodies with a coordinate of their relative pose, by its name.

    Raises:
        PartError: for an unknown point, two of one body, or no such coordinate.
    """
    ends = ends_between(points, geometry, where)
    return Ends(ends.a, ends.b, coordinate_named(coordinate, (*where, "coordinate"), where[-1]))


def require_joint(name: str, joints: Iterable[str], where) -> None:
    """Refuse the name of a joint that does not exist.

    Raises:
        PartError: with the names that are similar.
    """
    if name not in joints:
        raise PartError(where, f"there is no joint {name!r}{did_you_mean(name, joints)}")


def coordinate_named(
    name: str | None, where, what: str, own: Iterable[PoseCoordinate] = ()
) -> PoseCoordinate:
    """A coordinate of two points.

    Args:
        name: as given; None is refused.
        where: the path of the part.
        what: the joint or other part that it belongs to.
        own: coordinates of the joint, which have names of their own.

    Raises:
        PartError: for an unknown name.
    """
    known = {x.name: x for x in (ANGLE, SLIDE, DISTANCE, *own)}
    if name is None:
        names = " or ".join(", ".join(f'"{x}"' for x in known).rsplit(", ", 1))
        raise PartError(
            where, f"{what} has no single coordinate of its own; give coordinate = {names}."
        )
    if name not in known:
        names = " or ".join(", ".join(known).rsplit(", ", 1))
        raise PartError(where, f"is {name!r}, expected {names}.")
    return known[name]


def checked_formula(formula, known: tuple[str, ...], where, tables: Tables = ()) -> Expression:
    """Parse a formula whose names must all be known; `tables` are further functions.

    Raises:
        PartError: if it is invalid, or has an unknown name.
    """
    try:
        expression = Expression(str(formula), tables)
        expression.require(known)
    except ModelError as error:
        raise PartError(where, str(error)) from None
    return expression


def _check(name: str, joint: Joint, d: int, parameters: tuple[str, ...], tables: Tables) -> None:
    """Refuse an unknown kind, a kind of the other world, and missing or invalid options."""
    where = ("joints", name)
    if joint.kind not in JOINT_KINDS:
        raise PartError(
            (*where, "kind"),
            f"there is no joint {joint.kind!r}{did_you_mean(joint.kind, JOINT_KINDS)}",
        )
    kind = JOINT_KINDS[joint.kind]
    if kind.equations(d) is None:
        world = "the plane" if d == 2 else "space"
        raise PartError((*where, "kind"), f"there is no {joint.kind} joint in {world}.")
    given = {f.name for f in dataclasses.fields(joint) if getattr(joint, f.name) is not None}
    given -= {"kind", "friction", "stop", "backlash", "ratchet"}
    check_friction(name, joint, kind)
    acts_on = "joints" if kind.couples else "between"
    # An option that has a value at the start is optional.
    needed = {acts_on} | {option.name for option in kind.options if option.as_drawn is None}
    if missing := sorted(needed - given):
        raise PartError(where, f"a {joint.kind} joint needs {missing[0]}.")
    if beyond := sorted(given - {acts_on} - {option.name for option in kind.options}):
        raise PartError((*where, beyond[0]), f"a {joint.kind} joint has no {beyond[0]}.")
    for option in kind.options:
        here, value = (*where, option.name), getattr(joint, option.name)
        if option.kind == "formula":
            checked_formula(value, (*option.variables[:d], *parameters), here, tables)
        elif isinstance(value, str):
            why = f"is the text {value!r}, expected a number; {OVER_TIME}."
            raise PartError(here, why)
        elif value is not None and (refusal := option.check(value, d)) is not None:
            raise PartError(here, refusal)


def _coupled(other: str, name: str, joints: Mapping[str, Joint]) -> str:
    where = ("joints", name, "joints")
    require_joint(other, joints, where)
    if JOINT_KINDS[joints[other].kind].couples:
        raise PartError(where, f"{other!r} couples joints itself; name joints between two bodies.")
    return other
