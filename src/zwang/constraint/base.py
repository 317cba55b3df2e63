"""What every constraint has in common."""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable, Sequence

import equinox as eqx
from jaxtyping import Array, Float

from zwang.system import System


class AbstractConstraint(eqx.Module):
    """One named group of constraint rows.

    Each kind answers with what it knows: a position residual φ (holonomic), a velocity residual ψ (holonomic through its
    time derivative, or nonholonomic), or `A, b` outright. `zwang.constraint.equation` turns all of them into `A v̇ = b`.

    Attributes:
        name: the constraint's name in results, plots and messages.
        nonideal: `(q, v, t, p, ideal_force)` → c [N, N·m …], shape (nv,); the impressed force of a constraint that does work
            under virtual displacements (servo paper, eq. 12-13), `None` for an ideal one. `ideal_force` is this constraint's
            own ideal generalized force `Aᵢᵀ λᵢ`, shape (nv,), so that Coulomb friction can depend on it.
    """

    name: eqx.AbstractVar[str]
    nonideal: eqx.AbstractVar[Callable | None]

    @property
    @abc.abstractmethod
    def level(self) -> str:
        """The highest level at which it is given: "position", "velocity" or "acceleration"."""

    @property
    def copies(self) -> Hashable | None:
        """Equal for constraints that are one definition at several places (modules of one kind); None for all others.

        Those that have copies answer `together` as well.
        """
        return None

    def together(self, members: Sequence, method: str, *state) -> Float[Array, "copies rows"]:
        """`position_residual` or `velocity_residual`, as `method` says, of copies in one evaluation; `state` as these take it."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[str, ...]:
        """Names under which its rows are reported, each with as many rows: its own, or those of the like constraints that are
        evaluated together."""
        return (self.name,)

    def position_residual(self, system: System, q, t, p) -> Float[Array, " rows"]:
        """`φ(q, t)`; only at level "position"."""
        raise NotImplementedError

    def velocity_residual(self, system: System, q, v, t, p) -> Float[Array, " rows"]:
        """`ψ(q, v, t)`; at levels "position" and "velocity"."""
        raise NotImplementedError

    def acceleration_rows(self, system: System, q, v, t, p) -> tuple[Float[Array, "rows nv"], Float[Array, " rows"]]:
        """`A, b` of `A v̇ = b`; only at level "acceleration"."""
        raise NotImplementedError
