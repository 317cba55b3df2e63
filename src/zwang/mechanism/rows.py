"""Joints and drives as constraints: all of one kind under one function."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping

import jax
import numpy as np

from zwang.equations.constraint import AbstractConstraint, Holonomic, Nonholonomic
from zwang.mechanism.expression import Expression
from zwang.mechanism.joints import KINDS, Kind
from zwang.mechanism.layout import Layout, meant
from zwang.mechanism.pairs import ANGULAR, COORDINATES, Frames, along, frames, pair, wrapped
from zwang.mechanism.parts import Drive, Joint, PartError

RATES = " rolling"
"""Ending of the name of a joint's rows of velocities where it has rows of positions, too."""


@dataclasses.dataclass(frozen=True)
class Ends:
    """The points that a joint, spring or drive acts between, as numbers of `Layout`, with the
    coordinate it means.
    """

    a: int
    b: int
    coordinate: str = ""


class Joints:
    """The joints of a mechanism, resolved and checked.

    Args:
        joints: by name.
        layout: the points.
        formulas: names of what a formula may use besides its own variables.
        poses: `(q, p)` → the bodies' own coordinates or rigid motions, as `frames` takes them; q
            itself unless given.
    """

    def __init__(
        self,
        joints: Mapping[str, Joint],
        layout: Layout,
        formulas: tuple[str, ...],
        poses: Callable = lambda q, p: q,
    ):
        self.joints, self.layout, self.formulas, self.poses = joints, layout, formulas, poses
        self.ends: dict[str, list[Ends]] = {}
        for name, joint in joints.items():
            self._check(name, joint)
        for name, joint in joints.items():
            where = ("joints", name)
            if joint.between is not None:
                self.ends[name] = [self.between(joint.between, where)]
            else:
                others = [self._other(x, name) for x in joint.joints or ()]
                self.ends[name] = [
                    self.ends[x][0] if x in self.ends else self.between(joints[x].between, where)
                    for x in others
                ]

    def frames(self, q, p) -> Frames:
        """Where all points are."""
        return frames(self.poses(q, p), p, self.layout.carrier)

    def between(self, points, where) -> Ends:
        a, b = (self.layout.point(x, (*where, "between")) for x in points)
        if self.layout.carrier[a] == self.layout.carrier[b]:
            raise PartError(
                (*where, "between"), f"{points[0]!r} and {points[1]!r} are on the same body."
            )
        return Ends(a, b)

    def of(self, name: str, coordinate: str | None, where) -> Ends:
        """The points of a joint, with the coordinate asked for or its own.

        Raises:
            PartError: if there is no such joint or coordinate.
        """
        if name not in self.joints:
            raise PartError(
                (*where, "joint"), f"there is no joint {name!r}{meant(name, self.joints)}"
            )
        if KINDS[self.joints[name].kind].couples:
            raise PartError(
                (*where, "joint"),
                f"{name!r} couples two joints and has no coordinate; name one of these.",
            )
        ends, own = self.ends[name][0], KINDS[self.joints[name].kind].coordinate
        return dataclasses.replace(
            ends, coordinate=known_coordinate(coordinate or own, (*where, "coordinate"), name)
        )

    def _check(self, name: str, joint: Joint) -> None:
        where = ("joints", name)
        if joint.kind not in KINDS:
            raise PartError(
                (*where, "kind"), f"there is no joint {joint.kind!r}{meant(joint.kind, KINDS)}"
            )
        kind = KINDS[joint.kind]
        world = "the plane" if self.layout.d == 2 else "space"
        if (
            not kind.formula
            and (
                kind.plane or kind.plane_rates
                if self.layout.d == 2
                else kind.space or kind.space_rates
            )
            is None
        ):
            raise PartError((*where, "kind"), f"there is no {joint.kind} joint in {world}.")
        needed = {
            "joints" if kind.couples else "between",
            *kind.sizes,
            *([kind.formula] if kind.formula else []),
        } - {"phase"}
        given = {
            f.name for f in dataclasses.fields(joint) if getattr(joint, f.name) is not None
        } - {"kind"}
        if missing := sorted(needed - given):
            raise PartError(where, f"a {joint.kind} joint needs {missing[0]}.")
        if beyond := sorted(given - needed - ({"phase"} if kind.phase else set())):
            raise PartError((*where, beyond[0]), f"a {joint.kind} joint has no {beyond[0]}.")
        for size in ("length", "radius", "pitch"):
            if size in given and not getattr(joint, size) != 0:
                raise PartError((*where, size), "is zero.")
        if joint.ratio is not None and (
            0.0 in joint.ratio or (self.layout.d == 3 and any(x != round(x) for x in joint.ratio))
        ):
            raise PartError(
                (*where, "ratio"),
                f"is {joint.ratio}, expected {'whole numbers of teeth' if self.layout.d == 3 else 'no zero'}.",
            )
        if kind.formula:
            variables = ("angle",) if kind.couples else ("x", "y", "z")[: self.layout.d]
            checked(
                getattr(joint, kind.formula), (*variables, *self.formulas), (*where, kind.formula)
            )

    def _other(self, other: str, name: str) -> str:
        where = ("joints", name, "joints")
        if other not in self.joints:
            raise PartError(where, f"there is no joint {other!r}{meant(other, self.joints)}")
        if KINDS[self.joints[other].kind].couples:
            raise PartError(
                where, f"{other!r} couples joints itself; name joints between two bodies."
            )
        return other

    # --- constraints
    # ---------------------------------------------------------------------------------------------

    def sizes(self, q: np.ndarray, points: dict) -> dict[str, np.ndarray]:
        """Own numbers of the joints of each kind, shape (joints, sizes); phases that are not given
        are taken as at q.
        """
        made = {}
        for kind_name, kind in KINDS.items():
            names = self._named(kind_name)
            if names and kind.sizes:
                made[kind_name] = np.array([self._size(name, kind, q, points) for name in names])
        return made

    def constraints(
        self, rate: Callable, without: Collection[str] = ()
    ) -> list[AbstractConstraint]:
        """One constraint for all joints of a kind; one for each joint with a formula. `rate(q, v,
        t, p)` is q̇.
        """
        made: list[AbstractConstraint] = []
        for kind_name, kind in KINDS.items():
            if names := [name for name in self._named(kind_name) if name not in without]:
                made += (
                    [self._formula_joint(name, kind) for name in names]
                    if kind.formula
                    else self._family(kind_name, kind, names, rate)
                )
        return made

    def _named(self, kind_name: str) -> list[str]:
        return [name for name, joint in self.joints.items() if joint.kind == kind_name]

    def _pairs(self, names: list[str], ordinal: int):
        """`(q, p)` → the pairs of several joints, with a leading axis."""
        a, b = (np.array([getattr(self.ends[n][ordinal], x) for n in names]) for x in "ab")
        return lambda q, p: pair(self.frames(q, p), a, b)

    def _size(self, name: str, kind: Kind, q, points: dict) -> list[float]:
        joint = self.joints[name]
        values = [getattr(joint, size) for size in kind.sizes]
        if kind.phase and joint.phase is None:
            values[-1] = 0.0
            one = [
                jax.tree.map(lambda x: x[0], self._pairs([name], i)(q, points))
                for i in range(len(self.ends[name]))
            ]
            flat = np.hstack(values)
            drawn = kind.plane is not None and (kind.couples or self.layout.d == 2)
            values[-1] = float(np.atleast_1d(kind.plane(*one, flat))[-1]) if drawn else 0.0  # type: ignore[misc]
        return list(np.hstack(values))

    def _family(
        self, kind_name: str, kind: Kind, names: list[str], rate: Callable
    ) -> list[AbstractConstraint]:
        pairs = [self._pairs(names, i) for i in range(2 if kind.couples else 1)]
        plane = self.layout.d == 2
        rule, rates = (kind.plane, kind.plane_rates) if plane else (kind.space, kind.space_rates)
        none = np.zeros((len(names), 0))

        own = np.array([i for i, name in enumerate(self._named(kind_name)) if name in names])

        def size(p):
            return p["sizes"][kind_name][own] if kind_name in p["sizes"] else none

        made: list[AbstractConstraint] = []
        if rule is not None:
            made.append(
                Holonomic(
                    lambda q, t, p: jax.vmap(rule)(*(x(q, p) for x in pairs), size(p)).ravel(),
                    name=kind_name,
                    parts=names,
                )
            )
        if rates is not None:

            def psi(q, v, t, p):
                here, moving = along(lambda q: pairs[0](q, p), q, rate(q, v, t, p))
                return jax.vmap(rates)(here, moving, size(p)).ravel()

            labels = [f"{n}{RATES}" for n in names] if rule is not None else names
            made.append(Nonholonomic(psi, name=f"{kind_name} rates", parts=labels))
        return made

    def _formula_joint(self, name: str, kind: Kind) -> AbstractConstraint:
        joint, pairs = (
            self.joints[name],
            [self._pairs([name], i) for i in range(len(self.ends[name]))],
        )
        formula = Expression(str(getattr(joint, kind.formula)))  # type: ignore[arg-type]
        if kind.couples:
            first = COORDINATES["angle"]
            second = COORDINATES[KINDS[self.joints[joint.joints[1]].kind].coordinate or "slide"]  # type: ignore[index]

            def phi(q, t, p):  # type: ignore
                a, b = (jax.tree.map(lambda x: x[0], x(q, p)) for x in pairs)
                return second(b) - formula.traced({**p["parameters"], "angle": first(a)})
        else:

            def phi(q, t, p):
                gap = pairs[0](q, p).gap[0]
                return formula.traced({**p["parameters"], **dict(zip("xyz", gap, strict=False))})

        return Holonomic(phi, name=name)

    # --- prescribed motion
    # ---------------------------------------------------------------------------------------

    def coordinate(self, ends: Ends) -> Callable:
        """`(q, p)` → the coordinate of one pair of points."""
        a, b, function = np.array([ends.a]), np.array([ends.b]), COORDINATES[ends.coordinate]
        return lambda q, p: function(jax.tree.map(lambda x: x[0], pair(self.frames(q, p), a, b)))

    def drive(self, name: str, drive: Drive, rate: Callable) -> AbstractConstraint:
        """A drive as a constraint: of the coordinate, or of its rate."""
        where = ("drives", name)
        ends = self.of(drive.joint, drive.coordinate, where)
        if (drive.value is None) == (drive.rate is None):
            raise PartError(where, "expected either value or rate.")
        which = "value" if drive.rate is None else "rate"
        given = checked(getattr(drive, which), ("t", *self.formulas), (*where, which))
        x = self.coordinate(ends)
        turning = self.layout.d == 3 and ends.coordinate in ANGULAR

        def phi(q, t, p):
            miss = x(q, p) - given.traced({**p["parameters"], "t": t})
            return wrapped(miss) if turning else miss

        def psi(q, v, t, p):
            return along(lambda q: x(q, p), q, rate(q, v, t, p))[1] - given.traced(
                {**p["parameters"], "t": t}
            )

        return Holonomic(phi, name=name) if which == "value" else Nonholonomic(psi, name=name)

    def start_value(self, name: str, ends: Ends, value: float) -> AbstractConstraint:
        """A coordinate held at a value, for an assembly."""
        x, turning = self.coordinate(ends), self.layout.d == 3 and ends.coordinate in ANGULAR
        miss = lambda q, p: x(q, p) - value
        return Holonomic(
            lambda q, t, p: wrapped(miss(q, p)) if turning else miss(q, p), name=f"start of {name}"
        )

    def start_rate(self, name: str, ends: Ends, speed: float, rate: Callable) -> AbstractConstraint:
        """A coordinate's rate held at a value, for an assembly."""
        x = self.coordinate(ends)
        return Nonholonomic(
            lambda q, v, t, p: along(lambda q: x(q, p), q, rate(q, v, t, p))[1] - speed,
            name=f"start of {name}",
        )


def known_coordinate(coordinate: str | None, where, what: str) -> str:
    """A coordinate's name.

    Raises:
        PartError: if it is none.
    """
    if coordinate is None:
        raise PartError(
            where,
            f'{what} has no coordinate of its own; give coordinate = "angle", "slide" or "distance".',
        )
    if coordinate not in ("angle", "slide", "distance"):
        raise PartError(where, f"is {coordinate!r}, expected angle, slide or distance.")
    return coordinate


def checked(formula, known: tuple[str, ...], where) -> Expression:
    """A formula whose names are all known.

    Raises:
        PartError: if it is none, or has an unknown name.
    """
    from zwang.errors import ModelError

    try:
        expression = Expression(str(formula))
        expression.require(known)
    except ModelError as error:
        raise PartError(where, str(error)) from None
    return expression
