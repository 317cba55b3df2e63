"""Levels at which a constraint is stated: its residuals and its admissible multipliers. Everything
that depends on the level is a method or attribute of it, so no code compares names.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp

from zwang.equations.constraint.units import MODEL_UNITS, PER_SECOND, one, per_second
from zwang.errors import ModelError
from zwang.inputs.tracing import outcome
from zwang.objects.by_identity import ByIdentity

if TYPE_CHECKING:
    from zwang.equations.constraint.base import AbstractConstraint
    from zwang.equations.system import System


class Cone(enum.Enum):
    """Set of admissible multipliers of a constraint, which becomes inactive outside this set."""

    FREE = "any λ"
    PUSHES = "λ ≥ 0"
    RUBS = "|λ| ≤ μ N"


@dataclasses.dataclass(frozen=True)
class AbstractLevel(abc.ABC):
    """Level at which a constraint is stated.

    Attributes:
        cone: set of admissible multipliers.
        name: name in messages and tables.
        call: signature of its function.
        order: number of time derivatives of the residual until accelerations appear in it.
    """

    cone: Cone = Cone.FREE
    name: ClassVar[str]
    call: ClassVar[str]
    order: ClassVar[int]

    def __str__(self) -> str:
        return self.name

    @property
    def has_phi(self) -> bool:
        """True if the constraint has a position residual φ."""
        return self.order > 1

    @property
    def has_psi(self) -> bool:
        """True if the constraint has a velocity residual ψ."""
        return self.order > 0

    @property
    def lets_go(self) -> bool:
        """True if the constraint may become inactive or slide during a motion."""
        return self.cone is not Cone.FREE

    @abc.abstractmethod
    def outcome(
        self, constraint: AbstractConstraint, system: System, q, v, t, p
    ) -> jax.ShapeDtypeStruct:
        """Return the shape of the residual without evaluating numbers.

        Raises:
            ModelError: if the user's function fails or does not return a residual.
        """

    @abc.abstractmethod
    def residuals(
        self, constraint: AbstractConstraint, system: System, q, v, t, p
    ) -> tuple[Any, Any]:
        """Return φ and ψ, each empty if the constraint does not have it."""

    def units(self, given: Sequence[str]) -> tuple[str, str]:
        """Return the units of φ and ψ from those of the rows of the residual."""
        return one(given), one([per_second(unit) for unit in given])

    def conjugate(self, unit: str) -> str:
        """Return the unit to which λ is conjugate, from the unit of a row of the residual: that of
        a displacement [m] also if ψ is a speed [m/s].
        """
        return unit

    @abc.abstractmethod
    def kind(self, moving: bool, nonlinear: bool) -> str:
        """Return the name of the kind of constraint in mechanics.

        Args:
            moving: whether the residual depends on time.
            nonlinear: whether ψ is not linear in v.
        """

    def _called(self, constraint: AbstractConstraint) -> str:
        return f"constraint {constraint.name!r}: {self.call}"


class Position(AbstractLevel):
    """φ(q, t, p): ψ is its rate."""

    name, call, order = "position", "phi(q, t, p)", 2

    def outcome(self, constraint, system, q, v, t, p):
        residual = lambda q, t, p: constraint.position_residual(system, q, t, p)
        return outcome(residual, self._called(constraint), q, t, p, moving=0)

    def residuals(self, constraint, system, q, v, t, p):
        psi = constraint.velocity_residual(system, q, v, t, p)
        return constraint.position_residual(system, q, t, p), psi

    def kind(self, moving, nonlinear):
        return f"{'rheonomic' if moving else 'scleronomic'} holonomic"


class Velocity(AbstractLevel):
    """ψ(q, v, t, p)."""

    name, call, order = "velocity", "psi(q, v, t, p)", 1

    def outcome(self, constraint, system, q, v, t, p):
        residual = lambda q, v, t, p: constraint.velocity_residual(system, q, v, t, p)
        return outcome(residual, self._called(constraint), q, v, t, p, moving=1)

    def residuals(self, constraint, system, q, v, t, p):
        return jnp.zeros(0), constraint.velocity_residual(system, q, v, t, p)

    def units(self, given):
        return MODEL_UNITS, one(given)

    def conjugate(self, unit):
        return unit.removesuffix(PER_SECOND)

    def kind(self, moving, nonlinear):
        return f"{'nonlinear' if nonlinear else 'linear'} nonholonomic"


class Acceleration(AbstractLevel):
    """A(q, v, t, p) and b(q, v, t, p), without residuals of positions and velocities."""

    name, call, order = "acceleration", "A, b(q, v, t, p)", 0

    def outcome(self, constraint, system, q, v, t, p):
        rows = lambda q, v, t, p: constraint.acceleration_rows(system, q, v, t, p)
        A, b = outcome(rows, self._called(constraint), q, v, t, p)
        if A.shape != (*b.shape, system.nv):
            raise ModelError(
                f"constraint {constraint.name!r}: A has shape {A.shape} and b {b.shape}, "
                f"expected (rows, {system.nv}) and (rows,)."
            )
        return b

    def residuals(self, constraint, system, q, v, t, p):
        return jnp.zeros(0), jnp.zeros(0)

    def kind(self, moving, nonlinear):
        return "acceleration"


POSITION, VELOCITY, ACCELERATION = Position(), Velocity(), Acceleration()
GAP, ONE_WAY, FRICTION = Position(Cone.PUSHES), Velocity(Cone.PUSHES), Velocity(Cone.RUBS)


def rows_of(constraint: AbstractConstraint, system: System, p) -> int:
    """Return the number of rows without evaluating numbers; an error in the user's function is
    reported in one sentence.
    """
    if constraint.equally_long:
        return sum(rows_of(c, system, p) for c in constraint.equally_long)
    leaves, tree = jax.tree_util.tree_flatten(p)
    given = tree, [(jnp.shape(x), jnp.result_type(x)) for x in leaves]
    known = _SIZES.get(constraint)
    if known is None or known[0] is not system or known[1] != given:
        known = _SIZES.keep(constraint, (system, given, _asked_rows(constraint, system, p)))
    return known[2]


_SIZES: ByIdentity[tuple[System, tuple, int]] = ByIdentity()
"""Cache of the numbers of rows, with the system and the shapes of the parameters. Models of a servo
need the same numbers dozens of times, and each needs a trace.
"""


def _asked_rows(constraint: AbstractConstraint, system: System, p) -> int:
    q, v, t = system.shapes
    name = constraint.name
    out = constraint.level.outcome(constraint, system, q, v, t, p)
    if len(out.shape) == 1 and out.shape[0] % len(constraint.parts):
        raise ModelError(
            f"constraint {name!r} returns {out.shape[0]} rows for {len(constraint.parts)} "
            "parts, expected as many each."
        )
    if len(out.shape) != 1:
        raise ModelError(
            f"constraint {name!r} returns shape {out.shape}, expected a scalar or a vector of "
            "residuals."
        )
    if not out.shape[0]:
        raise ModelError(
            f"constraint {name!r} returns no rows, expected at least one: leave it out, or give it "
            "something to hold."
        )
    if constraint.nonideal is not None:
        ideal = jax.ShapeDtypeStruct((len(constraint.parts), system.nv), jnp.float64)
        what = f"constraint {name!r}: nonideal(q, v, t, p, ideal_force)"
        outcome(constraint.impressed, what, q, v, t, p, ideal)
    return out.shape[0]
