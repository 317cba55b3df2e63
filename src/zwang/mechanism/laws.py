"""Laws: constraints `φ = f(x₁, x₂, …, t)` on coordinates, distances of points, and time.

A gear of any ratio, a rope over pulleys (distances with a constant sum), a differential, a mixer of
hinges: each is one formula that stays zero.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import jax.numpy as jnp

from zwang.equations.constraint import Holonomic
from zwang.mechanism.expression import CONSTANTS, FUNCTIONS, Expression
from zwang.mechanism.field_types import PartError
from zwang.mechanism.joint_constraints import JointConstraints
from zwang.mechanism.relative_pose import DISTANCE
from zwang.mechanism.resolution import Ends, ends_between
from zwang.mechanism.schema import Law


@dataclasses.dataclass(frozen=True)
class ResolvedLaw:
    """A law with resolved names.

    Attributes:
        name: of the law.
        equation: its formula.
        ends: the points and coordinates by their names in the formula.
    """

    name: str
    equation: Expression
    ends: Mapping[str, Ends]

    def constraint(self, joints: JointConstraints, time: float | None = None) -> Holonomic:
        """The law as a constraint; with `time`, frozen at that instant."""
        coordinates = {name: joints.coordinate(ends) for name, ends in self.ends.items()}
        equation = self.equation

        def phi(q, t, p):
            t = t if time is None else jnp.asarray(time)
            values = {name: x(q, p) for name, x in coordinates.items()}
            return equation.traced({**p["parameters"], **values, "t": t})

        return Holonomic(phi, name=self.name)


def formula_coordinates(
    of: Mapping, joints: JointConstraints, where: tuple[str, ...], name: str
) -> dict[str, Ends]:
    """Coordinates by their names in formulas; angles in space count turns."""
    if not of:
        raise PartError((*where, "of"), "is empty; name the coordinates that the formula relates.")
    ends = named_coordinates(of, joints, (*where, "of"))
    for short, at in ends.items():
        joints.turns.count(at, f"{name}.{short}")
    return ends


def resolved_law(name: str, law: Law, joints: JointConstraints) -> ResolvedLaw:
    """Resolve a law; angles in space among its coordinates count turns.

    Raises:
        PartError: for an invalid law, by name.
    """
    where = ("laws", name)
    ends = formula_coordinates(law.of, joints, where, name)
    equation = joints.formula(law.equation, (*ends, "t"), (*where, "equation"))
    if unused := sorted(ends.keys() - equation.names):
        raise PartError((*where, "equation"), f"does not use {unused[0]!r}, which is in of.")
    return ResolvedLaw(name, equation, ends)


def named_coordinates(
    of: Mapping[str, str | tuple[str, str]], joints: JointConstraints, where: tuple[str, ...]
) -> dict[str, Ends]:
    """Coordinates by their names in a formula.

    Raises:
        PartError: for a name that a formula cannot have, or a coordinate that does not exist.
    """
    ends: dict[str, Ends] = {}
    for short, given in of.items():
        here = (*where, short)
        if not re.fullmatch(r"[A-Za-z_]\w*", short) or short in {*CONSTANTS, *FUNCTIONS, "t"}:
            raise PartError(here, "is no name that a formula can have; take a word such as a or b.")
        if short in joints.parameters:
            raise PartError(here, "is a parameter, too; take another name.")
        if isinstance(given, str):
            ends[short] = joints.named(given, here)
        else:
            pair = ends_between(given, joints.geometry, here)
            ends[short] = Ends(pair.a, pair.b, DISTANCE)
    return ends
