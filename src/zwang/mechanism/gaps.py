"""Gaps of a mechanism as `zw.Inequality`: stops of joints, backlash, ropes, and formulas.

| in a file | gaps |
|---|---|
| `[gaps.x]` | its formulas |
| `stop` of a joint | x − lower, upper − x |
| `backlash` of a coupling | b/2 + φ, b/2 − φ, φ its equation |
| `ratchet` of a joint | ẋ, or −ẋ, as a velocity |
| `[ropes.x]` | length − Σ distances of neighboring points |
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import jax.numpy as jnp

from zwang.equations.constraint import Inequality
from zwang.mechanism.contact_schema import Gap, Rope
from zwang.mechanism.expression import Expression
from zwang.mechanism.field_types import PartError
from zwang.mechanism.joint_constraints import JointConstraints
from zwang.mechanism.laws import formula_coordinates
from zwang.mechanism.relative_pose import DISTANCE, value_and_rate
from zwang.mechanism.resolution import Ends

if TYPE_CHECKING:
    from zwang.mechanism.mechanism import Mechanism

STOP, PLAY, RATCHET = " stop", " backlash", " ratchet"
"""Suffixes of the names of gaps of a joint."""
RATE = "_rate"
"""Suffix of the name of a coordinate's rate in a formula."""
WITHIN_A_TURN = 3.0
"""Limits of an angle up to this size [rad] need no count of its turns, as it never exceeds them."""


@dataclasses.dataclass(frozen=True)
class ResolvedGap:
    """A gap with resolved names.

    Attributes:
        name: of the gap.
        gaps: its formulas; for backlash, that of b/2.
        restitution: formula of e.
        ends: the points and coordinates by their names in the formulas.
        played: the coupling with this backlash, or "".
    """

    name: str
    gaps: tuple[Expression, ...]
    restitution: Expression
    ends: Mapping[str, Ends]
    played: str = ""

    def constraint(self, joints: JointConstraints, rate: Callable) -> Inequality:
        """The gap as a constraint; `rate` is `(q, v, t, p)` → q̇."""
        coordinates = {name: joints.coordinate(ends) for name, ends in self.ends.items()}
        gaps, restitution = self.gaps, self.restitution
        equation = joints.coupling_equation(self.played) if self.played else None

        def stacked(values, t, p):
            known = {**p["parameters"], **values, "t": t}
            return jnp.stack([jnp.asarray(x.traced(known), float) for x in gaps])

        def velocity(q, v, t, p):
            return stacked(values_and_rates(coordinates, q, rate(q, v, t, p), p), t, p)

        def gap(q, t, p):
            found = stacked({name: x(q, p) for name, x in coordinates.items()}, t, p)
            if equation is None:
                return found
            return found + jnp.array([1.0, -1.0]) * equation(q, t, p)

        moving = any(f"{name}{RATE}" in x.names for name in self.ends for x in gaps)
        return Inequality(
            velocity if moving else gap,
            name=self.name,
            restitution=lambda p: restitution.traced(p["parameters"]),
            velocity=moving,
        )


def values_and_rates(coordinates: Mapping[str, Callable], q, along, p) -> dict:
    """Coordinates and their rates along q̇, by their names in formulas."""
    known = {}
    for name, x in coordinates.items():
        moved = value_and_rate(lambda q, x=x: x(q, p), q, along)
        known[name], known[f"{name}{RATE}"] = moved
    return known


def resolved_gaps(declared: Mechanism, joints: JointConstraints) -> list[ResolvedGap]:
    """Resolve all gaps of a mechanism; angles in space among their coordinates count turns.

    Raises:
        PartError: for an invalid gap, by name.
    """
    found = [_of_formulas(name, gap, joints) for name, gap in declared.gaps.items()]
    found += [_of_rope(name, rope, joints) for name, rope in declared.ropes.items()]
    for name, joint in declared.joints.items():
        if joint.stop is not None:
            found.append(_of_stop(name, joints))
        if joint.backlash is not None:
            found.append(_of_play(name, joints))
        if joint.ratchet is not None:
            found.append(_of_ratchet(name, joints))
    return found


