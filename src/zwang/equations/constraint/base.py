"""Abstract base classes of all constraints."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from zwang.equations.constraint.level import POSITION, AbstractLevel
from zwang.equations.system import System
from zwang.errors import ModelError
from zwang.inputs.arguments import text, texts
from zwang.inputs.tracing import returned
from zwang.objects.record import AbstractVar, Record

NONIDEAL = "(q, v, t, p, ideal_force) → c of shape (nv,)"
"""Signature of `nonideal` of a constraint."""


class AbstractConstraint(Record):
    """Named group of constraint rows.

    Each kind of constraint provides a position residual φ (holonomic), a velocity residual ψ
    (nonholonomic, or the time derivative of φ), or `A` and `b` directly.
    `zwang.equations.constraint.equation` converts all of them to `A v̇ = b`.

    Attributes:
        name: the constraint's name in results, plots and messages.
        nonideal: `(q, v, t, p, ideal_force)` → c [N, N·m …], shape (nv,); the impressed force of a
            constraint that does work under virtual displacements (servo paper, eq. 12-13), or
            `None` for an ideal constraint. `ideal_force` is the generalized force `Aᵢᵀλᵢ` of this
            constraint in the presence of c, shape (nv,), so that Coulomb friction can depend on it.
            For a constraint with named parts, `ideal_force` and c have a row for each part, shape
            (parts, nv).
    """

    name: AbstractVar[str]
    nonideal: AbstractVar[Callable | None]

    @property
    @abc.abstractmethod
    def level(self) -> AbstractLevel:
        """Level at which the constraint is stated: `POSITION`, `VELOCITY` or `ACCELERATION` of
        `zwang.equations.constraint.level`, or `GAP`, `ONE_WAY` or `FRICTION`, which can become
        inactive.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))}, given at {self.level})"

    @property
    def parts(self) -> tuple[str, ...]:
        """Names under which the rows are reported, each for the same number of rows: the name of
        the constraint, or the names of the equal constraints that are evaluated together.
        """
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        """Unit of the residual in each row of one part, φ at position level and ψ at velocity
        level: one unit for all rows, one per row, or none if it is not stated.

        The unit determines that of the multiplier: if φ is in metres, λ is a force in newtons.
        """
        return ()

    @property
    def residual_units(self) -> tuple[str, str]:
        """Units of φ and ψ, `MIXED` if rows differ."""
        return self.level.units(self.row_units or ("",))

    @property
    def equally_long(self) -> tuple[AbstractConstraint, ...]:
        """Constraints that together have as many rows as this one; empty if the function of this
        constraint has to be evaluated to count its rows.
        """
        return ()

    @property
    def is_full(self) -> bool:
        """True if every row is assumed to depend on all velocities, whatever its function is."""
        return False

    def impressed(self, q, v, t, p, ideal: Float[Array, "parts nv"]) -> Float[Array, "parts nv"]:
        """Return c of each part from the ideal forces of the parts, for a nonideal constraint."""
        assert self.nonideal is not None
        given = ideal[0] if self.parts == (self.name,) else ideal
        what = f"constraint {self.name!r}: nonideal(q, v, t, p, ideal_force)"
        c = jnp.asarray(returned(self.nonideal(q, v, t, p, given), what, integers=True, lists=True))
        if c.shape != given.shape:
            raise ModelError(
                f"constraint {self.name!r}: nonideal returns shape {c.shape}, expected "
                f"{given.shape}."
            )
        return c.reshape(ideal.shape)

    def position_residual(self, system: System, q, t, p) -> Float[Array, " rows"]:
        """Return `φ(q, t)`, at position level only."""
        raise NotImplementedError

    def velocity_residual(self, system: System, q, v, t, p) -> Float[Array, " rows"]:
        """Return `ψ(q, v, t)`, at position and velocity level."""
        raise NotImplementedError

    def residuals(
        self, system: System, q, v, t, p
    ) -> tuple[Float[Array, " holonomic"], Float[Array, " rows"]]:
        """Return φ and ψ together, because they share most operations; φ is empty at velocity
        level.
        """
        return self.level.residuals(self, system, q, v, t, p)

    def differentiated(self, system: System, q, v, t, p) -> tuple:
        """φ and `ψ = φ̇ = φ_q N v + φ_t`."""
        along = (system.rate(q, v, t, p), jnp.ones_like(t))
        return jax.jvp(lambda q, t: self.position_residual(system, q, t, p), (q, t), along)

    def acceleration_rows(
        self, system: System, q, v, t, p
    ) -> tuple[Float[Array, "rows nv"], Float[Array, " rows"]]:
        """Return `A` and `b` of `A v̇ = b`, at acceleration level only."""
        raise NotImplementedError


class AbstractForwarding(AbstractConstraint):
    """Another constraint, whose functions are called with other arguments.

    Attributes:
        constraint: the other one.
    """

    constraint: AbstractVar[AbstractConstraint]

    @property
    def level(self) -> AbstractLevel:
        return self.constraint.level

    @property
    def parts(self) -> tuple[str, ...]:
        return self.constraint.parts

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.constraint.row_units


class AbstractRows(AbstractConstraint):
    """Rows that one function returns, of one constraint or of several equal named constraints.

    Attributes:
        labels: names of the equal constraints; empty for a single constraint.
        unit: of the residual, one for all rows, one per row (of one part), or none.
    """

    labels: AbstractVar[tuple[str, ...]]
    unit: AbstractVar[tuple[str, ...]]

    @property
    def parts(self) -> tuple[str, ...]:
        return self.labels or (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.unit


class AbstractPosition(AbstractRows):
    """Rows that are stated by a position residual φ."""

    @property
    def level(self) -> AbstractLevel:
        return POSITION

    @abc.abstractmethod
    def position_residual(self, system, q, t, p) -> Float[Array, " rows"]:
        """`φ(q, t)`."""

    def velocity_residual(self, system, q, v, t, p):
        return self.differentiated(system, q, v, t, p)[1]

    def residuals(self, system, q, v, t, p):
        return self.differentiated(system, q, v, t, p)


def checked_units(given: str | Sequence[str], name: str) -> tuple[str, ...]:
    """Check the units of a residual, one for all rows or one per row, and return them."""
    said = f"constraint {name!r}: unit"
    return (text(given, said),) if isinstance(given, str) else texts(given, said)


def number_of(given: object, p: PyTree) -> Any:
    """Return a number that is given directly, as the name of a parameter, or as a function of the
    parameters.

    Raises:
        ModelError: if there is no parameter of this name.
    """
    if callable(given):
        return given(p)
    if not isinstance(given, str):
        return given
    if not (isinstance(p, dict) and given in p):
        raise ModelError(f"{given!r} is no parameter, expected a number or the name of one.")
    return p[given]
