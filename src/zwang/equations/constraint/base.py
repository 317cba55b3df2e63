"""What every constraint has in common."""

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
"""How `nonideal` of a constraint is called."""


class AbstractConstraint(Record):
    """One named group of constraint rows.

    Each kind answers with what it knows: a position residual φ (holonomic), a velocity residual ψ
    (holonomic through its time derivative, or nonholonomic), or `A, b` outright.
    `zwang.equations.constraint.equation` turns all of them into `A v̇ = b`.

    Attributes:
        name: the constraint's name in results, plots and messages.
        nonideal: `(q, v, t, p, ideal_force)` → c [N, N·m …], shape (nv,); the impressed force of a
            constraint that does work under virtual displacements (servo paper, eq. 12-13), `None`
            for an ideal one. `ideal_force` is this constraint's own generalized force `Aᵢᵀλᵢ`
            that acts beside c, shape (nv,), so that Coulomb friction can depend on it. Of a
            constraint with parts of their own names, `ideal_force` and c have a row for each part,
            shape (parts, nv).
    """

    name: AbstractVar[str]
    nonideal: AbstractVar[Callable | None]

    @property
    @abc.abstractmethod
    def level(self) -> AbstractLevel:
        """What it is given by: `zwang.equations.constraint.level` has `POSITION`, `VELOCITY`,
        `ACCELERATION`, and `GAP`, `ONE_WAY` and `FRICTION`, which let go.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))}, given at {self.level})"

    @property
    def parts(self) -> tuple[str, ...]:
        """Names under which its rows are reported, each with as many rows: its own, or those of the
        like constraints that are evaluated together.
        """
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        """Unit of the residual in each row of one part, φ at position level and ψ at velocity
        level: one for all rows, one per row, or none where it is not stated.

        It names what a multiplier is: where φ is in metres, λ is a force in newtons.
        """
        return ()

    @property
    def residual_units(self) -> tuple[str, str]:
        """Units of φ and ψ, `MIXED` where rows differ."""
        return self.level.units(self.row_units or ("",))

    @property
    def equally_long(self) -> tuple[AbstractConstraint, ...]:
        """Constraints that have as many rows together as this one; none if it is to be asked."""
        return ()

    @property
    def is_full(self) -> bool:
        """Whether each row is taken to depend on all velocities, without a look at its function."""
        return False

    def impressed(self, q, v, t, p, ideal: Float[Array, "parts nv"]) -> Float[Array, "parts nv"]:
        """c of each part from the parts' own ideal forces; only of a nonideal constraint."""
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
        """`φ(q, t)`; only at position level."""
        raise NotImplementedError

    def velocity_residual(self, system: System, q, v, t, p) -> Float[Array, " rows"]:
        """`ψ(q, v, t)`; at position and velocity level."""
        raise NotImplementedError

    def residuals(
        self, system: System, q, v, t, p
    ) -> tuple[Float[Array, " holonomic"], Float[Array, " rows"]]:
        """φ and ψ together, which share most of what they need; φ is empty at velocity level."""
        return self.level.residuals(self, system, q, v, t, p)

    def differentiated(self, system: System, q, v, t, p) -> tuple:
        """φ and `ψ = φ̇ = φ_q N v + φ_t`."""
        along = (system.rate(q, v, t, p), jnp.ones_like(t))
        return jax.jvp(lambda q, t: self.position_residual(system, q, t, p), (q, t), along)

    def acceleration_rows(
        self, system: System, q, v, t, p
    ) -> tuple[Float[Array, "rows nv"], Float[Array, " rows"]]:
        """`A, b` of `A v̇ = b`; only at acceleration level."""
        raise NotImplementedError


class AbstractRows(AbstractConstraint):
    """The rows that one function returns, of one constraint or of like ones with their own names.

    Attributes:
        labels: names of the like constraints; none where it is one.
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
    """Rows that are given by a residual φ of positions."""

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
    """The units of a residual, one for all rows or one per row."""
    said = f"constraint {name!r}: unit"
    return (text(given, said),) if isinstance(given, str) else texts(given, said)


def number_of(given: Any, p: PyTree) -> Any:
    """A number, the parameter of a name, or what a function makes of the parameters.

    Raises:
        ModelError: for a name that is no parameter.
    """
    if callable(given):
        return given(p)
    if not isinstance(given, str):
        return given
    if not (isinstance(p, dict) and given in p):
        raise ModelError(f"{given!r} is no parameter, expected a number or the name of one.")
    return p[given]
