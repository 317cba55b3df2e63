"""Parts of a mechanism with inequality constraints or friction, as plain dataclasses.

They are the same in Python and in TOML.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

from zwang.mechanism.field_types import STRICT, Formula, Number, Vector


@dataclasses.dataclass(frozen=True)
class Friction:
    """Dry friction in a joint with the joint's own reaction as load: `μ N` against the motion. It
    needs `coordinates = "maximal"`.

    Attributes:
        kinetic: coefficient of friction μ while it slides [1].
        static: coefficient at rest: then the joint sticks, as `zw.DryFriction` does; not for
            `spherical` and `path` joints. Without it there is no sticking, and a joint exactly at
            rest has no friction.
        stribeck: speed v of the transition from the static to the kinetic coefficient [m/s]: `μ +
            (μ₀ − μ) exp(−(s/v)²)`; by default the transition is a jump.
        radius: at which a pin rubs in its hole [m], for joints that turn.
        rest_speed: without `static`, speed ε [m/s] below which friction fades: v/√(v² + ε²)
            replaces the sign of v.
    """

    kinetic: Number
    radius: Number = 0.0
    rest_speed: Number = 0.0
    static: Number | None = None
    stribeck: Number | None = None
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class JointStop:
    """Limits of a joint's own coordinate, at which it rebounds.

    Attributes:
        lower, upper: limits [rad or m], numbers or formulas of parameters and `t`; one may be
            left out.
        restitution: e from 0 (no rebound) to 1 (no loss), a number or a formula of parameters.
    """

    lower: Formula | None = None
    upper: Formula | None = None
    restitution: Formula = 0.0
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Backlash:
    """Backlash of a joint that couples two others: its equation may be off by half of the backlash
    in either direction.

    Attributes:
        gap: the whole backlash, in the unit of the equation: for a rack, and for a gear or belt
            whose `ratio` are radii [m].
        restitution: as of a stop.
    """

    gap: Formula
    restitution: Formula = 0.0
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Gap:
    """A gap that never becomes negative: a stop, backlash, a wall; or a velocity that never becomes
    negative, as in a one-way clutch; see `zw.Inequality`.

    Attributes:
        of: the coordinates by their names in the formula, as of a law.
        gap: a formula in these names and `t`, positive where the gap is open; or several. It is a
            velocity if it has rates (`a_rate` of `a`).
        restitution: e from 0 (no rebound) to 1 (no loss), a number or a formula of parameters.
    """

    of: dict[str, str | tuple[str, str]]
    gap: Formula | tuple[Formula, ...]
    restitution: Formula = 0.0
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Rope:
    """A rope that only pulls, without friction where it passes points.

    Attributes:
        over: the points that it passes, both ends included.
        length: of the rope [m], a number or a formula of parameters and `t`.
        restitution: as of a stop, when the rope becomes taut.
    """

    over: tuple[str, ...]
    length: Formula
    restitution: Formula = 0.0
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Surface:
    """A shape of a contact, at a point and in its axes.

    Attributes:
        kind: one of `SURFACES`.
        size: its numbers [m], each a formula of parameters: of a sphere (in the plane a disk) the
            radius; of a capsule or cylinder the radius and the length along z, of a capsule between
            the centers of its caps; of a box its lengths along all axes; of a bounded plane its
            lengths, along x in the plane, along x and y in space.
        x, y: of a curve, formulas in `s` [m].
        ends: of a curve, first and last s.
        through: of a curve instead of these, points of a cubic spline [m], the first one again at
            the end if it is closed.
        closed: whether a curve ends where it begins.
        free: the side of a curve that is not solid, seen along s: "left" or "right".
        pieces: number of equal parts of a curve with a contact each, for several contacts at
            once.
    """

    kind: str
    size: tuple[Formula, ...] = ()
    x: Formula | None = None
    y: Formula | None = None
    ends: tuple[Formula, Formula] | None = None
    through: tuple[Vector, ...] = ()
    closed: bool = False
    free: Literal["left", "right"] = "left"
    pieces: int = 1
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Contact:
    """A contact of two shapes, which do not penetrate each other.

    Attributes:
        between: "body.point" of both shapes, "ground" for the frame. A plane is z = 0 of its point,
            in the plane the line y = 0, solid below.
        shapes: of the first and of the second point.
        restitution: as of a stop.
        static: coefficient of friction while it sticks, a number or a formula of parameters;
            without it the contact has no friction.
        kinetic: coefficient while it slides, in `speed` as well; by default that of `static`.
    """

    between: tuple[str, str]
    shapes: tuple[Surface, Surface]
    restitution: Formula = 0.0
    static: Formula | None = None
    kinetic: Formula | None = None
    __pydantic_config__: ClassVar = STRICT


@dataclasses.dataclass(frozen=True)
class Slip:
    """Dry friction between coordinates; see `zw.DryFriction`. With a constant load it is a brake, a
    clutch that slips, or a drive with limited effort that slips.

    Attributes:
        of: the coordinates by their names in the formula, as of a law.
        slip: the sliding velocity, a formula linear in the rates (`a_rate` of `a`), in these names
            and in `t`.
        load: a number or a formula of parameters [N or N·m]; or the name of a gap, rope, stop
            (`"pin stop"`) or joint, whose force is the load.
        static: coefficient while it sticks, a number or a formula of parameters.
        kinetic: coefficient while it slides, in `speed` as well; by default that of `static`.
    """

    of: dict[str, str | tuple[str, str]]
    slip: Formula
    load: Formula
    static: Formula = 1.0
    kinetic: Formula | None = None
    __pydantic_config__: ClassVar = STRICT
