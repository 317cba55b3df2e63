"""Layout of a hierarchy: its parts, and the names and parameters that its functions receive."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp

from zwang.dynamics.model import AbstractParameterLayout, Model
from zwang.equations.constraint import AbstractConstraint
from zwang.equations.constraint.base import AbstractForwarding
from zwang.hierarchy.assembly import Interaction, Leaf, Names, Node
from zwang.hierarchy.replicated_constraint import ReplicatedConstraint
from zwang.hierarchy.stacked_parameters import Packing


class ByName(AbstractForwarding):
    """Constraint between modules, whose functions access q, v and p by name."""

    constraint: AbstractConstraint
    names: Names
    name: str

    def __init__(self, constraint: AbstractConstraint, names: Names):
        self.constraint, self.names, self.name = constraint, names, constraint.name

    @property
    def nonideal(self) -> Callable | None:
        impressed = self.constraint.nonideal
        if impressed is None:
            return None
        return lambda q, v, t, p, ideal: impressed(
            *self._named(q, v), t, self.names.parameters(p), self.names.velocities(ideal)
        )

    def _named(self, q, v):
        return self.names.coordinates(q), self.names.velocities(v)

    def position_residual(self, system, q, t, p):
        return self.constraint.position_residual(
            system, self.names.coordinates(q), t, self.names.parameters(p)
        )

    def velocity_residual(self, system, q, v, t, p):
        if self.level.has_phi:
            return self.differentiated(system, q, v, t, p)[1]
        return self.constraint.velocity_residual(
            system, *self._named(q, v), t, self.names.parameters(p)
        )

    def residuals(self, system, q, v, t, p):
        if self.level.has_phi:
            return self.differentiated(system, q, v, t, p)
        return jnp.zeros(0), self.velocity_residual(system, q, v, t, p)

    def acceleration_rows(self, system, q, v, t, p):
        return self.constraint.acceleration_rows(
            system, *self._named(q, v), t, self.names.parameters(p)
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Assembly(AbstractParameterLayout):
    """Parts of an assembled model.

    Attributes:
        top: the tree of modules.
        levels: names of the constraints that each level adds, lowest first.
        names: views of q, v and p by name.
        leaves, interactions: the parts of M and F.
        packing: grouping of parameters into arrays.
    """

    top: Node
    levels: tuple[tuple[str, ...], ...]
    names: Names
    leaves: tuple[Leaf, ...]
    interactions: tuple[Interaction, ...]
    packing: Packing | None = None

    def packed(self, p):
        """Return the parameters in the form that the functions of the model receive."""
        return p if self.packing is None or p is None else self.packing(p)

    def constraint(self, constraint: AbstractConstraint) -> AbstractConstraint:
        """Convert a constraint with functions of q, v and p by name to one with vectors."""
        return (
            constraint
            if isinstance(constraint, (ByName, ReplicatedConstraint))
            else ByName(constraint, self.names)
        )


def assembly_of(model: Model) -> Assembly | None:
    """Return the parts of an assembled model; None if it is not a hierarchy."""
    return model.layout if isinstance(model.layout, Assembly) else None