def _of_formulas(name: str, given: Gap, joints: JointConstraints) -> ResolvedGap:
    where = ("gaps", name)
    ends = formula_coordinates(given.of, joints, where, name)
    formulas = given.gap if isinstance(given.gap, tuple) else (given.gap,)
    rates = [f"{short}{RATE}" for short in ends]
    gaps = tuple(joints.formula(x, (*ends, *rates, "t"), (*where, "gap")) for x in formulas)
    if not gaps:
        raise PartError((*where, "gap"), "is empty; give a formula of the names in of.")
    if len({bool(x.names & {*rates}) for x in gaps}) > 1:
        why = "has formulas of places and of rates; give each a gap of its own."
        raise PartError((*where, "gap"), why)
    used = {n.removesuffix(RATE) for x in gaps for n in x.names}
    if unused := sorted(ends.keys() - used):
        raise PartError((*where, "gap"), f"does not use {unused[0]!r}, which is in of.")
    return ResolvedGap(name, gaps, _restitution(given, joints, where), ends)


def _of_rope(name: str, given: Rope, joints: JointConstraints) -> ResolvedGap:
    where = ("ropes", name)
    if len(given.over) < 2:
        raise PartError((*where, "over"), "expected two points at least, both ends included.")
    points = [joints.geometry.point(x, (*where, "over")) for x in given.over]
    # Two points of one body, such as pulleys of the frame, have a constant distance.
    ways = enumerate(itertools.pairwise(points))
    ends = {f"way_{k}": Ends(a, b, DISTANCE) for k, (a, b) in ways}
    joints.formula(given.length, ("t",), (*where, "length"))
    gap = joints.formula(f"({given.length}) - {' - '.join(ends)}", (*ends, "t"), where)
    return ResolvedGap(name, (gap,), _restitution(given, joints, where), ends)


def _of_stop(name: str, joints: JointConstraints) -> ResolvedGap:
    where, given = ("joints", name, "stop"), joints.joints[name].stop
    assert given is not None
    sides = {n: x for n in ("lower", "upper") if (x := getattr(given, n)) is not None}
    if not sides:
        raise PartError(where, "expected lower, upper, or both.")
    numbers = [float(x) for x in sides.values() if not isinstance(x, str)]
    if len(numbers) == 2 and not numbers[0] < numbers[1]:
        raise PartError(
            where,
            f"lower is {numbers[0]:g} and upper {numbers[1]:g}, expected lower below upper.",
        )
    ends = {"value": joints.of(name, None, where)}
    if not (len(numbers) == 2 and all(abs(x) <= WITHIN_A_TURN for x in numbers)):
        joints.turns.count(ends["value"], name)
    for side, x in sides.items():
        joints.formula(x, ("t",), (*where, side))
    texts = {"lower": "value - ({})", "upper": "({}) - value"}
    gaps = [joints.formula(texts[n].format(x), ("value", "t"), where) for n, x in sides.items()]
    return ResolvedGap(f"{name}{STOP}", tuple(gaps), _restitution(given, joints, where), ends)


def _of_ratchet(name: str, joints: JointConstraints) -> ResolvedGap:
    where, way = ("joints", name, "ratchet"), joints.joints[name].ratchet
    ends = {"value": joints.of(name, None, where)}
    text = f"{'' if way == 'forward' else '-'}value{RATE}"
    rate, none = (joints.formula(x, (f"value{RATE}",), where) for x in (text, "0"))
    return ResolvedGap(f"{name}{RATCHET}", (rate,), none, ends)


def _of_play(name: str, joints: JointConstraints) -> ResolvedGap:
    where, given = ("joints", name, "backlash"), joints.joints[name].backlash
    assert given is not None
    kind = joints.kind(name)
    if kind.couples is None or kind.plane is None or kind.plane.position is None:
        raise PartError(
            where,
            f"a {kind.name} joint couples no two joints; give play between coordinates as a "
            "formula in [gaps].",
        )
    joints.formula(given.gap, (), (*where, "gap"))
    if not isinstance(given.gap, str) and not given.gap >= 0:
        raise PartError((*where, "gap"), f"is {given.gap:g}, expected a number from 0 up.")
    half = joints.formula(f"({given.gap})/2", (), where)
    restitution = _restitution(given, joints, where)
    return ResolvedGap(f"{name}{PLAY}", (half, half), restitution, {}, played=name)


def _restitution(given, joints: JointConstraints, where: tuple[str, ...]) -> Expression:
    return joints.formula(given.restitution, (), (*where, "restitution"))
